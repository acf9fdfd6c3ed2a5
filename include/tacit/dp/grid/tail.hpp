// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/grid/measure.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

/// The δ(ε) of a grid measure, as bounds.
///
/// The currency of all errors is the distance Σ|computed − meant| of tilted masses, relative to their
/// sum. For any measure μ, ∫(1−e^{ε−l})⁺e^{−θl} dμ(l) ≤ C(θ)·e^{−θε}·|μ|, C(θ) = θ^θ/(1+θ)^{1+θ}: a
/// distance d moves δ(ε) by at most C(θ)·e^{Λ−θε}·d, Λ the logarithm of the untilted scale.

namespace tacit::detail {

/// δ(ε) of a tilted measure, at every ε, and what is known of its errors.
template <std::same_as<double> T = double>
class tilted_tail {
 public:
  tilted_tail() = default;
  /// Losses origin + step·index, off by at most `shift`, of which `placed` is what all nodes together may be off, as the masses
  /// are tilted where they are meant to be. No finite loss is larger than `largest`.
  tilted_tail(measure<T> law, T origin, T placed, T shift, T largest)
      : measure_(std::move(law)),
        step_(measure_.step),
        tilt_(measure_.tilt),
        log_scale_(measure_.log_scale),
        shift_(shift),
        largest_(largest) {
    T const step = step_;
    T const tilt = tilt_;
    first_ = origin + step * static_cast<T>(measure_.first);
    T const last = first_ + step * static_cast<T>(measure_.mass.size());
    T const off = 8.0 * unit_roundoff * (std::abs(origin) + std::abs(first_) + std::abs(last));
    shift_ += off;
    placed_ = placed + off;
    distance_ = (measure_.distance + unit_roundoff * 8.0 * std::abs(measure_.log_norm)) *
                (1.0 + 8.0 * unit_roundoff);
    slack_ = elementary::expm1(distance_);
    if (!(slack_ < 1e300)) slack_ = std::numeric_limits<T>::infinity();
    // log C(θ), rounded up
    T const gain = tilt > 0.0 ? tilt * elementary::log(tilt) : 0.0;
    T const loss = (1.0 + tilt) * elementary::log1p(tilt);
    log_constant_ = gain - loss + 8.0 * unit_roundoff * (std::abs(gain) + loss);
    // Sums over the nodes from k up, of mass·e^{−θd}(1−e^{−d}) and mass·e^{−(1+θ)d}, d from node k.
    std::size_t const n = measure_.mass.size();
    excess_.resize(n);
    weight_.resize(n);
    long double const down = elementary::exp(static_cast<long double>(-tilt) * step);
    long double const further = elementary::exp(-(1.0L + tilt) * static_cast<long double>(step));
    long double const lift = -elementary::expm1(-static_cast<long double>(step));
    long double excess = 0.0L;
    long double weight = 0.0L;
    for (std::size_t k = n; k-- > 0;) {
      excess = down * (excess + lift * weight);
      weight = measure_.mass[k] + further * weight;
      excess_[k] = static_cast<T>(excess);
      weight_[k] = static_cast<T>(weight);
    }
    for (std::size_t k = 0; k < n; ++k) centre_ += measure_.mass[k] * static_cast<T>(k);
    for (std::size_t k = 0; k < n; ++k) {
      T const d = static_cast<T>(k) - centre_;
      deviation_ += measure_.mass[k] * d * d;
    }
    centre_ = first_ + step * centre_;
    deviation_ = step * std::sqrt(deviation_);
    rounding_ = 12.0 * unit_roundoff + tilt * placed_ +
                4.0 * static_cast<T>(std::numeric_limits<long double>::epsilon()) *
                    (static_cast<T>(n + 4) * (1.0 + (1.0 + tilt) * step));
  }

  /// The finite losses' part of δ(ε), as bounds.
  [[nodiscard]] T upper(T epsilon) const {
    if (measure_.mass.empty() || epsilon >= largest_) return 0.0;
    T const at = epsilon - shift_;
    reading const read = plain(at);
    return (read.value > 0.0 ? read.value * (1.0 + read.off) : 0.0) + error(at);
  }
  [[nodiscard]] T lower(T epsilon) const {
    if (measure_.mass.empty()) return 0.0;
    T const at = epsilon + shift_;
    reading const read = plain(at);
    if (!(read.off < 1.0)) return 0.0;
    T const low = read.value * (1.0 - read.off) - error(at);
    return low > 0.0 ? low : 0.0;
  }

  /// Mean and deviation of the tilted loss. Estimates.
  [[nodiscard]] T centre() const { return centre_; }
  [[nodiscard]] T deviation() const { return deviation_; }
  [[nodiscard]] measure<T> const& law() const { return measure_; }
  [[nodiscard]] T first() const { return first_; }
  [[nodiscard]] T last() const { return first_ + step_ * static_cast<T>(measure_.mass.size()); }
  [[nodiscard]] T step() const { return step_; }
  [[nodiscard]] T tilt() const { return tilt_; }
  [[nodiscard]] T shift() const { return shift_; }
  [[nodiscard]] T slack() const { return slack_; }
  [[nodiscard]] T log_scale() const { return log_scale_; }
  [[nodiscard]] T placed() const { return placed_; }

