// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/allocation/lattice.hpp>
#include <tacit/dp/grid/compose.hpp>
#include <tacit/dp/grid/convolution.hpp>
#include <tacit/dp/grid/measure.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

/// Sums of independent values on a lattice, and their stop-loss transforms E(Y−y)₊, as bounds.
/// docs/certificates/allocation.md, Lemmas 6 to 8.

namespace tacit::detail::epochs {

/// How far the masses of `tilted` are off, relatively: a law's own error, and that of an exponent, which is as wrong as
/// two of its roundings.
template <std::same_as<double> T = double>
[[nodiscard]] T relative_error(lattice_law<T> const& law, T tilt) {
  return law.mass_error +
         unit_roundoff * (8.0 + 4.0 * tilt * law.step * static_cast<T>(law.mass.size()));
}

/// The law of Y = X, of calls, or −X, of puts, multiplied by e^{tilt·y}: masses at index·step, the origin left out. They count as exact
/// from here on: masses that are off by e relatively make sums of n values off by (1+e)ⁿ − 1.
template <std::same_as<double> T = double>
[[nodiscard]] std::optional<measure<T>> tilted(lattice_law<T> const& law, side way, T tilt) {
  std::size_t const n = law.mass.size();
  auto const sign = way == side::call ? 1.0 : -1.0;
  T most = -std::numeric_limits<T>::infinity();
  auto const exponent = [&](std::size_t k) { return sign * tilt * law.step * static_cast<T>(k); };
  for (std::size_t k = 0; k < n; k += n - 1) most = std::max(most, exponent(k));
  measure<T> out;
  out.step = law.step;
  out.tilt = tilt;
  out.first = way == side::call ? 0 : -static_cast<std::int64_t>(n - 1);
  out.mass.resize(n);
  T all = 0.0;
  T wear = 0.0;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t const place = way == side::call ? k : n - 1 - k;
    T const down = exponent(k) - most;
    T const factor = down > -700.0 ? elementary::exp(down) : 0.0;
    out.mass[place] = law.mass[k] * factor;
    all += out.mass[place];
    if (!law.wear.empty()) wear += law.wear[k] * factor;
  }
  out.log_norm = most;
  out.log_scale = -std::numeric_limits<T>::infinity();
  out.distance = all > 0.0 ? 1.01 * unit_roundoff * (wear / all) : 0.0;
  if (!normalise(out)) return std::nullopt;
  return out;
}

/// A lattice that is `ratio` times coarser, in convex order above the finer one or below it.
template <std::same_as<double> T = double>
struct lattice_coarsening {
  [[nodiscard]] std::optional<measure<T>> operator()(measure<T> const& fine, std::int64_t ratio,
                                                     rounding_side side) const {
    std::int64_t const end = fine.first + static_cast<std::int64_t>(fine.mass.size());
    std::int64_t const first = coarse_index(fine.first, ratio);
    std::int64_t const last = coarse_index(end - 1, ratio) + 1;
    std::vector<lattice_cell<T>> cells(static_cast<std::size_t>(last - first) + 1);
    std::vector<T> within(static_cast<std::size_t>(ratio));
    T const rate = fine.tilt * fine.step;
    T const drop = elementary::exp(-rate * static_cast<T>(ratio));
    for (std::size_t j = 0; j + 1 < cells.size(); ++j) {
      std::int64_t const node = (first + static_cast<std::int64_t>(j)) * ratio;
      lattice_cell<T>& cell = cells[j];
      for (std::int64_t p = 0; p < ratio; ++p) {
        std::int64_t const index = node + p;
        T const mass = index >= fine.first && index < end
                           ? fine.mass[static_cast<std::size_t>(index - fine.first)]
                           : 0.0;
        within[static_cast<std::size_t>(p)] = mass * elementary::exp(-rate * static_cast<T>(p));
      }
      cell.at = within[0];
      T high = 0.0;
      for (std::int64_t p = 1; p < ratio; ++p) {
        T const place = static_cast<T>(p) / static_cast<T>(ratio);
        cell.low += within[static_cast<std::size_t>(p)] * (1.0 - place);
        high += within[static_cast<std::size_t>(p)] * place;
        T tents = 0.0;
        for (std::int64_t i = 1; i < ratio; ++i) {
          T const from = static_cast<T>(i) / static_cast<T>(ratio);
          tents += within[static_cast<std::size_t>(i)] *
                   std::min(from * (1.0 - place), place * (1.0 - from));
        }
        cell.gap = std::max(cell.gap, tents * (1.0 + 1e-12));
      }
      cell.high = high / drop;
    }
    measure<T> out;
    out.first = first;
    out.step = fine.step * static_cast<T>(ratio);
    out.tilt = fine.tilt;
    out.log_norm = fine.log_norm;
    out.log_scale = fine.log_scale;
    out.distance = fine.distance + unit_roundoff * (128.0 + 4.0 * rate * static_cast<T>(ratio));
    if (side == rounding_side::above) {
      out.mass = spread(cells);
    } else {
      T missing = 0.0;
      std::vector<T> wear;
      out.mass = contract(cells, drop, missing, wear);
      T all = 0.0;
      T all_wear = 0.0;
      for (std::size_t k = 0; k < wear.size(); ++k) {
        all += out.mass[k];
        all_wear += wear[k];
      }
      if (!(all > 0.0)) return std::nullopt;
      out.distance += 1.01 * (missing + unit_roundoff * all_wear) / all;
    }
    return normalise(out) ? std::optional(std::move(out)) : std::nullopt;
  }
};

