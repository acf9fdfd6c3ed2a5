// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/real.hpp>

#include <boost/multiprecision/cpp_bin_float.hpp>

#include <string>

using tacit::real;

namespace {

namespace multiprecision = boost::multiprecision;
using quiet = multiprecision::number<multiprecision::cpp_bin_float<50>, multiprecision::et_off>;
using lazy = multiprecision::number<multiprecision::cpp_bin_float<50>, multiprecision::et_on>;

static_assert(real<float> && real<double> && real<long double>);
static_assert(real<quiet> && real<multiprecision::cpp_bin_float_50>);
static_assert(!real<lazy>);   // x + y is an expression, not a number
static_assert(!real<short>);  // x + y is an int
static_assert(!real<std::string> && !real<void*>);

}  // namespace
