// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>

#include <concepts>
#include <cstdint>

/// What a parameter is stored as. Arithmetic is in float and double; these are for memory alone, and
/// are kept as bits so that every compiler and device rounds to them alike.

namespace tacit {

/// IEEE binary16: 11 significant bits, up to 65504.
struct half {
  std::uint16_t bits;

  friend constexpr bool operator==(half, half) = default;
};

/// The upper 16 bits of a float: 8 significant bits, the range of float.
struct bfloat16 {
  std::uint16_t bits;

  friend constexpr bool operator==(bfloat16, bfloat16) = default;
};

namespace detail {

/// `a` where it holds, else `b`, without a branch, which would keep compilers from vectorising the loop
/// around it.
[[nodiscard]] TACIT_HD constexpr std::uint32_t select(bool holds, std::uint32_t a,
                                                      std::uint32_t b) noexcept {
  std::uint32_t const mask = 0U - static_cast<std::uint32_t>(holds);
  return (a & mask) | (b & ~mask);
}

}  // namespace detail

template <class T>
concept parameter_storage =
    std::same_as<T, float> || std::same_as<T, half> || std::same_as<T, bfloat16>;

/// Exact. A NaN stays a NaN.
[[nodiscard]] TACIT_HD constexpr float to_float(float x) noexcept { return x; }

[[nodiscard]] TACIT_HD constexpr float to_float(half x) noexcept {
  std::uint32_t const magnitude = std::uint32_t{x.bits} << 13 & 0x0FFFE000;
  std::uint32_t const sign = std::uint32_t{x.bits} << 16 & 0x80000000;
  // Below 2^-14 the leading bit is not implied: put it there as 2^-14, and take it away again.
  float const subnormal = __builtin_bit_cast(float, magnitude + (113U << 23)) - 0x1p-14F;
  std::uint32_t const rest =
      magnitude + detail::select(magnitude < 31U << 23, 112U << 23, 224U << 23);
  std::uint32_t const bits =
      detail::select(magnitude < 1U << 23, __builtin_bit_cast(std::uint32_t, subnormal), rest);
  return __builtin_bit_cast(float, bits | sign);
}

[[nodiscard]] TACIT_HD constexpr float to_float(bfloat16 x) noexcept {
  return __builtin_bit_cast(float, std::uint32_t{x.bits} << 16);
}

/// To the nearest, ties to even; past the largest to infinity. A NaN stays a NaN.
template <parameter_storage T>
[[nodiscard]] TACIT_HD constexpr T rounded_to(float x) noexcept;

template <>
[[nodiscard]] TACIT_HD constexpr float rounded_to<float>(float x) noexcept {
  return x;
}

template <>
[[nodiscard]] TACIT_HD constexpr half rounded_to<half>(float x) noexcept {
  std::uint32_t const bits = __builtin_bit_cast(std::uint32_t, x);
  std::uint32_t const magnitude = bits & 0x7FFFFFFF;
  std::uint32_t const sign = bits >> 16 & 0x8000;
  // Below 2^-14 the last place is worth 2^-24, as it is for a float in [1/2, 1).
  bool const is_small = magnitude < 113U << 23;
  float const shifted = __builtin_bit_cast(float, detail::select(is_small, magnitude, 0)) + 0.5F;
  std::uint32_t const subnormal = __builtin_bit_cast(std::uint32_t, shifted) - (126U << 23);
  std::uint32_t const nearest =
      (magnitude - (112U << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;  // carries into infinity
  std::uint32_t const finite = detail::select(is_small, subnormal, nearest);
  std::uint32_t const large = detail::select(magnitude > 255U << 23, 0x7E00, 0x7C00);
  return {static_cast<std::uint16_t>(detail::select(magnitude < 143U << 23, finite, large) | sign)};
}

template <>
[[nodiscard]] TACIT_HD constexpr bfloat16 rounded_to<bfloat16>(float x) noexcept {
  std::uint32_t const bits = __builtin_bit_cast(std::uint32_t, x);
  std::uint32_t const nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  std::uint32_t const quiet = bits >> 16 | 0x40;
  return {static_cast<std::uint16_t>((bits & 0x7FFFFFFF) > 255U << 23 ? quiet : nearest)};
}

}  // namespace tacit
