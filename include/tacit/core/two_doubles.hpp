// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

/// Numbers of some hundred bits for recurrences that are longer than doubles can bear.

namespace tacit::detail {

/// high + low. Each operation is right to 2^-100, relatively, where no number is below 1e-290 (Joldes, Muller & Popescu
/// 2017); sums are of positive numbers.
struct two_doubles {
  double high = 0.0;
  double low = 0.0;

  /// a + b, exactly.
  [[nodiscard]] static two_doubles sum_of(double a, double b) {
    double const sum = a + b;
    double const part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
  }

  friend two_doubles operator+(two_doubles const& a, two_doubles const& b) {
    two_doubles const sum = sum_of(a.high, b.high);
    return sum_of(sum.high, sum.low + (a.low + b.low));
  }
  friend two_doubles operator*(two_doubles const& a, double b) {
    double const product = a.high * b;
    return sum_of(product, std::fma(a.high, b, -product) + a.low * b);
  }
  friend two_doubles operator*(two_doubles const& a, two_doubles const& b) {
    double const product = a.high * b.high;
    return sum_of(product, std::fma(a.high, b.high, -product) + (a.high * b.low + a.low * b.high));
  }
  friend two_doubles operator/(two_doubles const& a, two_doubles const& b) {
    double const first = a.high / b.high;
    // a − first·b, which is small
    double const rest = std::fma(-first, b.high, a.high) + (a.low - first * b.low);
    return sum_of(first, rest / b.high);
  }
};

}  // namespace tacit::detail
