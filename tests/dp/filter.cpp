// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/inverse.hpp>
#include <tacit/dp/filter.hpp>

#include "support/catch.hpp"
#include "support/forked.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using tacit::adjacency;
using tacit::approx_dp;
using tacit::budget_exhausted;
using tacit::composed;
using tacit::corrupt_state;
using tacit::event;
using tacit::gaussian;
using tacit::gaussian_dp;
using tacit::gaussian_filter;
using tacit::infeasible;
using tacit::order_for;
using tacit::poisson;
using tacit::renyi_epsilon;
using tacit::renyi_filter;
using tacit::renyi_odometer;
using tacit::sampled;

static_assert(!std::is_copy_constructible_v<renyi_filter>);
static_assert(!std::is_copy_assignable_v<renyi_filter>);
static_assert(std::is_move_constructible_v<renyi_filter>);
static_assert(!std::is_copy_constructible_v<gaussian_filter>);
static_assert(std::is_move_constructible_v<gaussian_filter>);
static_assert(!std::is_copy_constructible_v<renyi_odometer>);
static_assert(std::is_move_constructible_v<renyi_odometer>);

/// A mechanism with finitely many outcomes, and its Rényi divergence by definition.
struct known_outcomes {
  std::vector<double> p;
  std::vector<double> q;
  bool both_directions = true;

  double operator()(double order) const {
    double const there = one_way(p, q, order);
    double const value = both_directions ? std::max(there, one_way(q, p, order)) : there;
    return value * (1.0 + 1e-12);
  }

 private:
  static double one_way(std::vector<double> const& p, std::vector<double> const& q, double order) {
    double sum = 0.0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      sum += q[i] * std::exp(order * std::log(p[i] / q[i]));
    }
    return std::max(0.0, std::log(sum) / (order - 1.0));
  }
};

known_outcomes binary(double p, double loss) {
  double const q = p * std::exp(-loss);
  return {{p, 1.0 - p}, {q, 1.0 - q}, false};
}

/// The conversion of Balle et al. for one order.
double linear_conversion(double order, double spent, double delta) {
  return spent + std::log1p(-1.0 / order) - (std::log(delta) + std::log(order)) / (order - 1.0);
}

std::vector<known_outcomes> random_mechanisms(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::vector<known_outcomes> all;
  for (std::size_t i = 0; i < count; ++i) {
    // One outcome that tells much and seldom happens, one that tells little, and the rest.
    double const rare = std::exp(-1.0 - 5.0 * uniform(random));
    double const often = 0.3 * uniform(random);
    double const a = rare * std::exp(-(0.3 + 1.5 * uniform(random)));
    double const b = often * std::exp(0.5 - uniform(random));
    all.push_back({{rare, often, 1.0 - rare - often}, {a, b, 1.0 - a - b}});
    if (i % 2 == 1) std::swap(all.back().p, all.back().q);
  }
  return all;
}

/// What the best adversary makes of a filter: it sees every outcome, chooses the next mechanism by it,
/// and stops when it likes. Σ (P − e^ε Q)⁺ over the outcomes of the run.
double best_attack(std::string const& state, std::vector<known_outcomes> const& mechanisms,
                   int steps, double p, double q, double factor) {
  double best = std::max(0.0, p - factor * q);
  if (steps == 0) return best;
  for (known_outcomes const& m : mechanisms) {
    renyi_filter filter = renyi_filter::load(state);
    if (filter.would_exceed(m)) {
      CHECK_THROWS_AS((void)filter.charge(m), budget_exhausted);
      continue;
    }
    (void)filter.charge(m);
    std::string const next = filter.save();
    double total = 0.0;
    for (std::size_t y = 0; y < m.p.size(); ++y) {
      total += best_attack(next, mechanisms, steps - 1, p * m.p[y], q * m.q[y], factor);
    }
    best = std::max(best, total);
  }
  return best;
}

/// The same against an odometer: the ε that counts is the one read where the adversary stops.
double best_stop(std::string const& state, std::vector<known_outcomes> const& mechanisms, int steps,
                 double p, double q, double delta) {
  renyi_odometer const here = renyi_odometer::load(state);
  double best = std::max(0.0, p - std::exp(here.epsilon(delta)) * q);
  if (steps == 0) return best;
  for (known_outcomes const& m : mechanisms) {
    renyi_odometer odometer = renyi_odometer::load(state);
    odometer.add(m);
    std::string const next = odometer.save();
    double total = 0.0;
    for (std::size_t y = 0; y < m.p.size(); ++y) {
      total += best_stop(next, mechanisms, steps - 1, p * m.p[y], q * m.q[y], delta);
    }
    best = std::max(best, total);
  }
  return best;
}

