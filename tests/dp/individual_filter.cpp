// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/filter/individual.hpp>

#include "support/catch.hpp"
#include "support/forked.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

using tacit::approx_dp;
using tacit::gaussian_dp;
using tacit::individual_gaussian_filter;
using tacit::individual_renyi_filter;

constexpr double order = 3.0;
constexpr std::size_t steps = 7;
constexpr std::size_t records = 3;

// One release: a bit that is 1 with probability .4 + .15·(sum of contributions), of which there are three in [0, 1].
double probability(double sum, unsigned bit) {
  double const one = 0.4 + 0.15 * sum;
  return bit == 1 ? one : 1.0 - one;
}

double divergence(double p, double q) {
  return std::log(std::pow(p, order) * std::pow(q, 1.0 - order) +
                  std::pow(1.0 - p, order) * std::pow(1.0 - q, 1.0 - order)) /
         (order - 1.0);
}

// The most that a contribution reveals, in both directions, over what two others in {0, 1/2, 1} may add.
double cost_of(double contribution) {
  double most = 0.0;
  for (int others = 0; others <= 4; ++others) {
    double const p = probability(0.5 * others + contribution, 1);
    double const q = probability(0.5 * others, 1);
    most = std::max({most, divergence(p, q), divergence(q, p)});
  }
  return most;
}

// Contributions in {0, 1/2, 1}, arbitrary functions of the record and of what was released before.
struct adversary {
  std::uint64_t seed;
  double operator()(std::size_t record, std::size_t step, unsigned past) const {
    std::mt19937_64 bits(seed + 1000003 * record + 1009 * ((1U << step) | past));
    bits.discard(3);
    std::uint64_t const draw = bits() % 4;  // often all
    return draw == 0 ? 0.0 : draw == 1 ? 0.5 : 1.0;
  }
};

// P(transcript), with the filter replayed along it; `present` says who is there at all.
double probability_of(unsigned transcript, std::vector<bool> const& present, adversary const& a,
                      double budget) {
  individual_renyi_filter filter(records, order, budget);
  double p = 1.0;
  for (std::size_t t = 0; t < steps; ++t) {
    unsigned const past = transcript & ((1U << t) - 1);
    std::vector<double> costs;
    for (std::size_t i = 0; i < records; ++i) costs.push_back(cost_of(a(i, t, past)));
    double sum = 0.0;
    for (std::size_t const i : filter.charge(costs)) {
      if (present[i]) sum += a(i, t, past);
    }
    p *= probability(sum, (transcript >> t) & 1);
  }
  return p;
}

// D_α of whole runs, the worse direction, by enumeration.
double run_divergence(adversary const& a, double budget) {
  double forth = 0.0;
  double back = 0.0;
  for (unsigned transcript = 0; transcript < (1U << steps); ++transcript) {
    double const p = probability_of(transcript, {true, true, true}, a, budget);
    double const q = probability_of(transcript, {false, true, true}, a, budget);
    forth += std::pow(p, order) * std::pow(q, 1.0 - order);
    back += std::pow(q, order) * std::pow(p, 1.0 - order);
  }
  return std::log(std::max(forth, back)) / (order - 1.0);
}

double phi(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// H_ε of N(μ, 1) against N(0, 1), for every real ε.
double profile(double mu, double epsilon) {
  if (mu == 0.0) return std::max(0.0, 1.0 - std::exp(epsilon));
  return phi(0.5 * mu - epsilon / mu) - std::exp(epsilon) * phi(-0.5 * mu - epsilon / mu);
}

}  // namespace

TEST_CASE("individual filters: a run's divergence, transcript by transcript",
          "[dp][filter][long]") {
  double const budget = 2.5 * cost_of(1.0);
  double worst = 0.0;
  double without = 0.0;
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    adversary const a{17 * seed + 3};
    double const spent = run_divergence(a, budget);
    CHECK(spent <= budget);
    worst = std::max(worst, spent);
    without = std::max(without, run_divergence(a, 1e9));
  }
  CHECK(worst > 0.4 * budget);  // the bound of a step covers any sum of the others
  CHECK(without > budget);      // and the filter is what keeps it
}

TEST_CASE("individual Gaussian filters: two adaptive steps by quadrature", "[dp][filter][long]") {
  // The first release decides what the second is asked for; the filter cuts it where it would not fit.
  double const mu = 1.0;
  double const step = 1e-3;
  for (double const first : {0.3, 0.6, 0.8}) {
    for (double const epsilon : {-0.5, 0.0, 0.4, 1.0, 2.0}) {
      double delta = 0.0;
      double unfiltered = 0.0;
      for (double y = -8.0; y < 9.0; y += step) {
        double const wanted = y > first ? 0.95 : 0.5;
        individual_gaussian_filter filter(1, gaussian_dp{mu});
        REQUIRE(filter.charge(std::vector<double>{first}, 1.0).size() == 1);
        bool const takes_part = !filter.charge(std::vector<double>{2.0 * wanted}, 2.0).empty();
        CHECK(takes_part == (first * first + wanted * wanted <= mu * mu));
        double const density =
            std::exp(-0.5 * (y - first) * (y - first)) / std::sqrt(2.0 * std::numbers::pi);
        double const loss = first * y - 0.5 * first * first;
        delta += step * density * profile(takes_part ? wanted : 0.0, epsilon - loss);
        unfiltered += step * density * profile(wanted, epsilon - loss);
      }
      CAPTURE(first, epsilon, delta, unfiltered);
      CHECK(delta <= profile(mu, epsilon) + 1e-7);
      if (first == 0.8 && epsilon == 1.0) CHECK(unfiltered > profile(mu, epsilon));
    }
  }
}

