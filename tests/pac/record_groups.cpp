// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/record_groups.hpp>
#include <tacit/pac/record_ledger.hpp>
#include <tacit/pac/value_exposure.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

using namespace tacit;

constexpr double slack = 1e-13;

std::vector<std::int8_t> random_signs(std::mt19937_64& random, std::size_t size) {
  std::vector<std::int8_t> signs(size);
  for (auto& s : signs) s = (random() >> 33 & 1) != 0 ? 1 : -1;
  return signs;
}

/// I(U_G; Y^T) from the joint law of the secret subset and the transcript, by its definition.
double information_of(record_groups const& groups, std::size_t g,
                      std::vector<std::vector<double>> const& likelihood) {
  auto const subsets = static_cast<double>(groups.subsets());
  long double total = 0.0L;
  std::vector<long double> state(groups.states(g));
  for (std::size_t m = 0; m < groups.subsets(); ++m) state[groups.state(g)[m]] += 1.0L / subsets;
  for (std::vector<double> const& of_subset : likelihood) {
    std::vector<long double> joint(groups.states(g));
    long double transcript = 0.0L;
    for (std::size_t m = 0; m < groups.subsets(); ++m) {
      joint[groups.state(g)[m]] += of_subset[m] / subsets;
      transcript += of_subset[m] / subsets;
    }
    for (std::size_t s = 0; s < state.size(); ++s) {
      if (joint[s] > 0.0L) total += joint[s] * std::log(joint[s] / (state[s] * transcript));
    }
  }
  return static_cast<double>(total);
}

/// Every transcript of a run of three signs, each chosen by what was released before.
struct enumeration {
  candidate_set const& candidates;
  record_groups const& groups;
  double budget;
  std::uint64_t seed;

  std::vector<std::vector<double>> likelihood;  // of each transcript, by subset
  std::vector<double> mean_spent;               // over transcripts
  double worst = 0.0;

  void run() {
    mean_spent.assign(groups.size(), 0.0);
    follow(posterior(candidates.subsets()), record_ledger(groups.size(), nats(budget)),
           std::vector<double>(candidates.subsets(), 1.0), 0, seed);
  }

  void follow(posterior const& belief, record_ledger&& account, std::vector<double> const& chance,
              int step, std::uint64_t path) {
    if (step == 3) {
      double mass = 0.0;
      for (double const c : chance) mass += c / static_cast<double>(chance.size());
      for (std::size_t g = 0; g < groups.size(); ++g) {
        mean_spent[g] += mass * account.spent()[g];
        worst = std::max(worst, account.spent()[g]);
      }
      likelihood.push_back(chance);
      return;
    }
    std::mt19937_64 random(path);
    auto const signs = random_signs(random, candidates.subsets());
    group_exposure const exposed(groups, belief, signs, slack);
    std::vector<double> allowance;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      allowance.push_back(account.remaining(g).value / (3.0 - step));
    }
    flip const noise = exposed.flip_for(allowance, flip::with_correlation(0.9));
    std::vector<double> costs;
    for (std::size_t g = 0; g < groups.size(); ++g) costs.push_back(exposed.information(g, noise));
    static_cast<void>(account.charge(costs));
    for (sign const released : {sign::plus, sign::minus}) {
      double const y = released == sign::plus ? 1.0 : -1.0;
      posterior after = belief;
      std::vector<double> next = chance;
      if (noise.correlation() > 0.0) after.observe_sign(signs, released, noise);
      for (std::size_t m = 0; m < next.size(); ++m) {
        next[m] *= 0.5 * (1.0 + y * noise.correlation() * signs[m]);
      }
      record_ledger copy(nats(budget), {account.spent().begin(), account.spent().end()});
      follow(after, std::move(copy), next, step + 1, 2 * path + (y > 0.0 ? 1 : 2));
    }
  }
};

}  // namespace

