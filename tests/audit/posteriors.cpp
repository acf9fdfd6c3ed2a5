// SPDX-License-Identifier: Apache-2.0
#include <tacit/audit/exact_posterior.hpp>
#include <tacit/audit/informed_adversary.hpp>
#include <tacit/audit/interval.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

namespace {

/// How far what an attacker believed about its success is from how often it was right, in standard
/// deviations: one number a run, since the records of a run hang together.
class calibration_score {
 public:
  void add(std::span<double const> believed, std::span<std::uint8_t const> right) {
    double gap = 0.0;
    for (std::size_t i = 0; i < right.size(); ++i) gap += right[i] - believed[i];
    sum_ += gap;
    squares_ += gap * gap;
  }
  [[nodiscard]] double value() const { return std::abs(sum_) / std::sqrt(squares_); }

 private:
  double sum_ = 0.0;
  double squares_ = 0.0;
};

double normal_density(double x, double mean, double variance) {
  return std::exp(-0.5 * (x - mean) * (x - mean) / variance) / std::sqrt(variance);
}

}  // namespace

TEST_CASE("the attack over candidates is Bayes' rule", "[audit]") {
  auto const set = tacit::candidate_set::balanced({.records = 5, .subsets = 6}, 3);
  std::vector<double> const g{0.5, -1.0, 0.2, 0.7, 1.0, 0.3, -0.4, 0.9, 0.0, -0.8};  // 5×2
  std::vector<std::vector<double>> const released{{0.3, -0.2}, {0.1, 0.6}, {-0.4, 0.0}};
  for (double const rate : {1.0, 0.3}) {
    tacit::candidate_attack attack(set);
    std::vector<double> weight(6, 1.0);
    for (auto const& y : released) {
      std::vector<double> const sigmas{0.5, 0.8};
      attack.observe_sum(g, y, sigmas, {.divisor = 2.0, .rate = rate});
      for (std::size_t m = 0; m < 6; ++m) {
        for (std::size_t k = 0; k < 2; ++k) {
          double mean = 0.0, variance = sigmas[k] * sigmas[k];
          for (std::size_t i = 0; i < 5; ++i) {
            double const c = set.contains(m, i) ? g[2 * i + k] / 2.0 : 0.0;
            mean += rate * c;
            variance += rate * (1.0 - rate) * c * c;
          }
          weight[m] *= normal_density(y[k], mean, variance);
        }
      }
    }
    double total = 0.0;
    for (double const w : weight) total += w;
    for (std::size_t m = 0; m < 6; ++m) {
      CHECK(attack.belief().probabilities()[m] == Approx(weight[m] / total).epsilon(1e-12));
    }
  }
  tacit::candidate_attack attack(set);
  attack.observe(std::vector<double>{0.0, -1.0, -infinity, 0.5, 0.0, -2.0});
  CHECK(attack.belief().live() == 5);
  CHECK(tacit::likeliest(attack.belief()) == 3);
  std::vector<double> in(5);
  attack.belief().memberships(set, in);
  auto const right = tacit::right_guesses(attack.belief(), set, 1);
  for (std::size_t i = 0; i < 5; ++i) CHECK(right[i] == ((in[i] >= 0.5) == set.contains(1, i)));
}

