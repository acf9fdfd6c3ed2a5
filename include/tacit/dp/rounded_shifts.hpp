// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

/// What the rounding of shifts does to the profile of a composition: docs/certificates/contour.md, Lemma 14.

namespace tacit::detail {

/// Mixtures of normals against N(0, 1) whose shifts are known to 2.1 units of rounding: as 1/noise, and its multiples.
class rounded_shifts {
 public:
  /// `variance` is Σ count·mu² of normal pairs beside them.
  explicit rounded_shifts(double variance)
      : energy_(0.5 * variance), squares_(variance), apart_(variance) {}

  /// count steps of a mixture.
  template <class Parts>
  void add(double count, Parts const& parts) {
    double weight = 0.0, first = 0.0, second = 0.0, apart = 0.0;
    for (mixture_pair::part const& one : parts) {
      weight += one.weight;
      first += one.weight * one.shift;
      second += one.weight * one.shift * one.shift;
      largest_ = std::max(largest_, one.shift);
    }
    auto const few = fewer_parts(parts, most_pairs, true);
    for (mixture_pair::part const& one : few) {
      for (mixture_pair::part const& other : few) {
        apart += one.weight * other.weight * elementary::expm1(one.shift * other.shift);
      }
    }
    energy_ += 0.5 * count * second;
    squares_ += count * first * first;
    double const rest = std::max(0.0, 1.0 - weight - 1e-15);
    apart_ += count * elementary::log1p(apart / rest);
    double spread = 0.65 * weight;
    if (parts.size() == 1) {  // the score's own spread, where the noise of a rare jump is not seen
      double const q = parts[0].weight, s = parts[0].shift, root = elementary::exp(0.5 + s);
      double const bent = root * ((s + 1.0) * (s + 1.0) + 1.0) +
                          elementary::exp(0.5 - s) * ((s - 1.0) * (s - 1.0) + 1.0);
      spread = std::min(spread, 0.5 * q * (q / rest) * elementary::exp(s * s) * bent);
    }
    spread_ += count * spread;
  }

  /// count steps beside them whose losses are at most this in size, by Hoeffding's lemma.
  void add_bounded(double count, double largest) {
    double const square = count * largest * largest;
    energy_ += 0.5 * square;
    squares_ += square;
    apart_ += square;
  }

  /// count epochs of random allocation beside them, whose losses have no bound: log E S⁻¹ is at most ½a²(1 + 1/t), by the
  /// geometric mean of their steps.
  void add_epochs(double count, double noise_multiplier, double steps) {
    double const a = 1.0 / noise_multiplier;
    energy_ = std::numeric_limits<double>::infinity();
    apart_ += 0.51 * count * a * a * (1.0 + 1.0 / steps);
  }

  /// A ρ such that with the true shifts e^{−ρ}δ(ε + ρ) ≤ δ_true(ε) ≤ e^ρ·δ(ε − ρ), in either direction, where what is
  /// to be shown is about a δ of e^{log_delta} or more.
  [[nodiscard]] double blur(double log_delta) const {
    double const size = std::max(0.0, -log_delta);
    double const rare =
        1.0 + std::min(size + energy_ + std::sqrt(2.0 * size * squares_), 2.0 * size + apart_);
    double const rho = 2.2 * unit_roundoff * largest_ * 2.0 * (rare + std::sqrt(rare * spread_));
    return rho < 0.5 ? rho : std::numeric_limits<double>::infinity();
  }

 private:
  static constexpr std::size_t most_pairs = 64;

  double spread_ = 0.0;
  double energy_;
  double squares_;
  double apart_;
  double largest_ = 0.0;
};

}  // namespace tacit::detail
