// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

/// The same functions in long double, whatever its format (53, 64 or 113 bits), with proven errors in units of
/// u = 2^−digits: docs/certificates/elementary.md, theorem 13. Of the C library only what is exact is called.
/// Float has the C library's functions.

namespace tacit {

namespace detail::long_functions {

inline constexpr int digits = std::numeric_limits<long double>::digits;
inline constexpr long double infinity = std::numeric_limits<long double>::infinity();

// log 2 and π/2: 36 bits, so that products with integers are exact; the next; the rest.
inline constexpr long double ln2_high = 0x1.62e42fefap-1L;
inline constexpr long double ln2_low = 1.64659495828970812809844307550013436025525412068e-12L;
inline constexpr long double quarter_1 = 0x1.921fb5444p0L;
inline constexpr long double quarter_2 = 0x1.68c234c4cp-39L;
inline constexpr long double quarter_3 = 1.05629990669874271124186809806080566041473501972665e-23L;
inline constexpr long double per_ln2 = 1.44269504088896340735992468100189213742664595415299L;
inline constexpr long double per_quarter = 0.63661977236758134307553505349005744813783858296183L;
inline constexpr long double eighth = 0.78539816339744830961566084581987572104929234984378L;  // π/4

// How many terms of a power series to take whose terms fall by so many bits each, or faster.
[[nodiscard]] constexpr std::size_t terms(double bits) {
  return (static_cast<std::size_t>((digits + 8) / bits) + 2) / 2 * 2;
}

template <std::size_t n, class Coefficient>
[[nodiscard]] constexpr std::array<long double, n> coefficients(Coefficient&& at) {
  std::array<long double, n> out{};
  for (std::size_t k = 0; k < n; ++k) out[k] = at(static_cast<long double>(k));
  return out;
}

// Σ c_k·x^k, even and odd powers apart: c_k passes at most 2k + 2 roundings.
template <std::size_t n>
[[nodiscard]] inline long double polynomial(std::array<long double, n> const& c, long double x) {
  static_assert(n % 2 == 0);
  long double const z = x * x;
  long double even = c[n - 2];
  long double odd = c[n - 1];
  for (std::size_t k = n - 2; k > 0; k -= 2) {
    even = even * z + c[k - 2];
    odd = odd * z + c[k - 1];
  }
  return even + x * odd;
}

// 1/n!
[[nodiscard]] constexpr long double inverse_factorial(long double n) {
  long double product = 1.0L;
  for (long double k = 2.0L; k <= n; k += 1.0L) product *= k;
  return 1.0L / product;
}

inline constexpr auto of_exp =
    coefficients<terms(4.6)>([](long double k) { return inverse_factorial(k + 1.0L); });
inline constexpr auto of_artanh =
    coefficients<terms(5.0)>([](long double k) { return 2.0L / (2.0L * k + 3.0L); });
inline constexpr auto of_sin =
    coefficients<terms(8.0)>([](long double k) { return inverse_factorial(2.0L * k + 3.0L); });
inline constexpr auto of_cos =
    coefficients<terms(8.0)>([](long double k) { return inverse_factorial(2.0L * k + 2.0L); });
inline constexpr auto of_atan =
    coefficients<terms(2.54)>([](long double k) { return 1.0L / (2.0L * k + 3.0L); });

// r·(1 + r/2! + r²/3! + …) = e^r − 1 for |r| ≤ 0.3467
[[nodiscard]] inline long double grown(long double r) { return r * polynomial(of_exp, r); }

// The nearest integer, for |x| ≤ 2^30.
[[nodiscard]] inline long double nearest(long double x) {
  constexpr long double to_integer = 0.75L / std::numeric_limits<long double>::epsilon() * 2.0L;
  return (x + to_integer) - to_integer;
}

struct split_exponent {
  int k;
  long double r;
};

// x = k·log 2 + r
[[nodiscard]] inline split_exponent split(long double x) {
  long double const k = nearest(x * per_ln2);
  return {static_cast<int>(k), (x - k * ln2_high) - k * ln2_low};
}

// k·log 2 + log(1 + f) + rest, for −0.2929 ≤ f ≤ 0.41422 and rest far below an ulp of the result: as in double.
[[nodiscard]] inline long double log_sum_of(long double k, long double f, long double rest) {
  long double const s = f / (2.0L + f);
  long double const z = s * s;
  long double const half = 0.5L * f * f;
  long double const tail = s * (half + z * polynomial(of_artanh, z)) - half;
  long double const high = k * ln2_high;
  long double const sum = high + f;
  long double const lost = (high - sum) + f;
  return sum + (lost + (rest + (k * ln2_low + tail)));
}

// log(x) + rest for a finite x > 0.
[[nodiscard]] inline long double log_of(long double x, long double rest) {
  int exponent = 0;
  long double m = std::frexp(x, &exponent);
  if (m < 0.7071068L) {
    m *= 2.0L;
    --exponent;
  }
  return log_sum_of(exponent, m - 1.0L, rest);
}

}  // namespace detail::long_functions

namespace elementary {

/// Guarantee: nearest; |error| ≤ 3u·e^x, and half the least number more where the result is subnormal.
[[nodiscard]] inline long double exp(long double x) {
  namespace wide = detail::long_functions;
  constexpr long double most = std::numeric_limits<long double>::max_exponent;
  if (!(x < most)) return x + wide::infinity;
  if (x < -1.5L * most) return 0.0L;
  auto const [k, r] = wide::split(x);
  return std::ldexp(1.0L + wide::grown(r), k);
}

/// Guarantee: nearest; |error| ≤ 8u·|e^x − 1|.
[[nodiscard]] inline long double expm1(long double x) {
  namespace wide = detail::long_functions;
  if (x != x) return x;
  if (x < -0.7L * (wide::digits + 2)) return -1.0L;
  if (x > 0.7L * (wide::digits + 2)) return exp(x);
  auto const [k, r] = wide::split(x);
  if (k == 0) return wide::grown(x);
  long double const power = std::ldexp(1.0L, k);
  return (power - 1.0L) + power * wide::grown(r);
}

/// Guarantee: nearest; |error| ≤ 3u·|log x|.
[[nodiscard]] inline long double log(long double x) {
  namespace wide = detail::long_functions;
  if (!(x > 0.0L)) {
    return x == 0.0L ? -wide::infinity : std::numeric_limits<long double>::quiet_NaN();
  }
  return x < wide::infinity ? wide::log_of(x, 0.0L) : x;
}

/// Guarantee: nearest; |error| ≤ 3u·|log(1 + x)|.
[[nodiscard]] inline long double log1p(long double x) {
  namespace wide = detail::long_functions;
  if (x > -0.2928L && x < 0.4142L) return wide::log_sum_of(0.0L, x, 0.0L);
  long double const sum = 1.0L + x;
  if (!(sum > 0.0L && sum < wide::infinity)) return log(sum);
  long double const lost = x > 1.0L ? 1.0L - (sum - x) : x - (sum - 1.0L);
  return wide::log_of(sum, lost / sum);
}

struct wide_sine_and_cosine {
  long double sin;
  long double cos;
};
/// sin x and cos x, for |x| ≤ 2^26, or 2^16 where there are 53 digits; NaN for any other x.
/// Guarantee: nearest; |error| ≤ 4u·|sin x| and 5u·|cos x|, and 2^−(digits + 40) more.
[[nodiscard]] inline wide_sine_and_cosine sin_cos(long double x) {
  namespace wide = detail::long_functions;
  constexpr long double most = wide::digits > 53 ? 0x1p26L : 0x1p16L;
  if (!(x <= most && x >= -most)) {
    constexpr long double nan = std::numeric_limits<long double>::quiet_NaN();
    return {nan, nan};
  }
  long double const k = wide::nearest(x * wide::per_quarter);
  long double const r = ((x - k * wide::quarter_1) - k * wide::quarter_2) - k * wide::quarter_3;
  long double const z = r * r;
  long double const s = r - r * z * wide::polynomial(wide::of_sin, -z);
  long double const c = 1.0L - z * wide::polynomial(wide::of_cos, -z);
  switch (static_cast<int>(k) & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}
[[nodiscard]] inline long double sin(long double x) { return sin_cos(x).sin; }
[[nodiscard]] inline long double cos(long double x) { return sin_cos(x).cos; }
[[nodiscard]] inline wide_sine_and_cosine sin_cos_far(long double x) { return sin_cos(x); }

/// Guarantee: nearest; |error| ≤ 7u·|angle|, for |x|, |y| with no overflow in a sum or underflow in a quotient.
[[nodiscard]] inline long double atan2(long double y, long double x) {
  namespace wide = detail::long_functions;
  long double const across = std::fabs(x);
  long double const up = std::fabs(y);
  bool const steep = up > across;
  long double const high = steep ? up : across;
  long double const low = steep ? across : up;
  long double const ratio = high == 0.0L ? 0.0L : low / high;
  bool const middle = ratio > 0.41421L;
  long double const t = middle ? (low - high) / (low + high) : ratio;
  long double const z = t * t;
  long double const arc = t - t * z * wide::polynomial(wide::of_atan, -z);
  int eighths = middle ? 1 : 0;
  bool falls = false;
  if (steep) {
    eighths = 2 - eighths;
    falls = !falls;
  }
  if (std::signbit(x)) {
    eighths = 4 - eighths;
    falls = !falls;
  }
  long double const part = falls ? -arc : arc;
  return std::copysign(
      eighths == 0 ? part : static_cast<long double>(eighths) * wide::eighth + part, y);
}

/// Guarantee: nearest; |error| ≤ 10u·|sinh x|.
[[nodiscard]] inline long double sinh(long double x) {
  long double const e = expm1(std::fabs(x));
  return std::copysign(e < 0x1p120L ? 0.5L * (e + e / (1.0L + e)) : 0.5L * e, x);
}

/// Guarantee: nearest; |error| ≤ 6u·cosh x.
[[nodiscard]] inline long double cosh(long double x) {
  long double const e = exp(std::fabs(x));
  return 0.5L * (e + 1.0L / e);
}

// Float: as the C library has them.
[[nodiscard]] inline float exp(float x) { return std::exp(x); }
[[nodiscard]] inline float expm1(float x) { return std::expm1(x); }
[[nodiscard]] inline float log(float x) { return std::log(x); }
[[nodiscard]] inline float log1p(float x) { return std::log1p(x); }
[[nodiscard]] inline float sinh(float x) { return std::sinh(x); }

}  // namespace elementary
}  // namespace tacit
