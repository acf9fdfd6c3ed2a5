// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/dp/grid/curves.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

/// The law of a release's loss under P, as atoms and curves.

namespace tacit::detail {

/// What a few elementary functions in a row may be off, in units of the roundoff.
inline constexpr double libm_units = 64.0;

template <std::same_as<double> T = double>
struct loss_atom {
  T loss;
  T p;
};

/// By the loss, in one instance of the sort.
template <std::same_as<double> T>
void sort_by_loss(std::vector<loss_atom<T>>& atoms) {
  std::sort(atoms.begin(), atoms.end(),
            [](loss_atom<T> const& a, loss_atom<T> const& b) { return a.loss < b.loss; });
}

/// A law of the loss. Masses are exact up to the relative error `mass_error`, losses up to `loss_error`.
template <std::same_as<double> T = double>
struct loss_law {
  std::vector<loss_atom<T>> atoms;
  std::vector<loss_curve<T>> curves;
  T infinite = 0.0;  // P's own
  T above = 0.0;     // at most that much of P lies above all curves and atoms, …
  T below = 0.0;     // … and below them
  T low = 0.0;       // the ends of what is not left out
  T high = 0.0;
  T largest = 0.0;  // no finite loss is larger; may be ∞
  // At least that much of P has a loss of at least `top`.
  T top = 0.0;
  T top_mass = 0.0;
  bool lower_holds = true;
  T loss_error = 0.0;
  T mass_error = libm_units * unit_roundoff;
  T count = 0.0;

  /// Of a point of the dearest curve, in nanoseconds.
  [[nodiscard]] T point_cost() const {
    T most = 0.0;
    for (loss_curve<T> const& part : curves) {
      most = std::max(most, std::visit([](auto const& curve) { return T(curve.cost()); }, part));
    }
    return most;
  }
};

/// How many standard deviations leave out at most `mass` of a normal law (or of a discrete one: both
/// are sub-Gaussian, Canonne, Kamath & Steinke 2020).
template <std::same_as<double> T = double>
[[nodiscard]] T tail_point(T mass) {
  return std::sqrt(-2.0 * elementary::log(mass));
}

/// How many parts of a mixture of normals count, in the order of their shifts: the others weigh half of `mass` at most. With
/// 1 − Φ(x) ≤ ½·e^{−x²/2}, they and what is `tail_point(mass)` beyond the last that counts are no more than `mass`.
template <std::same_as<double> T, class Part>
[[nodiscard]] std::size_t parts_that_count(std::vector<Part> const& parts, T mass) {
  std::size_t count = parts.size();
  for (T beyond = 0.0; count > 1; --count) {
    beyond = add_up(beyond, parts[count - 1].weight);
    if (!(beyond <= 0.5 * mass)) break;
  }
  return count;
}

/// Adds a curve, and its ends to the law's.
template <class Curve, std::same_as<double> T>
void finish_curve(loss_law<T>& out, Curve curve) {
  T const low = curve.loss(curve.low);
  T const high = curve.loss(curve.high);
  bool const first = out.curves.empty();
  out.low = first ? low : std::min(out.low, low);
  out.high = first ? high : std::max(out.high, high);
  out.curves.emplace_back(std::move(curve));
}

/// The ends and the errors of a law whose losses are all finite, and few ulp off or `exact`.
template <std::same_as<double> T>
[[nodiscard]] loss_law<T> finished(loss_law<T> out, bool exact = false) {
  bool first = out.curves.empty();
  for (loss_atom<T> const& a : out.atoms) {
    out.low = first ? a.loss : std::min(out.low, a.loss);
    out.high = first ? a.loss : std::max(out.high, a.loss);
    first = false;
  }
  if (exact) return out;
  T const size = std::max(std::abs(out.low), std::abs(out.high));
  T const off = libm_units * unit_roundoff * std::abs(out.high);
  out.loss_error = std::max(out.loss_error, libm_units * unit_roundoff * size);
  if (out.largest > 0.0) return out;
  out.largest = out.high + off;
  out.top = out.high - off;
  for (loss_atom<T> const& a : out.atoms) {
    if (a.loss == out.high) out.top_mass += a.p;
  }
  return out;
}

}  // namespace tacit::detail
