// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <limits>
#include <numbers>
#include <type_traits>

/// Logarithms without cancellation: sums in log space, and the two residuals of log(1+u) from which every
/// divergence of this library is built.

namespace tacit {

/// log(e^a + e^b). −∞ is the logarithm of zero: log_add(−∞, x) = x. (Boost's logaddexp returns −∞
/// there, which loses mass and so understates a loss.) NaN in, NaN out.
template <real T>
[[nodiscard]] T log_add(T const& a, T const& b) {
  using elementary::exp, elementary::log1p;
  T const high = a < b ? b : a;
  T const low = a < b ? a : b;
  if (low == -std::numeric_limits<T>::infinity()) return high;
  if (high == std::numeric_limits<T>::infinity()) return low != low ? low : high;
  return high + log1p(exp(low - high));
}

/// log Σ e^x over a range; −∞ for an empty one. NaN anywhere gives NaN.
template <class Range>
[[nodiscard]] auto log_sum(Range const& terms) {
  using T = std::remove_cvref_t<decltype(*std::begin(terms))>;
  static_assert(real<T>);
  using elementary::exp, elementary::log;
  T high = -std::numeric_limits<T>::infinity();
  for (T const& x : terms) {
    if (x != x) return x;
    if (x > high) high = x;
  }
  if (!(high > -std::numeric_limits<T>::infinity() && high < std::numeric_limits<T>::infinity())) {
    return high;
  }
  T sum(0);
  for (T const& x : terms) sum += exp(x - high);
  return high + log(sum);
}

/// log(1 − e^x) for x ≤ 0, accurate at both ends (Mächler 2012).
template <real T>
[[nodiscard]] T log1m_exp(T const& x) {
  using elementary::exp, elementary::expm1, elementary::log, elementary::log1p;
  return x > T(-std::numbers::ln2) ? log(-expm1(x)) : log1p(-exp(x));
}

/// log(e^x − 1) for x ≥ 0, accurate at both ends.
template <real T>
[[nodiscard]] T log_expm1(T const& x) {
  using elementary::exp, elementary::expm1, elementary::log, elementary::log1p;
  return x > 1 ? x + log1p(-exp(-x)) : log(expm1(x));
}

/// log(1 + e^x), without overflow.
template <real T>
[[nodiscard]] T log1p_exp(T const& x) {
  return log_add(T(0), x);
}

namespace detail {

/// Σ c_k x^k, even and odd powers apart: two short chains of multiplications instead of a long one.
template <std::floating_point T, std::size_t terms>
[[nodiscard]] constexpr T polynomial(std::array<T, terms> const& c, T x) {
  static_assert(terms > 0 && terms % 2 == 0);
  T const square = x * x;
  T even = c[terms - 2];
  T odd = c[terms - 1];
  for (std::size_t k = terms - 2; k > 0; k -= 2) {
    even = even * square + c[k - 2];
    odd = odd * square + c[k - 1];
  }
  return even + x * odd;
}

/// Σ_{k≥0} y^k/(2k+3) for 0 ≤ y ≤ 1/36: the tail of atanh, (atanh z − z)/z³ at y = z².
template <real T>
[[nodiscard]] T atanh_tail(T const& y) {
  if constexpr (std::is_floating_point_v<T>) {
    // y^k ≤ 36^-k: the first dropped term is below half an ulp of the sum.
    constexpr std::size_t terms = (std::numeric_limits<T>::digits * 100 / 516 + 3) / 2 * 2;
    constexpr auto coefficients = [] {
      std::array<T, terms> c{};
      for (std::size_t k = 0; k < terms; ++k) c[k] = 1 / T(2 * k + 3);
      return c;
    }();
    return polynomial(coefficients, y);
  } else {
    T sum(0);
    T power(1);
    for (int k = 0; power > std::numeric_limits<T>::epsilon(); ++k) {
      sum += power / (2 * k + 3);
      power *= y;
    }
    return sum;
  }
}

}  // namespace detail

/// φ(u) = u − log(1+u) ≥ 0 for u > −1, without cancellation: relative error a few ulp everywhere.
/// For |u| < 2/7 through atanh: with z = u/(2+u), log(1+u) = 2 atanh z and u − 2z = uz.
/// With a `scale` s > 0: s·φ(u/s), for u > −s; a few ulp for u ≥ −s/2, more as u/s nears −1.
template <real T>
[[nodiscard]] T log1p_residual(T const& u, T const& scale) {
  using elementary::log1p;
  if (u > T(-2) / 7 * scale && u < T(2) / 5 * scale) {
    T const z = u / (2 * scale + u);
    T const y = z * z;
    return u * z - 2 * scale * (z * y * detail::atanh_tail(y));
  }
  return u - scale * log1p(u / scale);
}
template <real T>
[[nodiscard]] T log1p_residual(T const& u) {
  return log1p_residual<T>(u, 1);
}

/// ψ(d) = (1+d)·log(1+d) − d ≥ 0 for d ≥ −1 (ψ(−1) = 1), without cancellation: the summand of a
/// Kullback–Leibler divergence, Σ q ψ(p/q − 1) = KL(p‖q). `ratio` is 1+d, for callers who have it
/// more accurately than as that sum, where d is close to −1.
template <real T>
[[nodiscard]] T entropy_residual(T const& d, T const& ratio) {
  using elementary::log;
  if (d > T(-2) / 7 && d < T(2) / 5) {
    return d * d - ratio * log1p_residual(d);
  }
  if (!(ratio > 0)) return ratio == 0 ? 1 : std::numeric_limits<T>::quiet_NaN();
  return ratio * log(ratio) - d;
}
template <real T>
[[nodiscard]] T entropy_residual(T const& d) {
  return entropy_residual(d, 1 + d);
}

/// e^w − 1 − w ≥ 0, without cancellation: a few ulp everywhere.
template <real T>
[[nodiscard]] T exp_residual(T const& w) {
  using elementary::exp, elementary::expm1;
  if constexpr (std::is_floating_point_v<T>) {
    if (w > -1 && w < 1) {
      // w²·Σ w^k/(k+2)!
      constexpr std::size_t terms = std::numeric_limits<T>::digits > 53 ? 22 : 18;
      constexpr auto coefficients = [] {
        std::array<T, terms> c{};
        T factorial(1);
        for (std::size_t k = 0; k < terms; ++k) {
          factorial *= T(k + 2);
          c[k] = 1 / factorial;
        }
        return c;
      }();
      return w * w * detail::polynomial(coefficients, w);
    }
    return exp(w) - 1 - w;
  } else {
    if (w > -0.25 && w < 0.25) {
      T sum(0);
      T term = w * w / 2;
      for (int k = 3; (term < 0 ? -term : term) > sum * std::numeric_limits<T>::epsilon(); ++k) {
        sum += term;
        term = term * w / k;
      }
      return sum;
    }
    return expm1(w) - w;
  }
}

}  // namespace tacit
