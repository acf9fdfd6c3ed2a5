// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary/exponential.hpp>

#include <cstddef>

/// erfc x in double with a proven error: docs/certificates/elementary.md, theorem 8.

namespace tacit {

namespace detail {

/// (1 + 2x)·e^{x²}·erfc x for 0 ≤ x ≤ 28, as a polynomial in t = (x − 2)/(x + 2).
[[nodiscard]] inline double scaled_erfc(double x) {
  constexpr double even[] = {
      0x1.46e80e2277953p0,    -0x1.5407bebf32483p-3,  -0x1.bc2b956194328p-5,  0x1.1dd2ec8eae0e4p-7,
      -0x1.7de5201325511p-10, 0x1.b0c847d6b639bp-13,  -0x1.9481242cf1fa8p-20, -0x1.c52087676cb6p-17,
      0x1.608892829e7d5p-18,  -0x1.9061c1bcf4d8ep-21, -0x1.bc3292e4a2ed6p-23, 0x1.0bf68da83e759p-23,
      -0x1.55cdda0fcfe14p-26, -0x1.9f22411fb2f3fp-32,
  };
  constexpr double odd[] = {
      -0x1.7bf5ec1700634p-4,  0x1.4ffa1e14e282ep-3,   -0x1.0742340493703p-7,  0x1.4d461d35500dp-10,
      -0x1.dc69339032b56p-12, 0x1.3cc0b22f2c94dp-13,  -0x1.318ca3bda035bp-15, 0x1.f241799e13dafp-19,
      0x1.93eb14928dbbep-20,  -0x1.c4e45d14bc011p-21, 0x1.4e58e02bae781p-23,  0x1.4a9d17d5408e3p-27,
      -0x1.d327dc7c46367p-28,
  };
  double const t = (x - 2.0) / (x + 2.0);
  double const z = product(t, t);
  double sum_even = even[13];
  for (std::size_t k = 13; k-- > 0;) sum_even = even[k] + product(sum_even, z);
  double sum_odd = odd[12];
  for (std::size_t k = 12; k-- > 0;) sum_odd = odd[k] + product(sum_odd, z);
  return sum_even + product(t, sum_odd);
}

}  // namespace detail

namespace elementary {

/// erfc x = 1 − erf x; NaN for NaN.
/// Guarantee: nearest; |error| ≤ 17.2·2⁻⁵³·erfc x, and 2⁻¹⁰⁷³ more where the result is subnormal.
[[nodiscard]] inline double erfc(double x) {
  using namespace detail;
  bit_pattern const negative = mask_of_top(bits_of(x));
  bit_pattern const size = bits_of(x) & ~sign_bit;
  double const y = from_bits(select(mask_below(size, bits_of(28.0)), size, bits_of(28.0)));
  // y² = high² + rest, where high² is exact.
  double const high = from_bits(bits_of(y) & ~bit_pattern{0x7FFFFFF});
  double const rest = product(y - high, y + high);
  double const bell = exp(-(high * high)) * exp(-rest);
  double const tail = product(bell, scaled_erfc(y) / (1.0 + 2.0 * y));
  return unless_nan(x, select(negative, 2.0 - tail, tail));
}

}  // namespace elementary
}  // namespace tacit
