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

// Word and Float are the 32 bits of a number, or vectors of them (zo/vectors.hpp).

/// `a` where it holds, else `b`, without a branch, which would keep compilers from vectorising the loop
/// around it.
template <class Holds, class Word>
[[nodiscard]] TACIT_HD constexpr Word select(Holds holds, Word a, Word b) noexcept {
  Word mask{};
  if constexpr (std::same_as<Holds, bool>) {
    mask = 0U - static_cast<std::uint32_t>(holds);
  } else {
    mask = __builtin_bit_cast(Word, holds);
  }
  return (a & mask) | (b & ~mask);
}

/// The float whose bits as a half are the lower 16.
template <class Float, class Word>
[[nodiscard]] TACIT_HD constexpr Float float_of_half(Word bits) noexcept {
  Word const magnitude = bits << 13 & 0x0FFFE000;
  Word const sign = bits << 16 & 0x80000000;
  // Below 2^-14 the leading bit is not implied: put it there as 2^-14, and take it away again.
  Float const subnormal = __builtin_bit_cast(Float, magnitude + (113U << 23)) - 0x1p-14F;
  Word const rest =
      magnitude + select(magnitude < 31U << 23, Word{} + (112U << 23), Word{} + (224U << 23));
  return __builtin_bit_cast(
      Float, select(magnitude < 1U << 23, __builtin_bit_cast(Word, subnormal), rest) | sign);
}

/// The bits of the half nearest to a float.
template <class Float, class Word>
[[nodiscard]] TACIT_HD constexpr Word nearest_half(Word bits) noexcept {
  Word const magnitude = bits & 0x7FFFFFFF;
  Word const sign = bits >> 16 & 0x8000;
  // Below 2^-14 the last place is worth 2^-24, as it is for a float in [1/2, 1).
  auto const is_small = magnitude < 113U << 23;
  Float const shifted = __builtin_bit_cast(Float, select(is_small, magnitude, Word{})) + 0.5F;
  Word const subnormal = __builtin_bit_cast(Word, shifted) - (126U << 23);
  Word const nearest =
      (magnitude - (112U << 23) + 0xFFF + (magnitude >> 13 & 1)) >> 13;  // carries into infinity
  Word const finite = select(is_small, subnormal, nearest);
  Word const large = select(magnitude > 255U << 23, Word{} + 0x7E00U, Word{} + 0x7C00U);
  return select(magnitude < 143U << 23, finite, large) | sign;
}

/// The bits of the bfloat16 nearest to a float, but for a NaN, as the upper 16.
template <class Word>
[[nodiscard]] TACIT_HD constexpr Word nearest_bfloat16(Word bits) noexcept {
  return bits + 0x7FFF + (bits >> 16 & 1);
}

}  // namespace detail

template <class T>
concept parameter_storage =
    std::same_as<T, float> || std::same_as<T, half> || std::same_as<T, bfloat16>;

/// Exact. A NaN stays a NaN.
[[nodiscard]] TACIT_HD constexpr float to_float(float x) noexcept { return x; }

[[nodiscard]] TACIT_HD constexpr float to_float(half x) noexcept {
  return detail::float_of_half<float>(std::uint32_t{x.bits});
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
  return {static_cast<std::uint16_t>(
      detail::nearest_half<float>(__builtin_bit_cast(std::uint32_t, x)))};
}

template <>
[[nodiscard]] TACIT_HD constexpr bfloat16 rounded_to<bfloat16>(float x) noexcept {
  std::uint32_t const bits = __builtin_bit_cast(std::uint32_t, x);
  std::uint32_t const quiet = bits >> 16 | 0x40;
  return {static_cast<std::uint16_t>(
      (bits & 0x7FFFFFFF) > 255U << 23 ? quiet : detail::nearest_bfloat16(bits) >> 16)};
}

}  // namespace tacit