 private:
  struct reading {
    T value = 0.0;
    T off = 0.0;  // relatively
  };

  [[nodiscard]] reading plain(T epsilon) const {
    T const position = std::ceil((epsilon - first_) / step_);
    if (!(position < static_cast<T>(measure_.mass.size()))) return {};
    auto const k = static_cast<std::size_t>(std::max(0.0, position));
    T const above = std::max(0.0, first_ + step_ * static_cast<T>(k) - epsilon);
    // Node k lies `above` over ε, and so do all others more by that.
    T const log_factor = measure_.log_norm - tilt_ * epsilon - tilt_ * above;
    T const log_sum = elementary::log(excess_[k] - elementary::expm1(-above) * weight_[k]);
    T const units = 4.0 * (tilt_ * above + std::abs(log_sum));
    return {elementary::exp(log_factor + log_sum), relative_error(epsilon) + unit_roundoff * units};
  }
  [[nodiscard]] T error(T epsilon) const {
    T const exponent = log_scale_ - tilt_ * epsilon + log_constant_;
    if (exponent > -700.0) {
      T const off = relative_error(epsilon) + 4.0 * unit_roundoff * std::abs(log_scale_);
      return slack_ * elementary::exp(exponent + off);
    }
    // Where that is next to nothing the slack, less than e^distance, may be more than all. Never 0, not even where it underflows.
    T const off = 8.0 * unit_roundoff;
    T const whole =
        exponent * (1.0 - off) + rounding_ + distance_ * (1.0 + off) +
        off * (std::abs(measure_.log_norm) + std::abs(log_scale_) + std::abs(log_constant_));
    if (!(whole < 700.0)) return std::numeric_limits<T>::infinity();
    return whole > -700.0 ? elementary::exp(whole) : std::numeric_limits<T>::min();
  }
  [[nodiscard]] T relative_error(T epsilon) const {
    return rounding_ +
           4.0 * unit_roundoff * (std::abs(measure_.log_norm) + 2.0 * std::abs(tilt_ * epsilon));
  }

  measure<T> measure_;
  std::vector<T> excess_;
  std::vector<T> weight_;
  T step_ = 1.0;
  T tilt_ = 0.0;
  T log_scale_ = 0.0;
  T shift_ = 0.0;
  T placed_ = 0.0;
  T largest_ = 0.0;
  T first_ = 0.0;
  T centre_ = 0.0;
  T deviation_ = 0.0;
  T slack_ = 0.0;
  T distance_ = 0.0;  // its logarithm, where it is large
  T log_constant_ = 0.0;
  T rounding_ = 0.0;
};

/// The composition of one direction, certified on both sides.
template <std::same_as<double> T = double>
struct certified_tail {
  tilted_tail<T> above;
  tilted_tail<T> below;
  T infinite_above = 0.0;
  T infinite_below = 0.0;
  bool lower_holds = true;
  bool finest = false;       // no finer grid fits
  bound<T> range{0.0, 0.0};  // of the finite losses, and of all that errors may have moved

  [[nodiscard]] bound<T> delta(T epsilon) const {
    T const up = (infinite_above + above.upper(epsilon)) * (1.0 + 8.0 * unit_roundoff);
    T const low =
        lower_holds ? (infinite_below + below.lower(epsilon)) * (1.0 - 8.0 * unit_roundoff) : 0.0;
    return {std::min(1.0, low), up < 1.0 ? up : 1.0};
  }
  [[nodiscard]] bound<T> epsilon(T delta_aim) const {
    auto const holds = [&](T e) { return delta(e).upper <= delta_aim; };
    auto const exceeds = [&](T e) { return delta(e).lower > delta_aim; };
    bound<T> out{0.0, 0.0};
    if (!holds(0.0)) {
      T const most = std::numeric_limits<T>::max();
      out.upper = holds(most) ? last_holding(most, 0.0, holds) : std::numeric_limits<T>::infinity();
    }
    // Any ε at which δ's lower bound exceeds the aim is a lower bound, but far from the mean of the tilted
    // law that bound is 0. So from there, and from the upper bound down.
    T const top = std::min(out.upper, above.last());
    T start = 0.0;
    auto const consider = [&](T e) {
      if (e > start && e <= top && exceeds(e)) start = e;
    };
    T const home = below.centre() - 1.0 / below.tilt() - 1.0 / (1.0 + below.tilt());
    for (int z = -8; z <= 8; ++z) consider(home + 0.5 * z * below.deviation());
    for (T k = 0x1p-40; k < 1.0; k *= 2.0) consider(top * (1.0 - k));
    if (exceeds(start)) {
      out.lower = std::min(last_holding(start, std::max(start, top), exceeds), out.upper);
    }
    return out;
  }
};

}  // namespace tacit::detail
