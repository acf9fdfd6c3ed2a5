// SPDX-License-Identifier: Apache-2.0
//
// Plans, charges and beliefs of private answers, against sums over every outcome.

#include <tacit/pac/answer_belief.hpp>
#include <tacit/pac/answer_plan.hpp>
#include <tacit/pac/answer_transcript.hpp>

#include "support/catch.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

using namespace tacit;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

using wide = long double;

/// P(n) of the discrete Gaussian, from its definition; of scale 0: no noise.
class discrete_gaussian {
 public:
  explicit discrete_gaussian(std::uint64_t scale) : scale_(static_cast<wide>(scale)) {
    auto const reach = static_cast<std::int64_t>(60 * scale);
    for (std::int64_t n = -reach; n <= reach; ++n) sum_ += weight(n);
  }
  wide operator()(std::int64_t n) const { return weight(n) / sum_; }

 private:
  wide weight(std::int64_t n) const {
    if (scale_ == 0) return n == 0 ? 1 : 0;
    wide const x = static_cast<wide>(n) / scale_;
    return std::exp(-x * x / 2);
  }

  wide scale_;
  wide sum_ = 0;
};

/// All that can be said along one axis but for 1e-42: the probability that each candidate says it.
struct outcomes {
  std::int64_t first = 0;
  std::vector<std::vector<wide>> chance{};  // by outcome, by candidate
};

outcomes outcomes_of(answer_axis const& axis) {
  auto const reach = static_cast<std::int64_t>(14 * axis.scale);
  discrete_gaussian const law(axis.scale);
  auto const [low, high] = std::minmax_element(axis.places.begin(), axis.places.end());
  outcomes out{.first = static_cast<std::int64_t>(*low) - reach};
  for (std::int64_t z = out.first; z <= static_cast<std::int64_t>(*high) + reach; ++z) {
    std::vector<wide> by;
    for (double const place : axis.places) by.push_back(law(z - static_cast<std::int64_t>(place)));
    out.chance.push_back(std::move(by));
  }
  return out;
}

/// Σ p_m P_m(z) log(P_m(z)/Σ p_k P_k(z)) over outcomes whose chances are `by`.
template <class Prior>
wide term_of(std::vector<wide> const& by, Prior const& given) {
  std::vector<wide> p(given.begin(), given.end());
  wide const whole = std::accumulate(p.begin(), p.end(), wide{0});
  for (wide& one : p) one /= whole;
  wide mix = 0;
  for (std::size_t m = 0; m < by.size(); ++m) mix += p[m] * by[m];
  wide sum = 0;
  for (std::size_t m = 0; m < by.size(); ++m) {
    if (p[m] * by[m] > 0) sum += p[m] * by[m] * std::log(by[m] / mix);
  }
  return sum;
}

template <class Prior>
wide information(answer_axis const& axis, Prior const& p) {
  wide sum = 0;
  for (auto const& by : outcomes_of(axis).chance) sum += term_of(by, p);
  return sum;
}

std::vector<double> normal_answers(std::size_t count, double scale, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> out(count);
  for (double& y : out) y = 3.0 * scale + scale * normal(random);
  return out;
}

}  // namespace

TEST_CASE("a charge is no less than the information of every outcome, and near it") {
  std::mt19937_64 random(3);
  for (std::size_t const count : {2U, 3U, 7U}) {
    for (double const budget : {0.6, 0.1, 1e-2, 1e-3, 1e-5}) {
      for (unsigned const resolution : {2U, 3U, 5U}) {
        answer_belief belief(count);
        auto const plan = plan_answer(normal_answers(count, 1.0, random), belief, nats(budget),
                                      {.resolution = resolution});
        wide const truth = information(plan.along.front(), belief.probabilities());
        CAPTURE(count, budget, resolution, plan.along.front().scale);
        CHECK(plan.charge.value <= budget);
        CHECK(static_cast<wide>(plan.charge.value) >= truth - 1e-17L);
        // Of a coarse grid: the candidates' places are rounded, the scale is rounded up, or all agree.
        if (plan.charge.value > 0.0) CHECK(plan.charge.value >= 0.2 * budget);
        if (budget <= 1e-2)
          CHECK(static_cast<wide>(plan.charge.value) <= truth * (1 + 2.5L * budget) + 1e-15L);
      }
    }
  }
}