TEST_CASE("the attack over candidates is right as often as it believes", "[audit]") {
  auto const set = tacit::candidate_set::balanced({.records = 12, .subsets = 8}, 4);
  std::mt19937_64 random(10);
  std::normal_distribution<double> normal;
  calibration_score score;
  tacit::attack_trials trials(12);
  int identified = 0;
  for (int run = 0; run < 1000; ++run) {
    std::size_t const secret = random() >> 61;
    tacit::candidate_attack attack(set);
    for (int step = 0; step < 3; ++step) {
      std::vector<double> g(12);
      for (double& x : g) x = normal(random);
      double y = 0.0;
      for (std::size_t i = 0; i < 12; ++i) y += set.contains(secret, i) ? g[i] / 6.0 : 0.0;
      y += 0.5 * normal(random);
      attack.observe_sum(g, std::vector<double>{y}, std::vector<double>{0.5}, {.divisor = 6.0});
    }
    std::vector<double> believed(12);
    attack.belief().memberships(set, believed);
    for (double& p : believed) p = std::max(p, 1.0 - p);
    auto const right = tacit::right_guesses(attack.belief(), set, secret);
    score.add(believed, right);
    trials.add(right);
    identified += tacit::likeliest(attack.belief()) == secret ? 1 : 0;
  }
  CHECK(score.value() < statistics::normal_limit);  // false alarm 1e-6
  CHECK(trials.mean(0.99).lower > 0.55);
  CHECK(tacit::success_interval(static_cast<std::uint64_t>(identified), 1000, 0.99).lower >
        1.0 / 8);
}

TEST_CASE("knowing the rest is the likelihood ratio of one record", "[audit]") {
  // Three records in two coordinates; 0 and 2 in the sum. By the densities, as they are written.
  std::vector<double> const g{0.5, -1.0, 0.2, 0.7, 1.0, 0.3};
  std::vector<std::uint8_t> const in_sum{1, 0, 1};
  std::vector<double> const sum{1.5, -0.7};
  std::vector<double> const y{1.1, 0.4};
  std::vector<double> const residual{y[0] - sum[0], y[1] - sum[1]};
  std::vector<double> const sigmas{0.6, 1.2};
  for (double const rate : {1.0, 0.25}) {
    tacit::informed_adversary attack(3);
    attack.observe(g, in_sum, residual, sigmas, rate);
    attack.observe(g, in_sum, residual, sigmas, rate);
    for (std::size_t i = 0; i < 3; ++i) {
      double with = 1.0, without = 1.0;
      for (std::size_t k = 0; k < 2; ++k) {
        double const rest = sum[k] - in_sum[i] * g[2 * i + k];
        with *= normal_density(y[k], rest + g[2 * i + k], sigmas[k] * sigmas[k]);
        without *= normal_density(y[k], rest, sigmas[k] * sigmas[k]);
      }
      double const ratio = std::log(1.0 - rate + rate * with / without);
      CHECK(attack.evidence()[i] == Approx(2.0 * ratio).epsilon(1e-12));
      CHECK(attack.success(i) == Approx(1.0 / (1.0 + std::exp(-std::abs(2.0 * ratio)))));
    }
  }
  // At rate 1 the batch is known anyway; one sigma serves all coordinates.
  tacit::informed_adversary seen(3), unseen(3);
  seen.observe(g, in_sum, residual, std::vector<double>{0.6});
  unseen.observe_unseen(g, in_sum, y, std::vector<double>{0.6, 0.6}, 1.0);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(seen.evidence()[i] == Approx(unseen.evidence()[i]).epsilon(1e-12));
  }
  unseen.observe_evidence(std::vector<double>{infinity, -infinity, 1.0});
  CHECK(unseen.success(0) == 1.0);
  CHECK(unseen.evidence()[1] == -infinity);
  CHECK(unseen.exposed().worst == 1.0);
  CHECK(unseen.exposed().worst_record == 0);
  CHECK(unseen.exposed().mean == Approx((2.0 + unseen.success(2)) / 3.0));
}

