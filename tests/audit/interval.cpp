// SPDX-License-Identifier: Apache-2.0
#include <tacit/audit/empirical_epsilon.hpp>
#include <tacit/audit/interval.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

/// P(k of n), by logarithms.
double binomial(std::uint64_t k, std::uint64_t n, double p) {
  auto const x = [](std::uint64_t i) { return static_cast<double>(i); };
  return std::exp(std::lgamma(x(n) + 1) - std::lgamma(x(k) + 1) - std::lgamma(x(n - k) + 1) +
                  x(k) * std::log(p) + x(n - k) * std::log1p(-p));
}

}  // namespace

TEST_CASE("tails of binomial laws have eight digits", "[audit]") {
  struct row {
    std::uint64_t hits, trials;
    double p, tail;
  };
  // Sums of the terms in 60 digits (mpmath).
  row const rows[] = {
      {1, 1, 0.25, 0.25},
      {3, 5, 0.5, 0.5},
      {8, 10, 0.4375, 0.022670973998174304143},
      {8, 10, 0.875, 0.88049784675240516663},
      {16, 100, 0.0625, 0.00047431928089367487163},
      {500, 1000, 0.125, 9.0701553513228928669e-182},
      {700000, 1000000, 0.6875, 1.1915074940358740105e-161},
      {20, 1000000, 0x1p-20, 6.4234302353764248765e-20},
      {999980, 1000000, 1.0 - 0x1p-16, 0.90574163154011593327},
      {1, 16777216, 0x1p-24, 0.63212056979221965629},
      {8388608, 16777216, 0.5, 0.50009739801622478747},
      {8396800, 16777216, 0.5, 0.000031703891270919725339},
      {8380416, 16777216, 0.5, 0.99996836145546609783},
  };
  for (row const& r : rows) {
    CAPTURE(r.hits, r.trials, r.p);
    double const tail = tacit::detail::binomial_tail(r.hits, r.trials, r.p);
    CHECK(std::abs(tail - r.tail) <= tacit::detail::binomial_tail_error * r.tail);
  }
  CHECK(tacit::detail::binomial_tail(3, 5, 0.0) == 1e-300);
  CHECK(tacit::detail::binomial_tail(3, 5, 1.0) == 1.0);
  CHECK(tacit::lower_rate(1, 1, 1e-305) == 0.0);  // no tail is distinguished from 1e-300
}

