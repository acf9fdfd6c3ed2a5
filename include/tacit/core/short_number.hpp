// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <concepts>

/// Numbers with few significant bits: their products with small integers are exact, and small errors of what they are
/// made from do not change them.

namespace tacit::detail {

template <std::floating_point T, class Round>
[[nodiscard]] T to_bits(T number, int bits, Round&& round) {
  int exponent = 0;
  T const mantissa = std::frexp(number, &exponent);
  return std::ldexp(round(std::ldexp(mantissa, bits)), exponent - bits);
}

/// `number` ≥ 0 cut to `bits` significant bits: at most 2^{1−bits} of it less, and exact when multiplied
/// by an integer below 2^{53−bits}. The trapezoid rule's theorems are about nodes that are equally spaced.
template <std::floating_point T>
[[nodiscard]] T short_number(T number, int bits) {
  return to_bits(number, bits, [](T x) { return std::floor(x); });
}

/// The nearest number with so many significant bits.
template <std::floating_point T>
[[nodiscard]] T nearest_short_number(T number, int bits) {
  return to_bits(number, bits, [](T x) { return std::round(x); });
}

}  // namespace tacit::detail
