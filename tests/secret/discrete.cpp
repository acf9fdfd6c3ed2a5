// SPDX-License-Identifier: Apache-2.0
#include <tacit/secret/discrete.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/statistics.hpp"

#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <vector>

using tacit::add_discrete_gaussian;
using tacit::draw_discrete_gaussian;
using tacit::draw_discrete_laplace;

namespace {

/// Draws n times and compares how often each k in [−reach, reach] came, and the rest, with its weight.
template <class Draw, class Weight>
void check_law(int n, std::int64_t reach, Draw const& draw, Weight const& weight) {
  double total = 0.0;
  for (std::int64_t k = -60 * reach; k <= 60 * reach; ++k) total += weight(static_cast<double>(k));
  std::map<std::int64_t, double> seen;
  double beyond = 0.0;
  for (int i = 0; i < n; ++i) {
    std::int64_t const k = draw();
    (k >= -reach && k <= reach ? seen[k] : beyond) += 1.0;
  }
  double rest = 1.0;
  for (std::int64_t k = -reach; k <= reach; ++k) {
    double const p = weight(static_cast<double>(k)) / total;
    rest -= p;
    INFO("k = " << k << ": " << seen[k] << " of " << n * p);
    CHECK(std::abs(statistics::binomial_score(seen[k], n, p)) < statistics::normal_limit);
  }
  INFO("beyond " << reach << ": " << beyond << " of " << n * rest);
  CHECK(std::abs(statistics::binomial_score(beyond, n, rest)) < statistics::normal_limit);
}

}  // namespace

TEST_CASE("a reserve hands out every bit of a word once, the lowest first", "[discrete]") {
  script words({0xFEDCBA9876543215, 7, 0x89ABCDEF});
  tacit::detail::bit_reserve bits(words);
  CHECK(bits.coin());  // 5 = 0101
  CHECK_FALSE(bits.coin());
  CHECK(bits.take(2) == 1);
  CHECK(bits.take(8) == 0x21);
  CHECK(bits.take(32) == 0xA9876543);
  CHECK(bits.word() == 7);             // a whole word is a new one
  CHECK(bits.take(32) == 0xDEFFEDCB);  // 20 bits of the first word, 12 of the third
  CHECK(words.finished());
}

TEST_CASE("fractions are exact: as many first digits decide as there should be", "[discrete]") {
  // 2^8·part/whole = 256/3 = 85 + 1/3, and so on: so many digits are below, one is undecided.
  for (auto const& [part, whole] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1, 3},
           {2, 3},
           {1, 4},
           {3, 7},
           {1, 257},
           {(std::int64_t{1} << 46) - 1, std::int64_t{1} << 46}}) {
    std::int64_t yes = 0;
    int undecided = 0;
    for (std::uint64_t digit = 0; digit < 0x100; ++digit) {
      std::int64_t const left = part * 0x100 - static_cast<std::int64_t>(digit) * whole;
      if (left > 0 && left < whole) {
        ++undecided;
        continue;
      }
      script words({digit});
      tacit::detail::bit_reserve bits(words);
      yes += tacit::detail::fraction(bits, part, whole) ? 1 : 0;
      REQUIRE(bits.take(32) == 0);  // one digit was enough: the next bits are still there
      REQUIRE(words.finished());
    }
    CHECK(yes == part * 0x100 / whole);
    CHECK(undecided == (part * 0x100 % whole == 0 ? 0 : 1));
  }
  // The second digit decides where the first does not: U = 85/2^8 + …, of 1/3.
  auto const third = [](std::uint64_t second) {
    script words({85 | second << 8});
    tacit::detail::bit_reserve bits(words);
    return tacit::detail::fraction(bits, 1, 3);
  };
  CHECK(third(84));
  CHECK_FALSE(third(86));
  script none({});
  tacit::detail::bit_reserve bits(none);
  CHECK_FALSE(tacit::detail::fraction(bits, 0, 3));
  CHECK(tacit::detail::fraction(bits, 3, 3));
}

TEST_CASE("one in k, exactly: residues that would favour some are drawn again", "[discrete]") {
  for (std::uint64_t const k : {2U, 3U, 7U, 100U, 127U}) {
    std::uint64_t yes = 0;
    std::uint64_t again = 0;
    for (std::uint64_t digit = 0; digit < 0x100; ++digit) {
      script words({digit | ~std::uint64_t{0xFF}});  // a second digit says no
      tacit::detail::bit_reserve bits(words);
      yes += tacit::detail::one_in(bits, k) ? 1 : 0;
      again += (digit * k & 0xFF) < 0x100 % k ? 1 : 0;
    }
    CHECK(again == 0x100 % k);
    CHECK(yes == 0x100 / k);
  }
  // Below 2^24 from 32 bits, above from 64.
  script words({0x80000000, std::uint64_t{1} << 63, 0, 5});
  tacit::detail::bit_reserve bits(words);
  CHECK(tacit::detail::whole_below(bits, 0xFFFFFF) == 0x7FFFFF);
  CHECK(tacit::detail::whole_below(bits, 0x2000001) == 0x1000000);
  CHECK(tacit::detail::whole_below(bits, 0x3000001) == 0);  // 0 favours 0: the next word, 5
  CHECK(words.finished());
}