/// The same against a filter's own reading, which is the smaller of budget and odometer.
double best_reading(std::string const& state, std::vector<known_outcomes> const& mechanisms,
                    int steps, double p, double q) {
  renyi_filter const here = renyi_filter::load(state);
  double best = std::max(0.0, p - std::exp(here.epsilon()) * q);
  if (steps == 0) return best;
  for (known_outcomes const& m : mechanisms) {
    renyi_filter filter = renyi_filter::load(state);
    if (filter.would_exceed(m)) continue;
    (void)filter.charge(m);
    std::string const next = filter.save();
    double total = 0.0;
    for (std::size_t y = 0; y < m.p.size(); ++y) {
      total += best_reading(next, mechanisms, steps - 1, p * m.p[y], q * m.q[y]);
    }
    best = std::max(best, total);
  }
  return best;
}

}  // namespace

TEST_CASE("a filter refuses before the release, and charges nothing then", "[dp][filter]") {
  renyi_filter filter(12.0, {.epsilon = 1.0, .delta = 1e-6});
  event const step = sampled(gaussian{.noise_multiplier = 2.0}, poisson{.rate = 0.01});
  std::size_t steps = 0;
  while (!filter.would_exceed(step)) {
    auto const paid = filter.charge(step);
    CHECK(paid.live());
    CHECK(paid.cost().value >= 0.0);
    CHECK(filter.epsilon() <= 1.0);
    REQUIRE(++steps < 100000);
  }
  CHECK(steps > 100);
  double const spent = filter.spent().front();
  CHECK_THROWS_AS((void)filter.charge(step), budget_exhausted);
  CHECK_THROWS_AS((void)filter.charge(step, 1000000000000U), budget_exhausted);
  CHECK(filter.spent().front() == spent);

  // What is smaller still fits, down to nothing.
  event const quiet = gaussian{.noise_multiplier = 1e6};
  CHECK_FALSE(filter.would_exceed(quiet));
  CHECK(filter.charge(quiet).live());
  CHECK(filter.spent().front() > spent);
  CHECK(filter.charge(step, 0).live());
  CHECK(filter.charge(sampled(gaussian{.noise_multiplier = 1.0}, poisson{.rate = 0.0})).live());
}

TEST_CASE("one order: the budget is spent to the last release that fits", "[dp][filter]") {
  for (double const order : {1.5, 4.0, 20.0, 200.0}) {
    for (approx_dp const budget : {approx_dp{0.5, 1e-5}, approx_dp{8.0, 1e-10}}) {
      CAPTURE(order, budget.epsilon);
      double const least = 1e-3;  // ρ of one release: αμ²/2
      double const multiplier = std::sqrt(order / (2.0 * least));
      double const count = std::floor(tacit::last_holding(0.0, 1e6, [&](double n) {
        return renyi_epsilon(order, n * least, budget.delta) <= budget.epsilon;
      }));
      renyi_filter filter(order, budget);
      auto const n = static_cast<std::uint64_t>(count);
      CHECK(filter.would_exceed(gaussian{multiplier}, n + 1));
      if (n == 0) continue;
      CHECK_FALSE(filter.would_exceed(gaussian{multiplier * (1.0 + 1e-11)}, n));
      CHECK(filter.charge(gaussian{multiplier * (1.0 + 1e-11)}, n).live());
      CHECK(filter.spent().front() == Approx(count * least).epsilon(1e-9));
      CHECK(filter.would_exceed(gaussian{multiplier}));
    }
  }
}

