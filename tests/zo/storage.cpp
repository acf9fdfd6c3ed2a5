// SPDX-License-Identifier: Apache-2.0
#include <tacit/zo/storage.hpp>

#include "support/catch.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

using namespace tacit;

namespace {

// The definitions, by exact arithmetic in double.
double value_of_half(std::uint16_t bits) {
  int const exponent = bits >> 10 & 31;
  int const fraction = bits & 0x3FF;
  double const sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  return sign *
         (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

template <class T>
float value(std::uint32_t bits) {
  return to_float(T{static_cast<std::uint16_t>(bits)});
}

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

// Between two neighbours of the storage: below the middle, at it, above it.
template <class T>
void check_between(std::uint32_t low) {
  float const below = value<T>(low);
  float const above = value<T>(low + 1);
  float const middle = 0.5F * below + 0.5F * above;  // exact
  CAPTURE(low);
  REQUIRE(rounded_to<T>(below).bits == low);
  REQUIRE(rounded_to<T>(std::nextafter(middle, below)).bits == low);
  REQUIRE(rounded_to<T>(middle).bits == low + (low & 1));
  REQUIRE(rounded_to<T>(std::nextafter(middle, above)).bits == low + 1);
  REQUIRE(rounded_to<T>(-std::nextafter(middle, above)).bits == (0x8000 | (low + 1)));
}

}  // namespace

static_assert(to_float(half{0x3C00}) == 1.0F && to_float(bfloat16{0x3F80}) == 1.0F);
static_assert(rounded_to<half>(65504.0F).bits == 0x7BFF);
static_assert(sizeof(half) == 2 && sizeof(bfloat16) == 2);

TEST_CASE("every half is its value") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    double const expected = value_of_half(static_cast<std::uint16_t>(bits));
    float const got = value<half>(bits);
    if (std::isnan(expected)) {
      REQUIRE(std::isnan(got));
    } else {
      REQUIRE(double{got} == expected);
      REQUIRE(std::signbit(got) == std::signbit(expected));
      REQUIRE(rounded_to<half>(got).bits == bits);
    }
  }
}

TEST_CASE("every bfloat16 is the upper half of its float") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    float const got = value<bfloat16>(bits);
    REQUIRE(bits_of(got) == bits << 16);
    if (!std::isnan(got)) REQUIRE(rounded_to<bfloat16>(got).bits == bits);
  }
}

TEST_CASE("rounding is to the nearest, ties to even") {
  for (std::uint32_t low = 0; low < 0x7BFF; ++low) check_between<half>(low);
  for (std::uint32_t low = 0x80; low < 0x7F7F; ++low) check_between<bfloat16>(low);
}

TEST_CASE("rounding at the ends of the range") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  constexpr float smallest = std::numeric_limits<float>::denorm_min();
  CHECK(rounded_to<half>(65519.996F).bits == 0x7BFF);
  CHECK(rounded_to<half>(65520.0F).bits == 0x7C00);
  CHECK(rounded_to<half>(-1e30F).bits == 0xFC00);
  CHECK(rounded_to<half>(infinity).bits == 0x7C00);
  CHECK(rounded_to<half>(smallest).bits == 0);
  CHECK(rounded_to<half>(-smallest).bits == 0x8000);
  CHECK(rounded_to<half>(0x1p-25F).bits == 0);
  CHECK(rounded_to<half>(0x1.000002p-25F).bits == 1);
  CHECK(rounded_to<bfloat16>(std::numeric_limits<float>::max()).bits == 0x7F80);
  CHECK(rounded_to<bfloat16>(-infinity).bits == 0xFF80);
  CHECK(rounded_to<bfloat16>(smallest).bits == 0);
  for (std::uint32_t const nan : {0x7F800001U, 0x7FC00000U, 0x7FFFFFFFU, 0xFFFFFFFFU}) {
    float const x = std::bit_cast<float>(nan);
    CHECK(std::isnan(to_float(rounded_to<half>(x))));
    CHECK(std::isnan(to_float(rounded_to<bfloat16>(x))));
  }
}
