// SPDX-License-Identifier: Apache-2.0
#include <tacit/zo/direction.hpp>

#include "support/catch.hpp"
#include "support/statistics.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <type_traits>

using namespace tacit;

static_assert(std::is_trivially_copyable_v<direction>);

TEST_CASE("a direction is a function of its stream and the index alone") {
  for (direction_law const law :
       {direction_law::rademacher, direction_law::gaussian, direction_law::sphere}) {
    direction const z = direction_at(law, {.seed = 7, .step = 3}, 1000);
    direction const again = direction_at(law, {.seed = 7, .step = 3}, 1000);
    direction const other_seed = direction_at(law, {.seed = 8, .step = 3}, 1000);
    direction const other_step = direction_at(law, {.seed = 7, .step = 4}, 1000);
    int seed_differs = 0;
    int step_differs = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      REQUIRE(z(i) == again(i));
      seed_differs += z(i) != other_seed(i);
      step_differs += z(i) != other_step(i);
    }
    // Fair signs differ in half of the places: 400 is more than six standard deviations off.
    CHECK(seed_differs > 400);
    CHECK(step_differs > 400);
  }
}

TEST_CASE("the laws have the lengths that they promise") {
  std::uint64_t const d = 4099;
  auto const squared_length = [&](direction_law law, std::uint64_t step) {
    direction const z = direction_at(law, {.seed = 1, .step = step}, d);
    double sum = 0.0;
    for (std::uint64_t i = 0; i < d; ++i) sum += double{z(i)} * double{z(i)};
    return sum;
  };
  for (std::uint64_t step = 0; step < 4; ++step) {
    CHECK(squared_length(direction_law::rademacher, step) == static_cast<double>(d));
    CHECK(squared_length(direction_law::sphere, step) ==
          Approx(static_cast<double>(d)).epsilon(1e-5));
    // chi-square with d degrees of freedom: 6 standard deviations, false alarm 2e-9 each.
    double const gaussian = squared_length(direction_law::gaussian, step);
    CHECK(std::abs(gaussian - static_cast<double>(d)) < 6.0 * std::sqrt(2.0 * double(d)));
    CHECK(gaussian != static_cast<double>(d));
  }
}

TEST_CASE("the sphere's direction is the normal one, scaled") {
  stream_id const stream{.seed = 5, .step = 9};
  direction const sphere = direction_at(direction_law::sphere, stream, 300);
  direction const gaussian = direction_at(direction_law::gaussian, stream, 300);
  for (std::uint64_t i = 0; i < 300; ++i) REQUIRE(sphere(i) == sphere.scale * gaussian(i));
}

TEST_CASE("E[zzᵀ] is the identity over steps, for each law", "[long]") {
  // Scores of 28 products and 8 squares, false alarm 1e-6 each. On the sphere of radius √d the variance
  // of z_i² is 2(d−1)/(d+2) and that of z_i·z_j is d/(d+2); Rademacher's squares are 1.
  constexpr std::uint64_t d = 8;
  constexpr std::uint64_t steps = 1 << 15;
  for (direction_law const law :
       {direction_law::rademacher, direction_law::gaussian, direction_law::sphere}) {
    std::array<std::array<double, d>, d> sum{};
    for (std::uint64_t step = 0; step < steps; ++step) {
      direction const z = direction_at(law, {.seed = 13, .step = step}, d);
      for (std::uint64_t i = 0; i < d; ++i) {
        for (std::uint64_t j = 0; j <= i; ++j) sum[i][j] += double{z(i)} * double{z(j)};
      }
    }
    bool const sphere = law == direction_law::sphere;
    double const squares = sphere ? 2.0 * (d - 1) / (d + 2) : 2.0;
    double const products = sphere ? double{d} / (d + 2) : 1.0;
    for (std::uint64_t i = 0; i < d; ++i) {
      for (std::uint64_t j = 0; j <= i; ++j) {
        double const off = sum[i][j] - (i == j ? double{steps} : 0.0);
        if (law == direction_law::rademacher && i == j) {
          CHECK(off == 0.0);
        } else {
          CHECK(std::abs(off) <
                statistics::normal_limit * std::sqrt((i == j ? squares : products) * steps));
        }
      }
    }
  }
}

TEST_CASE("the normal law's tails, exactly, to |z| = 6") {
  // All 2^32 draws are equally likely and their sizes fall with m, so that a bisection counts those
  // beyond t: within one of 2^31 P(|z| > t), and of what 2^-24 on t is worth in the middle.
  for (double const t : {0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0}) {
    std::uint32_t low = 0;
    std::uint32_t high = std::uint32_t{1} << 31;
    while (low < high) {
      std::uint32_t const middle = low + (high - low) / 2;
      if (detail::half_normal(middle) * 0x1p-28 > t) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    double const expected = 0x1p31 * std::erfc(t / std::sqrt(2.0));
    double const density = 0x1p31 * std::exp(-t * t / 2.0);
    CAPTURE(t, low, expected);
    CHECK(std::abs(low - expected) <= 1.0 + 0x1p-24 * density);
    CHECK(low > 0);
  }
}