TEST_CASE("whatever Gaussians are chosen, the closed form stays in the budget", "[dp][filter]") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int run = 0; run < 40; ++run) {
    approx_dp const budget{std::exp(3.0 * uniform(random) - 1.0),
                           std::exp(-3.0 - 20.0 * uniform(random))};
    double const order = 1.0 + 2.0 * -std::log(budget.delta) / budget.epsilon;
    adjacency const neighbours = run % 2 == 0 ? adjacency::add_remove : adjacency::replace_one;
    double const change = run % 2 == 0 ? 1.0 : 2.0;
    bool const several = run % 3 == 0;
    renyi_filter rdp(several ? std::vector<double>{order / 2.0 + 1.0, order, 2.0 * order}
                             : std::vector<double>{order},
                     budget, neighbours);
    gaussian_filter gdp(budget, neighbours);
    double rdp_square = 0.0;
    double gdp_square = 0.0;
    for (int step = 0; step < 400; ++step) {
      // A walk that follows what "was released", and grows bolder as it is refused.
      double const mu = budget.epsilon * std::exp(-5.0 * uniform(random) - 0.01 * step);
      event const release = gaussian{.noise_multiplier = 1.0 / mu};
      if (!rdp.would_exceed(release)) {
        (void)rdp.charge(release);
        rdp_square += change * change * mu * mu;
      }
      if (!gdp.would_exceed(release)) {
        (void)gdp.charge(release);
        gdp_square += change * change * mu * mu;
      }
    }
    CAPTURE(run, budget.epsilon, budget.delta, order, rdp_square, gdp_square);
    CHECK(delta(gaussian_dp{std::sqrt(rdp_square)}, budget.epsilon).lower <= budget.delta);
    CHECK(delta(gaussian_dp{std::sqrt(gdp_square)}, budget.epsilon).lower <= budget.delta);
    // And the odometer's reading at the end is no less than the truth.
    CHECK(epsilon(gaussian_dp{std::sqrt(rdp_square)}, budget.delta).lower <= rdp.epsilon());
    // Neither is idle; the exact one gives more.
    CHECK(gdp_square > 0.97 * std::pow(gaussian_dp_for(budget).mu, 2.0));
    CHECK(rdp_square > 0.3 * gdp_square);
    CHECK(gdp.spent().mu == Approx(std::sqrt(gdp_square)).epsilon(1e-12));
    CHECK(gdp.spent().mu >= std::sqrt(gdp_square) * (1.0 - 1e-15));
    CHECK(gdp.spent().mu <= gdp.budget().mu);
  }
}

TEST_CASE("no adversary gets more than the budget out of a filter", "[dp][filter]") {
  std::vector<known_outcomes> const mechanisms = random_mechanisms(7, 11);
  double best_share = 0.0;
  for (approx_dp const budget : {approx_dp{0.7, 0.05}, approx_dp{1.0, 0.02}}) {
    for (std::vector<double> const& orders :
         std::vector<std::vector<double>>{{4.0}, {9.0}, {4.0, 9.0}, {3.0, 5.0, 8.0, 13.0}}) {
      CAPTURE(budget.epsilon, budget.delta, orders);
      std::string const start = renyi_filter(orders, budget).save();
      double const there = best_attack(start, mechanisms, 3, 1.0, 1.0, std::exp(budget.epsilon));
      CHECK(there <= budget.delta);
      best_share = std::max(best_share, there / budget.delta);
    }
  }
  UNSCOPED_INFO(best_share);
  CHECK(best_share > 0.4);  // the adversary is no fool
}

TEST_CASE("no stopping rule beats an odometer", "[dp][filter]") {
  std::vector<known_outcomes> const mechanisms = random_mechanisms(6, 5);
  double best_share = 0.0;
  for (double const delta : {0.05, 0.01}) {
    for (std::vector<double> const& orders :
         std::vector<std::vector<double>>{{5.0}, {3.0, 8.0}, {2.0, 4.0, 8.0, 16.0}}) {
      CAPTURE(delta, orders);
      double const found = best_stop(renyi_odometer(orders).save(), mechanisms, 3, 1.0, 1.0, delta);
      CHECK(found <= delta);
      best_share = std::max(best_share, found / delta);
    }
  }
  UNSCOPED_INFO(best_share);
  CHECK(best_share > 0.9);
}

TEST_CASE("a filter's reading and its budget share one delta", "[dp][filter]") {
  std::vector<known_outcomes> const mechanisms = random_mechanisms(6, 17);
  double best_share = 0.0;
  for (approx_dp const budget :
       {approx_dp{0.5, 0.05}, approx_dp{0.9, 0.05}, approx_dp{0.8, 0.02}}) {
    for (double const order : {3.0, 6.0, 12.0}) {
      CAPTURE(budget.epsilon, budget.delta, order);
      std::string const start = renyi_filter(order, budget).save();
      double const found = best_reading(start, mechanisms, 3, 1.0, 1.0);
      CHECK(found <= budget.delta);
      best_share = std::max(best_share, found / budget.delta);
    }
  }
  UNSCOPED_INFO(best_share);
  CHECK(best_share > 0.4);
}

