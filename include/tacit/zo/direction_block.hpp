// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>
#include <tacit/random/normal.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/random/sphere.hpp>
#include <tacit/zo/direction.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__) && !defined(__CUDACC__)
#include <immintrin.h>
#define TACIT_AVX2
#endif

/// Many entries of a direction at a time, on the host: bit for bit what the direction gives one by
/// one, and much faster.

namespace tacit::detail {

// Functions that fill a block are not inlined: they are called once a block, from many passes.

/// Entries are made in groups that share Philox blocks: 128 signs one block, 32 normals eight.
inline constexpr std::uint64_t sign_group = 128;
inline constexpr std::uint64_t normal_group = 32;

struct single_bits {
  std::uint32_t bit[32];
};

inline constexpr single_bits bits_of_word = [] {
  single_bits table{};
  for (std::uint32_t j = 0; j < 32; ++j) table.bit[j] = 1U << j;
  return table;
}();

/// Sign j of a word as ±1. Written so that g++ and clang++ both find the vectors, of any width, in a
/// loop over j.
[[nodiscard]] inline float sign_of(std::uint32_t word, std::size_t j) noexcept {
  std::uint32_t const bit = bits_of_word.bit[j];
  return __builtin_bit_cast(float, (word & bit) == bit ? 0xBF800000U : 0x3F800000U);
}

#if defined(TACIT_AVX2)

/// Philox on blocks side by side, a word in each 64-bit lane. Only the lower half of a lane counts,
/// which is all that a multiplication reads.
class philox_lanes {
 public:
  explicit philox_lanes(stream_id stream) noexcept
      : step_low_(_mm256_set1_epi64x(static_cast<std::int64_t>(stream.step))),
        step_high_(_mm256_srli_epi64(step_low_, 32)),
        use_(static_cast<std::uint64_t>(stream.use) << 56) {
    auto k0 = static_cast<std::uint32_t>(stream.seed);
    auto k1 = static_cast<std::uint32_t>(stream.seed >> 32);
    for (int round = 0; round < 10; ++round) {
      key0_[round] = _mm256_set1_epi64x(k0);
      key1_[round] = _mm256_set1_epi64x(k1);
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
  }

  /// The words of blocks n … n + 4·Groups − 1 in their order. n is a multiple of 4.
  template <int Groups>
  void blocks(std::uint64_t n, __m256i (&out)[2 * Groups]) const noexcept {
    __m256i const factor0 = _mm256_set1_epi64x(0xD2511F53);
    __m256i const factor1 = _mm256_set1_epi64x(0xCD9E8D57);
    __m256i a[Groups], b[Groups], c[Groups], d[Groups];
    for (int g = 0; g < Groups; ++g) {
      std::uint64_t const place = (n + 4 * static_cast<std::uint64_t>(g)) | use_;
      // Lanes 0, 2, 1, 3, so that the unpacking below puts them in order.
      a[g] = _mm256_or_si256(_mm256_set1_epi64x(static_cast<std::int64_t>(place)),
                             _mm256_setr_epi64x(0, 2, 1, 3));
      b[g] = _mm256_srli_epi64(a[g], 32);
      c[g] = step_low_;
      d[g] = step_high_;
    }
    for (int round = 0; round < 10; ++round) {
      for (int g = 0; g < Groups; ++g) {
        __m256i const p = _mm256_mul_epu32(factor0, a[g]);
        __m256i const q = _mm256_mul_epu32(factor1, c[g]);
        a[g] = _mm256_xor_si256(_mm256_srli_epi64(q, 32), _mm256_xor_si256(b[g], key0_[round]));
        b[g] = q;
        c[g] = _mm256_xor_si256(_mm256_srli_epi64(p, 32), _mm256_xor_si256(d[g], key1_[round]));
        d[g] = p;
      }
    }
    for (int g = 0; g < Groups; ++g) {
      __m256i const ab = _mm256_blend_epi32(a[g], _mm256_slli_epi64(b[g], 32), 0xAA);
      __m256i const cd = _mm256_blend_epi32(c[g], _mm256_slli_epi64(d[g], 32), 0xAA);
      out[2 * g] = _mm256_unpacklo_epi64(ab, cd);
      out[2 * g + 1] = _mm256_unpackhi_epi64(ab, cd);
    }
  }

 private:
  __m256i step_low_;
  __m256i step_high_;
  std::uint64_t use_;
  __m256i key0_[10];
  __m256i key1_[10];
};

/// The table of half_normal by columns, of the first eight octaves: what a register can look up. The
/// last column is four times the right end, with the 2 that rounds.
struct alignas(32) first_octaves {
  std::uint32_t column[9][8];
};

inline constexpr first_octaves common_quantiles = [] {
  first_octaves table{};
  for (int octave = 0; octave < 8; ++octave) {
    for (int k = 0; k < 8; ++k) {
      table.column[k][octave] = static_cast<std::uint32_t>(quantiles.slope[octave][k]);
    }
    table.column[8][octave] = 4 * static_cast<std::uint32_t>(quantiles.right_end[octave]) + 2;
  }
  return table;
}();

/// normal_from of 32 words, times scale: four vectors in step, for each waits on itself. One draw in
/// 256 lies beyond the first eight octaves and comes out wrong; its bit in the answer is set.
inline std::uint32_t normals_from(__m256i const (&word)[4], __m256 scale, float* out) noexcept {
  constexpr int count = 4;
  auto const column = [](int k) {
    return _mm256_load_si256(reinterpret_cast<__m256i const*>(common_quantiles.column[k]));
  };
  std::uint32_t beyond = 0;
  __m256i octave[count], even[count], odd[count], sum[count];
  for (int v = 0; v < count; ++v) {
    // The leading bit by way of a float's exponent: in these octaves it is none of the lowest eight,
    // and without them the conversion is exact.
    __m256 const leading =
        _mm256_cvtepi32_ps(_mm256_and_si256(word[v], _mm256_set1_epi32(0x7FFFFF00)));
    octave[v] = _mm256_sub_epi32(_mm256_set1_epi32(157),
                                 _mm256_srli_epi32(_mm256_castps_si256(leading), 23));
    int const lanes = _mm256_movemask_ps(
        _mm256_castsi256_ps(_mm256_cmpgt_epi32(octave[v], _mm256_set1_epi32(7))));
    beyond |= static_cast<std::uint32_t>(lanes) << 8 * v;
    __m256i const minus_one = _mm256_set1_epi32(-1);
    __m256i const q = _mm256_sub_epi32(_mm256_add_epi32(word[v], word[v]), minus_one);  // 2m + 1
    even[v] = _mm256_xor_si256(_mm256_sllv_epi32(q, octave[v]), minus_one);  // the distance
    odd[v] = _mm256_srli_epi64(even[v], 32);
    sum[v] = _mm256_permutevar8x32_epi32(column(7), octave[v]);
  }
  auto const high_product = [&](int v) {
    __m256i const p = _mm256_mul_epi32(sum[v], even[v]);
    __m256i const q = _mm256_mul_epi32(_mm256_srli_epi64(sum[v], 32), odd[v]);
    return _mm256_blend_epi32(_mm256_srli_epi64(p, 32), q, 0xAA);
  };
  for (int k = 6; k >= 0; --k) {
    for (int v = 0; v < count; ++v) {
      sum[v] = _mm256_add_epi32(_mm256_permutevar8x32_epi32(column(k), octave[v]), high_product(v));
    }
  }
  for (int v = 0; v < count; ++v) {
    __m256i const four_times =
        _mm256_add_epi32(_mm256_permutevar8x32_epi32(column(8), octave[v]), high_product(v));
    __m256i const z = _mm256_sign_epi32(_mm256_srli_epi32(four_times, 2), word[v]);
    _mm256_storeu_ps(out + 8 * v, _mm256_mul_ps(scale, _mm256_mul_ps(_mm256_cvtepi32_ps(z),
                                                                     _mm256_set1_ps(0x1p-28F))));
  }
  return beyond;
}

/// At most 2048 entries from index `begin` on, both multiples of the group.
[[gnu::noinline]] inline void fill_normals(direction const& z, std::uint64_t begin,
                                           std::size_t length, float* out) noexcept {
  philox_lanes const lanes(z.stream);
  __m256 const scale = _mm256_set1_ps(z.scale);
  std::size_t const groups = length / normal_group;
  __m256i words[64][4];
  std::uint32_t beyond[64];
  // One short loop after the other: each overlaps better with itself than one long loop would.
  for (std::size_t j = 0; j < groups; ++j) lanes.blocks<2>(begin / 4 + 8 * j, words[j]);
  for (std::size_t j = 0; j < groups; ++j) {
    beyond[j] = normals_from(words[j], scale, out + normal_group * j);
  }
  for (std::size_t j = 0; j < groups; ++j) {
    for (std::uint32_t left = beyond[j]; left != 0; left &= left - 1) {
      int const lane = __builtin_ctz(left);
      std::uint32_t word = 0;
      std::memcpy(&word, reinterpret_cast<char const*>(words[j]) + 4 * lane, sizeof word);
      out[normal_group * j + static_cast<std::size_t>(lane)] = z.scale * normal_from(word);
    }
  }
}

#else

[[gnu::noinline]] inline void fill_normals(direction const& z, std::uint64_t begin,
                                           std::size_t length, float* __restrict out) noexcept {
  for (std::size_t j = 0; j < length; j += 4) {
    four_normals const x = normals(z.stream, (begin + j) / 4);
    for (std::size_t k = 0; k < 4; ++k) out[j + k] = z.scale * x.value[k];
  }
}

#endif

/// The words with the signs of entries 128n … 128(n + blocks) − 1.
[[gnu::noinline]] inline void fill_words(stream_id stream, std::uint64_t n, std::size_t blocks,
                                         std::uint32_t* out) noexcept {
  std::size_t j = 0;
#if defined(TACIT_AVX2)
  if (n % 4 == 0 && blocks >= 4) {
    philox_lanes const lanes(stream);
    auto const store = [&](auto const& words) {
      for (__m256i const word : words) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), word);
        out += 8;
      }
    };
    for (; j + 16 <= blocks; j += 16) {
      __m256i words[8];
      lanes.blocks<4>(n + j, words);
      store(words);
    }
    for (; j + 4 <= blocks; j += 4) {
      __m256i words[2];
      lanes.blocks<1>(n + j, words);
      store(words);
    }
  }
