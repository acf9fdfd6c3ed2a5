// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/rounded.hpp>
#include <tacit/core/sum.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <vector>

namespace {

using tacit::compensated_sum;
using tacit::detail::add_up;
using tacit::detail::subtract_down;

// Wide enough to hold any sum of two doubles exactly: 2¹⁰²⁴ down to 2⁻¹⁰⁷⁴.
using exact_sum = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<2200, boost::multiprecision::digit_base_2>>;

constexpr double epsilon = std::numeric_limits<double>::epsilon();

constexpr double compensated(std::initializer_list<double> terms) {
  compensated_sum<double> sum;
  for (double const x : terms) sum += x;
  return sum.value();
}

static_assert(compensated({}) == 0.0);
static_assert(compensated({1.0, 1e100, 1.0, -1e100}) == 2.0);
static_assert(compensated({1e100, 1.0, -1e100}) == 1.0);  // the larger may come first or last
static_assert(compensated({1.0, 1e-17, 1e-17, 1e-17, -1.0}) > 2.9e-17);

double any_double(std::mt19937_64& random) {
  for (;;) {
    auto const x = std::bit_cast<double>(static_cast<std::uint64_t>(random()));
    if (std::isfinite(x) && std::abs(x) < 0x1p1022) return x;
  }
}

/// How each result lies to the exact one.
struct verdict {
  int wrong_side = 0;
  int not_tight = 0;  // further than the next double
  int rounded = 0;

  void add(double a, double b) {
    double const up = add_up(a, b);
    exact_sum const sum = exact_sum(a) + exact_sum(b);
    wrong_side += exact_sum(up) < sum;
    not_tight += exact_sum(std::nextafter(up, -infinity)) >= sum;
    rounded += exact_sum(up) != sum;

    double const down = subtract_down(a, b);
    exact_sum const difference = exact_sum(a) - exact_sum(b);
    wrong_side += exact_sum(down) > difference;
    not_tight += exact_sum(std::nextafter(down, infinity)) <= difference;
  }
};

}  // namespace

TEST_CASE("a compensated sum loses no digit to its length", "[sum]") {
  compensated_sum<double> sum;
  for (int k = 0; k < 10'000'000; ++k) sum += 0.1;
  support::exact const truth = support::exact(0.1) * 10'000'000;
  CHECK(abs(support::exact(sum.value() - truth)) <= truth * epsilon);

  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0.0, 1.0);
  std::uniform_int_distribution<int> scale(-30, 30);
  for (int run = 0; run < 50; ++run) {
    compensated_sum<double> total(1e-3);
    support::exact exactly = 1e-3;
    support::exact size = 1e-3;
    for (int k = 0; k < 1000; ++k) {
      double const x = std::ldexp(normal(random), scale(random));
      total += x;
      exactly += x;
      size += abs(support::exact(x));
    }
    // Neumaier's bound, u = ε/2.
    support::exact const bound =
        abs(exactly) * epsilon + size * (1000.0 * 1000.0 * epsilon * epsilon / 4.0);
    CHECK(abs(support::exact(total.value() - exactly)) <= bound);
  }
}

TEST_CASE("a compensated sum in 50 digits and in float", "[sum]") {
  compensated_sum<support::exact> wide;
  wide += support::exact("1e60");
  wide += support::exact(1);
  wide += support::exact("-1e60");
  CHECK(wide.value() == 1);
  compensated_sum<float> narrow(1.0F);
  for (int k = 0; k < 1000; ++k) narrow += 1e-8F;
  CHECK(narrow.value() == Approx(1.00001).epsilon(1e-7));
}

TEST_CASE("add_up is never below the sum, subtract_down never above the difference",
          "[sum][long]") {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> exponent(-20.0, 0.0);
  std::uniform_int_distribution<int> shift(-60, 60);
  std::normal_distribution<double> normal;
  verdict result;
  for (int k = 0; k < 20'000; ++k) {
    double const a = any_double(random);
    result.add(a, any_double(random));
    // Of about one size, where the roundings are.
    double const near = std::ldexp(normal(random), std::ilogb(a) + shift(random));
    if (std::isfinite(near) && std::abs(near) < 0x1p1022) result.add(a, near);
    result.add(std::pow(10.0, exponent(random)), std::pow(10.0, exponent(random)));
  }
  CHECK(result.wrong_side == 0);
  CHECK(result.not_tight == 0);
  CHECK(result.rounded > 20'000);  // else nothing was tested
}

TEST_CASE("directed sums at the edges of rounding", "[sum]") {
  double const half = epsilon / 2.0;  // of the last place of 1
  std::vector<double> const edges{0.0,
                                  1.0,
                                  half,
                                  std::nextafter(half, 1.0),
                                  std::nextafter(half, 0.0),
                                  std::nextafter(1.0, 2.0),
                                  std::nextafter(1.0, 0.0),
                                  0x1p-1074,
                                  0x1p-1022,
                                  std::nextafter(0x1p-1022, 0.0),
                                  0x1p53,
                                  0x1p53 + 2.0,
                                  0x1p1000,
                                  0x1p-1000,
                                  0.1,
                                  1.0 / 3.0};
  verdict result;
  for (double const a : edges) {
    for (double const b : edges) {
      for (double const sign : {-1.0, 1.0}) {
        result.add(a, sign * b);
        result.add(-a, sign * b);
      }
    }
  }
  CHECK(result.wrong_side == 0);
  CHECK(result.not_tight == 0);

  CHECK(add_up(1.0, 0x1p-1074) == 1.0 + epsilon);
  CHECK(add_up(1.0, -0x1p-1074) == 1.0);
  CHECK(subtract_down(1.0, 0x1p-1074) == 1.0 - half);
  CHECK(subtract_down(1.0, -0x1p-1074) == 1.0);
  CHECK(add_up(1.0, 1.0) == 2.0);
  CHECK(subtract_down(0.75, 0.5) == 0.25);
  CHECK(add_up(std::numeric_limits<double>::max(), 1.0) == infinity);  // up, not down
  CHECK(add_up(infinity, 1.0) == infinity);
  CHECK(std::isnan(add_up(std::numeric_limits<double>::quiet_NaN(), 1.0)));
  CHECK(std::isnan(subtract_down(1.0, std::numeric_limits<double>::quiet_NaN())));
}
