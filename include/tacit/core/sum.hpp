// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/real.hpp>

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
    bool const sum_is_larger = (sum_ < 0 ? -sum_ : sum_) >= (x < 0 ? -x : x);
    correction_ += sum_is_larger ? (sum_ - next) + x : (x - next) + sum_;
    sum_ = next;
    return *this;
  }

  [[nodiscard]] constexpr T value() const { return sum_ + correction_; }

 private:
  T sum_{0};
  T correction_{0};
};

}  // namespace tacit
