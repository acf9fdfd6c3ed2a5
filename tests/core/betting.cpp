// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/betting.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

struct bounded_law {
  char const* name;
  double low;
  double high;
  double mean;
  std::function<double(double)> at;  // of a uniform number
};

std::vector<bounded_law> const bounded_laws{
    {"uniform", 0.0, 1.0, 0.5, [](double u) { return u; }},
    {"rare", 0.0, 1.0, 0.01, [](double u) { return u < 0.01 ? 1.0 : 0.0; }},
    {"nearly always", -3.0, 5.0, 4.92, [](double u) { return u < 0.01 ? -3.0 : 5.0; }},
    {"coin", -1.0, 1.0, 0.0, [](double u) { return u < 0.5 ? -1.0 : 1.0; }},
    {"skewed", 0.0, 1.0, 1.0 / 9.0, [](double u) { return std::pow(u, 8.0); }},
    {"narrow in a wide range", -1e6, 1e6, 0.5, [](double u) { return u; }},
};

std::vector<double> sample_of(bounded_law const& from, std::size_t size, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::vector<double> sample(size);
  for (double& x : sample) x = from.at(uniform(random));
  return sample;
}

/// Maurer & Pontil 2009, Theorem 4.
double empirical_bernstein(std::vector<double> const& x, double width, double failure) {
  auto const n = static_cast<double>(x.size());
  double mean = 0.0;
  for (double const v : x) mean += v / n;
  double variance = 0.0;
  for (double const v : x) variance += (v - mean) * (v - mean) / (n - 1.0);
  double const l = std::log(2.0 / failure);
  return mean - std::sqrt(2.0 * variance * l / n) - 7.0 * width * l / (3.0 * (n - 1.0));
}

void check_coverage(int repeats, std::vector<std::size_t> const& sizes) {
  double const failure = 0.05;
  double const limit =
      repeats * failure + statistics::normal_limit * std::sqrt(repeats * failure * (1.0 - failure));
  std::mt19937_64 random(7);
  for (bounded_law const& from : bounded_laws) {
    for (std::size_t const size : sizes) {
      int above = 0;
      int below = 0;
      for (int k = 0; k < repeats; ++k) {
        auto const x = sample_of(from, size, random);
        above += tacit::lower_confidence(x, from.low, from.high, failure) > from.mean ? 1 : 0;
        below += tacit::upper_confidence(x, from.low, from.high, failure) < from.mean ? 1 : 0;
      }
      CAPTURE(from.name, size, above, below);
      CHECK(above <= limit);
      CHECK(below <= limit);
    }
  }
}

}  // namespace

// Each count of failures stays below its limit but with probability 1e-6, if the bound fails as often as
// it may.
TEST_CASE("one-sided means cover") { check_coverage(400, {3, 30, 300}); }