TEST_CASE("who knows the rest is right as often as it believes, sampled or not", "[audit]") {
  std::size_t const records = 8;
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (double const rate : {1.0, 0.4}) {
    calibration_score score;
    tacit::attack_trials seen_trials(records), unseen_trials(records);
    for (int run = 0; run < 1500; ++run) {
      std::vector<std::uint8_t> inside(records);
      for (auto& u : inside) u = static_cast<std::uint8_t>(random() >> 63);
      tacit::informed_adversary seen(records), unseen(records);
      for (int step = 0; step < 5; ++step) {
        std::vector<double> g(2 * records);
        for (double& x : g) x = normal(random);
        std::vector<std::uint8_t> in_sum(records);
        std::vector<double> sum(2), noise(2);
        for (std::size_t i = 0; i < records; ++i) {
          in_sum[i] = static_cast<std::uint8_t>(inside[i] != 0 && uniform(random) < rate);
          for (std::size_t k = 0; k < 2; ++k) sum[k] += in_sum[i] * g[2 * i + k];
        }
        std::vector<double> released(2);
        for (std::size_t k = 0; k < 2; ++k) {
          noise[k] = 2.0 * normal(random);
          released[k] = sum[k] + noise[k];
        }
        std::vector<double> const sigma{2.0};
        seen.observe(g, in_sum, noise, sigma, rate);
        unseen.observe_unseen(g, inside, released, sigma, rate);
      }
      std::vector<double> believed(records);
      for (std::size_t i = 0; i < records; ++i) believed[i] = seen.success(i);
      auto const right = seen.right_guesses(inside);
      score.add(believed, right);
      seen_trials.add(right);
      unseen_trials.add(unseen.right_guesses(inside));
    }
    CAPTURE(rate);
    CHECK(score.value() < statistics::normal_limit);  // false alarm 1e-6
    auto const with = seen_trials.mean(0.999);
    auto const blind = unseen_trials.mean(0.999);
    CHECK(blind.lower > 0.52);
    if (rate < 1.0) CHECK(blind.value < with.value);
    if (rate == 1.0) CHECK(blind.value == with.value);
  }
}

TEST_CASE("signs of sums: what they exclude, and what noise leaves", "[audit]") {
  // Two groups of integers, three records, all in the sum: sums 3 and −1.
  std::vector<double> const g{5.0, 1.0, -1.0, -2.0, -1.0, 0.0};
  std::vector<std::uint8_t> const in_sum{1, 1, 1};
  std::vector<double> const sums{3.0, -1.0};
  std::vector<std::int8_t> const signs{1, -1};
  tacit::informed_adversary attack(3);
  attack.observe_signs(g, in_sum, sums, signs, 0.0, 1.0);
  CHECK(attack.evidence()[0] == infinity);  // without record 0 the first sum is −2
  CHECK(attack.evidence()[1] == infinity);  // without record 1 the second is +1
  CHECK(attack.evidence()[2] == 0.0);
  attack.observe_signs(g, in_sum, sums, std::vector<std::int8_t>{0, -1}, 0.0, 0.5);
  CHECK(attack.evidence()[0] == infinity);

  // Not in the batch, though its place in it would have changed a sign: 1 − q.
  tacit::informed_adversary out(3);
  out.observe_signs(g, std::vector<std::uint8_t>{0, 0, 1}, std::vector<double>{-1.0, 0.0},
                    std::vector<std::int8_t>{-1, 1}, 0.0, 0.25);
  CHECK(out.evidence()[0] == Approx(std::log(0.75)));  // sign of 4 is +, not −
  // Record 1: signs of −2, −2 cannot be −, +; without it a coin.
  CHECK(out.evidence()[1] == Approx(std::log(0.75)));
  // Record 2 in the sum: with it −1, 0; without 0, 0: two coins against one.
  CHECK(out.evidence()[2] == Approx(std::log(0.75 * 0.25 + 0.25 * 0.5) - std::log(0.25)));

  tacit::informed_adversary dithered(3);
  dithered.observe_signs(g, in_sum, sums, signs, 2.0, 0.25);
  for (std::size_t i = 0; i < 3; ++i) {
    auto const chance = [](double a, double b) {
      return statistics::normal_cdf(a / 2.0) * statistics::normal_cdf(-b / 2.0);
    };
    double const with = chance(3.0, -1.0);
    double const without = chance(3.0 - g[2 * i], -1.0 - g[2 * i + 1]);
    CHECK(dithered.evidence()[i] == Approx(std::log(0.75 + 0.25 * with / without)).margin(1e-14));
  }

  CHECK_THROWS_WITH(
      attack.observe_signs(g, in_sum, sums, std::vector<std::int8_t>{-1, 1}, 0.0),
      "observe_signs: likelihood of the signs for record 0 is 0, but must be positive");
  CHECK_THROWS_AS(attack.observe_signs(g, in_sum, sums, std::vector<std::int8_t>{2, 1}, 0.0),
                  std::domain_error);
  CHECK_THROWS_AS(attack.observe_signs(g, in_sum, sums, signs, -1.0), std::domain_error);
  CHECK(attack.evidence()[2] == 0.0);
}

