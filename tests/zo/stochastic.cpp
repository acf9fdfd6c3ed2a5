// SPDX-License-Identifier: Apache-2.0
#include <tacit/zo/step.hpp>
#include <tacit/zo/stochastic.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace stochastic_tests {

using namespace tacit;

static_assert(std::is_trivially_copyable_v<stochastic_update<half>>);
static_assert(noexcept(stochastic_update<bfloat16>{}(0)));

namespace {

float value(half x) { return to_float(x); }
float value(bfloat16 x) { return to_float(x); }

template <class T>
T next(T x) {
  return T{static_cast<std::uint16_t>(x.bits + 1)};
}

// By the definition: for how many of 2^32 draws x is rounded up, found by bisection, since S_r grows with r.
template <class T>
double share_up(float x, T below) {
  std::uint64_t low = 0;
  std::uint64_t high = std::uint64_t{1} << 32;
  bool const rising = rounded_at_random<T>(x, 0).bits == below.bits;
  auto const up = [&](std::uint64_t r) {
    return rounded_at_random<T>(x, static_cast<std::uint32_t>(r)).bits != below.bits;
  };
  while (low < high) {
    std::uint64_t const middle = (low + high) / 2;
    (up(middle) == rising ? high : low) = up(middle) == rising ? middle : middle + 1;
  }
  double const from = static_cast<double>(low) * 0x1p-32;
  return rising ? 1.0 - from : from;
}

template <class T>
void check_means(double error) {
  std::uint32_t word = 1;
  for (std::uint32_t bits = 0; bits + 1 < (std::is_same_v<T, half> ? 0x7BFFU : 0x7F7FU);
       bits += 97) {
    T const below{static_cast<std::uint16_t>(bits)};
    double const a = value(below);
    double const b = value(next(below));
    for (int n = 0; n < 4; ++n) {
      word = word * 1664525 + 1013904223;
      // A float between the neighbours, not at one.
      float const x = static_cast<float>(a + (b - a) * (0.5 + (word >> 8)) * 0x1p-24);
      if (double{x} <= a || double{x} >= b) continue;
      for (float const signed_x : {x, -x}) {
        T const low{static_cast<std::uint16_t>(signed_x < 0.0F ? bits | 0x8000 : bits)};
        double const mean = a + (b - a) * share_up<T>(signed_x, low);
        CAPTURE(bits, signed_x);
        REQUIRE(std::fabs(mean - double{x}) <= error);
        T const one = rounded_at_random<T>(signed_x, word);
        REQUIRE((one.bits == low.bits || one.bits == next(low).bits));
      }
    }
  }
}

}  // namespace

TEST_CASE("rounding at random is right on average") {
  check_means<bfloat16>(0.0);
  check_means<half>(0x1p-56);
}

TEST_CASE("what needs no rounding is not rounded") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    half const h{static_cast<std::uint16_t>(bits)};
    bfloat16 const b{static_cast<std::uint16_t>(bits)};
    for (std::uint32_t const random : {0U, 0x80000000U, 0xFFFFFFFFU}) {
      if (!std::isnan(value(h))) REQUIRE(rounded_at_random<half>(value(h), random) == h);
      if (!std::isnan(value(b))) REQUIRE(rounded_at_random<bfloat16>(value(b), random) == b);
    }
    if (std::isnan(value(h))) REQUIRE(std::isnan(value(rounded_at_random<half>(value(h), ~0U))));
    if (std::isnan(value(b)))
      REQUIRE(std::isnan(value(rounded_at_random<bfloat16>(value(b), ~0U))));
  }
  CHECK(rounded_at_random<float>(0.1F, 12345) == 0.1F);
  CHECK(std::isinf(value(rounded_at_random<half>(1e6F, 0))));
  CHECK(value(rounded_at_random<half>(65519.0F, 0)) == 65504.0F);
  CHECK(std::isinf(value(rounded_at_random<half>(65519.0F, ~0U))));
  CHECK(std::isinf(value(rounded_at_random<bfloat16>(std::numeric_limits<float>::max(), ~0U))));
}

