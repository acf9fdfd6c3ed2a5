// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/posterior.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

using tacit::candidate_set;
using tacit::flip;
using tacit::posterior;
using tacit::sign;
using signs = std::vector<std::int8_t>;

signs random_signs(std::mt19937_64& random, std::size_t count) {
  signs result(count);
  for (auto& s : result) s = (random() >> 40 & 1) != 0 ? 1 : -1;
  return result;
}

sign sign_of(int s) { return s > 0 ? sign::plus : sign::minus; }

std::vector<double> copy(std::span<double const> x) { return {x.begin(), x.end()}; }

// Bayes' rule as it is written, in a wider type.
struct naive_belief {
  std::vector<long double> p;

  explicit naive_belief(std::size_t candidates)
      : p(candidates, 1.0L / static_cast<long double>(candidates)) {}

  void observe_sign(signs const& s, int y, double correlation) {
    for (std::size_t m = 0; m < p.size(); ++m) {
      p[m] *= (1.0L + y * s[m] * static_cast<long double>(correlation)) / 2;
    }
    normalise();
  }

  void observe_value(signs const& s, double y, double sigma) {
    for (std::size_t m = 0; m < p.size(); ++m) {
      long double const z = (static_cast<long double>(y) - s[m]) / sigma;
      p[m] *= std::exp(-z * z / 2);
    }
    normalise();
  }

  void normalise() {
    long double const total = std::accumulate(p.begin(), p.end(), 0.0L);
    for (long double& x : p) x /= total;
  }
};

double relative_error(double x, long double truth) {
  return static_cast<double>(std::abs(x / truth - 1.0L));
}

void check_same(posterior const& belief, naive_belief const& naive, double tolerance) {
  for (std::size_t m = 0; m < naive.p.size(); ++m) {
    REQUIRE(relative_error(belief.probabilities()[m], naive.p[m]) < tolerance);
    REQUIRE(std::abs(belief.log_weights()[m] - static_cast<double>(std::log(naive.p[m]))) <
            tolerance);
  }
}

}  // namespace

TEST_CASE("a new posterior is uniform") {
  for (std::size_t const candidates : {1U, 2U, 3U, 128U, 1000U}) {
    posterior const belief(candidates);
    CHECK(belief.size() == candidates);
    CHECK(belief.live() == candidates);
    for (double const p : belief.probabilities()) {
      REQUIRE(relative_error(p, 1.0L / static_cast<long double>(candidates)) < 1e-15);
    }
    CHECK(belief.entropy() == Approx(std::log(static_cast<double>(candidates))).margin(1e-15));
  }
  CHECK_THROWS_WITH(posterior(0), "posterior: candidates is 0, but must be at least 1");
}

TEST_CASE("four candidates, by hand") {
  posterior belief(4);
  belief.observe_sign(signs{1, 1, -1, -1}, sign::plus, flip::with_correlation(0.5));
  auto const close = [&](std::size_t m, double p) {
    return relative_error(belief.probabilities()[m], p) < 1e-14;
  };
  CHECK((close(0, 3.0 / 8) && close(1, 3.0 / 8) && close(2, 1.0 / 8) && close(3, 1.0 / 8)));
  belief.observe_sign(signs{1, -1, 1, -1}, sign::minus, flip::with_correlation(0.5));
  CHECK((close(0, 3.0 / 16) && close(1, 9.0 / 16) && close(2, 1.0 / 16) && close(3, 3.0 / 16)));

  auto const lone = belief.agreement(signs{1, -1, -1, -1});
  CHECK(lone.minority == Approx(3.0 / 16).epsilon(1e-14));
  CHECK(lone.minority_positive);
  auto const most = belief.agreement(signs{1, 1, -1, -1});
  CHECK(most.minority == Approx(1.0 / 4).epsilon(1e-14));
  CHECK_FALSE(most.minority_positive);

  double const nine = 9.0 / 16;
  CHECK(belief.entropy() == Approx(-nine * std::log(nine) - 6.0 / 16 * std::log(3.0 / 16) -
                                   1.0 / 16 * std::log(1.0 / 16)));

  belief.observe_sign(signs{1, -1, -1, 1}, sign::plus, flip::with_correlation(1.0));
  CHECK(belief.live() == 2);
  CHECK((close(0, 0.5) && close(3, 0.5)));
  CHECK(belief.probabilities()[1] == 0.0);
  CHECK(belief.log_weights()[2] == -infinity);
}

