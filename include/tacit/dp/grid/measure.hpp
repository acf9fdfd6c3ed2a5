// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// Masses on a grid of losses, their moments, and the δ(ε) that they stand for.
///
/// The currency of all errors is the distance Σ|computed − meant| of tilted masses, relative to their
/// sum. For any measure μ, ∫(1−e^{ε−l})⁺e^{−θl} dμ(l) ≤ C(θ)·e^{−θε}·|μ|, C(θ) = θ^θ/(1+θ)^{1+θ}: a
/// distance d moves δ(ε) by at most C(θ)·e^{Λ−θε}·d, Λ the logarithm of the untilted scale.

namespace tacit::detail {

/// Masses at the losses index·step (+ an origin kept elsewhere), index = first, first+1, …; they sum to
/// 1, and e^{log_norm} times them are the tilted masses.
template <std::same_as<double> T = double>
struct grid_measure {
  std::int64_t first = 0;
  std::vector<T> mass;
  T log_norm = 0.0;
};

/// Scales to sum 1 and cuts empty ends. False if there is nothing to scale.
template <std::same_as<double> T = double>
bool normalise(grid_measure<T>& measure) {
  // Less than any distance that is ever claimed, and slow to compute with.
  auto const full = [](T mass) { return mass > 1e-200; };
  auto const begin = std::find_if(measure.mass.begin(), measure.mass.end(), full);
  if (begin == measure.mass.end()) return false;
  auto const end = std::find_if(measure.mass.rbegin(), measure.mass.rend(), full).base();
  measure.first += begin - measure.mass.begin();
  measure.mass.erase(end, measure.mass.end());
  measure.mass.erase(measure.mass.begin(), begin);
  compensated_sum<T> total;
  for (T& mass : measure.mass) {
    if (!full(mass)) mass = 0.0;
    total += mass;
  }
  if (!(total.value() <= std::numeric_limits<T>::max())) return false;
  for (T& mass : measure.mass) mass /= total.value();
  measure.log_norm += std::log(total.value());
  return true;
}

/// Cumulants of a measure's index, about a centre.
template <std::same_as<double> T = double>
struct index_moments {
  T centre = 0.0;  // a whole number
  T mean = 0.0;    // from the centre
  T variance = 0.0;
};

template <std::same_as<double> T = double>
[[nodiscard]] index_moments<T> moments_of(grid_measure<T> const& measure) {
  T mean = 0.0;
  for (std::size_t k = 0; k < measure.mass.size(); ++k) mean += measure.mass[k] * static_cast<T>(k);
  index_moments<T> out;
  T const centre = std::floor(mean + 0.5);
  out.centre = static_cast<T>(measure.first) + centre;
  for (std::size_t k = 0; k < measure.mass.size(); ++k) {
    T const d = static_cast<T>(k) - centre;
    out.mean += measure.mass[k] * d;
    out.variance += measure.mass[k] * d * d;
  }
  out.variance = std::max(0.0, out.variance - out.mean * out.mean);
  return out;
}

/// Σ_k mass_k·factor^k of `size` masses that lie `stride` apart (±1), in four chains that do not wait for
/// each other.
template <std::same_as<double> T = double>
[[nodiscard]] T power_sum(T const* mass, std::size_t size, std::ptrdiff_t stride, T factor) {
  T const square = factor * factor;
  T const fourth = square * square;
  T sums[4] = {0.0, 0.0, 0.0, 0.0};
  for (std::size_t block = (size + 3) / 4; block-- > 0;) {
    for (std::size_t j = 0; j < 4; ++j) {
      std::size_t const k = 4 * block + j;
      T const here = k < size ? mass[static_cast<std::ptrdiff_t>(k) * stride] : 0.0;
      sums[j] = here + sums[j] * fourth;
    }
  }
  return (sums[0] + factor * sums[1]) + square * (sums[2] + factor * sums[3]);
}

/// log Σ mass·e^{λ·(index − centre)}, rounded up; ∞ where it overflows.
template <std::same_as<double> T = double>
[[nodiscard]] T log_moment(grid_measure<T> const& measure, T centre, T lambda) {
  auto const n = static_cast<std::int64_t>(measure.mass.size());
  std::int64_t const middle =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(centre) - measure.first, 0, n - 1);
  T const* const at = measure.mass.data() + middle;
  T const up = std::exp(lambda);
  T const down = std::exp(-lambda);
  T sum = power_sum(at, static_cast<std::size_t>(n - middle), 1, up);
  if (middle > 0) sum += down * power_sum(at - 1, static_cast<std::size_t>(middle), -1, down);
  if (!(sum <= 1e300)) return std::numeric_limits<T>::infinity();
  T const shift = static_cast<T>(measure.first + middle) - centre;
  // A factor to the n-th power is n times as wrong as itself, and every step rounds twice.
  return std::log(sum) + lambda * shift + 4.0 * unit_roundoff * static_cast<T>(n + 4);
}