TEST_CASE("going on while any order is alive, each with the whole delta, is unsound",
          "[dp][filter]") {
  // Two steps. The first has three outcomes; after the first outcome the adversary plays the worst
  // case of order 8, after the second that of order 24, else nothing.
  approx_dp const budget{.epsilon = 1.0, .delta = 1e-3};
  known_outcomes const first{{0.7864469946718102, 0.028880793717231866, 0.1846722116109579},
                             {0.7224458080351089, 0.02015382970300085, 0.2574003622618902},
                             false};
  known_outcomes const after_first = binary(0.0073993, 1.0491170846992977);
  known_outcomes const after_second = binary(0.80253, 0.6822175331052915);

  auto const room = [&](double order) {
    return tacit::last_holding(0.0, 10.0, [&](double spent) {
      return linear_conversion(order, spent, budget.delta) <= budget.epsilon;
    });
  };
  REQUIRE(first(8.0) + after_first(8.0) <= room(8.0));
  REQUIRE(first(24.0) + after_second(24.0) <= room(24.0));

  // What the adversary really gets.
  double const factor = std::exp(budget.epsilon);
  auto const gain = [&](std::size_t outcome, known_outcomes const& second) {
    double total = 0.0;
    for (std::size_t y = 0; y < second.p.size(); ++y) {
      total +=
          std::max(0.0, first.p[outcome] * second.p[y] - factor * first.q[outcome] * second.q[y]);
    }
    return total;
  };
  double const truth = gain(0, after_first) + gain(1, after_second);
  CHECK(truth > 1.68e-3);
  CHECK(truth > 1.6 * budget.delta);

  // Any sound filter must stop one of the two paths; each of these does.
  for (std::vector<double> const& orders :
       std::vector<std::vector<double>>{{8.0}, {24.0}, {8.0, 24.0}}) {
    CAPTURE(orders);
    renyi_filter one(orders, budget);
    (void)one.charge(first);
    renyi_filter other = renyi_filter::load(one.save());
    CHECK((one.would_exceed(after_first) || other.would_exceed(after_second)));
    double reached = 0.0;
    if (!one.would_exceed(after_first)) {
      (void)one.charge(after_first);
      reached += gain(0, after_first);
    }
    if (!other.would_exceed(after_second)) {
      (void)other.charge(after_second);
      reached += gain(1, after_second);
    }
    CHECK(reached <= budget.delta);
  }
  // And the odometer does not pick its order at the end.
  renyi_odometer odometer({8.0, 24.0});
  odometer.add(first);
  odometer.add(after_first);
  CHECK(odometer.epsilon(budget.delta) > budget.epsilon);
}

TEST_CASE("the reading of one order is the closed form, of several their best mixture",
          "[dp][filter]") {
  for (double const delta : {0.3, 1e-3, 1e-9, 1e-100, 1e-300}) {
    for (double const order : {1.001, 2.0, 7.5, 300.0, 1e7}) {
      for (double const spent : {0.0, 1e-6, 0.3, 40.0, 1e5}) {
        CAPTURE(delta, order, spent);
        renyi_odometer odometer(order);
        odometer.add([&](double) { return spent; });
        double const closed = linear_conversion(order, spent, delta);
        double const margin = 1e-13 * (1.0 + std::abs(closed) - std::log(delta) / (order - 1.0));
        CHECK(odometer.epsilon(delta) >= std::max(0.0, closed - margin / 100.0));
        CHECK(odometer.epsilon(delta) <= std::max(0.0, closed) + margin);
        CHECK(renyi_epsilon(order, spent, delta) <= odometer.epsilon(delta) + margin);
      }
    }
    std::vector<double> const orders{1.5, 3.0, 10.0, 40.0, 200.0};
    for (double const slope : {1e-6, 1e-3, 0.02, 1.0}) {
      renyi_odometer odometer(orders);
      odometer.add([&](double order) { return slope * order * order; });
      double const read = odometer.epsilon(delta);
      CAPTURE(delta, slope, read);
      double share = infinity;
      double whole = infinity;
      for (double const order : orders) {
        double const spent = slope * order * order;
        share = std::min(share, linear_conversion(order, spent, delta / 5.0));
        whole = std::min(whole, linear_conversion(order, spent, delta));
      }
      CHECK(read <= std::max(0.0, share) * (1.0 + 1e-12) + 1e-12);
      CHECK(read >= std::max(0.0, whole) * (1.0 - 1e-12));
      if (read == 0.0) continue;
      // The inequality that the proof rests on, at every loss; and it is tight at one.
      double nearest = infinity;
      for (int k = 0; k <= 4000; ++k) {
        double const loss = read + 1e-3 * std::pow(1.003, k);
        if (loss > read + 200.0) break;
        double mixture = 0.0;
        for (double const order : orders) {
          mixture += 0.2 * std::exp((order - 1.0) * (loss - slope * order * order));
        }
        double const slack = delta * mixture / -std::expm1(read - loss);
        CHECK(slack >= 1.0 - 1e-9);
        nearest = std::min(nearest, slack);
      }
      CHECK(nearest < 1.01);
    }
  }
}

