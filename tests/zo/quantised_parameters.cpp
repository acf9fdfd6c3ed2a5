// SPDX-License-Identifier: Apache-2.0
#include <tacit/zo/quantised_blocks.hpp>
#include <tacit/zo/quantised_parameters.hpp>

#include "support/catch.hpp"
#include "zo/some_blocks.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace quantised_tests {

using namespace blocks_for_tests;

TEST_CASE("updates without a number, or without end") {
  direction const z{direction_law::rademacher, {.seed = 1}};
  stream_id const draws{.seed = 1, .use = purpose::rounding};
  std::vector<q8_0> const before = some_blocks<q8_0>(10, 0.01F, direction_law::rademacher);
  std::vector<q8_0> theta = before;
  sweep(quantised_update{theta.data(), 0.01F, direction_step{z, 0.0F}, draws}, theta.size());
  CHECK(theta == before);
  sweep(quantised_update{theta.data(), 0.01F, direction_step{z, NAN}, draws}, theta.size());
  CHECK(theta == before);
  sweep(quantised_update{theta.data(), 0.01F, direction_step{z, INFINITY}, draws}, theta.size());
  quantised_parameters const all = view(theta, 0.01F);  // at rest still
  for (std::size_t b = 0; b < theta.size(); ++b) {
    rest_range const rest = rest_of<q8_0>(theta[b].scale, 0.01F, direction_law::rademacher);
    for (std::size_t j = 0; j < 32; ++j) {
      bool const up = (z(32 * b + j) > 0.0F) == (to_float(theta[b].scale) > 0.0F);
      REQUIRE(theta[b].get(j) == (up ? rest.most : rest.least));
    }
  }
  std::vector<q8_0> const at_the_ends = theta;
  direction_step const bad{z, NAN};
  CHECK_THROWS_AS(stochastic_update_all(all, {&bad, 1}, draws), std::domain_error);
  direction_step const other{{direction_law::gaussian, {}}, 1.0F};
  CHECK_THROWS_AS(stochastic_update_all(all, {&other, 1}, draws), std::invalid_argument);
  CHECK_THROWS_AS(perturb_all(all, other.z, 1), std::invalid_argument);
  CHECK(theta == at_the_ends);
}

