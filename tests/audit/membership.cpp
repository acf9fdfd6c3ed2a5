// SPDX-License-Identifier: Apache-2.0
#include <tacit/audit/lira.hpp>
#include <tacit/audit/membership.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

tacit::membership_scores normal_scores(std::size_t members, std::size_t others, double shift,
                                       std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  tacit::membership_scores out;
  for (std::size_t i = 0; i < members; ++i) out.members.push_back(shift + normal(random));
  for (std::size_t i = 0; i < others; ++i) out.others.push_back(normal(random));
  return out;
}

/// Each record has a place of its own, and being a member moves its statistic by `shift`.
struct shadow_world {
  std::vector<double> place;
  std::vector<double> width;
  double shift;
  std::mt19937_64 random;
  std::normal_distribution<double> normal;

  shadow_world(std::size_t records, double by, std::uint64_t seed) : shift(by), random(seed) {
    for (std::size_t i = 0; i < records; ++i) {
      place.push_back(8.0 * normal(random));
      width.push_back(i % 2 == 0 ? 0.5 : 2.0);
    }
  }

  std::vector<double> run(std::vector<std::uint8_t>& inside) {
    std::vector<double> statistics;
    inside.clear();
    for (std::size_t i = 0; i < place.size(); ++i) {
      inside.push_back(static_cast<std::uint8_t>(random() >> 63));
      statistics.push_back(place[i] + shift * width[i] * inside[i] + width[i] * normal(random));
    }
    return statistics;
  }

  tacit::shadow_runs runs(std::size_t count) {
    tacit::shadow_runs out{place.size(), {}, {}};
    std::vector<std::uint8_t> inside;
    for (std::size_t s = 0; s < count; ++s) {
      for (double const x : run(inside)) out.statistics.push_back(x);
      out.inside.insert(out.inside.end(), inside.begin(), inside.end());
    }
    return out;
  }
};

tacit::membership_scores by_membership(std::vector<double> const& scores,
                                       std::vector<std::uint8_t> const& inside) {
  tacit::membership_scores out;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    (inside[i] != 0 ? out.members : out.others).push_back(scores[i]);
  }
  return out;
}

}  // namespace

TEST_CASE("the area under the curve counts pairs, ties by half", "[audit]") {
  tacit::membership_scores const scores{{3.0, 1.0, 2.0}, {1.0, 0.0, 2.0, -1.0}};
  // 3 beats 4; 1 beats 2 and ties one; 2 beats 3 and ties one: 10 of 12.
  CHECK(tacit::auc(scores, 0.9).value == Approx(10.0 / 12.0).epsilon(1e-15));
  // DeLong's by its definition: above = {1, 5/8, 7/8}, beaten = {5/6, 1, 1/2, 1} a share of members.
  double const above = (1.0 / 36 + 25.0 / 576 + 1.0 / 576) / 2.0;     // mean 5/6
  double const beaten = (0.0 + 1.0 / 36 + 1.0 / 9 + 1.0 / 36) / 3.0;  // mean 5/6
  CHECK(tacit::auc_estimate(scores).value == Approx(10.0 / 12.0));
  CHECK(tacit::auc_estimate(scores).standard_error ==
        Approx(std::sqrt(above / 3.0 + beaten / 4.0)));

  auto const perfect = tacit::auc({{2.0, 3.0}, {0.0, 1.0}}, 0.95);
  CHECK(perfect.value == 1.0);
  CHECK(perfect.upper == 1.0);
  CHECK(perfect.lower == Approx(std::sqrt(0.025)));  // two pairs: A² = α/2
  auto const none = tacit::auc({{0.0, 1.0}, {2.0, 3.0}}, 0.95);
  CHECK(none.value == 0.0);
  CHECK(none.upper == Approx(1.0 - std::sqrt(0.025)));
  CHECK(none.lower == 0.0);
  // Losses: lower for members.
  std::vector<double> const low{0.1, 0.2};
  std::vector<double> const high{0.5, infinity};
  CHECK(tacit::auc(tacit::loss_scores(low, high), 0.9).value == 1.0);
}

TEST_CASE("intervals for the area cover", "[audit]") {
  // Normal scores a unit apart: A = Φ(1/√2). Each count is passed but with probability 1e-6.
  double const truth = statistics::normal_cdf(std::sqrt(0.5));
  std::mt19937_64 random(5);
  int const repeats = 400;
  int missed = 0;
  double score = 0.0, squares = 0.0;
  for (int k = 0; k < repeats; ++k) {
    auto const scores = normal_scores(60, 80, 1.0, random);
    auto const interval = tacit::auc(scores, 0.9);
    missed += interval.lower > truth || interval.upper < truth ? 1 : 0;
    auto const rough = tacit::auc_estimate(scores);
    double const z = (rough.value - truth) / rough.standard_error;
    score += z;
    squares += z * z;
  }
  CHECK(statistics::binomial_score(missed, repeats, 0.1) < statistics::normal_limit);
  // DeLong's z is nearly standard normal: chi-square of 400 has standard deviation √800. The slack of a
  // tenth is for its being only nearly so.
  CHECK(std::abs(score / std::sqrt(repeats)) < statistics::normal_limit);
  CHECK(std::abs(squares / repeats - 1.0) <
        0.1 + statistics::normal_limit * std::sqrt(2.0 / repeats));
}

