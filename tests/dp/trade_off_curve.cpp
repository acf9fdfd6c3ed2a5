// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/check.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/trade_off_curve.hpp>

#include "support/catch.hpp"
#include "support/laws.hpp"
#include "support/normal_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace tacit;

namespace {

bool holds(bound<double> ends, double truth, double slack = 1e-13) {
  return ends.lower <= truth + slack && truth - slack <= ends.upper;
}

using law = std::vector<double>;

/// Both directions of two laws on the same outcomes, by their sums.
struct toy {
  law p, q;
  [[nodiscard]] bound<double> delta(double epsilon) const {
    double const d =
        std::max(support::hockey_stick(p, q, epsilon), support::hockey_stick(q, p, epsilon));
    return {std::max(0.0, d - 1e-15), std::min(1.0, d + 1e-15)};
  }
};

using corner = std::pair<double, double>;  // false positives, false negatives

// The likelihood ratio tests of p against q.
std::vector<corner> tests_of(law const& p, law const& q) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] + q[i] > 0.0) order.push_back(i);  // 0 : 0 has no place in the order
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return p[i] * q[j] > p[j] * q[i]; });
  std::vector<corner> all{{0.0, 1.0}};
  for (std::size_t const i : order) {
    all.emplace_back(all.back().first + q[i], std::max(0.0, all.back().second - p[i]));
  }
  return all;
}

// The least chord over α among all tests in either direction: the largest convex function below both curves.
double least_chord(toy const& of, double alpha) {
  std::vector<corner> all = tests_of(of.p, of.q);
  for (corner const& c : tests_of(of.q, of.p)) all.push_back(c);
  double least = 1.0 - alpha;
  for (corner const& a : all) {
    for (corner const& b : all) {
      if (a.first > alpha || b.first < alpha) continue;
      double const width = b.first - a.first;
      double const share = width > 0.0 ? (alpha - a.first) / width : 1.0;
      least = std::min(least, a.second + share * (b.second - a.second));
      if (width == 0.0) least = std::min(least, std::min(a.second, b.second));
    }
  }
  return least;
}

law random_law(std::mt19937_64& any, std::size_t size) {
  std::exponential_distribution<double> weight(1.0);
  law out(size);
  for (double& x : out) x = any() % 5 == 0 ? 0.0 : weight(any);
  out[any() % size] += 0.1;
  double const sum = std::accumulate(out.begin(), out.end(), 0.0);
  for (double& x : out) x /= sum;
  return out;
}

}  // namespace

TEST_CASE("both ends of the curve of a Gaussian enclose the closed form", "[dp]") {
  for (double const mu : {0.01, 0.5, 1.0, 3.0, 8.0}) {
    auto const run = normal_run(mu);
    trade_off_curve const curve(run, adjacency::add_remove, {.knots = 400});
    trade_off_curve fine(run, adjacency::add_remove, {.knots = 2});
    for (double const alpha : {1e-9, 1e-6, 1e-3, 0.05, 0.3, 0.5, 0.8, 0.99, 0.999999}) {
      double const truth = gaussian_trade_off(mu, alpha);
      CAPTURE(mu, alpha, truth);
      bound<double> const miss = curve.false_negative_rate(alpha);
      CHECK(holds(miss, truth, 1e-13 * truth));
      CHECK(miss.upper - miss.lower <= 3e-3);
      CHECK(holds(curve.true_positive_rate(alpha), 1.0 - truth, 1e-15));
      fine.refine(run, alpha, 1e-6);
      bound<double> const hit = fine.true_positive_rate(alpha);
      CHECK(holds(hit, 1.0 - truth, 1e-15));
      CHECK(hit.upper - hit.lower <= 1e-6 * hit.upper);
      CHECK(holds(fine.false_negative_rate(alpha), truth, 1e-13 * truth));
    }
  }
}

TEST_CASE("true positive rates keep their digits where they are small", "[dp]") {
  // 1 − Φ(Φ⁻¹(1−α) − μ) by mpmath, 60 digits: μ = 1/2, α = 1e-9.
  auto const run = normal_run(0.5);
  trade_off_curve curve(run, adjacency::add_remove, {.knots = 2, .smallest_rate = 1e-12});
  curve.refine(run, 1e-9, 1e-10);
  bound<double> const hit = curve.true_positive_rate(1e-9);
  double const truth = normal_tail(5.9978070150076869 - 0.5);
  CHECK(holds(hit, truth, 1e-10 * truth));
  CHECK(hit.upper - hit.lower <= 1e-7 * truth);
}

