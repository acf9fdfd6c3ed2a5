// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

/// Solvers that keep a bracket. `last_holding` of core/inverse.hpp, which returns a safe end, is for
/// what ends in a guarantee.

namespace tacit::detail {

template <class T>
struct bracket {
  T low;
  T high;
  [[nodiscard]] T middle() const { return (low + high) / T(2); }
};

/// Bisection: halves the bracket while `wide(low, high)`, at most `steps` times. `holds(x)` on the
/// side of `low`, which never passes a point where it does not.
template <class T, class Wide, class Holds>
[[nodiscard]] bracket<T> bisect(bracket<T> at, Wide&& wide, Holds&& holds, int steps = 200) {
  for (int step = 0; step < steps && wide(at.low, at.high); ++step) {
    T const middle = at.middle();
    (holds(middle) ? at.low : at.high) = middle;
  }
  return at;
}

/// Nearly the root of a monotone difference of logarithms: Newton's method, and bisection where it
/// leaves the bracket. `evaluate(x)` returns {value, derivative}; the derivative's sign is `rising`. A
/// step from within 1e-8 leaves 1e-16.
template <class Evaluate>
[[nodiscard]] double newton_between(bracket<double> at, double x, bool rising,
                                    Evaluate&& evaluate) {
  for (int step = 0; step < 200; ++step) {
    auto const [value, derivative] = evaluate(x);
    double const next = x - value / derivative;
    if (std::abs(value) <= 1e-8) return std::clamp(next, at.low, at.high);
    ((value > 0.0) == rising ? at.high : at.low) = x;
    double const inside =
        next > at.low && next < at.high ? next : at.low + 0.5 * (at.high - at.low);
    if (!(std::abs(inside - x) > 1e-15 * std::abs(x))) break;
    x = inside;
  }
  return x;
}

}  // namespace tacit::detail
