// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/solve.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

TEST_CASE("a change of sign is found to the last digits", "[core]") {
  int calls = 0;
  auto const find = [&](double low, double high, auto&& f) {
    calls = 0;
    return tacit::detail::sign_change({low, high}, f(low), f(high), [&](double x) {
      ++calls;
      return f(x);
    });
  };
  auto const holds = [](auto const& at, double root) {
    return at.low <= root && root <= at.high && at.high - at.low <= 5e-16 * std::abs(root);
  };
  auto const cube = find(0.0, 16.0, [](double x) { return 10.0 - x * x * x; });
  CHECK(holds(cube, 2.15443469003188372175929));  // ∛10
  CHECK(calls <= 12);
  CHECK(holds(find(0.0, 40.0, [](double x) { return std::exp(-x) - 1e-6; }),
              13.8155105579642741041079));  // 6 log 10
  // Rising, and below 0.
  CHECK(holds(find(-7.0, -5.0, [](double x) { return std::sin(x); }), -6.28318530717958647692528));
  // A step costs a bisection at the most.
  CHECK(holds(find(0.0, 16.0, [](double x) { return x <= 2.0 ? 1e4 : -1e-20; }), 2.0));
  CHECK(calls <= 60);
  // A root at an end, or met on the way, is its own bracket.
  for (auto const& at : {find(1.0, 2.0, [](double x) { return 1.0 - x; }),
                         find(0.0, 1.0, [](double x) { return 1.0 - x; }),
                         find(0.0, 2.0, [](double x) { return 1.0 - x; })}) {
    CHECK(at.low == 1.0);
    CHECK(at.high == 1.0);
  }
}

TEST_CASE("a search that is told values closes on a change of sign", "[core]") {
  double const infinity = std::numeric_limits<double>::infinity();
  tacit::detail::sign_search<double> search;
  search.put(1.0, -1.0);
  search.put(2.0, -0.5);
  CHECK_FALSE(search.closed());
  search.put(4.0, 0.5);  // of those before, the last one counts
  CHECK(search.closed());
  CHECK(search.ends().low == 2.0);
  CHECK(search.ends().high == 4.0);
  CHECK(search.next() == 3.0);  // on the line
  // Infinite values count by their sign.
  tacit::detail::sign_search<double> blind;
  blind.put(8.0, infinity);
  blind.put(0.0, -infinity);
  CHECK(blind.next() == 4.0);
  int calls = 0;
  for (; !blind.settled(); ++calls) {
    double const x = blind.next();
    REQUIRE(blind.ends().holds(x));
    blind.put(x, x < 3.0 ? -infinity : infinity);
  }
  CHECK(blind.ends().low < 3.0);
  CHECK(blind.ends().high >= 3.0);
  CHECK(calls < 60);
}

TEST_CASE("Newton's method finds a root without an upper end", "[core]") {
  double const infinity = std::numeric_limits<double>::infinity();
  auto const root = [&](double start, auto&& f) {
    return tacit::detail::newton_between({0.0, infinity}, start, false, f);
  };
  auto const fall = [](double x) { return std::pair(100.0 - x, -1.0); };
  CHECK(root(1.0, fall) == Approx(100.0).epsilon(1e-15));
  // No derivative below 50, and no value above 200.
  CHECK(root(1.0, [&](double x) {
          return x < 50.0 ? std::pair(1.0, 0.0) : x > 200.0 ? std::pair(-1.0, 0.0) : fall(x);
        }) == Approx(100.0).epsilon(1e-15));
}

TEST_CASE("a least value is found to half the digits", "[core]") {
  auto const least = [](double low, double high, auto&& f) {
    return tacit::detail::least_between({low, high}, 0x1p-25, 60, f);
  };
  CHECK(least(0.0, 5.0, [](double x) { return (x - 0.3) * (x - 0.3); }) ==
        Approx(0.3).margin(3e-8));
  CHECK(least(-3.0, 9.0, [](double x) { return -x * std::exp(-x); }) == Approx(1.0).margin(1e-7));
  CHECK(least(0.0, 5.0, [](double x) { return std::abs(x - 1.25); }) == Approx(1.25).margin(1e-7));
  CHECK(least(1.0, 2.0, [](double x) { return x; }) == Approx(1.0).margin(1e-7));
  CHECK(least(1.0, 2.0, [](double x) { return -x; }) == Approx(2.0).margin(2e-7));
}
