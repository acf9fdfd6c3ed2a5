// SPDX-License-Identifier: Apache-2.0
#include "order.hpp"
#include "support/catch.hpp"

#include <cmath>
#include <numbers>
#include <vector>

namespace order_tests {

using namespace studies;

namespace {

// Two-sided p of two values by Student's law with one degree of freedom, which is Cauchy's.
double two_values(double a, double b) {
  return 1.0 - 2.0 / std::numbers::pi * std::atan(std::fabs(a + b) / std::fabs(a - b));
}

}  // namespace

TEST_CASE("which rule asks for less noise is tested on the logarithms, corrected by Holm") {
  std::vector<traces> const all{{1.0, {{1.0, 2.0}, {2.0, 5.0}}}, {2.0, {{3.0, 1.0}, {1.0, 3.1}}}};
  CHECK(ratios(all[0], {0, 1, true}) == std::vector<double>{0.5, 0.4});
  double const clear = two_values(std::log(0.5), std::log(0.4));
  double const unclear = two_values(std::log(3.0), std::log(1.0 / 3.1));
  auto const p = adjusted_order({{0, 1, true}}, all);
  REQUIRE(p.size() == 2);
  CHECK(p[0] == Approx(2.0 * clear).epsilon(1e-9));
  CHECK(p[1] == Approx(unclear).epsilon(1e-9));
  // The same the other way round, and nothing for pairs whose order is known.
  CHECK(adjusted_order({{1, 0, true}}, all)[0] == Approx(p[0]).epsilon(1e-9));
  CHECK(adjusted_order({{0, 1, false}}, all).empty());
  CHECK(adjusted_order({{0, 1, false}, {0, 1, true}}, all).size() == 2);
}

TEST_CASE("equal noise, and noise of one seed alone, have no order") {
  CHECK(adjusted_order({{0, 1, true}}, {{1.0, {{2.0, 3.0}, {2.0, 3.0}}}}) ==
        std::vector<double>{1.0});
  CHECK(adjusted_order({{0, 1, true}}, {{1.0, {{2.0}, {3.0}}}}) == std::vector<double>{1.0});
}

}  // namespace order_tests
