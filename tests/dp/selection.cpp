// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/divergence_sum.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/selection.hpp>
#include <tacit/dp/work_budget.hpp>

#include "support/catch.hpp"
#include "support/laws.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

namespace selection_tests {

using namespace tacit;

namespace {

using law = std::vector<double>;
using support::hockey_stick;

// Two laws on finitely many outcomes, of which a later one has the better score.
struct toy {
  law p;
  law q;

  bound<double> delta(double epsilon) const {
    double const d = std::max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon));
    return {d * (1.0 - 1e-13), std::min(1.0, d * (1.0 + 1e-13))};
  }
  bound<double> epsilon(double delta) const {
    double low = 0.0;
    double high = 800.0;
    if (this->delta(0.0).upper <= delta) return {0.0, 0.0};
    if (this->delta(high).upper > delta) {
      high = std::numeric_limits<double>::infinity();
      return {0.0, high};
    }
    for (int k = 0; k < 80; ++k) {
      double const middle = 0.5 * (low + high);
      (this->delta(middle).upper <= delta ? high : low) = middle;
    }
    return {low * (1.0 - 1e-10), high};
  }
};

// E[z^K], by its series.
double generating(repetitions const& times, double z) {
  if (auto const* k = std::get_if<poisson_count>(&times)) {
    double sum = 0.0;
    double term = std::exp(-k->mean);
    for (int n = 0; n < 2000; ++n) {
      sum += term;
      term *= k->mean * z / (n + 1);
    }
    return sum;
  }
  auto const& k = std::get<truncated_negative_binomial>(times);
  // Weights Γ(n + η)/(n!·Γ(1 + η))·(1 − γ)^n.
  double sum = 0.0;
  double all = 0.0;
  double weight = 1.0 - k.gamma;
  double power = z;
  for (int n = 1; n < 200000 && weight > 1e-18 * all; ++n) {
    sum += weight * power;
    all += weight;
    weight *= (1.0 - k.gamma) * (n + k.shape) / (n + 1);
    power *= z;
  }
  return all > 0.0 ? sum / all : z;  // γ = 1: one run
}

// The law of the best of K runs; at the end, what K = 0 leaves.
law best(law const& base, repetitions const& times) {
  law out;
  double below = 0.0;
  double before = generating(times, 0.0);
  double const nothing = before;
  for (double const mass : base) {
    below += mass;
    double const now = generating(times, std::min(below, 1.0));
    out.push_back(now - before);
    before = now;
  }
  out.push_back(nothing);
  return out;
}

law random_law(std::mt19937_64& random, std::size_t size) {
  std::uniform_real_distribution<double> uniform(-3.0, 3.0);
  law out(size);
  double sum = 0.0;
  for (double& x : out) sum += x = std::exp(uniform(random));
  for (double& x : out) x /= sum;
  return out;
}

repetitions random_repetitions(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform;
  if (random() % 3 == 0) return poisson_count{std::exp(6.0 * uniform(random) - 3.0)};
  double const shapes[] = {-0.9, -0.5, 0.0, 0.5, 1.0, 2.0, 5.0};
  return truncated_negative_binomial{0.002 + 0.998 * std::pow(uniform(random), 2.0),
                                     shapes[random() % 7]};
}

}  // namespace

TEST_CASE("the best of a random number of runs gives away no more than is charged") {
  std::mt19937_64 random(20);
  for (int k = 0; k < 1500; ++k) {
    std::size_t const size = 2 + random() % 4;
    toy const base{random_law(random, size), random_law(random, size)};
    repetitions const times = random_repetitions(random);
    best_of const charged(base, times);
    toy const truth{best(base.p, times), best(base.q, times)};
    double const mean = mean_repetitions(times);
    CAPTURE(k, size, mean, times.index());
    for (double const epsilon : {0.0, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0}) {
      bound<double> const delta = charged.delta(epsilon);
      REQUIRE(truth.delta(epsilon).lower <= delta.upper + 1e-12);
      REQUIRE(delta.lower <= delta.upper);
    }
    for (double const delta : {1e-6, 1e-3, 0.1}) {
      double const epsilon = charged.epsilon(delta).upper;
      if (epsilon < 700.0) {
        REQUIRE(truth.delta(epsilon).lower <= delta + 1e-12);
        REQUIRE(charged.delta(epsilon).upper <= delta * (1.0 + 1e-9));
      }
    }
  }
}

namespace {

// A run whose every question costs as much.
struct costly_toy {
  toy run;
  double cost;
  int* asked;
  [[nodiscard]] bound<double> delta(double epsilon) const { return run.delta(epsilon); }
  [[nodiscard]] bound<double> epsilon(double delta) const { return run.epsilon(delta); }
  [[nodiscard]] bound<double> delta_within(double epsilon, detail::work_budget& work) const {
    ++*asked;
    (void)work.spend(cost);
    return delta(epsilon);
  }
  [[nodiscard]] bound<double> epsilon_within(double delta, detail::work_budget& work) const {
    ++*asked;
    (void)work.spend(cost);
    return epsilon(delta);
  }
};

}  // namespace

