// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/laplace_profile.hpp>
#include <tacit/dp/privacy_loss.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

using namespace tacit;
using support::exact;
using support::table;

namespace {

using profile = detail::laplace_profile<>;

// The coefficients of (c + u)^p up to that of u^most.
std::vector<exact> powers_of(exact const& c, int p, int most) {
  std::vector<exact> out{pow(c, p)};
  for (int k = 1; k <= most; ++k) out.push_back(out.back() * (p - k + 1) / (k * c));
  return out;
}

// δ(ε) as the residues at 0 and at −½ of Mⁿ(s)·e^{−sε}/(s(s + 1)), with M the moments of one loss,
// (s + 1)/(2s + 1)·e^{as} + s/(2s + 1)·e^{−a(s+1)}: terms of both signs, in 50 digits.
exact by_residues(double most, int n, double epsilon) {
  exact const a(most);
  exact out = 0;
  exact binomial = 1;
  for (int j = 0; j <= n; binomial = binomial * (n - j) / (j + 1), ++j) {
    exact const x = (n - 2 * j) * a - exact(epsilon);
    if (x <= 0) continue;
    std::vector<exact> const rising = powers_of(exact(0.5), n - j - 1, n - 1);
    std::vector<exact> const falling = powers_of(exact(-0.5), j - 1, n - 1);
    std::vector<exact> grown{exact(1)};
    for (int k = 1; k < n; ++k) grown.push_back(grown.back() * x / k);
    exact residue = 0;
    auto const terms = static_cast<std::size_t>(n);
    for (std::size_t i = 0; i < terms; ++i) {
      exact part = 0;
      for (std::size_t k = 0; i + k < terms; ++k) part += falling[k] * grown[terms - 1 - i - k];
      residue += rising[i] * part;
    }
    residue = residue * exp(-x / 2) / pow(exact(2), n);
    if (j == 0) residue += 1;
    out += binomial * exp(-j * a) * residue;
  }
  return out;
}

}  // namespace

TEST_CASE("several Laplace releases: the table lies inside, twelve digits wide", "[dp]") {
  table const rows("dp_pure.csv");
  int asked = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    double const shift = rows.number(k, "parameter");
    double const count = rows.number(k, "count");
    if (rows.text(k, "mechanism") != "laplace" || !profile::serves(shift, count)) continue;
    double const epsilon = rows.number(k, "epsilon");
    bound<double> const found = profile(shift, count).delta(epsilon);
    CAPTURE(shift, count, epsilon, found.lower, found.upper);
    CHECK(exact(found.lower) <= rows.value(k, "delta"));
    CHECK(exact(found.upper) >= rows.value(k, "delta"));
    CHECK(found.upper - found.lower <= 4e-12 * found.upper);
    ++asked;
  }
  CHECK(asked >= 80);
}

TEST_CASE("several Laplace releases: the residues of their moments lie inside", "[dp]") {
  std::mt19937_64 random(20261210);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int k = 0; k < 150; ++k) {
    int const n = 1 + static_cast<int>(random() % 20);
    double const most = std::pow(10.0, -2.0 + 3.0 * uniform(random));
    double const share = std::pow(uniform(random), 6.0);
    double const whole = static_cast<double>(random() % static_cast<unsigned>(n + 1)) / n;
    double const at = k % 4 == 0   ? share
                      : k % 4 == 1 ? 1.0 - share
                      : k % 4 == 2 ? whole
                                   : uniform(random);
    double const epsilon = at * n * most;
    bound<double> const found = profile(most, n).delta(epsilon);
    exact const truth = by_residues(most, n, epsilon);
    CAPTURE(n, most, epsilon, found.lower, found.upper, static_cast<double>(truth));
    exact const lost(1e-30);  // of 50 digits
    CHECK(exact(found.lower) <= truth + lost);
    CHECK(exact(found.upper) >= truth - lost);
  }
}

