// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/dp_sgd.hpp>
#include <tacit/mechanism/mezo.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_run.hpp>
#include <tacit/train/ferret.hpp>
#include <tacit/train/first_order.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/launch.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/directory.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"
#include "train/small_problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace optimiser_tests {

using namespace tacit;
using namespace small_problem;

namespace {

constexpr optimiser_rule rules[] = {optimiser_rule::sgd, optimiser_rule::momentum,
                                    optimiser_rule::adam, optimiser_rule::adamw};
constexpr optimiser_rule with_state[] = {optimiser_rule::momentum, optimiser_rule::adam,
                                         optimiser_rule::adamw};

train_options by(optimiser_rule rule, direction_law law = direction_law::rademacher) {
  return {.smoothing = 1e-3,
          .learning_rate = 0.02,
          .weight_decay = 0.01,
          .decay = schedule::linear,
          .steps = 60,
          .law = law,
          .seed = 99,
          .optimiser = {.rule = rule, .momentum = 0.8, .beta2 = 0.99, .epsilon = 1e-6}};
}

optimiser_rule rule_called(std::string const& name) {
  auto const at = std::find(detail::optimiser_words.begin(), detail::optimiser_words.end(), name);
  REQUIRE(at != detail::optimiser_words.end());
  return static_cast<optimiser_rule>(at - detail::optimiser_words.begin());
}

}  // namespace

TEST_CASE("an optimiser takes the steps of its paper") {
  support::table const known("optimisers.csv");
  std::vector<float> theta(1);
  std::optional<optimiser_state> state;
  train_options options;
  std::size_t rows = 0;
  for (std::size_t i = 0; i < known.size(); ++i) {
    auto const rule = rule_called(known.text(i, "rule"));
    double const decay = known.number(i, "decay");
    if (i == 0 || rule != options.optimiser.rule || decay != options.weight_decay) {
      options = {.learning_rate = 0.05,
                 .weight_decay = decay,
                 .optimiser = {
                     .rule = rule, .momentum = 0.75, .beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-6}};
      theta[0] = 0.5F;
      state.emplace(options.optimiser, 1);
      rows = 0;
    }
    CAPTURE(known.text(i, "rule"), decay, rows);
    descend(theta, *state, options, rows++, {{static_cast<float>(known.number(i, "gradient"))}});
    double const expected = known.number(i, "theta");
    // The table rounds six times a step where this rounds twice: some units in the last place of θ, of which
    // there have been `rows` steps.
    REQUIRE(std::abs(double{theta[0]} - expected) <=
            0x1p-23 * static_cast<double>(rows) * std::max(1.0, std::abs(expected)));
  }
}

TEST_CASE("the first step of Adam is the learning rate, whatever the gradient's size") {
  for (float const g : {1e-6F, 1.0F, -300.0F}) {
    std::vector<float> theta{0.0F};
    train_options const options{.learning_rate = 0.25,
                                .optimiser = {.rule = optimiser_rule::adam, .epsilon = 1e-30}};
    optimiser_state state(options.optimiser, 1);
    descend(theta, state, options, 0, {{g}});
    CHECK(theta[0] == Approx(g > 0.0F ? -0.25 : 0.25).epsilon(1e-6));
    CHECK(state.first()[0] == Approx(0.1 * double{g}).epsilon(1e-6));
    CHECK(state.second()[0] == Approx(0.001 * double{g} * double{g}).epsilon(1e-6));
  }
}

TEST_CASE("momentum of 0 is sgd, to the rounding of the gradient") {
  std::vector<float> one{0.5F, -0.25F};
  std::vector<float> other = one;
  train_options const plain{.learning_rate = 0.1, .weight_decay = 0.2};
  train_options heavy = plain;
  heavy.optimiser = {.rule = optimiser_rule::momentum, .momentum = 0.0};
  optimiser_state state(heavy.optimiser, 2);
  for (std::size_t t = 0; t < 5; ++t) {
    vector_release const released{{0.3F, -1.5F * static_cast<float>(t)}};
    descend(one, plain, t, released);
    descend(other, state, heavy, t, released);
    CHECK(one == other);
  }
}

TEST_CASE("a replay with an optimiser is the training, bit for bit") {
  for (optimiser_rule const rule : rules) {
    for (std::size_t const k : {1U, 3U}) {
      check_replay<float>(by(rule), k);
      check_replay<half>(by(rule, direction_law::gaussian), k);
      check_replay<bfloat16>(by(rule, direction_law::sphere), k);
    }
  }
}

