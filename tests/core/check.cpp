// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/check.hpp>

#include "support/catch.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>

#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>

namespace detail = tacit::detail;
using boost::multiprecision::cpp_bin_float_50;

namespace {

/// True if the check passes, false if it throws std::domain_error.
template <class Check, class T>
bool passes(Check check, T const& x) {
  try {
    check("f", "x", x);
    return true;
  } catch (std::domain_error const&) {
    return false;
  }
}

constexpr auto probability = [](auto... x) { detail::check_probability(x...); };
constexpr auto positive = [](auto... x) { detail::check_positive(x...); };
constexpr auto non_negative = [](auto... x) { detail::check_non_negative(x...); };
constexpr auto not_infinite = [](auto... x) { detail::check_finite(x...); };

}  // namespace

TEMPLATE_TEST_CASE("NaN and infinities fail the checks", "[check]", float, double, long double,
                   cpp_bin_float_50) {
  TestType const not_a_number = std::numeric_limits<TestType>::quiet_NaN();
  TestType const infinity = std::numeric_limits<TestType>::infinity();
  for (TestType const& x : {not_a_number, infinity, TestType(-infinity)}) {
    CHECK_FALSE(passes(probability, x));
    CHECK_FALSE(passes(positive, x));
    CHECK_FALSE(passes(non_negative, x));
    CHECK_FALSE(passes(not_infinite, x));
  }
}

TEMPLATE_TEST_CASE("checks hold exactly up to their ends", "[check]", float, double, long double,
                   cpp_bin_float_50) {
  using limits = std::numeric_limits<TestType>;
  TestType const zero(0);
  TestType const one(1);
  TestType const tiny = (limits::min)();
  TestType const largest = (limits::max)();

  CHECK(passes(probability, zero));
  CHECK(passes(probability, one));
  CHECK_FALSE(passes(probability, TestType(one + limits::epsilon())));
  CHECK_FALSE(passes(probability, TestType(-tiny)));

  CHECK(passes(positive, tiny));
  CHECK(passes(positive, largest));
  CHECK_FALSE(passes(positive, zero));

  CHECK(passes(non_negative, zero));
  CHECK(passes(non_negative, largest));
  CHECK_FALSE(passes(non_negative, TestType(-tiny)));

  CHECK(passes(not_infinite, TestType(-largest)));
  CHECK(passes(not_infinite, largest));
}

TEST_CASE("messages have one shape", "[check]") {
  CHECK_THROWS_WITH(detail::check_probability("noise_for", "prior", 1.5),
                    "noise_for: prior is 1.5, but must be in [0, 1]");
  CHECK_THROWS_WITH(
      detail::check_probability("noise_for", "prior", std::numeric_limits<double>::quiet_NaN()),
      "noise_for: prior is nan, but must be in [0, 1]");
  CHECK_THROWS_WITH(detail::check_positive("channel", "sigma", 0.0),
                    "channel: sigma is 0, but must be positive and finite");
  CHECK_THROWS_WITH(detail::check_non_negative("ledger", "budget", -0.1),
                    "ledger: budget is -0.1, but must be finite and at least 0");
  CHECK_THROWS_WITH(detail::check_finite("step", "loss", -std::numeric_limits<double>::infinity()),
                    "step: loss is -inf, but must be finite");
  CHECK_THROWS_WITH(detail::check_size("step", "size of losses", 3, 4),
                    "step: size of losses is 3, but must be 4");
}

TEST_CASE("a shape is an invalid argument", "[check]") {
  CHECK_NOTHROW(detail::check_size("step", "size of losses", 4, 4));
  CHECK_THROWS_AS(detail::check_size("step", "size of losses", 3, 4), std::invalid_argument);
}

TEST_CASE("a number is written so that it reads back", "[check]") {
  for (double const x : {0.1, 1.0 / 3.0, 1e-300, 0x1p-1074, 1.7976931348623157e308}) {
    CHECK(std::strtod(detail::to_text(x).c_str(), nullptr) == x);
  }
  cpp_bin_float_50 const third = cpp_bin_float_50(1) / 3;
  CHECK(cpp_bin_float_50(detail::to_text(third)) == third);
}

TEST_CASE("a failed solver tells its bracket", "[check]") {
  try {
    throw tacit::convergence_error("noise_for: no bracket", 0.5, 2.0);
  } catch (std::runtime_error const& error) {
    auto const* const failure = dynamic_cast<tacit::convergence_error const*>(&error);
    REQUIRE(failure != nullptr);
    CHECK(failure->lower == 0.5);
    CHECK(failure->upper == 2.0);
    CHECK(failure->what() == std::string("noise_for: no bracket"));
  }
}