namespace {

template <class T>
std::vector<T> ramp(std::size_t d) {
  std::vector<T> theta;
  for (std::size_t i = 0; i < d; ++i) {
    auto const x = static_cast<float>(i);
    theta.push_back(
        rounded_to<T>(std::sin(1.7F * x) * std::ldexp(1.0F, static_cast<int>(i % 20) - 10)));
  }
  return theta;
}

std::vector<direction_step> steps_of(direction_law law, std::size_t k) {
  std::vector<direction_step> out;
  for (std::size_t j = 0; j < k; ++j) {
    out.push_back({direction_at(law, {.seed = 5, .step = j}, 5000),
                   0.001F * static_cast<float>(j + 1), j == 0 ? 1e-3F : 0.0F});
  }
  return out;
}

template <class T>
void check_pass() {
  for (direction_law const law :
       {direction_law::rademacher, direction_law::gaussian, direction_law::sphere}) {
    for (std::size_t const k : {std::size_t{1}, std::size_t{5}}) {
      for (std::uint64_t const first : {0U, 77U}) {
        std::vector<direction_step> const terms = steps_of(law, k);
        direction_steps const all{terms.data(), terms.size()};
        stream_id const draws{.seed = 9, .step = 3, .use = purpose::rounding};
        std::vector<T> const before = ramp<T>(5000);
        std::vector<T> swept = before;
        std::vector<T> one_by_one = before;
        sweep(stochastic_update{swept.data(), all, draws, first}, swept.size());
        stochastic_update const entry{one_by_one.data(), all, draws, first};
        for (std::size_t i = 0; i < one_by_one.size(); ++i) entry(i);
        REQUIRE(std::memcmp(swept.data(), one_by_one.data(), 5000 * sizeof(T)) == 0);
        // By the definition: the update of a float, and then a neighbour.
        std::size_t other = 0;
        for (std::size_t i = 0; i < before.size(); ++i) {
          float x = to_float(before[i]);
          update{&x, all, first + i}(0);
          T const expected = rounded_at_random<T>(x, random_bits32(draws, first + i));
          REQUIRE(std::memcmp(&swept[i], &expected, sizeof(T)) == 0);
          T const nearest = rounded_to<T>(x);
          other += std::memcmp(&swept[i], &nearest, sizeof(T)) != 0 ? 1 : 0;
        }
        CHECK((other > 100) == !std::is_same_v<T, float>);
        // A part of a tensor, from any entry on.
        std::vector<T> part = before;
        stochastic_update const pass{part.data(), all, draws, first};
        sweep(pass, 3, 1234);
        REQUIRE(std::memcmp(part.data(), before.data(), 3 * sizeof(T)) == 0);
        REQUIRE(std::memcmp(part.data() + 3, swept.data() + 3, 1231 * sizeof(T)) == 0);
      }
    }
  }
}

}  // namespace

TEST_CASE("a pass is its definition, entry by entry and in blocks") {
  check_pass<float>();
  check_pass<half>();
  check_pass<bfloat16>();
}

TEST_CASE("a step that is held rounds nothing") {
  std::vector<bfloat16> theta = ramp<bfloat16>(100);
  std::vector<bfloat16> const before = theta;
  direction_step const zero{direction_at(direction_law::rademacher, {}, 100), 0.0F};
  sweep(stochastic_update{theta.data(), zero, stream_id{}}, theta.size());
  CHECK(theta == before);
}

TEST_CASE("updates below half a unit add up at random, and are lost to the nearest") {
  // 4096 entries at 1, moved 1000 times by 1e-4 up or down, where half a unit of bfloat16 is 2^-8 or 2^-9. At
  // random a step moves one entry with a variance below 2^-7·1e-4: the mean of all deviates by less than
  // √(1000·2^-7·1e-4/4096) = 4.4e-4.
  std::vector<bfloat16> near(4096, rounded_to<bfloat16>(1.0F));
  std::vector<bfloat16> random = near;
  std::vector<bfloat16> again = near;
  direction all_alike{direction_law::rademacher, {.seed = 1}};
  std::vector<double> expected(near.size(), 1.0);
  for (std::uint64_t t = 0; t < 1000; ++t) {
    direction_step const step{all_alike, 1e-4F};
    stream_id const draws{.seed = 1, .step = t, .use = purpose::rounding};
    sweep(update{near.data(), step}, near.size());
    sweep(stochastic_update{random.data(), step, draws}, random.size());
  }
  for (std::uint64_t t = 0; t < 1000; ++t) {
    stream_id const draws{.seed = 1, .step = t, .use = purpose::rounding};
    sweep(stochastic_update{again.data(), direction_step{all_alike, 1e-4F}, draws}, again.size());
  }
  CHECK(random == again);  // replayed
  double drift = 0.0;
  for (std::size_t i = 0; i < near.size(); ++i) {
    CHECK(value(near[i]) == 1.0F);
    drift += (double{value(random[i])} - 1.0) * double{all_alike(i)} / 4096.0;
  }
  CHECK(std::fabs(drift - 0.1) < 2.5e-3);  // six deviations
}

}  // namespace stochastic_tests