TEST_CASE("entry by entry an optimiser's pass is what it is by blocks") {
  for (direction_law const law : {direction_law::rademacher, direction_law::gaussian}) {
    std::vector<direction_step> terms;
    for (std::uint64_t k = 0; k < 4; ++k) {
      terms.push_back({direction_at(law, {5, k}, 5000), 0.3F - 0.2F * static_cast<float>(k)});
    }
    for (optimiser_rule const rule : with_state) {
      optimiser_state blocks(by(rule).optimiser, 3000);
      optimiser_state entries = blocks;
      std::vector<optimiser_step> steps{blocks.next(0.1, 0.01), {}, blocks.next(0.05, 0.01)};
      std::vector<float> theta(3000, 0.25F);
      std::vector<float> other = theta;
      for (optimiser_step const& step : steps) {
        optimise const pass{theta.data(), blocks.at(0), {terms.data(), 4}, step, 77};
        sweep(pass, theta.size());
        optimise const single{other.data(), entries.at(0), {terms.data(), 4}, step, 77};
        for (std::size_t i = 0; i < other.size(); ++i) single(i);
      }
      CHECK(theta == other);
      retrace_optimised const both{
          theta.data(), blocks.at(0), 1e-3F, {terms.data(), 4}, steps.data(), 2, 77};
      sweep(both, theta.size());
      retrace_optimised const each{
          other.data(), entries.at(0), 1e-3F, {terms.data(), 4}, steps.data(), 2, 77};
      for (std::size_t i = 0; i < other.size(); ++i) each(i);
      CHECK(theta == other);
      CHECK(std::ranges::equal(blocks.first(), entries.first()));
      CHECK(std::ranges::equal(blocks.second(), entries.second()));
      CHECK(blocks.second().empty() == (rule == optimiser_rule::momentum));
    }
  }
}

TEST_CASE("an optimiser brings the loss down") {
  for (optimiser_rule const rule : with_state) {
    std::vector<float> theta = start();
    train_options options = by(rule);
    options.steps = 600;
    options.weight_decay = 0.0;
    options.learning_rate = rule == optimiser_rule::momentum ? 0.1 : 0.02;
    mezo mechanism({.steps = 600}, records);
    trainer run{mechanism, options, theta};
    while (!run.done()) run.step(loss);
    std::vector<double> before(records);
    std::vector<double> after(records);
    loss(start(), before);
    loss(theta, after);
    CHECK(after[0] < 0.4 * before[0]);
  }
}

TEST_CASE("the pull form with an optimiser is the trainer, bit for bit") {
  for (optimiser_rule const rule : with_state) {
    train_options const options = by(rule);
    std::vector<float> mine = start();
    std::vector<double> plus(records);
    std::vector<double> minus(records);
    mezo pulled({.directions = 2, .steps = 20}, records);
    zeroth_order_loop loop(pulled, options, dimension);
    optimiser_state state(options.optimiser, dimension);
    CHECK_THROWS_AS(loop.step(), std::logic_error);
    CHECK(pulled.steps() == 0);
    while (!loop.done()) {
      for (std::size_t k = 0; k < loop.directions().size(); ++k) {
        perturb const there{mine.data(), loop.directions()[k], loop.smoothing()};
        sweep(there, dimension);
        loss(mine, plus);
        sweep(there.flip(), dimension);
        loss(mine, minus);
        sweep(there.restore(), dimension);
        two_point_scalars(plus, minus, loop.smoothing(), loop.scalars(k));
      }
      optimised_step const next = loop.step(state);
      sweep(optimise{mine.data(), state.at(0), next.terms, next.by}, dimension);
    }
    CHECK(mine == trained(options));
    CHECK(state.releases() == 20);
    optimiser_state late(options.optimiser, dimension);
    mezo other({.steps = 20}, records);
    zeroth_order_loop again(other, options, dimension);
    late.count();
    CHECK_THROWS_AS(again.step(late), std::invalid_argument);
    optimiser_state another({}, dimension);
    CHECK_THROWS_AS(again.step(another), std::invalid_argument);
    CHECK(other.steps() == 0);
  }
}

TEST_CASE("a resumed run with an optimiser ends where an unbroken one does") {
  for (optimiser_rule const rule : with_state) {
    support::directory const folder;
    candidate_set const candidates =
        candidate_set::balanced({.records = records, .subsets = 16}, 11);
    paczero_options const mechanism_options{
        .steps = 60, .budget = nats(0.5), .otherwise = disagreement::hold};
    train_options const options = by(rule);
    std::vector<float> theta = start();
    run_record const record{.mechanism = describe(mechanism_options, candidates),
                            .training = options,
                            .symbols = symbol_kind::held_sign,
                            .magnitude = 1.0,
                            .tensors = tensors_of(theta),
                            .start = hash_of(theta)};
    {
      saved_run run(paczero(mechanism_options, candidates), folder / "state");
      journal log = journal::create(folder / "journal", record);
      journaled recorded{run, log};
      trainer half_way{recorded, options, theta};
      for (int t = 0; t < 25; ++t) half_way.step(loss);
    }
    std::vector<float> const left = theta;
    theta = start();
    auto run = saved_run<paczero<>>::resume(folder / "state");
    journal log = journal::resume(folder / "journal", record);
    journaled recorded{run, log};
    trainer rest{recorded, options, theta};
    rest.replay(run.transcript());
    CHECK(theta == left);
    while (!rest.done()) rest.step(loss);

    transcript const sealed = transcript::parse(log.seal().sealed());
    std::vector<float> again = start();
    tacit::replay(again, sealed);
    CHECK(again == theta);

    // In pieces, as the calculator replays.
    std::vector<float> pieces = start();
    optimiser_state state(options.optimiser, dimension);
    replay(pieces, state, sealed, 0, 17);
    CHECK_THROWS_AS(replay(pieces, sealed, 17, 60), std::invalid_argument);
    replay(pieces, state, sealed, 17, 60);
    CHECK(pieces == theta);

    train_options another = options;
    another.optimiser.momentum = 0.81;
    another.optimiser.beta1 = 0.91;
    run_record different = record;
    different.training = another;
    (void)journal::create(folder / "other", different);
    CHECK_THROWS_AS(journal::resume(folder / "other", record), std::invalid_argument);
  }
}