TEST_CASE("an even split has a minority of one half, and only a whole one has none") {
  posterior const belief(128);
  signs s(128, 1);
  CHECK(belief.unanimous(s));
  CHECK(belief.agreement(s).minority == 0.0);
  CHECK_FALSE(belief.agreement(s).minority_positive);
  s[77] = -1;
  CHECK_FALSE(belief.unanimous(s));
  CHECK(belief.agreement(s).minority == Approx(1.0 / 128).epsilon(1e-14));
  std::fill(s.begin(), s.begin() + 64, std::int8_t{-1});
  s[77] = 1;
  CHECK(belief.agreement(s).minority == 0.5);
  CHECK_FALSE(belief.agreement(s).minority_positive);
  std::fill(s.begin(), s.end(), std::int8_t{-1});
  CHECK(belief.unanimous(s));
  CHECK(belief.agreement(s).minority == 0.0);
  CHECK(belief.agreement(s).minority_positive);
}

TEST_CASE("observations equal Bayes' rule in long double") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::normal_distribution<double> normal;
  for (std::size_t const candidates : {1U, 2U, 7U, 128U, 1100U}) {
    posterior belief(candidates);
    naive_belief naive(candidates);
    for (int step = 0; step < 60; ++step) {
      auto const s = random_signs(random, candidates);
      if (step % 2 == 0) {
        int const y = uniform(random) < 0.5 ? 1 : -1;
        double const correlation = uniform(random) * (step % 4 == 0 ? 0.99 : 1e-3);
        belief.observe_sign(s, sign_of(y), flip::with_correlation(correlation));
        naive.observe_sign(s, y, correlation);
      } else {
        double const sigma = std::exp(4 * uniform(random) - 0.7);
        double const y = s[0] + sigma * normal(random);
        belief.observe_value(s, y, sigma);
        naive.observe_value(s, y, sigma);
      }
      check_same(belief, naive, 1e-12);
      long double plus = 0.0L, minus = 0.0L;
      for (std::size_t m = 0; m < candidates; ++m) (s[m] > 0 ? plus : minus) += naive.p[m];
      auto const split = belief.agreement(s);
      REQUIRE(split.minority <= 0.5);
      if (std::min(plus, minus) > 0.0L) {
        REQUIRE(relative_error(split.minority, std::min(plus, minus)) < 1e-12);
        if (std::abs(plus - minus) > 1e-9L) REQUIRE(split.minority_positive == (plus < minus));
      }
    }
  }
}

TEST_CASE("a long run drifts from Bayes' rule no further than its rounding, and stays normalised") {
  std::mt19937_64 random(2);
  posterior belief(16);
  std::vector<long double> log_odds(16);
  long double const agree = std::log1p(0.3L), differ = std::log1p(-0.3L);
  for (int step = 0; step < 100'000; ++step) {
    auto const s = random_signs(random, 16);
    int const y = (random() & 1) != 0 ? 1 : -1;
    belief.observe_sign(s, sign_of(y), flip::with_correlation(0.3));
    for (std::size_t m = 0; m < 16; ++m) log_odds[m] += y * s[m] > 0 ? agree : differ;
  }
  for (std::size_t m = 1; m < 16; ++m) {
    double const error = static_cast<double>(
        std::abs(belief.log_weights()[m] - belief.log_weights()[0] - (log_odds[m] - log_odds[0])));
    REQUIRE(error < 1e-8);  // 10⁵ steps, weights to e^−300: half an ulp a step would be 3e-9
  }
  auto const p = belief.probabilities();
  CHECK(std::abs(std::accumulate(p.begin(), p.end(), 0.0) - 1.0) < 1e-13);
}