TEST_CASE("the best of costly runs asks them for no more work than a question may cost") {
  std::mt19937_64 random(22);
  for (int k = 0; k < 300; ++k) {
    std::size_t const size = 2 + random() % 4;
    toy const base{random_law(random, size), random_law(random, size)};
    repetitions const times = random_repetitions(random);
    toy const truth{best(base.p, times), best(base.q, times)};
    for (double const cost : {1e6, 1e8, 7e8, 1e10}) {
      int asked = 0;
      auto const took = [&] { return std::exchange(asked, 0) * cost; };
      costly_toy const costly{base, cost, &asked};
      best_of const charged(costly, times);
      CAPTURE(k, cost, times.index());
      double const made = took();
      double const left = std::max(0.5 * detail::work_on_run, detail::work_on_run - made);
      REQUIRE(made <= 0.5 * detail::work_on_run + cost);
      for (double const epsilon : {0.0, 0.5, 2.0, 8.0}) {
        bound<double> const delta = charged.delta(epsilon);
        REQUIRE(took() <= left + cost);
        REQUIRE(truth.delta(epsilon).lower <= delta.upper + 1e-12);
      }
      for (double const delta : {1e-6, 0.1}) {
        double const epsilon = charged.epsilon(delta).upper;
        REQUIRE(took() <= left + cost);
        if (epsilon < 700.0) REQUIRE(truth.delta(epsilon).lower <= delta + 1e-12);
      }
    }
  }
}

TEST_CASE("the Renyi divergence of the best is no more than is charged") {
  auto const divergence = [](toy const& of, double order) {
    double forth = 0.0;
    double back = 0.0;
    for (std::size_t i = 0; i < of.p.size(); ++i) {
      if (of.p[i] <= 0.0) continue;  // what no number of runs leaves
      forth += std::exp(order * std::log(of.p[i]) + (1.0 - order) * std::log(of.q[i]));
      back += std::exp(order * std::log(of.q[i]) + (1.0 - order) * std::log(of.p[i]));
    }
    return std::log(std::max(forth, back)) / (order - 1.0);
  };
  std::mt19937_64 random(21);
  for (int k = 0; k < 1500; ++k) {
    std::size_t const size = 2 + random() % 4;
    toy const base{random_law(random, size), random_law(random, size)};
    repetitions const times = random_repetitions(random);
    best_of const charged(base, times);
    toy const truth{best(base.p, times), best(base.q, times)};
    if (*std::min_element(truth.p.begin(), truth.p.end() - 1) < 1e-9) continue;
    if (*std::min_element(truth.q.begin(), truth.q.end() - 1) < 1e-9) continue;
    CAPTURE(k, size, times.index(), mean_repetitions(times));
    for (double const order : {1.01, 1.3, 2.0, 5.0, 30.0}) {
      double const bound = charged.divergence(order, divergence(base, order));
      CAPTURE(order);
      REQUIRE(divergence(truth, order) <= bound * (1.0 + 1e-9) + 1e-6);
    }
  }
}

