// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/quadrature.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <boost/math/constants/constants.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace {

using support::exact;
using tacit::gauss_hermite;
using tacit::gauss_hermite_rule;

/// ∫ x^(2k) e^(−x²) dx = Γ(k + ½).
exact even_moment(std::size_t k) {
  exact moment = boost::math::constants::root_pi<exact>();
  for (std::size_t j = 0; j < k; ++j) moment *= exact(2 * j + 1) / 2;
  return moment;
}

template <class T>
T rule_moment(gauss_hermite_rule<T> const& rule, std::size_t degree) {
  T sum(0);
  for (std::size_t k = 0; k < rule.node.size(); ++k) {
    T term = rule.weight[k];
    for (std::size_t j = 0; j < degree; ++j) term = T(term * rule.node[k]);
    sum = T(sum + term);
  }
  return sum;
}

template <class T>
bool ascending_and_symmetric(gauss_hermite_rule<T> const& rule) {
  std::size_t const n = rule.node.size();
  bool good = rule.weight.size() == n;
  for (std::size_t k = 0; k < n; ++k) {
    good &= k == 0 || rule.node[k - 1] < rule.node[k];
    good &= rule.node[k] == -rule.node[n - 1 - k] && rule.weight[k] == rule.weight[n - 1 - k];
    good &= rule.weight[k] >= T(0) && rule.weight[k] < T(2);
  }
  return good;
}

}  // namespace

TEST_CASE("Gauss-Hermite nodes and weights are those of the table", "[quadrature]") {
  support::table const table("gauss_hermite_nodes.csv");
  std::vector<std::size_t> orders;
  double node_error = 0.0;
  double weight_error = 0.0;
  exact exact_error = 0;
  gauss_hermite_rule<double> rule;
  gauss_hermite_rule<exact> exact_rule;
  for (std::size_t row = 0; row < table.size(); ++row) {
    auto const order = static_cast<std::size_t>(table.number(row, "order"));
    auto const k = static_cast<std::size_t>(table.number(row, "k"));
    if (orders.empty() || orders.back() != order) {
      orders.push_back(order);
      rule = gauss_hermite(order);
      exact_rule = gauss_hermite<exact>(order);
      REQUIRE(rule.node.size() == order);
      REQUIRE(exact_rule.node.size() == order);
      CHECK(ascending_and_symmetric(rule));
      CHECK(ascending_and_symmetric(exact_rule));
    }
    exact const node = table.value(row, "node");
    exact const weight = table.value(row, "weight");
    exact const size = std::max(exact(abs(node)), exact(1e-30));
    node_error = std::max(node_error, static_cast<double>(abs(exact(rule.node[k] - node)) / size));
    weight_error = std::max(
        weight_error, static_cast<double>(abs(exact(rule.weight[k] - weight)) / weight / order));
    exact_error = std::max({exact_error, exact(abs(exact(exact_rule.node[k] - node)) / size),
                            exact(abs(exact(exact_rule.weight[k] - weight)) / weight)});
  }
  CHECK(orders == std::vector<std::size_t>{5, 20, 60});
  double const u = std::numeric_limits<double>::epsilon() / 2.0;
  CHECK(node_error <= 4.0 * u);
  CHECK(weight_error <= 4.0 * u);
  CHECK(exact_error <= exact("1e-39"));  // what the table has digits for
}

TEST_CASE("the order is the promise: exact to degree 2n-1, and not beyond", "[quadrature]") {
  for (std::size_t const order : {1U, 2U, 3U, 5U, 20U}) {
    gauss_hermite_rule<exact> const rule = gauss_hermite<exact>(order);
    exact error = 0;
    for (std::size_t k = 0; 2 * k <= 2 * order - 1; ++k) {
      error = std::max(error, exact(abs(exact(rule_moment(rule, 2 * k) / even_moment(k) - 1))));
      error = std::max(error, exact(abs(rule_moment(rule, 2 * k + 1)) / even_moment(k + 1)));
    }
    CHECK(error <= exact("1e-46"));
    // The moment of degree 2n falls short by n!·√π/2ⁿ, the square of the monic Hermite polynomial.
    exact square = boost::math::constants::root_pi<exact>();
    for (std::size_t j = 1; j <= order; ++j) square *= exact(j) / 2;
    exact const shortfall = even_moment(order) - rule_moment(rule, 2 * order);
    CHECK(abs(exact(shortfall / square - 1)) <= exact("1e-35"));
  }
  gauss_hermite_rule<double> const rule = gauss_hermite(20);
  for (std::size_t k = 0; k < 20; ++k) {
    CHECK(rule_moment(rule, 2 * k) == Approx(static_cast<double>(even_moment(k))).epsilon(1e-13));
  }
}