TEST_CASE("the order of observations does not matter") {
  std::mt19937_64 random(3);
  std::vector<signs> s(20);
  for (signs& step : s) step = random_signs(random, 40);
  posterior forward(40), backward(40);
  auto const observe = [&](posterior& belief, std::size_t i) {
    if (i % 3 == 0) {
      belief.observe_value(s[i], 0.4 * static_cast<double>(i) - 3.0, 1.7);
    } else {
      belief.observe_sign(s[i], i % 2 == 0 ? sign::plus : sign::minus,
                          flip::with_correlation(0.04 * static_cast<double>(i)));
    }
  };
  for (std::size_t i = 0; i < 20; ++i) observe(forward, i);
  for (std::size_t i = 20; i-- > 0;) observe(backward, i);
  for (std::size_t m = 0; m < 40; ++m) {
    CHECK(std::abs(forward.log_weights()[m] - backward.log_weights()[m]) < 1e-12);
  }
}

TEST_CASE("what says nothing changes nothing") {
  std::mt19937_64 random(4);
  auto const s = random_signs(random, 10);
  posterior belief(10);
  belief.observe_sign(s, sign::plus, flip::with_correlation(0.7));
  auto const before = copy(belief.log_weights());
  belief.observe_sign(random_signs(random, 10), sign::minus, flip::with_correlation(0.0));
  belief.observe_value(random_signs(random, 10), 0.9, infinity);
  belief.observe_value(random_signs(random, 10), 0.0, 1.0);
  CHECK(copy(belief.log_weights()) == before);
  for (sign const y : {sign::plus, sign::minus}) {  // unanimous: expected beforehand
    belief.observe_sign(signs(10, 1), y, flip::with_correlation(0.5));
    belief.observe_value(signs(10, -1), 3.0, 0.5);
  }
  for (std::size_t m = 0; m < 10; ++m) {
    CHECK(std::abs(belief.log_weights()[m] - before[m]) < 1e-14);
  }
}

TEST_CASE("a candidate whose weight has underflowed still disagrees, and can come back") {
  auto belief = posterior::from_log_weights({0.0, -800.0});
  signs const s = {1, -1};
  CHECK(belief.probabilities()[1] == 0.0);
  CHECK(belief.live() == 2);
  CHECK_FALSE(belief.unanimous(s));
  auto const split = belief.agreement(s);
  CHECK(split.minority == std::numeric_limits<double>::min());
  CHECK_FALSE(split.minority_positive);

  double const correlation = 0.999999;
  for (int i = 0; i < 60; ++i)
    belief.observe_sign(s, sign::minus, flip::with_correlation(correlation));
  long double const gain =
      std::log1p(0.999999L) - std::log1p(-static_cast<long double>(correlation));
  CHECK(belief.log_weights()[0] == Approx(static_cast<double>(800.0L - 60 * gain)).epsilon(1e-12));
  CHECK(belief.probabilities()[1] == 1.0);

  auto last = posterior::from_log_weights({0.0, -800.0});
  last.observe_sign(s, sign::minus, flip::with_correlation(1.0));
  CHECK(last.live() == 1);
  CHECK(last.log_weights()[0] == -infinity);
  CHECK(last.log_weights()[1] == 0.0);
  CHECK(last.probabilities()[1] == 1.0);
  CHECK(last.unanimous(s));
  CHECK(last.agreement(s).minority == 0.0);
  CHECK(last.agreement(s).minority_positive);
  CHECK(last.entropy() == 0.0);
}

TEST_CASE("only the live are counted") {
  auto const belief = posterior::from_log_weights({0.0, -infinity, -3.0, -infinity});
  CHECK(belief.live() == 2);
  CHECK(belief.unanimous(signs{1, -1, 1, -1}));
  CHECK(belief.unanimous(signs{-1, 1, -1, -1}));
  CHECK_FALSE(belief.unanimous(signs{1, 1, -1, 1}));
  CHECK(belief.agreement(signs{1, -1, 1, -1}).minority == 0.0);
}

