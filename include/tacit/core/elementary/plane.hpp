// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary/circular.hpp>
#include <tacit/core/elementary/parts.hpp>

#include <cmath>
#include <limits>

/// Angles and distances in the plane, in double, with proven errors: docs/certificates/elementary.md, theorems 7,
/// 10 and 11.

namespace tacit {

namespace detail {

/// x − 4mπ/2 for an integer m, as high + low: 2^20 ≤ |x| ≤ 2^40.
struct turned_back {
  double high;
  double low;
};

[[nodiscard]] inline turned_back turn_back(double x) {
  constexpr double per_quarter = 0x1.45f306dc9c883p-1;
  constexpr double quarter_1 = 0x1.921fb544p0;
  constexpr double quarter_2 = 0x1.0b4611a6p-34;
  constexpr double quarter_3 = 0x1.3198a2ep-69;
  constexpr double to_integer = 0x1.8p52;
  constexpr double many = 0x1p20;
  double const shifted = product(x, per_quarter / many) + to_integer;
  double const k = (shifted - to_integer) * many;
  double const left = x - k * quarter_1;
  double const second = k * quarter_2;
  double const high = left - second;
  return {high, ((left - high) - second) - k * quarter_3};
}

/// atan r for |r| ≤ 0.41422.
[[nodiscard]] inline double atan_near_zero(double r) {
  constexpr double c[] = {
      -0x1.5555555555555p-2, 0x1.9999999999815p-3, -0x1.2492492481cbep-3, 0x1.c71c71bca8eaep-4,
      -0x1.745d15680755dp-4, 0x1.3b137c24039a4p-4, -0x1.110d2f18fae6ep-4, 0x1.e17f3cbf9df6ap-5,
      -0x1.abcc3d9626568p-5, 0x1.72169dc0d275bp-5, -0x1.14bd80d242c1ep-5, 0x1.fb81f78c3d1dap-7,
  };
  double const z = product(r, r);
  double p = c[11];
  for (int k = 11; k-- > 0;) p = c[k] + product(p, z);
  return r + product(product(r, z), p);
}

}  // namespace detail

namespace elementary {

/// sin x and cos x, for |x| ≤ 2^40; NaN for any other x.
/// Guarantee: nearest; as of sin_cos for |x| ≤ 2^20, else |error| ≤ 3·2⁻⁵³.
[[nodiscard]] inline sine_and_cosine sin_cos_far(double x) {
  if (!(x > 0x1p20 || x < -0x1p20)) return sin_cos(x);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (!(x <= 0x1p40 && x >= -0x1p40)) return {nan, nan};
  auto const rest = detail::turn_back(x);
  sine_and_cosine const at = sin_cos(rest.high);
  return {at.sin + rest.low * at.cos, at.cos - rest.low * at.sin};
}

/// The angle of the point (x, y), in [−π, π], and its sign y's, a zero's as well; 0 or π for (0, 0), NaN for NaN.
/// Guarantee: nearest; |error| ≤ 6.5·2⁻⁵³·|angle|, and 2⁻¹⁰⁷⁴ more where the angle is subnormal, for |x|, |y| ≤
/// 2^1000.
[[nodiscard]] inline double atan2(double y, double x) {
  // The angle is from + from_low ± atan r.
  constexpr double quarter = 0x1.921fb54442d18p-1;  // π/4
  constexpr double quarter_low = 0x1.1a62633145c07p-55;
  double const across = std::fabs(x);
  double const up = std::fabs(y);
  bool const steep = up > across;
  double const high = steep ? up : across;
  double const low = steep ? across : up;
  double const ratio = high == 0.0 ? 0.0 : low / high;
  bool const middle = ratio > 0.41421;
  double const t = detail::atan_near_zero(middle ? (low - high) / (low + high) : ratio);
  bool const back = std::signbit(x);
  // Multiples of π/4: 1 in the middle, mirrored at 2 where steep, and at 4 where x is negative.
  int quarters = middle ? 1 : 0;
  bool falls = false;
  if (steep) {
    quarters = 2 - quarters;
    falls = !falls;
  }
  if (back) {
    quarters = 4 - quarters;
    falls = !falls;
  }
  double const part = falls ? -t : t;
  double const angle =
      quarters == 0 ? part
                    : quarters * quarter + (static_cast<double>(quarters) * quarter_low + part);
  return std::copysign(angle, y);
}

/// √(x² + y²), also where a square overflows or vanishes; NaN for NaN.
/// Guarantee: nearest; |error| ≤ 2.01·2⁻⁵³·√(x² + y²), and 2⁻¹⁰⁷⁴ more where it is subnormal.
[[nodiscard]] inline double hypot(double x, double y) {
  double const most = std::fabs(x) > std::fabs(y) ? std::fabs(x) : std::fabs(y);
  double const scale = most > 0x1p500 ? 0x1p-600 : most < 0x1p-400 ? 0x1p600 : 1.0;
  double const a = x * scale;
  double const b = y * scale;
  return std::sqrt(a * a + b * b) / scale;
}

}  // namespace elementary
}  // namespace tacit
