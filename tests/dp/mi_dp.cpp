// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/filter.hpp>
#include <tacit/dp/mi_dp.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <boost/math/special_functions/expm1.hpp>
#include <boost/math/special_functions/log1p.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

using support::exact;
using tacit::ferret;
using tacit::ferret_dithered;
using tacit::fire_probability;
using tacit::masked_divergence;
using tacit::masked_step_divergence;
using tacit::mutual_information_bound;
using tacit::mutual_information_ceiling;
using tacit::nats;

exact const log_two = log(exact(2));

exact mixed(exact const& weight, exact const& x) {
  using boost::math::expm1;
  using boost::math::log1p;
  if (x < 1000) return log1p(exact(weight * expm1(x)));
  return x + log(exact(weight + (1 - weight) * exp(-x)));
}

exact step_formula(double order, double divergence, double probability, std::uint64_t groups,
                   double rate) {
  exact const z = exact(order) - 1;
  exact const group = mixed(exact(probability), exact(z * exact(divergence)));
  return mixed(exact(rate), exact(exact(groups) * group)) / z;
}

/// Groups composed as if each were sampled at rate p·s.
double naive(double order, double divergence, double probability, std::uint64_t groups,
             double rate) {
  double const z = order - 1.0;
  return static_cast<double>(groups) * std::log1p(probability * rate * std::expm1(z * divergence)) /
         z;
}

/// One step, every transcript: which groups fired (public), and each fired group's answer, which tells
/// +1 with probability `high` if the record says +, with 1 − high if it says −, and with `other` if the
/// record is not in the batch. Membership is hidden, or public if `seen`.
struct transcripts {
  std::vector<exact> p;
  std::vector<exact> q;

  transcripts(int groups, double rate, double probability, double high, double other, bool seen) {
    exact const s(rate);
    exact const fire(probability);
    for (int mask = 0; mask < 1 << groups; ++mask) {
      for (int answer = 0; answer < 1 << groups; ++answer) {
        if ((answer & ~mask) != 0) continue;
        exact masks = 1;
        exact plus = 1;
        exact minus = 1;
        exact absent = 1;
        for (int g = 0; g < groups; ++g) {
          bool const fired = (mask >> g & 1) != 0;
          bool const said = (answer >> g & 1) != 0;
          masks *= fired ? fire : 1 - fire;
          if (!fired) continue;
          plus *= said ? exact(high) : 1 - exact(high);
          minus *= said ? 1 - exact(high) : exact(high);
          absent *= said ? exact(other) : 1 - exact(other);
        }
        if (seen) {
          add(masks * s * plus, masks * s * minus);
          add(masks * (1 - s) * absent, masks * (1 - s) * absent);
        } else {
          add(masks * (s * plus + (1 - s) * absent), masks * (s * minus + (1 - s) * absent));
        }
      }
    }
  }

  [[nodiscard]] exact divergence(double order) const {
    exact sum = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (p[i] > 0) sum += q[i] * pow(p[i] / q[i], exact(order));
    }
    return log(sum) / (exact(order) - 1);
  }

 private:
  void add(exact const& a, exact const& b) {
    p.push_back(a);
    q.push_back(b);
  }
};

double answer_divergence(double high, double order) {
  exact const a(high);
  exact const ratio = a / (1 - a);
  exact const sum = (1 - a) * pow(ratio, exact(order)) + a * pow(1 / ratio, exact(order));
  return static_cast<double>(log(sum) / (exact(order) - 1)) * (1.0 + 1e-15);
}

}  // namespace