/// E(Y−y)₊ of a tilted law, at every y: Y = origin + step·index.
///
/// With masses m̃ of the tilted law, scaled to sum 1, and Λ its log norm,
///   E(Y−y)₊ = e^{Λ−θy}·Σ m̃_k·e^{−θ(y_k−y)}(y_k−y)₊,
/// and a distance d of the masses moves it by at most d·e^{Λ−θy}/(eθ), for x·e^{−θx} ≤ 1/(eθ).
template <std::same_as<double> T = double>
class stop_loss {
 public:
  stop_loss(measure<T> law, T origin)
      : step_(law.step),
        tilt_(law.tilt),
        log_norm_(law.log_norm),
        log_scale_(law.log_scale),
        first_(origin + law.step * static_cast<T>(law.first)) {
    slack_ = elementary::expm1(law.distance + unit_roundoff * 8.0 * std::abs(law.log_norm));
    if (!(slack_ < 1e300)) slack_ = std::numeric_limits<T>::infinity();
    std::size_t const n = law.mass.size();
    excess_.resize(n);
    weight_.resize(n);
    T const down = elementary::exp(-tilt_ * step_);
    T excess = 0.0;
    T weight = 0.0;
    for (std::size_t k = n; k-- > 0;) {
      excess = down * (excess + step_ * weight);
      weight = law.mass[k] + down * weight;
      excess_[k] = excess;
      weight_[k] = weight;
    }
    last_ = first_ + step_ * static_cast<T>(n - 1);
    shift_ = 4.0 * unit_roundoff * (std::abs(origin) + std::abs(first_) + std::abs(last_));
    // Masses are tilted where nodes are meant to be.
    rounding_ = unit_roundoff * (8.0 + 8.0 * static_cast<T>(n + 4) * (1.0 + tilt_ * step_)) +
                tilt_ * shift_;
  }

  [[nodiscard]] std::size_t size() const { return excess_.size(); }

  /// Places are off by at most that much, so that y is moved by it beforehand.
  [[nodiscard]] T shift() const { return shift_; }

  [[nodiscard]] bound<T> operator()(T y) const {
    T const exponent = log_norm_ - tilt_ * y;
    T const off = rounding_ + 4.0 * unit_roundoff *
                                  (std::abs(log_norm_) + std::abs(log_scale_) +
                                   2.0 * std::abs(tilt_ * y) + std::abs(tilt_ * first_));
    T const error = slack_ * elementary::exp(std::min(700.0, log_scale_ - tilt_ * y - 1.0)) /
                        tilt_ * (1.0 + off) +
                    std::numeric_limits<T>::min();
    T const value = plain(y, exponent);
    return {std::max(0.0, value * (1.0 - off) - error), value * (1.0 + off) + error};
  }

 private:
  [[nodiscard]] T plain(T y, T exponent) const {
    T const position = std::max(0.0, std::ceil((y - first_) / step_));
    if (!(position < static_cast<T>(excess_.size()))) return 0.0;
    auto const k = static_cast<std::size_t>(position);
    T const ahead = std::max(0.0, first_ + step_ * position - y);
    return elementary::exp(std::min(700.0, exponent - tilt_ * ahead)) *
           (excess_[k] + ahead * weight_[k]);
  }

  T step_;
  T tilt_;
  T log_norm_;
  T log_scale_;
  T first_;
  T last_ = 0.0;
  T slack_ = 0.0;
  T rounding_ = 0.0;
  T shift_ = 0.0;
  std::vector<T> excess_;
  std::vector<T> weight_;
};

}  // namespace tacit::detail::epochs
