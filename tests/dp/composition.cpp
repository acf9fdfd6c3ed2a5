// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/composition.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/response_profile.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <boost/math/special_functions/gamma.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

namespace {

using support::exact;
using tacit::advanced_composition;
using tacit::approx_dp;
using tacit::basic_composition;
using tacit::best_composition;
using tacit::bound;
using tacit::optimal_composition;

/// Every outcome of randomised responses that tell all with probability δ_i: the definition.
exact enumerated(std::span<approx_dp const> each, exact const& p, exact const& q,
                 exact const& e_epsilon) {
  if (each.empty()) {
    exact const gain = p - e_epsilon * q;
    return gain > 0 ? gain : exact(0);
  }
  exact const delta(each.front().delta);
  exact const rare = (1 - delta) / (1 + exp(exact(each.front().epsilon)));
  exact const common = 1 - delta - rare;
  auto const rest = each.subspan(1);
  return p * delta + enumerated(rest, p * common, q * rare, e_epsilon) +
         enumerated(rest, p * rare, q * common, e_epsilon);
}
exact enumerated(std::span<approx_dp const> each, double epsilon) {
  return enumerated(each, 1, 1, exp(exact(epsilon)));
}

/// The same for k equal ones with δ = 0, added up term by term in 50 digits outwards from the kink.
exact summed(double each, std::uint64_t count, double epsilon) {
  exact const e(each);
  exact const k(count);
  exact const span = k * e - exact(epsilon);
  if (span <= 0) return 0;
  exact l = ceil(span / (2 * e)) - 1;  // the last with a loss above ε
  if (l > k) l = k;
  exact weight = exp(boost::math::lgamma(k + 1) - boost::math::lgamma(l + 1) -
                     boost::math::lgamma(k - l + 1) - k * log(1 + exp(-e)) - l * e);
  exact const ratio = exp(e);
  exact fall = exp(exact(epsilon) - (k - 2 * l) * e);
  exact const fall_ratio = exp(-2 * e);
  exact sum = 0;
  for (exact before = 0;; l -= 1) {
    exact const term = weight * (1 - fall);
    sum += term;
    if (l == 0 || (term < before && term < sum * exact(1e-34))) return sum;
    before = term;
    weight *= l / (k - l + 1) * ratio;
    fall *= fall_ratio;
  }
}

void check_around(bound<double> const& interval, exact const& truth, double width) {
  CHECK(exact(interval.lower) <= truth);
  CHECK(truth * (1 - exact(1e-40)) <= exact(interval.upper));  // 50 digits round as well
  CHECK(interval.upper - interval.lower <= width * interval.upper);
}

}  // namespace

TEST_CASE("optimal composition is what enumeration of all outcomes gives",
          "[dp][composition][long]") {
  for (double const each : {1e-6, 0.1, 0.5, 1.7, 5.0, 40.0}) {
    for (double const lost : {0.0, 1e-12, 1e-3, 0.3}) {
      for (std::uint64_t k = 1; k <= 6; ++k) {
        std::vector<approx_dp> const all(k, approx_dp{each, lost});
        optimal_composition const composition({each, lost}, k);
        for (double const share : {0.0, 0.07, 0.4, 0.5, 0.83, 0.99, 0.999999}) {
          double const epsilon = share * static_cast<double>(k) * each;
          CAPTURE(each, lost, k, epsilon);
          check_around(composition.delta(epsilon), enumerated(all, epsilon), 8e-15);
        }
      }
    }
  }
}

