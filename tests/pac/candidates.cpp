// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/candidates.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

using tacit::candidate_set;
using shape = candidate_set::shape;

std::size_t ones_of(candidate_set const& set, std::size_t record) {
  std::size_t ones = 0;
  for (std::size_t m = 0; m < set.subsets(); ++m) ones += set.contains(m, record) ? 1 : 0;
  return ones;
}

// The low 64 subsets of a record, subset m at bit m.
std::uint64_t column_of(candidate_set const& set, std::size_t record) {
  std::uint64_t column = 0;
  for (std::size_t m = 0; m < std::min<std::size_t>(64, set.subsets()); ++m) {
    column |= std::uint64_t{set.contains(m, record)} << m;
  }
  return column;
}

std::vector<std::int64_t> naive_sums(candidate_set const& set,
                                     std::vector<std::int32_t> const& per_record) {
  std::vector<std::int64_t> sums(set.subsets());
  for (std::size_t m = 0; m < set.subsets(); ++m) {
    for (std::size_t i = 0; i < set.records(); ++i) {
      if (set.contains(m, i)) sums[m] += per_record[i];
    }
  }
  return sums;
}

std::vector<std::int64_t> sums_of(candidate_set const& set,
                                  std::vector<std::int32_t> const& per_record) {
  std::vector<std::int64_t> sums(set.subsets());
  set.add_sums(per_record, sums);
  return sums;
}

}  // namespace

TEST_CASE("every record is in exactly subsets / one_in candidate subsets") {
  for (bool const complementary : {false, true}) {
    for (std::size_t const one_in : {2U, 3U, 5U, 16U, 100U}) {
      for (std::size_t const multiple : {1U, 2U, 3U, 13U, 32U, 33U, 64U, 129U}) {
        if (complementary && one_in != 2) continue;
        auto const set = candidate_set::balanced({.records = 37,
                                                  .subsets = one_in * multiple,
                                                  .one_in = one_in,
                                                  .complementary = complementary},
                                                 11);
        CAPTURE(one_in, multiple, complementary);
        for (std::size_t i = 0; i < set.records(); ++i) REQUIRE(ones_of(set, i) == multiple);
        CHECK(set.prior() == 1.0 / static_cast<double>(one_in));
      }
    }
  }
}

TEST_CASE("the shape is kept") {
  auto const set = candidate_set::balanced({.records = 5, .subsets = 12, .one_in = 3}, 7, 90);
  CHECK(set.records() == 5);
  CHECK(set.subsets() == 12);
  CHECK(set.dimensions().one_in == 3);
  CHECK_FALSE(set.dimensions().complementary);
  CHECK(set.public_seed() == 7);
  CHECK(set.first_record() == 90);
  CHECK_THROWS_AS(set.contains(12, 0), std::invalid_argument);
  CHECK_THROWS_AS(set.contains(0, 5), std::invalid_argument);
}

TEST_CASE("subsets 2j and 2j+1 are complements when asked") {
  auto const set =
      candidate_set::balanced({.records = 50, .subsets = 134, .complementary = true}, 3);
  for (std::size_t i = 0; i < set.records(); ++i) {
    for (std::size_t m = 0; m < set.subsets(); m += 2) {
      REQUIRE(set.contains(m, i) != set.contains(m + 1, i));
    }
  }
}