TEST_CASE("every transcript of small universes: groups are charged what is told about them",
          "[record_groups]") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    std::size_t const one_in = seed % 3 == 0 ? 3 : 2;
    auto const candidates =
        candidate_set::balanced({.records = 5, .subsets = 12, .one_in = one_in}, seed);
    record_groups const groups(candidates, {{0}, {1}, {0, 1}, {2, 3, 4}, {4, 2}});
    enumeration all{candidates, groups, seed % 2 == 0 ? 0.05 : 0.4, seed, {}, {}};
    all.run();
    CHECK(all.likelihood.size() == 8);
    CHECK(all.worst <= all.budget);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      double const truth = information_of(groups, g, all.likelihood);
      CAPTURE(seed, g, truth, all.mean_spent[g]);
      CHECK(truth <= all.budget);
      CHECK(all.mean_spent[g] >= truth * (1.0 - 1e-12));
      CHECK(all.mean_spent[g] <= truth + 1e-10);
    }
    // What the group's state tells, its records tell at most.
    CHECK(information_of(groups, 2, all.likelihood) >= information_of(groups, 0, all.likelihood));
  }
}

TEST_CASE("the parity of two records, which no record shows", "[record_groups]") {
  // All four memberships of two records, and a sign that is their parity.
  std::uint64_t seed = 0;
  auto const all_four = [&] {
    for (;; ++seed) {
      auto candidates = candidate_set::balanced({.records = 2, .subsets = 4}, seed);
      std::map<std::pair<bool, bool>, int> seen;
      for (std::size_t m = 0; m < 4; ++m) {
        ++seen[{candidates.contains(m, 0), candidates.contains(m, 1)}];
      }
      if (seen.size() == 4) return candidates;
    }
  };
  candidate_set const candidates = all_four();
  std::vector<std::int8_t> parity(4);
  for (std::size_t m = 0; m < 4; ++m) {
    parity[m] = candidates.contains(m, 0) != candidates.contains(m, 1) ? 1 : -1;
  }
  posterior const belief(4);
  flip const bare = flip::with_correlation(1.0);
  record_exposure const single(candidates, belief, parity, slack);
  CHECK(single.information(0, bare) <= 1e-9);
  CHECK(single.information(1, bare) <= 1e-9);
  record_groups const groups(candidates, {{0, 1}});
  group_exposure const together(groups, belief, parity, slack);
  CHECK(together.information(0, bare) == Approx(std::log(2.0)).epsilon(1e-10));
  CHECK(together.information(0, bare) >= std::log(2.0));
  CHECK(together.information(0, 0.0) >= std::log(2.0) * (1.0 - 1e-15));
  CHECK(together.flip_for(std::vector{0.0}, bare).correlation() == 0.0);
  CHECK(together.sigma_for(std::vector{0.0}, 0.5) == infinity);
}

TEST_CASE("a group of one record is charged as the record", "[record_groups]") {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (int run = 0; run < 40; ++run) {
    auto const candidates = candidate_set::balanced({.records = 4, .subsets = 16}, random());
    std::vector<double> weights(16);
    for (double& w : weights) w = 1.5 * normal(random);
    auto const belief = posterior::from_log_weights(weights);
    auto const signs = random_signs(random, 16);
    record_groups const groups(candidates, {{0}, {1}, {2}, {3}});
    group_exposure const exposed(groups, belief, signs, slack);
    record_exposure const as_signs(candidates, belief, signs, slack);
    value_exposure const as_values(candidates, belief, signs, slack);
    for (std::size_t i = 0; i < 4; ++i) {
      for (double const rho : {1e-3, 0.3, 0.95}) {
        flip const noise = flip::with_correlation(rho);
        CHECK(exposed.information(i, noise) ==
              Approx(as_signs.information(i, noise)).epsilon(2e-5).margin(1e-11));
      }
      for (double const sigma : {0.3, 1.0, 20.0}) {
        CHECK(
            exposed.information(i, sigma) ==
            Approx(as_values.information(i, as_values.through(sigma))).epsilon(1e-9).margin(1e-15));
      }
    }
    std::vector<double> const allowance{0.01, 0.02, 0.03, 0.04};
    CHECK(exposed.sigma_for(allowance, 0.1) ==
          Approx(as_values.sigma_for(allowance, 0.1)).epsilon(1e-6));
    CHECK(exposed.flip_for(allowance, flip::with_correlation(1.0)).correlation() ==
          Approx(as_signs.flip_for(allowance, flip::with_correlation(1.0)).correlation())
              .epsilon(1e-4));
  }
}