TEST_CASE("divergences of one run are no less than its own, and one alone is the accountant's") {
  privacy_loss_accountant loss;
  loss.compose(gaussian{2.0}, 3);
  renyi_accountant renyi;
  renyi.compose(gaussian{2.0}, 3);
  best_of const once(loss, truncated_negative_binomial{1.0});
  for (double const order : {1.0 + 1e-9, 1.5, 2.0, 17.0, 1e6}) {
    double const one = renyi.method().divergence(order);
    CHECK(once.divergence(order, one) == Approx(one).epsilon(1e-12));
    CHECK(best_of(loss, repetitions_of_mean(3.0)).divergence(order, one) > one);
    CHECK(best_of(loss, poisson_count{3.0}).divergence(order, one) > one);
  }
  double const infinity = std::numeric_limits<double>::infinity();
  CHECK(best_of(loss, poisson_count{3.0}).divergence(2.0, infinity) == infinity);
  for (double const bad : {1.0, 0.5, infinity, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_AS(once.divergence(bad, 1.0), std::domain_error);
  }
  CHECK_THROWS_AS(once.divergence(2.0, -1.0), std::domain_error);

  auto const of = [one = renyi](double order) { return one.method().divergence(order); };
  divergence_sum sum;
  sum.add(of);
  CHECK(sum.epsilon(1e-5).upper == Approx(renyi.epsilon(1e-5).upper).epsilon(1e-6));
  CHECK(sum.delta(2.0).upper == Approx(renyi.delta(2.0).upper).epsilon(1e-5));
  CHECK(sum.epsilon(1e-5).upper >= loss.epsilon(1e-5).upper);
  sum.add(of, 4);
  renyi.compose(gaussian{2.0}, 12);
  CHECK(sum.epsilon(1e-5).upper == Approx(renyi.epsilon(1e-5).upper).epsilon(1e-6));
  CHECK(sum.divergence(3.0) == Approx(renyi.method().divergence(3.0)).epsilon(1e-12));
  CHECK(sum.divergence(1.0 + 1e-9) > 0.0);
  CHECK_THROWS_AS(sum.divergence(1.0), std::domain_error);
  CHECK(divergence_sum().epsilon(1e-5).upper == 0.0);
  CHECK(divergence_sum().delta(0.0).upper == 0.0);
  CHECK_THROWS_AS(sum.add(of, 0), std::domain_error);
  CHECK_THROWS_AS(sum.epsilon(0.0), std::domain_error);
  CHECK_THROWS_AS(sum.delta(-1.0), std::domain_error);
}

TEST_CASE("what is composed with the best of several runs is charged") {
  privacy_loss_accountant loss;
  loss.compose(pure{0.4});
  best_of const tuned(loss, truncated_negative_binomial{0.01});
  divergence_sum sum;
  sum.add([&](double order) { return tuned.divergence(order, 0.4); }, 2);
  // 3·0.4 each; a composition of two pure ones cannot cost more than their sum, nor less than one of them.
  double const epsilon = sum.epsilon(1e-12).upper;
  CHECK(epsilon <= 2.4 * (1.0 + 1e-6));
  CHECK(epsilon >= 1.2);
}

TEST_CASE("a bound on the divergence of a higher order is one of a lower order") {
  // The least of c/(α − 1) + α is at α = 1 + √c.
  double const c = 9.0;
  auto const curve = [&](double order) { return c / (order - 1.0) + order; };
  for (double const order : {1.0 + 1e-9, 1.01, 2.0, 3.9}) {
    CAPTURE(order);
    CHECK(least_divergence(order, curve) >= 1.0 + 2.0 * std::sqrt(c));
    CHECK(least_divergence(order, curve) == Approx(1.0 + 2.0 * std::sqrt(c)).epsilon(1e-9));
  }
  for (double const order : {4.1, 10.0, 1e8}) {
    CAPTURE(order);
    CHECK(least_divergence(order, curve) == curve(order));
  }
  double const infinity = std::numeric_limits<double>::infinity();
  auto const later = [&](double order) { return order < 2.0 ? infinity : order; };
  CHECK(least_divergence(3.0, later) == 3.0);
  CHECK(least_divergence(1.5, later) >= 2.0);
  CHECK_THROWS_AS(least_divergence(1.0, curve), std::domain_error);
  CHECK_THROWS_AS(least_divergence(infinity, curve), std::domain_error);
}

TEST_CASE("the mean number of runs") {
  CHECK(mean_repetitions(truncated_negative_binomial{0.05}) == Approx(20.0).epsilon(1e-13));
  CHECK(mean_repetitions(truncated_negative_binomial{1.0, 3.0}) == 1.0);
  CHECK(mean_repetitions(poisson_count{0.3}) == 0.3);
  for (double const shape : {-0.5, 0.0, 1e-9, 0.5, 1.0, 4.0}) {
    truncated_negative_binomial const times{0.05, shape};
    double const step = 1e-6;
    double const slope = (generating(times, 1.0) - generating(times, 1.0 - step)) / step;
    CAPTURE(shape);
    CHECK(mean_repetitions(times) == Approx(slope).epsilon(1e-3));
    for (double const mean : {1.0, 1.7, 20.0, 1e6}) {
      truncated_negative_binomial const found = repetitions_of_mean(mean, shape);
      CHECK(mean_repetitions(found) <= mean);
      CHECK(mean_repetitions(found) == Approx(mean).epsilon(1e-12));
    }
  }
}

TEST_CASE("the best of many pure runs costs 2 + shape of them") {
  privacy_loss_accountant base;
  base.compose(pure{0.5});
  for (double const shape : {0.0, 1.0, 2.0}) {
    best_of const tuned(base, truncated_negative_binomial{1e-3, shape});
    CAPTURE(shape);
    CHECK(tuned.epsilon(1e-9).upper <= (2.0 + shape) * 0.5 * (1.0 + 1e-8));
    CHECK(tuned.epsilon(1e-9).upper >= (2.0 + shape) * 0.5 * 0.99);
  }
}

TEST_CASE("one run is one run, and more cost more, by every accountant") {
  privacy_loss_accountant loss;
  renyi_accountant renyi;
  event const step = sampled(gaussian{1.0}, poisson{0.01});
  loss.compose(step, 1000);
  renyi.compose(step, 1000);
  best_of const once(loss, truncated_negative_binomial{1.0});
  CHECK(once.excess() == 0.0);
  CHECK(once.epsilon(1e-5).upper == loss.epsilon(1e-5).upper);
  CHECK(once.delta(1.0).upper == loss.delta(1.0).upper);

  double before = loss.epsilon(1e-5).upper;
  for (double const mean : {2.0, 10.0, 100.0, 1000.0}) {
    best_of const tuned(loss, repetitions_of_mean(mean));
    best_of const by_renyi(renyi, repetitions_of_mean(mean));
    bound<double> const epsilon = tuned.epsilon(1e-5);
    CAPTURE(mean);
    CHECK(epsilon.lower <= loss.epsilon(1e-5).upper);
    CHECK(epsilon.lower >= loss.epsilon(1e-5).lower);
    CHECK(epsilon.upper > before);
    CHECK(epsilon.upper <= by_renyi.epsilon(1e-5).upper);
    before = epsilon.upper;
  }
  // A δ that is tiny takes long, and is not asked for where it decides nothing: the best of ten thousand once cost 2.1.
  privacy_loss_accountant few;
  renyi_accountant few_by_renyi;
  few.compose(sampled(gaussian{3.0}, poisson{0.01}), 25);
  few_by_renyi.compose(sampled(gaussian{3.0}, poisson{0.01}), 25);
  CHECK(best_of(few, repetitions_of_mean(1e4)).epsilon(1e-5).upper <
        best_of(few_by_renyi, repetitions_of_mean(1e4)).epsilon(1e-5).upper);
  CHECK(best_of(few, repetitions_of_mean(1e4)).delta(1.0).upper < 1e-30);
  // Far less than a hundred runs composed.
  privacy_loss_accountant all;
  all.compose(step, 100'000);
  CHECK(best_of(loss, repetitions_of_mean(100.0)).epsilon(1e-5).upper <
        0.5 * all.epsilon(1e-5).lower);
}

// Theorem 2 of Papernot & Steinke, for one Gaussian, turned into (ε, δ) by the plain conversion
// D + log(1/δ)/(α − 1): another formula and another accountant.
TEST_CASE("no more than Papernot and Steinke's theorem allows") {
  for (double const sigma : {1.0, 3.0, 10.0}) {
    privacy_loss_accountant base;
    base.compose(gaussian{sigma});
    for (double const shape : {0.0, 1.0}) {
      truncated_negative_binomial const times = repetitions_of_mean(30.0, shape);
      auto const divergence = [&](double order) { return order / (2.0 * sigma * sigma); };
      double least = std::numeric_limits<double>::infinity();
      for (double hat = 1.0; hat < 1e4; hat *= 1.02) {
        double const extra = (1.0 + shape) * ((1.0 - 1.0 / hat) * divergence(hat) +
                                              std::log(1.0 / times.gamma) / hat);
        for (double order = 1.05; order < 1e4; order *= 1.05) {
          double const epsilon =
              divergence(order) + extra + (std::log(30.0) + std::log(1e6)) / (order - 1.0);
          least = std::min(least, epsilon);
        }
      }
      CAPTURE(sigma, shape);
      CHECK(best_of(base, times).epsilon(1e-6).upper <= least);
      CHECK(best_of(base, times).epsilon(1e-6).upper >= 0.4 * least);
    }
  }
}

TEST_CASE("repetitions that make no sense are refused") {
  privacy_loss_accountant base;
  base.compose(gaussian{1.0});
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (double const bad : {0.0, -1.0, 1.1, nan}) {
    CHECK_THROWS_AS(best_of(base, truncated_negative_binomial{bad}), std::domain_error);
  }
  for (double const bad : {-1.0, 1001.0, nan}) {
    CHECK_THROWS_AS(best_of(base, truncated_negative_binomial{0.5, bad}), std::domain_error);
    CHECK_THROWS_AS(repetitions_of_mean(2.0, bad), std::domain_error);
  }
  for (double const bad : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
    CHECK_THROWS_AS(best_of(base, poisson_count{bad}), std::domain_error);
  }
  for (double const bad : {0.5, 1e13, nan}) {
    CHECK_THROWS_AS(repetitions_of_mean(bad), std::domain_error);
  }
  best_of const tuned(base, truncated_negative_binomial{0.1});
  for (double const bad : {0.0, 1.0, nan}) CHECK_THROWS_AS(tuned.epsilon(bad), std::domain_error);
  for (double const bad : {-1.0, nan}) CHECK_THROWS_AS(tuned.delta(bad), std::domain_error);
}

}  // namespace selection_tests
