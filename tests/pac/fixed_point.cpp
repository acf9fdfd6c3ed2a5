// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/fixed_point.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

constexpr std::int32_t full_scale = 1 << 30;

std::int32_t one(double clip, double x) {
  std::int32_t k = -1;
  tacit::fixed_point{.clip = clip}.quantise({&x, 1}, {&k, 1});
  return k;
}

}  // namespace

TEST_CASE("fixed_point rounds to nearest, ties to even") {
  double const unit = 0x1p30;  // quantum 1
  CHECK(one(unit, 0.0) == 0);
  CHECK(one(unit, -0.0) == 0);
  CHECK(one(unit, 0.5) == 0);
  CHECK(one(unit, 0.5000001) == 1);
  CHECK(one(unit, 1.5) == 2);
  CHECK(one(unit, 2.5) == 2);
  CHECK(one(unit, -0.5) == 0);
  CHECK(one(unit, -1.5) == -2);
  CHECK(one(unit, -2.5) == -2);
  CHECK(one(unit, 1073741822.5) == 1073741822);
  CHECK(one(unit, 1073741823.5) == full_scale);
}

TEST_CASE("fixed_point saturates at the clip") {
  for (double const clip : {1024.0, 1.0, 0.3, 1e-310, 5e-324, 1e300, 1.7976931348623157e308}) {
    CAPTURE(clip);
    CHECK(one(clip, clip) == full_scale);
    CHECK(one(clip, -clip) == -full_scale);
    CHECK(one(clip, std::numeric_limits<double>::max()) == full_scale);
    CHECK(one(clip, -std::numeric_limits<double>::max()) == -full_scale);
    CHECK(one(clip, 0.0) == 0);
  }
  for (double const beyond : {std::nextafter(1.0, 2.0), 1.5, 2.0, 3.0}) {
    CHECK(one(1.0, beyond) == full_scale);
    CHECK(one(1.0, -beyond) == -full_scale);
  }
}

TEST_CASE("fixed_point is within half a quantum inside the clip, and monotone") {
  std::mt19937_64 random(1);
  for (double const clip : {1024.0, 1.0, 0.3, 1e-9, 7e8}) {
    tacit::fixed_point const grid{.clip = clip};
    std::uniform_real_distribution<double> inside(-clip, clip);
    std::vector<double> x(4099);
    for (double& v : x) v = inside(random);
    std::sort(x.begin(), x.end());
    std::vector<std::int32_t> k(x.size());
    grid.quantise(x, k);
    for (std::size_t i = 0; i < x.size(); ++i) {
      REQUIRE(std::abs(k[i] * grid.quantum() - x[i]) <= grid.quantum() * (0.5 + 1e-6));
      if (i > 0) REQUIRE(k[i - 1] <= k[i]);
    }
  }
}

TEST_CASE("fixed_point meets non-finite scalars, wherever they stand") {
  tacit::fixed_point const grid;
  for (double const bad : {not_a_number, -not_a_number, infinity, -infinity}) {
    for (std::size_t at = 0; at < 9; ++at) {
      std::vector<double> x(9, 1.0);
      std::vector<std::int32_t> k(9);
      CHECK(grid.try_quantise(x, k));
      x[at] = bad;
      CHECK_FALSE(grid.try_quantise(x, k));
      CHECK_THROWS_AS(grid.quantise(x, k), std::domain_error);
    }
  }
  std::vector<double> const x = {1.0, 2.0, infinity};
  std::vector<std::int32_t> k(3);
  CHECK_THROWS_WITH(grid.quantise(x, k), "quantise: scalar of record 2 is inf, but must be finite");
}

TEST_CASE("fixed_point refuses bad clips and sizes") {
  for (double const clip : {0.0, -1.0, not_a_number, infinity}) {
    CHECK_THROWS_AS(one(clip, 0.0), std::domain_error);
  }
  std::vector<double> const x(3);
  std::vector<std::int32_t> k(2);
  CHECK_THROWS_AS(tacit::fixed_point{}.quantise(x, k), std::invalid_argument);
  CHECK_THROWS_AS(tacit::fixed_point{}.try_quantise(x, k), std::invalid_argument);
  CHECK(tacit::fixed_point{}.try_quantise({}, {}));
}