TEST_CASE("a release without a bound, or without sense, is refused", "[dp][filter]") {
  approx_dp const budget{.epsilon = 1.0, .delta = 1e-6};
  renyi_filter filter({8.0, 32.0}, budget);
  renyi_odometer odometer({8.0, 32.0});
  gaussian_filter gaussians(budget);
  for (event const& release : {event(gaussian{not_a_number}), event(gaussian{0.0}),
                               event(gaussian{-1.0}), event(gaussian{infinity}), event(gaussian{}),
                               sampled(gaussian{1.0}, poisson{.rate = not_a_number}),
                               sampled(gaussian{1.0}, poisson{.rate = 1.5})}) {
    CHECK_THROWS_AS((void)filter.charge(release), std::domain_error);
    CHECK_THROWS_AS((void)filter.would_exceed(release), std::domain_error);
    CHECK_THROWS_AS(odometer.add(release), std::domain_error);
    CHECK_THROWS_AS((void)gaussians.charge(release), std::domain_error);
  }
  for (event const& release :
       {event(approx_dp{0.1, 1e-9}), sampled(gaussian{10.0}, tacit::shuffled{}),
        event(tacit::randomised_response{0.1})}) {
    CHECK_THROWS_AS((void)filter.charge(release), std::invalid_argument);
    CHECK_THROWS_AS((void)filter.would_exceed(release), std::invalid_argument);
    CHECK_THROWS_AS(odometer.add(release), std::invalid_argument);
    CHECK_THROWS_AS((void)gaussians.charge(release), std::invalid_argument);
  }
  // No Gaussian pair, no Gaussian filter.
  for (event const& release :
       {event(tacit::laplace{10.0}), event(tacit::pure{0.1}),
        sampled(gaussian{10.0}, poisson{.rate = 0.5}), event(tacit::discrete_gaussian{10.0})}) {
    CHECK_THROWS_AS((void)gaussians.charge(release), std::invalid_argument);
    CHECK(filter.would_exceed(release, 1000000));
  }
  for (double const bad : {not_a_number, -1.0, -1e-300}) {
    auto const curve = [&](double) { return bad; };
    CHECK_THROWS_AS((void)filter.charge(curve), std::domain_error);
    CHECK_THROWS_AS((void)filter.would_exceed(curve), std::domain_error);
    CHECK_THROWS_AS(odometer.add(curve), std::domain_error);
  }
  CHECK_THROWS_AS((void)filter.charge([](double) { return infinity; }), std::invalid_argument);
  CHECK(filter.spent()[0] == 0.0);
  CHECK(filter.spent()[1] == 0.0);
  CHECK(odometer.spent()[0] == 0.0);
  CHECK(gaussians.spent().mu == 0.0);

  // One order may be lost, and stays lost.
  (void)filter.charge([](double order) { return order > 10.0 ? 0.01 : infinity; });
  CHECK(filter.spent()[0] == infinity);
  (void)filter.charge([](double) { return 0.0; }, 5);
  CHECK(filter.spent()[0] == infinity);
  CHECK(filter.epsilon() == Approx(linear_conversion(32.0, 0.01, 0.5e-6)).epsilon(1e-12));
  odometer.add([](double) { return 1e300; }, 1000000000000U);
  CHECK(odometer.epsilon(0.5) == infinity);
}

