// SPDX-License-Identifier: Apache-2.0
#include <tacit/zo/direction.hpp>

#include "support/catch.hpp"

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