TEST_CASE("one-sided means cover, in long", "[.sweep][sweep]") {
  check_coverage(20'000, {1, 3, 10, 100, 1000});
}

TEST_CASE("one-sided means are closer than the empirical Bernstein bound") {
  std::mt19937_64 random(11);
  for (bounded_law const& from : bounded_laws) {
    for (std::size_t const size : {50U, 500U, 5000U}) {
      double gain = 0.0;
      for (int k = 0; k < 20; ++k) {
        auto const x = sample_of(from, size, random);
        gain += tacit::lower_confidence(x, from.low, from.high, 0.05) -
                std::max(from.low, empirical_bernstein(x, from.high - from.low, 0.05));
      }
      CAPTURE(from.name, size, gain);
      CHECK(gain >= 0.0);
    }
  }
}

TEST_CASE("one-sided means approach the normal width") {
  std::mt19937_64 random(13);
  auto const x = sample_of(bounded_laws[0], 100'000, random);
  double mean = 0.0;
  for (double const v : x) mean += v / 1e5;
  double const width = std::sqrt(2.0 / 12.0 * std::log(1.0 / 0.05) / 1e5);
  CHECK(mean - tacit::lower_confidence(x, 0.0, 1.0, 0.05) < 1.2 * width);
  CHECK(tacit::upper_confidence(x, 0.0, 1.0, 0.05) - mean < 1.2 * width);
}

TEST_CASE("one-sided means of constants and of single observations") {
  std::vector<double> const ones(1000, 1.0);
  CHECK(tacit::lower_confidence(ones, 0.0, 1.0, 0.01) > 0.98);
  CHECK(tacit::lower_confidence(ones, 0.0, 1.0, 0.01) < 1.0);
  CHECK(tacit::upper_confidence(ones, 0.0, 1.0, 0.01) == 1.0);
  CHECK(tacit::lower_confidence(ones, 1.0, 1.0, 0.01) == 1.0);
  CHECK(tacit::upper_confidence(ones, 1.0, 1.0, 0.01) == 1.0);

  std::vector<double> const one{0.5};
  CHECK(tacit::lower_confidence(one, 0.0, 1.0, 0.05) == 0.0);
  CHECK(tacit::upper_confidence(one, 0.0, 1.0, 0.05) == 1.0);
  // With a failure of ½ even one observation tells something, and never more than Markov's bound.
  CHECK(tacit::lower_confidence(one, 0.0, 1.0, 0.5) <= 0.5);
}

TEST_CASE("one-sided means stay in the range, and agree under shifts and in the mirror") {
  std::mt19937_64 random(17);
  auto const x = sample_of(bounded_laws[4], 300, random);
  double const low = tacit::lower_confidence(x, 0.0, 1.0, 0.01);
  double const high = tacit::upper_confidence(x, 0.0, 1.0, 0.01);
  CHECK(low >= 0.0);
  CHECK(high <= 1.0);
  CHECK(low < high);
  std::vector<double> moved;
  std::vector<double> mirrored;
  for (double const v : x) {
    moved.push_back(8.0 + 4.0 * v);
    mirrored.push_back(-v);
  }
  CHECK(tacit::lower_confidence(moved, 8.0, 12.0, 0.01) == Approx(8.0 + 4.0 * low).epsilon(1e-12));
  CHECK(tacit::upper_confidence(mirrored, -1.0, 0.0, 0.01) == -low);
  // A smaller failure, a lower bound.
  CHECK(tacit::lower_confidence(x, 0.0, 1.0, 1e-6) < low);
  CHECK(tacit::lower_confidence(x, 0.0, 1.0, 1e-300) < tacit::lower_confidence(x, 0.0, 1.0, 1e-6));
}

TEST_CASE("one-sided means refuse what they cannot bound") {
  std::vector<double> const x{0.25, 0.5};
  CHECK_THROWS_AS(tacit::lower_confidence({}, 0.0, 1.0, 0.05), std::invalid_argument);
  CHECK_THROWS_AS(tacit::upper_confidence({}, 0.0, 1.0, 0.05), std::invalid_argument);
  for (double const failure : {0.0, 1.0, -0.1, not_a_number}) {
    CHECK_THROWS_AS(tacit::lower_confidence(x, 0.0, 1.0, failure), std::domain_error);
    CHECK_THROWS_AS(tacit::upper_confidence(x, 0.0, 1.0, failure), std::domain_error);
  }
  CHECK_THROWS_AS(tacit::lower_confidence(x, 0.3, 1.0, 0.05), std::domain_error);
  CHECK_THROWS_AS(tacit::lower_confidence(x, 0.0, 0.4, 0.05), std::domain_error);
  CHECK_THROWS_AS(tacit::lower_confidence(x, not_a_number, 1.0, 0.05), std::domain_error);
  CHECK_THROWS_AS(tacit::lower_confidence(x, 0.0, infinity, 0.05), std::domain_error);
  CHECK_THROWS_AS(tacit::lower_confidence(x, -1.7e308, 1.7e308, 0.05), std::domain_error);
  CHECK_THROWS_AS(tacit::lower_confidence(x, 1.0, 0.0, 0.05), std::domain_error);
  std::vector<double> const hole{0.25, not_a_number};
  CHECK_THROWS_AS(tacit::lower_confidence(hole, 0.0, 1.0, 0.05), std::domain_error);
  CHECK_THROWS_AS(tacit::upper_confidence(hole, 0.0, 1.0, 0.05), std::domain_error);
}