TEST_CASE("charges of all paths bound what two answers tell, the second chosen by the first",
          "[enumeration]") {
  std::mt19937_64 random(9);
  for (int universe = 0; universe < 6; ++universe) {
    constexpr std::size_t count = 3;
    answer_options const how{.resolution = 2};
    auto const first = normal_answers(count, 1.0, random);
    auto const if_high = normal_answers(count, 2.0, random);
    auto const if_low = normal_answers(count, 0.5, random);
    answer_belief const prior(count);
    auto const one = plan_answer(first, prior, nats(0.3), how);
    outcomes const of_one = outcomes_of(one.along.front());
    wide told = 0;
    wide charged = 0;
    for (std::size_t i = 0; i < of_one.chance.size(); ++i) {
      std::int64_t const z = of_one.first + static_cast<std::int64_t>(i);
      wide mix = 0;
      for (wide const chance : of_one.chance[i]) mix += chance / count;
      if (mix == 0) continue;
      answer_belief belief(count);
      observe(belief, one, std::vector{z});
      // The belief is Bayes' rule.
      wide furthest = 0;
      for (std::size_t m = 0; m < count; ++m) {
        wide const posterior = of_one.chance[i][m] / count / mix;
        if (posterior > 1e-250L) {
          furthest = std::max(furthest, std::abs(belief.probabilities()[m] / posterior - 1));
        }
      }
      REQUIRE(furthest < 1e-12L);
      auto const two = plan_answer(z > 0 ? if_high : if_low, belief, nats(0.2), how);
      REQUIRE(two.charge.value <= 0.2);
      charged += mix * static_cast<wide>(one.charge.value + two.charge.value);
      for (auto const& by : outcomes_of(two.along.front()).chance) {
        std::vector<wide> both(count);
        for (std::size_t m = 0; m < count; ++m) both[m] = of_one.chance[i][m] * by[m];
        told += term_of(both, std::vector<wide>(count, wide{1} / count));
      }
    }
    CHECK(charged >= told);
    CHECK(charged <= 1.6L * told);
  }
}

TEST_CASE("what is charged without a belief bounds what an answer tells, whatever is believed") {
  std::mt19937_64 random(21);
  std::exponential_distribution<double> weight;
  answer_belief belief(4);
  belief.forget();
  CHECK_FALSE(belief.known());
  // Nothing is learned by half.
  belief.see(std::vector{0.0, 50.0, 100.0, 3.0}, 0.0, 10.0);
  belief.learn();
  for (double const p : belief.probabilities()) CHECK(p == 0.25);
  for (double const budget : {1.0, 0.3, 0.01}) {
    for (int universe = 0; universe < 5; ++universe) {
      auto const answers = normal_answers(4, 1.0, random);
      auto const plan = plan_answer(answers, belief, nats(budget), {.resolution = 3});
      CHECK(plan.charge.value <= budget);
      wide worst = 0;
      auto const [low, high] = std::minmax_element(answers.begin(), answers.end());
      for (int law = 0; law < 20; ++law) {
        std::vector<double> p(4);
        for (double& one : p) one = std::pow(weight(random), 4.0);
        if (law == 0) {  // half on the least, and half on the largest
          std::fill(p.begin(), p.end(), 0.0);
          p[static_cast<std::size_t>(low - answers.begin())] = 0.5;
          p[static_cast<std::size_t>(high - answers.begin())] = 0.5;
        }
        worst = std::max(worst, information(plan.along.front(), p));
      }
      CHECK(static_cast<wide>(plan.charge.value) >= worst);
      CHECK(static_cast<wide>(plan.charge.value) <= (1.1L + 2 * budget) * worst);
    }
  }
}