TEST_CASE("the discrete Gaussian follows its law", "[discrete]") {
  // False alarm 1e-6 for each number: 60 of them.
  auto bits = fixed_stream(11);
  for (std::uint64_t const sigma : {1U, 2U, 7U}) {
    double const s = static_cast<double>(sigma);
    check_law(
        60'000, static_cast<std::int64_t>(2 * sigma) + 1,
        [&] { return draw_discrete_gaussian(bits, sigma); },
        [s](double k) { return std::exp(-0.5 * k * k / (s * s)); });
  }
}

TEST_CASE("the discrete Laplace distribution follows its law", "[discrete]") {
  // False alarm 1e-6 for each number: 50 of them.
  auto bits = fixed_stream(12);
  for (std::uint64_t const scale : {1U, 3U, 5U}) {
    double const s = static_cast<double>(scale);
    check_law(
        60'000, static_cast<std::int64_t>(2 * scale) + 2,
        [&] { return draw_discrete_laplace(bits, scale); },
        [s](double k) { return std::exp(-std::abs(k) / s); });
  }
}

TEST_CASE("wide noise is Gaussian and Laplace", "[discrete]") {
  // The step of the law is far below what 30000 draws show. False alarm 1e-6 for each of the five.
  auto bits = fixed_stream(13);
  constexpr std::uint64_t wide = (std::uint64_t{1} << 46) - 3;
  constexpr int n = 30'000;
  std::vector<std::int64_t> noise(n, 1000);
  add_discrete_gaussian(bits, wide, noise);
  std::vector<double> sample;
  double square = 0.0;
  double fourth = 0.0;
  for (std::int64_t const x : noise) {
    double const z = static_cast<double>(x - 1000) / static_cast<double>(wide);
    sample.push_back(z);
    square += z * z - 1.0;
    fourth += z * z * z * z - 3.0;
  }
  CHECK(std::abs(square) / std::sqrt(2.0 * n) < statistics::normal_limit);
  CHECK(std::abs(fourth) / std::sqrt(96.0 * n) < statistics::normal_limit);
  CHECK(statistics::kolmogorov(sample, statistics::normal_cdf) < statistics::kolmogorov_limit);

  double size = 0.0;
  for (double& z : sample) {
    z = static_cast<double>(draw_discrete_laplace(bits, wide)) / static_cast<double>(wide);
    size += std::abs(z) - 1.0;
  }
  CHECK(std::abs(size) / std::sqrt(1.0 * n) < statistics::normal_limit);
  auto const cdf = [](double z) { return z < 0.0 ? 0.5 * std::exp(z) : 1.0 - 0.5 * std::exp(-z); };
  CHECK(statistics::kolmogorov(sample, cdf) < statistics::kolmogorov_limit);
}

TEST_CASE("low bits of the noise are even", "[discrete]") {
  // A noise of rounded normals of this size would have them all 0. False alarm 1e-6.
  auto bits = fixed_stream(14);
  double odd = 0.0;
  for (int i = 0; i < 10'000; ++i) {
    odd += static_cast<double>(draw_discrete_gaussian(bits, std::uint64_t{1} << 46) & 1);
  }
  CHECK(std::abs(statistics::binomial_score(odd, 10'000, 0.5)) < statistics::normal_limit);
}

TEST_CASE("noise without a scale, or beyond what fits, is refused", "[discrete]") {
  script none({});
  std::vector<std::int64_t> kept{5};
  CHECK_THROWS_WITH(draw_discrete_gaussian(none, 0),
                    "draw_discrete_gaussian: sigma is 0, but must be in [1, 2^46]");
  CHECK_THROWS_AS(draw_discrete_gaussian(none, (std::uint64_t{1} << 46) + 1), std::domain_error);
  CHECK_THROWS_AS(add_discrete_gaussian(none, 0, kept), std::domain_error);
  CHECK_THROWS_AS(draw_discrete_laplace(none, 0), std::domain_error);
  CHECK_THROWS_AS(draw_discrete_laplace(none, (std::uint64_t{1} << 46) + 1), std::domain_error);
  CHECK(kept == std::vector<std::int64_t>{5});
}
