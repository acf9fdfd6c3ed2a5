// SPDX-License-Identifier: Apache-2.0
#include <tacit/secret/normal.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/statistics.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace normal_tests {

using tacit::standard_normal;

namespace {

constexpr std::uint64_t ones = ~std::uint64_t{0};
constexpr double epsilon = std::numeric_limits<double>::epsilon();

/// nearest(k + 0.words…), which must draw exactly these words.
double nearest(std::uint64_t k, std::vector<std::uint64_t> words) {
  script bits(std::move(words));
  tacit::detail::lazy_uniform x(bits);
  double const sum = tacit::detail::nearest_sum(bits, k, x);
  CHECK(bits.finished());
  return sum;
}

}  // namespace

TEST_CASE("lazy uniforms compare digit by digit, and keep their digits", "[normal]") {
  script bits({5, 5, 6, 7});
  tacit::detail::lazy_uniform a(bits);
  tacit::detail::lazy_uniform b(bits);
  CHECK(a.less(bits, b));  // 5 = 5, 6 < 7
  CHECK_FALSE(b.less(bits, a));
  CHECK(bits.finished());
}

TEST_CASE("a sum is rounded to the nearest double", "[normal]") {
  // In [1, 2) the last bit of a double is bit 52 of x, and the 12 bits below decide.
  std::uint64_t const x = 0x123456789ABCD000;
  double const exact = 1.0 + std::ldexp(static_cast<double>(x), -64);
  CHECK(nearest(1, {x}) == exact);
  CHECK(nearest(1, {x | 0x7FF}) == exact);            // just under the middle, whatever follows
  CHECK(nearest(1, {x | 0x800}) == exact + epsilon);  // beyond the middle, if only just
  CHECK(nearest(1, {x | 0xFFF}) == exact + epsilon);
  CHECK(nearest(1, {ones}) == 2.0);
  CHECK(nearest(6, {std::uint64_t{1} << 63}) == 6.5);
  CHECK(nearest(1'000'000, {std::uint64_t{3} << 62}) == 1'000'000.75);
}

TEST_CASE("small deviates keep all their bits", "[normal]") {
  CHECK(nearest(0, {ones}) == 1.0);
  CHECK(nearest(0, {std::uint64_t{1} << 63 | 0x3FF}) == 0.5);
  CHECK(nearest(0, {std::uint64_t{1} << 63 | 0x400}) == 0.5 + epsilon / 2);
  // Leading zeros are made up for by the next word, of which the upper bits count.
  CHECK(nearest(0, {1, 0}) == 0x1p-64);
  CHECK(nearest(0, {1, std::uint64_t{1} << 63}) == 0x1.8p-64);
  CHECK(nearest(0, {1, 0x7FF}) == 0x1p-64);
  CHECK(nearest(0, {1, 0x800}) == std::nextafter(0x1p-64, 1.0));
  CHECK(nearest(0, {0, 1, 0}) == 0x1p-128);
  CHECK(nearest(0, {0, std::uint64_t{1} << 63}) == 0x1p-65);
}

TEST_CASE("standard_normal follows its law", "[normal][long]") {
  // False alarm 1e-6 for each of the five.
  constexpr int n = 200'000;
  auto bits = fixed_stream(5);
  std::vector<double> sample(n);
  double first = 0.0;
  double second = 0.0;
  double fourth = 0.0;
  double tail = 0.0;
  for (double& z : sample) {
    z = standard_normal(bits);
    first += z;
    second += z * z - 1.0;
    fourth += z * z * z * z - 3.0;
    tail += std::abs(z) > 3.0 ? 1.0 : 0.0;
  }
  CHECK(std::abs(first) / std::sqrt(1.0 * n) < statistics::normal_limit);
  CHECK(std::abs(second) / std::sqrt(2.0 * n) < statistics::normal_limit);
  CHECK(std::abs(fourth) / std::sqrt(96.0 * n) < statistics::normal_limit);
  CHECK(std::abs(statistics::binomial_score(tail, n, std::erfc(3.0 / std::sqrt(2.0)))) <
        statistics::normal_limit);
  CHECK(statistics::kolmogorov(sample, statistics::normal_cdf) < statistics::kolmogorov_limit);
}

TEST_CASE("standard_normal follows its law at length", "[.sweep][normal]") {
  // False alarm 1e-6 for each of the two.
  constexpr int n = 10'000'000;
  auto bits = fixed_stream(6);
  std::vector<double> sample(n);
  double tail = 0.0;
  for (double& z : sample) {
    z = standard_normal(bits);
    tail += std::abs(z) > 4.0 ? 1.0 : 0.0;
  }
  CHECK(std::abs(statistics::binomial_score(tail, n, std::erfc(4.0 / std::sqrt(2.0)))) <
        statistics::normal_limit);
  CHECK(statistics::kolmogorov(sample, statistics::normal_cdf) < statistics::kolmogorov_limit);
}

}  // namespace normal_tests
