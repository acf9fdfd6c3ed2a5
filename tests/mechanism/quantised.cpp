// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/quantised.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

using tacit::contribution_grid;
using tacit::quantised_noise;
using tacit::quantised_sum;

namespace {

constexpr double clip_units = 0x1p20;

std::vector<double> gaussian_vector(std::size_t size, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> out(size);
  for (double& x : out) x = normal(random);
  return out;
}

/// Σ out², exactly.
std::uint64_t squares_of(std::vector<std::int32_t> const& units) {
  std::uint64_t total = 0;
  for (std::int32_t const k : units) total += static_cast<std::uint64_t>(std::int64_t{k} * k);
  return total;
}

/// The whole numbers that a sum releases, with the noise of a fixed stream.
std::vector<double> released(std::vector<std::vector<double>> const& contributions, double clip,
                             std::uint32_t seed) {
  auto secret = fixed_stream(seed);
  quantised_sum sum(contributions.front().size(), clip, 0.5);
  for (auto const& each : contributions) sum.add(std::span<double const>(each));
  std::vector<double> out(contributions.front().size());
  std::move(sum).release(secret, contribution_grid{clip}.quantum(), std::span(out));
  return out;
}

}  // namespace

TEST_CASE("a contribution keeps its norm in whole units, and its direction", "[quantised]") {
  std::mt19937_64 random(1);
  for (std::size_t const size : {1U, 2U, 3U, 10U, 333U, 5000U}) {
    for (double const scale : {1e-300, 1e-6, 0.1, 1.0, 30.0, 1e6, 1e300}) {
      std::vector<double> v = gaussian_vector(size, random);
      for (double& x : v) x *= scale;
      contribution_grid const grid{.clip = 0.7};
      std::vector<std::int32_t> units(size);
      grid.quantise(std::span<double const>(v), units);
      REQUIRE(squares_of(units) <= std::uint64_t{1} << 40);
      double norm = 0.0;
      for (double const x : v) norm = std::hypot(norm, x);
      double const share = std::min(1.0, 0.7 / norm);
      for (std::size_t j = 0; j < size; ++j) {
        double const wanted = v[j] * share / grid.quantum();
        REQUIRE(std::fabs(units[j]) <= std::fabs(wanted) * (1 + 1e-12) + 1e-9);
        REQUIRE(std::fabs(units[j]) >= std::fabs(wanted) - 1.0 - 1e-6);
        REQUIRE(units[j] * wanted >= 0.0);
      }
    }
  }
}

TEST_CASE("a norm that rounds to the clip is at most the clip", "[quantised]") {
  // Near the edge, where a norm in floating point is as often too small as too large.
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 2000; ++trial) {
    std::vector<double> v = gaussian_vector(2 + static_cast<std::size_t>(trial) % 5, random);
    double norm = 0.0;
    for (double const x : v) norm = std::hypot(norm, x);
    for (double& x : v) x *= std::nextafter(1.0, trial % 2) / norm;
    std::vector<std::int32_t> units(v.size());
    contribution_grid{.clip = 1.0}.quantise(std::span<double const>(v), units);
    REQUIRE(squares_of(units) <= std::uint64_t{1} << 40);
  }
  // 3-4-5: whole units of a norm that is exactly the clip lose nothing.
  std::vector<float> const whole{0.6F * 5, 0.8F * 5};
  std::vector<std::int32_t> units(2);
  contribution_grid{.clip = 5.0}.quantise(std::span<float const>(whole), units);
  CHECK(squares_of(units) <= std::uint64_t{1} << 40);
  CHECK(squares_of(units) > (std::uint64_t{1} << 40) - (std::uint64_t{1} << 23));
}

TEST_CASE("one number is clipped to the clip", "[quantised]") {
  contribution_grid const grid{.clip = 2.0};
  CHECK(grid.quantise(2.0) == 1 << 20);
  CHECK(grid.quantise(-1e300) == -(1 << 20));
  CHECK(grid.quantise(1.0) == 1 << 19);
  CHECK(grid.quantise(-0.9999 * grid.quantum()) == 0);
  CHECK(grid.quantise(1.0001 * grid.quantum()) == 1);
  CHECK(grid.quantise(infinity) == 0);
  CHECK(grid.quantise(-infinity) == 0);
  CHECK(grid.quantise(not_a_number) == 0);
}

