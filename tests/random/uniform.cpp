// SPDX-License-Identifier: Apache-2.0
#include <tacit/random/uniform.hpp>

#include "support/catch.hpp"
#include "support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using tacit::stream_id;
using tacit::uniform;

TEST_CASE("uniform is an odd multiple of 2^-53 strictly inside (0, 1)", "[uniform]") {
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    double const u = uniform({1, 2}, i);
    double const units = u * 0x1p53;
    REQUIRE((u > 0.0 && u < 1.0));
    REQUIRE((units == std::floor(units) && std::fmod(units, 2.0) == 1.0));
  }
}

TEST_CASE("uniform is the top 53 bits of its word, the last one set", "[uniform]") {
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    std::uint64_t const word = tacit::random_bits64({8, 9}, i);
    CHECK(uniform({8, 9}, i) == std::ldexp(static_cast<double>(word >> 11 | 1), -53));
  }
}

TEST_CASE("uniform follows its law", "[uniform][long]") {
  // False alarm 1e-6 each: the law, the low bits by themselves, and neighbours.
  constexpr std::uint64_t n = 1 << 19;
  std::vector<double> sample(n);
  std::vector<double> low(n);
  double neighbours = 0.0;
  for (std::uint64_t i = 0; i < n; ++i) {
    sample[i] = uniform({77, 1}, i);
    low[i] = std::fmod(sample[i] * 0x1p32, 1.0);
    if (i > 0) neighbours += 12.0 * (sample[i] - 0.5) * (sample[i - 1] - 0.5);
  }
  CHECK(std::abs(neighbours) / std::sqrt(n - 1.0) < statistics::normal_limit);
  auto const identity = [](double x) { return x; };
  CHECK(statistics::kolmogorov(sample, identity) < statistics::kolmogorov_limit);
  CHECK(statistics::kolmogorov(low, identity) < statistics::kolmogorov_limit);
}
