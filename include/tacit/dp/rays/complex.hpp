// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>

#include <cmath>
#include <limits>

/// Elementary functions of complex numbers, with their rounding.

namespace tacit::detail::rays {

/// Of exponents in bounds: their rounding, a few units of them, stays below the 1e-9 that each bound carries. What
/// has a larger one is refused.
inline constexpr double most_exponent = 1e6;

template <class R>
inline constexpr R unit = std::numeric_limits<R>::epsilon() / 2;

/// |z| to 2u, for 1e-150 ≤ |z| ≤ 1e150: 0 below, or ∞ above.
template <class R>
[[nodiscard]] inline R modulus(complex<R> const& z) {
  return std::sqrt(z.re * z.re + z.im * z.im);
}

template <class R>
[[nodiscard]] inline complex<R> polar(R radius, R angle) {
  auto const [sine, cosine] = elementary::sin_cos_far(angle);
  return {radius * cosine, radius * sine};
}

template <class R>
[[nodiscard]] inline complex<R> exp(complex<R> const& z) {
  R const size = elementary::exp(z.re);
  return size == 0 ? complex<R>{} : polar(size, z.im);
}

template <class R>
[[nodiscard]] inline complex<R> log(complex<R> const& z) {
  return {elementary::log(modulus(z)), elementary::atan2(z.im, z.re)};
}

/// e^z − 1, relatively accurate: with e = e^x − 1 and c = cos y − 1 = −2 sin²(y/2), e + c + e·c and (1+e) sin y,
/// where sin y = 2 sin(y/2)cos(y/2) and |e^z − 1|² = e² + 2(1+e)|c|.
template <class R>
[[nodiscard]] inline complex<R> expm1(complex<R> const& z) {
  R const e = elementary::expm1(z.re);
  auto const [sine, cosine] = elementary::sin_cos_far(z.im / 2);
  R const c = -2 * sine * sine;
  return {e + c + e * c, (1 + e) * (2 * sine * cosine)};
}

/// The same, where about |z| is known: below 1e-3 by its series, which errs by less than 10u|z|.
[[nodiscard]] inline complex<double> expm1(complex<double> const& z, double size) {
  if (size == 0.0) return {};
  if (!(size < 1e-3)) return expm1(z);
  complex<double> sum{1.0, 0.0};
  for (double const k : {6.0, 5.0, 4.0, 3.0, 2.0}) sum = 1.0 + (1.0 / k) * (z * sum);
  return z * sum;
}

/// 1 − e^z for Re z ≤ 0 and |arg(−z)| ≤ .6, relatively accurate: 17u.
template <class R>
[[nodiscard]] inline complex<R> one_minus_exp(complex<R> const& z) {
  return modulus(z) < 1 ? -expm1(z) : 1 - exp(z);
}

/// log(1 + z), principal, relatively accurate.
template <class R>
[[nodiscard]] inline complex<R> log1p(complex<R> const& z) {
  R const square = 2 * z.re + (z.re * z.re + z.im * z.im);
  return {square > -0.5 ? elementary::log1p(square) / 2
                        : elementary::log(modulus(complex<R>{1 + z.re, z.im})),
          elementary::atan2(z.im, 1 + z.re)};
}

}  // namespace tacit::detail::rays
