// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/ferret.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace tacit;

namespace {

static_assert(zeroth_order_mechanism<ferret_mechanism<>>);

// Every group fires and every record takes part.
ferret_options always(std::size_t groups, std::size_t steps) {
  return {.groups = groups, .steps = steps, .rate = 1.0, .budget = nats(1e9)};
}

// Of one step on this outcome, −1, 0 or +1, of a group whose sum is `x` clips: the batch has it or not.
double probability_of(int outcome, double fires, double x, double noise_multiplier) {
  if (outcome == 0) return 1.0 - fires;
  return fires * statistics::normal_cdf(outcome * x / noise_multiplier);
}

// D_α of two groups' outcomes, the changed record moving both from `here` to `there` if it is in the batch.
double divergence_of_two(double order, ferret_dithered const& run, double base, double here,
                         double there) {
  double sum = 0.0;
  for (int first = -1; first <= 1; ++first) {
    for (int second = -1; second <= 1; ++second) {
      auto const mass = [&](double moved) {
        auto const both = [&](double x) {
          return probability_of(first, run.probability, x, run.noise_multiplier) *
                 probability_of(second, run.probability, x, run.noise_multiplier);
        };
        return (1.0 - run.rate) * both(base) + run.rate * both(base + moved);
      };
      if (mass(there) == 0.0) continue;  // groups that always fire
      sum += std::pow(mass(here), order) * std::pow(mass(there), 1.0 - order);
    }
  }
  return std::log(sum) / (order - 1.0);
}

}  // namespace

TEST_CASE("groups of tensors: one each, buckets of eight, two halves") {
  std::vector<std::size_t> sizes;
  for (std::size_t t = 1; t <= 17; ++t) sizes.push_back(t);
  auto const each = ferret_groups(sizes, ferret_grouping::max);
  REQUIRE(each.size() == 17);
  CHECK(each[0] == parameter_range{0, 1});
  CHECK(each[16] == parameter_range{136, 153});
  CHECK(ferret_groups(sizes, ferret_grouping::half) == tensor_groups(sizes, 2));
  CHECK(ferret_groups(sizes, ferret_grouping::quarter) == tensor_groups(sizes, 4));
  CHECK(ferret_groups(sizes, ferret_grouping::eighth) ==
        std::vector<parameter_range>{{0, 36}, {36, 136}, {136, 153}});
  CHECK(ferret_groups(sizes, ferret_grouping::two) ==
        std::vector<parameter_range>{{0, 45}, {45, 153}});
  CHECK(ferret_groups(std::vector<std::size_t>{4}, ferret_grouping::two) ==
        std::vector<parameter_range>{{0, 4}});
  CHECK(tensor_groups(std::vector<std::size_t>{2, 3, 4, 5}, 2) ==
        std::vector<parameter_range>{{0, 5}, {5, 14}});
  CHECK_THROWS_AS(ferret_groups({}, ferret_grouping::two), std::invalid_argument);
  CHECK_THROWS_WITH(tensor_groups(std::vector<std::size_t>{2, 0}, 1),
                    "tensor_groups: size of a tensor is 0, but must be at least 1");
  CHECK_THROWS_AS(tensor_groups(sizes, 0), std::invalid_argument);
}

TEST_CASE("a whole run is charged what mi_dp says, and fits its budget") {
  ferret_mechanism mechanism({.groups = 200, .steps = 1000, .rate = 0.005, .budget = nats(0.5)},
                             participants(3), fixed_stream(1));
  CHECK(mechanism.probability() == Approx(7.2135e-4).epsilon(1e-5));  // the paper's Table 3
  std::vector<double> const scalars(3 * 200, 1.0);
  for (std::size_t t = 1; !mechanism.done(); ++t) {
    (void)mechanism.step(scalars);
    REQUIRE(mechanism.steps() == t);
    REQUIRE(mechanism.account().spent() ==
            mutual_information_bound(ferret{
                .groups = 200, .steps = t, .rate = 0.005, .probability = mechanism.probability()}));
  }
  CHECK(mechanism.steps() == 1000);
  CHECK(mechanism.account().spent() <= nats(0.5));
  CHECK(mechanism.account().spent() > nats(0.5 - 1e-12));
  CHECK_THROWS_AS(mechanism.step(scalars), budget_exhausted);
  CHECK_THROWS_AS(mechanism.dithered(), std::invalid_argument);
}