TEST_CASE("posterior attacks refuse what they cannot weigh", "[audit]") {
  {
    // Two contributions whose evidence is +infinity and -infinity.
    tacit::informed_adversary attack(1);
    std::vector<double> const huge{1e200, 1e200};
    std::vector<double> const residual{1e200, -3e200};
    std::vector<std::uint8_t> const out{0};
    double const sigma = 1e-100;
    CHECK_THROWS_AS(attack.observe(huge, out, residual, {&sigma, 1}), std::domain_error);
    CHECK(attack.evidence()[0] == 0.0);
  }
  CHECK_THROWS_AS(tacit::informed_adversary(0), std::invalid_argument);
  tacit::informed_adversary attack(2);
  std::vector<double> const g{0.5, 1.0};
  std::vector<std::uint8_t> const flags{1, 0};
  std::vector<double> const one{1.0};
  CHECK_NOTHROW(attack.observe(g, flags, one, one));
  std::vector<double> const before(attack.evidence().begin(), attack.evidence().end());
  CHECK_THROWS_AS(attack.observe(one, flags, one, one), std::invalid_argument);
  CHECK_THROWS_AS(attack.observe(g, std::vector<std::uint8_t>{1}, one, one), std::invalid_argument);
  CHECK_THROWS_AS(attack.observe(g, std::vector<std::uint8_t>{1, 2}, one, one), std::domain_error);
  CHECK_THROWS_AS(attack.observe(g, flags, one, g), std::invalid_argument);
  for (double const bad : {0.0, -1.0, not_a_number, infinity}) {
    CHECK_THROWS_AS(attack.observe(g, flags, one, std::vector<double>{bad}), std::domain_error);
    CHECK_THROWS_AS(attack.observe(g, flags, one, one, bad), std::domain_error);
  }
  CHECK_THROWS_AS(attack.observe(std::vector<double>{0.5, not_a_number}, flags, one, one),
                  std::domain_error);
  CHECK_THROWS_AS(attack.observe_unseen(g, flags, std::vector<double>{infinity}, one, 0.5),
                  std::domain_error);
  CHECK_THROWS_AS(attack.observe_evidence(std::vector<double>{0.0, not_a_number}),
                  std::domain_error);
  CHECK_THROWS_AS(attack.success(2), std::invalid_argument);
  CHECK_THROWS_AS(attack.right_guesses(std::vector<std::uint8_t>{1}), std::invalid_argument);
  CHECK(std::vector<double>(attack.evidence().begin(), attack.evidence().end()) == before);

  auto const set = tacit::candidate_set::balanced({.records = 2, .subsets = 2}, 1);
  tacit::candidate_attack over(set);
  CHECK_THROWS_AS(over.observe_sum(g, one, one, {}), std::domain_error);  // no divisor
  CHECK_THROWS_AS(over.observe_sum(g, one, one, {.divisor = 1.0, .rate = 0.0}), std::domain_error);
  CHECK_THROWS_AS(over.observe_sum(one, one, one, {.divisor = 1.0}), std::invalid_argument);
  CHECK_THROWS_AS(over.observe_sum(g, one, std::vector<double>{0.0}, {.divisor = 1.0}),
                  std::domain_error);
  CHECK_THROWS_AS(over.observe(std::vector<double>{-infinity, -infinity}), std::invalid_argument);
  CHECK_THROWS_AS(over.observe(std::vector<double>{not_a_number, 0.0}), std::domain_error);
  CHECK_THROWS_AS(over.observe(one), std::invalid_argument);
  CHECK(over.belief().probabilities()[0] == 0.5);
}
