// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/short_number.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>

namespace tacit::detail::epochs {

/// What moments E S^w are wanted for.
template <std::same_as<double> T = double>
struct moment_range {
  T lowest;  // Re w: up to 0, or from 1 on
  T highest;
  T end;        // |Im w| at most
  T log_error;  // of what each kind of error may be, relatively
};

/// One step's U = e^{aZ − a²/2} on the nodes z = k·step of the trapezoid rule, cut on either side: masses step·φ(z).
/// With S the mean of t independent ones. docs/certificates/allocation.md, Lemmas 11 and 12.
template <std::same_as<double> T = double>
class discrete_step {
 public:
  discrete_step(T noise_multiplier, T steps, moment_range<T> const& range)
      : a_(1.0 / noise_multiplier), steps_(steps) {
    T const low = std::max(0.0, -range.lowest);
    T const high = std::max(0.0, range.highest);
    T const need = std::numbers::ln2 + elementary::log(steps) - range.log_error;
    for (T d = 0.1; a_ * d < 1.5 && d < 4.0; d *= 1.15) {
      T const h = 2.0 * std::numbers::pi * d / (need + log_swell(d, -low, range.end));
      if (h > step_) {
        step_ = h;
        height_ = d;
      }
    }
    step_ = short_number(std::min(step_, 0.5), 22);
    T const beyond = need + log_power(low) + std::numbers::ln2 * high;
    T const jump = need + std::numbers::ln2 * high + std::min(0.0, log_jump(high));
    lowest_ = -std::ceil(deviations(beyond) / step_);
    highest_ = std::ceil(std::max(deviations(beyond), high * a_ + deviations(jump)) / step_);
  }

  [[nodiscard]] T shift() const { return a_; }
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(highest_ - lowest_) + 1;
  }
  /// Exact.
  [[nodiscard]] T point(std::size_t k) const { return step_ * (lowest_ + static_cast<T>(k)); }
  [[nodiscard]] T location(T z) const { return elementary::exp(a_ * (z - 0.5 * a_)); }
  /// Right to z²/2 + 10 units.
  [[nodiscard]] T mass(T z) const {
    return step_ * inv_root_two_pi * elementary::exp(-0.5 * z * z);
  }
  /// Whether masses and locations are normal numbers.
  [[nodiscard]] bool serves() const {
    return step_ > 0.0 && farthest() < 37.0 && a_ * (farthest() + a_) < 600.0;
  }

  /// How far locations may be off, relatively: a is rounded, too.
  [[nodiscard]] T location_error() const {
    return unit_roundoff * (4.0 * a_ * (farthest() + a_) + 8.0);
  }

  /// log E S^p, p ≤ 0 or p ≥ 1, is at least that.
  [[nodiscard]] T log_least(T p) const { return p > 0.0 ? std::max(0.0, log_jump(p)) : 0.0; }

  /// How far the mass of t steps may be from 1.
  [[nodiscard]] T mass_error() const {
    return alias(0.0, 0.0) +
           steps_ * (normal_tail(-step_ * lowest_) + normal_tail(step_ * highest_));
  }

  /// |E S^w − that of the discrete law| ≤ this·E S^p, p = Re w, |Im w| ≤ end. Locations count as exact.
  [[nodiscard]] T error(T p, T end) const {
    T const t = steps_;
    T const rule = alias(p, end);
    if (!(rule < 0.5)) return std::numeric_limits<T>::infinity();
    T const low = normal_tail(-step_ * lowest_);
    T const high = normal_tail(step_ * highest_);
    if (!(p > 0.0)) return rule + 2.02 * t * elementary::exp(log_power(-p)) * (low + high);
    T const beyond = step_ * highest_ - p * a_;
    if (!(beyond > 0.0)) return std::numeric_limits<T>::infinity();
    T const of_jump = elementary::exp(std::min(0.0, log_jump(p))) * normal_tail(beyond);
    return rule + 2.02 * elementary::exp(std::numbers::ln2 * (p - 1.0)) *
                      (t * high + of_jump + (t + 1.0) * low);
  }

  /// The same where locations are rounded, too.
  [[nodiscard]] T whole_error(T p, T end) const {
    return error(p, end) + elementary::expm1(1.01 * elementary::hypot(p, end) * location_error());
  }

 private:
  static constexpr T inv_root_two_pi = std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;

  [[nodiscard]] T farthest() const { return std::max(-lowest_, highest_) * step_; }

  // The trapezoid rule's error in t steps, one after the other.
  [[nodiscard]] T alias(T p, T end) const {
    T const fall = 2.0 * std::numbers::pi * height_ / step_;
    return 2.6 * steps_ * elementary::exp(log_swell(height_, p, end) - fall) /
           -elementary::expm1(-fall);
  }
  // By how much |φ(z)·S^w| may grow at the height d.
  [[nodiscard]] T log_swell(T d, T p, T end) const {
    T const turn = a_ * d;
    return 0.5 * d * d + end * turn - std::max(0.0, -p) * elementary::log(elementary::cos(turn));
  }
  // log of t^{1−p}·E U^p: E S^p is at least that.
  [[nodiscard]] T log_jump(T p) const {
    return 0.5 * a_ * a_ * (p * p - p) - (p - 1.0) * elementary::log(steps_);
  }
  // log of (t/(t−1))^q·E S^{−q}, S of t − 1 steps, at most: by their geometric mean.
  [[nodiscard]] T log_power(T q) const {
    T const others = steps_ - 1.0;
    return 0.5 * a_ * a_ * q * (1.0 + q / others) + q * elementary::log1p(1.0 / others);
  }
  // Beyond which a normal variable is with a probability of at most e^{−size}.
  [[nodiscard]] static T deviations(T size) { return std::sqrt(2.0 * std::max(0.0, size)); }

  T a_;
  T steps_;
  T step_ = 0.0;
  T height_ = 0.0;
  T lowest_ = 0.0;
  T highest_ = 0.0;
};

}  // namespace tacit::detail::epochs
