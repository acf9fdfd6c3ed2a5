// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/quadrature.hpp>
#include <tacit/core/real.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

/// The standard normal law without cancellation: the Mills ratio, tails, their logarithms and
/// inverses.
///
/// All of it rests on one quadrature. With R(x) = (1−Φ(x))/φ(x) the Mills ratio,
///   R(x) = √(2/π) ∫₀^∞ x/(x²+t²) e^{−t²/2} dt,
/// and the midpoint rule of step h with the residues of its poles ±ix added gives (Hunter & Regan
/// 1972), with t_k = (k+½)h and κ = 2π/h,
///   R(x) = (2h/√2π) Σ_k x/(x²+t_k²)·e^{−t_k²/2} + √2π e^{x²/2}/(1+e^{κx})
/// up to e^{−κ²/2}. In a difference R(b) − R(c) the sums and the poles are subtracted term by term and
/// in closed form, so that it is a multiple of c − b before anything is rounded: in modulus the terms
/// add up to 13 times the result at the most. For |x| near κ the pole is as small as the error of the
/// rule, and may be left in or out.

namespace tacit {

namespace detail {

/// What docs/certificates/gaussian.md counts for exp, expm1, log and log1p in double, relatively, in units of
/// 2⁻⁵³; the library's own err by 2.76 at most (docs/certificates/elementary.md).
inline constexpr double function_units = 4.0;

/// The midpoint rule that serves a working precision. κ²/2 leaves a factor e^16 to the precision,
/// so that the pole may be switched off anywhere within 3 of κ.
template <real T>
struct tail_rule {
  static constexpr std::size_t nodes =
      static_cast<std::size_t>((quadrature_range<T> + 9.5) / 6.283185307179586) * 2 + 2;

  T pole;  // κ
  std::array<T, nodes> square;
  std::array<T, nodes> weight;

  tail_rule() : pole(T(std::sqrt(2.0 * (quadrature_range<T> + 16.0)))), square(), weight() {
    using elementary::exp;
    T const step = constants::two_pi<T>() / pole;
    T const measure = 2 * step / constants::root_two_pi<T>();
    for (std::size_t k = 0; k < nodes; ++k) {
      T const t = step * T(static_cast<double>(k) + 0.5);
      square[k] = t * t;
      weight[k] = measure * exp(-square[k] / 2);
    }
  }

  [[nodiscard]] static tail_rule const& get() {
    static tail_rule const rule;
    return rule;
  }