TEST_CASE("at multiples of the loss it is the printed formula", "[dp][composition]") {
  for (double const each : {0.2, 0.5, 3.0}) {
    for (std::uint64_t const k : {3U, 10U, 31U}) {
      double const lost = 1e-4;
      exact const e(each);
      for (std::uint64_t i = 0; i <= k / 2; ++i) {
        exact delta_i = 0;
        for (std::uint64_t l = 0; l < i; ++l) {
          delta_i += exp(boost::math::lgamma(exact(k + 1)) - boost::math::lgamma(exact(l + 1)) -
                         boost::math::lgamma(exact(k - l + 1))) *
                     (exp(exact(k - l) * e) - exp(exact(k - 2 * i + l) * e));
        }
        delta_i /= pow(1 + exp(e), exact(k));
        exact const truth = 1 - pow(1 - exact(lost), exact(k)) * (1 - delta_i);
        // (k−2i)·ε₀ may not be a double: the nearest below has the larger δ.
        double const epsilon = static_cast<double>(k - 2 * i) * each * (1.0 - 1e-15);
        CAPTURE(each, k, i);
        bound<double> const found = optimal_composition({each, lost}, k).delta(epsilon);
        CHECK(exact(found.upper) >= truth);
        CHECK(static_cast<double>(truth) == Approx(found.upper).epsilon(1e-10));
      }
    }
  }
}

TEST_CASE("one mechanism gives back itself", "[dp][composition]") {
  for (double const each : {1e-6, 0.5, 5.0, 700.0}) {
    for (double const lost : {0.0, 1e-5, 0.25}) {
      CAPTURE(each, lost);
      optimal_composition const one({each, lost}, 1);
      check_around(one.delta(each), exact(lost), 1e-14);
      bound<double> const found = one.epsilon(lost * (1.0 + 1e-13));
      CHECK(found.lower <= each * (1.0 + 1e-15));
      CHECK(found.upper == Approx(each).epsilon(1e-6));
      CHECK(found.upper <= each * (1.0 + 1e-15));
    }
  }
}

TEST_CASE("a thousand and a hundred thousand, against 50-digit sums", "[dp][composition][slow]") {
  struct configuration {
    double each;
    std::uint64_t count;
    std::vector<double> shares;  // of the largest loss
  };
  for (configuration const& c :
       std::vector<configuration>{{1e-6, 1000, {0.0, 1e-3, 0.03, 0.2, 0.7, 0.999}},
                                  {0.5, 1000, {0.0, 0.1, 0.24, 0.25, 0.4, 0.86, 0.9999}},
                                  {5.0, 1000, {0.5, 0.97, 0.99, 0.9999, 0.9999999}},
                                  {1e-6, 100000, {0.0, 1e-4, 0.01, 0.06}},
                                  {0.5, 100000, {0.24, 0.245, 0.25, 0.31}},
                                  {5.0, 100000, {0.986, 0.99, 0.9999}},
                                  {1e-4, 100000000, {0.0, 1e-4, 1e-3}}}) {
    optimal_composition const composition({c.each, 0.0}, c.count);
    for (double const share : c.shares) {
      double const epsilon = share * c.each * static_cast<double>(c.count);
      CAPTURE(c.each, c.count, epsilon);
      exact const truth = summed(c.each, c.count, epsilon);
      bound<double> const found = composition.delta(epsilon);
      if (truth < exact(1e-300)) {
        CHECK(exact(found.lower) <= truth);
        CHECK(truth <= exact(found.upper));
      } else {
        check_around(found, truth, 3e-14);
      }
    }
  }
}

TEST_CASE("a trillion, against 50-digit sums", "[dp][.sweep]") {
  for (double const each : {1e-6, 0.5, 5.0}) {
    optimal_composition const composition({each, 0.0}, 1000000000000U);
    for (double const delta : {0.3, 1e-5, 1e-100}) {
      CAPTURE(each, delta);
      bound<double> const epsilon = composition.epsilon(delta);
      CHECK(summed(each, 1000000000000U, epsilon.upper) <= exact(delta));
      CHECK(summed(each, 1000000000000U, epsilon.lower) >= exact(delta) * (1 - exact(1e-30)));
      check_around(composition.delta(epsilon.upper), summed(each, 1000000000000U, epsilon.upper),
                   5e-11);
    }
  }
}

