// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/rounded.hpp>

/// Closed intervals that carry a lower and an upper end through a formula, by the directed operations
/// of rounded.hpp. Lemmas and hypotheses: docs/certificates/rounding.md.

// A namespace of their own: their functions are found for an enclosure, and hide nobody's exp or max.
namespace tacit::detail::enclosures {

/// A closed interval that contains the value of a formula. An infinite end bounds nothing on its side; an
/// operation that has no value anywhere, or a NaN, gives [−∞, ∞].
struct enclosure {
  double lower;
  double upper;

  enclosure(double x) noexcept : enclosure(x, x) {}  // NOLINT: a number is an enclosure
  enclosure(double low, double high) noexcept
      : lower(low == low ? low : -infinite_double), upper(high == high ? high : infinite_double) {}

  [[nodiscard]] bool holds(double x) const noexcept { return lower <= x && x <= upper; }
  /// Rounded up.
  [[nodiscard]] double width() const noexcept { return subtract_up(upper, lower); }

  friend enclosure operator-(enclosure x) noexcept { return {-x.upper, -x.lower}; }
  friend enclosure operator+(enclosure x, enclosure y) noexcept {
    return {add_down(x.lower, y.lower), add_up(x.upper, y.upper)};
  }
  friend enclosure operator-(enclosure x, enclosure y) noexcept { return x + -y; }
  friend enclosure operator*(enclosure x, enclosure y) noexcept {
    if (x.lower >= 0.0 && y.lower >= 0.0) {
      return {product_down(x.lower, y.lower), product_up(x.upper, y.upper)};
    }
    return {least(product_down(x.lower, y.lower), product_down(x.lower, y.upper),
                  product_down(x.upper, y.lower), product_down(x.upper, y.upper)),
            -least(-product_up(x.lower, y.lower), -product_up(x.lower, y.upper),
                   -product_up(x.upper, y.lower), -product_up(x.upper, y.upper))};
  }
  /// [−∞, ∞] where y holds 0.
  friend enclosure operator/(enclosure x, enclosure y) noexcept {
    if (y.holds(0.0)) return {-infinite_double, infinite_double};
    if (x.lower >= 0.0 && y.lower > 0.0) {
      return {divide_down(x.lower, y.upper), divide_up(x.upper, y.lower)};
    }
    return x * enclosure(divide_down(1.0, y.upper), divide_up(1.0, y.lower));
  }
  friend enclosure& operator+=(enclosure& x, enclosure y) noexcept { return x = x + y; }
  friend enclosure& operator-=(enclosure& x, enclosure y) noexcept { return x = x - y; }
  friend enclosure& operator*=(enclosure& x, enclosure y) noexcept { return x = x * y; }
  friend enclosure& operator/=(enclosure& x, enclosure y) noexcept { return x = x / y; }