TEST_CASE("the curve of two laws encloses the least chord over all likelihood ratio tests",
          "[dp]") {
  std::mt19937_64 any(20);
  for (int round = 0; round < 300; ++round) {
    std::size_t const size = 2 + any() % 5;
    toy const of{random_law(any, size), random_law(any, size)};
    trade_off_curve const curve(of, adjacency::replace_one, {.knots = 60});
    trade_off_curve rough(of, adjacency::replace_one, {.knots = 2});
    for (double const alpha : {0.0, 1e-4, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999}) {
      double const truth = least_chord(of, alpha);
      CAPTURE(round, alpha, truth);
      CHECK(holds(curve.false_negative_rate(alpha), truth, 1e-12));
      CHECK(holds(curve.true_positive_rate(alpha), 1.0 - truth, 1e-12));
      CHECK(holds(rough.false_negative_rate(alpha), truth, 1e-12));
      if (alpha == 0.0) continue;
      rough.refine(of, alpha, 1e-7);
      bound<double> const miss = rough.false_negative_rate(alpha);
      CHECK(holds(miss, truth, 1e-12));
      CHECK(miss.upper - miss.lower <= 2e-7 + 1e-13 / alpha);
    }
  }
}

TEST_CASE("delta between the knots of a curve", "[dp]") {
  std::mt19937_64 any(21);
  for (int round = 0; round < 200; ++round) {
    std::size_t const size = 2 + any() % 5;
    toy const of{random_law(any, size), random_law(any, size)};
    std::vector<profile_knot> knots;
    for (double const e : {0.0, 0.1, 0.5, 0.6, 1.5, 4.0}) knots.push_back({e, of.delta(e)});
    trade_off_curve const curve(adjacency::zero_out, knots);
    for (double e = 0.0; e < 6.0; e += 0.05) {
      CAPTURE(round, e);
      CHECK(holds(curve.delta(e), of.delta(e).lower, 2e-15));
    }
  }
}

TEST_CASE("one knot is a curve, too: total variation", "[dp]") {
  trade_off_curve const curve(adjacency::add_remove, {{0.0, {0.25, 0.3}}});
  CHECK(holds({0.4, 0.45}, curve.false_negative_rate(0.3).lower));
  CHECK(curve.false_negative_rate(0.3).lower == Approx(0.4));
  CHECK(curve.false_negative_rate(0.3).upper >= 0.45 - 1e-15);
  CHECK(curve.advantage().lower == 0.25);
  CHECK(curve.advantage().upper == 0.3);
  trade_off_curve const nothing(adjacency::add_remove, {{0.0, {0.0, 0.0}}});
  CHECK(nothing.false_negative_rate(0.25).lower == Approx(0.75));
  CHECK(nothing.true_positive_rate(0.25).lower == 0.25);
  trade_off_curve const unknown(adjacency::add_remove, {{0.0, {0.0, 1.0}}});
  CHECK(unknown.false_negative_rate(0.25).lower == 0.0);
  CHECK(unknown.false_negative_rate(0.25).upper == Approx(0.75));
}

TEST_CASE("the best guess of one bit, by enumeration of tests", "[dp]") {
  std::mt19937_64 any(22);
  for (int round = 0; round < 100; ++round) {
    toy const of{random_law(any, 4), random_law(any, 4)};
    trade_off_curve const curve(of, adjacency::replace_one, {.knots = 200});
    for (double const prior : {0.0, 1e-3, 0.2, 0.5, 0.7, 0.99, 1.0}) {
      double best = 0.0;  // of guesses of which law it was, the member's of prior π
      for (auto const& [member, other] : {std::pair(of.p, of.q), std::pair(of.q, of.p)}) {
        double success = 0.0;
        for (std::size_t i = 0; i < member.size(); ++i) {
          success += std::max(prior * member[i], (1.0 - prior) * other[i]);
        }
        best = std::max(best, success);
      }
      CAPTURE(round, prior, best);
      CHECK(holds(curve.attack_success(prior), best, 1e-12));
      CHECK(curve.attack_success(prior).upper <= best + 1e-2);
    }
    double advantage = 0.0;
    for (auto const& [alpha, beta] : tests_of(of.p, of.q)) {
      advantage = std::max(advantage, 1.0 - alpha - beta);
    }
    CHECK(holds(curve.advantage(), advantage, 1e-12));
  }
}

