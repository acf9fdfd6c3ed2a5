// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/mezo.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

using namespace tacit;

namespace {

// Secret bits that a test knows.
struct scripted {
  std::vector<std::uint64_t> words;
  std::size_t used = 0;
  std::uint64_t next() { return words.at(used++ % words.size()); }
};

constexpr std::size_t records = 40;

std::vector<double> scalars(std::size_t rows) {
  std::vector<double> g(rows * records);
  for (std::size_t i = 0; i < g.size(); ++i) g[i] = std::sin(2.3 * static_cast<double>(i)) - 0.2;
  return g;
}

double sum(std::vector<double> const& g, std::size_t row) {
  double total = 0.0;
  for (std::size_t i = 0; i < records; ++i) total += g[row * records + i];
  return total;
}

static_assert(zeroth_order_mechanism<mezo<>> && zeroth_order_mechanism<mezo<scripted>>);

}  // namespace

TEST_CASE("over all records: the mean, or the sign of the sum") {
  std::vector<double> const g = scalars(2);
  mezo raw({.directions = 2}, records);
  mezo quantised({.what = surrogate::full_sign, .directions = 2}, records);
  release const mean = raw.step(g);
  release const signs = quantised.step(g);
  REQUIRE(mean.coefficients.size() == 2);
  REQUIRE(signs.coefficients.size() == 2);
  for (std::size_t k = 0; k < 2; ++k) {
    CHECK(mean.coefficients[k] == Approx(sum(g, k) / records / 2).epsilon(1e-6));
    CHECK(signs.coefficients[k] == (sum(g, k) >= 0 ? 0.5 : -0.5));
  }
  CHECK(raw.steps() == 1);
  CHECK(!raw.done());
}

TEST_CASE("over the secret half: that of the secret stream") {
  candidate_set const candidates = candidate_set::balanced({.records = records, .subsets = 16}, 3);
  std::vector<double> const g = scalars(1);
  for (std::uint64_t draw = 0; draw < 64; ++draw) {
    scripted const secret{{draw << 58}};
    mezo<scripted> raw({.what = surrogate::half_raw}, candidates, secret);
    mezo<scripted> quantised({.what = surrogate::half_sign}, candidates, secret);
    scripted same = secret;
    std::size_t const subset = uniform_below(same, 16);
    double total = 0.0;
    double size = 0.0;
    for (std::size_t i = 0; i < records; ++i) {
      if (!candidates.contains(subset, i)) continue;
      total += g[i];
      size += 1.0;
    }
    REQUIRE(raw.step(g).coefficients[0] == Approx(total / size).epsilon(1e-5));
    REQUIRE(quantised.step(g).coefficients[0] == (total >= 0 ? 1.0 : -1.0));
  }
  CHECK_THROWS_AS(mezo({.what = surrogate::half_sign}, records), std::invalid_argument);
}

TEST_CASE("a random sign is a fair coin that reads no scalar") {
  mezo coin({.what = surrogate::random_sign}, records);
  std::vector<double> const g(records, 1.0);
  int plus = 0;
  for (int t = 0; t < 10000; ++t) {
    double const y = coin.step(g).coefficients[0];
    REQUIRE(std::abs(y) == 1.0);
    plus += y > 0;
  }
  // 50 standard deviations of 50: six either way, false alarm 2e-9.
  CHECK(std::abs(plus - 5000) < 300);

  mezo<scripted> one({.what = surrogate::random_sign}, records, {{0, ~std::uint64_t{0}}});
  CHECK(one.step(g).coefficients[0] == 1.0);
  CHECK(one.step(g).coefficients[0] == -1.0);
}

TEST_CASE("a scalar that is not finite, or nothing but zeros, holds the direction") {
  candidate_set const candidates = candidate_set::balanced({.records = records, .subsets = 16}, 3);
  for (surrogate const what : {surrogate::raw, surrogate::full_sign, surrogate::half_raw,
                               surrogate::half_sign, surrogate::random_sign}) {
    mezo mechanism({.what = what}, candidates);
    for (double const bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
          -std::numeric_limits<double>::infinity()}) {
      std::vector<double> g = scalars(1);
      g[7] = bad;
      CHECK(mechanism.step(g).held());
    }
    CHECK(mechanism.step(std::vector<double>(records, 0.0)).held());
    CHECK(!mechanism.step(scalars(1)).held());
    CHECK(mechanism.steps() == 5);
  }
}

TEST_CASE("scalars are clipped") {
  std::vector<double> g(records, 0.0);
  g[0] = 1e6;
  mezo mechanism({.clip = 2.0}, records);
  CHECK(mechanism.step(g).coefficients[0] == 2.0 / records);
}

TEST_CASE("mezo refuses what has no meaning") {
  CHECK_THROWS_WITH(mezo({.directions = 0}, records),
                    "mezo: directions is 0, but must be at least 1");
  CHECK_THROWS_AS(mezo({}, 0), std::invalid_argument);
  CHECK_THROWS_AS(mezo({.clip = std::numeric_limits<double>::quiet_NaN()}, records),
                  std::domain_error);
  mezo twice({.steps = 2}, records);
  CHECK_THROWS_AS(twice.step(scalars(2)), std::invalid_argument);
  CHECK(twice.steps() == 0);
  twice.step(scalars(1));
  CHECK(!twice.done());
  twice.step(scalars(1));
  CHECK(twice.done());
  CHECK_THROWS_AS(twice.step(scalars(1)), std::invalid_argument);
}
