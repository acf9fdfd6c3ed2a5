// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>
#include <tacit/zo/storage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if !defined(__CUDACC__) && !defined(__HIP__) && (defined(__SSE2__) || defined(__aarch64__)) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define TACIT_VECTORS
#if defined(__AVX2__)
#include <immintrin.h>
#define TACIT_AVX2
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#endif

/// Vectors of the width that the processor has: GCC's vector types, which clang has, too, so that one
/// text serves every processor, and intrinsics where these have no words for it.

namespace tacit::detail {

#if defined(TACIT_VECTORS)

#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX2__)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif
inline constexpr std::size_t float_lanes = vector_bytes / 4;
inline constexpr std::size_t double_lanes = vector_bytes / 8;

using floats = float __attribute__((vector_size(vector_bytes)));
using integers = std::int32_t __attribute__((vector_size(vector_bytes)));
using words32 = std::uint32_t __attribute__((vector_size(vector_bytes)));
using doubles = double __attribute__((vector_size(vector_bytes)));
using words64 = std::uint64_t __attribute__((vector_size(vector_bytes)));
using half_floats = float __attribute__((vector_size(vector_bytes / 2)));

/// The same bits as another type.
template <class To, class From>
[[nodiscard]] inline To as(From x) noexcept {
  return reinterpret_cast<To>(x);
}
template <class Vector>
[[nodiscard]] inline Vector load_vector(void const* from) noexcept {
  Vector result;
  std::memcpy(&result, from, sizeof result);
  return result;
}
template <class Vector>
inline void store_vector(Vector const& from, void* to) noexcept {
  std::memcpy(to, &from, sizeof from);
}

template <std::size_t Half, std::size_t... Lane>
[[nodiscard]] inline doubles widened(floats x, std::index_sequence<Lane...>) noexcept {
  half_floats const part =
      __builtin_shufflevector(x, x, static_cast<int>(Half * double_lanes + Lane)...);
#if defined(__AVX512F__)  // g++ 12 makes three instructions of __builtin_convertvector
  return _mm512_maskz_cvtps_pd(0xFF, part);
#elif defined(__AVX2__)
  return _mm256_cvtps_pd(part);
#else
  return __builtin_convertvector(part, doubles);
#endif
}
/// The first or the second half of x.
template <std::size_t Half>
[[nodiscard]] inline doubles widened(floats x) noexcept {
  return widened<Half>(x, std::make_index_sequence<double_lanes>{});
}

template <std::size_t... Lane>
[[nodiscard]] inline floats narrowed(doubles a, doubles b, std::index_sequence<Lane...>) noexcept {
  return __builtin_shufflevector(__builtin_convertvector(a, half_floats),
                                 __builtin_convertvector(b, half_floats),
                                 static_cast<int>(Lane)...);
}
/// Both halves, rounded to float.
[[nodiscard]] inline floats narrowed(doubles a, doubles b) noexcept {
  return narrowed(a, b, std::make_index_sequence<float_lanes>{});
}

/// The 32 entries whose signs are one word, as vectors.
inline constexpr std::size_t group_entries = 32;
inline constexpr std::size_t group_vectors = group_entries / float_lanes;

/// Lanes 0, 2, 4, … of a and b, or lanes 1, 3, 5, … of them.
template <std::size_t Odd, std::size_t... Lane>
[[nodiscard]] inline floats every_other(floats a, floats b, std::index_sequence<Lane...>) noexcept {
  return __builtin_shufflevector(a, b, static_cast<int>(2 * Lane + Odd)...);
}

/// How a storage becomes vectors. `load` and `store` are to_float and rounded_to of a group, whose
/// vectors hold entry `entry(n)` in place n; `nearest` is to_float(rounded_to(x)). All for blocks that it
/// `holds`: the others are for the plain loop.
template <parameter_storage T>
struct stored_vectors;

template <>
struct stored_vectors<float> {
  static constexpr std::size_t entry(std::size_t place) noexcept { return place; }
  static std::uint32_t arrange(std::uint32_t word) noexcept { return word; }
  static void arrange(floats (&)[group_vectors]) noexcept {}
  static bool holds(float const*, std::size_t) noexcept { return true; }
  static void load(float const* from, floats (&x)[group_vectors]) noexcept {
    for (std::size_t v = 0; v < group_vectors; ++v) {
      x[v] = load_vector<floats>(from + float_lanes * v);
    }
  }
  static floats nearest(floats x) noexcept { return x; }
  static void store(floats const (&x)[group_vectors], float* to) noexcept {
    for (std::size_t v = 0; v < group_vectors; ++v) store_vector(x[v], to + float_lanes * v);
  }
};

/// Whether none is a NaN, on which processors, and the vectors below, do not agree with the plain loop.
template <parameter_storage T>
[[gnu::noinline]] bool no_nan(T const* x, std::size_t length, T infinity) noexcept {
  std::uint16_t largest = 0;
  for (std::size_t j = 0; j < length; ++j) {
    largest = std::max(largest, static_cast<std::uint16_t>(x[j].bits & 0x7FFF));
  }
  return largest <= infinity.bits;
}

/// Two entries in each word: the even entries are one vector and the odd ones the next, so that nothing
/// changes its lane. Storage has `low` and `high`, their floats, and `pack`, the way back.
template <class Storage, parameter_storage T>
struct paired_vectors {
  static constexpr std::size_t entry(std::size_t place) noexcept {
    std::size_t const pair = 2 * float_lanes;
    return place / pair * pair + 2 * (place % float_lanes) + place / float_lanes % 2;
  }
#if defined(__AVX512F__) && defined(__BMI2__)
  static std::uint32_t arrange(std::uint32_t word) noexcept {
    return _pext_u32(word, 0x55555555) | _pext_u32(word, 0xAAAAAAAA) << 16;
  }
#endif
  static void arrange(floats (&z)[group_vectors]) noexcept {
    constexpr std::make_index_sequence<float_lanes> lanes;
    for (std::size_t v = 0; v < group_vectors; v += 2) {
      floats const even = every_other<0>(z[v], z[v + 1], lanes);
      z[v + 1] = every_other<1>(z[v], z[v + 1], lanes);
      z[v] = even;
    }
  }
  static void load(T const* from, floats (&x)[group_vectors]) noexcept {
    for (std::size_t v = 0; v < group_vectors; v += 2) {
      words32 const pairs = load_vector<words32>(from + float_lanes * v);
      x[v] = Storage::low(pairs);
      x[v + 1] = Storage::high(pairs);
    }
  }
  static void store(floats const (&x)[group_vectors], T* to) noexcept {
    for (std::size_t v = 0; v < group_vectors; v += 2) {
      store_vector(Storage::pack(x[v], x[v + 1]), to + float_lanes * v);
    }
  }
};

template <>
struct stored_vectors<bfloat16> : paired_vectors<stored_vectors<bfloat16>, bfloat16> {
  static bool holds(bfloat16 const* x, std::size_t length) noexcept {
    return no_nan(x, length, bfloat16{0x7F80});
  }
  static floats low(words32 pairs) noexcept { return as<floats>(pairs << 16); }
  static floats high(words32 pairs) noexcept { return as<floats>(pairs & 0xFFFF0000); }
  static words32 rounded(floats x) noexcept { return nearest_bfloat16(as<words32>(x)); }
  static floats nearest(floats x) noexcept { return high(rounded(x)); }
  static words32 pack(floats low, floats high) noexcept {
    return rounded(low) >> 16 | (rounded(high) & 0xFFFF0000);
  }
};

#if (defined(__AVX2__) && defined(__F16C__)) || defined(__AVX512F__) || defined(__aarch64__)

/// The processor's own conversions, which differ from ours in what they make of a NaN, and in nothing else.
template <>
struct stored_vectors<half> {
#if defined(__AVX512F__)  // with a mask, for without one g++ 12 warns of its own header
  using packed = __m256i;
  static floats unpack(packed x) noexcept { return _mm512_maskz_cvtph_ps(0xFFFF, x); }
  static packed pack(floats x) noexcept {
    return _mm512_maskz_cvtps_ph(0xFFFF, x, _MM_FROUND_TO_NEAREST_INT);
  }
#elif defined(__AVX2__)
  using packed = __m128i;
  static floats unpack(packed x) noexcept { return _mm256_cvtph_ps(x); }
  static packed pack(floats x) noexcept { return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT); }
#else
  using packed = float16x4_t;
  static floats unpack(packed x) noexcept { return vcvt_f32_f16(x); }
  static packed pack(floats x) noexcept { return vcvt_f16_f32(x); }
#endif
  static constexpr std::size_t entry(std::size_t place) noexcept { return place; }
  static std::uint32_t arrange(std::uint32_t word) noexcept { return word; }
  static void arrange(floats (&)[group_vectors]) noexcept {}
  static bool holds(half const* x, std::size_t length) noexcept {
    return no_nan(x, length, half{0x7C00});
  }
  static void load(half const* from, floats (&x)[group_vectors]) noexcept {
    for (std::size_t v = 0; v < group_vectors; ++v) {
      x[v] = unpack(load_vector<packed>(from + float_lanes * v));
    }
  }
  static floats nearest(floats x) noexcept { return unpack(pack(x)); }
  static void store(floats const (&x)[group_vectors], half* to) noexcept {
    for (std::size_t v = 0; v < group_vectors; ++v) store_vector(pack(x[v]), to + float_lanes * v);
  }
};

