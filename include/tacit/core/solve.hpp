// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

/// Solvers that keep a bracket: by signs alone (`bisect`), by a derivative (`newton_between`), by values (`sign_change`, and
/// `sign_search` for loops that do more than search), and of a minimum (`least_between`). `last_holding` of
/// core/inverse.hpp, which returns a safe end, is for what ends in a guarantee.

namespace tacit::detail {

template <class T>
struct bracket {
  T low;
  T high;
  [[nodiscard]] T width() const { return high - low; }
  /// Between the ends, or well beyond the lower one where the upper one is infinite.
  [[nodiscard]] T middle() const {
    return high <= std::numeric_limits<T>::max() ? (low + high) / 2
                                                 : 2 * (low < 0 ? -low : low) + 1;
  }
  [[nodiscard]] bool holds(T const& x) const { return x > low && x < high; }
};

/// Bisection: halves the bracket while `wide(low, high)`, at most `steps` times. `holds(x)` is true on the
/// side of `low`, which never passes a point where it is false.
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
    double const inside = at.holds(next) ? next : at.middle();
    if (!(std::abs(inside - x) > 1e-15 * std::abs(x))) break;
    x = inside;
  }
  return x;
}

/// A search for a sign change that evaluates nothing itself: it takes values by `put` and says by `next`
/// where to evaluate. That is first where the line through both ends crosses 0, then by inverse quadratic
/// interpolation where three points suggest it, and by bisection elsewhere (Chandrupatla 1997). Infinite
/// values count by their sign.
template <class T>
class sign_search {
 public:
  void put(T const& x, T const& value) {
    if (known_ && (value > 0) != (last_.value > 0)) {
      before_ = closed_ ? opposite_ : last_;
      opposite_ = last_;
      closed_ = true;
    } else {
      before_ = last_;
    }
    last_ = {x, value};
    known_ = true;
  }
  /// Whether both signs were met; `next` has no answer before.
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] bracket<T> ends() const {
    return last_.x < opposite_.x ? bracket<T>{last_.x, opposite_.x}
                                 : bracket<T>{opposite_.x, last_.x};
  }
  /// As near as rounding allows: 4u.
  [[nodiscard]] bool settled() const { return !(ends().width() > 2 * unit()); }

  [[nodiscard]] T next() const {
    auto const& [a, f_a] = last_;
    auto const& [b, f_b] = opposite_;
    auto const& [c, f_c] = before_;
    T t = T(1) / 2;
    if (c == b) {
      T const line = f_a / (f_a - f_b);
      if (line > 0 && line < 1) t = line;
    } else {
      T const xi = (a - b) / (c - b);
      T const phi = (f_a - f_b) / (f_c - f_b);
      if (phi * phi < xi && (1 - phi) * (1 - phi) < 1 - xi) {
        t = f_a / (f_b - f_a) * f_c / (f_b - f_c) +
            (c - a) / (b - a) * f_a / (f_c - f_a) * f_b / (f_c - f_b);
      }
    }
    T const least = unit() / ends().width();
    return a + (t < least ? least : t > 1 - least ? 1 - least : t) * (b - a);
  }

 private:
  struct point {
    T x;
    T value;
  };
  [[nodiscard]] T unit() const {
    bracket<T> const at = ends();
    return std::numeric_limits<T>::epsilon() * (at.high > -at.low ? at.high : -at.low);
  }

  point last_{};
  point opposite_{};  // the last one of the other sign
  point before_{};
  bool known_ = false;
  bool closed_ = false;
};

/// A bracket of a sign change of `f`, to a relative width of 4u, or a point where |f| is at most `close`. The values
/// at the ends of `at` have opposite signs; so have those at the ends of the result, unless it is a point.
template <class T, class Function>
[[nodiscard]] bracket<T> sign_change(bracket<T> at, T f_low, T f_high, Function&& f, T close = 0) {
  if (f_low == 0) return {at.low, at.low};
  if (f_high == 0) return {at.high, at.high};
  sign_search<T> search;
  search.put(at.low, f_low);
  search.put(at.high, f_high);
  for (int step = 0; step < 300 && !search.settled(); ++step) {
    T const x = search.next();
    T const value = f(x);
    if (value <= close && -value <= close) return {x, x};
    search.put(x, value);
  }
  return search.ends();
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