TEST_CASE("epsilon inverts delta, on its safe side", "[dp][composition]") {
  for (double const each : {1e-6, 1e-3, 0.5, 5.0}) {
    for (std::uint64_t const k : {1U, 2U, 30U, 1000U}) {
      for (double const lost : {0.0, 1e-9}) {
        std::vector<approx_dp> const all(k, approx_dp{each, lost});
        optimal_composition const composition({each, lost}, k);
        for (double const delta : {0.9, 1e-3, 1e-5, 1e-6, 1e-20, 1e-300}) {
          CAPTURE(each, k, lost, delta);
          bound<double> const found = composition.epsilon(delta);
          CHECK(found.lower <= found.upper);
          if (found.upper == infinity) {
            CHECK(static_cast<double>(k) * lost > delta);
            continue;
          }
          CHECK(composition.delta(found.upper).upper <= delta);
          if (found.lower > 0.0) CHECK(composition.delta(found.lower).upper >= delta);
          CHECK(found.upper <= static_cast<double>(k) * each * (1.0 + 1e-15));
        }
      }
    }
  }
}

TEST_CASE("where other libraries overflow", "[dp][composition]") {
  // ε₀ = ½, δ = 1e-5; k = 1000 is where a direct sum of e^{kε₀} leaves double.
  CHECK(optimal_composition({0.5, 0.0}, 1000).epsilon(1e-5).upper ==
        Approx(186.1206317633).epsilon(1e-12));
  CHECK(optimal_composition({0.5, 0.0}, 1100).epsilon(1e-5).upper < 220.0);
  CHECK(optimal_composition({0.5, 1e-9}, 1000).epsilon(1e-5).upper < 190.0);
  for (std::uint64_t const k : {1000000U, 1000000000U}) {
    // The mean and four deviations, as for a normal loss.
    double const n = static_cast<double>(k);
    double const mean = n * 0.5 * std::tanh(0.25);
    bound<double> const found = optimal_composition({0.5, 0.0}, k).epsilon(1e-5);
    CHECK(found.upper > mean + 4.0 * std::sqrt(n) * 0.48);
    CHECK(found.upper < mean + 4.5 * std::sqrt(n) * 0.5);
  }
}

TEST_CASE("delta falls with epsilon and rises with everything else", "[dp][composition]") {
  for (double const each : {1e-3, 0.5, 3.0}) {
    for (std::uint64_t const k : {5U, 200U, 100000U}) {
      double before = 1.0;
      for (int i = 0; i <= 40; ++i) {
        double const epsilon = each * static_cast<double>(k) * i / 40.0;
        CAPTURE(each, k, epsilon);
        bound<double> const at = optimal_composition({each, 1e-12}, k).delta(epsilon);
        CHECK(at.lower <= before);
        CHECK(at.upper <= optimal_composition({each, 1e-12}, k + 1).delta(epsilon).upper);
        CHECK(at.upper <= optimal_composition({each * 1.01, 1e-12}, k).delta(epsilon).upper);
        CHECK(at.upper <= optimal_composition({each, 2e-12}, k).delta(epsilon).upper);
        before = at.upper;
      }
    }
  }
}