TEST_CASE("what is charged after a crash bounds what the answers tell, lost ones among them") {
  // One answer that is charged and lost; the next asks for what the attacker, who saw it, wants to know.
  std::mt19937_64 random(22);
  for (int universe = 0; universe < 6; ++universe) {
    constexpr std::size_t count = 3;
    answer_options const how{.resolution = 2};
    auto const one =
        plan_answer(normal_answers(count, 1.0, random), answer_belief(count), nats(0.3), how);
    auto const if_high = normal_answers(count, 2.0, random);
    auto const if_low = normal_answers(count, 0.5, random);
    answer_belief lost(count);
    lost.forget();
    outcomes const of_one = outcomes_of(one.along.front());
    wide told = 0;
    wide charged = 0;
    for (std::size_t i = 0; i < of_one.chance.size(); ++i) {
      std::int64_t const z = of_one.first + static_cast<std::int64_t>(i);
      auto const two = plan_answer(z > 0 ? if_high : if_low, lost, nats(0.2), how);
      for (wide const chance : of_one.chance[i]) {
        charged += chance / count * static_cast<wide>(one.charge.value + two.charge.value);
      }
      for (auto const& by : outcomes_of(two.along.front()).chance) {
        std::vector<wide> both(count);
        for (std::size_t m = 0; m < count; ++m) both[m] = of_one.chance[i][m] * by[m];
        told += term_of(both, std::vector<wide>(count, wide{1} / count));
      }
    }
    CHECK(charged >= told);
    CHECK(charged <= 2.5L * told);
  }
}

TEST_CASE("no transcript at all leads a belief beyond kappa", "[enumeration]") {
  // Every transcript of two answers, or some and both ends of each; the second is chosen by the first. Beside Bayes' rule
  // for noise that is cut where it is drawn anew.
  std::mt19937_64 random(24);
  for (double const kappa : {0.2, 3.0}) {
    for (int universe = 0; universe < 3; ++universe) {
      constexpr std::size_t count = 3;
      // A grid on which candidates differ: of kappa's sixtieth of a scale, and less.
      bool const all = kappa == 3.0;
      answer_options const how{.resolution = all ? 5U : 10U};
      auto const first = normal_answers(count, 1.0, random);
      auto const if_high = normal_answers(count, 2.0, random);
      auto const if_low = normal_answers(count, 0.5, random);
      // The logarithms of chances, by outcome and candidate: only the two ends, or all that can be said.
      auto const cut = [&](answer_axis const& axis, bool ends) {
        std::vector<std::pair<std::int64_t, std::vector<wide>>> out;
        discrete_gaussian const law(axis.scale);
        std::vector<wide> whole(count, 0);
        for (std::int64_t z = -axis.reach; z <= axis.reach; ++z) {
          std::vector<wide> by;
          for (std::size_t m = 0; m < count; ++m) {
            by.push_back(law(z - static_cast<std::int64_t>(axis.places[m])));
            whole[m] += by[m];
          }
          if (!ends || std::abs(z) == axis.reach) out.emplace_back(z, std::move(by));
        }
        for (auto& [z, by] : out) {
          for (std::size_t m = 0; m < count; ++m) by[m] /= whole[m];
        }
        return out;
      };
      auto const strayed = [&](std::vector<wide> const& chance) {
        wide const sum = std::accumulate(chance.begin(), chance.end(), wide{0});
        wide most = 0;
        for (wide const c : chance) most = std::max(most, std::abs(std::log(c / sum * count)));
        return most;
      };
      auto const next = [&](std::vector<double> const& answers, answer_belief const& belief) {
        return detail::plan_within(answers, belief, nats(1.0), how, kappa - belief.strayed()).first;
      };
      answer_belief const prior(count);
      auto const one = next(first, prior);
      wide furthest = 0;
      wide told = 0;
      wide charged = 0;
      for (auto const& [z, by] : cut(one.along.front(), false)) {
        if (!all && std::abs(z) != one.along.front().reach && z % 997 != 0) continue;
        answer_belief belief(count);
        observe(belief, one, std::vector{z});
        furthest = std::max(furthest, strayed(by));
        REQUIRE(strayed(by) <= kappa);
        REQUIRE(strayed(by) <= belief.strayed());
        REQUIRE(strayed(by) >= belief.strayed() - 1e-11L);
        basic_answer_plan<> two;
        try {
          two = next(z > 0 ? if_high : if_low, belief);
        } catch (budget_exhausted const&) {
          continue;
        }
        wide const mix = std::accumulate(by.begin(), by.end(), wide{0}) / count;
        charged += mix * static_cast<wide>(one.charge.value + two.charge.value);
        if (two.along.front().scale == 0) continue;
        for (auto const& [y, then] : cut(two.along.front(), !all)) {
          std::vector<wide> both(count);
          for (std::size_t m = 0; m < count; ++m) both[m] = by[m] * then[m];
          told += term_of(both, std::vector<wide>(count, wide{1} / count));
          wide const now = strayed(both);
          furthest = std::max(furthest, now);
          REQUIRE(now <= kappa);
        }
      }
      CAPTURE(kappa, static_cast<double>(furthest));
      CHECK(furthest >= 0.2L * kappa);  // it binds
      if (all) CHECK(charged >= told);
    }
  }
}