  /// Σ weight·term(t²), in two sums that run beside each other.
  template <class Term>
  [[nodiscard]] T sum(Term&& term) const {
    T sums[2] = {0, 0};
    for (std::size_t k = 0; k < nodes; k += 2) {
      for (std::size_t j = 0; j < 2; ++j) {
        sums[j] = sums[j] + weight[k + j] * term(square[k + j]);
      }
    }
    return sums[0] + sums[1];
  }
};

/// e^{−x²/2} is 0 beyond this, in T.
template <real T>
[[nodiscard]] T tail_limit() {
  using limits = std::numeric_limits<T>;
  double const bits =
      static_cast<double>(limits::digits) - static_cast<double>(limits::min_exponent);
  return T(std::sqrt(2.0 * 0.6931471805599453 * (bits + 2.0)));
}

/// A number in two parts, where one of them would not carry enough digits into an exponent.
template <real T>
struct two_part {
  T high;
  T low;
};

/// −x²/2 in two parts.
template <real T>
[[nodiscard]] two_part<T> half_square(two_part<T> const& x) {
  T const square = x.high * x.high;
  if constexpr (std::is_floating_point_v<T>) {
    return {-square / 2, -(std::fma(x.high, x.high, -square) + 2 * (x.high * x.low)) / 2};
  } else {
    return {-square / 2, 0};
  }
}

/// e^{−x²/2}, to a few ulp also where x²/2 is in the hundreds.
template <real T>
[[nodiscard]] T bell(two_part<T> const& x) {
  using elementary::exp;
  two_part<T> const exponent = half_square(x);
  return exp(exponent.high) * (1 + exponent.low);
}

}  // namespace detail

/// The Mills ratio R(x) = (1−Φ(x))/φ(x) of the standard normal, for any x; +∞ where it overflows
/// (x < −37 in double).
/// Guarantee: nearest; relative error ≤ 1e-14 in double for x ≥ −1, and (1+x²)·1e-15 below.
template <real T>
[[nodiscard]] T mills_ratio(T const& x) {
  using elementary::exp;
  if (x < 0) {
    T const whole = detail::constants::root_two_pi<T>() * exp(x * x / 2);
    return whole - mills_ratio(-x);
  }
  if (x > 1 / std::numeric_limits<T>::epsilon()) return 1 / x;
  auto const& rule = detail::tail_rule<T>::get();
  T const square = x * x;
  T const sum = x * rule.sum([&](T const& t) -> T { return 1 / (square + t); });
  if (!(x < rule.pole)) return sum;
  T const pole = exp(square / 2) / (1 + exp(rule.pole * x));
  return sum + detail::constants::root_two_pi<T>() * pole;
}

/// 1 − Φ(x), the upper tail of the standard normal; Φ(x) is normal_tail(−x).
/// Guarantee: nearest; relative error ≤ 2e-14 in double where the value is ≥ 1e-300.
template <real T>
[[nodiscard]] T normal_tail(T const& x) {
  if (x < 0) return 1 - normal_tail(-x);
  if (x > detail::tail_limit<T>()) return 0;
  T const density = detail::bell<T>({x, 0}) / detail::constants::root_two_pi<T>();
  return density * mills_ratio(x);
}

namespace detail {

/// The same for a double, by the library's erfc: ½erfc(x/√2).
[[nodiscard]] inline double tail_by_erfc(double x) {
  return 0.5 * elementary::erfc(x * 0.70710678118654752440);
}

}  // namespace detail

/// log(1 − Φ(x)), also where 1 − Φ(x) itself underflows.
/// Guarantee: nearest; relative error ≤ 2e-14 in double.
template <real T>
[[nodiscard]] T log_normal_tail(T const& x) {
  using elementary::log, elementary::log1p;
  if (x < -1) return log1p(-normal_tail(-x));
  return -x * x / 2 + log(mills_ratio(x) / detail::constants::root_two_pi<T>());
}

/// The x with log(1 − Φ(x)) = log_probability, for any value ≤ 0, −1e300 as well: Newton's method
/// from the right, monotone because log(1−Φ) is concave.
/// Guarantee: nearest; relative error ≤ 1e-14 in double where |x| ≥ 1, absolute 1e-14 else.
/// @throws std::domain_error unless log_probability ≤ 0
template <real T>
[[nodiscard]] T log_normal_tail_inverse(T const& log_probability) {
  using std::sqrt;
  detail::require_domain(log_probability <= 0, "log_normal_tail_inverse", "log_probability",
                         log_probability, "at most 0");
  T const infinity = std::numeric_limits<T>::infinity();
  if (log_probability == 0) return -infinity;
  if (log_probability == -infinity) return infinity;
  if (log_probability > -detail::constants::ln_two<T>()) {
    return -log_normal_tail_inverse(log1m_exp(log_probability));
  }
  T x = sqrt(-2 * log_probability);
  for (int step = 0; step < 60; ++step) {
    T const move = (log_normal_tail(x) - log_probability) * mills_ratio(x);
    x = x + move;
    // Steps of 1e-9 leave an error of 1e-18; more precise types take one or two steps more.
    if (!(move * move > std::numeric_limits<T>::epsilon() / 16)) break;
  }
  return x;
}

namespace detail {

/// R(b) − R(c) = smooth + √2π·e^{b²/2}·pole, so that φ(b)·[R(b) − R(c)] = φ(b)·smooth + pole.
template <real T>
struct mills_difference {
  T smooth;
  T pole;
};

/// For b > −1, c = b + gap and half_difference = (c² − b²)/2, which the caller has more
/// accurately than b and c give it.
template <real T>
[[nodiscard]] mills_difference<T> difference_of_mills(T const& b, T const& c, T const& gap,
                                                      T const& half_difference) {
  using elementary::exp, elementary::expm1;
  T const unit = std::numeric_limits<T>::epsilon();
  if (b > 1 / unit) return {gap / c / b, 0};  // R(x) = 1/x there
  auto const& rule = tail_rule<T>::get();
  // Beyond 1/ε² R(c) is nothing beside R(b); its square would overflow.
  T const most = 1 / (unit * unit);
  T const end = c < most ? c : most;
  T const width = gap < most ? gap : most;
  T const product = b * end;
  T const b_square = b * b;
  T const c_square = end * end;
  T const smooth = width * rule.sum([&](T const& t) -> T {
    return (product - t) / ((b_square + t) * (c_square + t));
  });
  if (!(b < rule.pole - 3)) return {smooth, 0};
  // 1/(1+e^{κb}) − e^{(c²−b²)/2}/(1+e^{κc}), over the common denominator.
  T const at_b = exp(rule.pole * b);
  if (!(c < rule.pole + 2)) return {smooth, 1 / (1 + at_b)};
  T const rise = expm1(rule.pole * gap);
  T const above = at_b * rise - (1 + at_b) * expm1(half_difference);
  T const at_c = at_b * (1 + rise);
  return {smooth, above / ((1 + at_b) * (1 + at_c))};
}

/// 2Φ(x) − 1 = 2φ(x)·(x + x³/3 + x⁵/(3·5) + …) for 0 ≤ x < 1; all terms are positive.
/// Guarantee: nearest; relative error ≤ 16u in double where x ≥ 1e-290 (docs/certificates/gaussian.md, Lemma 7).
template <real T>
[[nodiscard]] T normal_centre(T const& x) {
  T const square = x * x;
  T sum = 1;  // 1 + x²/3·(1 + x²/5·(1 + …)), without what is far below a rounding
  for (int k = std::numeric_limits<T>::digits / 4 + 8; k >= 1; --k) {
    sum = 1 + square / (2 * k + 1) * sum;
  }
  return 2 * x * bell<T>({x, 0}) / constants::root_two_pi<T>() * sum;
}

/// The x with 2Φ(x) − 1 = aim for 0 ≤ aim ≤ ½: Newton's method, which keeps the digits of an x near 0.
template <real T>
[[nodiscard]] T normal_centre_inverse(T const& aim) {
  using elementary::exp;
  T const half_root = constants::root_two_pi<T>() / 2;  // 1/(2φ(0))
  T x = aim * half_root;
  for (int step = 0; step < 60; ++step) {  // from the left, monotone: 2Φ − 1 is concave
    T const move = (aim - normal_centre(x)) * half_root * exp(x * x / 2);
    x = x + move;
    if (!(move * move > x * x * (std::numeric_limits<T>::epsilon() / 16))) break;
  }
  return x;
}

}  // namespace detail

/// The x with 1 − Φ(x) = probability: by log(1−Φ), or from p = ¼ to ¾ by 2Φ(x) − 1.
/// Guarantee: nearest; relative error ≤ 4e-14 in double, also of an x near 0. 0 gives +∞, 1 gives
/// −∞.
/// @throws std::domain_error unless probability is in [0, 1]
template <real T>
[[nodiscard]] T normal_tail_inverse(T const& probability) {
  using elementary::log;
  detail::check_probability("normal_tail_inverse", "probability", probability);
  if (probability == 1) return -std::numeric_limits<T>::infinity();
  if (probability > 0.5) return -normal_tail_inverse(1 - probability);
  return probability < 0.25 ? log_normal_tail_inverse(log(probability))
                            : detail::normal_centre_inverse(1 - 2 * probability);
}

}  // namespace tacit
