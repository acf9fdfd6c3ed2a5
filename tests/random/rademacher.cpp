// SPDX-License-Identifier: Apache-2.0
#include <tacit/random/rademacher.hpp>

#include "support/catch.hpp"
#include "support/statistics.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

using tacit::rademacher;
using tacit::rademacher_word;
using tacit::stream_id;

TEST_CASE("a word holds 32 signs as floats do", "[rademacher]") {
  stream_id const stream{5, 6};
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    std::uint32_t const sign = rademacher_word(stream, i / 32) >> (i % 32) & 1;
    REQUIRE(std::bit_cast<std::uint32_t>(rademacher(stream, i)) == (0x3F800000 | sign << 31));
  }
}

TEST_CASE("128 signs share a block", "[rademacher]") {
  stream_id const stream{5, 6};
  auto const block = tacit::random_block(stream, 3);
  for (std::uint64_t i = 0; i < 128; ++i) {
    bool const minus = (block.word[i / 32] >> (i % 32) & 1) != 0;
    CHECK(rademacher(stream, 3 * 128 + i) == (minus ? -1.0F : 1.0F));
  }
}

TEST_CASE("signs are fair, and independent across index, step, seed and purpose", "[rademacher]") {
  // Sums of 2^22 signs or products of signs. False alarm 1e-6 for each of the eight.
  constexpr std::uint64_t words = 1 << 17;
  constexpr double n = 32.0 * words;
  auto const score = [&](auto word) {
    std::int64_t minus = 0;
    for (std::uint64_t i = 0; i < words; ++i) minus += std::popcount(word(i));
    return std::abs(statistics::binomial_score(static_cast<double>(minus), n, 0.5));
  };
  auto const at = [](std::uint64_t seed, std::uint64_t step, tacit::purpose use) {
    return [=](std::uint64_t i) { return rademacher_word({seed, step, use}, i); };
  };
  auto const base = at(1, 1, tacit::purpose::direction);
  auto const product = [&](auto other) {
    return score([=](std::uint64_t i) { return base(i) ^ other(i); });
  };
  CHECK(score(base) < statistics::normal_limit);
  CHECK(product([=](std::uint64_t i) { return std::rotr(base(i), 1); }) < statistics::normal_limit);
  CHECK(product([=](std::uint64_t i) { return base(i + 1); }) < statistics::normal_limit);
  CHECK(product([=](std::uint64_t i) { return base(i + 4); }) < statistics::normal_limit);
  CHECK(product(at(1, 2, tacit::purpose::direction)) < statistics::normal_limit);
  CHECK(product(at(2, 1, tacit::purpose::direction)) < statistics::normal_limit);
  CHECK(product(at(1, 1, tacit::purpose::membership)) < statistics::normal_limit);
  CHECK(product(at(1, 1, tacit::purpose::initialisation)) < statistics::normal_limit);
}