TEST_CASE("a threshold is chosen on one half and counted on the other", "[audit]") {
  std::mt19937_64 random(6);
  auto const parts = tacit::halves(normal_scores(4001, 4000, 2.0, random));
  CHECK(parts.calibration.members.size() == 2001);
  CHECK(parts.test.members.size() == 2000);
  CHECK(parts.test.others.size() == 2000);
  double const t = tacit::best_threshold(parts.calibration);
  CHECK(std::abs(t - 1.0) < 0.35);
  auto const counts = tacit::count_guesses(parts.test, t);
  double const confidence = 1.0 - 2e-6;  // each end fails with 1e-6
  double const truth = 0.5 * (statistics::normal_cdf(2.0 - t) + statistics::normal_cdf(t));
  auto const right = tacit::success(counts, confidence);
  CHECK(right.lower < truth);
  CHECK(right.upper > truth);
  auto const hits = tacit::true_positive_rate(counts, confidence);
  CHECK(hits.lower < statistics::normal_cdf(2.0 - t));
  CHECK(hits.upper > statistics::normal_cdf(2.0 - t));

  double const strict = tacit::threshold_at(parts.calibration, 0.01);
  CHECK(tacit::count_guesses(parts.calibration, strict).false_positives == 20);
  auto const alarms =
      tacit::false_positive_rate(tacit::count_guesses(parts.test, strict), confidence);
  CHECK(alarms.lower < statistics::normal_cdf(-strict));
  CHECK(alarms.upper > statistics::normal_cdf(-strict));
  CHECK(tacit::count_guesses(parts.calibration, tacit::threshold_at(parts.calibration, 0.0))
            .false_positives == 0);
  CHECK(tacit::threshold_at(parts.calibration, 1.0) == -infinity);
}

TEST_CASE("a score at the threshold is called a member", "[audit]") {
  tacit::membership_scores const scores{{1.0, 2.0}, {1.0, 0.0, 0.5}};
  auto const at_one = tacit::count_guesses(scores, 1.0);
  CHECK(at_one.members == 2);
  CHECK(at_one.true_positives == 2);
  CHECK(at_one.others == 3);
  CHECK(at_one.false_positives == 1);
  CHECK(tacit::best_threshold(scores) == 1.0);
  CHECK(tacit::success(at_one, 0.9).value == 0.8);
  CHECK(tacit::count_guesses(scores, tacit::threshold_at(scores, 0.4)).false_positives == 1);
  CHECK(tacit::threshold_at(scores, 0.2) > 1.0);
}

TEST_CASE("a threshold on nothing but noise is right half of the time", "[audit]") {
  // Chosen and scored on the same records it would look better than that.
  std::mt19937_64 random(7);
  double fresh = 0.0, same = 0.0;
  for (int k = 0; k < 100; ++k) {
    auto const parts = tacit::halves(normal_scores(60, 60, 0.0, random));
    double const t = tacit::best_threshold(parts.calibration);
    fresh += tacit::success(tacit::count_guesses(parts.test, t), 0.9).value / 100.0;
    same += tacit::success(tacit::count_guesses(parts.calibration, t), 0.9).value / 100.0;
  }
  // 6000 guesses of ½ each: false alarm 1e-6.
  CHECK(std::abs(fresh - 0.5) < statistics::normal_limit * 0.5 / std::sqrt(6000.0));
  CHECK(same > 0.55);
  CHECK(tacit::best_threshold({{0.0, 1.0}, {2.0, 3.0}}) == infinity);
}

TEST_CASE("the likelihood ratio sees what a global threshold does not", "[audit]") {
  shadow_world world(2000, 1.5, 8);
  auto const shadows = world.runs(64);
  std::vector<std::uint8_t> inside;
  auto const target = world.run(inside);
  double const confidence = 1.0 - 2e-6;

  auto const global = tacit::auc(by_membership(target, inside), confidence);
  auto const online =
      tacit::auc(by_membership(tacit::lira_online(shadows, target), inside), confidence);
  auto const offline =
      tacit::auc(by_membership(tacit::lira_offline(shadows, target), inside), confidence);
  auto const pooled = tacit::auc(
      by_membership(tacit::lira_online(shadows, target, {.pooled_variance = true}), inside),
      confidence);
  // With the true laws, 1.5 deviations apart: Φ(1.5/√2) = .856. False alarms as for the intervals.
  CHECK(global.upper < 0.66);
  CHECK(online.lower > 0.75);
  CHECK(online.upper > 0.8);
  CHECK(online.lower < 0.856);
  CHECK(offline.lower > 0.72);
  CHECK(pooled.value <
        online.value);  // the widths differ fourfold: one variance is the wrong model
  CHECK(pooled.lower > global.upper);
  CHECK(tacit::success(
            tacit::count_guesses(by_membership(tacit::lira_online(shadows, target), inside), 0.0),
            confidence)
            .lower > 0.65);
}

