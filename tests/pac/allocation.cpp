// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/allocation.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <cmath>
#include <cstddef>
#include <random>
#include <stdexcept>

namespace {

using tacit::allocation;
using tacit::allowance;
using tacit::nats;
using tacit::pacing;

double allow(pacing const& pace, double budget, double remaining, std::size_t left,
             std::size_t releases) {
  return allowance(pace, nats(budget), nats(remaining), left, releases).value;
}

}  // namespace

TEST_CASE("each rule allows its own share", "[allocation]") {
  auto const share = [](allocation rule, double remaining, std::size_t left) {
    return allow({.rule = rule, .horizon = 50.0}, 2.0, remaining, left, 10);
  };
  CHECK(share(allocation::uniform, 2.0, 10) == Approx(0.2).epsilon(1e-15));
  CHECK(share(allocation::uniform, 1.0, 2) == Approx(0.2).epsilon(1e-15));  // keeps to its share
  CHECK(share(allocation::uniform, 0.05, 2) == Approx(0.05).epsilon(1e-15));
  CHECK(share(allocation::adaptive, 2.0, 10) == Approx(0.2).epsilon(1e-15));
  CHECK(share(allocation::adaptive, 1.0, 2) == Approx(0.5).epsilon(1e-15));  // what others left
  CHECK(share(allocation::adaptive, 1.0, 1) == Approx(1.0).epsilon(1e-15));
  CHECK(share(allocation::confident_or_hold, 2.0, 10) == Approx(0.04).epsilon(1e-15));
  CHECK(share(allocation::confident_or_hold, 1.0, 1) == Approx(0.02).epsilon(1e-15));
  CHECK(share(allocation::budget_then_zero, 2.0, 10) == Approx(2.0).epsilon(1e-15));
  CHECK(share(allocation::budget_then_zero, 0.3, 4) == Approx(0.3).epsilon(1e-15));
}

TEST_CASE("an allowance is never above what remains, nor below 0", "[allocation]") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-300.0, 3.0);
  int beyond = 0;
  int negative = 0;
  int wasteful = 0;
  for (int k = 0; k < 20'000; ++k) {
    double const budget = std::pow(10.0, exponent(random));
    double const remaining = budget * std::generate_canonical<double, 53>(random);
    std::size_t const releases = 1 + random() % 1000;
    std::size_t const left = 1 + random() % releases;
    for (auto const rule : {allocation::uniform, allocation::adaptive,
                            allocation::confident_or_hold, allocation::budget_then_zero}) {
      double const allowed =
          allow({.rule = rule, .horizon = 1.0 + static_cast<double>(random() % 3)}, budget,
                remaining, left, releases);
      beyond += allowed > remaining;
      negative += allowed < 0.0;
      wasteful += left == 1 && rule == allocation::adaptive && allowed < remaining * (1.0 - 1e-15);
    }
  }
  CHECK(beyond == 0);
  CHECK(negative == 0);
  CHECK(wasteful == 0);

  for (auto const rule : {allocation::uniform, allocation::adaptive, allocation::confident_or_hold,
                          allocation::budget_then_zero}) {
    CHECK(allow({.rule = rule}, 1.0, 0.0, 5, 10) == 0.0);
    CHECK(allow({.rule = rule}, 0.0, 0.0, 5, 10) == 0.0);
    CHECK(allow({.rule = rule}, 1.0, -1e-300, 5, 10) == 0.0);  // a remainder rounded below nothing
    CHECK(allow({.rule = rule}, 1e-320, 1e-320, 1, 1) <= 1e-320);
  }
}

TEST_CASE("adaptive shares use up a budget and never more than it", "[allocation]") {
  double remaining = 0.33;
  double spent = 0.0;
  for (std::size_t left = 1000; left >= 1; --left) {
    double const allowed = allow({.rule = allocation::adaptive}, 0.33, remaining, left, 1000);
    double const used = left % 3 == 0 ? 0.0 : allowed;  // a third of the releases cost nothing
    spent += used;
    remaining -= used;
  }
  CHECK(spent <= 0.33);
  CHECK(spent > 0.33 * (1.0 - 1e-12));
}

TEST_CASE("allowance refuses a horizon and a count that mean nothing", "[allocation]") {
  for (double const horizon : {not_a_number, 0.0, 0.99, -1.0}) {
    CAPTURE(horizon);
    CHECK_THROWS_AS(
        allow({.rule = allocation::confident_or_hold, .horizon = horizon}, 1.0, 1.0, 1, 1),
        std::domain_error);
    // The others do not look at it.
    CHECK_NOTHROW(allow({.rule = allocation::adaptive, .horizon = horizon}, 1.0, 1.0, 1, 1));
  }
  CHECK_THROWS_WITH(allow({.rule = allocation::confident_or_hold, .horizon = 0.5}, 1.0, 1.0, 1, 1),
                    "allowance: horizon is 0.5, but must be at least 1");
  CHECK(allow({.rule = allocation::confident_or_hold, .horizon = infinity}, 1.0, 1.0, 1, 1) == 0.0);
  CHECK_THROWS_AS(allow({}, 1.0, 1.0, 0, 10), std::invalid_argument);
  CHECK_THROWS_AS(allow({}, 1.0, 1.0, 11, 10), std::invalid_argument);
  CHECK_THROWS_AS(allow({}, 1.0, 1.0, 0, 0), std::invalid_argument);
  CHECK_THROWS_WITH(allow({}, 1.0, 1.0, 11, 10),
                    "allowance: releases_left is 11, but must be in [1, releases]");
}