TEST_CASE("a guess is known as well as delta at its odds", "[dp]") {
  for (double const mu : {0.1, 1.0, 3.0}) {
    auto const run = normal_run(mu);
    for (double const prior : {1e-6, 0.1, 0.3, 0.49, 0.7, 0.9}) {
      double const least = std::min(prior, 1.0 - prior);
      double const epsilon = std::log((1.0 - least) / least);
      trade_off_curve const curve(adjacency::add_remove,
                                  {{0.0, run.delta(0.0)}, {epsilon, run.delta(epsilon)}});
      bound<double> const success = curve.attack_success(prior);
      CAPTURE(mu, prior);
      double const truth = 1.0 - least + least * run.delta(epsilon).upper;
      CHECK(holds(success, truth, 1e-15));
      CHECK(success.upper - success.lower <= 1e-13);
    }
  }
}

TEST_CASE("accountants and curves say the same of attackers", "[dp]") {
  privacy_loss_accountant run;
  run.compose(sampled(gaussian{.noise_multiplier = 1.0}, poisson{.rate = 0.01}), 2000);
  trade_off_curve curve(run, run.neighbours(), {.knots = 64});
  for (double const prior : {0.01, 0.3, 0.5, 0.9}) {
    CHECK(holds(curve.attack_success(prior), run.attack_success(prior), 1e-9));
  }
  for (double const alpha : {1e-4, 0.1, 0.7}) {
    double const searched = false_negative_rate(run, alpha);
    CHECK(curve.false_negative_rate(alpha).lower <= searched + 1e-9);
    curve.refine(run, alpha, 1e-7);
    bound<double> const miss = curve.false_negative_rate(alpha);
    CHECK(std::abs(miss.lower - searched) <= 1e-6);
    CHECK(searched <= miss.upper);
  }
  // Divergences say nothing from below.
  renyi_accountant by_renyi;
  by_renyi.compose(sampled(gaussian{.noise_multiplier = 1.0}, poisson{.rate = 0.01}), 2000);
  trade_off_curve const loose(by_renyi, by_renyi.neighbours(), {.knots = 32});
  bound<double> const miss = loose.false_negative_rate(0.1);
  CHECK(miss.lower <= curve.false_negative_rate(0.1).lower);
  CHECK(miss.lower > 0.1);
  CHECK(miss.upper == Approx(0.9));
}

// A run whose questions cost what they say.
struct slow_run {
  privacy_loss_accountant run;
  double each;
  mutable int asked = 0;
  [[nodiscard]] bound<double> delta(double epsilon) const { return run.delta(epsilon); }
  [[nodiscard]] bound<double> delta_within(double epsilon, detail::work_budget& work) const {
    ++asked;
    (void)work.spend(each);
    return run.delta(epsilon);
  }
};

TEST_CASE("a curve asks a slow accountant for no more than its effort", "[dp]") {
  slow_run run;
  run.run.compose(gaussian{.noise_multiplier = 2.0}, 1);
  for (auto const& [each, most] : {std::pair{4e9, 1}, std::pair{1.1e9, 3}, std::pair{4e8, 8},
                                   std::pair{1e8, 31}, std::pair{1e6, 138}}) {
    CAPTURE(each);
    run.each = each;
    run.asked = 0;
    trade_off_curve curve(run, adjacency::add_remove, {.tolerance = 0.0});
    CHECK(run.asked <= most);
    CHECK(run.asked >= std::min(most, 90) - 1);
    for (double const alpha : {1e-6, 0.01, 0.3}) {
      bound<double> const miss = curve.false_negative_rate(alpha);
      double const truth = false_negative_rate(run.run, alpha);
      CHECK(miss.lower <= truth + 1e-12);
      CHECK(truth <= miss.upper);
    }
    if (most >= 8) CHECK(curve.true_positive_rate(0.01).upper <= 0.08);
    run.asked = 0;
    curve.refine(run, 0.1, 1e-12);
    CHECK(run.asked <= most);
  }
  run.each = 1e9;
  run.asked = 0;
  CHECK(trade_off_curve(run, adjacency::add_remove, {.seconds = 10.0}).knots().size() >= 9);
  CHECK_THROWS_AS(trade_off_curve(run, adjacency::add_remove, {.seconds = 0.0}), std::domain_error);
}

