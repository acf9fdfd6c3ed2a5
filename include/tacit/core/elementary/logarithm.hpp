// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary/parts.hpp>

#include <limits>

/// log x and log(1 + x) in double with a proven error: docs/certificates/elementary.md, theorems 4 and 5.

namespace tacit {

namespace detail {

/// x = 2^k·m with m in [√½, √2).
struct binary_scale {
  double k;
  double m;
};

/// For a normal x > 0; k is less by `shift`.
[[nodiscard]] inline binary_scale split_binary(double x, double shift) {
  constexpr bit_pattern root_half = 0x3FE6A09E00000000;  // √½, a little below
  constexpr bit_pattern fraction = 0x000FFFFFFFFFFFFF;
  bit_pattern const bits = bits_of(x) + (bits_of(1.0) - root_half);
  return {from_bits((bits >> 52) | bits_of(0x1p52)) - (0x1p52 + 1023.0 + shift),
          from_bits((bits & fraction) + root_half)};
}

/// k·log 2 + log(1 + f) + rest, for −0.29290 ≤ f ≤ 0.41422 and rest far below an ulp of the result.
[[nodiscard]] inline double log_sum_of(double k, double f, double rest) {
  constexpr double ln2_high = 0x1.62e42fefa38p-1;
  constexpr double ln2_low = 0x1.ef35793c768p-45;
  double const s = f / (2.0 + f);
  double const z = product(s, s);
  double const zz = product(z, z);
  // (2 atanh s)/s − 2 = z·p(z)
  double const p1 = 0x1.5555555555558p-1 + product(z, 0x1.99999999952b9p-2);
  double const p3 = 0x1.2492492dfb9b8p-2 + product(z, 0x1.c71c62d649d8cp-3);
  double const p5 = 0x1.7462b925fa03ep-3 + product(z, 0x1.39fdcbbceb4c6p-3);
  double const s5 = p5 + product(zz, 0x1.2b5f5b2f9f871p-3);
  double const p = p1 + product(zz, p3 + product(zz, s5));
  double const half = product(0.5 * f, f);
  double const tail = product(s, half + product(z, p)) - half;
  double const high = k * ln2_high;
  double const sum = high + f;
  double const lost = (high - sum) + f;
  return sum + (lost + (rest + (product(k, ln2_low) + tail)));
}

/// `value` for 0 < x < ∞; else log x.
[[nodiscard]] inline double log_or_limit(double x, double value) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  bit_pattern const size = bits_of(x) & ~sign_bit;
  bit_pattern const zero = mask_of_top(size - 1);
  bit_pattern const negative = mask_of_top(bits_of(x));
  bit_pattern const limited = zero | negative | mask_of_top(infinity_bits - 1 - size);
  return select(limited, select(zero, -infinity, select(negative, nan, x)), value);
}

}  // namespace detail

namespace elementary {

/// log x; −∞ at ±0, NaN below.
/// Guarantee: nearest; |error| ≤ 1.92·2⁻⁵³·|log x|.
[[nodiscard]] inline double log(double x) {
  using namespace detail;
  if (x >= std::numeric_limits<double>::min() && x <= std::numeric_limits<double>::max()) {
    auto const [k, m] = split_binary(x, 0.0);
    return log_sum_of(k, m - 1.0, 0.0);
  }
  bit_pattern const subnormal = mask_below(bits_of(x), bits_of(std::numeric_limits<double>::min()));
  auto const [k, m] = split_binary(select(subnormal, x * 0x1p54, x), select(subnormal, 54.0, 0.0));
  return log_or_limit(x, log_sum_of(k, m - 1.0, 0.0));
}

/// log(1 + x), also near 0, and with the sign of a zero; −∞ at −1, NaN below.
/// Guarantee: nearest; |error| ≤ 1.92·2⁻⁵³·|log(1 + x)|.
[[nodiscard]] inline double log1p(double x) {
  using namespace detail;
  if (x > -0.2928 && x < 0.4142 && x != 0.0) return log_sum_of(0.0, x, 0.0);
  if (x >= 0.4142 && x <= 0x1p1000) {
    double const sum = 1.0 + x;
    double const lost = x > 1.0 ? 1.0 - (sum - x) : x - (sum - 1.0);
    auto const [k, m] = split_binary(sum, 0.0);
    return log_sum_of(k, m - 1.0, lost / sum);
  }
  bit_pattern const size = bits_of(x) & ~sign_bit;
  bit_pattern const negative = mask_of_top(bits_of(x));
  // 1 + x = high + low = 2^k·(1 + f)·(1 + low/high); near 0 f = x itself.
  bit_pattern const large = mask_below(bits_of(1.0), size) & ~negative;
  double const larger = select(large, x, 1.0);
  double const smaller = select(large, 1.0, x);
  double const high = larger + smaller;
  double const low = smaller - (high - larger);
  auto const [k, m] = split_binary(high, 0.0);
  bit_pattern const close = mask_below(size, select(negative, bits_of(0.2928), bits_of(0.4142)));
  double const y =
      log_sum_of(select(close, 0.0, k), select(close, x, m - 1.0), select(close, 0.0, low / high));
  return select(mask_of_top(size - 1), x, log_or_limit(high, y));
}

}  // namespace elementary
}  // namespace tacit