// The seed is fixed, so this passes or fails for good; the rates are over the choice of the seed.
TEST_CASE("every allowed column is equally likely") {
  struct family {
    shape dimensions;
    std::size_t columns;
  };
  for (family const& f : {family{{.records = 20'000, .subsets = 6}, 20},
                          family{{.records = 15'000, .subsets = 6, .one_in = 3}, 15},
                          family{{.records = 6'000, .subsets = 6, .one_in = 6}, 6},
                          family{{.records = 8'000, .subsets = 6, .complementary = true}, 8}}) {
    auto const set = candidate_set::balanced(f.dimensions, 20);
    std::map<std::uint64_t, int> count;
    for (std::size_t i = 0; i < set.records(); ++i) ++count[column_of(set, i)];
    CHECK(count.size() == f.columns);
    // 1000 expected, variance below 1000. Bernstein: a deviation of 200 has probability below
    // 2·exp(−200²/(2·(1000 + 200/3))) = 1.5e-8 a column, 8e-7 in all.
    for (auto const& [column, times] : count) {
      CAPTURE(column);
      CHECK(std::abs(times - 1000) < 200);
    }
  }
}

TEST_CASE("bounded integers have no bias where a plain scaling has much") {
  // Scaling 32 bits to 3·2³⁰ would make a multiple of 3 come half of the time.
  tacit::detail::column_stream random(22, 0);
  int multiples = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::uint32_t const x = random.below(3U << 30);
    REQUIRE(x < 3U << 30);
    multiples += x % 3 == 0 ? 1 : 0;
  }
  // Hoeffding: 2·exp(−2·600²/30000) = 8e-11.
  CHECK(std::abs(multiples - 10'000) < 600);
  for (int i = 0; i < 100; ++i) REQUIRE(random.below(1) == 0);
}

TEST_CASE("bits are fair far from the first word, and records are independent") {
  auto const set = candidate_set::balanced({.records = 20'000, .subsets = 130}, 21);
  // Binomial(20000, ½): Hoeffding gives 2·exp(−2·500²/20000) = 2.8e-11 a subset, 4e-9 in all.
  for (std::size_t m = 0; m < set.subsets(); ++m) {
    int in = 0;
    for (std::size_t i = 0; i < set.records(); ++i) in += set.contains(m, i) ? 1 : 0;
    REQUIRE(std::abs(in - 10'000) < 500);
  }
  // The overlap of two columns is hypergeometric: mean 32.5, variance 8.19, within 65. Over 10⁴
  // disjoint pairs Bernstein gives 2·exp(−1900²/(2·(81900 + 32.5·1900/3))) = 5e-8.
  int overlap = 0;
  for (std::size_t i = 0; i < set.records(); i += 2) {
    for (std::size_t m = 0; m < set.subsets(); ++m) {
      overlap += set.contains(m, i) && set.contains(m, i + 1) ? 1 : 0;
    }
  }
  CHECK(std::abs(overlap - 325'000) < 1900);
}

TEST_CASE("a shard rebuilds exactly its own columns") {
  for (shape whole_shape :
       {shape{.records = 200, .subsets = 70}, shape{.records = 200, .subsets = 69, .one_in = 3},
        shape{.records = 200, .subsets = 70, .complementary = true}}) {
    auto const whole = candidate_set::balanced(whole_shape, 5);
    for (std::size_t const first : {0U, 1U, 63U, 64U, 199U}) {
      shape part_shape = whole_shape;
      part_shape.records = std::min<std::size_t>(66, 200 - first);
      auto const part = candidate_set::balanced(part_shape, 5, first);
      for (std::size_t i = 0; i < part.records(); ++i) {
        for (std::size_t m = 0; m < part.subsets(); ++m) {
          REQUIRE(part.contains(m, i) == whole.contains(m, first + i));
        }
      }
    }
  }
}

TEST_CASE("the seed and the record both matter, in all their bits") {
  auto const base = candidate_set::balanced({.records = 3, .subsets = 128}, 1);
  CHECK(column_of(base, 0) != column_of(base, 1));
  CHECK(column_of(base, 0) != column_of(base, 2));
  for (int bit = 0; bit < 64; ++bit) {
    std::uint64_t const flip = std::uint64_t{1} << bit;
    shape const one = {.records = 1, .subsets = 128};
    CHECK(column_of(candidate_set::balanced(one, 1 ^ flip), 0) != column_of(base, 0));
    CHECK(column_of(candidate_set::balanced(one, 1, flip), 0) != column_of(base, 0));
  }
}

TEST_CASE("columns are part of every recorded run: they never change") {
  shape const fair = {.records = 3, .subsets = 64};
  auto const set = candidate_set::balanced(fair, 42);
  CHECK(column_of(set, 0) == 0x082DE7227F39B163);
  CHECK(column_of(set, 1) == 0x4C8A7C17F6CE22B4);
  CHECK(column_of(set, 2) == 0xCCA0B490F6F1BD98);
  auto const eighth = candidate_set::balanced({.records = 1, .subsets = 64, .one_in = 8}, 42);
  CHECK(column_of(eighth, 0) == 0x0801000020190003);
  auto const pairs =
      candidate_set::balanced({.records = 1, .subsets = 64, .complementary = true}, 42);
  CHECK(column_of(pairs, 0) == 0x9595A96A65A996A9);
}

TEST_CASE("subset sums equal a plain loop, whatever the shape") {
  std::mt19937_64 random(6);
  std::uniform_int_distribution<std::int32_t> addend(-(1 << 30), 1 << 30);
  for (std::size_t const n : {1U, 2U, 7U, 8U, 9U, 63U, 64U, 65U, 127U, 200U, 1000U}) {
    for (std::size_t const m : {2U, 4U, 6U, 8U, 10U, 62U, 64U, 66U, 126U, 128U, 130U, 254U}) {
      auto const set = candidate_set::balanced({.records = n, .subsets = m}, n + m);
      std::vector<std::int32_t> x(n);
      for (auto& v : x) v = addend(random);
      CAPTURE(n, m);
      REQUIRE(sums_of(set, x) == naive_sums(set, x));
    }
  }
  for (std::size_t const one_in : {3U, 5U, 7U}) {
    auto const set =
        candidate_set::balanced({.records = 77, .subsets = 11 * one_in, .one_in = one_in}, 1);
    std::vector<std::int32_t> x(77);
    for (auto& v : x) v = addend(random);
    REQUIRE(sums_of(set, x) == naive_sums(set, x));
  }
}

TEST_CASE("subset sums are exact at the extremes") {
  auto const set = candidate_set::balanced({.records = 1001, .subsets = 128}, 8);
  for (std::int32_t const extreme : {1 << 30, -(1 << 30), std::numeric_limits<std::int32_t>::max(),
                                     std::numeric_limits<std::int32_t>::min()}) {
    std::vector<std::int32_t> x(1001, extreme);
    REQUIRE(sums_of(set, x) == naive_sums(set, x));
    for (std::size_t i = 0; i < x.size(); i += 2) x[i] = -(extreme / 2);
    REQUIRE(sums_of(set, x) == naive_sums(set, x));
  }
  std::vector<std::int32_t> x(1001);
  x[500] = 1;  // one unit among zeros is not lost beside nothing
  auto const sums = sums_of(set, x);
  CHECK(std::accumulate(sums.begin(), sums.end(), std::int64_t{0}) == 64);
}

TEST_CASE("sums are added to what is there, and shards add up to the whole in any order") {
  std::mt19937_64 random(9);
  std::uniform_int_distribution<std::int32_t> addend(-(1 << 30), 1 << 30);
  shape dimensions = {.records = 300, .subsets = 128};
  auto const whole = candidate_set::balanced(dimensions, 12);
  std::vector<std::int32_t> x(300);
  for (auto& v : x) v = addend(random);
  auto const expected = naive_sums(whole, x);

  std::vector<std::size_t> firsts = {0, 100, 200};
  dimensions.records = 100;
  do {
    std::vector<std::int64_t> sums(128);
    for (std::size_t const first : firsts) {
      auto const part = candidate_set::balanced(dimensions, 12, first);
      part.add_sums({x.data() + first, 100}, sums);
    }
    REQUIRE(sums == expected);
  } while (std::next_permutation(firsts.begin(), firsts.end()));
}

TEST_CASE("membership sums equal a plain loop, and do not depend on the shard") {
  std::mt19937_64 random(10);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (std::size_t const m : {2U, 6U, 64U, 66U, 128U, 200U}) {
    std::vector<double> weight(m);
    double scale = 0.0;
    for (double& w : weight) scale += std::abs(w = uniform(random));
    auto const set = candidate_set::balanced({.records = 150, .subsets = m}, 13);
    std::vector<double> sums(150, std::numeric_limits<double>::quiet_NaN());
    set.membership_sums(weight, sums);
    double const allowed = (10.0 + static_cast<double>(m) / 64) * 0x1p-53 * scale;
    for (std::size_t i = 0; i < 150; ++i) {
      long double expected = 0.0L;
      for (std::size_t s = 0; s < m; ++s) expected += set.contains(s, i) ? weight[s] : 0.0;
      REQUIRE(std::abs(static_cast<double>(sums[i] - expected)) <= allowed);
    }
    for (std::size_t const first : {0U, 1U, 77U}) {
      auto const part = candidate_set::balanced({.records = 73, .subsets = m}, 13, first);
      std::vector<double> part_sums(73);
      part.membership_sums(weight, part_sums);
      REQUIRE(std::equal(part_sums.begin(), part_sums.end(),
                         sums.begin() + static_cast<std::ptrdiff_t>(first)));
    }
  }
}

TEST_CASE("each weight reaches exactly its own members") {
  auto const set = candidate_set::balanced({.records = 20, .subsets = 130}, 14);
  for (std::size_t m = 0; m < 130; ++m) {
    std::vector<double> weight(130);
    weight[m] = 0.3;
    std::vector<double> sums(20);
    set.membership_sums(weight, sums);
    for (std::size_t i = 0; i < 20; ++i) REQUIRE(sums[i] == (set.contains(m, i) ? 0.3 : 0.0));
  }
}

TEST_CASE("candidate_set refuses what it cannot balance, by name") {
  auto const build = [](shape s, std::size_t first = 0) {
    return candidate_set::balanced(s, 0, first);
  };
  CHECK_THROWS_WITH(build({}), "candidate_set: records is 0, but must be in [1, 2^32]");
  CHECK_THROWS_WITH(build({.records = 1, .subsets = 0}),
                    "candidate_set: subsets is 0, but must be in [1, 2^32 - 1]");
  CHECK_THROWS_WITH(build({.records = 1, .subsets = 127}),
                    "candidate_set: subsets is 127, but must be a multiple of one_in");
  CHECK_THROWS_AS(build({.records = 1, .subsets = 128, .one_in = 3}), std::invalid_argument);
  CHECK_THROWS_WITH(build({.records = 1, .one_in = 1}),
                    "candidate_set: one_in is 1, but must be at least 2");
  CHECK_THROWS_AS(build({.records = 1, .one_in = 0}), std::invalid_argument);
  CHECK_THROWS_WITH(build({.records = 1, .subsets = 128, .one_in = 4, .complementary = true}),
                    "candidate_set: one_in is 4, but must be 2 for complementary subsets");
  CHECK_THROWS_AS(build({.records = (std::size_t{1} << 32) + 1}), std::invalid_argument);
  CHECK_THROWS_AS(build({.records = 1, .subsets = std::size_t{1} << 32}), std::invalid_argument);
  CHECK_THROWS_AS(build({.records = 2}, std::numeric_limits<std::size_t>::max() - 1),
                  std::invalid_argument);
  CHECK_NOTHROW(build({.records = 2}, std::numeric_limits<std::size_t>::max() - 2));
}

TEST_CASE("sums refuse spans of another size and touch nothing") {
  auto const set = candidate_set::balanced({.records = 5, .subsets = 4}, 0);
  std::vector<std::int32_t> const five(5, 1), six(6, 1);
  std::vector<std::int64_t> four(4, 7), three(3, 7);
  CHECK_THROWS_AS(set.add_sums(six, four), std::invalid_argument);
  CHECK_THROWS_AS(set.add_sums(five, three), std::invalid_argument);
  CHECK(four == std::vector<std::int64_t>(4, 7));
  std::vector<double> const weights(4, 1.0), short_weights(3, 1.0);
  std::vector<double> out(5, 7.0), long_out(6, 7.0);
  CHECK_THROWS_AS(set.membership_sums(short_weights, out), std::invalid_argument);
  CHECK_THROWS_AS(set.membership_sums(weights, long_out), std::invalid_argument);
  CHECK(out == std::vector<double>(5, 7.0));
}
