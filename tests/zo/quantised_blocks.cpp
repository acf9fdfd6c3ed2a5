// SPDX-License-Identifier: Apache-2.0
#include <tacit/zo/launch.hpp>
#include <tacit/zo/quantised_blocks.hpp>
#include <tacit/zo/stochastic.hpp>

#include "support/catch.hpp"
#include "support/statistics.hpp"
#include "zo/some_blocks.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

namespace quantised_tests {

using namespace blocks_for_tests;

static_assert(std::is_trivially_copyable_v<quantised_update<q4_0>>);
static_assert(noexcept(quantised_perturb<q8_0>{}(0)));

TEST_CASE("blocks lie in memory as inference engines have them") {
  q4_0 four{half{0x3800}, {}};  // 1/2
  for (unsigned j = 0; j < 16; ++j) four.pair[j] = static_cast<std::uint8_t>(j | (15 - j) << 4);
  for (std::size_t j = 0; j < 16; ++j) {
    CHECK(value_of(four, j) == 0.5F * (static_cast<float>(j) - 8.0F));
    CHECK(value_of(four, j + 16) == 0.5F * (7.0F - static_cast<float>(j)));
  }
  q8_0 eight{half{0xB800}, {}};  // −1/2
  eight.entry[31] = -127;
  CHECK(value_of(eight, 31) == 63.5F);
}

TEMPLATE_TEST_CASE("an entry is set without its neighbours", "", q8_0, q4_0) {
  TestType const before = some_blocks<TestType>(1, 1.0F, direction_law::rademacher)[0];
  for (std::size_t j = 0; j < 32; ++j) {
    for (int q = TestType::least; q <= TestType::most; ++q) {
      TestType block = before;
      block.set(j, q);
      REQUIRE(block.get(j) == q);
      block.set(j, before.get(j));
      REQUIRE(block == before);
    }
  }
}

TEST_CASE("integers at random are neighbours, right on average") {
  std::mt19937 random(3);
  for (int n = 0; n < 300; ++n) {
    double const x = std::ldexp(static_cast<double>(random()), -static_cast<int>(random() % 60));
    if (x > 1e6) continue;
    double const below = std::floor(x);
    // For how many of 2^32 draws it goes up: these are the lowest.
    std::uint64_t low = 0;
    std::uint64_t high = std::uint64_t{1} << 32;
    while (low < high) {
      std::uint64_t const middle = (low + high) / 2;
      bool const up = integer_at_random(x, static_cast<std::uint32_t>(middle)) != below;
      (up ? low : high) = up ? middle + 1 : middle;
    }
    double const error = static_cast<double>(low) * 0x1p-32 - (x - below);
    CAPTURE(x);
    REQUIRE(error >= 0.0);
    REQUIRE(error < 0x1p-32);
    for (std::uint32_t const draw : {0U, static_cast<std::uint32_t>(random()), ~0U}) {
      int const q = integer_at_random(x, draw);
      REQUIRE((q == below || q == below + 1.0));
      REQUIRE(integer_at_random(-x, draw) == -q);
    }
  }
  CHECK(integer_at_random(5.0, 0) == 5);
  CHECK(integer_at_random(-5.0, ~0U) == -5);
  CHECK(integer_at_random(0.0, 0) == 0);
}

TEMPLATE_TEST_CASE("moves come back exactly, and stay within the integers", "", q8_0, q4_0) {
  for (direction_law const law : laws) {
    for (std::size_t const count : {1U, 2U, 59U, 60U, 61U, 200U}) {
      for (std::uint64_t const first : {0U, 32U, 77U, 2047U}) {
        float const mu = 0.01F;
        direction const z{law, {.seed = 4, .step = count}};
        std::vector<TestType> const before = some_blocks<TestType>(count, mu, law);
        std::vector<TestType> theta = before;
        quantised_perturb const there{theta.data(), z, mu, 1, first};
        sweep(there, count);
        std::vector<TestType> const plus = theta;
        sweep(there.flip(), count);
        std::vector<TestType> const minus = theta;
        sweep(there.restore(), count);
        REQUIRE(theta == before);
        for (std::size_t b = 0; b < count; ++b) {
          double const scale = double{to_float(before[b].scale)};
          for (std::size_t j = 0; j < 32; ++j) {
            // Had one of the two been cut off, the middle would be another.
            int const up = plus[b].get(j) - before[b].get(j);
            REQUIRE(before[b].get(j) - minus[b].get(j) == up);
            double const exact = double{mu} * double{z(first + 32 * b + j)} / scale;
            REQUIRE(std::fabs(up - exact) < 1.0);
          }
        }
        // Block by block, by threads, and as two shards.
        std::vector<TestType> other = before;
        quantised_perturb const one{other.data(), z, mu, 1, first};
        for (std::size_t b = 0; b < count; ++b) one(b);
        REQUIRE(other == plus);
        other = before;
        openmp{}(quantised_perturb{other.data(), z, mu, 1, first}, count);
        REQUIRE(other == plus);
        other = before;
        std::size_t const cut = count / 3;
        sweep(quantised_perturb{other.data(), z, mu, 1, first}, cut);
        sweep(quantised_perturb{other.data() + cut, z, mu, 1, first + 32 * cut}, count - cut);
        REQUIRE(other == plus);
      }
    }
  }
}

TEMPLATE_TEST_CASE("moves are right on average", "", q8_0, q4_0) {
  // u·s/(μz) − 1 of each entry, for scales of a half to eight times μ. Its variance is that of a coin.
  for (direction_law const law : laws) {
    double sum = 0.0;
    double variance = 0.0;
    float const mu = 0.01F;
    for (std::uint64_t t = 0; t < 20; ++t) {
      direction const z{law, {.seed = 11, .step = t}};
      std::vector<TestType> const before =
          some_blocks<TestType>(100, mu, law, static_cast<unsigned>(t));
      std::vector<TestType> theta = before;
      sweep(quantised_perturb{theta.data(), z, mu}, theta.size());
      for (std::size_t b = 0; b < theta.size(); ++b) {
        double const scale = double{to_float(before[b].scale)};
        for (std::size_t j = 0; j < 32; ++j) {
          double const units = double{mu} * double{z(32 * b + j)} / scale;
          double const up = theta[b].get(j) - before[b].get(j);
          double const part = units - std::floor(units);
          double const sign = units < 0.0 ? -1.0 : 1.0;
          sum += sign * (up - units);
          variance += part * (1.0 - part);
        }
      }
    }
    CHECK(std::fabs(sum) < statistics::normal_limit * std::sqrt(variance));
    CHECK(variance > 1000.0);
  }
}

namespace {

std::vector<direction_step> steps_of(direction_law law, std::size_t k, float size) {
  std::vector<direction_step> out;
  for (std::size_t j = 0; j < k; ++j) {
    out.push_back(
        {{law, {.seed = 5, .step = j}}, size * static_cast<float>(j + 1), j == 0 ? 1e-2F : 0.0F});
  }
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("an update is its definition", "", q8_0, q4_0) {
  float const mu = 0.01F;
  stream_id const draws{.seed = 9, .step = 3, .use = purpose::rounding};
  for (direction_law const law : laws) {
    for (std::size_t const k : {1U, 5U}) {
      for (std::uint64_t const first : {0U, 77U}) {
        std::vector<direction_step> const terms = steps_of(law, k, 0.004F);
        direction_steps const all{terms.data(), terms.size()};
        std::vector<TestType> const before = some_blocks<TestType>(150, mu, law);
        std::vector<TestType> swept = before;
        sweep(quantised_update{swept.data(), mu, all, draws, first}, swept.size());
        std::size_t moved = 0;
        std::size_t cut_off = 0;
        std::vector<TestType> expected = before;
        for (std::size_t b = 0; b < before.size(); ++b) {
          double const scale = double{to_float(before[b].scale)};
          auto const u = static_cast<int>(units_for_moves(mu, scale, law));
          for (std::size_t j = 0; j < 32; ++j) {
            std::uint64_t const index = first + 32 * b + j;
            double sum = 0.0;
            for (direction_step const& term : terms) {
              sum += double{term.step} * double{term.z(index)};
              sum -= double{term.decay} * scale * before[b].get(j);
            }
            double const units = sum / scale;
            double const draw = random_bits32(draws, index);
            double const size = std::fabs(units);
            double const whole = std::floor(size) + (draw < (size - std::floor(size)) * 0x1p32);
            int const to = before[b].get(j) + static_cast<int>(std::copysign(whole, units));
            int const cut = std::min(std::max(to, TestType::least + u), TestType::most - u);
            moved += cut != before[b].get(j);
            cut_off += cut != to;
            expected[b].set(j, cut);
          }
        }
        REQUIRE(swept == expected);
        CHECK(moved > 100);
        CHECK(cut_off > 0);
        std::vector<TestType> other = before;
        quantised_update const one{other.data(), mu, all, draws, first};
        for (std::size_t b = 0; b < other.size(); ++b) one(b);
        REQUIRE(other == swept);
        other = before;
        sweep(quantised_update{other.data(), mu, all, draws, first}, 50);
        sweep(quantised_update{other.data() + 50, mu, all, draws, first + 32 * 50}, 100);
        REQUIRE(other == swept);
      }
    }
  }
}

namespace {

// As `some_blocks`, and among them any scale that a half can be and any entries: at their ends, at no rest.
template <class B>
std::vector<B> any_blocks(std::size_t count, direction_law law, std::mt19937& random) {
  std::vector<B> out = some_blocks<B>(count, 0.01F, law, static_cast<unsigned>(random()));
  for (B& block : out) {
    if (random() % 2 == 0) continue;
    if (random() % 2 == 0) block.scale.bits = static_cast<std::uint16_t>(random());
    for (std::size_t j = 0; j < 32; ++j) block.set(j, static_cast<int>(random() % 256) - 128);
  }
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("sweeps are the plain loop, whatever the blocks hold", "", q8_0, q4_0) {
  std::mt19937 random(TestType::most);
  float const infinite = std::numeric_limits<float>::infinity();
  for (float const step : {0.0F, 0.01F, -0.3F, 1e30F, 1e-45F, infinite, std::nanf("")}) {
    for (float const mu : {0.01F, 0x1p-24F, 1000.0F, infinite}) {
      for (direction_law const law : laws) {
        std::size_t const count = random() % 140;
        std::uint64_t const first = random() % 2 == 0 ? 32 * (random() % 99) : random() % 9999;
        std::vector<TestType> const start = any_blocks<TestType>(count, law, random);
        std::vector<direction_step> terms;
        for (float const decay : {0.0F, 1e-3F, 0.0F}) {
          terms.push_back({{law, {.seed = random()}}, terms.empty() ? step : 0.01F, decay});
        }
        stream_id const draws = rounding_of(3, random());
        auto const same = [&](auto const& make) {
          std::vector<TestType> plain = start;
          std::vector<TestType> swept = start;
          for (std::size_t b = 0; b < count; ++b) make(plain.data())(b);
          sweep(make(swept.data()), count);
          CAPTURE(step, mu, law, count, first);
          CHECK(plain == swept);
        };
        for (int const times : {1, -2}) {
          same([&](auto* b) { return quantised_perturb{b, terms[0].z, mu, times, first}; });
        }
        for (std::size_t const k : {1U, 2U, 3U}) {
          direction_steps const used{terms.data(), k};
          same([&](auto* b) { return quantised_update{b, mu, used, draws, first}; });
          same([&](auto* b) { return quantised_restore_and_update{b, mu, used, draws, first}; });
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("to restore and to update is one pass", "", q8_0, q4_0) {
  for (direction_law const law : laws) {
    std::vector<direction_step> const terms = steps_of(law, 2, 0.004F);
    direction_steps const all{terms.data(), terms.size()};
    stream_id const draws = rounding_of(9, 3);
    std::vector<TestType> two = some_blocks<TestType>(150, 0.01F, law);
    std::vector<TestType> one = two;
    sweep(quantised_perturb{two.data(), terms[1].z, 0.01F}, two.size());
    sweep(quantised_update{two.data(), 0.01F, all, draws}, two.size());
    openmp{}(quantised_restore_and_update{one.data(), 0.01F, all, draws}, one.size());
    CHECK(one == two);
  }
}

TEMPLATE_TEST_CASE("updates of a hundredth of a unit add up", "", q8_0, q4_0) {
  // 3200 entries at 0, moved 100 times by s/100 along one direction: each is off by a variance of 100·0.01·0.99.
  std::vector<TestType> theta(100, TestType{half{0x3C00}, {}});  // s = 1
  for (TestType& block : theta) {
    for (std::size_t j = 0; j < 32; ++j) block.set(j, 0);
  }
  direction const z{direction_law::rademacher, {.seed = 1}};
  for (std::uint64_t t = 0; t < 100; ++t) {
    sweep(quantised_update{theta.data(), 0.5F, direction_step{z, 0.01F},
                           stream_id{.seed = 1, .step = t, .use = purpose::rounding}},
          theta.size());
  }
  double sum = 0.0;
  for (std::size_t i = 0; i < 3200; ++i) sum += theta[i / 32].get(i % 32) * double{z(i)};
  CHECK(std::fabs(sum - 3200.0) < statistics::normal_limit * std::sqrt(3200.0 * 0.99));
}

TEST_CASE("rest ranges") {
  constexpr direction_law sign = direction_law::rademacher;
  half const one{0x3C00};
  CHECK(rest_of<q8_0>(one, 1.0F, sign) == rest_range{-126, 126});
  CHECK(rest_of<q8_0>(one, 1.0000001F, sign) == rest_range{-125, 125});
  CHECK(rest_of<q8_0>(half{0xBC00}, 0.001F, sign) == rest_range{-126, 126});
  CHECK(rest_of<q4_0>(one, 6.0F, sign) == rest_range{-2, 1});
  CHECK(rest_of<q4_0>(one, 6.01F, sign).empty());
  CHECK(rest_of<q8_0>(one, 126.0F, sign) == rest_range{-1, 1});
  CHECK(rest_of<q8_0>(one, 126.01F, sign).empty());
  CHECK(rest_of<q8_0>(one, 1.0F, direction_law::gaussian) == rest_range{-120, 120});
  CHECK(rest_of<q8_0>(one, 1e-9F, direction_law::sphere).empty());
  CHECK(rest_of<q8_0>(one, 1e38F, sign).empty());
  for (unsigned const bits : {0x0000U, 0x8000U, 0x7C00U, 0xFC00U, 0x7E00U, 0x7C01U, 0x0001U}) {
    CHECK(rest_of<q8_0>(half{static_cast<std::uint16_t>(bits)}, 1e-3F, sign).empty());
  }
  // A subnormal scale is a number as any other.
  CHECK(rest_of<q8_0>(half{0x0001}, 0x1p-24F, sign) == rest_range{-126, 126});
}

}  // namespace quantised_tests
