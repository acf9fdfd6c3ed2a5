// SPDX-License-Identifier: Apache-2.0
// Mechanisms that break their promise on purpose, each beside the one that keeps it. The attack or the accountant
// must tell them apart.
//
// Intervals have a confidence of 1 − 2e-6: an honest mechanism would be caught with probability 1e-6. Seeds are fixed.
#include <tacit/audit/exact_posterior.hpp>
#include <tacit/audit/informed_adversary.hpp>
#include <tacit/audit/interval.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/sensitivity.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/info/binary_channel.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/random/normal.hpp>
#include <tacit/secret/normal.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using namespace tacit;

constexpr double sure = 1.0 - 2e-6;

/// What μ-Gaussian DP allows against one membership of prior ½: Φ(μ/2).
double allowed_by(gaussian_dp guarantee) { return 0.5 + 0.5 * delta(guarantee, 0.0).upper; }

std::vector<std::uint8_t> coins(std::size_t count, std::mt19937_64& random) {
  std::vector<std::uint8_t> out(count);
  for (auto& u : out) u = static_cast<std::uint8_t>(random() >> 63);
  return out;
}

enum class noise_source { secret, public_seed };

/// y = Σ g_i + σ·noise, 16 steps, scalars clipped to 1; DPZero at rate 1. The public seed also makes the
/// directions, so the attacker has it.
attack_trials attack_scalar_gaussian(noise_source source, double sigma) {
  std::size_t const records = 20;
  std::mt19937_64 random(21);
  std::normal_distribution<double> normal_law;
  auto secret = fixed_stream(22);
  attack_trials trials(records);
  for (std::uint64_t run = 0; run < 300; ++run) {
    auto const inside = coins(records, random);
    informed_adversary attack(records);
    for (std::uint64_t step = 0; step < 16; ++step) {
      std::vector<double> g(records);
      for (double& x : g) x = std::clamp(2.0 * normal_law(random), -1.0, 1.0);
      double sum = 0.0;
      for (std::size_t i = 0; i < records; ++i) sum += inside[i] * g[i];
      stream_id const stream{run, step, purpose::direction};
      double const noise =
          source == noise_source::secret ? standard_normal(secret) : double{normal(stream, 0)};
      double const released = sum + sigma * noise;
      // What the attacker knows of the noise, and what is left of it then.
      bool const seen = source == noise_source::public_seed;
      double const known = seen ? sigma * double{normal(stream, 0)} : 0.0;
      std::vector<double> const left{seen ? 1e-9 * sigma : sigma};
      attack.observe(g, inside, std::vector<double>{released - known - sum}, left);
    }
    trials.add(attack.right_guesses(inside));
  }
  return trials;
}

struct candidate_result {
  attack_trials records;
  confidence_interval subset;
};

/// One release of the secret subset's mean with noise for `budget` nats, by ½ log(1 + variance/σ²).
candidate_result attack_noisy_mean(noise_source source, double budget) {
  auto const set = candidate_set::balanced({.records = 24, .subsets = 16}, 5);
  std::mt19937_64 random(23);
  std::normal_distribution<double> normal_law;
  auto secret = fixed_stream(24);
  attack_trials trials(24);
  std::uint64_t identified = 0;
  std::uint64_t const runs = 300;
  for (std::uint64_t run = 0; run < runs; ++run) {
    std::vector<double> g(24);
    for (double& x : g) x = normal_law(random);
    std::vector<double> means(16, 0.0);
    double centre = 0.0, variance = 0.0;
    for (std::size_t m = 0; m < 16; ++m) {
      for (std::size_t i = 0; i < 24; ++i) means[m] += set.contains(m, i) ? g[i] / 12.0 : 0.0;
      centre += means[m] / 16.0;
    }
    for (double const x : means) variance += (x - centre) * (x - centre) / 16.0;
    double const sigma = std::sqrt(variance / std::expm1(2.0 * budget));
    std::size_t const truth = random() >> 60;
    stream_id const stream{run, 0, purpose::direction};
    bool const seen = source == noise_source::public_seed;
    double const noise = seen ? double{normal(stream, 0)} : standard_normal(secret);
    double const known = seen ? sigma * double{normal(stream, 0)} : 0.0;
    double const released = means[truth] + sigma * noise;
    candidate_attack attack(set);
    attack.observe_sum(g, std::vector<double>{released - known},
                       std::vector<double>{seen ? 1e-9 * sigma : sigma}, {.divisor = 12.0});
    trials.add(right_guesses(attack.belief(), set, truth));
    identified += likeliest(attack.belief()) == truth ? 1 : 0;
  }
  return {trials, success_interval(identified, runs, sure)};
}