TEST_CASE("a belief is stored and read back to the bit") {
  std::mt19937_64 random(23);
  answer_belief belief(5);
  for (int i = 0; i < 1000; ++i) {
    auto const plan = plan_answer(normal_answers(5, 1.0, random), belief, nats(1e-3));
    observe(belief, plan, std::vector<std::int64_t>{static_cast<std::int64_t>(random() >> 30)});
  }
  answer_belief const again = answer_belief::restore(belief.save());
  for (std::size_t m = 0; m < 5; ++m) CHECK(again.probabilities()[m] == belief.probabilities()[m]);
  CHECK(again.excess() == belief.excess());
  CHECK(again.most_probable() == belief.most_probable());
  auto broken = belief.save();
  broken.low[2] = std::nan("");
  CHECK_THROWS_AS(answer_belief::restore(broken), std::domain_error);
  broken = belief.save();
  broken.errors.pop_back();
  CHECK_THROWS_AS(answer_belief::restore(broken), std::invalid_argument);
  broken.high.resize(1);
  CHECK_THROWS_AS(answer_belief::restore(broken), std::invalid_argument);
}

TEST_CASE("cells that are noised together: every outcome of two") {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  for (answer_axes const axes : {answer_axes::principal, answer_axes::coordinates}) {
    for (double const budget : {0.3, 0.01}) {
      MatrixXd answers(4, 2);
      for (auto row : answers.rowwise()) {
        double const common = normal(random);
        row << 10.0 + common, 1000.0 * common + 200.0 * normal(random);
      }
      answer_belief belief(4);
      auto const plan = plan_answer(answers, belief, nats(budget), {.axes = axes, .resolution = 2});
      REQUIRE(plan.along.size() == 2);
      wide told = 0;
      auto const second = outcomes_of(plan.along[1]).chance;
      for (auto const& a : outcomes_of(plan.along[0]).chance) {
        for (auto const& b : second) {
          std::vector<wide> both(4);
          for (std::size_t m = 0; m < 4; ++m) both[m] = a[m] * b[m];
          told += term_of(both, belief.probabilities());
        }
      }
      CHECK(plan.charge.value <= budget);
      CHECK(static_cast<wide>(plan.charge.value) >= told - 1e-17L);
      CHECK(plan.charge.value >= 0.2 * budget);
    }
  }
}

