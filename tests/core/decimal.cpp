// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/decimal.hpp>

#include "support/catch.hpp"
#include "support/directory.hpp"

#include <boost/multiprecision/cpp_int.hpp>

#include <bit>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

using boost::multiprecision::cpp_int;
using boost::multiprecision::cpp_rational;
using tacit::rounded_down;
using tacit::rounded_up;

namespace {

cpp_rational power(int base, int exponent) {
  cpp_rational const p(
      boost::multiprecision::pow(cpp_int(base), static_cast<unsigned>(std::abs(exponent))));
  return exponent < 0 ? cpp_rational(1 / p) : p;
}

cpp_rational exact(double x) {
  int exponent = 0;
  double const mantissa = std::ldexp(std::frexp(x, &exponent), 53);
  return cpp_rational(static_cast<std::int64_t>(mantissa)) * power(2, exponent - 53);
}

// The number that a text like -1.25e-07 means.
cpp_rational meant(std::string text) {
  bool const negative = text.front() == '-';
  if (negative) text.erase(0, 1);
  int exponent = 0;
  if (auto const e = text.find('e'); e != std::string::npos) {
    exponent = std::stoi(text.substr(e + 1));
    text.resize(e);
  }
  if (auto const point = text.find('.'); point != std::string::npos) {
    exponent -= static_cast<int>(text.size() - point - 1);
    text.erase(point, 1);
  }
  text.erase(0, std::min(text.find_first_not_of('0'), text.size() - 1));  // a leading 0 means octal
  cpp_rational const magnitude = cpp_rational(cpp_int(text)) * power(10, exponent);
  return negative ? cpp_rational(-magnitude) : magnitude;
}

}  // namespace

TEST_CASE("decimals are on their side of the number, and within a unit of the last digit",
          "[core][decimal][long]") {
  std::mt19937_64 random(1);
  for (int k = 0; k < 20000; ++k) {
    auto x = std::bit_cast<double>(random());
    if (!std::isfinite(x)) continue;
    if (k % 3 == 0) x = std::ldexp(x, -std::ilogb(x) + static_cast<int>(random() % 40) - 20);
    int const digits = 1 + static_cast<int>(random() % 20);
    CAPTURE(x, digits);
    cpp_rational const truth = exact(x);
    cpp_rational const above = meant(rounded_up(x, digits));
    cpp_rational const below = meant(rounded_down(x, digits));
    REQUIRE(below <= truth);
    REQUIRE(truth <= above);
    cpp_rational const unit =
        power(10, static_cast<int>(std::floor(std::log10(std::abs(x)))) + 2 - digits);
    REQUIRE(above - below <= unit);
  }
}

TEST_CASE("where nothing is dropped both decimals are what printf writes", "[core][decimal]") {
  for (double const x :
       {1.0, 0.5, -0.25, 1024.0, 123456.0, 0.0001220703125, 1e22, -3.0, 1e6, 1e5, 0.00390625}) {
    char text[64];
    std::snprintf(text, sizeof text, "%.20g", x);
    CHECK(rounded_up(x, 20) == text);
    CHECK(rounded_down(x, 20) == text);
  }
}

TEST_CASE("decimals do not depend on the locale's point", "[core][decimal]") {
  // Pashto's is a character of two bytes. Where its locale cannot be made there is nothing to see.
  support::directory const folder;
  std::string const make = "localedef -i ps_AF -f UTF-8 " + (folder / "ps_AF").string();
  bool const made = std::system((make + " >/dev/null 2>&1").c_str()) == 0;
  ::setenv("LOCPATH", folder.path().c_str(), 1);
  bool const set = std::setlocale(LC_NUMERIC, "ps_AF") != nullptr;
  std::string const text = rounded_up(1.25, 3) + rounded_down(0.1, 20) + rounded_up(-1e300);
  std::setlocale(LC_NUMERIC, "C");
  ::unsetenv("LOCPATH");
  CAPTURE(made, set);
  CHECK(text == "1.250.10000000000000000555-1e+300");
}

TEST_CASE("decimals: known texts", "[core][decimal]") {
  CHECK(rounded_up(0.74001, 4) == "0.7401");
  CHECK(rounded_down(0.74009, 4) == "0.74");
  CHECK(rounded_up(-0.74009, 4) == "-0.74");
  CHECK(rounded_up(0.99999, 3) == "1");
  CHECK(rounded_up(9.9999e-5, 3) == "0.0001");
  CHECK(rounded_up(999999.5, 6) == "1e+06");
  CHECK(rounded_up(6.187712389971637) == "6.18772");
  CHECK(rounded_down(1e-10) == "1e-10");  // the double is a little above
  CHECK(rounded_up(1e-10, 3) == "1.01e-10");
  CHECK(rounded_up(0.0) == "0");
  CHECK(rounded_down(-0.0) == "0");
  CHECK(rounded_up(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(rounded_down(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(rounded_up(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(rounded_up(std::numeric_limits<double>::denorm_min(), 2) == "5e-324");
  CHECK(to_string(tacit::bound<double>{6.187712389971441, 6.187712389971637}) ==
        "[6.18771, 6.18772]");
  CHECK_THROWS_AS(rounded_up(1.0, 0), std::invalid_argument);
  CHECK_THROWS_AS(rounded_down(1.0, 768), std::invalid_argument);
}