TEST_CASE("a first-order run with an optimiser replays, whole and from a checkpoint") {
  noisy_sum_options const ten{.clip = 1.0,
                              .noise_multiplier = 0.4,
                              .rate = 0.5,
                              .expected_records = static_cast<double>(records),
                              .steps = 10};
  for (optimiser_rule const rule : with_state) {
    train_options options = by(rule);
    options.steps = 10;
    std::vector<float> const from{0.1F, -3.0F, 1e-3F, 7.0F, 0.0F};
    std::vector<float> theta = from;
    dp_sgd mechanism(ten, theta.size(), records, fixed_stream(21));
    first_order_trainer run{mechanism, options, theta};
    std::vector<vector_release> releases;
    while (!run.done()) {
      releases.push_back(run.step([&](std::size_t i, std::span<float> out) {
        for (std::size_t j = 0; j < out.size(); ++j) out[j] = theta[j] - static_cast<float>(i);
      }));
    }
    std::vector<float> again = from;
    replay(again, options, releases);
    CHECK(again == theta);
    again = from;
    optimiser_state state(options.optimiser, again.size());
    replay(again, state, options, std::span(releases).first(4));
    CHECK_THROWS_AS(replay(again, options, releases, 4), std::invalid_argument);
    CHECK_THROWS_AS(descend(again, options, 4, releases[4]), std::invalid_argument);
    CHECK_THROWS_AS(descend(again, state, options, 5, releases[4]), std::invalid_argument);
    replay(again, state, options, releases, 4);
    CHECK(again == theta);
  }
}

TEST_CASE("groups that do not fire wait, each with its own clock") {
  std::vector<parameter_range> const groups{{0, 5}, {5, 69}};
  train_options const options{.optimiser = {.rule = optimiser_rule::adamw, .epsilon = 1e-30}};
  std::vector<float> theta(69, 1.0F);
  optimiser_state state(options.optimiser, 69, 2);
  step_on_groups(theta, state, {11, 0}, groups, {{1.0, 0.0}}, 0.25, options);
  CHECK(std::abs(theta[0] - 1.0F) == Approx(0.25).epsilon(1e-6));
  CHECK(theta[5] == 1.0F);
  CHECK(state.second()[5] == 0.0F);
  // The first step of the second group, not its second.
  step_on_groups(theta, state, {11, 1}, groups, {{0.0, -1.0}}, 0.25, options);
  CHECK(std::abs(theta[5] - 1.0F) == Approx(0.25).epsilon(1e-6));
  CHECK(state.releases() == 2);

  optimiser_state one(options.optimiser, 69);
  CHECK_THROWS_AS(step_on_groups(theta, one, {11, 0}, groups, {{1.0, 1.0}}, 0.25, options),
                  std::invalid_argument);
  optimiser_state other({.rule = optimiser_rule::momentum}, 69, 2);
  CHECK_THROWS_AS(step_on_groups(theta, other, {11, 0}, groups, {{1.0, 1.0}}, 0.25, options),
                  std::invalid_argument);
}

TEST_CASE("an optimiser's option out of range is refused by name") {
  std::vector<float> theta = start();
  mezo mechanism({}, records);
  auto const make = [&](optimiser_options const& o, double rate = 0.1) {
    trainer{mechanism, {.smoothing = 1e-3, .learning_rate = rate, .optimiser = o}, theta};
  };
  auto const momentum = optimiser_rule::momentum;
  auto const adam = optimiser_rule::adam;
  CHECK_THROWS_WITH(make({.rule = momentum, .momentum = 1.0}),
                    "trainer: momentum is 1, but must be in [0, 1 - 2^-20]");
  for (double const bad : {-0.1, 1.0, infinity, not_a_number}) {
    CHECK_THROWS_AS(make({.rule = momentum, .momentum = bad}), std::domain_error);
    CHECK_THROWS_AS(make({.rule = adam, .beta1 = bad}), std::domain_error);
    CHECK_THROWS_AS(make({.rule = adam, .beta2 = bad}), std::domain_error);
  }
  for (double const bad : {0.0, -1e-8, infinity, not_a_number}) {
    CHECK_THROWS_AS(make({.rule = optimiser_rule::adamw, .epsilon = bad}), std::domain_error);
  }
  CHECK_THROWS_AS(make({.rule = adam}, 1e31), std::domain_error);
  CHECK_THROWS_AS(make({.rule = static_cast<optimiser_rule>(7)}), std::invalid_argument);
  CHECK_NOTHROW(make({.rule = momentum, .momentum = 0.0, .beta1 = not_a_number}));
}

}  // namespace optimiser_tests
