// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <limits>

namespace tacit {

/// A number type that the formulas accept: float, double, long double, a Boost.Multiprecision float,
/// or any user type whose elementary functions (`exp`, `log1p`, …) are found by argument-dependent
/// lookup. One source serves them all; the 50-digit run is the test of the double run.
template <class T>
concept real = std::copyable<T> && std::totally_ordered<T> && std::constructible_from<T, double> &&
    std::numeric_limits<T>::is_specialized;

namespace detail {

/// The largest relative error of one operation in double.
inline constexpr double unit_roundoff = std::numeric_limits<double>::epsilon() / 2.0;

}  // namespace detail
}  // namespace tacit