TEST_CASE("a contribution with a number that is not finite is 0", "[quantised]") {
  for (double const bad : {infinity, -infinity, not_a_number}) {
    std::vector<double> const v{1.0, bad, 2.0};
    std::vector<std::int32_t> units{7, 7, 7};
    contribution_grid{.clip = 1.0}.quantise(std::span<double const>(v), units);
    CHECK(units == std::vector<std::int32_t>{0, 0, 0});
  }
}

TEST_CASE("with the same noise, a record more moves the release by its units and no more",
          "[quantised]") {
  std::mt19937_64 random(3);
  std::vector<std::vector<double>> records;
  for (int i = 0; i < 20; ++i) records.push_back(gaussian_vector(40, random));
  std::vector<double> const base = released(records, 0.25, 5);
  for (double const size : {1e-3, 1.0, 1e9}) {
    auto more = records;
    more.push_back(gaussian_vector(40, random));
    for (double& x : more.back()) x *= size;
    std::vector<double> const moved = released(more, 0.25, 5);
    std::vector<std::int32_t> units(40);
    contribution_grid{.clip = 0.25}.quantise(std::span<double const>(more.back()), units);
    double square = 0.0;
    for (std::size_t j = 0; j < 40; ++j) {
      REQUIRE(moved[j] - base[j] == units[j]);
      REQUIRE(base[j] == std::nearbyint(base[j]));
      square += units[j] * static_cast<double>(units[j]);
    }
    CHECK(square <= clip_units * clip_units);
  }
  // The sum does not depend on the order of its records.
  std::vector<std::vector<double>> const back(records.rbegin(), records.rend());
  CHECK(released(back, 0.25, 5) == base);
}

