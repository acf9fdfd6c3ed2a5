// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

/// Solvers that keep a bracket. `last_holding` of core/inverse.hpp, which returns a safe end, is for
/// what ends in a guarantee.

namespace tacit::detail {

template <class T>
struct bracket {
  T low;
  T high;
  [[nodiscard]] T middle() const { return (low + high) / 2; }
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

/// A bracket of a sign change of `f`, to a relative width of 4u: inverse quadratic interpolation where
/// three points suggest it, and bisection elsewhere (Chandrupatla 1997). The values at the ends of `at`
/// have opposite signs; so have those at the ends of the result, unless one of them is 0.
template <class Function>
[[nodiscard]] bracket<double> sign_change(bracket<double> at, double f_low, double f_high,
                                          Function&& f) {
  double a = at.low, b = at.high, c = b;
  double f_a = f_low, f_b = f_high, f_c = f_b;
  if (f_b == 0.0) return {b, b};
  double t = 0.5;
  for (int step = 0; step < 300; ++step) {
    double const unit = std::numeric_limits<double>::epsilon() * std::max(std::abs(a), std::abs(b));
    if (f_a == 0.0 || std::abs(b - a) <= 2.0 * unit) break;
    double const least = unit / std::abs(b - a);
    double const x = a + std::clamp(t, least, 1.0 - least) * (b - a);
    double const f_x = f(x);
    if ((f_x > 0.0) == (f_a > 0.0)) {
      c = a;
      f_c = f_a;
    } else {
      c = std::exchange(b, a);
      f_c = std::exchange(f_b, f_a);
    }
    a = x;
    f_a = f_x;
    double const xi = (a - b) / (c - b);
    double const phi = (f_a - f_b) / (f_c - f_b);
    bool const smooth = phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi;
    t = smooth ? f_a / (f_b - f_a) * f_c / (f_b - f_c) +
                     (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b)
               : 0.5;
  }
  if (f_a == 0.0) b = a;
  return {std::min(a, b), std::max(a, b)};
}

/// Nearly where `f` is least in [low, high], to `tolerance` relative and a quarter of that absolute:
/// parabolas through the three best points, and golden sections elsewhere (Brent 1973).
template <class Function>
double least_between(bracket<double> at, double tolerance, int steps, Function&& f) {
  constexpr double golden = 0.381966F;  // (3 − √5)/2, about: any fraction near it serves
  struct point {
    double x, value;
  };
  auto [low, high] = at;
  point best{high, f(high)};
  point second = best;
  point third = best;
  double move = 0.0;
  double before = 0.0;  // the move before the last
  for (int step = 0; step < steps; ++step) {
    double const middle = (low + high) / 2.0;
    double const least = tolerance * std::abs(best.x) + tolerance / 4.0;
    if (std::abs(best.x - middle) <= 2.0 * least - (high - low) / 2.0) break;
    bool parabola = false;
    if (std::abs(before) > least) {
      double const r = (best.x - second.x) * (best.value - third.value);
      double q = (best.x - third.x) * (best.value - second.value);
      double p = (best.x - third.x) * q - (best.x - second.x) * r;
      q = 2.0 * (q - r);
      if (q > 0.0) p = -p;
      q = std::abs(q);
      parabola = std::abs(p) < std::abs(q * before / 2.0) && p > q * (low - best.x) &&
                 p < q * (high - best.x);
      if (parabola) {
        before = std::exchange(move, p / q);
        double const x = best.x + move;
        if (x - low < 2.0 * least || high - x < 2.0 * least) {
          move = middle < best.x ? -least : least;
        }
      }
    }
    if (!parabola) {
      before = best.x >= middle ? low - best.x : high - best.x;
      move = golden * before;
    }
    double const x = best.x + (std::abs(move) >= least ? move : move > 0.0 ? least : -least);
    point const next{x, f(x)};
    if (next.value <= best.value) {
      (x >= best.x ? low : high) = best.x;
      third = std::exchange(second, std::exchange(best, next));
    } else {
      (x < best.x ? low : high) = x;
      if (next.value <= second.value || second.x == best.x) {
        third = std::exchange(second, next);
      } else if (next.value <= third.value || third.x == best.x || third.x == second.x) {
        third = next;
      }
    }
  }
  return best.x;
}

}  // namespace tacit::detail