TEST_CASE("who is accused rightly", "[dp]") {
  auto const run = normal_run(1.0);
  trade_off_curve curve(run, adjacency::add_remove, {.knots = 64});
  for (double const alpha : {1e-6, 1e-2, 0.5, 1.0}) {
    double const hit = 1.0 - gaussian_trade_off(1.0, alpha);
    curve.refine(run, alpha, 1e-8);
    for (double const share : {1e-6, 0.01, 0.5, 0.999}) {
      double const truth = share * hit / (share * hit + (1.0 - share) * alpha);
      CAPTURE(alpha, share);
      bound<double> const found = curve.positive_predictive_value(share, alpha);
      CHECK(holds(found, truth, 1e-12));
      CHECK(found.upper - found.lower <= 1e-7);
    }
    CHECK(curve.positive_predictive_value(0.0, alpha).upper == 0.0);
    CHECK(curve.positive_predictive_value(1.0, alpha).lower == 1.0);
  }
  CHECK_THROWS_AS(curve.positive_predictive_value(0.5, 0.0), std::domain_error);
  CHECK_THROWS_AS(curve.positive_predictive_value(1.5, 0.1), std::domain_error);
  CHECK_THROWS_AS(curve.positive_predictive_value(std::nan(""), 0.1), std::domain_error);
}

TEST_CASE("a curve composes as the profile that it is", "[dp]") {
  privacy_loss_accountant run;
  run.compose(gaussian{.noise_multiplier = 2.0}, 1);
  trade_off_curve const curve(run, run.neighbours(), {.knots = 200});
  privacy_loss_accountant by_curve;
  by_curve.compose(curve.profile(), 4);
  privacy_loss_accountant known;
  known.compose(gaussian{.noise_multiplier = 2.0}, 4);
  CHECK(by_curve.epsilon(1e-5).upper >= known.epsilon(1e-5).lower);
  CHECK(by_curve.epsilon(1e-5).upper <= 1.2 * known.epsilon(1e-5).upper);
}

TEST_CASE("a curve is read as it was written, and nothing else is", "[dp]") {
  auto const run = normal_run(1.0);
  trade_off_curve const curve(run, adjacency::zero_out, {.knots = 20});
  std::string const text = curve.save();
  trade_off_curve const read = trade_off_curve::load(text);
  CHECK(read.neighbours() == adjacency::zero_out);
  REQUIRE(read.knots().size() == curve.knots().size());
  CHECK(read.save() == text);
  CHECK(read.false_negative_rate(0.3).lower == curve.false_negative_rate(0.3).lower);
  CHECK(read.false_negative_rate(0.3).upper == curve.false_negative_rate(0.3).upper);
  for (std::size_t k = 0; k < text.size(); ++k) {
    CHECK_THROWS_AS(trade_off_curve::load(text.substr(0, k)), corrupt_state);
    std::string changed = text;
    changed[k] = static_cast<char>(changed[k] ^ 1);
    CHECK_THROWS_AS(trade_off_curve::load(changed), corrupt_state);
  }
}

TEST_CASE("a checksum alone makes no curve", "[dp]") {
  auto const text = [](std::vector<profile_knot> const& knots, unsigned version = 1,
                       char const* neighbours = "add_remove") {
    archive_writer out("tacit-trade-off", version);
    out.field("adjacency", neighbours);
    out.field("knots", knots.size());
    for (profile_knot const& k : knots) {
      out.field("knot", k.epsilon, k.delta.lower, k.delta.upper);
    }
    return std::move(out).finish();
  };
  std::vector<profile_knot> const good{{0.0, {0.2, 0.3}}, {1.0, {0.1, 0.1}}};
  CHECK_NOTHROW(trade_off_curve::load(text(good)));
  CHECK_THROWS_AS(trade_off_curve::load(text(good, 2)), corrupt_state);
  CHECK_THROWS_AS(trade_off_curve::load(text(good, 1, "neighbours")), corrupt_state);
  double const nan = std::nan("");
  double const infinity = std::numeric_limits<double>::infinity();
  for (std::vector<profile_knot> const& bad : std::vector<std::vector<profile_knot>>{
           {},
           {{0.1, {0.0, 1.0}}},  // nothing at 0
           {{0.0, {0.3, 0.2}}},  // ends in the wrong order
           {{0.0, {0.0, 1.5}}},
           {{0.0, {-0.1, 0.5}}},
           {{0.0, {nan, 0.5}}},
           {{0.0, {0.0, nan}}},
           {{0.0, {0.2, 0.3}}, {1.0, {0.4, 0.5}}},  // δ rises
           {{0.0, {0.2, 0.3}}, {1.0, {0.1, 0.5}}},  // an end that is not as it is kept
           {{0.0, {0.2, 0.3}}, {0.0, {0.1, 0.1}}},
           {{0.0, {0.2, 0.3}}, {-1.0, {0.1, 0.1}}},
           {{0.0, {0.2, 0.3}}, {nan, {0.1, 0.1}}},
           {{0.0, {0.2, 0.3}}, {infinity, {0.1, 0.1}}},
           {{0.0, {0.2, 0.3}}, {701.0, {0.1, 0.1}}}}) {
    CHECK_THROWS_AS(trade_off_curve::load(text(bad)), corrupt_state);
  }
}

