// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/number_text.hpp>

#include "support/catch.hpp"

#include <bit>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace {

using tacit::detail::floating_from_text;
using tacit::detail::floating_to_text;
using tacit::detail::from_text;
using tacit::detail::to_text;

template <class T>
void check_shortest(T x) {
  std::string const text = floating_to_text(x);
#if defined(__cpp_lib_to_chars)
  char buffer[64];
  REQUIRE(text == std::string_view(buffer, std::to_chars(buffer, buffer + sizeof buffer, x).ptr));
#endif
  auto const back = floating_from_text<T>(text);
  REQUIRE(back);
  REQUIRE((*back == x || (x != x && *back != *back)));
  REQUIRE(std::signbit(*back) == std::signbit(x));
}

template <class T>
void check_reading(std::string_view text) {
  CAPTURE(text);
  std::optional<T> const read = floating_from_text<T>(text);
#if defined(__cpp_lib_to_chars)
  T x{};
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  bool const whole = !text.empty() && error == std::errc{} && end == text.data() + text.size();
  REQUIRE(read.has_value() == whole);
  if (!whole) return;
  REQUIRE((*read == x || (x != x && *read != *read)));
  REQUIRE(std::signbit(*read) == std::signbit(x));
#endif
}

}  // namespace

TEST_CASE("the fallback writes what to_chars writes", "[number_text]") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (double const x : {0.0,
                         1.0,
                         0.1,
                         1e5,
                         123456.0,
                         1e15,
                         1e20,
                         1e21,
                         1e22,
                         123456789012345680000.0,
                         9007199254740993.0,
                         1e-4,
                         1e-5,
                         1.5e-5,
                         1.25e-7,
                         5e-324,
                         1.7976931348623157e308,
                         2.2250738585072014e-308,
                         0.3,
                         2.0 / 3.0,
                         1e300,
                         99999999.5,
                         inf}) {
    check_shortest(x);
    check_shortest(-x);
    check_shortest(static_cast<float>(x));
  }
  check_shortest(std::numeric_limits<double>::quiet_NaN());
  // The gap above a power of two is twice the gap below.
  for (int power = -1074; power < 1024; ++power) {
    check_shortest(std::ldexp(1.0, power));
    check_shortest(std::nextafter(std::ldexp(1.0, power), 0.0));
    if (power >= -149 && power < 128) check_shortest(std::ldexp(1.0F, power));
  }
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    check_shortest(std::bit_cast<double>(static_cast<std::uint64_t>(random())));
    check_shortest(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
    check_shortest(static_cast<double>(random() >> (random() % 64)));
    check_shortest(static_cast<double>(random() % 1000000) / 1000.0);
  }
}

TEST_CASE("the fallback reads what from_chars reads", "[number_text]") {
  std::vector<std::string> const texts = {
      "",
      "-",
      "+1",
      " 1",
      "1 ",
      "1",
      "-1",
      "1.",
      ".5",
      "-.5",
      ".",
      "1e5",
      "1e+5",
      "1e-5",
      "1e",
      "1e+",
      "1e+-5",
      "1E5",
      "1.5e0002",
      "0x10",
      "inf",
      "-inf",
      "INF",
      "nan",
      "-nan",
      "infinity",
      "infin",
      "infx",
      "1,5",
      "1..5",
      "1.5.2",
      "1e400",
      "-1e400",
      "0e0",
      "-0",
      "00012",
      "0.0001",
      "1e308",
      "1.8e308",
      "5e-324",
      "1f",
      "--1",
      "1e5e5",
      "e5",
      "1e1.5",
      "0.e3",
      "1e0005",
      "1_0",
      "1e-310",
      "2.4703282292062327208e-324",
      "17976931348623158079372897140530341507993413271003782693617377898044496829276475094664901797"
      "75872070963302864166928879109465555478519404026306574886715058206819089020007083836762738548"
      "45817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711"
      "559699508093042880",
      "0.1000000000000000055511151231257827021181583404541015625",
      "9007199254740992.999999999999999999999999"};
  for (std::string const& text : texts) {
    check_reading<double>(text);
    check_reading<float>(text);
  }
  std::mt19937_64 random(6);
  constexpr std::string_view alphabet = "0123456789.e-+";
  for (int i = 0; i < 50000; ++i) {
    std::string text;
    for (std::size_t length = random() % 12; length > 0; --length) {
      text.push_back(alphabet[random() % alphabet.size()]);
    }
    if (text.find('e') != std::string::npos && text.size() - text.find('e') > 4) continue;
    check_reading<double>(text);
  }
}

TEST_CASE("numbers as text do not depend on the locale", "[number_text]") {
  for (char const* name : {"C", "de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"}) {
    if (std::setlocale(LC_NUMERIC, name) == nullptr) continue;
    CHECK(floating_to_text(1234.5) == "1234.5");
    CHECK(floating_to_text(1.5e-7) == "1.5e-07");
    CHECK(floating_from_text<double>("1234.5") == 1234.5);
    CHECK(to_text(0.1) == "0.1");
    CHECK(from_text<double>("0.1") == 0.1);
    CHECK(!from_text<double>("0,1"));
  }
  std::setlocale(LC_NUMERIC, "C");
}

TEST_CASE("whole numbers as text", "[number_text]") {
  CHECK(to_text(std::uint64_t{18446744073709551615U}) == "18446744073709551615");
  CHECK(from_text<std::uint64_t>("18446744073709551615") == std::uint64_t{18446744073709551615U});
  for (char const* bad : {"", "-1", "+1", "1 ", " 1", "1.0", "18446744073709551616", "x"}) {
    CHECK(!from_text<std::uint64_t>(bad));
  }
  CHECK(from_text<int>("-12") == -12);
}
