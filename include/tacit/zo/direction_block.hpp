// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>
#include <tacit/random/normal.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/random/sphere.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/direction_vectors.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

/// Many entries of a direction at a time, on the host: bit for bit what the direction gives one by
/// one, and much faster.

namespace tacit::detail {

// Functions that fill a block are not inlined: they are called once a block, from many passes.

/// Entries are made in groups of whole Philox blocks: 128 signs of one block, normals of as many blocks as
/// there are registers for.
inline constexpr std::uint64_t sign_group = 128;
#if defined(__AVX512F__)
inline constexpr std::uint64_t normal_group = 128;
#else
inline constexpr std::uint64_t normal_group = 32;
#endif

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

/// At most 2048 entries from index `begin` on, both multiples of the group.
[[gnu::noinline]] inline void fill_normals(direction const& z, std::uint64_t begin,
                                           std::size_t length, float* out) noexcept {
  constexpr std::size_t vectors = normal_group / float_lanes;  // of a group
  philox_lanes const lanes(z.stream);
  words32 word[2048 / float_lanes];
  lane_bits beyond[2048 / float_lanes] = {};
  // One short loop after the other: each overlaps better with itself than one long loop would.
  for (std::size_t j = 0; j < length; j += normal_group) {
    lanes.blocks<vectors / 2>((begin + j) / 4, word + j / float_lanes);
  }
  for (std::size_t j = 0; j < length; j += normal_group) {
    std::size_t const v = j / float_lanes;
    normals_from<vectors>(word + v, z.scale, out + j, beyond + v);
  }
  for (std::size_t j = 0; j < length; j += 64) {
    auto left = load_vector<std::uint64_t>(beyond + j / float_lanes);
    for (; left != 0; left &= left - 1) {
      std::size_t const i = j + static_cast<std::size_t>(__builtin_ctzll(left));
      out[i] = z.scale * normal_from(word[i / float_lanes][i % float_lanes]);
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
#if defined(TACIT_VECTOR_DRAWS)
  constexpr std::size_t width = philox_lanes::width;
  if (n % width == 0 && blocks >= width) {
    philox_lanes const lanes(stream);
    auto const fill = [&]<std::size_t Groups>(std::integral_constant<std::size_t, Groups>) {
      for (; j + width * Groups <= blocks; j += width * Groups) {
        words32 words[2 * Groups];
        lanes.blocks<Groups>(n + j, words);
        std::memcpy(out, words, sizeof words);
        out += 4 * width * Groups;
      }
    };
    constexpr std::size_t most = width == 4 ? 2 : 16 / width;  // for which there are registers
    fill(std::integral_constant<std::size_t, most>{});
    fill(std::integral_constant<std::size_t, 1>{});
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