namespace {

template <class Call>
std::string refusal(Call const& call) {
  try {
    call();
  } catch (std::domain_error const& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEMPLATE_TEST_CASE("blocks that cannot be moved are refused by name", "", q8_0, q4_0) {
  for (unsigned const bits : {0x7C00U, 0xFC00U, 0x7E00U, 0xFE01U, 0x0001U, 0x8001U}) {
    std::vector<TestType> theta = some_blocks<TestType>(5, 0.01F, direction_law::rademacher);
    theta[1].set(3, TestType::least);
    theta[3].scale = half{static_cast<std::uint16_t>(bits)};
    std::vector<TestType> const before = theta;
    quantised_tensor const one{.blocks = std::span<TestType>(theta), .name = "layers.0"};
    CAPTURE(bits);
    std::string const message = "scale of block 3 of tensor layers.0";
    CHECK(refusal([&] {
            settle({&one, 1}, {.smoothing = 0.01});
          }).find(message) != std::string::npos);
    CHECK(theta == before);
    theta[1] = some_blocks<TestType>(5, 0.01F, direction_law::rademacher)[1];
    CHECK(refusal([&] { quantised_parameters({one}, {.smoothing = 0.01}); }).find(message) !=
          std::string::npos);
    // The pass itself leaves such a block alone.
    std::vector<TestType> swept = theta;
    direction const z{direction_law::rademacher, {}};
    sweep(quantised_perturb{swept.data(), z, 0.01F}, swept.size());
    sweep(quantised_update{swept.data(), 0.01F, direction_step{z, 1.0F}, stream_id{}},
          swept.size());
    CHECK(swept[3].scale.bits == bits);
    for (std::size_t j = 0; j < 32; ++j) CHECK(swept[3].get(j) == theta[3].get(j));
  }
}

TEMPLATE_TEST_CASE("settling cuts off once, and what is not at rest is refused", "", q8_0, q4_0) {
  std::vector<TestType> theta = some_blocks<TestType>(5, 0.01F, direction_law::rademacher);
  theta[0].scale = half{0};
  theta[0].set(0, TestType::least);
  theta[2].scale = half{0x3C00};  // U = 1
  for (std::size_t j = 0; j < 32; ++j) theta[2].set(j, static_cast<int>(j % 3));
  theta[2].set(4, TestType::least);
  theta[2].set(5, TestType::most);
  theta[2].set(6, TestType::least + 1);
  std::vector<TestType> expected = theta;
  expected[2].set(4, TestType::least + 1);
  expected[2].set(5, TestType::most - 1);
  quantised_tensor const one{.blocks = std::span<TestType>(theta)};
  CHECK(refusal([&] {
          quantised_parameters({one}, {.smoothing = 0.01});
        }).find("entry 4 of block 2 of tensor 0") != std::string::npos);
  CHECK(settle({&one, 1}, {.smoothing = 0.01}) == 2);
  CHECK(theta == expected);
  CHECK(settle({&one, 1}, {.smoothing = 0.01}) == 0);
  quantised_parameters const all({one}, {.smoothing = 0.01});
  // A block of scale 0 is a constant.
  direction const z{direction_law::rademacher, {.seed = 2}};
  perturb_all(all, z, 1);
  CHECK(theta[0] == expected[0]);
  CHECK_FALSE(theta == expected);
  perturb_all(all, z, -1);
  CHECK(theta == expected);
}

TEST_CASE("arguments of quantised parameters") {
  std::vector<q8_0> a = some_blocks<q8_0>(3, 0.01F, direction_law::rademacher);
  std::vector<q4_0> b = some_blocks<q4_0>(2, 0.01F, direction_law::rademacher);
  auto const make = [&](std::uint64_t first, double mu = 0.01,
                        direction_law law = direction_law::rademacher) {
    return quantised_parameters({{.blocks = std::span<q8_0>(a), .first = 10},
                                 {.blocks = std::span<q4_0>(b), .first = first}},
                                {.smoothing = mu, .law = law});
  };
  quantised_parameters const all = make(106);
  CHECK(all.size() == 160);
  CHECK(all.all()[1].first == 106);
  CHECK_THROWS_AS(make(105), std::invalid_argument);
  CHECK_THROWS_AS(make(0), std::invalid_argument);
  CHECK_THROWS_AS(make((std::uint64_t{1} << 56) - 63), std::invalid_argument);
  CHECK_THROWS_AS(make(106, 0.01, direction_law::sphere), std::invalid_argument);
  for (double const mu : {0.0, -1.0, 1e300, 1e-60, double{NAN}, double{INFINITY}}) {
    CHECK_THROWS_AS(make(106, mu), std::domain_error);
  }
  CHECK_THROWS_AS(quantised_parameters({}, {.smoothing = 0.01}), std::invalid_argument);
}

TEMPLATE_TEST_CASE("two points of quantised parameters", "", q8_0, q4_0) {
  for (direction_law const law : laws) {
    std::vector<TestType> theta = some_blocks<TestType>(40, 0.01F, law);
    std::vector<TestType> const before = theta;
    quantised_parameters const all = view(theta, 0.01F, law);
    std::vector<direction> const z{{law, {.seed = 1}}, {law, {.seed = 1, .step = 1}}};
    auto const gradient = [](std::size_t n, std::size_t i) {
      return std::sin(static_cast<double>(i + 7 * n));
    };
    auto const loss = [&](quantised_parameters const&, std::span<double> losses) {
      for (std::size_t n = 0; n < losses.size(); ++n) {
        losses[n] = 0.0;
        for (std::size_t i = 0; i < 1280; ++i) {
          losses[n] += gradient(n, i) * double{value_of(theta[i / 32], i % 32)};
        }
      }
    };
    std::vector<double> scalars(6);
    two_point(all, z, loss, scalars);
    CHECK(theta == before);
    for (std::size_t k = 0; k < 2; ++k) {
      perturb_all(all, z[k], 1);
      for (std::size_t n = 0; n < 3; ++n) {
        double expected = 0.0;
        for (std::size_t i = 0; i < 1280; ++i) {
          expected += gradient(n, i) *
                      double{value_of(theta[i / 32], i % 32) - value_of(before[i / 32], i % 32)} /
                      double{0.01F};
        }
        CHECK(std::fabs(scalars[3 * k + n] - expected) < 1e-9 * (1.0 + std::fabs(expected)));
      }
      perturb_all(all, z[k], -1);
    }
    for (int const calls : {1, 2, 3}) {
      int left = calls;
      CHECK_THROWS_AS(two_point(
                          all, z,
                          [&](quantised_parameters const&, std::span<double>) {
                            if (--left == 0) throw std::runtime_error("loss");
                          },
                          scalars),
                      std::runtime_error);
      CHECK(theta == before);
    }
    std::vector<double> odd(3);
    CHECK_THROWS_AS(two_point(all, z, loss, odd), std::invalid_argument);
  }
}

TEMPLATE_TEST_CASE("quantising leaves room for moves", "", q8_0, q4_0) {
  std::mt19937 random(8);
  for (direction_law const law : laws) {
    for (double const mu : {1e-6, 1e-3, 0.05, 3.0}) {
      for (double const room : {0.0, 0.5}) {
        std::vector<float> theta(32 * 40 + 5);
        for (std::size_t i = 0; i < theta.size(); ++i) {
          double const size = std::exp2(-static_cast<double>(i / 32 % 20));
          theta[i] = static_cast<float>(size * (static_cast<double>(random()) * 0x1p-31 - 1.0));
          if (i / 32 == 7) theta[i] = 0.0F;
        }
        std::vector<TestType> blocks =
            quantise<TestType>(theta, {.smoothing = mu, .law = law}, room);
        REQUIRE(blocks.size() == 41);
        REQUIRE_NOTHROW(view(blocks, mu, law));
        for (std::size_t b = 0; b < blocks.size(); ++b) {
          double const scale = double{to_float(blocks[b].scale)};
          double largest = room;
          for (std::size_t j = 0; j < 32; ++j) {
            std::size_t const i = 32 * b + j;
            double const x = i < theta.size() ? double{theta[i]} : 0.0;
            double const error = std::fabs(x - double{value_of(blocks[b], j)});
            // At the shorter end of −8 … 7 what is largest of the other sign is a unit off.
            REQUIRE(error <=
                    std::fabs(scale) * (std::is_same_v<TestType, q4_0> ? 1.0 : 0.5) * 1.0001);
            largest = std::max(largest, std::fabs(x));
          }
          rest_range const rest = rest_of<TestType>(blocks[b].scale, static_cast<float>(mu), law);
          REQUIRE(std::fabs(scale) * -rest.least >= largest * (1.0 - 1e-6));
        }
      }
    }
  }
  std::vector<float> one{0.0F, 1.0F};
  CHECK_THROWS_AS(quantise<TestType>(one, {.smoothing = 0.1}, -1.0), std::domain_error);
  CHECK_THROWS_AS(quantise<TestType>(one, {.smoothing = 0.1}, 1e300), std::domain_error);
  CHECK_THROWS_AS(quantise<TestType>(one, {.smoothing = 1e30}), std::domain_error);
  one[1] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(quantise<TestType>(one, {.smoothing = 0.1}), std::domain_error);
}

}  // namespace quantised_tests
