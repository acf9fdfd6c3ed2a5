// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/bit_cast.hpp>

#include <cstdint>

/// What the elementary functions are made of: products that are rounded, and choices without branches,
/// which would keep loops from being vectorised. (Comparisons are of integers below 2^63, by the sign of
/// a difference: SSE2 has no other.)

namespace tacit::detail {

/// a·b rounded by itself, so that a function has the same bits everywhere. A compiler that may contract
/// (g++ does, wherever the target has fused multiply-adds) would fuse a·b with the addition that follows;
/// here it can only fuse it with + 0.0, which rounds the product and leaves the addition alone.
/// No bound rests on this: docs/certificates/elementary.md proves them whether products are rounded or not.
[[nodiscard]] inline constexpr double product(double a, double b) {
#if defined(__FMA__) || defined(__FP_FAST_FMA) || defined(__aarch64__) || defined(_M_ARM64)
  return a * b + 0.0;
#else
  return a * b;
#endif
}

using bit_pattern = std::uint64_t;

[[nodiscard]] inline constexpr bit_pattern bits_of(double x) { return bit_cast<bit_pattern>(x); }
[[nodiscard]] inline constexpr double from_bits(bit_pattern x) { return bit_cast<double>(x); }

inline constexpr bit_pattern sign_bit = bit_pattern{1} << 63;
inline constexpr bit_pattern infinity_bits = bit_pattern{0x7FF} << 52;

/// All ones where the top bit is set, else 0.
[[nodiscard]] inline constexpr bit_pattern mask_of_top(bit_pattern x) {
  return bit_pattern{0} - (x >> 63);
}

/// All ones where a < b, else 0; both below 2^63.
[[nodiscard]] inline constexpr bit_pattern mask_below(bit_pattern a, bit_pattern b) {
  return mask_of_top(a - b);
}

[[nodiscard]] inline constexpr bit_pattern select(bit_pattern mask, bit_pattern yes,
                                                  bit_pattern no) {
  return (yes & mask) | (no & ~mask);
}
[[nodiscard]] inline constexpr double select(bit_pattern mask, double yes, double no) {
  return from_bits(select(mask, bits_of(yes), bits_of(no)));
}

}  // namespace tacit::detail