TEST_CASE("an exact sign, whatever the order and the sizes") {
  ferret_mechanism mechanism(always(4, 1), participants(3), fixed_stream(2));
  CHECK(mechanism.probability() == 1.0);
  // Beyond the clip on both sides; a unit of the grid; what is not finite counts as 0.
  std::vector<double> const g{1.0,  0x1p-30,  -1.0,           //
                              50.0, -0.75,    -0.5,           //
                              -1.0, 0.5,      0.5 + 0x1p-30,  //
                              -0.1, infinity, not_a_number};
  CHECK(mechanism.step(g).coefficients == std::vector<double>{1.0, -1.0, 1.0, -1.0});
}

TEST_CASE("an empty or cancelling sum is a fair coin") {
  std::size_t const steps = 20000;
  ferret_mechanism nobody(always(1, steps), participants(std::vector<bool>{false, false}),
                          fixed_stream(3));
  ferret_mechanism cancelling(always(1, steps), participants(2), fixed_stream(4));
  double plus[2] = {0.0, 0.0};
  for (std::size_t t = 0; t < steps; ++t) {
    double const y[2] = {nobody.step(std::vector<double>{1.0, 1.0}).coefficients[0],
                         cancelling.step(std::vector<double>{0.7, -0.7}).coefficients[0]};
    for (int k = 0; k < 2; ++k) {
      REQUIRE(std::abs(y[k]) == 1.0);
      plus[k] += y[k] > 0.0 ? 1.0 : 0.0;
    }
  }
  // False alarm 1e-6 each.
  CHECK(std::abs(statistics::binomial_score(plus[0], steps, 0.5)) < statistics::normal_limit);
  CHECK(std::abs(statistics::binomial_score(plus[1], steps, 0.5)) < statistics::normal_limit);
}

TEST_CASE("masks and batches have their laws, and only the batch is asked") {
  std::size_t const steps = 4000;
  double const rate = 0.25;
  double const p = 0.3;
  std::size_t const groups = 5;
  nats const budget = mutual_information_bound(
      ferret{.groups = groups, .steps = steps, .rate = rate, .probability = p});
  std::vector<bool> taking_part(8, true);
  taking_part[3] = false;
  ferret_mechanism mechanism({.groups = groups, .steps = steps, .rate = rate, .budget = budget},
                             participants(taking_part), fixed_stream(5));
  CHECK(mechanism.probability() == Approx(p).epsilon(1e-12));
  double fired = 0.0;
  double both = 0.0;        // groups 0 and 1
  double with_batch = 0.0;  // group 0 fires and record 0 takes part
  std::vector<double> asked(8, 0.0);
  double pair = 0.0;  // records 0 and 1
  double any = 0.0;   // steps in which a group fires: in the others nobody is asked
  while (!mechanism.done()) {
    std::vector<std::size_t> batch;
    release const y = mechanism.step([&](std::size_t record, std::span<double> out) {
      REQUIRE((batch.empty() || batch.back() < record));
      batch.push_back(record);
      std::fill(out.begin(), out.end(), 1.0);
    });
    for (std::size_t const i : batch) asked[i] += 1.0;
    bool const first = !batch.empty() && batch[0] == 0;
    pair += first && batch.size() > 1 && batch[1] == 1 ? 1.0 : 0.0;
    for (double const c : y.coefficients) {
      fired += c != 0.0 ? 1.0 : 0.0;
      if (!batch.empty()) REQUIRE(c >= 0.0);  // all scalars are positive
    }
    any += y.held() ? 0.0 : 1.0;
    if (y.held()) REQUIRE(batch.empty());
    both += y.coefficients[0] != 0.0 && y.coefficients[1] != 0.0 ? 1.0 : 0.0;
    with_batch += first && y.coefficients[0] != 0.0 ? 1.0 : 0.0;
  }
  auto const score = [&](double hits, double n, double probability) {
    return std::abs(statistics::binomial_score(hits, n, probability));
  };
  // False alarm 1e-6 each.
  CHECK(score(fired, steps * groups, p) < statistics::normal_limit);
  CHECK(score(both, steps, p * p) < statistics::normal_limit);
  CHECK(score(with_batch, steps, p * rate) < statistics::normal_limit);
  CHECK(score(any, steps, 1.0 - std::pow(1.0 - p, groups)) < statistics::normal_limit);
  CHECK(score(pair, any, rate * rate) < statistics::normal_limit);
  for (std::size_t const i : {0U, 1U, 2U, 7U}) {
    CHECK(score(asked[i], any, rate) < statistics::normal_limit);
  }
  CHECK(asked[3] == 0.0);
}