TEST_CASE("Clopper-Pearson intervals have the known ends", "[audit]") {
  // No hit, or nothing but hits: closed forms.
  CHECK(tacit::lower_rate(0, 50, 0.025) == 0.0);
  CHECK(tacit::upper_rate(50, 50, 0.025) == 1.0);
  for (std::uint64_t const n : {1U, 10U, 1000U, 1000000U}) {
    double const end = std::exp(std::log(0.025) / static_cast<double>(n));
    CHECK(tacit::lower_rate(n, n, 0.025) == Approx(end).epsilon(2e-8));
    CHECK(tacit::lower_rate(n, n, 0.025) <= end);
    CHECK(tacit::upper_rate(0, n, 0.025) == Approx(1.0 - end).epsilon(1e-7));
    CHECK(tacit::upper_rate(0, n, 0.025) >= 1.0 - end);
  }
  auto const of_ten = tacit::success_interval(8, 10, 0.95);
  CHECK(of_ten.value == 0.8);
  CHECK(of_ten.lower == Approx(0.4439045).epsilon(1e-6));
  CHECK(of_ten.upper == Approx(0.9747893).epsilon(1e-6));
  CHECK(of_ten.confidence == 0.95);
  // Large numbers: normal.
  auto const many = tacit::success_interval(500'000, 1'000'000, 0.95);
  CHECK(many.upper - many.lower == Approx(2.0 * 1.959964 * 0.5e-3).epsilon(2e-3));
}

TEST_CASE("Clopper-Pearson ends fail no more often than they may, and nearly as often", "[audit]") {
  // Exactly, by going through all outcomes: nothing is drawn.
  for (std::uint64_t const n : {3U, 20U, 60U}) {
    for (double const failure : {0.025, 1e-4}) {
      std::vector<double> lower, upper;
      for (std::uint64_t k = 0; k <= n; ++k) {
        lower.push_back(tacit::lower_rate(k, n, failure));
        upper.push_back(tacit::upper_rate(k, n, failure));
      }
      double most = 0.0;
      for (int step = 1; step < 400; ++step) {
        double const p = step / 400.0;
        double above = 0.0, below = 0.0;
        for (std::uint64_t k = 0; k <= n; ++k) {
          above += lower[k] > p ? binomial(k, n, p) : 0.0;
          below += upper[k] < p ? binomial(k, n, p) : 0.0;
        }
        CAPTURE(n, failure, p);
        REQUIRE(above <= failure * (1.0 + 1e-9));
        REQUIRE(below <= failure * (1.0 + 1e-9));
        most = std::max(most, above);
      }
      CHECK(most > 0.9 * failure);
    }
  }
}

TEST_CASE("trials of unequal chances are covered too", "[audit]") {
  // Half at 0.5 + x, half at 0.5 − x: exactly, by convolution of two binomials.
  std::uint64_t const n = 20;
  for (double const x : {0.1, 0.3, 0.45}) {
    std::vector<double> law(2 * n + 1, 0.0);
    for (std::uint64_t a = 0; a <= n; ++a) {
      for (std::uint64_t b = 0; b <= n; ++b) {
        law[a + b] += binomial(a, n, 0.5 + x) * binomial(b, n, 0.5 - x);
      }
    }
    double missed = 0.0;
    for (std::uint64_t k = 0; k <= 2 * n; ++k) {
      missed += tacit::lower_rate(k, 2 * n, 0.025) > 0.5 ? law[k] : 0.0;
    }
    CHECK(missed <= 0.025);
  }
}

TEST_CASE("trials: one guess a run for a record, one share a run for all of them", "[audit]") {
  // Records 0 and 1 are guessed right with .5 and .9; all guesses of a run hang together.
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  tacit::attack_trials trials(3);
  for (int run = 0; run < 400; ++run) {
    double const u = uniform(random);
    std::vector<std::uint8_t> const right{u < 0.5, u < 0.9, u < 0.4};
    trials.add(right);
  }
  CHECK(trials.runs() == 400);
  CHECK(trials.records() == 3);
  // Confidence 1 − 2e-6: each end fails with 1e-6.
  double const confidence = 1.0 - 2e-6;
  double const truth[] = {0.5, 0.9, 0.4};
  for (std::size_t i = 0; i < 3; ++i) {
    auto const on = trials.on(i, confidence);
    CHECK(on.lower < truth[i]);
    CHECK(on.upper > truth[i]);
  }
  auto const mean = trials.mean(confidence);
  CHECK(mean.lower < 0.6);
  CHECK(mean.upper > 0.6);
  CHECK(mean.lower > 0.4);
  CHECK(
      mean.value ==
      Approx((trials.on(0, 0.5).value + trials.on(1, 0.5).value + trials.on(2, 0.5).value) / 3.0));
  auto const worst = trials.worst(0.99);
  CHECK(worst.record == 1);
  CHECK(worst.success.confidence == 0.99);
  CHECK(worst.success.lower < trials.on(1, 0.99).lower);  // it paid for the choice among three
  CHECK(worst.success.lower == Approx(trials.on(1, 1.0 - 0.01 / 3.0).lower));

  CHECK_THROWS_AS(tacit::attack_trials(0), std::invalid_argument);
  CHECK_THROWS_AS(trials.add(std::vector<std::uint8_t>{1, 0}), std::invalid_argument);
  CHECK_THROWS_AS(trials.add(std::vector<std::uint8_t>{1, 0, 2}), std::domain_error);
  CHECK(trials.runs() == 400);
  CHECK_THROWS_AS(trials.on(3, 0.9), std::invalid_argument);
  CHECK_THROWS_AS(tacit::attack_trials(2).on(0, 0.9), std::invalid_argument);
  CHECK_THROWS_AS(tacit::attack_trials(2).mean(0.9), std::invalid_argument);
}

TEST_CASE("an interval for a mean stands on a sample that no law would give", "[audit]") {
  std::vector<double> sorted(200, 1.0);
  sorted.resize(20000, 0.0);
  tacit::confidence_interval const mean = tacit::mean_interval(sorted, 0.0, 1.0, 0.95);
  CHECK(mean.value == Approx(0.01));
  CHECK(mean.lower <= mean.upper);
}

TEST_CASE("a mechanism is caught by the lower end alone", "[audit]") {
  auto const success = tacit::success_interval(80, 100, 0.95);
  CHECK(tacit::verdict_on(success, 0.5) == tacit::verdict::caught);
  CHECK(tacit::verdict_on(success, 0.75) == tacit::verdict::not_caught);  // value above, end below
  CHECK(tacit::verdict_on(success, success.lower) == tacit::verdict::not_caught);
  CHECK_THROWS_AS(tacit::verdict_on(success, not_a_number), std::domain_error);
  CHECK_THROWS_AS(tacit::verdict_on({0.5, not_a_number, 1.0, 0.9}, 0.5), std::domain_error);
}

TEST_CASE("epsilon from counts: known ends", "[audit]") {
  // Perfect in 1000 runs a side: both rates end at 1 − .025^{1/1000}.
  double const rate = -std::expm1(std::log(0.025) / 1000.0);
  tacit::attack_counts const perfect{1000, 1000, 1000, 0};
  CHECK(tacit::epsilon_lower_bound(perfect, 0.0, 0.95) ==
        Approx(std::log((1.0 - rate) / rate)).epsilon(1e-7));
  CHECK(tacit::epsilon_lower_bound(perfect, 0.5, 0.95) ==
        Approx(std::log((0.5 - rate) / rate)).epsilon(1e-7));
  CHECK(tacit::epsilon_lower_bound(perfect, 1.0, 0.95) == 0.0);
  CHECK(tacit::epsilon_lower_bound({1000, 500, 1000, 500}, 0.0, 0.95) == 0.0);
  CHECK(tacit::epsilon_lower_bound({1000, 0, 1000, 1000}, 0.0, 0.95) == 0.0);
  // Few false positives, many false negatives: the other ratio is the one that tells.
  double const b = tacit::upper_rate(900, 1000, 0.025);
  double const a = tacit::upper_rate(0, 1000, 0.025);
  CHECK(tacit::epsilon_lower_bound({1000, 100, 1000, 0}, 0.0, 0.95) ==
        Approx(std::log((1.0 - b) / a)));
}

TEST_CASE("epsilon from counts stays below the truth but with the stated probability", "[audit]") {
  // Randomised response attains its ε at both ratios. All outcomes of 40 runs a side.
  std::uint64_t const n = 40;
  double const confidence = 0.9;
  for (double const epsilon : {0.1, 1.0, 2.5}) {
    double const wrong = 1.0 / (1.0 + std::exp(epsilon));
    double above = 0.0, all = 0.0;
    for (std::uint64_t a = 0; a <= n; ++a) {
      for (std::uint64_t b = 0; b <= n; ++b) {
        double const chance = binomial(a, n, wrong) * binomial(b, n, wrong);
        if (chance < 1e-12) continue;
        all += chance;
        above +=
            tacit::epsilon_lower_bound({n, n - b, n, a}, 0.0, confidence) > epsilon ? chance : 0.0;
      }
    }
    CAPTURE(epsilon, above);
    CHECK(all == Approx(1.0).epsilon(1e-8));
    CHECK(above <= 1.0 - confidence);
    CHECK(above > 1e-4);  // it does reach for the truth
  }
}

TEST_CASE("intervals refuse what is no count", "[audit]") {
  CHECK_THROWS_WITH(tacit::success_interval(11, 10, 0.95),
                    "success_interval: correct is 11, but must be at most the number of trials");
  CHECK_THROWS_AS(tacit::success_interval(0, 0, 0.95), std::invalid_argument);
  CHECK_THROWS_AS(tacit::lower_rate(1, std::uint64_t{1} << 25, 0.05), std::invalid_argument);
  for (double const bad : {0.0, 1.0, -0.1, not_a_number}) {
    CHECK_THROWS_AS(tacit::success_interval(5, 10, bad), std::domain_error);
    CHECK_THROWS_AS(tacit::lower_rate(5, 10, bad), std::domain_error);
    CHECK_THROWS_AS(tacit::upper_rate(5, 10, bad), std::domain_error);
    CHECK_THROWS_AS(tacit::epsilon_lower_bound({10, 5, 10, 5}, 0.1, bad), std::domain_error);
    CHECK_THROWS_AS(tacit::mean_interval(std::vector<double>{0.5}, 0.0, 1.0, bad),
                    std::domain_error);
  }
  CHECK_THROWS_AS(tacit::epsilon_lower_bound({10, 5, 10, 5}, not_a_number, 0.9), std::domain_error);
  CHECK_THROWS_AS(tacit::epsilon_lower_bound({10, 11, 10, 5}, 0.0, 0.9), std::invalid_argument);
  CHECK_THROWS_AS(tacit::epsilon_lower_bound({10, 5, 0, 0}, 0.0, 0.9), std::invalid_argument);
}