TEST_CASE("the noise of a sum has the size that was asked for", "[quantised]") {
  // False alarm 1e-6 for each of the two.
  auto secret = fixed_stream(6);
  quantised_sum sum(20'000, 0.5, 3.0);
  std::vector<float> out(20'000);
  std::move(sum).release(secret, 10.0, std::span(out));
  double const sd = 3.0 * 0.5 / 10.0;
  double first = 0.0;
  double second = 0.0;
  for (float const x : out) {
    double const z = static_cast<double>(x) / sd;
    first += z;
    second += z * z - 1.0;
  }
  CHECK(std::abs(first) / std::sqrt(2e4) < statistics::normal_limit);
  CHECK(std::abs(second) / std::sqrt(4e4) < statistics::normal_limit);
}

TEST_CASE("noise is charged as what was asked for, and is hardly more", "[quantised]") {
  for (double const multiplier : {1e-9, 1e-6, 0.01, 0.7, 1.1462, 4.0, 1000.0}) {
    auto const noise = quantised_noise::for_multiplier("test", multiplier, clip_units);
    double const s = static_cast<double>(noise.sigma);
    CHECK(noise.sigma >= 4);
    CHECK(noise.charged().noise_multiplier >= multiplier);
    CHECK(noise.charged().noise_multiplier <= std::sqrt(s * s - 9.0) / clip_units);
    if (noise.sigma > 4) {
      quantised_noise const less{noise.sigma - 1, noise.norm};
      CHECK(less.charged().noise_multiplier < multiplier);
    }
    CHECK(noise.group().clip == clip_units);
  }
  CHECK_THROWS_AS(quantised_noise::for_multiplier("test", 0x1p26, clip_units), std::domain_error);
  CHECK_THROWS_AS(quantised_noise::for_multiplier("test", not_a_number, clip_units),
                  std::domain_error);
  CHECK_THROWS_AS(quantised_noise::for_multiplier("test", 0.0, clip_units), std::domain_error);
}

TEST_CASE("a sum is released once, of sizes that fit", "[quantised]") {
  auto secret = fixed_stream(7);
  std::vector<double> two(2);
  std::vector<double> three(3);
  quantised_sum sum(2, 1.0, 1.0);
  CHECK_THROWS_AS(sum.add(std::span<double const>(three)), std::invalid_argument);
  CHECK_THROWS_AS(std::move(sum).release(secret, 1.0, std::span(three)), std::invalid_argument);
  CHECK_THROWS_AS(std::move(sum).release(secret, 0.0, std::span(two)), std::domain_error);
  std::move(sum).release(secret, 1.0, std::span(two));
  CHECK_THROWS_AS(std::move(sum).release(secret, 1.0, std::span(two)), std::invalid_argument);
  CHECK_THROWS_WITH(quantised_sum(1, 0.0, 1.0),
                    "quantised_sum: clip is 0, but must be in [1e-100, 1e100]");
  CHECK_THROWS_AS(quantised_sum(1, not_a_number, 1.0), std::domain_error);
  CHECK_THROWS_AS(quantised_sum(0, 1.0, 1.0), std::invalid_argument);
}

TEST_CASE(
    "by brute force, in two dimensions, sampled: discrete noise leaks no more than it is charged",
    "[quantised]") {
  // What one step leaks of a record at rate q: sup over sets of (1−q)Q + qP − e^ε·Q and of
  // Q − e^ε·((1−q)Q + qP). The continuous mechanism has its shift in one direction.
  struct shift {
    int x;
    int y;
  };
  for (std::uint64_t const sigma : {4U, 5U, 8U}) {
    int const reach = 11 * static_cast<int>(sigma);
    double const s = static_cast<double>(sigma);
    for (shift const by : {shift{1, 0}, shift{1, 1}, shift{3, 4}, shift{5, -2}, shift{8, 8}}) {
      double const norm = std::hypot(by.x, by.y);
      double const multiplier = quantised_noise{sigma, norm}.charged().noise_multiplier;
      for (double const q : {1.0, 0.2}) {
        for (double const epsilon : {0.0, 0.1, 0.7, 2.0}) {
          double removed = 0.0;
          double added = 0.0;
          double total = 0.0;
          for (int x = -reach; x <= reach; ++x) {
            for (int y = -reach; y <= reach; ++y) {
              double const without = std::exp(-0.5 * (x * x + y * y) / (s * s));
              double const dx = x - by.x;
              double const dy = y - by.y;
              double const with =
                  (1.0 - q) * without + q * std::exp(-0.5 * (dx * dx + dy * dy) / (s * s));
              total += without;
              removed += std::fmax(0.0, with - std::exp(epsilon) * without);
              added += std::fmax(0.0, without - std::exp(epsilon) * with);
            }
          }
          // In one dimension along the shift, by the trapezoid rule.
          double charged_removed = 0.0;
          double charged_added = 0.0;
          double charged_total = 0.0;
          for (double z = -12.0; z <= 12.0 + 1.0 / multiplier; z += 1.0 / 2048) {
            double const mu = 1.0 / multiplier;
            double const without = std::exp(-0.5 * z * z);
            double const with = (1.0 - q) * without + q * std::exp(-0.5 * (z - mu) * (z - mu));
            charged_total += without;
            charged_removed += std::fmax(0.0, with - std::exp(epsilon) * without);
            charged_added += std::fmax(0.0, without - std::exp(epsilon) * with);
          }
          INFO("sigma " << sigma << " shift " << by.x << "," << by.y << " q " << q << " e "
                        << epsilon);
          CHECK(removed / total <= charged_removed / charged_total * (1.0 + 1e-5) + 1e-9);
          CHECK(added / total <= charged_added / charged_total * (1.0 + 1e-5) + 1e-9);
          // It is not charged much more than it leaks either.
          if (sigma == 8 && epsilon < 0.5 && norm > 4.0) {
            CHECK(removed / total >= 0.85 * charged_removed / charged_total);
          }
        }
      }
    }
  }
}
