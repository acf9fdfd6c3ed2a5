// SPDX-License-Identifier: Apache-2.0
#include <tacit/info/noised_sign.hpp>
#include <tacit/mechanism/paid_release.hpp>
#include <tacit/pac/value_exposure.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace paid_release_tests {

namespace {

using namespace tacit;

constexpr std::uint64_t ones = ~std::uint64_t{0};

// What was paid for as a sign is drawn as a sign, and observed as one.
template <class Channel>
using drawn = decltype(draw(std::declval<paid<Channel>>(), sign::plus, std::declval<script&>()));
static_assert(std::is_same_v<drawn<sign_channel>, drawn_sign>);
static_assert(std::is_same_v<drawn<binary_channel>, drawn_value>);
static_assert(!std::is_constructible_v<drawn_value, drawn_sign>);
static_assert(!std::is_copy_constructible_v<paid<sign_channel>>);
static_assert(!std::is_constructible_v<paid<sign_channel>, sign_channel>);
static_assert(!std::is_constructible_v<paid<sign_channel>, sign_channel, receipt<nats>>);
static_assert(!std::is_constructible_v<paid<binary_channel>, paid<sign_channel>>);

sign_channel flipped_with(flip const& noise, double prior = 0.5) {
  return {.prior = prior, .noise = noise};
}

template <class Channel>
paid<Channel> bought(Channel const& channel) {
  ledger<nats> account(nats(1.0));
  return pay(account, channel);
}

/// What the words make of a plus, and how many were used.
struct outcome {
  bool kept;
  std::size_t words;
};
outcome outcome_of(flip const& noise, std::vector<std::uint64_t> words) {
  script secret(std::move(words));
  drawn_sign const seen = draw(bought(flipped_with(noise)), sign::plus, secret);
  return {seen.released == sign::plus, secret.used()};
}

}  // namespace

TEST_CASE("paying charges an upper bound of the information, before anything exists", "[paid]") {
  ledger<nats> account(nats(0.5));
  sign_channel const channel = flipped_with(flip::with_correlation(0.5), 0.3);
  auto const paid_sign = pay(account, channel);
  CHECK(paid_sign.cost() == information_charge(channel));
  CHECK(paid_sign.cost().value >= mutual_information(channel));
  CHECK(account.spent() == paid_sign.cost());
  CHECK(paid_sign.channel().noise.correlation() == 0.5);

  binary_channel const value{.prior = 0.3, .sigma = 2.0};
  auto const paid_value = pay(account, value);
  CHECK(paid_value.cost() == information_charge(value));
  CHECK(account.spent() >= paid_sign.cost() + paid_value.cost());

  auto const raised = pay(account, value, 1.25);
  CHECK(raised.cost().value == information_charge(value).value * 1.25);
}

TEST_CASE("who cannot pay gets nothing and owes nothing", "[paid]") {
  ledger<nats> account(nats(0.1));
  sign_channel const expensive = flipped_with(flip::with_correlation(0.9));
  CHECK_THROWS_AS(pay(account, expensive), budget_exhausted);
  CHECK_THROWS_AS(pay(account, binary_channel{.prior = 0.5, .sigma = 0.5}), budget_exhausted);
  CHECK(account.spent() == nats(0.0));
  for (double const inflation : {0.999, 0.0, -1.0, not_a_number}) {
    CHECK_THROWS_AS(pay(account, flipped_with(flip::with_correlation(0.1)), inflation),
                    std::domain_error);
  }
  CHECK_THROWS_AS(pay(account, flipped_with(flip::with_correlation(0.1)), infinity),
                  std::domain_error);
  CHECK_THROWS_AS(pay(account, sign_channel{}), std::domain_error);
  CHECK_THROWS_AS(pay(account, sign_channel{.prior = 0.5, .noise = {}}), std::domain_error);
  CHECK_THROWS_AS(pay(account, binary_channel{.prior = 0.5}), std::domain_error);
  CHECK(account.spent() == nats(0.0));
}