TEST_CASE("what a curve refuses", "[dp]") {
  auto const run = normal_run(1.0);
  CHECK_THROWS_AS(trade_off_curve(run, adjacency::add_remove, {.knots = 1}), std::domain_error);
  CHECK_THROWS_AS(trade_off_curve(run, adjacency::add_remove, {.smallest_rate = 0.0}),
                  std::domain_error);
  CHECK_THROWS_AS(trade_off_curve(run, adjacency::add_remove, {.tolerance = std::nan("")}),
                  std::domain_error);
  CHECK_THROWS_AS(trade_off_curve(adjacency::add_remove, {}), std::invalid_argument);
  trade_off_curve curve(run, adjacency::add_remove, {.knots = 20});
  for (double const bad : {-0.1, 1.1, std::nan("")}) {
    CHECK_THROWS_AS(curve.false_negative_rate(bad), std::domain_error);
    CHECK_THROWS_AS(curve.true_positive_rate(bad), std::domain_error);
    CHECK_THROWS_AS(curve.attack_success(bad), std::domain_error);
    CHECK_THROWS_AS(curve.refine(run, bad), std::domain_error);
  }
  CHECK_THROWS_AS(curve.delta(-1.0), std::domain_error);
}

TEST_CASE("a curve of what takes long has its knots, and each holds what is asked alone",
          "[long]") {
  struct subject {
    event release;
    std::uint64_t count;
    adjacency neighbours;
    double apart;  // of δ at a knot, relatively
  };
  for (subject const& of :
       {subject{sampled(gaussian{1.0}, random_allocation{1000}), 1, adjacency::add_remove, 3e-3},
        subject{sampled(gaussian{1.0}, random_allocation{1000}), 10, adjacency::add_remove, 2e-5},
        subject{sampled(gaussian{1.0}, random_allocation{1000}), 1000, adjacency::add_remove, 2e-5},
        subject{sampled(gaussian{1.0}, poisson{0.01}), 1000, adjacency::replace_one, 1e-3},
        subject{sampled(gaussian{1.0}, fixed_size{100, 10'000}), 1000, adjacency::replace_one,
                1e-3},
        subject{event{randomised_response{0.1}}, 1000, adjacency::replace_one, 1e-9}}) {
    privacy_loss_accountant run(of.neighbours);
    run.compose(of.release, of.count);
    trade_off_curve const curve(run, of.neighbours, {.knots = 600, .tolerance = 0.0});
    CHECK(curve.knots().size() == 600);
    double last = 1.0;
    for (std::size_t k = 0; k < curve.knots().size(); k += 120) {
      profile_knot const& knot = curve.knots()[k];
      bound<double> const alone = run.delta(knot.epsilon);
      CAPTURE(k, knot.epsilon, knot.delta.lower, knot.delta.upper, alone.lower, alone.upper);
      CHECK(knot.delta.lower <= alone.upper);
      CHECK(alone.lower <= knot.delta.upper);
      CHECK(knot.delta.upper <= last * (1.0 + 1e-3));
      last = knot.delta.upper;
      if (alone.upper > 1e-9)
        CHECK(knot.delta.upper - knot.delta.lower <= of.apart * knot.delta.upper);
    }
  }
}
