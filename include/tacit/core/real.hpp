// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>

#include <concepts>
#include <limits>

namespace tacit {

/// A number type that the formulas accept: float, double, long double, a Boost.Multiprecision float
/// with expression templates off, or any user type whose elementary functions (`exp`, `log1p`, …)
/// are found by argument-dependent lookup. Arithmetic on T, and of T with an integer, yields T, so that a
/// formula in a template is written as in a book. One source serves all types; the 50-digit run tests the
/// double run.
// clang-format off
template <class T>
concept real = std::copyable<T> && std::totally_ordered<T> && std::constructible_from<T, double> &&
    std::convertible_to<int, T> && std::numeric_limits<T>::is_specialized &&
    requires(T const& x, T const& y, int k) {
  { x + y } -> std::same_as<T>;
  { x - y } -> std::same_as<T>;
  { x * y } -> std::same_as<T>;
  { x / y } -> std::same_as<T>;
  { -x } -> std::same_as<T>;
  { k - x } -> std::same_as<T>;
  { k / x } -> std::same_as<T>;
  { k * x + k } -> std::same_as<T>;
  { x / k } -> std::same_as<T>;
  { x < k } -> std::convertible_to<bool>;
};
// clang-format on

namespace detail {

/// The largest relative error of one operation in double.
inline constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2.0;

// A few roundings up and down.
inline constexpr double a_little_more = 1.0 + 8.0 * std::numeric_limits<double>::epsilon();
inline constexpr double a_little_less = 1.0 - 8.0 * std::numeric_limits<double>::epsilon();

}  // namespace detail
}  // namespace tacit
