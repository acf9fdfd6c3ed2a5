// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/quadrature.hpp>
#include <tacit/dp/rdp/amplified.hpp>
#include <tacit/dp/rdp/bounded.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>

// docs/certificates/renyi.md, Lemma 8, for a rule of so few nodes that it errs by more than rounding; and divergences by
// panels against a thousand times as many of them, of integrands that are written down here.

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

TEST_CASE("a panel errs by no more than Lemma 8 says", "[long]") {
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

namespace {

real normal_profile(real shift, real epsilon) {
  real const root = std::sqrt(2.0L);
  return (std::erfc((epsilon / shift - shift / 2) / root) -
          std::exp(epsilon) * std::erfc((epsilon / shift + shift / 2) / root)) /
         2;
}
real laplace_profile(real shift, real epsilon) {
  return epsilon < shift ? -std::expm1((epsilon - shift) / 2) : 0;
}

// M − 1 = zα·∫ δ′(ε′)(e^{zε′} + e^{−αε′}) dε′ over ε, e^{ε′} = 1 + rate·(e^ε − 1).
real moment_of_profile(tacit::amplified_pair const& pair, real alpha) {
  bool const normal = pair.kind == tacit::amplified_pair::noise::normal;
  auto const profile = normal ? normal_profile : laplace_profile;
  real const rate = pair.rate;
  auto const f = [&](real epsilon) {
    real const ratio = 1 + rate * std::expm1(epsilon);
    real const theta = ratio * std::exp(-epsilon);
    real const delta = rate * ((1 - theta) * (pair.absent > 0 ? profile(pair.absent, epsilon) : 0) +
                               theta * (pair.changed > 0 ? profile(pair.changed, epsilon) : 0));
    return delta * (std::pow(ratio, alpha - 1) + std::pow(ratio, -alpha)) * rate / theta;
  };
  real const low = std::min(pair.absent, pair.changed);
  real const high = std::max(pair.absent, pair.changed);
  real sum = 0;
  if (!normal) {
    sum = by_panels(f, 0, low, 400) + by_panels(f, low, high, 400);
  } else {
    real const end = high * (high * (alpha + 0.5L) + 12);
    real from = 0;  // finer where the smaller shift's profile lies
    for (real const to : {low * (low / 2 + 9), end}) {
      if (to > from) sum += by_panels(f, from, to, 400);
      from = std::max(from, to);
    }
  }
  return (alpha - 1) * alpha * sum;
}

}  // namespace

TEST_CASE("divergences of profiles hold whatever the ratio of their shifts") {
  using tacit::amplified_pair;
  std::mt19937_64 draw(20261129);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 60; ++round) {
    auto const kind =
        round % 3 == 0 ? amplified_pair::noise::laplace : amplified_pair::noise::normal;
    double const large = std::exp(unit(draw) * std::log(100.0)) / 50;
    double const small = large * std::exp(-5 * unit(draw));
    double const rate = std::exp(-8 * unit(draw));
    double const alpha = 1 + std::exp(unit(draw) * std::log(2000.0)) / 100;
    bool const turned = unit(draw) < 0.5;
    amplified_pair const pair{kind, rate, turned ? large : small, turned ? small : large};
    tacit::detail::with_error<double> const found =
        tacit::detail::profile_divergence<double>(pair)(alpha);
    real const truth = std::log1p(moment_of_profile(pair, alpha)) / (alpha - 1);
    CAPTURE(round, pair.absent, pair.changed, rate, alpha, found.value, found.error,
            static_cast<double>(truth));
    CHECK(std::abs(found.value - truth) <= found.error + 1e-13L * truth);
    CHECK(found.error <= 1e-11 * found.value);
  }
}

TEST_CASE("divergences of bounded losses hold, by panels as by many more") {
  std::mt19937_64 draw(20261130);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 60; ++round) {
    double const epsilon = std::exp(unit(draw) * std::log(600.0)) / 50;
    double const rate = std::exp(-8 * unit(draw));
    double const alpha = 1 + std::exp(unit(draw) * std::log(2000.0)) / 100;
    bool const remove = unit(draw) < 0.5;
    tacit::bounded_pair pair{};
    pair.epsilon = epsilon;
    pair.rate = rate;
    pair.orientation = remove ? tacit::orientation::remove : tacit::orientation::add;
    tacit::detail::with_error<double> const found =
        tacit::detail::sampled_bounded<double>(pair)(alpha);
    real const e = epsilon;
    // ∫ of the base, c·e^{−(l+ε)/2}, is 1.
    real const c = 1 / (-2 * std::expm1(-e));
    real const power = remove ? real(alpha) : 1 - real(alpha);
    auto const f = [&](real l) {
      real const u = rate * std::expm1(l);
      return c * std::exp(-(l + e) / 2) * (std::expm1(power * std::log1p(u)) - power * u);
    };
    real const truth =
        std::log1p(by_panels(f, -e, 0, 1500) + by_panels(f, 0, e, 1500)) / (real(alpha) - 1);
    CAPTURE(round, epsilon, rate, alpha, remove, found.value, found.error,
            static_cast<double>(truth));
    CHECK(std::abs(found.value - truth) <= found.error + 1e-12L * truth);
    CHECK(found.error <= 1e-11 * found.value);
  }
}

}  // namespace panel_rule_tests
