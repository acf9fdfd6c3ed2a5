// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>
#include <tacit/core/bit_cast.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

/// Directed rounding without the rounding mode.
///
/// `add_up(a, b)` is the smallest double that is not below a + b, `add_down` the largest that is not
/// above it, and so on for −, ×, ÷ and √: for all finite doubles, subnormal ones and overflow
/// included, also where the compiler fuses products into sums. What is assumed of the arithmetic, and
/// the proofs, are in docs/certificates/rounding.md; the lemmas named below are those of that note.

namespace tacit::detail {

inline constexpr double largest_double = std::numeric_limits<double>::max();
inline constexpr double infinite_double = std::numeric_limits<double>::infinity();

/// The next double above x; of −0 too that is the least positive one. +∞ and NaN stay.
[[nodiscard]] constexpr double next_up(double x) noexcept {
  if (!(x < infinite_double)) return x;
  if (x == 0.0) return std::numeric_limits<double>::denorm_min();
  auto const bits = bit_cast<std::uint64_t>(x);
  return bit_cast<double>(x > 0.0 ? bits + 1 : bits - 1);
}
[[nodiscard]] constexpr double next_down(double x) noexcept { return -next_up(-x); }

/// The `steps`-th double above or below x.
[[nodiscard]] constexpr double next_up(double x, int steps) noexcept {
  for (int k = 0; k < steps; ++k) x = next_up(x);
  return x;
}
[[nodiscard]] constexpr double next_down(double x, int steps) noexcept {
  return -next_up(-x, steps);
}

/// x, hidden from the compiler: `-ffp-contract=fast` would otherwise fuse the product that x may be
/// into the sums that use it, some of them or all, and a residual would belong to another sum.
[[nodiscard]] inline double settled(double x) noexcept {
#if defined(__GNUC__) && defined(__SSE2_MATH__)
  __asm__("" : "+x"(x));
  return x;
#elif defined(__GNUC__) && defined(__aarch64__)
  __asm__("" : "+w"(x));
  return x;
#else
  double const volatile kept = x;
  return kept;
#endif
}

// What an operation rounds to where it overflows: towards 0 no further than the largest double. ±∞
// from an infinite operand, and NaN, stay.
[[nodiscard]] inline double overflowed_up(double result, bool finite_operands) noexcept {
  return finite_operands && result == -infinite_double ? -largest_double : result;
}
[[nodiscard]] inline bool is_finite(double x) noexcept { return std::abs(x) <= largest_double; }

/// a + b − sum, exactly, where sum is a + b rounded and finite (Lemma 1).
[[nodiscard]] inline double sum_error(double a, double b, double sum) noexcept {
  bool const ordered = std::abs(a) >= std::abs(b);
  double const large = ordered ? a : b;
  double const lesser = ordered ? b : a;
  return lesser - (sum - large);
}

/// a + b rounded up: ≥ the exact sum, and equal to it where the sum is a double.
[[nodiscard]] inline double add_up(double a, double b) noexcept {
  a = settled(a);
  b = settled(b);
  double const sum = a + b;
  if (!is_finite(sum)) return overflowed_up(sum, is_finite(a) && is_finite(b));
  return sum_error(a, b, sum) > 0.0 ? next_up(sum) : sum;
}
// A zero is +0, whose reciprocal is +∞: 0 − add_up, not its negative.
[[nodiscard]] inline double add_down(double a, double b) noexcept { return 0.0 - add_up(-a, -b); }
[[nodiscard]] inline double subtract_up(double a, double b) noexcept { return add_up(a, -b); }
[[nodiscard]] inline double subtract_down(double a, double b) noexcept {
  return 0.0 - add_up(-a, b);
}

// Below this the residual of a product or a quotient may underflow (Lemma 2).
inline constexpr double sure_residual = 0x1p-960;

/// A number with the sign of a·b − product, where product is a·b rounded and finite.
[[nodiscard]] inline double product_error(double a, double b, double product) noexcept {
  if (std::abs(product) > sure_residual) return std::fma(a, b, -product);
  if (a == 0.0 || b == 0.0) return 0.0;
  int power_of_a = 0;
  int power_of_b = 0;
  double const x = std::frexp(a, &power_of_a);
  double const y = std::frexp(b, &power_of_b);
  return std::fma(x, y, -std::ldexp(product, -(power_of_a + power_of_b)));
}

/// a·b rounded up.
[[nodiscard]] inline double multiply_up(double a, double b) noexcept {
  double const product = settled(a * b);
  if (!is_finite(product)) return overflowed_up(product, is_finite(a) && is_finite(b));
  return product_error(a, b, product) > 0.0 ? next_up(product) : product;
}
[[nodiscard]] inline double multiply_down(double a, double b) noexcept {
  return -multiply_up(-a, b);
}

/// A number with the sign of a − quotient·b, where quotient is a/b rounded and finite.
[[nodiscard]] inline double quotient_residual(double a, double b, double quotient) noexcept {
  if (std::abs(a) > sure_residual) return std::fma(-quotient, b, a);
  if (a == 0.0) return 0.0;
  int power_of_a = 0;
  int power_of_b = 0;
  double const x = std::frexp(a, &power_of_a);
  double const y = std::frexp(b, &power_of_b);
  return std::fma(-std::ldexp(quotient, power_of_b - power_of_a), y, x);
}

/// a/b rounded up, for b ≠ 0. A finite number over ±∞ is 0.
[[nodiscard]] inline double divide_up(double a, double b) noexcept {
  double const quotient = settled(a / b);
  if (!is_finite(quotient)) return overflowed_up(quotient, is_finite(a) && b != 0.0);
  if (!is_finite(b)) return quotient;
  double const residual = quotient_residual(a, b, quotient);
  return (b > 0.0 ? residual > 0.0 : residual < 0.0) ? next_up(quotient) : quotient;
}
[[nodiscard]] inline double divide_down(double a, double b) noexcept { return -divide_up(-a, b); }

/// A number with the sign of x − root², where root is √x rounded and x positive and finite.
[[nodiscard]] inline double root_residual(double x, double root) noexcept {
  if (x > sure_residual) return std::fma(-root, root, x);
  double const scaled = root * 0x1p100;
  return std::fma(-scaled, scaled, x * 0x1p200);
}

/// √x rounded up, for x ≥ 0.
[[nodiscard]] inline double sqrt_up(double x) noexcept {
  double const root = settled(std::sqrt(x));
  if (!(x > 0.0) || !is_finite(x)) return root;
  return root_residual(x, root) > 0.0 ? next_up(root) : root;
}
[[nodiscard]] inline double sqrt_down(double x) noexcept {
  double const root = settled(std::sqrt(x));
  if (!(x > 0.0) || !is_finite(x)) return root;
  return root_residual(x, root) < 0.0 ? next_down(root) : root;
}

/// A count as a double, rounded.
[[nodiscard]] inline double count_down(std::uint64_t n) noexcept {
  double const x = static_cast<double>(n);
  return x < 0x1p64 && static_cast<std::uint64_t>(x) <= n ? x : next_down(x);
}
[[nodiscard]] inline double count_up(std::uint64_t n) noexcept {
  double const x = static_cast<double>(n);
  return x >= 0x1p64 || static_cast<std::uint64_t>(x) >= n ? x : next_up(x);
}

}  // namespace tacit::detail
