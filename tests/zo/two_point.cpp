// SPDX-License-Identifier: Apache-2.0
#include <tacit/zo/two_point.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

using namespace tacit;

namespace {

constexpr std::size_t records = 5;
constexpr std::size_t dimension = 40;

// ℓ_i(θ) = ½ Σ_j c_ij (θ_j − x_ij)²: the central difference of a quadratic is its derivative.
double weight(std::size_t i, std::size_t j) { return 0.5 + static_cast<double>((3 * i + j) % 7); }
double centre(std::size_t i, std::size_t j) { return std::cos(static_cast<double>(i + 2 * j)); }

void quadratic(std::span<float const> theta, std::span<double> losses) {
  for (std::size_t i = 0; i < losses.size(); ++i) {
    losses[i] = 0.0;
    for (std::size_t j = 0; j < theta.size(); ++j) {
      double const e = double{theta[j]} - centre(i, j);
      losses[i] += 0.5 * weight(i, j) * e * e;
    }
  }
}

std::vector<float> start() {
  std::vector<float> theta(dimension);
  for (std::size_t j = 0; j < dimension; ++j) theta[j] = 0.1F * static_cast<float>(j % 9) - 0.3F;
  return theta;
}

std::vector<direction> some_directions(direction_law law, std::size_t count) {
  std::vector<direction> z;
  for (std::size_t k = 0; k < count; ++k) {
    z.push_back(direction_at(law, {.seed = 11, .step = k}, dimension));
  }
  return z;
}

}  // namespace

TEST_CASE("two-point scalars of a quadratic are its directional derivatives") {
  for (direction_law const law :
       {direction_law::rademacher, direction_law::gaussian, direction_law::sphere}) {
    std::vector<float> theta = start();
    std::vector<direction> const z = some_directions(law, 3);
    std::vector<double> scalars(z.size() * records);
    two_point(theta, z, 0.125, quadratic, scalars);
    for (std::size_t k = 0; k < z.size(); ++k) {
      for (std::size_t i = 0; i < records; ++i) {
        double exact = 0.0;
        for (std::size_t j = 0; j < dimension; ++j) {
          exact += weight(i, j) * (double{start()[j]} - centre(i, j)) * double{z[k](j)};
        }
        // What is left is the rounding of θ±μz to float: d·ulp(1)·|∇ℓ|/(2μ).
        REQUIRE(scalars[k * records + i] == Approx(exact).margin(1e-3));
      }
    }
    for (std::size_t j = 0; j < dimension; ++j) {
      REQUIRE(theta[j] == Approx(start()[j]).margin(1e-6));
    }
  }
}

TEST_CASE("several tensors are one vector, bit for bit") {
  std::vector<float> whole = start();
  std::vector<float> a = start();
  std::vector<float> const all = a;
  std::vector<float> b(a.begin() + 17, a.end());
  std::vector<float> empty;
  a.resize(17);

  auto const over_tensors = [](std::span<std::span<float const> const> tensors,
                               std::span<double> losses) {
    std::vector<float> joined;
    for (auto const tensor : tensors) joined.insert(joined.end(), tensor.begin(), tensor.end());
    quadratic(joined, losses);
  };
  for (direction_law const law :
       {direction_law::rademacher, direction_law::gaussian, direction_law::sphere}) {
    std::vector<direction> const z = some_directions(law, 2);
    std::vector<double> one(z.size() * records);
    std::vector<double> many(z.size() * records);
    parameters const parts{a, empty, b};
    REQUIRE(parts.size() == dimension);
    two_point(whole, z, 1e-3, quadratic, one);
    two_point(parts, z, 1e-3, over_tensors, many);
    REQUIRE(one == many);
    direction_step const terms[] = {{z[1], 0.01F, 0.001F}, {z[0], -0.02F}};
    update_all(whole, {terms, 2});
    update_all(parts, {terms, 2});
    std::vector<float> joined = a;
    joined.insert(joined.end(), b.begin(), b.end());
    REQUIRE(joined == whole);
    REQUIRE(joined != all);
  }

  std::vector<double> scalars(records);
  CHECK_THROWS_AS(two_point(parameters{a, b}, some_directions(direction_law::rademacher, 1), 1e-3,
                            quadratic, scalars),
                  std::invalid_argument);
}

TEST_CASE("a loss over a list of tensors serves one tensor too") {
  std::vector<float> theta = start();
  std::vector<double> expected(records);
  std::vector<double> got(records);
  std::vector<direction> const z = some_directions(direction_law::gaussian, 1);
  two_point(theta, z, 1e-3, quadratic, expected);
  theta = start();
  two_point(
      theta, z, 1e-3,
      [](std::span<std::span<float const> const> tensors, std::span<double> losses) {
        REQUIRE(tensors.size() == 1);
        quadratic(tensors[0], losses);
      },
      got);
  CHECK(got == expected);
}

TEST_CASE("a loss that forgets a record leaves NaN there") {
  std::vector<float> theta = start();
  std::vector<double> scalars(records, 1.0);
  two_point(
      theta, some_directions(direction_law::rademacher, 1), 1e-3,
      [](std::span<float const> t, std::span<double> losses) {
        quadratic(t, losses.first(records - 1));
      },
      scalars);
  for (std::size_t i = 0; i + 1 < records; ++i) CHECK(std::isfinite(scalars[i]));
  CHECK(std::isnan(scalars[records - 1]));
}

TEST_CASE("a loss that throws: the parameters come back and the exception passes on") {
  for (int const failing : {0, 1, 2, 3}) {
    std::vector<float> theta = start();
    std::vector<double> scalars(2 * records);
    int calls = 0;
    auto const loss = [&](std::span<float const> t, std::span<double> losses) {
      if (calls++ == failing) throw std::runtime_error("out of memory");
      quadratic(t, losses);
    };
    CHECK_THROWS_AS(
        two_point(theta, some_directions(direction_law::gaussian, 2), 0.1, loss, scalars),
        std::runtime_error);
    for (std::size_t j = 0; j < dimension; ++j) {
      REQUIRE(theta[j] == Approx(start()[j]).margin(1e-6));
    }
  }
}

TEST_CASE("refusals name the argument and its range") {
  std::vector<float> theta = start();
  std::vector<direction> const z = some_directions(direction_law::rademacher, 2);
  std::vector<double> scalars(2 * records);
  double const nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(two_point(theta, z, nan, quadratic, scalars),
                    "two_point: smoothing is nan, but must be positive and finite");
  CHECK_THROWS_AS(two_point(theta, z, 0.0, quadratic, scalars), std::domain_error);
  CHECK_THROWS_AS(two_point(theta, z, 1e-60, quadratic, scalars), std::domain_error);
  CHECK_THROWS_AS(two_point(theta, z, 1e39, quadratic, scalars), std::domain_error);
  scalars.resize(2 * records + 1);
  CHECK_THROWS_AS(two_point(theta, z, 1e-3, quadratic, scalars), std::invalid_argument);
  CHECK_THROWS_AS(two_point(theta, {}, 1e-3, quadratic, scalars), std::invalid_argument);
  std::vector<float> none;
  CHECK_THROWS_WITH(parameters{none},
                    "parameters: number of parameters is 0, but must be at least 1");
  std::vector<double> one(1);
  CHECK_THROWS_AS(two_point_scalars(scalars, one, 1e-3F, scalars), std::invalid_argument);
  CHECK_THROWS_AS(two_point_scalars(scalars, scalars, 1e-3F, one), std::invalid_argument);
}