TEST_CASE("what no filter can be made from", "[dp][filter]") {
  approx_dp const budget{.epsilon = 1.0, .delta = 1e-6};
  for (double const order : {1.0, 0.5, -2.0, not_a_number, infinity}) {
    CHECK_THROWS_AS(renyi_filter(order, budget), std::domain_error);
    CHECK_THROWS_AS(renyi_odometer(order), std::domain_error);
  }
  CHECK_THROWS_AS(renyi_filter({8.0, 4.0}, budget), std::domain_error);
  CHECK_THROWS_AS(renyi_filter({8.0, 8.0}, budget), std::domain_error);
  CHECK_THROWS_AS(renyi_filter(std::vector<double>{}, budget), std::invalid_argument);
  for (double const bad : {not_a_number, infinity, -1.0}) {
    CHECK_THROWS_AS(renyi_filter(8.0, {bad, 1e-6}), std::domain_error);
    CHECK_THROWS_AS(renyi_filter(8.0, {1.0, bad}), std::domain_error);
    CHECK_THROWS_AS(gaussian_filter(gaussian_dp{bad}), std::domain_error);
    CHECK_THROWS_AS(gaussian_filter(approx_dp{bad, 1e-6}), std::domain_error);
  }
  CHECK_THROWS_AS(renyi_filter(8.0, {1.0, 0.0}), std::domain_error);
  CHECK_THROWS_AS(renyi_filter(8.0, {1.0, 1.0}), std::domain_error);
  CHECK_THROWS_AS(renyi_filter(8.0, approx_dp{}), std::domain_error);
  CHECK_THROWS_AS(gaussian_filter(gaussian_dp{}), std::domain_error);
  // Two orders so low that their conversion alone costs more than ε.
  CHECK_THROWS_AS(renyi_filter({2.0, 3.0}, budget), infeasible);
  CHECK(gaussian_filter(gaussian_dp{0.0}).would_exceed(gaussian{1e9}));
  CHECK(gaussian_filter(approx_dp{1.0, 0.0}).would_exceed(gaussian{1e9}));
  CHECK_THROWS_AS((void)renyi_odometer(8.0).epsilon(0.0), std::domain_error);
  CHECK_THROWS_AS((void)renyi_odometer(8.0).epsilon(1.0), std::domain_error);
  CHECK_THROWS_AS((void)renyi_odometer(8.0).epsilon(not_a_number), std::domain_error);
}

TEST_CASE("what was moved from spends nothing", "[dp][filter]") {
  renyi_filter first(8.0, {.epsilon = 1.0, .delta = 1e-5});
  (void)first.charge(gaussian{.noise_multiplier = 20.0});
  renyi_filter second = std::move(first);
  event const quiet = gaussian{.noise_multiplier = 1e6};
  CHECK(second.charge(quiet).live());
  // NOLINTBEGIN(bugprone-use-after-move): that is the question
  CHECK_THROWS_AS((void)first.charge(quiet), std::logic_error);
  CHECK_THROWS_AS((void)first.would_exceed(quiet), std::logic_error);
  CHECK_THROWS_AS((void)first.save(), std::logic_error);
  CHECK_THROWS_AS((void)first.epsilon(), std::logic_error);

  gaussian_filter one(gaussian_dp{1.0});
  gaussian_filter two = std::move(one);
  CHECK(two.charge(quiet).live());
  CHECK_THROWS_AS((void)one.charge(quiet), std::logic_error);
  CHECK_THROWS_AS((void)one.save(), std::logic_error);

  renyi_odometer here(8.0);
  renyi_odometer there = std::move(here);
  there.add(quiet);
  CHECK_THROWS_AS(here.add(quiet), std::logic_error);
  CHECK_THROWS_AS((void)here.epsilon(0.1), std::logic_error);
  // NOLINTEND(bugprone-use-after-move)
}

TEST_CASE("what a forked process has a copy of spends nothing", "[dp][filter]") {
  event const quiet = gaussian{.noise_multiplier = 1e6};
  renyi_filter renyi(8.0, {.epsilon = 1.0, .delta = 1e-5});
  gaussian_filter normal(gaussian_dp{1.0});
  renyi_odometer odometer(8.0);
  auto const divergence = [](double) { return 1e-6; };
  CHECK(support::refused_in_a_child(
            [&] { (void)renyi.charge(quiet); }, [&] { (void)renyi.charge(divergence); },
            [&] { (void)renyi.would_exceed(quiet); }, [&] { (void)renyi.epsilon(); },
            [&] { (void)renyi.save(); },
            [&] { (void)renyi_filter(std::move(renyi)).charge(quiet); }) == 6);
  CHECK(support::refused_in_a_child([&] { (void)normal.charge(quiet); },
                                    [&] { (void)normal.would_exceed(quiet); },
                                    [&] { (void)normal.save(); }) == 3);
  CHECK(support::refused_in_a_child([&] { odometer.add(quiet); }, [&] { odometer.add(divergence); },
                                    [&] { (void)odometer.epsilon(1e-5); },
                                    [&] { (void)odometer.save(); }) == 4);
  // A receipt pays in the process that was charged.
  auto const paid = normal.charge(quiet);
  CHECK(support::refused_in_a_child([&] {
          if (!paid.live()) throw std::logic_error("used in a forked process");
        }) == 1);
  // The parent goes on, and a state that it wrote goes on anywhere.
  CHECK(paid.live());
  CHECK(renyi.charge(quiet).live());
  odometer.add(quiet);
  std::string const state = renyi.save();
  CHECK(support::refused_in_a_child([&] {
          if (renyi_filter::load(state).charge(quiet).live()) (void)renyi.would_exceed(quiet);
        }) == 1);
}

