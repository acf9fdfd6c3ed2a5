// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <vector>

namespace tacit::detail {

/// Of larger orders no more is said of samples than of the mechanism itself.
inline constexpr double most_sampled_order = 2048.0;

/// log E_Q[(1 − q + qR)^n], R = dP/dQ, for a whole n: with E_Q R^l = e^{(l−1)D_l} it is
///   log(1 + Σ_{l=2}^n C(n, l)·(1 − q)^{n−l}·q^l·(e^{(l−1)D_l} − 1)).
/// Guarantee: upper bound, if `divergence(l)` is one on D_l.
template <std::same_as<double> T, class Divergence>
[[nodiscard]] T log_sampled_moment(T rate, std::size_t order, Divergence&& divergence) {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  auto const n = static_cast<T>(order);
  enclosure const log_rate = log(enclosure(rate));
  enclosure const log_rest = log1p(enclosure(-rate));
  enclosure log_choose = order > 0 ? log(enclosure(n)) : enclosure(0.0);  // C(n, 1)
  std::vector<T> exponents;
  T largest = -infinity;
  for (std::size_t k = 2; k <= order; ++k) {
    auto const l = static_cast<T>(k);
    log_choose += log(enclosure(n - l + 1.0) / l);
    T const level = divergence(l);
    if (!(level < infinity)) return infinity;
    if (level == 0.0) continue;
    enclosure const exponent = (l - 1.0) * enclosure(level);
    enclosure const excess = exponent.upper < 30.0 ? log(expm1(exponent)) : exponent;
    exponents.push_back((log_choose + (n - l) * log_rest + l * log_rate + excess).upper);
    largest = std::max(largest, exponents.back());
  }
  if (!(largest > -infinity)) return 0.0;
  enclosure sum = 0.0;
  for (T const exponent : exponents) sum += exp(enclosure(exponent) - largest);
  if (largest < 0.0) return log1p(exp(enclosure(largest)) * sum).upper;
  return (largest + log(sum + exp(enclosure(-largest)))).upper;
}

/// D_α of Poisson samples of a mechanism, of a record more or less, in one direction: with P and Q the mechanism's outputs
/// with the record and without it, of (1 − q)Q + qP against Q (`remove`), or Q against it (`add`). `divergence(α)` bounds
/// D_α(P‖Q) and D_α(Q‖P) for every pair of neighbours.
///   remove   as `log_sampled_moment` at whole orders, and below its chords between them; up to order `most_sampled_order`
///   add      log(1 + c·(e^{D_2} − 1))/(α−1), c = (1 − q)^{1−α} − 1 − (α−1)q ≤ α(α−1)/2·q²(1 − q)^{−α−1}, and −log(1 − q)
///   both     divergence(α)
/// Guarantee: upper bound (docs/certificates/events.md, Lemma 3a).
template <std::same_as<double> T, class Divergence>
[[nodiscard]] T poisson_sampled_divergence(T rate, T order, orientation towards,
                                           Divergence&& divergence) {
  constexpr T most_exponent = 700.0;
  T best = divergence(order);
  enclosure const alpha(order);
  if (towards == orientation::add) {
    enclosure const log_rest = log1p(enclosure(-rate));
    best = std::min(best, (-log_rest).upper);
    T const second = divergence(2.0);
    enclosure const grown = -(alpha + 1.0) * log_rest;
    if (!(second < most_exponent && grown.upper < most_exponent)) return best;
    // The second form of c keeps its digits where αq is small.
    enclosure const z = alpha - 1.0;
    enclosure const by_difference = expm1(-z * log_rest) - z * rate;
    enclosure const by_curvature = 0.5 * alpha * z * square(enclosure(rate)) * exp(grown);
    enclosure const excess = min(by_difference, by_curvature) * expm1(enclosure(second));
    return std::min(best, (log1p(excess) / z).upper);
  }
  if (!(order <= most_sampled_order)) return best;
  auto const below = static_cast<std::size_t>(std::floor(order));
  T const at_below = log_sampled_moment(rate, below, divergence);
  enclosure log_moment(at_below);
  if (static_cast<T>(below) < order) {
    T const at_above = log_sampled_moment(rate, below + 1, divergence);
    if (!(at_above < std::numeric_limits<T>::infinity())) return best;
    log_moment += (alpha - static_cast<T>(below)) * (enclosure(at_above) - at_below);
  }
  return std::min(best, (log_moment / (alpha - 1.0)).upper);
}

}  // namespace tacit::detail