TEST_CASE("individual filters charge whom they can", "[dp][filter]") {
  individual_gaussian_filter filter(3, gaussian_dp{2.0});
  using who = std::vector<std::size_t>;
  CHECK(filter.charge(std::vector<double>{1.0, 0.5, 0.0}, 0.5) == who{0, 1, 2});
  CHECK(filter.charge(std::vector<double>{0.001, 0.5, 0.0}, 0.5) == who{1, 2});
  // What does not fit today may fit when it is smaller.
  CHECK(filter.charge(std::vector<double>{0.0, 1.0, 1.5}, 0.5) == who{0});
  CHECK(filter.charge(std::vector<double>{0.0, 0.5, 1.0}, 0.5) == who{0, 1, 2});
  CHECK(filter.spent()[0] == 4.0);
  CHECK(filter.spent()[1] == 3.0);
  CHECK(filter.spent()[2] == 4.0);
  CHECK(filter.budget().mu == 2.0);
  // A norm too small for a square is still paid for.
  individual_gaussian_filter tiny(1, gaussian_dp{1.0});
  CHECK(tiny.charge(std::vector<double>{1e-200}, 1.0) == who{0});
  CHECK(tiny.spent()[0] > 0.0);
  CHECK(tiny.charge(std::vector<double>{1e300}, 1e-300).empty());

  individual_renyi_filter rdp(2, 8.0, approx_dp{1.0, 1e-5});
  CHECK(tacit::renyi_epsilon(8.0, rdp.budget(), 1e-5) <= 1.0);
  CHECK(tacit::renyi_epsilon(8.0, rdp.budget() * (1.0 + 1e-9), 1e-5) > 1.0);
  CHECK(rdp.charge(std::vector<double>{rdp.budget(), infinity}) == who{0});
  CHECK(rdp.charge(std::vector<double>{1e-9, 0.0}) == who{1});
}

TEST_CASE("individual filters: refusals", "[dp][filter]") {
  individual_gaussian_filter filter(2, gaussian_dp{1.0});
  CHECK_THROWS_AS((void)filter.charge(std::vector<double>{1.0}, 1.0), std::invalid_argument);
  CHECK_THROWS_AS((void)filter.charge(std::vector<double>{1.0, 1.0}, 0.0), std::domain_error);
  for (double const x : {-1.0, infinity, not_a_number}) {
    CHECK_THROWS_AS((void)filter.charge(std::vector<double>{0.5, x}, 1.0), std::domain_error);
  }
  CHECK(filter.spent()[0] == 0.0);  // nothing was charged
  CHECK_THROWS_AS(individual_gaussian_filter(0, gaussian_dp{1.0}), std::invalid_argument);
  CHECK_THROWS_AS(individual_gaussian_filter(1, gaussian_dp{-1.0}), std::domain_error);
  CHECK_THROWS_AS(individual_renyi_filter(1, 1.0, 1.0), std::domain_error);
  CHECK_THROWS_AS(individual_renyi_filter(1, 2.0, infinity), std::domain_error);
  CHECK_THROWS_AS(individual_renyi_filter(1, 2.0, approx_dp{1.0, 0.0}), std::domain_error);
  individual_renyi_filter rdp(2, 2.0, 1.0);
  CHECK_THROWS_AS((void)rdp.charge(std::vector<double>{1.0}), std::invalid_argument);
  CHECK_THROWS_AS((void)rdp.charge(std::vector<double>{1.0, -1.0}), std::domain_error);
  CHECK_THROWS_AS((void)rdp.charge(std::vector<double>{1.0, not_a_number}), std::domain_error);
  individual_renyi_filter moved = std::move(rdp);
  CHECK(moved.charge(std::vector<double>{1.0, 0.5}).size() == 2);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is what is tested
  CHECK_THROWS_AS((void)rdp.charge(std::vector<double>{1.0, 0.5}), std::logic_error);
}

TEST_CASE("individual filters: a forked process spends nothing", "[dp][filter]") {
  individual_gaussian_filter normal(2, gaussian_dp{1.0});
  individual_renyi_filter renyi(2, 2.0, 1.0);
  std::vector<double> const each{0.5, 0.5};
  CHECK(support::refused_in_a_child([&] { (void)normal.charge(each, 1.0); },
                                    [&] { (void)renyi.charge(each); }) == 2);
  CHECK(normal.charge(each, 1.0).size() == 2);
  CHECK(renyi.charge(each).size() == 2);
}
