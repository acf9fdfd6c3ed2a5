// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/real.hpp>

#include <cmath>
#include <limits>

namespace tacit {

/// Neumaier's compensated sum: error ≤ 2u|Σx| + O(n u²)Σ|x| (Neumaier 1974; Higham, *Accuracy and
/// Stability of Numerical Algorithms*, §4.3), so that long sums lose no digit to their length.
template <real T>
class compensated_sum {
 public:
  constexpr compensated_sum() = default;
  constexpr explicit compensated_sum(T start) : sum_(start) {}

  constexpr compensated_sum& operator+=(T const& x) {
    T const next = sum_ + x;
    bool const sum_is_larger = (sum_ < T(0) ? -sum_ : sum_) >= (x < T(0) ? -x : x);
    correction_ += sum_is_larger ? (sum_ - next) + x : (x - next) + sum_;
    sum_ = next;
    return *this;
  }

  [[nodiscard]] constexpr T value() const { return sum_ + correction_; }

 private:
  T sum_{0};
  T correction_{0};
};

namespace detail {

/// The rounding error of a + b, exactly (Knuth's TwoSum).
[[nodiscard]] inline double two_sum_error(double a, double b, double sum) noexcept {
  double const b_part = sum - a;
  return (a - (sum - b_part)) + (b - b_part);
}

/// a + b rounded up: ≥ the exact sum, and equal to it where the sum is a double.
[[nodiscard]] inline double add_up(double a, double b) noexcept {
  double const sum = a + b;
  return two_sum_error(a, b, sum) > 0.0
             ? std::nextafter(sum, std::numeric_limits<double>::infinity())
             : sum;
}

/// a − b rounded down: ≤ the exact difference.
[[nodiscard]] inline double subtract_down(double a, double b) noexcept {
  double const difference = a - b;
  return two_sum_error(a, -b, difference) < 0.0
             ? std::nextafter(difference, -std::numeric_limits<double>::infinity())
             : difference;
}

}  // namespace detail
}  // namespace tacit