 private:
  // An infinite end stands for numbers without limit, and 0 times a number is 0.
  static double product_up(double a, double b) noexcept {
    return a == 0.0 || b == 0.0 ? 0.0 : multiply_up(a, b);
  }
  static double product_down(double a, double b) noexcept { return -product_up(-a, b); }
  static double least(double a, double b, double c, double d) noexcept {
    double const first = a < b ? a : b;
    double const second = c < d ? c : d;
    return first < second ? first : second;
  }
};

/// [x − k, x + k] in units of neighbouring doubles.
[[nodiscard]] inline enclosure within_steps(double x, int steps) noexcept {
  return {next_down(x, steps), next_up(x, steps)};
}

/// The least enclosure of both.
[[nodiscard]] inline enclosure hull(enclosure x, enclosure y) noexcept {
  return {x.lower < y.lower ? x.lower : y.lower, x.upper > y.upper ? x.upper : y.upper};
}

/// The larger of the two, and the smaller.
[[nodiscard]] inline enclosure max(enclosure x, enclosure y) noexcept {
  return {x.lower > y.lower ? x.lower : y.lower, x.upper > y.upper ? x.upper : y.upper};
}
[[nodiscard]] inline enclosure min(enclosure x, enclosure y) noexcept { return -max(-x, -y); }

/// x², which x·x encloses more widely where x holds 0.
[[nodiscard]] inline enclosure square(enclosure x) noexcept {
  if (x.lower >= 0.0) return x * x;
  if (x.upper <= 0.0) return -x * -x;
  double const most = -x.lower > x.upper ? -x.lower : x.upper;
  return {0.0, multiply_up(most, most)};
}

/// √x; what is below 0 counts as 0.
[[nodiscard]] inline enclosure sqrt(enclosure x) noexcept {
  if (x.upper < 0.0) return {-infinite_double, infinite_double};
  return {x.lower > 0.0 ? sqrt_down(x.lower) : 0.0, sqrt_up(x.upper)};
}

/// The elementary functions that enclosures are made of, at one double; their errors are proved in
/// docs/certificates/elementary.md.
struct elementary_functions {
  static enclosure exp(double x) noexcept {
    return within_steps(elementary::exp(x), elementary::exp_steps);
  }
  static enclosure expm1(double x) noexcept {
    return within_steps(elementary::expm1(x), elementary::expm1_steps);
  }
  static enclosure log(double x) noexcept {
    return within_steps(elementary::log(x), elementary::log_steps);
  }
  static enclosure log1p(double x) noexcept {
    return within_steps(elementary::log1p(x), elementary::log1p_steps);
  }
  static enclosure tanh(double x) noexcept {
    return within_steps(elementary::tanh(x), elementary::tanh_steps);
  }
  static enclosure erfc(double x) noexcept {
    return within_steps(elementary::erfc(x), elementary::erfc_steps);
  }
};

/// An increasing function by its enclosures at the ends, inside of its range.
template <class At>
[[nodiscard]] enclosure rising(enclosure x, double least, double most, At&& at) noexcept {
  double const low = at(x.lower).lower;
  double const high = at(x.upper).upper;
  return {low > least ? low : least, high < most ? high : most};
}

[[nodiscard]] inline enclosure exp(enclosure x) noexcept {
  return rising(x, 0.0, infinite_double, [](double t) -> enclosure {
    if (t == 0.0) return 1.0;
    enclosure const y = elementary_functions::exp(t);
    return t > 0.0 ? max(y, 1.0) : min(y, 1.0);
  });
}

/// At least x.
[[nodiscard]] inline enclosure expm1(enclosure x) noexcept {
  return rising(x, -1.0, infinite_double, [](double t) -> enclosure {
    if (t == 0.0) return 0.0;
    enclosure const y = max(elementary_functions::expm1(t), t);
    return t > 0.0 ? y : min(y, 0.0);
  });
}

/// e^x − 1 − x ≥ 0, without cancellation.
[[nodiscard]] inline enclosure exp_residual(enclosure x) noexcept {
  auto const at = [](double t) -> enclosure {
    if (!(t >= -0.5 && t <= 0.5)) return max(expm1(enclosure(t)) - t, 0.0);
    // t²·Σ t^k/(k+2)!; what is beyond k = 15 is below 3e-21 (Lemma 7).
    enclosure sum = 1.0;
    for (int k = 17; k > 2; --k) sum = 1.0 + t * sum / static_cast<double>(k);
    return square(enclosure(t)) * (0.5 * sum + enclosure(-3e-21, 3e-21));
  };
  if (x.lower >= 0.0) return {at(x.lower).lower, at(x.upper).upper};
  if (x.upper <= 0.0) return {at(x.upper).lower, at(x.lower).upper};
  return {0.0, max(at(x.lower), at(x.upper)).upper};
}

/// A number that is not above 0 counts as having the logarithm −∞.
[[nodiscard]] inline enclosure log(enclosure x) noexcept {
  if (!(x.upper > 0.0)) return {-infinite_double, infinite_double};
  return rising(x, -infinite_double, infinite_double, [](double t) -> enclosure {
    if (!(t > 0.0)) return {-infinite_double, -infinite_double};
    if (t == 1.0) return 0.0;
    enclosure const y = elementary_functions::log(t);
    return t > 1.0 ? max(y, 0.0) : min(y, 0.0);
  });
}

/// At most x; what is not above −1 gives −∞.
[[nodiscard]] inline enclosure log1p(enclosure x) noexcept {
  if (!(x.upper > -1.0)) return {-infinite_double, infinite_double};
  return rising(x, -infinite_double, infinite_double, [](double t) -> enclosure {
    if (!(t > -1.0)) return {-infinite_double, -infinite_double};
    if (t == 0.0) return 0.0;
    enclosure const y = min(elementary_functions::log1p(t), t);
    return t > 0.0 ? max(y, 0.0) : y;
  });
}

/// log(e^x − 1) for x > 0.
[[nodiscard]] inline enclosure log_expm1(enclosure x) noexcept {
  return x.lower > 1.0 ? x + log1p(-exp(-x)) : log(expm1(x));
}

/// In modulus at most |x| and at most 1.
[[nodiscard]] inline enclosure tanh(enclosure x) noexcept {
  return rising(x, -1.0, 1.0, [](double t) -> enclosure {
    enclosure const y = elementary_functions::tanh(t);
    return t >= 0.0 ? min(max(y, 0.0), t) : max(min(y, 0.0), t);
  });
}

[[nodiscard]] inline enclosure erfc(enclosure x) noexcept {
  return rising(-x, 0.0, 2.0, [](double t) { return elementary_functions::erfc(-t); });
}

/// 1 − Φ(x).
[[nodiscard]] inline enclosure normal_tail(enclosure x) noexcept {
  enclosure const half_root{0.70710678118654746, 0.70710678118654757};  // 1/√2
  return 0.5 * erfc(x * half_root);
}

}  // namespace tacit::detail::enclosures

namespace tacit::detail {

using enclosures::enclosure;
using enclosures::hull;
using enclosures::within_steps;

}  // namespace tacit::detail
