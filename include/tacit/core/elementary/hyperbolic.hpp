// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary/exponential.hpp>

#include <cmath>

/// sinh x and cosh x in double with proven errors: docs/certificates/elementary.md, theorem 12.

namespace tacit::elementary {

/// sinh x, also near 0, and with the sign of a zero; ±∞ from where e^|x| overflows, NaN for NaN.
/// Guarantee: nearest; |error| ≤ 5·2⁻⁵³·|sinh x|, and 2⁻¹⁰⁷⁴ more where the result is subnormal.
[[nodiscard]] inline double sinh(double x) {
  double const e = expm1(std::fabs(x));
  double const size = e <= 0x1p60 ? 0.5 * (e + e / (1.0 + e)) : 0.5 * e;
  return std::copysign(size, x);
}

/// cosh x; +∞ from where e^|x| overflows, NaN for NaN.
/// Guarantee: nearest; |error| ≤ 4·2⁻⁵³·cosh x.
[[nodiscard]] inline double cosh(double x) {
  double const e = exp(std::fabs(x));
  return 0.5 * (e + 1.0 / e);
}

}  // namespace tacit::elementary