TEST_CASE("a belief counts its rounding over a hundred thousand answers", "[enumeration]") {
  using boost::multiprecision::cpp_bin_float_50;
  std::mt19937_64 random(8);
  std::normal_distribution<double> normal;
  constexpr std::size_t count = 4;
  for (double const strength : {1e-3, 1e-1}) {
    answer_belief belief(count);
    std::vector<cpp_bin_float_50> exact(count);
    constexpr double scale = 1073741829.0;
    std::vector<double> from(count);
    for (int answer = 0; answer < 100'000; ++answer) {
      for (double& place : from) place = std::nearbyint(strength * scale * normal(random));
      double const said = std::nearbyint(scale * normal(random));
      belief.see(from, said, scale);
      belief.learn();
      for (std::size_t m = 0; m < count; ++m) {
        exact[m] += cpp_bin_float_50(from[m]) * (2 * cpp_bin_float_50(said) - from[m]) /
                    (2 * cpp_bin_float_50(scale) * scale);
      }
    }
    cpp_bin_float_50 const top = *std::max_element(exact.begin(), exact.end());
    cpp_bin_float_50 sum = 0;
    for (auto const& l : exact) sum += exp(l - top);
    for (std::size_t m = 0; m < count; ++m) {
      cpp_bin_float_50 const truth = exp(exact[m] - top) / sum;
      CHECK(truth <= belief.probabilities()[m] * cpp_bin_float_50(belief.excess()));
      if (exact[m] - top > -600)
        CHECK(belief.probabilities()[m] <= truth * cpp_bin_float_50(belief.excess()));
    }
    CHECK(belief.error() < 1e-9 * strength);
    CHECK(belief.error() > 0.0);
  }
}

TEST_CASE("a candidate that is all but excluded keeps a weight") {
  answer_belief belief(2);
  std::vector<double> const from{0.0, 1000.0};
  for (int i = 0; i < 20; ++i) belief.see(from, 0.0, 10.0);
  belief.learn();
  CHECK(belief.probabilities()[1] > 0.0);
  CHECK(belief.probabilities()[1] < 1e-200);
  auto const plan = plan_answer(std::vector<double>{1.0, 2.0}, belief, nats(1e-3));
  CHECK(plan.charge.value <= 1e-3);
  CHECK(plan.along.front().scale >= 4);
}

TEST_CASE("what all candidates agree on is said to its last digit, and costs nothing") {
  answer_belief const belief(3);
  for (double const y : {0.1, -123456789.123456789, 0.0, 1e300, 5e-324 * 1e20, -1.0}) {
    auto const plan = plan_answer(std::vector<double>(3, y), belief, nats(0x1p-32));
    CHECK(plan.charge.value == 0.0);
    CHECK(plan.along.front().scale == 0);
    auto const said = static_cast<std::int64_t>(plan.along.front().places.front());
    CHECK(plan.shown(std::vector{said})(0) == y);
  }
  CHECK(!std::signbit(plan_answer(std::vector{-0.0, 0.0, -0.0}, belief, nats(1.0))
                          .shown(std::vector<std::int64_t>{0})(0)));
  MatrixXd cells(3, 3);
  cells << 0.1, 1.0, 2.0, 0.1, 1.5, 2.5, 0.1, 1.2, 9.0;
  auto const plan = plan_answer(cells, belief, nats(0.01));
  std::vector<std::int64_t> said;
  for (auto const& axis : plan.along) said.push_back(static_cast<std::int64_t>(axis.places[1]));
  VectorXd const shown = plan.shown(said);
  CHECK(shown(0) == 0.1);
  CHECK(std::abs(shown(1) - 1.5) < 1e-6);
  CHECK(std::abs(shown(2) - 2.5) < 1e-6);
}

