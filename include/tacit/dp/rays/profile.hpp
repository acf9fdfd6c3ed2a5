// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/rays/ray.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

/// δ(ε) from rays, with all errors.

namespace tacit::detail::rays {

/// e^{log_scale}·[value − below, value + above] holds δ(ε); slope = −dδ/dε at the same scale, about.
struct profile {
  double log_scale;
  double value;
  double below;
  double above;
  double slope;

  [[nodiscard]] double log_upper() const {
    return log_scale + elementary::log(value + above) + rounded();
  }
  [[nodiscard]] double log_lower() const {
    return value > below ? log_scale + elementary::log(value - below) - rounded()
                         : -std::numeric_limits<double>::infinity();
  }

 private:
  [[nodiscard]] double rounded() const { return 4.0 * unit<double> * (std::abs(log_scale) + 40.0); }
};

template <class R>
[[nodiscard]] profile integrate(ray<R> const& r, double epsilon) {
  R const move = r.exponent(epsilon) - r.G0, from_centre = move - r.centre;
  compensated_sum<R> sum, slope;
  double size = 0.0, rounding = 0.0;
  double const u = static_cast<double>(unit<R>), step = static_cast<double>(from_centre);
  for (auto const& t : r.terms) {
    if (t.size == 0.0) {
      rounding += 1e-65 * elementary::exp(-step * static_cast<double>(t.p.re));
      continue;
    }
    // e^{−step·p} − 1, of which doubles suffice where it is small
    complex<double> const p{static_cast<double>(t.p.re), static_cast<double>(t.p.im)};
    double const turned = modulus(p) * std::abs(step);
    complex<double> const grown = expm1(-step * p, turned);
    complex<R> const value = t.value + t.value * complex<R>{grown.re, grown.im};
    sum += value.im;
    slope += value.re * t.p.im + value.im * t.p.re;
    double const grows = 1.0 + modulus(grown);
    size += t.size * grows;
    rounding += t.size * grows *
                (static_cast<double>(t.wrong) +
                 24.0 * u * modulus(p) * std::abs(static_cast<double>(r.centre)) +
                 70.0 * unit<double> * turned);
  }
  rounding += size * u * 40.0 + u * u * size * static_cast<double>(r.terms.size());
  double const moved = static_cast<double>(move);
  if (!(std::abs(moved) * (std::abs(static_cast<double>(r.c)) + r.radius + std::abs(r.a_high)) <
        most_exponent)) {
    rounding = std::numeric_limits<double>::infinity();
  }
  double const scale = elementary::exp(-static_cast<double>(r.c) * moved);
  double right = 0.0;
  for (auto const& s : r.right) {
    right += elementary::exp(s.log_bound - s.a * moved + s.reach * std::abs(moved));
  }
  double alias = 0.0, ends = 0.0;
  if (!r.right.empty()) {
    alias = (elementary::exp(r.log_left) * scale + right) /
            (std::numbers::pi * elementary::expm1(2.0 * std::numbers::pi * r.at.alpha / r.at.step));
    ends = r.low_wrong * scale * elementary::exp(r.radius * std::abs(moved)) +
           elementary::exp(r.log_high - r.a_high * moved);
  }
  R const low = r.low * elementary::exp(-r.c * move);
  bool const remove = r.towards == orientation::remove;
  profile out;
  out.log_scale = static_cast<double>(r.log_scale) + (remove ? epsilon : 0.0);
  out.value = static_cast<double>(sum.value() + low);
  out.below = out.above =
      (alias + ends + rounding) * (1.0 + 1e-9) + 4.0 * unit<double> * std::abs(out.value);
  double const tilted = static_cast<double>(slope.value() + r.c * low);
  out.slope = remove ? tilted - out.value : -tilted;
  return out;
}

/// The levels of a plan, and the bounds of what they leave out.
template <class R>
struct ray_sum {
  std::vector<ray<R>> levels;
  double log_rest;  // of D at G0; falls as e^{−rest_tilt·G}
  double rest_tilt;
  double log_far;  // of δ

  void tabulate(double epsilon) {
    for (ray<R>& level : levels) level.tabulate(epsilon);
  }

  /// What G is rounded by, which moves ε.
  [[nodiscard]] double shift(double epsilon) const {
    ray<R> const& r = levels.front();
    double const sum = static_cast<double>(r.base) + epsilon;
    return 4.0 * static_cast<double>(unit<R>) * static_cast<double>(r.exponent(epsilon)) +
           64.0 * static_cast<double>(unit<long double>) * sum;
  }
};

template <class R>
[[nodiscard]] profile integrate(ray_sum<R> const& r, double epsilon) {
  profile out = integrate(r.levels.front(), epsilon);
  for (std::size_t i = 1; i < r.levels.size(); ++i) {
    profile const p = integrate(r.levels[i], epsilon);
    double const k = elementary::exp(p.log_scale - out.log_scale) * (1.0 + 1e-15);
    double const rounded =
        8.0 * unit<double> * (std::abs(p.log_scale) + std::abs(out.log_scale) + 8.0);
    out.value += k * p.value;
    out.below += k * (p.below + rounded * std::abs(p.value));
    out.above += k * (p.above + rounded * std::abs(p.value));
    out.slope += k * p.slope;
  }
  ray<R> const& first = r.levels.front();
  double const shift = first.towards == orientation::remove ? epsilon : 0.0;
  double const moved = static_cast<double>(first.exponent(epsilon) - first.G0);
  out.above += (elementary::exp(r.log_rest - r.rest_tilt * moved + shift - out.log_scale) +
                elementary::exp(r.log_far - out.log_scale)) *
               (1.0 + 1e-9);
  return out;
}

}  // namespace tacit::detail::rays
