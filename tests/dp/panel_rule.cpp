// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/quadrature.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>

// docs/certificates/renyi.md, Lemma 8, for a rule of so few nodes that it errs by more than rounding.

namespace panel_rule_tests {

namespace {

using real = long double;

// Two parts of weights r and w about 0 and a shift: the ratio to the noise about 0, in logarithms.
struct side {
  real weight;
  real shift;
};

struct pair {
  bool normal;
  side p;
  side q;

  real log_density(side const& of, real x) const {
    auto const log_noise = [&](real y) { return normal ? -y * y / 2 : -std::abs(y); };
    real const a = std::log(1 - of.weight) + log_noise(x);
    real const b = std::log(of.weight) + log_noise(x - of.shift);
    return std::max(a, b) + std::log1p(std::exp(-std::abs(a - b)));
  }
};

// Of the rule of five nodes, on [−1, 1]: the positive nodes, and 0.
template <class Function>
real by_five(Function const& f, real low, real high) {
  real const half = (high - low) / 2;
  real const centre = (high + low) / 2;
  real sum = 128.0L / 225 * f(centre);
  for (int const sign : {-1, 1}) {
    real const root = std::sqrt(10.0L / 7);
    real const node = std::sqrt(5 + sign * 2 * root) / 3;
    real const weight = (322 - sign * 13 * std::sqrt(70.0L)) / 900;
    sum += weight * (f(centre - half * node) + f(centre + half * node));
  }
  return half * sum;
}

template <class Function>
real by_panels(Function const& f, real low, real high, int panels) {
  auto const& rule = tacit::detail::gauss_legendre<real>();
  real const half = (high - low) / (2 * panels);
  real sum = 0;
  for (int k = 0; k < panels; ++k) {
    real const centre = low + half * static_cast<real>(2 * k + 1);
    for (auto const& [node, weight] : rule) {
      sum += half * weight * (f(centre - half * node) + f(centre + half * node));
    }
  }
  return sum;
}

// log κ for the best ρ.
real log_kappa(bool normal, real z, real p, real half, real farthest) {
  real least = std::numeric_limits<real>::infinity();
  for (real rho = 1.05L; rho < 60; rho *= 1.03L) {
    real const a = half * (rho + 1 / rho) / 2;
    real const b = half * (rho - 1 / rho) / 2;
    real const turn = normal ? b * p / 2 : b;
    if (turn >= 1.57L) break;
    real const slope = normal ? std::max(farthest + a + z * p, (1 + z) * p + a) : 1 + 2 * z;
    least =
        std::min(least, std::log(2.03L) + (normal ? b * b / 2 : 0) - z * std::log(std::cos(turn)) +
                            (half + a) * slope - 10 * std::log(rho) - std::log1p(-1 / (rho * rho)));
  }
  return least;
}

}  // namespace

TEST_CASE("a panel errs by no more than Lemma 8 says") {
  std::mt19937_64 draw(20261128);
  std::uniform_real_distribution<real> unit(0, 1);
  int visible = 0;
  int tight = 0;
  for (int round = 0; round < 2000; ++round) {
    bool const normal = round % 2 == 0;
    real const q = std::exp(unit(draw) * std::log(60.0L)) / 10;
    real const p = 2 * q;
    real const w = std::exp(-6 * unit(draw));
    real const z = std::exp(unit(draw) * std::log(2000.0L)) / 50;
    bool const backward = unit(draw) < 0.5L;
    pair const of{normal, {w, p}, {w, q}};
    // Laplace noise: between the middle and the last kink, or within the kinks of a pair that is not mirrored.
    real const low = normal ? 1.5L * q + 6 * unit(draw) : 1.5L * q;
    real const high = normal ? low + unit(draw) / (1 + z / 4) : low + (p - low) * unit(draw);
    real const half = (high - low) / 2;
    auto const f = [&](real x) {
      real const a = of.log_density(backward ? of.q : of.p, x);
      real const b = of.log_density(backward ? of.p : of.q, x);
      return std::exp((1 + z) * a - z * b);
    };
    real const truth = by_panels(f, low, high, 64);
    real const error = std::abs(by_five(f, low, high) - truth) / truth;
    real const allowed = std::exp(log_kappa(normal, z, p, half, high));
    CAPTURE(round, static_cast<double>(q), static_cast<double>(w), static_cast<double>(z),
            static_cast<double>(error), static_cast<double>(allowed));
    CHECK(error <= allowed + 1e-15L);
    visible += error > 1e-14L;
    tight += error > 1e-14L && allowed < 1e-3L;
  }
  CHECK(visible > 1000);
  CHECK(tight > 300);
}

}  // namespace panel_rule_tests