/// 24 pairs of coordinates clipped to 1 each, noise σ in every coordinate, released together.
attack_trials attack_groups(double sigma) {
  std::size_t const records = 10;
  std::size_t const groups = 24;
  std::mt19937_64 random(25);
  std::normal_distribution<double> normal_law;
  attack_trials trials(records);
  for (int run = 0; run < 400; ++run) {
    auto const inside = coins(records, random);
    std::vector<double> g(records * groups * 2);
    for (std::size_t k = 0; k < g.size(); k += 2) {
      double const angle = normal_law(random);
      g[k] = std::cos(angle);
      g[k + 1] = std::sin(angle);
    }
    std::vector<double> residual(groups * 2);
    for (double& x : residual) x = sigma * normal_law(random);
    informed_adversary attack(records);
    attack.observe(g, inside, residual, std::vector<double>{sigma});
    trials.add(attack.right_guesses(inside));
  }
  return trials;
}

/// The inverse that PACZero's published code uses: bisect log σ in [1e-4, 1e4] until the information is within
/// 1e-6 nats of the budget, in absolute terms.
double overspending_sigma(double budget) {
  auto const information = [](double log_sigma) {
    return mutual_information(binary_channel{.prior = 0.5, .sigma = std::exp(log_sigma)});
  };
  double low = std::log(1e-4);
  double high = std::log(1e4);
  for (int step = 0; step < 200; ++step) {
    double const middle = 0.5 * (low + high);
    if (std::abs(information(middle) - budget) < 1e-6) return std::exp(middle);
    (information(middle) > budget ? low : high) = middle;
  }
  return std::exp(0.5 * (low + high));
}

/// Success in telling two candidates apart, that disagree at every one of so many steps of this σ. The mean of
/// the steps' values is all that they say.
confidence_interval attack_many_steps(double sigma, double steps) {
  auto const set = candidate_set::balanced({.records = 2, .subsets = 2}, 6);
  std::mt19937_64 random(26);
  std::normal_distribution<double> normal_law;
  std::uint64_t identified = 0;
  std::uint64_t const runs = 2000;
  for (std::uint64_t run = 0; run < runs; ++run) {
    std::size_t const truth = random() >> 63;
    double const mean = (truth == 0 ? -1.0 : 1.0) + sigma / std::sqrt(steps) * normal_law(random);
    double const evidence = mean * steps / (sigma * sigma);
    candidate_attack attack(set);
    attack.observe(std::vector<double>{-evidence, evidence});
    identified += likeliest(attack.belief()) == truth ? 1 : 0;
  }
  return success_interval(identified, runs, sure);
}

}  // namespace

TEST_CASE("noise from the public seed is caught, noise from the secret stream is not",
          "[audit][broken]") {
  double const sigma = 8.0;
  gaussian_dp const claim{std::sqrt(16.0) / sigma};
  double const allowed = allowed_by(claim);
  CHECK(allowed == Approx(0.5987).epsilon(1e-3));

  auto const honest = attack_scalar_gaussian(noise_source::secret, sigma);
  CHECK(verdict_on(honest.mean(sure), allowed) == verdict::not_caught);
  CHECK(verdict_on(honest.worst(sure).success, allowed) == verdict::not_caught);
  CHECK(honest.mean(0.9).value > 0.53);  // the attack does attack

  auto const broken = attack_scalar_gaussian(noise_source::public_seed, sigma);
  CHECK(verdict_on(broken.mean(sure), allowed) == verdict::caught);
  CHECK(verdict_on(broken.on(7, sure), allowed) == verdict::caught);
  CHECK(broken.mean(sure).value == 1.0);
}

TEST_CASE("the same over candidate subsets", "[audit][broken]") {
  double const budget = 0.05;
  double const allowed = membership_success(nats(budget));
  double const allowed_subset = attack_success(nats(budget), 1.0 / 16.0);

  auto const honest = attack_noisy_mean(noise_source::secret, budget);
  CHECK(verdict_on(honest.records.mean(sure), allowed) == verdict::not_caught);
  CHECK(verdict_on(honest.records.worst(sure).success, allowed) == verdict::not_caught);
  CHECK(verdict_on(honest.subset, allowed_subset) == verdict::not_caught);

  auto const broken = attack_noisy_mean(noise_source::public_seed, budget);
  CHECK(verdict_on(broken.records.mean(sure), allowed) == verdict::caught);
  CHECK(verdict_on(broken.subset, allowed_subset) == verdict::caught);
  CHECK(broken.subset.value == 1.0);
}