TEST_CASE("a resumed run has forgotten nothing", "[dp][filter]") {
  event const step = sampled(gaussian{.noise_multiplier = 1.5}, poisson{.rate = 0.02});
  renyi_filter filter({4.0, 8.0, 16.0}, {.epsilon = 2.0, .delta = 1e-6}, adjacency::zero_out);
  (void)filter.charge(step, 137);
  (void)filter.charge([](double order) { return order < 10.0 ? 0.001 : infinity; });
  renyi_filter resumed = renyi_filter::load(filter.save());
  CHECK(resumed.budget() == filter.budget());
  CHECK(resumed.neighbours() == adjacency::zero_out);
  CHECK(std::equal(resumed.spent().begin(), resumed.spent().end(), filter.spent().begin(),
                   filter.spent().end()));
  CHECK(resumed.epsilon() == filter.epsilon());
  CHECK(resumed.save() == filter.save());
  std::size_t more = 0;
  for (; !filter.would_exceed(step); ++more) (void)filter.charge(step);
  for (std::size_t k = 0; k < more; ++k) (void)resumed.charge(step);
  CHECK_THROWS_AS((void)resumed.charge(step), budget_exhausted);
  CHECK(renyi_filter::load(filter.save()).would_exceed(step));  // a full one too

  gaussian_filter gdp(approx_dp{1.0, 1e-5}, adjacency::replace_one);
  (void)gdp.charge(gaussian{.noise_multiplier = 9.0});
  gaussian_filter const gdp_resumed = gaussian_filter::load(gdp.save());
  CHECK(gdp_resumed.save() == gdp.save());
  CHECK(gdp_resumed.spent().mu == gdp.spent().mu);
  CHECK(gdp_resumed.budget().mu == gdp.budget().mu);
  CHECK(gdp_resumed.neighbours() == adjacency::replace_one);

  renyi_odometer odometer({4.0, 8.0});
  odometer.add(step, 10);
  CHECK(renyi_odometer::load(odometer.save()).epsilon(1e-5) == odometer.epsilon(1e-5));

  // Whatever is wrong with a text: no filter.
  std::string const text = filter.save();
  for (std::size_t cut = 0; cut < text.size(); cut += 7) {
    CHECK_THROWS_AS(renyi_filter::load(text.substr(0, cut)), corrupt_state);
  }
  for (std::size_t place = 0; place < text.size(); place += 3) {
    std::string damaged = text;
    damaged[place] = damaged[place] == '1' ? '2' : '1';
    CHECK_THROWS_AS(renyi_filter::load(damaged), corrupt_state);
  }
  CHECK_THROWS_AS(renyi_odometer::load(text), corrupt_state);
  CHECK_THROWS_AS(gaussian_filter::load(text), corrupt_state);

  // A text with a right checksum and wrong content.
  auto const forged = [](auto write) {
    tacit::archive_writer out("tacit-renyi-filter", 1);
    write(out);
    return std::move(out).finish();
  };
  auto const with = [&](std::string const& neighbours, double epsilon, double delta,
                        std::vector<double> const& orders, std::vector<double> const& spent) {
    return forged([&](tacit::archive_writer& out) {
      out.field("adjacency", neighbours);
      out.field("budget", epsilon, delta);
      out.list("orders", orders);
      out.list("spent", spent);
    });
  };
  std::string const word = to_text(adjacency::add_remove).data();
  CHECK(renyi_filter::load(with(word, 1.0, 1e-5, {8.0}, {0.01})).epsilon() > 0.0);
  CHECK_THROWS_AS(renyi_filter::load(with("other", 1.0, 1e-5, {8.0}, {0.01})), corrupt_state);
  CHECK_THROWS_AS(renyi_filter::load(with(word, -1.0, 1e-5, {8.0}, {0.01})), corrupt_state);
  CHECK_THROWS_AS(renyi_filter::load(with(word, 1.0, 0.0, {8.0}, {0.01})), corrupt_state);
  CHECK_THROWS_AS(renyi_filter::load(with(word, 1.0, 1e-5, {0.5}, {0.01})), corrupt_state);
  CHECK_THROWS_AS(renyi_filter::load(with(word, 1.0, 1e-5, {8.0}, {-0.01})), corrupt_state);
  CHECK_THROWS_AS(renyi_filter::load(with(word, 1.0, 1e-5, {8.0}, {not_a_number})), corrupt_state);
  CHECK_THROWS_AS(renyi_filter::load(with(word, 1.0, 1e-5, {8.0}, {50.0})), corrupt_state);
  CHECK_THROWS_AS(renyi_filter::load(with(word, 1.0, 1e-5, {8.0}, {})), corrupt_state);
  CHECK_THROWS_AS(renyi_filter::load(with(word, 1e-3, 1e-5, {2.0, 3.0}, {0.0, 0.0})),
                  corrupt_state);
}

