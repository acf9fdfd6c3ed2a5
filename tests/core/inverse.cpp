// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/inverse.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>

namespace {

using tacit::last_holding;

constexpr double smallest = std::numeric_limits<double>::denorm_min();
constexpr double largest = std::numeric_limits<double>::max();

}  // namespace

TEST_CASE("last_holding returns the safe end and its neighbour fails", "[inverse]") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-320.0, 308.0);
  int wrong = 0;
  int most_calls = 0;
  for (int k = 0; k < 2000; ++k) {
    double const edge = std::pow(10.0, exponent(random));
    int calls = 0;
    auto const at_most = [&](double x) {
      ++calls;
      return x <= edge;
    };
    double const upward = last_holding(0.0, infinity, at_most);
    most_calls = std::max(most_calls, calls);
    calls = 0;
    auto const at_least = [&](double x) {
      ++calls;
      return x >= edge;
    };
    double const downward = last_holding(infinity, 0.0, at_least);
    most_calls = std::max(most_calls, calls);
    wrong += upward != edge;
    wrong += downward != edge && edge > 0.0;
  }
  CHECK(wrong == 0);
  CHECK(most_calls <= 64);

  // A real predicate: the largest x with x² ≤ 2, and the smallest with x² ≥ 2.
  double const below = last_holding(1.0, 2.0, [](double x) { return x * x <= 2.0; });
  double const above = last_holding(2.0, 1.0, [](double x) { return x * x >= 2.0; });
  CHECK(below * below <= 2.0);
  CHECK(std::nextafter(below, 2.0) * std::nextafter(below, 2.0) > 2.0);
  CHECK(above * above >= 2.0);
  CHECK(std::nextafter(above, 0.0) * std::nextafter(above, 0.0) < 2.0);
}

TEST_CASE("last_holding never returns the failing end", "[inverse]") {
  auto const never = [](double) { return false; };
  auto const always = [](double) { return true; };
  CHECK(last_holding(3.0, 7.0, never) == 3.0);
  CHECK(last_holding(7.0, 3.0, never) == 7.0);
  CHECK(last_holding(3.0, 7.0, always) == std::nextafter(7.0, 0.0));
  CHECK(last_holding(7.0, 3.0, always) == std::nextafter(3.0, 8.0));
  CHECK(last_holding(0.0, infinity, always) == largest);
  CHECK(last_holding(infinity, 0.0, always) == smallest);
  CHECK(last_holding(5.0, 5.0, always) == 5.0);
  CHECK(last_holding(0.0, smallest, always) == 0.0);
}

TEST_CASE("last_holding on a predicate that is not quite monotone still returns a holding number",
          "[inverse]") {
  std::mt19937_64 random(2);
  for (int k = 0; k < 200; ++k) {
    auto const mixed = [salt = random()](double x) {
      auto const bits = std::bit_cast<std::uint64_t>(x) ^ salt;
      return (bits * 0x9e3779b97f4a7c15U) >> 63 != 0;
    };
    double const found = last_holding(1.0, 2.0, mixed);
    CHECK((found == 1.0 || mixed(found)));
    CHECK((std::nextafter(found, 2.0) == 2.0 || !mixed(std::nextafter(found, 2.0))));
  }
}

TEST_CASE("last_holding takes minus zero for zero and refuses what has no order", "[inverse]") {
  auto const small = [](double x) { return x <= 1e-300; };
  CHECK(last_holding(-0.0, 1.0, small) == 1e-300);
  CHECK(last_holding(1.0, -0.0, [](double x) { return x >= 1e-300; }) == 1e-300);
  CHECK_THROWS_AS(last_holding(-1.0, 1.0, small), std::domain_error);
  CHECK_THROWS_AS(last_holding(1.0, -smallest, small), std::domain_error);
  CHECK_THROWS_AS(last_holding(not_a_number, 1.0, small), std::domain_error);
  CHECK_THROWS_AS(last_holding(0.0, not_a_number, small), std::domain_error);
  CHECK_THROWS_WITH(last_holding(-1.0, 1.0, small),
                    "last_holding: holds_here is -1, but must be at least 0");
  CHECK_THROWS_WITH(last_holding(1.0, not_a_number, small),
                    "last_holding: fails_there is nan, but must be at least 0");
}