#else

template <>
struct stored_vectors<half> : paired_vectors<stored_vectors<half>, half> {
  static bool holds(half const*, std::size_t) noexcept { return true; }
  static floats low(words32 pairs) noexcept { return float_of_half<floats>(pairs); }
  static floats high(words32 pairs) noexcept { return float_of_half<floats>(pairs >> 16); }
  static words32 rounded(floats x) noexcept { return nearest_half<floats>(as<words32>(x)); }
  static floats nearest(floats x) noexcept { return low(rounded(x)); }
  static words32 pack(floats low, floats high) noexcept {
    return rounded(low) | rounded(high) << 16;
  }
};

#endif

/// The bits of the signs of a group's entries, in the order of its vectors.
template <parameter_storage T>
struct alignas(64) sign_bits {
  std::uint32_t narrow[group_entries];
  std::uint64_t wide[group_entries];
};

template <parameter_storage T>
inline constexpr sign_bits<T> signs_of_group = [] {
  sign_bits<T> table{};
  for (std::size_t place = 0; place < group_entries; ++place) {
    table.wide[place] = table.narrow[place] = 1U << stored_vectors<T>::entry(place);
  }
  return table;
}();

/// z of vector v of a group, from the word of its signs.
template <parameter_storage T>
[[nodiscard]] inline floats signs_of(std::uint32_t word, std::size_t v) noexcept {
  words32 const bit = load_vector<words32>(signs_of_group<T>.narrow + float_lanes * v);
  return ((words32{} + word) & bit) == 0 ? floats{} + 1.0F : floats{} - 1.0F;
}

/// step·z of half a vector: h counts halves. (x − 0 is x, of a −0 too.)
template <parameter_storage T>
[[nodiscard]] inline doubles steps_of(std::uint32_t word, std::size_t h, double step) noexcept {
  words64 const bit = load_vector<words64>(signs_of_group<T>.wide + double_lanes * h);
  doubles const up = step - doubles{};
  return (as<words64>(words32{} + word) & bit) == 0 ? up : -up;
}

#endif

}  // namespace tacit::detail
