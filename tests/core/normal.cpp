// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/normal.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <boost/math/constants/constants.hpp>
#include <boost/math/special_functions/erf.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

using namespace tacit;
using support::exact;
using support::relative;

namespace {

/// 1 − Φ, by another route than the library's: Boost's erfc in 50 digits.
exact plain_tail(exact const& x) { return boost::math::erfc(exact(x / sqrt(exact(2)))) / 2; }

}  // namespace

TEMPLATE_TEST_CASE("constants are those of Boost", "[normal]", float, double, long double, exact) {
  namespace ours = tacit::detail::constants;
  namespace theirs = boost::math::constants;
  CHECK(ours::pi<TestType>() == theirs::pi<TestType>());
  CHECK(ours::two_pi<TestType>() == theirs::two_pi<TestType>());
  CHECK(ours::root_two<TestType>() == theirs::root_two<TestType>());
  CHECK(ours::root_pi<TestType>() == theirs::root_pi<TestType>());
  CHECK(ours::root_two_pi<TestType>() == theirs::root_two_pi<TestType>());
  CHECK(ours::ln_two<TestType>() == theirs::ln_two<TestType>());
}

TEST_CASE("normal tails and the Mills ratio follow 50 digits", "[normal]") {
  exact const root_two_pi = sqrt(2 * boost::math::constants::pi<exact>());
  for (double const x : {-37.0, -8.0, -1.0, -0.3, -1e-9, 0.0, 1e-9, 0.02, 0.5, 1.0, 3.0, 7.5, 7.6,
                         10.5, 10.6, 12.5, 20.0, 37.0}) {
    CAPTURE(x);
    exact const tail = plain_tail(exact(x));
    exact const ratio = tail * exp(exact(x) * exact(x) / 2) * root_two_pi;
    CHECK(relative(mills_ratio(x), ratio) <= (x < 0.0 ? 1e-15 * (2.0 + x * x) : 2e-15));
    CHECK(relative(normal_tail(x), tail) <= 5e-15);
    exact const log_tail = x < 0.0 ? log1p(exact(-plain_tail(exact(-x)))) : exact(log(tail));
    CHECK(relative(log_normal_tail(x), log_tail) <= 5e-15);
    long double const wide(x);
    CHECK(relative(exact(mills_ratio(wide)), ratio) <= 1e-18 * (2.0 + x * x));
    CHECK(relative(exact(normal_tail(wide)), tail) <= 5e-18);
    CHECK(relative(mills_ratio(exact(x)), ratio) <= 1e-44);
    if (x < -9.0) continue;
    CHECK(static_cast<double>(mills_ratio(static_cast<float>(x))) ==
          Approx(static_cast<double>(ratio)).epsilon(1e-6 * (2.0 + x * x)));
  }
  CHECK(mills_ratio(1e200) == Approx(1e-200).epsilon(1e-14));
  CHECK(mills_ratio(infinity) == 0.0);
  CHECK(normal_tail(infinity) == 0.0);
  CHECK(normal_tail(-infinity) == 1.0);
  CHECK(log_normal_tail(1e10) == Approx(-5e19).epsilon(1e-14));
}

TEST_CASE("the centre of the normal law is within its proven error", "[normal]") {
  double worst = 0.0;  // in units of 2^-53
  for (int k = 0; k < 4000; ++k) {
    double const x = k < 2000 ? k / 2000.0 : std::pow(10.0, -(k - 2000) / 7.0);
    if (x == 0.0) continue;
    exact const truth = boost::math::erf(exact(exact(x) / sqrt(exact(2))));
    exact const off = abs(exact(detail::normal_centre(x)) / truth - 1);
    worst = std::max(worst, static_cast<double>(off) * 0x1p53);
    if (k % 100 == 0) CHECK(relative(detail::normal_centre(exact(x)), truth) < 1e-45);
  }
  INFO(worst);
  CHECK(worst < 16.0);
  CHECK(worst > 1.0);
  CHECK(detail::normal_centre(0.0) == 0.0);
}

TEST_CASE("quantiles come back through the tail, far beyond its underflow", "[normal]") {
  for (double const p : {1e-323, 1e-300, 1e-100, 1e-20, 1e-5, 0.0099, 0.2499, 0.2501, 0.3,
                         0.4999999, 0.5, 0.7, 0.999, 1.0 - 0x1p-53}) {
    CAPTURE(p);
    double const x = normal_tail_inverse(p);
    if (p == 0.5) {
      CHECK(x == 0.0);
      continue;
    }
    // One Newton step in 50 digits leads from x to the truth.
    exact const miss = (plain_tail(exact(x)) - exact(p)) *
                       boost::math::constants::root_two_pi<exact>() * exp(exact(x) * exact(x) / 2);
    CHECK(static_cast<double>(abs(miss)) <= 1e-14 * std::abs(x));
  }
  for (double const log_p :
       {-1e-300, -1e-17, -0.1, -0.69, -0.7, -5.0, -745.0, -1e4, -1e10, -1e300}) {
    double const x = log_normal_tail_inverse(log_p);
    CAPTURE(log_p, x);
    CHECK(log_normal_tail(x) == Approx(log_p).epsilon(1e-13));
    CHECK((x < 0.0) == (log_p > -0.6931));
  }
  CHECK(static_cast<double>(
            abs(exact(log_normal_tail(log_normal_tail_inverse(exact(-1e4))) + 1e4))) <= 1e-40);
  CHECK(normal_tail_inverse(0.0) == infinity);
  CHECK(normal_tail_inverse(1.0) == -infinity);
  CHECK_THROWS_AS(normal_tail_inverse(-0.1), std::domain_error);
  CHECK_THROWS_AS(normal_tail_inverse(std::nan("")), std::domain_error);
  CHECK_THROWS_AS(log_normal_tail_inverse(0.1), std::domain_error);
}