TEST_CASE("noise is that of var/(2 nats) for one cell, and less for cells that move together") {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  constexpr std::size_t count = 128;
  answer_belief const belief(count);
  double const budget = 0x1p-32;
  auto const answers = normal_answers(count, 5.0, random);
  double mean = 0.0;
  for (double const y : answers) mean += y / count;
  double variance = 0.0;
  for (double const y : answers) variance += (y - mean) * (y - mean) / count;
  auto const plan = plan_answer(answers, belief, nats(budget));
  double const noise = static_cast<double>(plan.along.front().scale) * plan.along.front().step;
  CHECK(noise * noise == Approx(variance / (2.0 * budget)).epsilon(1e-3));
  CHECK(plan.charge.value >= budget * (1.0 - 1e-8));

  // A total beside its parts: three cells of two dimensions.
  MatrixXd cells(count, 3);
  for (auto row : cells.rowwise()) {
    double const common = normal(random);
    double const a = common + 0.1 * normal(random);
    double const b = common + 0.1 * normal(random);
    row << a, b, a + b;
  }
  auto const variance_of = [&](answer_axes axes) {
    auto const joint = plan_answer(cells, belief, nats(budget), {.axes = axes});
    VectorXd axis_variance(3);
    for (Eigen::Index i = 0; i < 3; ++i) {
      auto const& axis = joint.along[static_cast<std::size_t>(i)];
      double const s = static_cast<double>(axis.scale) * axis.step;
      axis_variance(i) = s * s;
    }
    return VectorXd(joint.directions.cwiseAbs2() * axis_variance);
  };
  VectorXd const together = variance_of(answer_axes::principal);
  VectorXd const apart = variance_of(answer_axes::coordinates);
  for (Eigen::Index i = 0; i < 3; ++i) CHECK(together(i) < 0.6 * apart(i));
}

TEST_CASE("what has no plan is refused") {
  answer_belief const belief(3);
  std::vector<double> const good{1.0, 2.0, 3.0};
  double const inf = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(answer_belief(1), std::invalid_argument);
  CHECK_THROWS_AS(plan_answer(std::vector{1.0, 2.0}, belief, nats(1.0)), std::invalid_argument);
  for (double const y : {inf, -inf, std::nan("")}) {
    CHECK_THROWS_AS(plan_answer(std::vector{1.0, y, 2.0}, belief, nats(1.0)), std::domain_error);
  }
  for (double const budget : {0.0, -1.0, 1e-101, 1001.0, inf, std::nan("")}) {
    CHECK_THROWS_AS(plan_answer(good, belief, nats(budget)), std::domain_error);
  }
  CHECK_THROWS_AS(plan_answer(good, belief, nats(1.0), {.resolution = 1}), std::domain_error);
  CHECK_THROWS_AS(plan_answer(good, belief, nats(1.0), {.resolution = 41}), std::domain_error);
  CHECK_THROWS_AS(plan_answer(std::vector{1e300, -1e300, 0.0}, belief, nats(1e-3)),
                  std::domain_error);
  CHECK_THROWS_AS(plan_answer(MatrixXd(3, 0), belief, nats(1.0)), std::invalid_argument);
  CHECK_THROWS_AS(plan_answer(MatrixXd(2, 2), belief, nats(1.0)), std::invalid_argument);
  MatrixXd bad = MatrixXd::Ones(3, 2);
  bad(2, 1) = inf;
  CHECK_THROWS_AS(plan_answer(bad, belief, nats(1.0)), std::domain_error);
  // Far from zero, and hardly apart: the grid is as fine as doubles allow, and the budget holds.
  for (double const far : {1e6, 1e12, 1e15}) {
    auto const plan = plan_answer(std::vector{far, far + 1.0, far + 2.0}, belief, nats(1e-6));
    CHECK(plan.charge.value <= 1e-6);
  }
}

TEST_CASE("a transcript is read back, and a damaged one is not") {
  answer_belief const belief(3);
  answer_transcript told(3, nats(0.5), {.axes = answer_axes::coordinates, .resolution = 20});
  auto const plan = plan_answer(std::vector{1.0, 2.0, 4.0}, belief, nats(0.1), told.how());
  told.add(plan, nats(0.1), std::vector<std::int64_t>{-17});
  std::string const text = told.text();
  answer_transcript const again = answer_transcript::parse(text);
  CHECK(again.text() == text);
  CHECK(again.answers() == 1);
  CHECK(again.axes()[0].said == -17);
  CHECK(again.how().resolution == 20);
  for (std::size_t at = 0; at < text.size(); at += 3) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    CHECK_THROWS_AS(answer_transcript::parse(damaged), corrupt_state);
  }
}
