// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary/parts.hpp>

#include <limits>

/// sin x and cos x in double with a proven error: docs/certificates/elementary.md, theorem 6.

namespace tacit {

namespace detail {

/// x = quadrant·π/2 + high + low, |high| ≤ 0.7855.
struct reduced_angle {
  double high;
  double low;
  bit_pattern quadrant;  // in two's complement
};

/// For |x| ≤ 2^20. Three parts of π/2 have 33 bits at most, so that k times each of them is exact.
[[nodiscard]] inline reduced_angle reduce_angle(double x) {
  constexpr double per_quarter = 0x1.45f306dc9c883p-1;
  constexpr double quarter_1 = 0x1.921fb544p0;
  constexpr double quarter_2 = 0x1.0b4611a6p-34;
  constexpr double quarter_3 = 0x1.3198a2ep-69;
  constexpr double quarter_4 = 0x1.b839a252049c1p-104;
  constexpr double to_integer = 0x1.8p52;
  double const shifted = product(x, per_quarter) + to_integer;
  double const k = shifted - to_integer;
  double const left = x - k * quarter_1;
  double const second = k * quarter_2;
  double const middle = left - second;
  double const middle_low = (left - middle) - second;
  double const third = k * quarter_3;
  double const high = middle - third;
  double const high_low = (middle - high) - third;
  return {high, (middle_low + high_low) - product(k, quarter_4),
          bits_of(shifted) - bits_of(to_integer)};
}

struct sine_and_cosine {
  double sin;
  double cos;
};

/// Of high + low.
[[nodiscard]] inline sine_and_cosine sin_cos_near_zero(double r, double low) {
  double const z = product(r, r);
  double const zz = product(z, z);
  double const s1 = -0x1.5555555555548p-3 + product(z, 0x1.111111110f75dp-7);
  double const s3 = -0x1.a01a019bf222ep-13 + product(z, 0x1.71de355f05599p-19);
  double const s5 = -0x1.ae5e5471f55p-26 + product(z, 0x1.5d8e3511cda68p-33);
  double const s = s1 + product(zz, s3 + product(zz, s5));
  double const c2 = 0x1.5555555555555p-5 + product(z, -0x1.6c16c16c168ccp-10);
  double const c4 = 0x1.a01a019f38aefp-16 + product(z, -0x1.27e4fa036bb96p-22);
  double const c6 = 0x1.1eeb584e9e603p-29 + product(z, -0x1.9073d2994cf12p-37);
  double const c = c2 + product(zz, c4 + product(zz, c6));
  double const half = 0.5 * z;
  double const w = 1.0 - half;
  double const lost = (1.0 - w) - half;
  return {r + (product(low, w) + product(product(r, z), s)),
          w + (lost + (product(zz, c) - product(r, low)))};
}

}  // namespace detail

namespace elementary {

using detail::sine_and_cosine;

/// sin x and cos x, for |x| ≤ 2^20; NaN for any other x.
/// Guarantee: nearest; |error| ≤ 1.8·2⁻⁵³·|sin x| and 1.8·2⁻⁵³·|cos x|.
[[nodiscard]] inline sine_and_cosine sin_cos(double x) {
  using namespace detail;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  auto const t = reduce_angle(x);
  auto const reduced = sin_cos_near_zero(t.high, t.low);
  bit_pattern const odd = bit_pattern{0} - (t.quadrant & 1);
  bit_pattern const sin_sign = (t.quadrant & 2) << 62;
  bit_pattern const cos_sign = ((t.quadrant + 1) & 2) << 62;
  double const s = from_bits(select(odd, bits_of(reduced.cos), bits_of(reduced.sin)) ^ sin_sign);
  double const c = from_bits(select(odd, bits_of(reduced.sin), bits_of(reduced.cos)) ^ cos_sign);
  bit_pattern const size = bits_of(x) & ~sign_bit;
  bit_pattern const refused = mask_below(bits_of(0x1p20), size);
  return {select(refused, nan, select(mask_of_top(size - 1), x, s)), select(refused, nan, c)};
}

/// For |x| ≤ 2^20; NaN for any other x.
/// Guarantee: as of sin_cos.
[[nodiscard]] inline double sin(double x) { return sin_cos(x).sin; }

[[nodiscard]] inline double cos(double x) { return sin_cos(x).cos; }

}  // namespace elementary
}  // namespace tacit