TEST_CASE("FERRET's figures", "[dp][mi_dp]") {
  ferret const run{.groups = 200, .steps = 1000, .rate = 0.005};
  CHECK(fire_probability(run, nats(0.5)) == Approx(7.2135e-4).epsilon(1e-5));
  CHECK(mutual_information_ceiling(run).value == Approx(693.15).epsilon(1e-5));
  CHECK(mutual_information_bound(
            ferret{.groups = 200, .steps = 1000, .rate = 0.005, .probability = 1e-3})
            .value == Approx(std::numbers::ln2).epsilon(1e-12));
  CHECK(fire_probability(run, nats(693.2)) == 1.0);
  CHECK(fire_probability(run, nats(1e300)) == 1.0);
  CHECK(fire_probability(run, nats(0.0)) == 0.0);
  // Three epochs of shuffled batches.
  CHECK(mutual_information_bound({.groups = 10, .participations = 3.0, .probability = 0.5}).value ==
        Approx(15.0 * std::numbers::ln2).epsilon(1e-14));
}

TEST_CASE("the information bound is above, the fire probability below", "[dp][mi_dp]") {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int trial = 0; trial < 2000; ++trial) {
    ferret run{.groups = 1 + random() % 100000,
               .steps = random() % 1000000000,
               .rate = std::exp(-30.0 * uniform(random))};
    double const budget = std::exp(40.0 * uniform(random) - 30.0);
    double const p = fire_probability(run, nats(budget));
    exact const ceiling = exact(run.groups) * exact(run.steps) * exact(run.rate) * log_two;
    CAPTURE(run.groups, run.steps, run.rate, budget, p);
    CHECK(exact(p) * ceiling <= exact(budget));
    if (p < 1.0) CHECK(exact(p) * ceiling >= exact(budget) * (1 - exact(2e-14)));
    CHECK(exact(mutual_information_ceiling(run).value) >= ceiling);
    run.probability = p;
    double const charged = mutual_information_bound(run).value;
    CHECK(exact(charged) >= exact(p) * ceiling);
    CHECK(exact(charged) <= exact(p) * ceiling * (1 + exact(4e-15)));
    CHECK(charged <= budget);
  }
  // The least of rates and budgets.
  ferret faint{.groups = 1, .steps = 1, .rate = 1e-300};
  CHECK(fire_probability(faint, nats(5e-324)) <= 1e-20);
  faint.probability = 1e-300;
  CHECK(mutual_information_bound(faint).value > 0.0);
  CHECK(fire_probability({.groups = 5, .steps = 3, .rate = 0.0}, nats(0.0)) == 1.0);
  CHECK(fire_probability({.groups = 5, .steps = 0, .rate = 1.0}, nats(0.0)) == 1.0);
  CHECK(fire_probability({.groups = 5, .steps = 1, .rate = 1.0}, nats(1e-320)) < 1e-300);
}

TEST_CASE("a FERRET that makes no sense is refused", "[dp][mi_dp]") {
  for (double const bad : {not_a_number, -0.1, 1.1, infinity}) {
    CHECK_THROWS_AS((void)mutual_information_bound(
                        ferret{.groups = 1, .steps = 1, .rate = bad, .probability = 0.5}),
                    std::domain_error);
    CHECK_THROWS_AS((void)mutual_information_bound(
                        ferret{.groups = 1, .steps = 1, .rate = 0.5, .probability = bad}),
                    std::domain_error);
    CHECK_THROWS_AS((void)masked_divergence(2.0, 1.0, bad), std::domain_error);
    CHECK_THROWS_AS((void)masked_step_divergence(2.0, 1.0, 0.5, 1, bad), std::domain_error);
    ferret_dithered const run{
        .groups = 1, .steps = 1, .rate = bad, .probability = 0.5, .noise_multiplier = 1.0};
    CHECK_THROWS_AS((void)epsilon(run, 1e-5), std::domain_error);
  }
  CHECK_THROWS_AS((void)mutual_information_bound(ferret{}), std::domain_error);
  CHECK_THROWS_AS((void)mutual_information_bound(tacit::masked_participation{}), std::domain_error);
  CHECK_THROWS_AS(
      (void)mutual_information_bound({.groups = 1, .participations = -1.0, .probability = 0.5}),
      std::domain_error);
  ferret const set{.groups = 1, .steps = 1, .rate = 0.5, .probability = 0.5};
  CHECK_THROWS_AS((void)fire_probability(set, nats(1.0)), std::invalid_argument);
  ferret const left{.groups = 1, .steps = 1, .rate = 0.5};
  for (double const bad : {not_a_number, -1.0, infinity}) {
    CHECK_THROWS_AS((void)fire_probability(left, nats(bad)), std::domain_error);
  }
  CHECK_THROWS_AS((void)masked_divergence(1.0, 1.0, 0.5), std::domain_error);
  CHECK_THROWS_AS((void)masked_divergence(2.0, -1.0, 0.5), std::domain_error);
  CHECK_THROWS_AS((void)masked_divergence(2.0, not_a_number, 0.5), std::domain_error);
  CHECK_THROWS_AS((void)masked_step_divergence(2.0, 1.0, 0.5, 0, 0.5), std::domain_error);
  ferret_dithered run{
      .groups = 1, .steps = 1, .rate = 0.5, .probability = 0.5, .noise_multiplier = 1.0};
  CHECK_THROWS_AS((void)epsilon(run, 0.0), std::domain_error);
  CHECK_THROWS_AS((void)delta(run, -1.0), std::domain_error);
  for (double const bad : {not_a_number, 0.0, -1.0, infinity}) {
    run.noise_multiplier = bad;
    CHECK_THROWS_AS((void)epsilon(run, 1e-5), std::domain_error);
  }
}