TEST_CASE("a step whose scalars throw is spent") {
  ferret_mechanism mechanism(always(2, 2), participants(2), fixed_stream(6));
  CHECK_THROWS_AS(mechanism.step([](std::size_t, std::span<double>) {
    throw std::runtime_error("no gradient");
  }),
                  std::runtime_error);
  CHECK(mechanism.steps() == 1);
  CHECK(mechanism.account().spent().value >= 2.0 * std::log(2.0));
  (void)mechanism.step(std::vector<double>(4, 1.0));
  CHECK(mechanism.done());
}

TEST_CASE("the dithered sign has its law, below the bound that is charged") {
  std::size_t const steps = 20000;
  ferret_options options = always(1, steps);
  options.noise_multiplier = 1.5;
  options.clip = 0.25;
  ferret_mechanism mechanism(options, participants(2), fixed_stream(7));
  CHECK(mechanism.dithered().steps == steps);  // whenever the run stops, it is part of T steps
  double plus = 0.0;
  for (std::size_t t = 0; t < steps; ++t) {
    // 0.15 and a clipped 0.25: 1.6 clips.
    plus += mechanism.step(std::vector<double>{0.15, 3.0}).coefficients[0] > 0.0 ? 1.0 : 0.0;
  }
  double const p = statistics::normal_cdf(1.6 / 1.5);
  CHECK(std::abs(statistics::binomial_score(plus, steps, p)) < statistics::normal_limit);

  ferret_dithered const charged = mechanism.dithered();
  CHECK(charged.steps == steps);
  CHECK(charged.groups == 1);
  CHECK(charged.rate == 1.0);
  CHECK(charged.probability == 1.0);
  CHECK(charged.noise_multiplier == 1.5);
  CHECK(epsilon(ferret_dithered{1, 4, 0.1, 0.5, 3.0}, 1e-5).upper > 0.0);

  for (double const rate : {0.05, 0.5, 1.0}) {
    for (double const fires : {0.1, 1.0}) {
      for (double const noise : {0.7, 1.5, 4.0}) {
        for (double const order : {1.5, 2.0, 4.0, 16.0}) {
          ferret_dithered const run{2, 1, rate, fires, noise};
          double const bound = step_divergence(run, order);
          double worst = 0.0;
          for (double const base : {-1.0, 0.0, 0.4, 3.0}) {
            worst = std::max({worst, divergence_of_two(order, run, base, 1.0, -1.0),
                              divergence_of_two(order, run, base, 1.0, 0.0),
                              divergence_of_two(order, run, base, 0.0, 1.0)});
          }
          REQUIRE(worst <= bound);
          if (rate == 1.0 && fires == 1.0 && noise == 4.0 && order < 5.0)
            REQUIRE(worst > 0.3 * bound);
        }
      }
    }
  }
}

TEST_CASE("ferret_mechanism refuses what has no meaning") {
  auto const make = [](auto change) {
    ferret_options options{.groups = 2, .steps = 3, .rate = 0.5, .budget = nats(1.0)};
    change(options);
    return ferret_mechanism(options, participants(2));
  };
  CHECK_NOTHROW(make([](ferret_options&) {}));
  CHECK_THROWS_WITH(make([](ferret_options& o) { o.groups = 0; }),
                    "ferret_mechanism: groups is 0, but must be at least 1");
  CHECK_THROWS_AS(make([](ferret_options& o) { o.steps = 0; }), std::invalid_argument);
  for (double const bad : {0.0, -0.1, 1.1, not_a_number}) {
    CHECK_THROWS_AS(make([&](ferret_options& o) { o.rate = bad; }), std::domain_error);
  }
  for (double const bad : {-1.0, infinity, not_a_number}) {
    CHECK_THROWS_AS(make([&](ferret_options& o) { o.budget = nats(bad); }), std::domain_error);
    CHECK_THROWS_AS(make([&](ferret_options& o) { o.clip = bad; }), std::domain_error);
    CHECK_THROWS_AS(make([&](ferret_options& o) { o.noise_multiplier = bad; }), std::domain_error);
  }
  ferret_mechanism mechanism = make([](ferret_options&) {});
  CHECK_THROWS_AS(mechanism.step(std::vector<double>(3)), std::invalid_argument);
  CHECK(mechanism.steps() == 0);
  ferret_mechanism taken = std::move(mechanism);
  CHECK_THROWS_AS(mechanism.step(std::vector<double>(4)), std::logic_error);  // NOLINT: moved from
  (void)taken.step(std::vector<double>(4));

  // No budget: nothing ever fires.
  ferret_mechanism silent = make([](ferret_options& o) { o.budget = nats(0.0); });
  while (!silent.done()) CHECK(silent.step(std::vector<double>(4, 1.0)).held());
}