TEST_CASE("the certified accountant of equal responses is the optimum, for any number of them",
          "[dp][composition][privacy_loss]") {
  using namespace tacit;
  struct run {
    event release;
    approx_dp each;
    std::uint64_t count;
  };
  std::uint64_t const trillion = 1'000'000'000'000;
  for (run const& r :
       {run{randomised_response{1e-6, 2}, {1e-6, 0.0}, trillion},
        run{pure{1e-7}, {1e-7, 0.0}, 1000 * trillion}, run{pure{0.1}, {0.1, 0.0}, 6000},
        run{approx_dp{1e-3, 1e-12}, {1e-3, 1e-12}, 100'000}}) {
    INFO(r.each.epsilon << ", " << r.count);
    privacy_loss_accountant certified(adjacency::replace_one), beside(adjacency::replace_one);
    certified.compose(r.release, r.count);
    bound<double> const epsilon = certified.epsilon(1e-6);
    CHECK(epsilon.upper - epsilon.lower <= 1e-9 * epsilon.upper);
    bound<double> const delta = certified.delta(epsilon.lower);
    CHECK(delta.upper - delta.lower <= 1e-9 * delta.upper);
    // δ(ε) is what the definition of ε says, and the optimum is the same number.
    CHECK(certified.delta(epsilon.upper).lower <= 1e-6);
    CHECK(certified.delta(epsilon.lower).upper >= 1e-6);
    bound<double> const optimum = optimal_composition(r.each, r.count).epsilon(1e-6);
    CHECK((optimum.lower <= epsilon.upper && epsilon.lower <= optimum.upper));
    // Beside an event that hardly tells anything a grid or a line answers, and Rényi's end is not below.
    beside.compose(r.release, r.count);
    beside.compose(pure{1e-13});
    CHECK(beside.epsilon(1e-6).upper >= epsilon.lower);
    CHECK(beside.epsilon(1e-6).lower <= epsilon.upper + 1e-12);
    renyi_accountant orders(adjacency::replace_one);
    orders.compose(r.release, r.count);
    CHECK(orders.epsilon(1e-6).upper >= epsilon.upper * (1.0 - 1e-12));
  }
  // More than the closed form takes lose no less than so many.
  privacy_loss_accountant most(adjacency::replace_one), more(adjacency::replace_one);
  most.compose(pure{1e-9}, 1000 * trillion);
  more.compose(pure{1e-9}, 1000 * trillion + 1);
  CHECK(more.epsilon(1e-6).lower >= most.epsilon(1e-6).lower * (1.0 - 1e-9));
  CHECK(more.epsilon(1e-6).upper >= most.epsilon(1e-6).lower);
  // Of two kinds the closed form is not that of either.
  privacy_loss_accountant mixed(adjacency::replace_one);
  mixed.compose(pure{0.1}, 6000);
  mixed.compose(pure{0.2}, 6000);
  CHECK(mixed.epsilon(1e-6).lower > optimal_composition({0.2, 0.0}, 6000).epsilon(1e-6).upper);
}

TEST_CASE("the ends of composition", "[dp][composition]") {
  optimal_composition const none({1.0, 0.1}, 0);
  CHECK(none.delta(0.0).upper == 0.0);
  CHECK(none.epsilon(0.0).upper == 0.0);

  optimal_composition const lossless({0.0, 1e-3}, 10);
  check_around(lossless.delta(0.0), 1 - pow(1 - exact(1e-3), 10), 1e-14);
  CHECK(lossless.epsilon(0.5).upper == 0.0);
  CHECK(lossless.epsilon(1e-3).lower == infinity);

  optimal_composition const open({1.0, 1.0}, 3);
  CHECK(open.delta(5.0).lower == Approx(1.0));
  CHECK(open.delta(5.0).upper == 1.0);
  CHECK(open.epsilon(0.5).upper == infinity);

  optimal_composition const pure({0.5, 0.0}, 8);
  check_around(pure.epsilon(0.0), exact(4.0), 1e-15);
  CHECK(pure.delta(4.0).upper == 0.0);
  CHECK(pure.epsilon(1.0).upper == 0.0);

  // Losses without end: nothing overflows, and what is unknown is not claimed.
  for (double const each : {1e3, 1e5, 1e300, std::numeric_limits<double>::max()}) {
    for (std::uint64_t const k : {std::uint64_t{2}, std::uint64_t{1000000000000}}) {
      CAPTURE(each, k);
      optimal_composition const large({each, 0.0}, k);
      for (double const epsilon : {0.0, 1.0, each}) {
        bound<double> const at = large.delta(epsilon);
        CHECK(at.lower <= 1.0);
        CHECK(at.lower > 0.999);
        CHECK(at.upper == Approx(1.0));
      }
    }
  }
  // Losses too small for a double's square, or for the ratio ε/ε₀.
  CHECK(optimal_composition({5e-324, 0.0}, 1000000).delta(0.0).upper < 1e-300);
  CHECK(optimal_composition({5e-324, 0.0}, 1000000).delta(1.0).upper == 0.0);

  for (double const bad : {not_a_number, infinity, -1.0}) {
    CHECK_THROWS_AS(optimal_composition({bad, 0.0}, 1), std::domain_error);
    CHECK_THROWS_AS(optimal_composition({1.0, bad}, 1), std::domain_error);
    CHECK_THROWS_AS((void)pure.delta(bad), std::domain_error);
    CHECK_THROWS_AS((void)pure.epsilon(bad), std::domain_error);
  }
  CHECK_THROWS_AS(optimal_composition(approx_dp{}, 1), std::domain_error);
  CHECK_THROWS_AS(optimal_composition({1.0, 0.0}, 1000000000000001U), std::domain_error);
}

TEST_CASE("advanced composition stays above the truth of different guarantees",
          "[dp][composition][long]") {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::size_t better_than_the_sum = 0;
  for (int trial = 0; trial < 60; ++trial) {
    double const size = std::exp(6.0 * uniform(random) - 5.0);
    std::vector<approx_dp> all(2 + random() % 8);
    for (approx_dp& one : all) {
      one = {size * uniform(random), trial % 3 == 0 ? 0.0 : 1e-3 * uniform(random)};
    }
    double const slack = std::exp(-8.0 * uniform(random));
    approx_dp const sum = basic_composition(all);
    approx_dp const advanced = advanced_composition(all, slack);
    approx_dp const best = best_composition(all, slack);
    CAPTURE(trial, size, slack);
    CHECK(enumerated(all, sum.epsilon) <= exact(sum.delta) + exact(1e-45));  // 50 digits round
    CHECK(enumerated(all, advanced.epsilon) <= exact(advanced.delta));
    CHECK(best.epsilon <= advanced.epsilon);
    CHECK(advanced.epsilon <= sum.epsilon);
    CHECK(best.delta == advanced.delta);
    if (advanced.epsilon < 0.99 * sum.epsilon) ++better_than_the_sum;
  }
  CHECK(better_than_the_sum > 10);
}

TEST_CASE("the best composition of equal guarantees is the optimum", "[dp][composition]") {
  for (std::size_t const k : {1U, 4U, 100U, 20000U}) {
    for (double const each : {0.01, 0.3, 2.0}) {
      std::vector<approx_dp> const all(k, approx_dp{each, 1e-8});
      approx_dp const advanced = advanced_composition(all, 1e-5);
      approx_dp const best = best_composition(all, 1e-5);
      CAPTURE(k, each, advanced.epsilon);
      optimal_composition const optimum({each, 1e-8}, k);
      CHECK(best.delta >= optimum.delta(best.epsilon).lower);
      CHECK(best.epsilon == Approx(optimum.epsilon(best.delta).upper).epsilon(1e-6));
      CHECK(best.epsilon <= advanced.epsilon);
      CHECK(optimum.delta(advanced.epsilon).upper <= advanced.delta);
    }
  }
}

TEST_CASE("composition of guarantees, by hand", "[dp][composition]") {
  CHECK(basic_composition({}).epsilon == 0.0);
  CHECK(basic_composition({}).delta == 0.0);
  CHECK(best_composition({}, 1e-6).epsilon == 0.0);

  std::vector<approx_dp> const all{{0.1, 1e-6}, {0.2, 0.0}, {0.3, 1e-6}};
  CHECK(basic_composition(all).epsilon == Approx(0.6).epsilon(1e-14));
  CHECK(basic_composition(all).delta == Approx(2e-6 - 1e-12).epsilon(1e-12));
  CHECK(advanced_composition(all, 0.0).epsilon == Approx(0.6).epsilon(1e-14));
  CHECK(advanced_composition(all, 1e-6).delta == Approx(3e-6).epsilon(1e-5));

  // Σε² = 1e-2·1000 = 10, Σε tanh(ε/2) = 1000·0.1·tanh(0.05).
  std::vector<approx_dp> const many(1000, approx_dp{0.1, 0.0});
  double const mean = 100.0 * std::tanh(0.05);
  CHECK(advanced_composition(many, 1e-6).epsilon ==
        Approx(mean + std::sqrt(20.0 * std::log(1e6))).epsilon(1e-12));
  // At a large slack the third form is the smaller one only if e + norm/slack < 1/slack.
  CHECK(
      advanced_composition(std::vector<approx_dp>(1000, approx_dp{0.001, 0.0}), 0.01).epsilon ==
      Approx(std::tanh(0.0005) + std::sqrt(2e-3 * std::log(std::exp(1.0) + std::sqrt(1e-3) / 0.01)))
          .epsilon(1e-12));

  CHECK_THROWS_AS((void)basic_composition(std::vector<approx_dp>{{not_a_number, 0.0}}),
                  std::domain_error);
  CHECK_THROWS_AS((void)advanced_composition(all, not_a_number), std::domain_error);
  CHECK_THROWS_AS((void)best_composition(all, 1.5), std::domain_error);
  CHECK_THROWS_AS((void)best_composition(std::vector<approx_dp>(1), 0.1), std::domain_error);
}

TEST_CASE("losses of thousands, whose rare answers are no normal numbers", "[dp][composition]") {
  // δ is 1 to thousands of digits; the sum once was not a number, and was taken for 0, or never ended.
  for (double const each : {730.0, 11380.0, 11395.0, 11399.4}) {
    for (std::uint64_t const count : {10U, 1000U, 15837U}) {
      CAPTURE(each, count);
      CHECK(optimal_composition({each, 0.0}, count).delta(0.0).upper == 1.0);
    }
  }
  CHECK(optimal_composition({11395.0, 0.0}, 1'000'000'000'000U).delta(0.0).upper == 1.0);
}

namespace {

// The rule's positive nodes and their weights, as `sum` uses them: of a range of 2, so that it is their own.
struct read_rule {
  std::vector<long double> nodes;
  std::vector<long double> weights;

  explicit read_rule(tacit::detail::lattice_rule<> const& rule) {
    (void)rule.sum(0.0L, 2.0L, [&](long double x) {
      if (x > 0.0L) nodes.push_back(x);
      return 0.0L;
    });
    for (long double const at : nodes) {
      // Of both nodes ±x, over the range's length.
      weights.push_back(
          rule.sum(0.0L, 2.0L, [&](long double x) { return x == at || x == -at ? 0.25L : 0.0L; }));
    }
  }
};

}  // namespace

TEST_CASE("rules for blocks of terms have the nodes and weights of 50 digits",
          "[dp][composition]") {
  double const unit = static_cast<double>(std::numeric_limits<long double>::epsilon());
  for (std::size_t level = 5; level <= 44; ++level) {
    read_rule const found(tacit::detail::lattice_rule_of_level(level));
    REQUIRE(found.nodes.size() == 8);
    exact const size = ldexp(exact(1), static_cast<int>(level));
    std::vector<exact> beta{0};
    for (int n = 1; n <= 16; ++n) {
      exact const square(n * n);
      beta.push_back(sqrt(exact(square * (1 - square / (size * size)) / (4 * square - 1))));
    }
    for (std::size_t k = 0; k < 8; ++k) {
      exact x(found.nodes[k]);
      exact norm = 0;
      for (int step = 0; step < 4; ++step) {
        exact before = 0;
        exact last = 1;
        exact slope_before = 0;
        exact slope = 0;
        norm = 1;
        for (std::size_t n = 1; n <= 16; ++n) {
          exact const next = (x * last - beta[n - 1] * before) / beta[n];
          exact const next_slope = (last + x * slope - beta[n - 1] * slope_before) / beta[n];
          before = last;
          last = next;
          slope_before = slope;
          slope = next_slope;
          if (n < 16) norm += next * next;
        }
        x -= last / slope;
      }
      CAPTURE(level, k);
      CHECK(static_cast<double>(abs(exact(found.nodes[k]) - x)) <= 8.0 * unit);
      CHECK(support::relative(exact(found.weights[k]), exact(1 / norm)) <= 64.0 * unit);
    }
  }
}

TEST_CASE("rules for blocks of terms are exact to degree 31", "[dp][composition]") {
  for (std::size_t level = 5; level <= 12; ++level) {
    auto const& rule = tacit::detail::lattice_rule_of_level(level);
    long double const size = std::ldexp(1.0L, static_cast<int>(level));
    for (int degree = 0; degree <= 30; degree += 2) {
      exact truth = 0;
      for (long double i = 0.0L; i < size; ++i) {
        truth += pow(exact((2.0L * i + 1.0L - size) / size), degree);
      }
      long double const found =
          rule.sum(0.0L, size, [&](long double x) { return std::pow(x / (0.5L * size), degree); });
      CAPTURE(level, degree);
      CHECK(support::relative(exact(found), truth) <=
            400.0 * static_cast<double>(std::numeric_limits<long double>::epsilon()));
    }
  }
}
