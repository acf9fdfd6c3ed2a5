// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>

#include <cstdint>

/// Public randomness: every number is a pure function of (seed, step, purpose, index). Any worker, on
/// any machine and in any order, recomputes any draw and gets the same bits. Nothing here is secret:
/// who knows the seed knows every draw. Secrets come from tacit/secret, and no function takes both.

namespace tacit {

/// 128 bits of counter going in, 128 bits of random words coming out.
struct philox_block {
  std::uint32_t word[4];

  friend constexpr bool operator==(philox_block const&, philox_block const&) = default;
};

struct philox_key {
  std::uint32_t word[2];
};

namespace detail {

struct word_product {
  std::uint32_t low;
  std::uint32_t high;
};

/// Both halves of a·b. (Left to itself, nvcc keeps the words of a block in 64 bits each.)
[[nodiscard]] TACIT_HD constexpr word_product product_of(std::uint32_t a,
                                                         std::uint32_t b) noexcept {
#if defined(__CUDA_ARCH__)
  if (!__builtin_is_constant_evaluated()) {
    word_product out;
    asm("{.reg .u64 p;\n\tmul.wide.u32 p, %2, %3;\n\tmov.b64 {%0, %1}, p;}"
        : "=r"(out.low), "=r"(out.high)
        : "r"(a), "r"(b));
    return out;
  }
#endif
  std::uint64_t const product = std::uint64_t{a} * b;
  return {static_cast<std::uint32_t>(product), static_cast<std::uint32_t>(product >> 32)};
}

}  // namespace detail

/// Philox4x32-10: a keyed bijection of 128-bit counters. Passes BigCrush; not for cryptography.
/// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
[[nodiscard]] TACIT_HD constexpr philox_block philox(philox_block counter,
                                                     philox_key key) noexcept {
  std::uint32_t a = counter.word[0], b = counter.word[1], c = counter.word[2], d = counter.word[3];
  std::uint32_t k0 = key.word[0], k1 = key.word[1];
  for (int round = 0; round < 10; ++round) {
    detail::word_product const p = detail::product_of(0xD2511F53, a);
    detail::word_product const q = detail::product_of(0xCD9E8D57, c);
    a = q.high ^ b ^ k0;
    b = q.low;
    c = p.high ^ d ^ k1;
    d = p.low;
    k0 += 0x9E3779B9;  // the golden ratio
    k1 += 0xBB67AE85;  // √3 − 1
  }
  return {{a, b, c, d}};
}

// The known answers published with Random123, in every compiler that reads this header.
static_assert(philox({{0, 0, 0, 0}}, {{0, 0}}) ==
              philox_block{{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}});
static_assert(philox({{0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}},
                     {{0xFFFFFFFF, 0xFFFFFFFF}}) ==
              philox_block{{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}});
static_assert(philox({{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}},
                     {{0xA4093822, 0x299F31D0}}) ==
              philox_block{{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}});

/// What a stream is used for. Streams of different purposes share no counter, whatever seed and step.
/// The numbers are part of every recorded run: they never change.
enum class purpose : std::uint8_t {
  direction = 0,       // z of a zeroth-order step
  membership = 1,      // which record is in which candidate set
  data_split = 2,      // which row is public, private, test
  initialisation = 3,  // starting parameters
  rounding = 4,        // of parameters of 16 bits and of quantised ones, at random
  quantised_move = 5,  // of the moves of quantised parameters to θ ± μz
  estimation = 16,     // draws that a figure is computed from, about a run or before it
};

/// Which public stream. `seed` and `step` are free 64-bit numbers.
struct stream_id {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  purpose use = purpose::direction;
};

/// The n-th block of 128 bits, n < 2^56.
///
/// The key is the seed; the counter is step (64 bits), purpose (8) and n (56). That is one to one, and
/// Philox is a bijection under each key: two blocks of one seed never share a counter. (From n = 2^56
/// on, n would run into the purpose.)
[[nodiscard]] TACIT_HD constexpr philox_block random_block(stream_id stream,
                                                           std::uint64_t n) noexcept {
  std::uint64_t const place = n ^ (static_cast<std::uint64_t>(stream.use) << 56);
  return philox(
      {{static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32),
        static_cast<std::uint32_t>(stream.step), static_cast<std::uint32_t>(stream.step >> 32)}},
      {{static_cast<std::uint32_t>(stream.seed), static_cast<std::uint32_t>(stream.seed >> 32)}});
}

namespace detail {

/// Word `lane` mod 4. Selects instead of indexing, which would send the block through memory.
[[nodiscard]] TACIT_HD constexpr std::uint32_t pick(philox_block const& block,
                                                    std::uint64_t lane) noexcept {
  std::uint32_t const even = (lane & 2) != 0 ? block.word[2] : block.word[0];
  std::uint32_t const odd = (lane & 2) != 0 ? block.word[3] : block.word[1];
  return (lane & 1) != 0 ? odd : even;
}

}  // namespace detail

/// 32 and 64 random bits, index < 2^56. `uniform`, `normal` and `rademacher` read the same blocks:
/// draw one law from a stream, and take another step or purpose for the next.
[[nodiscard]] TACIT_HD constexpr std::uint32_t random_bits32(stream_id stream,
                                                             std::uint64_t index) noexcept {
  return detail::pick(random_block(stream, index / 4), index);
}

[[nodiscard]] TACIT_HD constexpr std::uint64_t random_bits64(stream_id stream,
                                                             std::uint64_t index) noexcept {
  philox_block const block = random_block(stream, index / 2);
  return (index & 1) != 0 ? std::uint64_t{block.word[3]} << 32 | block.word[2]
                          : std::uint64_t{block.word[1]} << 32 | block.word[0];
}

}  // namespace tacit
