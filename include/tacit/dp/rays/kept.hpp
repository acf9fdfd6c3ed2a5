// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/dp/contour/kept.hpp>
#include <tacit/dp/rays/profile.hpp>
#include <tacit/dp/rays/tails.hpp>
#include <tacit/dp/rounded_shifts.hpp>

#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

/// What one question about δ leaves for those near it, on rays: docs/certificates/rays.md, Corollary 10.

namespace tacit::detail::rays {

/// Rays that were planned for one ε: their bounds hold at every other one, and are narrow near their own.
template <class R>
class kept_sum {
 public:
  /// `at` is the integral at the ε that they were planned for.
  kept_sum(ray_sum<R> rays, rounded_shifts const& shifts, double start, profile const& at)
      : rays_(std::move(rays)),
        shifts_(shifts),
        start_(start),
        log_delta_(at.log_lower()),
        fall_(at.slope / at.value) {}

  [[nodiscard]] double start() const { return start_; }
  /// Of one answer, in nanoseconds.
  [[nodiscard]] double work() const {
    std::size_t terms = 0;
    for (ray<R> const& level : rays_.levels) terms += level.terms.size() + level.right.size();
    return 2.0 * 100.0 * static_cast<double>(terms);
  }

  /// log δ at ε, certified. Farther out than the start δ falls faster.
  [[nodiscard]] std::optional<bound<double>> log_delta(double epsilon) const {
    // What the shifts' rounding is counted for.
    double const least = log_delta_ - 1.0 - 2.0 * fall_ * std::abs(epsilon - start_);
    double const blur = shifts_.blur(least);
    // δ falls, and what G is rounded by is less than the shift
    double const shift = rays_.shift(epsilon) + blur;
    if (!(rays_.levels.front().exponent(epsilon + shift) > 0)) return std::nullopt;
    double const lower = integrate(rays_, epsilon + shift).log_lower();
    if (!(lower >= least)) return std::nullopt;
    double const upper = integrate(rays_, epsilon - shift).log_upper();
    return bound<double>{lower - blur - 2.0 * unit<double> * std::abs(lower),
                         upper + blur + 2.0 * unit<double> * std::abs(upper)};
  }

  /// Of an ε that differs from this one by what G is rounded by, and of shifts that are not rounded.
  [[nodiscard]] std::optional<bound<double>> unshifted(double epsilon) const {
    if (!(rays_.levels.front().exponent(epsilon) > 0)) return std::nullopt;
    profile const at = integrate(rays_, epsilon);
    double const upper = at.log_upper();
    if (!(upper == upper)) return std::nullopt;
    return bound<double>{at.log_lower(), upper};
  }

 private:
  ray_sum<R> rays_;
  rounded_shifts shifts_;
  double start_;
  double log_delta_;  // there, and how fast it falls: about
  double fall_;
};

/// The same, whichever numbers they are summed in.
struct kept_rays {
  std::variant<kept_sum<double>, kept_sum<long double>> sum;

  [[nodiscard]] double start() const {
    return std::visit([](auto const& s) { return s.start(); }, sum);
  }
  [[nodiscard]] double work() const {
    return std::visit([](auto const& s) { return s.work(); }, sum);
  }
  [[nodiscard]] std::optional<bound<double>> log_delta(double epsilon) const {
    return std::visit([&](auto const& s) { return s.log_delta(epsilon); }, sum);
  }
  [[nodiscard]] std::optional<bound<double>> unshifted(double epsilon) const {
    return std::visit([&](auto const& s) { return s.unshifted(epsilon); }, sum);
  }
};

/// Chernoff's bound of the direction `add` at one tilt.
struct kept_moment {
  chernoff_line line;
  double base;
  bool bounded;  // no loss exceeds `base`
  rounded_shifts shifts;

  /// Whether it shows that δ(ε) ≤ e^{log_delta}.
  [[nodiscard]] bool below(double epsilon, double log_delta) const {
    double const blur = shifts.blur(log_delta);
    epsilon -= blur + 2.0 * unit_roundoff * std::abs(epsilon);
    double const G = base * (1.0 + 1e-14) - epsilon;
    return (bounded && !(G > 0.0)) || line.log_size(G) <= log_delta - blur;
  }
};

}  // namespace tacit::detail::rays
