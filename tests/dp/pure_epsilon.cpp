// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/pure_epsilon.hpp>

#include "support/catch.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace tacit;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct known {
  event release;
  adjacency neighbours;
  double epsilon;  // mpmath, 30 digits, by the closed form; then rounded
};

// log(1 + q(e^l - 1)) at l = 1/noise or 2/noise for a record that is replaced; for two mixtures the difference of two.
std::vector<known> const one_event{
    {laplace{1.3}, adjacency::add_remove, 1 / 1.3},
    {laplace{1.3}, adjacency::replace_one, 2 / 1.3},
    {sampled(laplace{1.0}, poisson{0.01}), adjacency::add_remove, 0.017036863236176550138},
    {sampled(laplace{1.0}, poisson{0.01}), adjacency::zero_out, 0.017036863236176550138},
    {sampled(laplace{1.0}, fixed_size{50, 1000}), adjacency::replace_one, 0.27721710894494065261},
    {sampled(laplace{1.0}, fixed_size{50, 1000}), adjacency::zero_out, 0.19479499606592954058},
    {sampled(laplace{1.0}, poisson{0.01}), adjacency::replace_one, 0.023378132239175200935},
    {sampled(randomised_response{1.0, 3}, fixed_size{50, 1000}), adjacency::replace_one,
     0.08242211287901112107},
    {randomised_response{1.0, 3}, adjacency::replace_one, 1.0},
    {discrete_laplace{2.0, 3}, adjacency::add_remove, 1.5},
    {discrete_laplace{2.0, 3}, adjacency::replace_one, 3.0},
    {sampled(pure{700.0}, poisson{std::exp(-700.0)}), adjacency::add_remove,
     0.69314718055994530511},
    {sampled(pure{1000.0}, poisson{1e-300}), adjacency::add_remove, 309.22447210178629482},
    {sampled(pure{1.0}, poisson{1e-320}), adjacency::add_remove, 1.7182626913413498894e-320},
    {pure{0.25}, adjacency::add_remove, 0.25},
    {approx_dp{0.5, 0.0}, adjacency::add_remove, 0.5},
    {pure{0.0}, adjacency::add_remove, 0.0},
    {sampled(gaussian{1.0}, poisson{0.0}), adjacency::add_remove, 0.0},
    {gaussian{1.0}, adjacency::add_remove, infinity},
    {sampled(gaussian{1.0}, poisson{1e-9}), adjacency::add_remove, infinity},
    {discrete_gaussian{1.0}, adjacency::add_remove, infinity},
    {approx_dp{0.5, 1e-30}, adjacency::add_remove, infinity},
};

using table = std::vector<std::pair<long double, long double>>;  // of outcomes, under P and under Q

table response(long double epsilon, int categories) {
  long double const truth = std::exp(epsilon) / (std::exp(epsilon) + categories - 1);
  long double const other = 1 / (std::exp(epsilon) + categories - 1);
  table out{{truth, other}, {other, truth}};
  for (int k = 2; k < categories; ++k) out.emplace_back(other, other);
  return out;
}

// A batch has the record with this rate; without it the answer is that for Q.
table in_a_sample(table of, long double rate) {
  for (auto& [p, q] : of) p = rate * p + (1 - rate) * q;
  return of;
}

long double largest(std::vector<table> const& steps, std::size_t from, long double p,
                    long double q) {
  if (from == steps.size()) return std::abs(std::log(p / q));
  long double most = 0;
  for (auto const& [a, b] : steps[from])
    most = std::max(most, largest(steps, from + 1, p * a, q * b));
  return most;
}

}  // namespace

TEST_CASE("The epsilon at delta 0 of one event is its largest loss") {
  for (known const& k : one_event) {
    bound<double> const found = pure_epsilon(std::array{composed{k.release, 1}}, k.neighbours);
    CAPTURE(k.epsilon, found.lower, found.upper);
    if (std::isinf(k.epsilon)) {
      CHECK(found.upper == infinity);
      CHECK((found.lower == infinity || found.lower == 0.0));
      continue;
    }
    double const slack = 1e-14 * k.epsilon + 8e-323;
    CHECK(found.lower <= k.epsilon + slack / 8);
    CHECK(found.upper >= k.epsilon - slack / 8);
    CHECK(found.upper <= k.epsilon + slack);
    bool const attained = dominate(k.release, k.neighbours).attained;
    CHECK(found.lower >= (attained ? k.epsilon - slack : 0.0));
  }
}

TEST_CASE("The epsilon at delta 0 of a run is that of its outcomes, one by one") {
  // Every outcome of real mechanisms, in both orders of the neighbours: the definition.
  long double const rate = 0.3L;
  std::vector<table> const steps{response(0.7L, 3), response(0.7L, 3), response(1.1L, 2),
                                 in_a_sample(response(1.1L, 2), rate)};
  long double const truth = largest(steps, 0, 1, 1);
  std::vector<composed> const run{
      {pure{0.7}, 2}, {pure{1.1}, 1}, {sampled(pure{1.1}, poisson{0.3}), 1}};
  bound<double> const found = pure_epsilon(run, adjacency::add_remove);
  CHECK(static_cast<long double>(found.lower) <= truth * (1 + 1e-16L));
  CHECK(static_cast<long double>(found.upper) >= truth * (1 - 1e-16L));
  CHECK(found.upper - found.lower <= 2e-14);
}

TEST_CASE("Delta is positive below the epsilon at delta 0, and 0 from there on") {
  std::vector<composed> const run{{pure{0.25}, 3}, {sampled(pure{1.0}, poisson{0.2}), 2}};
  bound<double> const found = pure_epsilon(run, adjacency::add_remove);
  privacy_loss_accountant account;
  for (composed const& entry : run) account.compose(entry.release, entry.count);
  CHECK(account.delta(found.lower * (1 - 1e-6)).lower > 0.0);
  CHECK(account.delta(found.upper * (1 + 1e-6)).lower == 0.0);
}

TEST_CASE("The epsilon at delta 0 adds up, and refuses what has no bound") {
  std::vector<composed> const run{{laplace{1.3}, 10}, {exponential_mechanism{0.5}, 4}};
  bound<double> const found = pure_epsilon(run, adjacency::add_remove);
  CHECK(found.upper == Approx(10 / 1.3 + 2.0).epsilon(1e-14));
  CHECK(found.upper >= 10 / 1.3 + 2.0);
  CHECK(found.lower ==
        Approx(10 / 1.3).epsilon(1e-14));  // an exponential mechanism may reveal less
  CHECK(pure_epsilon({}, adjacency::add_remove).upper == 0.0);
  CHECK_THROWS_AS(pure_epsilon(std::array{composed{laplace{0.0}, 1}}, adjacency::add_remove),
                  std::domain_error);
  CHECK_THROWS_AS(
      pure_epsilon(std::array{composed{randomised_response{1.0, 2}, 1}}, adjacency::add_remove),
      std::invalid_argument);
  constexpr std::uint64_t many = std::uint64_t{1} << 52;
  CHECK(pure_epsilon(std::array{composed{pure{1e300}, many}}, adjacency::add_remove).upper ==
        infinity);
}
