// SPDX-License-Identifier: Apache-2.0
#include <tacit/secret/bernoulli.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

using tacit::bernoulli;
using tacit::bernoulli_exp_minus;
using tacit::uniform_below;

namespace {

constexpr std::uint64_t ones = ~std::uint64_t{0};

/// The outcome of bernoulli(p) on these words, which must be exactly the words it draws.
bool outcome(double p, std::vector<std::uint64_t> words) {
  script bits(std::move(words));
  bool const result = bernoulli(bits, p);
  CHECK(bits.finished());
  return result;
}

/// √-scaled deviation of the frequency of `draw` from p over n draws.
template <class Draw>
double score(double p, int n, Draw draw) {
  int hits = 0;
  for (int i = 0; i < n; ++i) hits += draw() ? 1 : 0;
  return std::abs(statistics::binomial_score(hits, n, p));
}

}  // namespace

TEST_CASE("bernoulli(k/256) counts the words below: all first bytes", "[bernoulli]") {
  for (int k = 0; k <= 256; ++k) {
    int hits = 0;
    for (std::uint64_t byte = 0; byte < 256; ++byte) {
      // The first and the last word of the byte: the decision is constant between them.
      script low({byte << 56, 1});
      script high({byte << 56 | ones >> 8});
      bool const first = bernoulli(low, k / 256.0);
      REQUIRE(first == bernoulli(high, k / 256.0));
      hits += first ? 1 : 0;
    }
    CHECK(hits == k);
  }
}

TEST_CASE("bernoulli decides at the very word of p", "[bernoulli]") {
  for (double const p : {0.3, 0.5, 1e-3, 0x1p-11, 0.9999999999999999, 2.0 / 3.0}) {
    auto const head = static_cast<std::uint64_t>(p * 0x1p64);
    CAPTURE(p, head);
    CHECK(outcome(p, {head - 1}));
    CHECK_FALSE(outcome(p, {head}));  // p ends here: U ≥ p, whatever follows
    CHECK_FALSE(outcome(p, {head + 1}));
    CHECK(outcome(p, {0}));
    CHECK_FALSE(outcome(p, {ones}));
  }
}

TEST_CASE("bernoulli draws on while the bits tie", "[bernoulli]") {
  double const p = 0x1.0000000000001p-20;  // bits 20 and 72: words 2^44 and 2^56
  constexpr std::uint64_t head = std::uint64_t{1} << 44;
  constexpr std::uint64_t tail = std::uint64_t{1} << 56;
  CHECK(outcome(p, {head - 1}));
  CHECK_FALSE(outcome(p, {head + 1}));
  CHECK(outcome(p, {head, 0}));
  CHECK(outcome(p, {head, tail - 1}));
  CHECK_FALSE(outcome(p, {head, tail}));
  CHECK_FALSE(outcome(p, {head, tail + 1}));
  CHECK_FALSE(outcome(p, {head, ones}));
}

TEST_CASE("bernoulli is exact at both ends", "[bernoulli]") {
  CHECK(outcome(1.0, {}));
  CHECK_FALSE(outcome(0.0, {0}));
  CHECK_FALSE(outcome(0.0, {ones}));
  CHECK_FALSE(outcome(-0.0, {1}));

  double const almost = std::nextafter(1.0, 0.0);
  CHECK_FALSE(outcome(almost, {ones << 11}));  // 2^64 − 2^11
  CHECK(outcome(almost, {(ones << 11) - 1}));

  // 2^-1074: sixteen words of zeros, and then 2^14.
  double const least = std::numeric_limits<double>::denorm_min();
  std::vector<std::uint64_t> words(17, 0);
  CHECK(outcome(least, words));
  words.back() = (1 << 14) - 1;
  CHECK(outcome(least, words));
  words.back() = 1 << 14;
  CHECK_FALSE(outcome(least, words));
  CHECK_FALSE(outcome(least, {1}));
}

TEST_CASE("probabilities outside [0, 1] and NaN are refused before a word is drawn",
          "[bernoulli]") {
  script nothing({});
  for (double const p : {-1e-300, 1.0000000000000002, not_a_number, infinity, -infinity}) {
    CHECK_THROWS_AS(bernoulli(nothing, p), std::domain_error);
  }
  CHECK_THROWS_AS(bernoulli(nothing, 1, 0), std::domain_error);
  CHECK_THROWS_AS(bernoulli(nothing, 4, 3), std::domain_error);
  CHECK_THROWS_AS(uniform_below(nothing, 0), std::domain_error);
  CHECK_THROWS_AS(bernoulli_exp_minus(nothing, -0.5), std::domain_error);
  CHECK_THROWS_AS(bernoulli_exp_minus(nothing, not_a_number), std::domain_error);
  CHECK_THROWS_AS(bernoulli_exp_minus(nothing, infinity), std::domain_error);
  CHECK_THROWS_AS(bernoulli_exp_minus(nothing, 1, 0), std::domain_error);
}

