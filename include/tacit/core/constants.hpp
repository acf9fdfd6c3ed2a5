// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/real.hpp>

#include <concepts>
#include <type_traits>

/// Mathematical constants for every `real`: a literal for the built-in types, 75 digits for a type
/// that reads them from text, a double's for any other. (Boost's cost as much to include as Eigen.)

namespace tacit::detail::constants {

template <real T>
[[nodiscard]] constexpr T rounded(long double value, char const* digits) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (std::constructible_from<T, char const*>) {
    return T(digits);
  } else {
    return T(static_cast<double>(value));
  }
}

#define TACIT_CONSTANT(name, digits)                       \
  template <real T>                                        \
  [[nodiscard]] T const& name() {                          \
    static T const value = rounded<T>(digits##L, #digits); \
    return value;                                          \
  }

// clang-format off
TACIT_CONSTANT(pi,              3.14159265358979323846264338327950288419716939937510582097494459230781640629)
TACIT_CONSTANT(two_pi,          6.28318530717958647692528676655900576839433879875021164194988918461563281257)
TACIT_CONSTANT(root_two,        1.41421356237309504880168872420969807856967187537694807317667973799073247846)
TACIT_CONSTANT(root_pi,         1.77245385090551602729816748334114518279754945612238712821380778985291128459)
TACIT_CONSTANT(root_two_pi,     2.50662827463100050241576528481104525300698674060993831662992357634229365461)
TACIT_CONSTANT(log_root_two_pi, 0.91893853320467274178032973640561763986139747363778341281715154048276569592726)
TACIT_CONSTANT(ln_two,          0.69314718055994530941723212145817656807550013436025525412068000949339362197)
// clang-format on

#undef TACIT_CONSTANT

}  // namespace tacit::detail::constants
