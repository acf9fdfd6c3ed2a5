// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/solve.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>

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
