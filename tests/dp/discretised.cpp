// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/composition.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/gaussian.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <cmath>
#include <limits>
#include <string>

using namespace tacit;
using support::exact;

namespace {

double width_of(bound<double> const& x) { return (x.upper - x.lower) / x.upper; }

event subsampled(double rate, double sigma) {
  return sampled(gaussian{.noise_multiplier = sigma}, poisson{.rate = rate});
}

}  // namespace

TEST_CASE("on the grid: the closed form of Gaussian compositions lies inside", "[dp]") {
  for (double const mu : {0.1, 1.0, 4.0}) {
    for (double const delta : {1e-2, 1e-8, 1e-14, 1e-30}) {
      discretised_accountant account;
      account.compose(gaussian{.noise_multiplier = std::sqrt(400.0) / mu}, 400);
      bound<double> const found = account.epsilon(delta);
      bound<double> const truth = epsilon(gaussian_dp{mu}, delta);
      CAPTURE(mu, delta, found.lower, found.upper, truth.lower);
      CHECK(found.lower <= truth.upper);
      CHECK(found.upper >= truth.lower);
      if (truth.lower > 0.0) CHECK(width_of(found) < 1e-3);
    }
  }
}

TEST_CASE("on the grid: sampled compositions of the reference table lie inside", "[dp]") {
  support::table const rows("dp_sampled.csv");
  int asked = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    double const steps = rows.number(k, "steps");
    if (rows.text(k, "direction") != "remove" || steps > 1e5 || k % 3 != 0) continue;
    discretised_accountant account;
    account.compose(subsampled(rows.number(k, "rate"), rows.number(k, "sigma")),
                    static_cast<std::uint64_t>(steps));
    bound<double> const found = account.epsilon(rows.number(k, "delta"));
    exact const truth = rows.value(k, "epsilon");
    CAPTURE(k, rows.number(k, "rate"), rows.number(k, "sigma"), steps, found.lower, found.upper);
    CHECK(exact(found.lower) <= truth);
    CHECK(exact(found.upper) >= truth);
    ++asked;
  }
  CHECK(asked > 5);
}

TEST_CASE("on the grid: pure, Laplace, exponential and discrete releases", "[dp]") {
  support::table const rows("dp_pure.csv");
  int asked = 0;
  for (std::size_t k = 0; k < rows.size(); k += 2) {
    std::string const kind = rows.text(k, "mechanism");
    double const parameter = rows.number(k, "parameter");
    double const delta0 = rows.number(k, "delta0");
    auto const count = static_cast<std::uint64_t>(rows.number(k, "count"));
    discretised_accountant account;
    if (kind == "pure") account.compose(approx_dp{parameter, delta0}, count);
    if (kind == "laplace") account.compose(laplace{.noise_multiplier = 1.0 / parameter}, count);
    if (kind == "exponential") account.compose(exponential_mechanism{.epsilon = parameter}, count);
    if (kind == "discrete_gaussian") account.compose(discrete_gaussian{.sigma = parameter}, count);
    bound<double> const found = account.delta(rows.number(k, "epsilon"));
    exact const truth = rows.value(k, "delta");
    CAPTURE(k, kind, parameter, delta0, count, rows.number(k, "epsilon"), found.lower, found.upper);
    // The parameter 1/parameter and the table's ε are themselves rounded.
    CHECK(exact(found.lower) <= truth * exact(1.0 + 1e-13));
    CHECK(exact(found.upper) >= truth * exact(1.0 - 1e-13));
    ++asked;
  }
  CHECK(asked > 100);
}

TEST_CASE("on the grid: counts are not forgotten", "[dp]") {
  discretised_accountant answers(adjacency::replace_one);
  answers.compose(randomised_response{.epsilon = 2.0}, 100);
  bound<double> const found = answers.epsilon(1e-5);
  bound<double> const truth = optimal_composition({2.0, 0.0}, 100).epsilon(1e-5);
  CHECK(found.lower <= truth.upper);
  CHECK(found.upper >= truth.lower);
  CHECK(width_of(found) < 1e-9);
}

TEST_CASE("on the grid: refusals and ends", "[dp]") {
  discretised_accountant account;
  CHECK(account.epsilon(1e-5).upper == 0.0);
  CHECK_THROWS_AS(account.compose(randomised_response{.epsilon = 1.0}), std::invalid_argument);
  CHECK_THROWS_AS(account.compose(approx_dp{.epsilon = -1.0, .delta = 0.0}), std::domain_error);
  account.compose(approx_dp{.epsilon = 1.0, .delta = 0.1});
  CHECK_FALSE(account.epsilon(0.05).upper < std::numeric_limits<double>::infinity());
  CHECK(account.delta(1.0).upper >= 0.1);
  CHECK(account.delta(1.0).lower <= 0.1 * (1.0 + 1e-12));
  CHECK_THROWS_AS(discretised(adjacency::add_remove, 0.0), std::domain_error);
}