TEST_CASE("the shared batch, by the figures", "[dp][mi_dp]") {
  CHECK(masked_step_divergence(4.0, 0.5, 0.01, 200, 0.005) == Approx(0.58).epsilon(1e-2));
  CHECK(naive(4.0, 0.5, 0.01, 200, 0.005) == Approx(0.012).epsilon(5e-2));
}

TEST_CASE("the bound against every transcript of small steps", "[dp][mi_dp][enumeration]") {
  std::size_t naive_too_small = 0;
  for (int const groups : {1, 2, 3, 5}) {
    for (double const rate : {0.01, 0.2, 0.8}) {
      for (double const probability : {0.05, 0.3, 0.9}) {
        for (double const high : {0.6, 0.9, 0.99}) {
          for (double const order : {1.3, 2.0, 6.0}) {
            double const each = answer_divergence(high, order);
            double const limit = masked_step_divergence(order, each, probability,
                                                        static_cast<std::uint64_t>(groups), rate);
            double const unsound =
                naive(order, each, probability, static_cast<std::uint64_t>(groups), rate);
            CAPTURE(groups, rate, probability, high, order, limit, unsound);
            // Nothing hides the batch: the bound is attained, and the naive figure is too small.
            exact const open =
                transcripts(groups, rate, probability, high, 0.5, true).divergence(order);
            CHECK(open <= exact(limit));
            CHECK(open >= exact(limit) * (1 - exact(1e-12)));
            if (groups > 1) CHECK(exact(unsound) < open);
            // A hidden batch hides something, whatever the others would have answered; yet not as
            // much as the naive figure says.
            for (double const other : {0.5, 1.0 - high}) {
              exact const hidden =
                  transcripts(groups, rate, probability, high, other, false).divergence(order);
              CHECK(hidden <= exact(limit));
              if (exact(unsound) < hidden) ++naive_too_small;
            }
          }
        }
      }
    }
  }
  CHECK(naive_too_small > 5);
}