TEST_CASE("groups charged as one are caught by the attack and by the accountant",
          "[audit][broken]") {
  // n groups, each clipped to C = 1 and noised with σ = 4: charged as a multiplier of 4, but it is 4/√24.
  double const claimed = 4.0;
  std::vector<clipped_group> const groups(24, clipped_group{.clip = 1.0, .sigma = claimed});
  double const joint = joint_gaussian(groups).noise_multiplier;
  CHECK(joint == Approx(claimed / std::sqrt(24.0)));
  CHECK(joint <= claimed / std::sqrt(24.0));
  double const allowed = allowed_by(gaussian_dp{1.0 / claimed});
  double const truth = allowed_by(gaussian_dp{1.0 / joint});
  CHECK(truth > allowed + 0.15);
  CHECK(epsilon(gaussian_dp{1.0 / joint}, 1e-5).lower >
        4.0 * epsilon(gaussian_dp{1.0 / claimed}, 1e-5).upper);

  auto const broken = attack_groups(claimed);
  CHECK(verdict_on(broken.mean(sure), allowed) == verdict::caught);
  CHECK(verdict_on(broken.on(3, sure), allowed) == verdict::caught);
  // The joint figure is true, and sharp.
  CHECK(verdict_on(broken.mean(sure), truth) == verdict::not_caught);
  CHECK(broken.mean(sure).upper > truth);

  auto const honest = attack_groups(claimed * std::sqrt(24.0));
  CHECK(verdict_on(honest.mean(sure), allowed) == verdict::not_caught);
  CHECK(verdict_on(honest.worst(sure).success, allowed) == verdict::not_caught);
  CHECK(honest.mean(0.9).value > 0.52);
}

TEST_CASE("the overspending inverse is caught by the accountant, and by an attack over many steps",
          "[audit][broken]") {
  double const budget = 1e-7;
  double const steps = 1e6;
  double const broken_sigma = overspending_sigma(budget);
  double const honest_sigma = noise_for(binary_channel{.prior = 0.5}, nats(budget));

  double const spent = mutual_information(binary_channel{.prior = 0.5, .sigma = broken_sigma});
  CHECK(spent == Approx(5e-7).epsilon(0.01));  // five times the budget
  CHECK(information_charge(binary_channel{.prior = 0.5, .sigma = honest_sigma}).value <= budget);

  // What all steps tell is at most the sum of what each tells: .1 nats if the budget were kept.
  double const allowed = membership_success(nats(budget * steps));
  CHECK(allowed == Approx(0.7198).epsilon(1e-3));
  CHECK(verdict_on(attack_many_steps(broken_sigma, steps), allowed) == verdict::caught);
  CHECK(verdict_on(attack_many_steps(honest_sigma, steps), allowed) == verdict::not_caught);
  CHECK(attack_many_steps(honest_sigma, steps).lower > 0.6);

  // Every smaller budget ends at the same σ.
  CHECK(overspending_sigma(1e-12) == broken_sigma);
}

TEST_CASE("PACZero stays within its bound against the exact posterior", "[audit][broken]") {
  std::mt19937_64 random(27);
  std::normal_distribution<double> normal_law;
  auto const set = candidate_set::balanced({.records = 16, .subsets = 16}, 7);
  attack_trials trials(16);
  std::uint64_t identified = 0;
  double allowed = 1.0;
  std::uint64_t const runs = 300;
  for (std::uint32_t run = 0; run < runs; ++run) {
    // The mechanism's first draw is the secret.
    auto twin = fixed_stream(1000 + run);
    std::size_t const truth = static_cast<std::size_t>(uniform_below(twin, 16));
    paczero mechanism({.steps = 12, .budget = nats(0.3)}, set, fixed_stream(1000 + run));
    while (!mechanism.done()) {
      std::vector<double> g(16);
      for (double& x : g) x = normal_law(random);
      (void)mechanism.step(g);
    }
    trials.add(right_guesses(mechanism.belief(), set, truth));
    identified += likeliest(mechanism.belief()) == truth ? 1 : 0;
    allowed = mechanism.attack_bound();
  }
  CHECK(verdict_on(trials.mean(sure), allowed) == verdict::not_caught);
  CHECK(verdict_on(trials.worst(sure).success, allowed) == verdict::not_caught);
  auto const subset = success_interval(identified, runs, sure);
  CHECK(verdict_on(subset, attack_success(nats(0.3), 1.0 / 16.0)) == verdict::not_caught);
  CHECK(subset.value > 1.5 / 16.0);  // the attack does attack
}