TEST_CASE("likelihood ratios by hand", "[audit]") {
  // One record: in {1, 3}, out {0, 0}: mean 2, deviation √2 against mean 0, deviation the floor.
  tacit::shadow_runs const shadows{1, {1.0, 3.0, 0.0, 0.0}, {1, 1, 0, 0}};
  std::vector<double> const target{1.0};
  tacit::lira_options const options{.least_deviation = 0.5};
  CHECK(tacit::lira_online(shadows, target, options)[0] ==
        Approx(0.5 * (4.0 - 0.5) + std::log(0.5 / std::sqrt(2.0))));
  CHECK(tacit::lira_offline(shadows, target, options)[0] == Approx(2.0));
  CHECK(tacit::logit_of_loss(std::log(2.0)) == Approx(0.0).margin(1e-15));
  CHECK(tacit::logit_of_loss(1e-9) == Approx(std::log(1e9)).epsilon(1e-9));
  CHECK(tacit::logit_of_loss(50.0) == Approx(-50.0));
  CHECK(tacit::logit_of_loss(0.0) == Approx(53.0 * std::log(2.0)));
}

TEST_CASE("membership attacks refuse what they cannot judge", "[audit]") {
  // No threshold is above it, so that none could leave it out.
  CHECK_THROWS_AS(tacit::threshold_at({{1.0}, {infinity}}, 0.0), std::domain_error);
  CHECK_THROWS_AS(tacit::best_threshold({{infinity}, {1.0}}), std::domain_error);
  CHECK(tacit::count_guesses({{1.0}, {-infinity}}, tacit::threshold_at({{1.0}, {-infinity}}, 0.0))
            .false_positives == 0);
  CHECK_THROWS_AS(tacit::auc({{}, {1.0}}, 0.9), std::invalid_argument);
  CHECK_THROWS_AS(tacit::auc({{1.0}, {not_a_number}}, 0.9), std::domain_error);
  CHECK_THROWS_AS(tacit::auc({{1.0}, {0.0}}, 1.0), std::domain_error);
  CHECK_THROWS_AS(tacit::auc_estimate({{1.0}, {0.0, 1.0}}), std::invalid_argument);
  CHECK_THROWS_AS(tacit::count_guesses({{1.0}, {0.0}}, not_a_number), std::domain_error);
  CHECK_THROWS_AS(tacit::best_threshold({{1.0}, {}}), std::invalid_argument);
  CHECK_THROWS_AS(tacit::threshold_at({{1.0}, {0.0}}, 1.5), std::domain_error);
  CHECK_THROWS_AS(tacit::success({5, 6, 5, 0}, 0.9), std::invalid_argument);
  CHECK_THROWS_AS(tacit::logit_of_loss(-0.1), std::domain_error);

  std::vector<double> const target{0.5, 0.5};
  tacit::shadow_runs shadows{2, std::vector<double>(8, 1.0), {1, 1, 1, 0, 0, 0, 0, 0}};
  CHECK_THROWS_WITH(
      tacit::lira_online(shadows, target),
      "lira_online: number of shadow runs with record 1 is 1, but must be at least 2");
  CHECK_NOTHROW(tacit::lira_offline(shadows, target));
  shadows.inside = {1, 0, 1, 0, 1, 1, 0, 1};
  CHECK_THROWS_WITH(
      tacit::lira_offline(shadows, target),
      "lira_offline: number of shadow runs without record 0 is 1, but must be at least 2");
  shadows.inside = {1, 0, 1, 0, 0, 1, 0, 1};
  CHECK_NOTHROW(tacit::lira_online(shadows, target));
  CHECK_THROWS_AS(tacit::lira_online(shadows, target, {.least_deviation = 0.0}), std::domain_error);
  CHECK_THROWS_AS(tacit::lira_online(shadows, std::vector<double>{0.5}), std::invalid_argument);
  shadows.inside[0] = 2;
  CHECK_THROWS_AS(tacit::lira_online(shadows, target), std::domain_error);
  shadows.inside[0] = 1;
  shadows.statistics[3] = not_a_number;
  CHECK_THROWS_AS(tacit::lira_online(shadows, target), std::domain_error);
  shadows.statistics.pop_back();
  CHECK_THROWS_AS(tacit::lira_online(shadows, target), std::invalid_argument);
}