TEST_CASE("the bound in 50 digits, above and close, at any size", "[dp][mi_dp]") {
  for (double const order : {1.0000001, 1.5, 4.0, 64.0, 1e5}) {
    for (double const each : {1e-200, 1e-9, 0.5, 30.0, 1e4}) {
      for (double const probability : {1e-300, 1e-12, 0.01, 0.7, 1.0}) {
        for (double const rate : {1e-300, 1e-12, 0.005, 0.9, 1.0}) {
          for (std::uint64_t const groups : {std::uint64_t{1}, std::uint64_t{1000000}}) {
            exact const truth = step_formula(order, each, probability, groups, rate);
            double const found = masked_step_divergence(order, each, probability, groups, rate);
            CAPTURE(order, each, probability, rate, groups, found);
            CHECK(std::isfinite(found));
            // 50 digits round as well, and `found` may be exact.
            CHECK(exact(found) >= truth * (1 - exact(1e-40)) - exact(1e-320));
            exact const exponent = (exact(order) - 1) * exact(each) * exact(groups);
            exact const sensitive = exponent < 1500 ? exponent : exact(1500);
            CHECK(exact(found) <= truth * (1 + exact(2e-14) * (1 + sensitive)) + exact(1e-285));
          }
        }
      }
    }
  }
  CHECK(masked_divergence(2.0, infinity, 0.5) == infinity);
  CHECK(masked_step_divergence(2.0, infinity, 0.0, 5, 0.5) == 0.0);
  CHECK(masked_step_divergence(2.0, infinity, 0.5, 5, 0.0) == 0.0);
  CHECK(masked_divergence(3.0, 0.7, 1.0) == Approx(0.7).epsilon(1e-14));
}

TEST_CASE("a dithered run in (epsilon, delta)", "[dp][mi_dp]") {
  ferret_dithered const run{
      .groups = 20, .steps = 1000, .rate = 0.005, .probability = 0.05, .noise_multiplier = 4.0};
  for (double const delta : {1e-3, 1e-6, 1e-12}) {
    double const found = epsilon(run, delta).upper;
    CAPTURE(delta, found);
    double best = infinity;
    for (double log_z = -5.0; log_z < 8.0; log_z += 0.01) {
      double const order = 1.0 + std::exp(log_z);
      double const spent = 1000.0 * masked_step_divergence(order, order / 8.0, 0.05, 20, 0.005);
      best = std::min(best, tacit::renyi_epsilon(order, spent, delta));
    }
    CHECK(found == Approx(best).epsilon(1e-4));
    CHECK(tacit::delta(run, found).upper <= delta * (1.0 + 1e-6));
    CHECK(tacit::delta(run, found).upper >= delta * (1.0 - 1e-2));
  }

  // All groups fire, everyone is in every batch, one group: a Gaussian of shift 2/σ a step. The truth
  // is its closed form.
  ferret_dithered const plain{
      .groups = 1, .steps = 50, .rate = 1.0, .probability = 1.0, .noise_multiplier = 40.0};
  double const mu = 2.0 / 40.0 * std::sqrt(50.0);
  for (double const delta : {1e-2, 1e-5, 1e-10}) {
    CHECK(epsilon(plain, delta).upper >= epsilon(tacit::gaussian_dp{mu}, delta).lower);
    CHECK(epsilon(plain, delta).upper <= 1.4 * epsilon(tacit::gaussian_dp{mu}, delta).upper);
  }
  CHECK(divergence(plain, 3.0) == Approx(3.0 * mu * mu / 2.0).epsilon(1e-13));

  // No release reveals nothing; without noise there is no bound.
  ferret_dithered idle = run;
  idle.steps = 0;
  CHECK(epsilon(idle, 1e-5).upper == 0.0);
  CHECK(tacit::delta(idle, 0.0).upper == 0.0);
  ferret_dithered bare = run;
  bare.noise_multiplier = 1e-200;
  CHECK(epsilon(bare, 1e-5).upper == infinity);
  CHECK(tacit::delta(bare, 1.0).upper == 1.0);

  // A filter takes it as it is: the budget of the run is the run, at the run's order.
  double const order = 12.0;
  double const whole = tacit::renyi_epsilon(order, divergence(run, order), 1e-6);
  tacit::renyi_filter filter(order, {.epsilon = whole * (1.0 + 1e-9), .delta = 1e-6});
  auto const step = [&](double at) { return step_divergence(run, at); };
  CHECK(filter.charge(step, 1000).live());
  CHECK(filter.would_exceed(step));
}