TEST_CASE("no order overflows", "[quadrature]") {
  for (std::size_t const order : {1U, 2U, 61U, 199U, 200U, 371U, 999U, 1000U}) {
    CAPTURE(order);
    gauss_hermite_rule<double> const rule = gauss_hermite(order);
    CHECK(ascending_and_symmetric(rule));
    CHECK(rule.node.back() < std::sqrt(2.0 * static_cast<double>(order) + 1.0));
    CHECK((order % 2 == 0 || rule.node[order / 2] == 0.0));
    double total = 0.0;
    double cosine = 0.0;
    for (std::size_t k = 0; k < order; ++k) {
      total += rule.weight[k];
      cosine += rule.weight[k] * std::cos(rule.node[k]);
    }
    double const root_pi = std::sqrt(std::numbers::pi);
    CHECK(total == Approx(root_pi).epsilon(2e-16 * static_cast<double>(order + 8)));
    if (order > 20) {
      CHECK(cosine ==
            Approx(root_pi * std::exp(-0.25)).epsilon(2e-16 * static_cast<double>(order)));
    }
  }
  // A weight outside the range of doubles is 0, its neighbour in the middle is not.
  gauss_hermite_rule<double> const rule = gauss_hermite(1000);
  CHECK(rule.weight.front() == 0.0);
  CHECK(rule.weight[500] > 0.05);
}

TEST_CASE("gauss_hermite in other types", "[quadrature]") {
  gauss_hermite_rule<double> const rule = gauss_hermite(30);
  gauss_hermite_rule<long double> const wide = gauss_hermite<long double>(30);
  gauss_hermite_rule<float> const narrow = gauss_hermite<float>(30);
  for (std::size_t k = 0; k < 30; ++k) {
    CHECK(static_cast<double>(wide.node[k]) == Approx(rule.node[k]).epsilon(1e-15));
    CHECK(static_cast<double>(narrow.node[k]) == Approx(rule.node[k]).epsilon(1e-6));
  }
}

TEST_CASE("a rule of no nodes is refused", "[quadrature]") {
  CHECK_THROWS_AS(gauss_hermite(0), std::invalid_argument);
  CHECK_THROWS_WITH(gauss_hermite(0), "gauss_hermite: order is 0, but must be at least 1");
}

TEST_CASE("the trapezoid rule on a Gaussian errs by its aliases alone", "[quadrature]") {
  exact const root_pi = boost::math::constants::root_pi<exact>();
  auto const bell = [](exact const& x) { return exact(exp(exact(-x * x))); };
  // Poisson summation: Σ h·e^(−(kh)²) = √π·(1 + 2Σ e^(−π²j²/h²)).
  for (double const step : {0.5, 1.0, 1.5}) {
    exact const sum = tacit::trapezoid(bell, exact(-15), exact(15), exact(step));
    exact const ratio = boost::math::constants::pi<exact>() / step;
    exact aliases = 0;
    for (int j = 1; j < 8; ++j) aliases += 2 * exp(exact(-ratio * ratio * j * j));
    CHECK(abs(exact((sum / root_pi - 1) / aliases - 1)) <= exact("1e-25"));
  }
  auto const bell_in_double = [](double x) { return std::exp(-x * x); };
  CHECK(tacit::trapezoid(bell_in_double, -7.0, 7.0, 0.5) ==
        Approx(std::sqrt(std::numbers::pi)).epsilon(1e-15));
}

TEST_CASE("the trapezoid grid starts at low, ends at or before high, and sums anything",
          "[quadrature]") {
  struct two {
    double nodes;
    double last;
    two& operator+=(two const& other) {
      nodes += other.nodes;
      last = other.last;
      return *this;
    }
    two& operator*=(double step) {
      nodes *= step;
      return *this;
    }
  };
  auto const node = [](double x) { return two{1.0, x}; };
  two const whole = tacit::trapezoid(node, -1.0, 1.0, 0.25);
  CHECK(whole.nodes == 9 * 0.25);
  CHECK(whole.last == 1.0);
  two const part = tacit::trapezoid(node, -1.0, 0.99, 0.25);
  CHECK(part.nodes == 8 * 0.25);
  CHECK(part.last == 0.75);
  two const one = tacit::trapezoid(node, 3.0, 3.0, 0.5);
  CHECK(one.nodes == 0.5);
  CHECK(one.last == 3.0);
}