TEST_CASE("the minority mass keeps its digits however small") {
  for (double const exponent : {-20.0, -100.0, -200.0, -279.0, -280.5, -290.0, -306.0}) {
    double const tiny = exponent * std::log(10.0);
    auto const belief = posterior::from_log_weights({0.0, tiny, -1.0, tiny - 2.0, tiny + 0.5});
    long double const majority = 1.0L + std::exp(-1.0L);
    long double const minority = std::exp(static_cast<long double>(tiny)) +
                                 std::exp(static_cast<long double>(tiny - 2.0)) +
                                 std::exp(static_cast<long double>(tiny + 0.5));
    for (std::int8_t const side : {std::int8_t{1}, std::int8_t{-1}}) {
      auto const other = static_cast<std::int8_t>(-side);
      auto const split = belief.agreement(signs{other, side, other, side, side});
      CAPTURE(exponent);
      CHECK(split.minority_positive == (side > 0));
      CHECK(relative_error(split.minority, minority / (majority + minority)) < 3e-13);
    }
  }
  // 10⁵ weights that are each below the normal range and together are not.
  std::vector<double> weights(100'001, -310 * std::log(10.0));
  weights[0] = 0.0;
  signs s(weights.size(), -1);
  s[0] = 1;
  auto const belief = posterior::from_log_weights(weights);
  CHECK(relative_error(belief.agreement(s).minority,
                       1e5L * std::exp(static_cast<long double>(weights[1]))) < 3e-13);
}

TEST_CASE("evidence beyond all range excludes nobody") {
  signs const s = {1, -1, 1};
  posterior belief(3);
  for (int i = 0; i < 5; ++i) belief.observe_value(s, -1e300, 1e-200);
  CHECK(belief.live() == 3);
  CHECK(belief.probabilities()[1] == 1.0);
  CHECK_FALSE(belief.unanimous(s));
  CHECK(belief.agreement(s).minority == std::numeric_limits<double>::min());
  for (int i = 0; i < 10; ++i) belief.observe_value(s, 1e300, 1e-200);
  CHECK(belief.live() == 3);
  CHECK(belief.probabilities()[0] == Approx(0.5));
  belief.observe_sign(s, sign::plus, flip::with_correlation(1.0));
  CHECK(belief.live() == 2);

  auto const far = posterior::from_log_weights({1e308, -1.7e308, -infinity});
  CHECK(far.live() == 2);
  CHECK(std::isfinite(far.log_weights()[1]));
}

TEST_CASE("an impossible or malformed observation changes nothing") {
  posterior belief(4);
  signs const s = {1, 1, -1, -1};
  belief.observe_sign(s, sign::plus, flip::with_correlation(1.0));
  belief.observe_sign(signs{1, -1, 1, 1}, sign::plus, flip::with_correlation(0.25));
  auto const before = copy(belief.log_weights());
  auto const p_before = copy(belief.probabilities());

  CHECK_THROWS_WITH(belief.observe_sign(s, sign::minus, flip::with_correlation(1.0)),
                    "observe_sign: released sign is -1, but must be that of a live candidate when "
                    "the sign is not flipped");
  CHECK_THROWS_AS(belief.observe_sign(s, sign::minus, flip::with_correlation(1.0)),
                  std::invalid_argument);
  CHECK_THROWS_AS(belief.observe_sign(s, sign::plus, flip{}), std::domain_error);  // never set
  CHECK_THROWS_AS(belief.observe_sign(s, static_cast<sign>(0), flip::with_correlation(0.5)),
                  std::domain_error);
  CHECK_THROWS_AS(belief.observe_value(s, not_a_number, 1.0), std::domain_error);
  CHECK_THROWS_AS(belief.observe_value(s, infinity, 1.0), std::domain_error);
  for (double const bad : {not_a_number, 0.0, -1.0, -infinity}) {
    CHECK_THROWS_AS(belief.observe_value(s, 1.0, bad), std::domain_error);
  }
  for (signs const& bad : {signs{1, 1, -1}, signs{}, signs{1, 1, -1, -1, 1}}) {
    CHECK_THROWS_AS(belief.observe_sign(bad, sign::plus, flip::with_correlation(0.5)),
                    std::invalid_argument);
    CHECK_THROWS_AS(belief.observe_value(bad, 1.0, 1.0), std::invalid_argument);
    CHECK_THROWS_AS(belief.unanimous(bad), std::invalid_argument);
    CHECK_THROWS_AS(belief.agreement(bad), std::invalid_argument);
  }
  for (signs const& bad : {signs{1, 1, -1, 0}, signs{2, 1, -1, 1}, signs{1, -128, 1, 1}}) {
    CHECK_THROWS_AS(belief.observe_sign(bad, sign::plus, flip::with_correlation(0.5)),
                    std::domain_error);
    CHECK_THROWS_AS(belief.observe_value(bad, 1.0, 1.0), std::domain_error);
    CHECK_THROWS_AS(belief.unanimous(bad), std::domain_error);
    CHECK_THROWS_AS(belief.agreement(bad), std::domain_error);
  }
  for (int value = -128; value < 128; ++value) {
    signs one(4, static_cast<std::int8_t>(value));
    if (value == 1 || value == -1) {
      CHECK_NOTHROW(belief.unanimous(one));
    } else {
      CHECK_THROWS_AS(belief.unanimous(one), std::domain_error);
    }
  }
  CHECK_THROWS_WITH(belief.unanimous(signs{1, 1, 0, 1}),
                    "unanimous: sign of candidate 2 is 0, but must be -1 or +1");
  CHECK(copy(belief.log_weights()) == before);
  CHECK(copy(belief.probabilities()) == p_before);
  CHECK(belief.live() == 2);
}

TEST_CASE("from_log_weights validates and normalises") {
  auto const belief = posterior::from_log_weights({1000.0, 1000.0 + std::log(3.0), -infinity});
  CHECK(belief.live() == 2);
  CHECK(belief.probabilities()[0] == Approx(0.25).epsilon(1e-12));
  CHECK(belief.probabilities()[1] == Approx(0.75).epsilon(1e-12));
  CHECK(belief.probabilities()[2] == 0.0);
  CHECK(posterior::from_log_weights({-5000.0}).log_weights()[0] == 0.0);

  CHECK_THROWS_WITH(posterior::from_log_weights({0.0, not_a_number}),
                    "posterior: log weight of candidate 1 is nan, but must be below +infinity");
  CHECK_THROWS_AS(posterior::from_log_weights({infinity, 0.0}), std::domain_error);
  CHECK_THROWS_AS(posterior::from_log_weights({}), std::invalid_argument);
  CHECK_THROWS_AS(posterior::from_log_weights({-infinity, -infinity}), std::invalid_argument);
}

TEST_CASE("a restored posterior goes on bit for bit") {
  std::mt19937_64 random(5);
  posterior kept(128);
  for (int step = 0; step < 500; ++step) {
    auto restored = posterior::from_log_weights(copy(kept.log_weights()));
    REQUIRE(copy(restored.log_weights()) == copy(kept.log_weights()));
    REQUIRE(copy(restored.probabilities()) == copy(kept.probabilities()));
    auto const s = random_signs(random, 128);
    sign const y = sign_of((random() & 1) != 0 ? 1 : -1);
    double const correlation = step == 400 ? 1.0 : 0.2;
    kept.observe_sign(s, y, flip::with_correlation(correlation));
    restored.observe_sign(s, y, flip::with_correlation(correlation));
    REQUIRE(copy(restored.log_weights()) == copy(kept.log_weights()));
    REQUIRE(restored.live() == kept.live());
  }
}

TEST_CASE("memberships on a small universe equal Bayes' rule over every transcript") {
  auto const set = candidate_set::balanced({.records = 4, .subsets = 4}, 6);
  std::vector<signs> const step = {{1, 1, -1, -1}, {1, -1, 1, 1}, {-1, 1, -1, 1}};
  double const correlation = 0.6;
  for (unsigned transcript = 0; transcript < 8; ++transcript) {
    posterior belief(4);
    naive_belief naive(4);
    for (std::size_t t = 0; t < 3; ++t) {
      int const y = (transcript >> t & 1U) != 0 ? 1 : -1;

      // What the record beliefs become follows from π and a alone.
      std::vector<double> pi(4), a(4), next(4);
      belief.memberships(set, pi);
      belief.sign_memberships(set, step[t], a);
      double mean_sign = 0.0;
      for (std::size_t m = 0; m < 4; ++m) mean_sign += belief.probabilities()[m] * step[t][m];
      belief.observe_sign(step[t], sign_of(y), flip::with_correlation(correlation));
      naive.observe_sign(step[t], y, correlation);
      belief.memberships(set, next);
      for (std::size_t i = 0; i < 4; ++i) {
        REQUIRE(next[i] ==
                Approx((pi[i] + y * correlation * a[i]) / (1 + y * correlation * mean_sign))
                    .epsilon(1e-13));
      }

      std::vector<double> success(4);
      for (std::size_t i = 0; i < 4; ++i) {
        long double in = 0.0L;
        for (std::size_t m = 0; m < 4; ++m) in += set.contains(m, i) ? naive.p[m] : 0.0L;
        REQUIRE(next[i] == Approx(static_cast<double>(in)).epsilon(1e-13));
        success[i] = static_cast<double>(std::max(in, 1.0L - in));
      }
      auto const exposed = belief.exposed(set);
      REQUIRE(exposed.worst == Approx(*std::max_element(success.begin(), success.end())));
      REQUIRE(success[exposed.worst_record] == Approx(exposed.worst).epsilon(1e-13));
      REQUIRE(exposed.mean ==
              Approx(std::accumulate(success.begin(), success.end(), 0.0) / 4).epsilon(1e-13));
    }
  }
}

TEST_CASE("exposure runs from the prior to certainty") {
  auto const set = candidate_set::balanced({.records = 100, .subsets = 128}, 7);
  posterior belief(128);
  auto const at_first = belief.exposed(set);
  CHECK(at_first.worst == Approx(0.5).epsilon(1e-14));
  CHECK(at_first.mean == Approx(0.5).epsilon(1e-14));

  auto const third = candidate_set::balanced({.records = 100, .subsets = 129, .one_in = 3}, 7);
  CHECK(posterior(129).exposed(third).mean == Approx(2.0 / 3).epsilon(1e-14));

  signs only(128, -1);
  only[31] = 1;
  belief.observe_sign(only, sign::plus, flip::with_correlation(1.0));
  auto const known = belief.exposed(set);
  CHECK(known.worst == 1.0);
  CHECK(known.mean == 1.0);
  CHECK(known.worst_record == 0);
  std::vector<double> pi(100);
  belief.memberships(set, pi);
  for (std::size_t i = 0; i < 100; ++i) REQUIRE(pi[i] == (set.contains(31, i) ? 1.0 : 0.0));
}

TEST_CASE("memberships stay in [0, 1] and refuse other shapes") {
  std::mt19937_64 random(8);
  auto const set = candidate_set::balanced({.records = 300, .subsets = 128}, 9);
  posterior belief(128);
  std::vector<double> pi(300), a(300);
  for (int step = 0; step < 200; ++step) {
    auto const s = random_signs(random, 128);
    belief.observe_sign(s, sign::plus, flip::with_correlation(0.5));
    belief.memberships(set, pi);
    belief.sign_memberships(set, s, a);
    for (std::size_t i = 0; i < 300; ++i) {
      REQUIRE((pi[i] >= 0.0 && pi[i] <= 1.0));
      REQUIRE(std::abs(a[i]) <= pi[i] + 1e-14);
    }
  }
  std::vector<double> wrong(299);
  CHECK_THROWS_AS(belief.memberships(set, wrong), std::invalid_argument);
  CHECK_THROWS_AS(belief.sign_memberships(set, signs(127, 1), pi), std::invalid_argument);
  CHECK_THROWS_AS(belief.sign_memberships(set, signs(128, 0), pi), std::domain_error);
  CHECK_THROWS_AS(posterior(64).memberships(set, pi), std::invalid_argument);
  CHECK_THROWS_AS(posterior(64).exposed(set), std::invalid_argument);
}
