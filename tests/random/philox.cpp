// SPDX-License-Identifier: Apache-2.0
#include <tacit/random/philox.hpp>

#include "support/catch.hpp"
#include "support/statistics.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <set>
#include <tuple>

using tacit::philox;
using tacit::philox_block;
using tacit::purpose;
using tacit::random_block;
using tacit::stream_id;

namespace {

std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t> words(philox_block b) {
  return {b.word[0], b.word[1], b.word[2], b.word[3]};
}

int differing_bits(philox_block a, philox_block b) {
  int count = 0;
  for (int k = 0; k < 4; ++k) count += std::popcount(a.word[k] ^ b.word[k]);
  return count;
}

constexpr std::uint64_t ones = ~std::uint64_t{0};

}  // namespace

TEST_CASE("philox gives the published answers at run time too", "[philox]") {
  CHECK(philox({{0, 0, 0, 0}}, {{0, 0}}) ==
        philox_block{{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}});
  CHECK(philox({{~0U, ~0U, ~0U, ~0U}}, {{~0U, ~0U}}) ==
        philox_block{{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}});
  CHECK(philox({{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}}, {{0xA4093822, 0x299F31D0}}) ==
        philox_block{{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}});
}

TEST_CASE("the counter is step, purpose and block number", "[philox]") {
  stream_id const stream{
      .seed = 0x0123456789ABCDEF, .step = 0xFEDCBA9876543210, .use = purpose::initialisation};
  CHECK(random_block(stream, 0x00AABBCCDDEEFF11) ==
        philox({{0xDDEEFF11, 0x03AABBCC, 0x76543210, 0xFEDCBA98}}, {{0x89ABCDEF, 0x01234567}}));
}

TEST_CASE("no two blocks of a seed coincide", "[philox]") {
  // Certain, not only likely: a bijection of distinct counters. Steps and blocks at both ends, and
  // every purpose.
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> seen;
  std::size_t blocks = 0;
  for (std::uint64_t step : {std::uint64_t{0}, std::uint64_t{1}, ones >> 8, ones - 1, ones}) {
    for (int use = 0; use < 4; ++use) {
      for (std::uint64_t n = 0; n < 64; ++n) {
        for (std::uint64_t const block : {n, (ones >> 8) - n}) {
          seen.insert(words(random_block({9, step, static_cast<purpose>(use)}, block)));
          ++blocks;
        }
      }
    }
  }
  CHECK(seen.size() == blocks);
}

TEST_CASE("32- and 64-bit words are the block's words in order", "[philox]") {
  stream_id const stream{3, 5};
  philox_block const block = random_block(stream, 7);
  for (std::uint64_t k = 0; k < 4; ++k) {
    CHECK(tacit::random_bits32(stream, 28 + k) == block.word[k]);
  }
  for (std::uint64_t k = 0; k < 2; ++k) {
    CHECK(tacit::random_bits64(stream, 14 + k) ==
          (std::uint64_t{block.word[2 * k + 1]} << 32 | block.word[2 * k]));
  }
}

TEST_CASE("every bit of seed, step, purpose and index moves half the block", "[philox]") {
  // Mean number of changed bits over 187 flips of 128 bits each: sd √(32/187). False alarm 1e-6.
  stream_id const stream{0x9E3779B97F4A7C15, 12345, purpose::membership};
  std::uint64_t const n = 678;
  philox_block const block = random_block(stream, n);
  int changed = 0;
  int flips = 0;
  auto const count = [&](stream_id other, std::uint64_t m) {
    changed += differing_bits(block, random_block(other, m));
    ++flips;
  };
  for (int bit = 0; bit < 64; ++bit) {
    std::uint64_t const flip = std::uint64_t{1} << bit;
    count({stream.seed ^ flip, stream.step, stream.use}, n);
    count({stream.seed, stream.step ^ flip, stream.use}, n);
    if (bit < 56) count(stream, n ^ flip);
  }
  for (auto const use : {purpose::direction, purpose::data_split, purpose::initialisation}) {
    count({stream.seed, stream.step, use}, n);
  }
  REQUIRE(flips == 187);
  double const mean = static_cast<double>(changed) / flips;
  CHECK(std::abs(mean - 64.0) < statistics::normal_limit * std::sqrt(32.0 / flips));
}
