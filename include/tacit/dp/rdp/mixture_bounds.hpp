// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/dp/rdp/table.hpp>

#include <limits>
#include <vector>

/// Upper bounds on the divergences of Gaussian mixtures that take no table. docs/certificates/renyi.md.

namespace tacit::detail {

template <real T>
struct mixture_part {
  T weight;
  T shift;
};

/// M − 1 ≤ Σ weight·(e^{αz·shift²/2} − 1): t^α and t^{−z} are convex.
template <real T>
[[nodiscard]] with_error<T> by_convexity(std::vector<mixture_part<T>> const& parts, T const& z) {
  using elementary::expm1, elementary::exp;
  T const order = 1 + z;
  T log_scale = 0;
  T largest = 0;
  for (mixture_part<T> const& p : parts) {
    T const exponent = (order * p.shift) * (z * p.shift) / 2;
    if (exponent > log_scale) log_scale = exponent;
    if (p.shift > largest) largest = p.shift;
  }
  if (!(log_scale <= std::numeric_limits<T>::max())) {  // D is at most that of the largest shift
    T const value = (order * largest) * largest / 2;
    return {value, value * (4 * std::numeric_limits<T>::epsilon())};
  }
  if (log_scale < 500) log_scale = 0;
  T sum = 0;
  for (mixture_part<T> const& p : parts) {
    T const exponent = (order * p.shift) * (z * p.shift) / 2;
    T const grown = log_scale == 0 ? expm1(exponent) : exp(exponent - log_scale);
    sum = sum + p.weight * grown;
  }
  T const unit = std::numeric_limits<T>::epsilon() / 2;
  return divergence_of(z, sum, 64 * unit * sum, log_scale);
}

/// `add`: L ≤ −log(1 − Σ weight).
template <real T>
[[nodiscard]] with_error<T> largest_mixture_loss(std::vector<mixture_part<T>> const& parts,
                                                 T const& rest) {
  using elementary::log, elementary::log1p;
  T const unit = std::numeric_limits<T>::epsilon() / 2;
  T const count = T(static_cast<double>(parts.size()));
  T all = 0;
  for (mixture_part<T> const& p : parts) all = all + p.weight;
  if (all < T(0.5)) {  // where its relative error at most doubles
    T const largest = -log1p(-all);
    return {largest, (2 * count + 8) * unit * largest};
  }
  // 1 less all weights: a double that is off by a few units of 1.
  T const off = (4 + count) * T(unit_roundoff) / rest;
  if (!(off < T(0.01))) return {std::numeric_limits<T>::infinity(), 0};
  T const largest = -log(rest);
  return {largest, 8 * unit * largest + T(1.1) * off};
}

/// `add`: D ≤ (z·(Σ weight·shift)² + Σ weight·shift²)/2, as a mean of exponentials is at least that of the mean.
template <real T>
[[nodiscard]] with_error<T> by_means(std::vector<mixture_part<T>> const& parts, T const& z) {
  T mean = 0;
  T square = 0;
  for (mixture_part<T> const& p : parts) {
    mean = mean + p.weight * p.shift;
    square = square + (p.weight * p.shift) * p.shift;
  }
  T const value = ((z * mean) * mean + square) / 2;
  T const unit = std::numeric_limits<T>::epsilon() / 2;
  T const count = T(static_cast<double>(parts.size()));
  return {value, value * ((2 * count + 16) * unit) + T(value < T(1e-290) ? 1e-290 : 0.0)};
}

}  // namespace tacit::detail
