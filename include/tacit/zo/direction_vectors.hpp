// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>
#include <tacit/random/normal.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/zo/vectors.hpp>

#include <cstddef>
#include <cstdint>

/// Draws a vector at a time: what random_block and normal_from give one by one.

#if defined(TACIT_AVX2) || (defined(TACIT_VECTORS) && defined(__aarch64__))
#define TACIT_VECTOR_DRAWS
#endif

namespace tacit::detail {

#if defined(TACIT_VECTOR_DRAWS)

/// The products of the lower halves of 64-bit lanes.
[[nodiscard]] inline words64 low_product(words64 a, words64 b) noexcept {
#if defined(__AVX512F__)
  return as<words64>(_mm512_maskz_mul_epu32(0xFF, as<__m512i>(a), as<__m512i>(b)));
#elif defined(TACIT_AVX2)
  return as<words64>(_mm256_mul_epu32(as<__m256i>(a), as<__m256i>(b)));
#else
  return as<words64>(vmull_u32(vmovn_u64(as<uint64x2_t>(a)), vmovn_u64(as<uint64x2_t>(b))));
#endif
}

/// Lanes 0, 2, 4, … of a and b in turn, or lanes 1, 3, 5, … of them.
template <std::size_t Odd, std::size_t... Lane>
[[nodiscard]] inline words64 in_turn(words64 a, words64 b, std::index_sequence<Lane...>) noexcept {
  return __builtin_shufflevector(a, b,
                                 static_cast<int>(Lane / 2 * 2 + Odd + Lane % 2 * double_lanes)...);
}

/// Philox on blocks side by side, a word in each 64-bit lane. Only the lower half of a lane counts,
/// which is all that a multiplication reads.
class philox_lanes {
 public:
  static constexpr std::size_t width = double_lanes;  ///< blocks of a vector