TEST_CASE("a noised sign and a group of three states: a quadrature of the definition",
          "[record_groups]") {
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal;
  for (int run = 0; run < 20; ++run) {
    auto const candidates = candidate_set::balanced({.records = 3, .subsets = 12}, random());
    std::vector<double> weights(12);
    for (double& w : weights) w = normal(random);
    auto const belief = posterior::from_log_weights(weights);
    auto const signs = random_signs(random, 12);
    record_groups const groups(candidates, {{0, 1, 2}});
    group_exposure const exposed(groups, belief, signs, slack);
    for (double const sigma : {0.4, 1.0, 5.0}) {
      std::vector<double> plus(groups.states(0));
      std::vector<double> minus(groups.states(0));
      for (std::size_t m = 0; m < 12; ++m) {
        (signs[m] > 0 ? plus : minus)[groups.state(0)[m]] += belief.probabilities()[m];
      }
      double truth = 0.0;
      double const step = sigma / 64.0;
      for (double y = -1.0 - 12.0 * sigma; y <= 1.0 + 12.0 * sigma; y += step) {
        auto const density = [&](double mean) {
          double const z = (y - mean) / sigma;
          return std::exp(-0.5 * z * z) / (sigma * std::sqrt(2.0 * std::acos(-1.0)));
        };
        double all = 0.0;
        for (std::size_t s = 0; s < plus.size(); ++s) {
          all += plus[s] * density(1.0) + minus[s] * density(-1.0);
        }
        for (std::size_t s = 0; s < plus.size(); ++s) {
          double const joint = plus[s] * density(1.0) + minus[s] * density(-1.0);
          if (joint > 0.0) {
            truth += step * joint * std::log(joint / ((plus[s] + minus[s]) * all));
          }
        }
      }
      CHECK(exposed.information(0, sigma) == Approx(truth).epsilon(1e-9).margin(1e-13));
    }
  }
}

TEST_CASE("groups that cannot be", "[record_groups]") {
  auto const candidates = candidate_set::balanced({.records = 3, .subsets = 8}, 1);
  CHECK_THROWS_AS(record_groups(candidates, {}), std::invalid_argument);
  CHECK_THROWS_AS(record_groups(candidates, {{}}), std::invalid_argument);
  CHECK_THROWS_AS(record_groups(candidates, {{0, 3}}), std::invalid_argument);
  CHECK_THROWS_AS(record_groups(candidates, {{1, 1}}), std::invalid_argument);
  record_groups const groups(candidates, {{0, 1}});
  std::vector<std::int8_t> const signs(8, 1);
  CHECK_THROWS_AS(group_exposure(groups, posterior(4), signs, slack), std::invalid_argument);
  CHECK_THROWS_AS(group_exposure(groups, posterior(8), std::vector<std::int8_t>(7, 1), slack),
                  std::invalid_argument);
  CHECK_THROWS_AS(group_exposure(groups, posterior(8), signs, not_a_number), std::domain_error);
  group_exposure const exposed(groups, posterior(8), signs, slack);
  CHECK(exposed.information(0, flip::with_correlation(0.7)) <= 1e-20);
  CHECK_THROWS_AS(exposed.flip_for(std::vector{not_a_number}, flip::with_correlation(0.5)),
                  std::domain_error);
  CHECK_THROWS_AS(exposed.sigma_for(std::vector<double>{}, 0.0), std::invalid_argument);
}