TEST_CASE("Gaussian budgets add up in squares", "[dp][filter]") {
  // 64 releases at 1/8 fill μ = 1, but for the last digits.
  gaussian_filter filter(gaussian_dp{1.0});
  event const step = gaussian{.noise_multiplier = 8.0 * (1.0 + 1e-14)};
  for (int k = 0; k < 64; ++k) CHECK(filter.charge(step).live());
  CHECK_THROWS_AS((void)filter.charge(step), budget_exhausted);
  CHECK(filter.would_exceed(gaussian{.noise_multiplier = 1e6}));
  CHECK(filter.spent().mu <= 1.0 + 1e-15);
  CHECK(filter.spent().mu == Approx(1.0).epsilon(1e-13));

  gaussian_filter one_charge(gaussian_dp{1.0});
  CHECK_FALSE(one_charge.would_exceed(step, 64));
  CHECK(one_charge.would_exceed(step, 65));
  CHECK(one_charge.would_exceed(step, 18446744073709551615U));

  // Twice the distance under replace_one, four times the square.
  gaussian_filter replace(gaussian_dp{1.0}, adjacency::replace_one);
  CHECK_FALSE(replace.would_exceed(step, 16));
  CHECK(replace.would_exceed(step, 17));

  // What every record takes part in is no sample, and a matrix mechanism is one release.
  gaussian_filter others(gaussian_dp{1.0});
  CHECK(others.charge(sampled(gaussian{2.0}, poisson{.rate = 1.0})).live());
  CHECK(others.spent().mu == Approx(0.5).epsilon(1e-14));
  CHECK(others.charge(tacit::matrix_gaussian{.noise_multiplier = 4.0, .sensitivity = 2.0}).live());
  CHECK(others.spent().mu == Approx(std::sqrt(0.5)).epsilon(1e-14));
  CHECK(others.charge(sampled(gaussian{1.0}, poisson{.rate = 0.0})).live());
  CHECK(others.spent().mu == Approx(std::sqrt(0.5)).epsilon(1e-14));

  // A loss too small for a square is still a loss.
  gaussian_filter tiny(gaussian_dp{1.0});
  CHECK(tiny.charge(gaussian{.noise_multiplier = 1e200}).live());
  CHECK(tiny.spent().mu > 0.0);
}

TEST_CASE("the suggested order serves the plan best", "[dp][filter]") {
  for (double const delta : {1e-3, 1e-6, 1e-12}) {
    for (double const mu : {0.01, 0.3, 2.0, 10.0}) {
      CAPTURE(delta, mu);
      std::vector<composed> const plan{{gaussian{2.0 / mu}, 2}, {gaussian{4.0 / mu}, 8}};
      double const order = order_for(plan, delta);
      double best = infinity;
      for (double log_z = std::log(0.01); log_z < std::log(1e6); log_z += 0.01) {
        double const candidate = 1.0 + std::exp(log_z);
        best = std::min(best, renyi_epsilon(candidate, candidate * mu * mu / 2.0, delta));
      }
      CHECK(renyi_epsilon(order, order * mu * mu / 2.0, delta) <= best * (1.0 + 1e-5));
    }
  }
  std::vector<composed> const sampled_plan{{sampled(gaussian{1.0}, poisson{.rate = 0.01}), 10000}};
  double const order = order_for(sampled_plan, 1e-5);
  CHECK(order > 2.0);
  CHECK(order < 10.0);
  // With it, the plan fits the budget that Rényi accounting gives it (6.7127), and hardly a smaller one.
  CHECK_FALSE(renyi_filter(order, {6.7128, 1e-5}).would_exceed(sampled_plan[0].release, 10000));
  CHECK(renyi_filter(order, {6.70, 1e-5}).would_exceed(sampled_plan[0].release, 10000));

  CHECK_THROWS_AS((void)order_for({}, 1e-5), std::invalid_argument);
  CHECK_THROWS_AS((void)order_for(sampled_plan, 0.0), std::domain_error);
  std::vector<composed> const hopeless{{approx_dp{1.0, 1e-9}, 1}};
  CHECK_THROWS_AS((void)order_for(hopeless, 1e-5), std::invalid_argument);
}
