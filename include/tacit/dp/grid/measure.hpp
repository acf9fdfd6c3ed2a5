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

/// Masses on a grid of losses, and their moments.

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

}  // namespace tacit::detail