  explicit philox_lanes(stream_id stream) noexcept
      : step_(stream.step), use_(static_cast<std::uint64_t>(stream.use) << 56) {
    auto k0 = static_cast<std::uint32_t>(stream.seed);
    auto k1 = static_cast<std::uint32_t>(stream.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      key0_[round] = k0;
      key1_[round] = k1;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    for (std::size_t lane = 0; lane < width; ++lane) {  // so that in_turn puts blocks in order
      place_[lane] = lane / 2 + lane % 2 * (width / 2);
    }
  }

  /// The words of blocks n … n + width·Groups − 1 in their order. n is a multiple of the width.
  template <std::size_t Groups>
  void blocks(std::uint64_t n, words32* out) const noexcept {
    words64 a[Groups], b[Groups], c[Groups], d[Groups];
    for (std::size_t g = 0; g < Groups; ++g) {
      a[g] = place_ | ((n + width * g) | use_);
      b[g] = a[g] >> 32;
      c[g] = words64{} + step_;
      d[g] = c[g] >> 32;
    }
    for (int round = 0; round < 10; ++round) {
      for (std::size_t g = 0; g < Groups; ++g) {
        words64 const p = low_product(words64{} + 0xD2511F53, a[g]);
        words64 const q = low_product(words64{} + 0xCD9E8D57, c[g]);
        a[g] = q >> 32 ^ b[g] ^ key0_[round];
        b[g] = q;
        c[g] = p >> 32 ^ d[g] ^ key1_[round];
        d[g] = p;
      }
    }
    constexpr std::make_index_sequence<width> lanes;
    for (std::size_t g = 0; g < Groups; ++g) {
      words64 const ab = (a[g] & 0xFFFFFFFF) | b[g] << 32;
      words64 const cd = (c[g] & 0xFFFFFFFF) | d[g] << 32;
      out[2 * g] = as<words32>(in_turn<0>(ab, cd, lanes));
      out[2 * g + 1] = as<words32>(in_turn<1>(ab, cd, lanes));
    }
  }

 private:
  std::uint64_t step_;
  std::uint64_t use_;
  std::uint64_t key0_[10];
  std::uint64_t key1_[10];
  words64 place_;
};

#endif

#if defined(TACIT_AVX2)

/// The table of half_normal by columns, of the octaves that a register can look up. The last column is
/// four times the right end, with the 2 that rounds: 32 bits have room for 13 of them.
inline constexpr int common_octaves = float_lanes < 13 ? static_cast<int>(float_lanes) : 13;
struct alignas(vector_bytes) first_octaves {
  std::uint32_t column[9][float_lanes];
};

inline constexpr first_octaves common_quantiles = [] {
  first_octaves table{};
  for (int octave = 0; octave < common_octaves; ++octave) {
    for (int k = 0; k < 8; ++k) {
      table.column[k][octave] = static_cast<std::uint32_t>(quantiles.slope[octave][k]);
    }
    table.column[8][octave] = 4 * static_cast<std::uint32_t>(quantiles.right_end[octave]) + 2;
  }
  return table;
}();

/// A column's entries at the octaves.
[[nodiscard]] inline words32 column_at(int k, words32 octave) noexcept {
  auto const column = load_vector<words32>(common_quantiles.column[k]);
#if defined(__AVX512F__)
  return as<words32>(
      _mm512_maskz_permutexvar_epi32(0xFFFF, as<__m512i>(octave), as<__m512i>(column)));
#else
  return as<words32>(_mm256_permutevar8x32_epi32(as<__m256i>(column), as<__m256i>(octave)));
#endif
}

/// high_product(a, b), with the odd lanes of b in the even lanes of `odd`.
[[nodiscard]] inline words32 high_products(words32 a, words32 b, words32 odd) noexcept {
  words64 const a_odd = as<words64>(a) >> 32;
#if defined(__AVX512F__)
  __m512i const p = _mm512_maskz_mul_epi32(0xFF, as<__m512i>(a), as<__m512i>(b));
  __m512i const q = _mm512_maskz_mul_epi32(0xFF, as<__m512i>(a_odd), as<__m512i>(odd));
  return as<words32>(_mm512_mask_shuffle_epi32(q, 0x5555, p, _MM_PERM_DDBB));
#else
  __m256i const p = _mm256_mul_epi32(as<__m256i>(a), as<__m256i>(b));
  __m256i const q = _mm256_mul_epi32(as<__m256i>(a_odd), as<__m256i>(odd));
  return as<words32>(_mm256_blend_epi32(_mm256_srli_epi64(p, 32), q, 0xAA));
#endif
}

/// The leading zeros of 2m + 1, m < 2^31, if fewer than 23: by way of a float's exponent. Then the leading bit
/// is none of the lowest eight, and without them the conversion is exact.
[[nodiscard]] inline words32 leading_zeros(words32 q) noexcept {
#if defined(__AVX512CD__)
  return as<words32>(_mm512_maskz_lzcnt_epi32(0xFFFF, as<__m512i>(q)));
#else
  auto const leading = __builtin_convertvector(as<integers>(q >> 1 & 0x7FFFFF00), floats);
  return 157 - (as<words32>(leading) >> 23);
#endif
}

/// A bit for each lane.
#if defined(__AVX512F__)
using lane_bits = std::uint16_t;
#else
using lane_bits = std::uint8_t;
#endif

/// Which lanes are beyond the common octaves.
[[nodiscard]] inline lane_bits beyond_common(words32 octave) noexcept {
#if defined(__AVX512F__)
  return _mm512_cmpgt_epi32_mask(as<__m512i>(octave), _mm512_set1_epi32(common_octaves - 1));
#else
  __m256i const is = _mm256_cmpgt_epi32(as<__m256i>(octave), _mm256_set1_epi32(common_octaves - 1));
  return static_cast<lane_bits>(_mm256_movemask_ps(as<__m256>(is)));
#endif
}

/// normal_from of Count vectors of words, times scale: in step, for each waits on itself. A draw beyond
/// the common octaves comes out wrong; its bit in `beyond` is set.
template <std::size_t Count>
void normals_from(words32 const* word, float scale, float* out, lane_bits* beyond) noexcept {
  words32 octave[Count], even[Count], odd[Count], sum[Count];
  for (std::size_t v = 0; v < Count; ++v) {
    words32 const q = 2 * word[v] + 1;
    octave[v] = leading_zeros(q);
    beyond[v] = beyond_common(octave[v]);
    even[v] = ~(q << octave[v]);  // the distance
    odd[v] = as<words32>(as<words64>(even[v]) >> 32);
    sum[v] = column_at(7, octave[v]);
  }
  for (int k = 6; k >= 0; --k) {
    for (std::size_t v = 0; v < Count; ++v) {
      sum[v] = column_at(k, octave[v]) + high_products(sum[v], even[v], odd[v]);
    }
  }
  for (std::size_t v = 0; v < Count; ++v) {
    words32 const half = (column_at(8, octave[v]) + high_products(sum[v], even[v], odd[v])) >> 2;
    words32 const z = as<integers>(word[v]) < 0 ? 0 - half : half;
    store_vector(scale * (__builtin_convertvector(as<integers>(z), floats) * 0x1p-28F),
                 out + float_lanes * v);
  }
}

#endif

}  // namespace tacit::detail