TEST_CASE("one payment draws once", "[paid]") {
  auto payment = bought(flipped_with(flip::with_correlation(0.5)));
  script secret({0, 0, 0, 0});
  CHECK_NOTHROW(draw(std::move(payment), sign::plus, secret));
  std::size_t const used = secret.used();
  CHECK_THROWS_AS(draw(std::move(payment), sign::plus, secret), std::logic_error);
  CHECK_THROWS_WITH(draw(std::move(payment), sign::plus, secret),
                    "draw: the receipt was used before");
  CHECK(secret.used() == used);

  auto source = bought(flipped_with(flip::with_correlation(0.5)));
  auto target = std::move(source);
  CHECK_THROWS_AS(draw(std::move(source), sign::plus, secret), std::logic_error);
  CHECK_NOTHROW(draw(std::move(target), sign::plus, secret));

  auto value = bought(binary_channel{.prior = 0.5, .sigma = 1.0});
  secret_stream stream = fixed_stream(1);
  CHECK_NOTHROW(draw(std::move(value), sign::plus, stream));
  CHECK_THROWS_AS(draw(std::move(value), sign::plus, stream), std::logic_error);
}

TEST_CASE("a sign is flipped with probability (1-rho)/2 to the last bit", "[paid]") {
  // ρ ≤ ½: kept with probability ρ, else a fair coin.
  flip const low = flip::with_correlation(0.25);
  std::uint64_t const quarter = std::uint64_t{1} << 62;
  std::uint64_t const half = std::uint64_t{1} << 63;
  CHECK(outcome_of(low, {0}).kept);
  CHECK(outcome_of(low, {quarter - 1}).kept);
  CHECK_FALSE(outcome_of(low, {quarter, half - 1}).kept);
  CHECK(outcome_of(low, {quarter, half}).kept);
  CHECK_FALSE(outcome_of(low, {ones, 0}).kept);
  CHECK(outcome_of(low, {ones, ones}).kept);
  // ρ > ½: flipped with probability e.
  flip const high = flip::with_correlation(0.75);
  std::uint64_t const eighth = std::uint64_t{1} << 61;
  CHECK_FALSE(outcome_of(high, {0}).kept);
  CHECK_FALSE(outcome_of(high, {eighth - 1}).kept);
  CHECK(outcome_of(high, {eighth}).kept);
  CHECK(outcome_of(high, {ones}).kept);
  CHECK(outcome_of(high, {ones}).words == 1);
  // At the ends.
  CHECK(outcome_of(flip::with_correlation(0.0), {0, 0}).kept == false);
  CHECK(outcome_of(flip::with_correlation(0.0), {0, half}).kept);
  CHECK(outcome_of(flip::with_correlation(1.0), {0}).kept);
  // Probabilities that a comparison of rounded numbers would lose: 2⁻⁷⁰ is decided by a second word.
  flip const rare = flip::with_probability(0x1p-70);
  CHECK_FALSE(outcome_of(rare, {0, 0}).kept);
  CHECK_FALSE(outcome_of(rare, {0, (std::uint64_t{1} << 58) - 1}).kept);
  CHECK(outcome_of(rare, {0, std::uint64_t{1} << 58}).kept);
  CHECK(outcome_of(rare, {1}).kept);
  flip const faint = flip::with_correlation(0x1p-70);
  CHECK(outcome_of(faint, {0, 0}).kept);
  CHECK_FALSE(outcome_of(faint, {0, std::uint64_t{1} << 58, 0}).kept);
}

TEST_CASE("a minus is flipped like a plus", "[paid]") {
  for (double const rho : {0.25, 0.75}) {
    for (std::uint64_t const first : {std::uint64_t{0}, ones}) {
      std::vector<std::uint64_t> const words{first, 0};
      script one(words);
      script other(words);
      auto const plus = draw(bought(flipped_with(flip::with_correlation(rho))), sign::plus, one);
      auto const minus =
          draw(bought(flipped_with(flip::with_correlation(rho))), sign::minus, other);
      CHECK(static_cast<int>(plus.released) == -static_cast<int>(minus.released));
      CHECK(plus.noise.correlation() == rho);
    }
  }
}

TEST_CASE("signs are kept as often as they were paid for", "[paid][long]") {
  // False alarm rate 1e-6 a line.
  secret_stream secret = fixed_stream(2);
  constexpr int draws = 50'000;
  for (double const rho : {0.01, 0.3, 0.5, 0.51, 0.9, 0.999}) {
    for (sign const truth : {sign::plus, sign::minus}) {
      int kept = 0;
      for (int k = 0; k < draws; ++k) {
        auto const seen = draw(bought(flipped_with(flip::with_correlation(rho))), truth, secret);
        kept += seen.released == truth;
      }
      CHECK(std::abs(statistics::binomial_score(kept, draws, 0.5 * (1.0 + rho))) <
            statistics::normal_limit);
    }
  }
}

