// SPDX-License-Identifier: Apache-2.0
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/two_point.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

using namespace tacit;

TEST_CASE("tensors follow each other unless they say where they begin") {
  std::vector<float> a(3);
  std::vector<half> b(4);
  std::vector<bfloat16> c(5);
  parameters const theta(std::vector<tensor>{{.entries = std::span(a), .name = "a"},
                                             {.entries = std::span(b), .name = "b", .first = 10},
                                             {.entries = std::span(c)}});
  CHECK(theta.size() == 12);
  CHECK(theta.dimension() == 19);
  REQUIRE(theta.all().size() == 3);
  CHECK(theta.all()[0].first == 0);
  CHECK(theta.all()[1].first == 10);
  CHECK(theta.all()[2].first == 14);
  CHECK(theta.all()[1].name == "b");
  CHECK(theta.all()[1].size() == 4);
  CHECK_THROWS_WITH(
      theta.floats(),
      "parameters: number of float tensors is 1, but must be 3, all of them, for this loss");
  CHECK(parameters(std::vector<tensor>{{.entries = std::span(a)}}, 100).dimension() == 100);
}

TEST_CASE("a shard gets the directions of the whole") {
  constexpr std::size_t d = 3000;
  for (direction_law const law :
       {direction_law::rademacher, direction_law::gaussian, direction_law::sphere}) {
    std::vector<float> whole(d, 0.5F);
    parameters const all(whole);
    perturb_all(all, direction_at(law, {.seed = 1, .step = 2}, all.dimension()), 1e-2F);

    std::vector<float> shard(d, 0.5F);
    std::vector<float> early(shard.begin(), shard.begin() + 1001);
    std::vector<float> late(shard.begin() + 2000, shard.end());
    parameters const first_part(std::vector<tensor>{{.entries = std::span(early)}}, d);
    parameters const last_part(std::vector<tensor>{{.entries = std::span(late), .first = 2000}});
    for (parameters const& part : {first_part, last_part}) {
      perturb_all(part, direction_at(law, {.seed = 1, .step = 2}, part.dimension()), 1e-2F);
    }
    REQUIRE(std::equal(early.begin(), early.end(), whole.begin()));
    REQUIRE(std::equal(late.begin(), late.end(), whole.begin() + 2000));
  }
}

TEST_CASE("impossible tensors are refused by name") {
  std::vector<float> a(3);
  auto const make = [&](std::vector<tensor> tensors, std::optional<std::uint64_t> d = {}) {
    return parameters(std::move(tensors), d);
  };
  CHECK_THROWS_WITH(make({}), "parameters: number of parameters is 0, but must be at least 1");
  CHECK_THROWS_WITH(
      make({{.entries = std::span(a), .first = 2}, {.entries = std::span(a), .first = 4}}),
      "parameters: first index of a tensor is 4, but must be at least 5, the end of another");
  CHECK_THROWS_AS(
      make({{.entries = std::span(a), .first = 2}, {.entries = std::span(a), .first = 0}}),
      std::invalid_argument);
  CHECK_NOTHROW(
      make({{.entries = std::span(a), .first = 3}, {.entries = std::span(a), .first = 0}}));
  CHECK_THROWS_WITH(
      make({{.entries = std::span(a)}}, 2),
      "parameters: dimension is 2, but must be at least the end of the last tensor, 3");
  std::uint64_t const end = std::uint64_t{1} << 56;
  CHECK_NOTHROW(make({{.entries = std::span(a), .first = end - 3}}));
  CHECK_THROWS_AS(make({{.entries = std::span(a), .first = end - 2}}), std::invalid_argument);
  CHECK_THROWS_AS(
      make({{.entries = std::span(a), .first = std::numeric_limits<std::uint64_t>::max()}}),
      std::invalid_argument);
}

TEST_CASE("a loss over parameters serves every storage, one over floats only floats") {
  std::vector<half> theta(40, half{0x3C00});
  parameters const view(std::vector<tensor>{{.entries = std::span(theta)}});
  std::vector<direction> const z{direction_at(direction_law::rademacher, {.seed = 3}, 40)};
  std::vector<double> scalars(1);
  // Half of theta is 1 ± 1/8: sums of squares are exact in both storages.
  two_point(
      view, z, 0.125,
      [](parameters const& at, std::span<double> losses) {
        losses[0] = 0.0;
        for (half const x : std::get<std::span<half>>(at.all()[0].entries)) {
          losses[0] += double{to_float(x)} * double{to_float(x)};
        }
      },
      scalars);
  double sum = 0.0;
  for (std::uint64_t i = 0; i < 40; ++i) sum += 2.0 * double{z[0](i)};
  CHECK(scalars[0] == sum);
  for (half const x : theta) CHECK(x == half{0x3C00});
  CHECK_THROWS_AS(two_point(
                      view, z, 0.125, [](std::span<float const>, std::span<double>) {}, scalars),
                  std::invalid_argument);
}
