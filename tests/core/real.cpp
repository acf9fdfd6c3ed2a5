// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/real.hpp>

#include "support/catch.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>

#include <string>

using tacit::real;

namespace {

namespace multiprecision = boost::multiprecision;
using quiet = multiprecision::number<multiprecision::cpp_bin_float<50>, multiprecision::et_off>;
using lazy = multiprecision::number<multiprecision::cpp_bin_float<50>, multiprecision::et_on>;

}  // namespace

TEST_CASE("arithmetic on a real number yields that type", "[real]") {
  STATIC_REQUIRE((real<float> && real<double> && real<long double>));
  STATIC_REQUIRE((real<quiet> && real<multiprecision::cpp_bin_float_50>));
  STATIC_REQUIRE(!real<lazy>);   // x + y is an expression, not a number
  STATIC_REQUIRE(!real<short>);  // x + y is an int
  STATIC_REQUIRE((!real<std::string> && !real<void*>));
}