TEST_CASE("a value is the sign plus its noise, and what is released is its sign", "[paid][long]") {
  // False alarm rate 1e-6 a line.
  secret_stream secret = fixed_stream(3);
  for (double const sigma : {0.1, 1.0, 30.0}) {
    for (sign const truth : {sign::plus, sign::minus}) {
      std::vector<double> noise;
      int wrong = 0;
      for (int k = 0; k < 10'000; ++k) {
        auto const seen = draw(bought(binary_channel{.prior = 0.5, .sigma = sigma}), truth, secret);
        noise.push_back((seen.value - static_cast<int>(truth)) / sigma);
        wrong += seen.sigma != sigma || (seen.value >= 0.0) != (seen.released == sign::plus);
      }
      CHECK(wrong == 0);
      CHECK(statistics::kolmogorov(noise, statistics::normal_cdf) < statistics::kolmogorov_limit);
    }
  }
  script unused({});
  auto const bare = draw(bought(binary_channel{.prior = 0.5, .sigma = 0.0}), sign::minus, unused);
  CHECK(bare.value == -1.0);
  CHECK(bare.released == sign::minus);
}

TEST_CASE("what is observed is what was drawn", "[paid]") {
  std::vector<std::int8_t> const signs{1, -1, 1, -1};
  auto const same = [](posterior const& a, posterior const& b) {
    return std::equal(a.log_weights().begin(), a.log_weights().end(), b.log_weights().begin());
  };
  for (double const e : {0.45, 0.3, 0.1, 1e-20}) {
    flip const noise = flip::with_probability(e);
    posterior seen(4);
    posterior direct(4);
    observe(seen, signs, drawn_sign{sign::minus, noise});
    direct.observe_sign(signs, sign::minus, noise);
    CHECK(same(seen, direct));
    CHECK(seen.log_weights()[0] - seen.log_weights()[1] == Approx(std::log(e / (1.0 - e))));
    CHECK(seen.live() == 4);
  }
  posterior seen(4);
  posterior direct(4);
  observe(seen, signs, drawn_value{sign::plus, 0.3, 2.0});
  direct.observe_value(signs, 0.3, 2.0);
  CHECK(same(seen, direct));
  CHECK(seen.log_weights()[0] - seen.log_weights()[1] == Approx(2.0 * 0.3 / 4.0));
  // No noise at all: the others are out.
  observe(seen, signs, drawn_value{sign::minus, -1.0, 0.0});
  CHECK(seen.live() == 2);
  CHECK(seen.log_weights()[0] == -infinity);
}

TEST_CASE("every record pays its own price for a sign", "[paid]") {
  candidate_set const candidates = candidate_set::balanced({.records = 6, .subsets = 8}, 5);
  posterior const belief(8);
  std::vector<std::int8_t> const signs{1, 1, 1, -1, -1, 1, -1, -1};
  record_exposure const exposure(candidates, belief, signs, 1e-13);
  record_ledger account(6, nats(0.2));
  sign_channel const channel = flipped_with(flip::with_correlation(0.3));
  auto const payment = pay(account, channel, exposure);
  double worst = 0.0;
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(account.spent()[i] == exposure.information(i, channel.noise));
    worst = std::max(worst, account.spent()[i]);
  }
  CHECK(payment.cost().value == worst);
  CHECK(worst > 0.0);

  record_ledger poor(6, nats(worst * 0.99));
  CHECK_THROWS_AS(pay(poor, channel, exposure), budget_exhausted);
  CHECK(poor.worst() == nats(0.0));
  record_ledger other(5, nats(1.0));
  CHECK_THROWS_AS(pay(other, channel, exposure), std::invalid_argument);

  value_exposure const seen(candidates, belief, signs, 1e-13);
  record_ledger for_value(6, nats(0.2));
  binary_channel const value{.prior = 0.5, .sigma = 3.0};
  auto const paid_value = pay(for_value, value, seen);
  noised_sign const noised = seen.through(3.0);
  worst = 0.0;
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(for_value.spent()[i] == seen.information(i, noised));
    // Less than the contraction of the sign's price allows.
    CHECK(for_value.spent()[i] <=
          exposure.information(i, flip::with_correlation(1.0)) / 9.0 + 1e-20);
    worst = std::max(worst, for_value.spent()[i]);
  }
  CHECK(paid_value.cost().value == worst);
  CHECK(worst > 0.0);
  record_ledger poor_for_value(6, nats(worst * 0.99));
  CHECK_THROWS_AS(pay(poor_for_value, value, seen), budget_exhausted);
  CHECK_THROWS_AS(pay(other, value, seen), std::invalid_argument);
}

}  // namespace paid_release_tests
