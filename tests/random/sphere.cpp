// SPDX-License-Identifier: Apache-2.0
#include <tacit/random/sphere.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstdint>

using tacit::normal;
using tacit::normal_square_sum;
using tacit::sphere_scale;
using tacit::stream_id;

TEST_CASE("the scaled direction has length √d", "[sphere]") {
  for (std::uint64_t d : {1U, 2U, 3U, 4U, 5U, 127U, 2'410U, 100'000U}) {
    stream_id const stream{20, d};
    auto const scale = static_cast<double>(sphere_scale(stream, d));
    double square = 0.0;
    for (std::uint64_t i = 0; i < d; ++i) square += std::pow(scale * normal(stream, i), 2);
    CHECK(square / static_cast<double>(d) == Approx(1.0).epsilon(2e-7));
  }
}

TEST_CASE("the square sum is exact, whatever the order and the grouping", "[sphere]") {
  stream_id const stream{21, 0};
  constexpr std::uint64_t d = 4'099;
  normal_square_sum forward;
  normal_square_sum backward;
  normal_square_sum even;
  normal_square_sum odd;
  for (std::uint64_t i = 0; i < d; ++i) {
    forward.add(normal(stream, i));
    backward.add(normal(stream, d - 1 - i));
    (i % 2 == 0 ? even : odd).add(normal(stream, i));
  }
  even.add(odd);
  CHECK(forward == backward);
  CHECK(forward == even);
  CHECK(sphere_scale(stream, d) == sphere_scale(forward, d));
}

TEST_CASE("the square sum carries past 64 bits", "[sphere]") {
  normal_square_sum sum;
  for (int i = 0; i < 1'000; ++i) sum.add(6.0F);  // 36·1000·2^56 > 2^64
  CHECK(sum.value() == 36'000.0);
  sum.add(0x1p-28F);
  CHECK_FALSE(sum == [] {
    normal_square_sum other;
    for (int i = 0; i < 1'000; ++i) other.add(-6.0F);
    return other;
  }());
}

TEST_CASE("no direction gives scale 0, not NaN", "[sphere]") {
  CHECK(sphere_scale(stream_id{1, 1}, 0) == 0.0F);
  CHECK(sphere_scale(normal_square_sum{}, 3) == 0.0F);
}
