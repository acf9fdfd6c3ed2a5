// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/value_exposure.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

using tacit::bit_and_sign;
using tacit::candidate_set;
using tacit::noised_sign;
using tacit::posterior;
using tacit::value_exposure;

constexpr double slack = 1e-13;

struct universe {
  candidate_set candidates;
  posterior belief;
  std::vector<std::int8_t> signs;

  [[nodiscard]] value_exposure exposed() const { return {candidates, belief, signs, slack}; }

  /// The four masses of a record, added up candidate by candidate.
  [[nodiscard]] bit_and_sign joint(std::size_t record) const {
    long double sums[2][2] = {};
    for (std::size_t m = 0; m < signs.size(); ++m) {
      sums[candidates.contains(m, record)][signs[m] > 0] +=
          std::exp(static_cast<long double>(belief.log_weights()[m]));
    }
    return {static_cast<double>(sums[1][1]), static_cast<double>(sums[1][0]),
            static_cast<double>(sums[0][1]), static_cast<double>(sums[0][0])};
  }
};

universe random_universe(std::mt19937_64& random, double spread, candidate_set::shape shape) {
  std::normal_distribution<double> normal(0.0, spread);
  std::vector<double> weights(shape.subsets);
  for (double& w : weights) w = normal(random);
  std::vector<std::int8_t> drawn(shape.subsets);
  do {
    for (auto& s : drawn) s = (random() >> 33 & 1) != 0 ? 1 : -1;
  } while (std::count(drawn.begin(), drawn.end(), 1) % static_cast<long>(shape.subsets) == 0);
  return {candidate_set::balanced(shape, random()), posterior::from_log_weights(weights), drawn};
}

}  // namespace

TEST_CASE("each record's four masses are added up, small ones to all their digits",
          "[value_exposure]") {
  std::mt19937_64 random(1);
  for (int run = 0; run < 60; ++run) {
    candidate_set::shape const shape{.records = 5,
                                     .subsets = run % 2 == 0 ? 8U : 130U,
                                     .one_in = run % 3 == 0 && run % 2 == 0 ? 4U : 2U};
    universe const world = random_universe(random, run % 4 == 0 ? 12.0 : 1.5, shape);
    value_exposure const exposure = world.exposed();
    for (double const sigma : {0.0, 0.4, 2.0, 50.0}) {
      noised_sign const seen = exposure.through(sigma);
      for (std::size_t i = 0; i < 5; ++i) {
        bit_and_sign const law = world.joint(i);
        double const truth = noised_sign(std::min(law.one_plus + law.zero_plus, 1.0),
                                         std::min(law.one_minus + law.zero_minus, 1.0), sigma)
                                 .information(law);
        double const priced = exposure.information(i, seen);
        CAPTURE(run, sigma, i, truth, priced);
        double const width = 1e-11 * truth + 2e-12 * std::sqrt(truth) + 2e-20;
        CHECK(priced >= truth - 1e-15 * truth);
        CHECK(priced <= truth + width);
      }
    }
  }
}

TEST_CASE("the noise found gives no record more than its allowance, and one of them all of it",
          "[value_exposure]") {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(-10.0, -0.6);
  int over = 0;
  int wasteful = 0;
  int bound = 0;
  for (int run = 0; run < 200; ++run) {
    universe const world =
        random_universe(random, run % 3 == 0 ? 0.1 : 2.0,
                        {.records = 20, .subsets = 16, .one_in = run % 5 == 0 ? 4U : 2U});
    value_exposure const exposure = world.exposed();
    double const scale = std::pow(10.0, exponent(random));
    std::vector<double> allowance(20);
    for (double& a : allowance) a = scale * (0.5 + std::generate_canonical<double, 53>(random));
    double const least = run % 4 == 0 ? 0.0 : 0.7;
    double const sigma = exposure.sigma_for(allowance, least);
    REQUIRE(sigma >= least);
    noised_sign const seen = exposure.through(sigma);
    noised_sign const less_noise = exposure.through(sigma * (1.0 - 1e-6));
    bool needed = false;
    for (std::size_t i = 0; i < 20; ++i) {
      over += exposure.information(i, seen) > allowance[i];
      needed |= exposure.information(i, less_noise) > allowance[i];
    }
    if (sigma == least) continue;
    ++bound;
    // Below 1/σ = 6.5 the price is that of the sign, a little above.
    wasteful += !needed && sigma > 0.16;
  }
  CHECK(over == 0);
  CHECK(wasteful == 0);
  CHECK(bound > 100);
}

TEST_CASE("the noise for an allowance at its ends", "[value_exposure]") {
  std::mt19937_64 random(3);
  universe const world = random_universe(random, 1.0, {.records = 6, .subsets = 8});
  value_exposure const exposure = world.exposed();
  CHECK(exposure.sigma_for(std::vector<double>(6, 10.0), 0.3) == 0.3);
  CHECK(exposure.sigma_for(std::vector<double>(6, infinity), 0.0) == 0.0);
  std::vector<double> allowance(6, 1.0);
  for (double const none : {0.0, -0.1}) {
    allowance[3] = none;
    CHECK(exposure.sigma_for(allowance, 0.3) == infinity);
  }
  for (double const tiny : {1e-20, 1e-30, 1e-100, 1e-250}) {
    double const sigma = exposure.sigma_for(std::vector<double>(6, tiny), 0.3);
    CHECK(sigma < infinity);
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(exposure.information(i, exposure.through(sigma)) <= tiny);
    }
  }
  allowance[3] = not_a_number;
  CHECK_THROWS_AS(exposure.sigma_for(allowance, 0.3), std::domain_error);
  CHECK_THROWS_AS(exposure.sigma_for(std::vector<double>(6, 1.0), not_a_number), std::domain_error);
  CHECK_THROWS_AS(exposure.sigma_for(std::vector<double>(5, 1.0), 0.3), std::invalid_argument);
}

TEST_CASE("a value exposure of another universe is refused", "[value_exposure]") {
  candidate_set const candidates = candidate_set::balanced({.records = 6, .subsets = 8}, 3);
  std::vector<std::int8_t> const signs(8, 1);
  CHECK_THROWS_AS(value_exposure(candidates, posterior(4), std::vector<std::int8_t>(4, 1), slack),
                  std::invalid_argument);
  CHECK_THROWS_AS(value_exposure(candidates, posterior(8), std::vector<std::int8_t>(7, 1), slack),
                  std::invalid_argument);
  CHECK_THROWS_AS(value_exposure(candidates, posterior(8), std::vector<std::int8_t>(8, 0), slack),
                  std::domain_error);
  for (double const bad : {not_a_number, -1.0, 0.5}) {
    CHECK_THROWS_AS(value_exposure(candidates, posterior(8), signs, bad), std::domain_error);
  }
  // All agree: nothing to tell.
  value_exposure const agreed(candidates, posterior(8), signs, slack);
  for (double const sigma : {0.0, 1.0}) {
    CHECK(agreed.information(2, agreed.through(sigma)) <= 1e-200);
  }
}