/// δ(ε) of a tilted measure, at every ε, and what is known of its errors.
template <std::same_as<double> T = double>
class tilted_tail {
 public:
  tilted_tail() = default;
  /// Losses origin + step·index. `distance` and `log_scale` bound all that the measure is off; losses
  /// are off by at most `shift`. Beyond `largest` there is surely no finite loss.
  tilted_tail(grid_measure<T> measure, T step, T origin, T tilt, T distance, T log_scale, T shift,
              T largest)
      : measure_(std::move(measure)),
        step_(step),
        tilt_(tilt),
        log_scale_(std::max(log_scale, measure_.log_norm)),
        shift_(shift),
        largest_(largest) {
    first_ = origin + step * static_cast<T>(measure_.first);
    T const last = first_ + step * static_cast<T>(measure_.mass.size());
    shift_ += 4.0 * unit_roundoff * (std::abs(origin) + std::abs(first_) + std::abs(last));
    slack_ = std::expm1(distance + unit_roundoff * 8.0 * std::abs(measure_.log_norm));
    if (!(slack_ < 1e300)) slack_ = std::numeric_limits<T>::infinity();
    // log C(θ)
    log_constant_ = (tilt > 0.0 ? tilt * std::log(tilt) : 0.0) - (1.0 + tilt) * std::log1p(tilt);
    // Sums over the nodes from k up, of mass·e^{−θd}(1−e^{−d}) and mass·e^{−(1+θ)d}, d from node k.
    std::size_t const n = measure_.mass.size();
    excess_.resize(n);
    weight_.resize(n);
    long double const down = std::exp(static_cast<long double>(-tilt) * step);
    long double const further = std::exp(-(1.0L + tilt) * static_cast<long double>(step));
    long double const lift = -std::expm1(-static_cast<long double>(step));
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
    rounding_ =
        8.0 * unit_roundoff +
        4.0 * static_cast<T>(std::numeric_limits<long double>::epsilon()) * static_cast<T>(n + 4);
  }

  /// The finite losses' part of δ(ε), as bounds.
  [[nodiscard]] T upper(T epsilon) const {
    if (measure_.mass.empty() || epsilon >= largest_) return 0.0;
    T const at = epsilon - shift_;
    T const value = plain(at);
    return (value > 0.0 ? value * (1.0 + relative_error(at)) : 0.0) + error(at);
  }
  [[nodiscard]] T lower(T epsilon) const {
    if (measure_.mass.empty()) return 0.0;
    T const at = epsilon + shift_;
    T const off = relative_error(at);
    if (!(off < 1.0)) return 0.0;
    T const low = plain(at) * (1.0 - off) - error(at);
    return low > 0.0 ? low : 0.0;
  }

  [[nodiscard]] grid_measure<T> const& measure() const { return measure_; }
  /// Mean and deviation of the tilted loss: where the tilt is at home. Estimates.
  [[nodiscard]] T centre() const { return centre_; }
  [[nodiscard]] T deviation() const { return deviation_; }
  [[nodiscard]] T first() const { return first_; }
  [[nodiscard]] T last() const { return first_ + step_ * static_cast<T>(measure_.mass.size()); }
  [[nodiscard]] T step() const { return step_; }
  [[nodiscard]] T tilt() const { return tilt_; }
  [[nodiscard]] T shift() const { return shift_; }
  [[nodiscard]] T slack() const { return slack_; }
  [[nodiscard]] T log_scale() const { return log_scale_; }

 private:
  [[nodiscard]] T plain(T epsilon) const {
    T const position = std::ceil((epsilon - first_) / step_);
    if (!(position < static_cast<T>(measure_.mass.size()))) return 0.0;
    auto const k = static_cast<std::size_t>(std::max(0.0, position));
    T const above = std::max(0.0, first_ + step_ * static_cast<T>(k) - epsilon);
    // Node k lies `above` over ε, and so do all others more by that.
    T const log_factor = measure_.log_norm - tilt_ * epsilon - tilt_ * above;
    return std::exp(log_factor + std::log(excess_[k] - std::expm1(-above) * weight_[k]));
  }
  [[nodiscard]] T error(T epsilon) const {
    // Never 0, not even where it underflows; the exponent's own rounding is next to nothing there.
    T const exponent = log_scale_ - tilt_ * epsilon + log_constant_;
    if (!(exponent > -700.0)) return std::numeric_limits<T>::min();
    return slack_ * std::exp(exponent + relative_error(epsilon));
  }
  [[nodiscard]] T relative_error(T epsilon) const {
    return rounding_ +
           4.0 * unit_roundoff * (std::abs(measure_.log_norm) + 2.0 * std::abs(tilt_ * epsilon));
  }

  grid_measure<T> measure_;
  std::vector<T> excess_;
  std::vector<T> weight_;
  T step_ = 1.0;
  T tilt_ = 0.0;
  T log_scale_ = 0.0;
  T shift_ = 0.0;
  T largest_ = 0.0;
  T first_ = 0.0;
  T centre_ = 0.0;
  T deviation_ = 0.0;
  T slack_ = 0.0;
  T log_constant_ = 0.0;
  T rounding_ = 0.0;
};

}  // namespace tacit::detail
