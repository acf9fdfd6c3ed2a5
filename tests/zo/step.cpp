// SPDX-License-Identifier: Apache-2.0
#include <tacit/zo/step.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

using namespace tacit;

static_assert(std::is_trivially_copyable_v<perturb> && std::is_trivially_copyable_v<update>);
static_assert(noexcept(perturb{}(0)) && noexcept(update{}(0)));

namespace {

constexpr direction_law laws[] = {direction_law::rademacher, direction_law::gaussian,
                                  direction_law::sphere};

std::vector<float> ramp(std::size_t d) {
  std::vector<float> theta(d);
  for (std::size_t i = 0; i < d; ++i) {
    theta[i] =
        std::sin(1.7F * static_cast<float>(i)) * std::ldexp(1.0F, static_cast<int>(i % 20) - 10);
  }
  return theta;
}

}  // namespace

TEST_CASE("perturb adds a multiple of the direction, rounded once") {
  for (direction_law const law : laws) {
    direction const z = direction_at(law, {.seed = 2, .step = 1}, 500);
    std::vector<float> theta = ramp(500);
    std::vector<float> const before = theta;
    sweep(perturb{theta.data(), z, 1e-3F}, theta.size());
    for (std::size_t i = 0; i < theta.size(); ++i) {
      long double const exact =
          static_cast<long double>(before[i]) + static_cast<long double>(1e-3F) * z(i);
      long double const ulp = std::nextafter(std::abs(theta[i]), 1e9F) - std::abs(theta[i]);
      REQUIRE(std::abs(theta[i] - exact) <= 0.5000001L * ulp);
    }
  }
}

TEST_CASE("update decays and steps") {
  for (direction_law const law : laws) {
    direction const z = direction_at(law, {.seed = 2, .step = 1}, 500);
    std::vector<float> theta = ramp(500);
    std::vector<float> const before = theta;
    float const step = -0.125F;
    float const decay = 0.01F;
    sweep(update{theta.data(), z, step, decay}, theta.size());
    for (std::size_t i = 0; i < theta.size(); ++i) {
      double const exact = (1.0 - double{decay}) * double{before[i]} + double{step} * double{z(i)};
      REQUIRE(theta[i] == Approx(exact).epsilon(1e-7).margin(1e-9));
    }
  }
}

TEST_CASE("a step by a float and a sign is the plain float sum") {
  // Why the sums may be taken in double: rounding a sum of two floats first to double and then to
  // float is rounding it once.
  direction const z = direction_at(direction_law::rademacher, {.seed = 3, .step = 0}, 4096);
  std::vector<float> theta = ramp(4096);
  std::vector<float> const before = theta;
  float const amount = 0.0123456789F;
  sweep(perturb{theta.data(), z, amount}, theta.size());
  for (std::size_t i = 0; i < theta.size(); ++i) {
    float const sum = z(i) > 0.0F ? before[i] + amount : before[i] - amount;
    REQUIRE(theta[i] == sum);
  }
}

TEST_CASE("there and back: within three roundings") {
  for (direction_law const law : laws) {
    direction const z = direction_at(law, {.seed = 4, .step = 2}, 1000);
    std::vector<float> theta = ramp(1000);
    std::vector<float> const before = theta;
    float const mu = 1e-2F;
    int moved = 0;
    for (float const amount : {mu, -2.0F * mu, mu}) {
      sweep(perturb{theta.data(), z, amount}, theta.size());
    }
    for (std::size_t i = 0; i < theta.size(); ++i) {
      float const largest = std::abs(before[i]) + mu * std::abs(z(i));
      REQUIRE(std::abs(theta[i] - before[i]) <=
              1.5F * largest * std::numeric_limits<float>::epsilon());
      moved += theta[i] != before[i];
    }
    CHECK(moved > 0);  // it is not exact, and nobody should rely on it
  }
}

TEST_CASE("the host loop is the functor, wherever a tensor begins") {
  for (direction_law const law : laws) {
    direction const z = direction_at(law, {.seed = 6, .step = 5}, 2000);
    for (std::uint64_t const first : {0U, 1U, 127U, 128U, 129U, 1000U}) {
      for (std::size_t const count : {0U, 1U, 127U, 128U, 300U}) {
        std::vector<float> fast = ramp(count);
        std::vector<float> plain = fast;
        update const on_fast{fast.data(), z, 0.3F, 0.01F, first};
        update const on_plain{plain.data(), z, 0.3F, 0.01F, first};
        sweep(on_fast, count);
        for (std::size_t i = count; i-- > 0;) on_plain(i);
        REQUIRE(fast == plain);
      }
    }
  }
}
