// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/real.hpp>

#include <array>
#include <cstddef>

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

namespace detail {

/// Σ of term(0), …, term(n − 1), real or complex, in eight lanes: each takes part in at most n/8 + 11 additions.
template <class T, class Term>
[[nodiscard]] T sum_in_lanes(std::size_t n, Term&& term) {
  std::array<T, 8> lane{};
  std::size_t k = 0;
  for (; k + 8 <= n; k += 8) {
    for (std::size_t j = 0; j < 8; ++j) lane[j] += term(k + j);
  }
  for (std::size_t j = 0; k < n; ++k, ++j) lane[j] += term(k);
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

}  // namespace detail

}  // namespace tacit