#endif
  for (; j < blocks; ++j) {
    philox_block const block = random_block(stream, n + j);
    for (std::uint32_t const word : block.word) *out++ = word;
  }
}

/// Room for a block of a direction. A block begins at a multiple of its size.
class direction_block {
 public:
  static constexpr std::size_t size = 2048;

  /// z[first] … z[first + length − 1], which lie in one block.
  [[nodiscard, gnu::noinline]] float const* load(direction const& z, std::uint64_t first,
                                                 std::size_t length) noexcept {
    bool const signs = z.law == direction_law::rademacher;
    std::uint64_t const group = signs ? sign_group : normal_group;
    std::uint64_t const begin = first / group * group;
    auto const skipped = static_cast<std::size_t>(first - begin);
    std::size_t const whole = (skipped + length + group - 1) / group * group;
    if (signs) {
      std::uint32_t words[size / 32];
      fill_words(z.stream, begin / sign_group, whole / sign_group, words);
      for (std::size_t k = 0; k < whole / 32; ++k) {
        for (std::size_t j = 0; j < 32; ++j) entries_[32 * k + j] = sign_of(words[k], j);
      }
    } else {
      fill_normals(z, begin, whole, entries_);
    }
    return entries_ + skipped;
  }

 private:
  alignas(64) float entries_[size];
};

/// direction_at by blocks: the same, since the sum of squares is exact in any order.
[[nodiscard]] inline direction direction_by_blocks(direction_law law, stream_id stream,
                                                   std::uint64_t dimension) noexcept {
  if (law != direction_law::sphere) return direction_at(law, stream, dimension);
  direction const x{direction_law::gaussian, stream};
  direction_block block;
  normal_square_sum sum;
  for (std::uint64_t first = 0; first < dimension; first += direction_block::size) {
    std::uint64_t const left = dimension - first;
    std::size_t const length =
        left < direction_block::size ? static_cast<std::size_t>(left) : direction_block::size;
    float const* const entries = block.load(x, first, length);
    for (std::size_t j = 0; j < length; ++j) sum.add(entries[j]);
  }
  return {law, stream, sphere_scale(sum, dimension)};
}

}  // namespace tacit::detail
