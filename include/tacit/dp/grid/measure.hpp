// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// A privacy loss distribution on a grid, as a value: `composer` (compose.hpp) composes it and takes it to
/// powers, `tilted_tail` (tail.hpp) reads δ(ε) off it. The proofs are in docs/certificates/grid.md.

namespace tacit::detail {

/// Masses at the losses index·step (+ an origin kept elsewhere), index = first, first+1, …, multiplied by
/// e^{tilt·loss} and scaled to sum 1.
template <std::same_as<double> T = double>
struct measure {
  std::int64_t first = 0;
  std::vector<T> mass;
  T step = 1.0;
  T tilt = 0.0;
  T log_norm = 0.0;   // e^{log_norm} times them are the tilted masses
  T log_scale = 0.0;  // the largest log_norm on the way here
  T distance = 0.0;   // at least Σ|mass − meant|
};

/// The index on a grid `ratio` ≥ 1 times coarser: ⌊index/ratio⌋.
[[nodiscard]] constexpr std::int64_t coarse_index(std::int64_t index, std::int64_t ratio) {
  return index >= 0 ? index / ratio : -((-index + ratio - 1) / ratio);
}

/// Scales to sum 1 and cuts empty ends. False if there is nothing to scale, or a mass is not finite.
template <std::same_as<double> T = double>
[[nodiscard]] bool normalise(measure<T>& m) {
  T largest = 0.0;
  for (T const mass : m.mass) {
    if (!(mass >= 0.0 && mass <= 1e300)) return false;
    largest = std::max(largest, mass);
  }
  // Less than any distance that is ever claimed, and slow to compute with.
  T const least = 1e-200 * largest;
  auto const full = [least](T mass) { return mass > least; };
  auto const begin = std::find_if(m.mass.begin(), m.mass.end(), full);
  if (begin == m.mass.end()) return false;
  auto const end = std::find_if(m.mass.rbegin(), m.mass.rend(), full).base();
  m.first += begin - m.mass.begin();
  m.mass.erase(end, m.mass.end());
  m.mass.erase(m.mass.begin(), begin);
  compensated_sum<T> total;
  for (T& mass : m.mass) {
    if (!full(mass)) mass = 0.0;
    total += mass;
  }
  if (!(total.value() <= 1e300)) return false;
  for (T& mass : m.mass) mass /= total.value();
  T const log_total = elementary::log(total.value());
  m.log_norm += log_total;
  m.log_scale = std::max(m.log_scale, m.log_norm);
  m.distance += unit_roundoff * (4.0 + 3.0 * std::abs(log_total));
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
[[nodiscard]] index_moments<T> moments_of(measure<T> const& m) {
  T mean = 0.0;
  for (std::size_t k = 0; k < m.mass.size(); ++k) mean += m.mass[k] * static_cast<T>(k);
  index_moments<T> out;
  T const centre = std::floor(mean + 0.5);
  out.centre = static_cast<T>(m.first) + centre;
  for (std::size_t k = 0; k < m.mass.size(); ++k) {
    T const d = static_cast<T>(k) - centre;
    out.mean += m.mass[k] * d;
    out.variance += m.mass[k] * d * d;
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
[[nodiscard]] T log_moment(measure<T> const& m, T centre, T lambda) {
  auto const n = static_cast<std::int64_t>(m.mass.size());
  std::int64_t const middle =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(centre) - m.first, 0, n - 1);
  T const* const at = m.mass.data() + middle;
  T const up = elementary::exp(lambda);
  T const down = elementary::exp(-lambda);
  T sum = power_sum(at, static_cast<std::size_t>(n - middle), 1, up);
  if (middle > 0) sum += down * power_sum(at - 1, static_cast<std::size_t>(middle), -1, down);
  if (!(sum <= 1e300)) return std::numeric_limits<T>::infinity();
  T const shift = static_cast<T>(m.first + middle) - centre;
  // A factor to the n-th power is n times as wrong as itself, and every step rounds twice. What the logarithm errs by is nothing
  // beside the whole place by which a window is widened.
  return elementary::log(sum) + lambda * shift + 4.0 * unit_roundoff * static_cast<T>(n + 4);
}

}  // namespace tacit::detail