TEST_CASE("several Laplace releases: ε and δ are each other's inverse", "[dp]") {
  std::mt19937_64 random(20261211);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int k = 0; k < 60; ++k) {
    double const n = std::floor(std::pow(10.0, 2.3 * uniform(random)));
    double const most = std::min(std::pow(10.0, -3.0 + 4.0 * uniform(random)), 300.0 / n);
    double const delta = std::pow(10.0, -90.0 * std::pow(uniform(random), 3.0) - 0.01);
    profile const sum(most, n);
    bound<double> const found = sum.epsilon(delta);
    CAPTURE(n, most, delta, found.lower, found.upper);
    CHECK(found.upper - found.lower <= 1e-9 * std::max(found.upper, 1e-3 * most));
    CHECK(found.upper <= n * most * (1.0 + 1e-15));
    CHECK(sum.delta(found.upper).lower <= delta * (1.0 + 1e-11));
    if (found.lower > 0.0) CHECK(sum.delta(found.lower).upper >= delta * (1.0 - 1e-11));
  }
}

TEST_CASE("several Laplace releases: at the ends of what is asked", "[dp]") {
  profile const sum(0.7, 12.0);
  CHECK(sum.delta(12.0 * 0.7 * (1.0 + 1e-15)).upper == 0.0);
  CHECK(sum.delta(1e308).upper == 0.0);
  CHECK(sum.epsilon(1.0).upper == 0.0);
  // Far out nothing is said, and soon: the search for it once ended after 300 steps only.
  for (double const delta : {5e-324, 9e-309, 1e-308, 1e-101}) {
    bound<double> const least = sum.epsilon(delta);
    CHECK(least.lower <= 12.0 * 0.7);
    CHECK(least.upper >= 12.0 * 0.7 * (1.0 - 1e-15));
  }
  int asked = 0;
  auto const falling = [&](double x) {
    ++asked;
    double const value = std::max(0.0, 1e-300 * (5.0 - x));
    return bound<double>{value, value};
  };
  bound<double> const root = detail::inverse_profile(9e-309, falling, 2.0);
  CHECK(root.lower >= 2.0);
  CHECK(root.lower <= 5.0);
  CHECK(root.upper >= 5.0 * (1.0 - 1e-15));
  CHECK(asked < 150);
  // One release has the profile 1 − e^{(ε−a)/2}.
  bound<double> const one = profile(1.0, 1.0).delta(0.25);
  CHECK(exact(one.lower) <= -exact(std::expm1(-0.375)) * exact(1 + 1e-15));
  CHECK(exact(one.upper) >= -exact(std::expm1(-0.375)) * exact(1 - 1e-15));
  CHECK_FALSE(profile::serves(1.0, 301.0));
  CHECK_FALSE(profile::serves(1e-3, 513.0));
  CHECK_FALSE(profile::serves(std::nan(""), 2.0));
}

TEST_CASE("Laplace releases of one scale have an answer of twelve digits from the accountant",
          "[dp]") {
  for (auto const& [noise, count] : std::vector<std::pair<double, std::uint64_t>>{
           {1.0, 2}, {1.0, 30}, {3.0, 60}, {30.0, 100}, {0.3, 57}, {10.0, 200}}) {
    privacy_loss_accountant account;
    account.compose(laplace{noise}, count);
    auto const found = account.method().epsilon_by(1e-6);
    discretised_accountant grid;
    grid.compose(laplace{noise}, count);
    bound<double> const other = grid.epsilon(1e-6);
    CAPTURE(noise, count, found.value.lower, found.value.upper, other.lower, other.upper);
    CHECK(found.value.upper - found.value.lower <= 1e-12 * found.value.upper);
    CHECK(found.value.lower <= other.upper);
    CHECK(other.lower <= found.value.upper);
    CHECK(account.delta(found.value.upper).lower <= 1e-6);
    CHECK(account.delta(found.value.lower).upper >= 1e-6 * (1.0 - 1e-11));
  }
  // Beside anything else there is no closed form.
  privacy_loss_accountant both;
  both.compose(laplace{3.0}, 20).compose(laplace{4.0}, 1);
  CHECK(both.method().epsilon_by(1e-6).by != privacy_loss_route::closed_form);
}