TEST_CASE("uniform_below rejects exactly the surplus words", "[uniform_below]") {
  for (std::uint64_t const n : {std::uint64_t{3}, std::uint64_t{10}, std::uint64_t{1'000'003},
                                (std::uint64_t{1} << 63) + 1, ones}) {
    std::uint64_t const surplus = (ones % n + 1) % n;  // 2^64 mod n
    CAPTURE(n, surplus);
    REQUIRE(surplus > 0);
    script rejected({0, surplus - 1, surplus});
    CHECK(uniform_below(rejected, n) == surplus % n);
    CHECK(rejected.finished());
    script accepted({surplus});
    CHECK(uniform_below(accepted, n) == surplus % n);
    script last({ones});
    CHECK(uniform_below(last, n) == ones % n);
  }
  for (int k = 0; k < 64; ++k) {  // a power of two divides 2^64: nothing to reject
    script zero({0});
    CHECK(uniform_below(zero, std::uint64_t{1} << k) == 0);
  }
}

TEST_CASE("uniform_below is uniform", "[uniform_below]") {
  // χ² with 9 degrees of freedom exceeds 45.08 with probability 9e-7.
  auto bits = fixed_stream(1);
  std::array<double, 10> count{};
  constexpr int n = 500'000;
  for (int i = 0; i < n; ++i) ++count[uniform_below(bits, 10)];
  double chi_square = 0.0;
  for (double const c : count) chi_square += (c - n / 10.0) * (c - n / 10.0) / (n / 10.0);
  CHECK(chi_square < 45.08);
}

TEST_CASE("frequencies of bernoulli", "[bernoulli][long]") {
  // False alarm 1e-6 each.
  auto bits = fixed_stream(2);
  constexpr int n = 200'000;
  for (double const p : {0.001, 0.1, 0.25, 0.5, 2.0 / 3.0, 0.999}) {
    CAPTURE(p);
    CHECK(score(p, n, [&] { return bernoulli(bits, p); }) < statistics::normal_limit);
  }
  CHECK(score(2.0 / 7.0, n, [&] { return bernoulli(bits, 2, 7); }) < statistics::normal_limit);
  CHECK(bernoulli(bits, 7, 7));
  CHECK_FALSE(bernoulli(bits, 0, 7));
}

TEST_CASE("bernoulli_exp_minus follows the alternating series", "[bernoulli]") {
  // Scripts for x = ½. A word below 2^63 is a success of Bernoulli(½), and a multiple of k, no smaller
  // than 2^64 mod k, one of Bernoulli(1/k).
  constexpr std::uint64_t success = 0;
  auto const follow = [](std::vector<std::uint64_t> words) {
    script bits(std::move(words));
    bool const result = bernoulli_exp_minus(bits, 0.5);
    CHECK(bits.finished());
    return result;
  };
  CHECK(follow({ones}));                                                  // 1 − x
  CHECK_FALSE(follow({success, 0, ones}));                                // stops at k = 2
  CHECK_FALSE(follow({success, 0, success, 1}));                          // 1 is odd
  CHECK(follow({success, 0, success, 2, ones}));                          // k = 3
  CHECK(follow({success, 0, success, 2, success, 4}));                    // 4 mod 3 = 1
  CHECK_FALSE(follow({success, 0, success, 2, success, 3, success, 5}));  // 5 mod 4 = 1: k = 4
}

TEST_CASE("frequencies of bernoulli_exp_minus", "[bernoulli][long]") {
  // False alarm 1e-6 each.
  auto bits = fixed_stream(3);
  constexpr int n = 100'000;
  for (double const x : {1e-3, 0.1, 0.5, 0.9999, 1.0, 1.5, 2.0, 3.7}) {
    CAPTURE(x);
    CHECK(score(std::exp(-x), n, [&] { return bernoulli_exp_minus(bits, x); }) <
          statistics::normal_limit);
  }
  struct fraction {
    std::uint64_t numerator;
    std::uint64_t denominator;
  };
  for (fraction const x : {fraction{1, 3}, fraction{7, 2}, fraction{5, 5}}) {
    CAPTURE(x.numerator, x.denominator);
    double const p =
        std::exp(-static_cast<double>(x.numerator) / static_cast<double>(x.denominator));
    auto const draw = [&] { return bernoulli_exp_minus(bits, x.numerator, x.denominator); };
    CHECK(score(p, n, draw) < statistics::normal_limit);
  }
}

TEST_CASE("bernoulli_exp_minus at both ends", "[bernoulli]") {
  auto bits = fixed_stream(4);
  for (int i = 0; i < 1'000; ++i) {
    REQUIRE(bernoulli_exp_minus(bits, 0.0));
    REQUIRE(bernoulli_exp_minus(bits, 0, 1));
    // e^-100 = 4e-44, and the largest numbers end as soon.
    REQUIRE_FALSE(bernoulli_exp_minus(bits, 100.0));
    REQUIRE_FALSE(bernoulli_exp_minus(bits, std::numeric_limits<double>::max()));
    REQUIRE_FALSE(bernoulli_exp_minus(bits, ones, 1));
  }
}
