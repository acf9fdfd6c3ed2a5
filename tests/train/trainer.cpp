// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/dpzero.hpp>
#include <tacit/mechanism/mezo.hpp>
#include <tacit/train/trainer.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "train/small_problem.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

namespace trainer_tests {

using namespace tacit;
using namespace small_problem;

namespace {

// A mechanism that releases what a test tells it to.
struct scripted {
  std::vector<release> says;
  std::size_t k = 1;
  std::size_t at = 0;
  std::vector<double> seen = {};

  std::size_t records() const { return small_problem::records; }
  std::size_t directions() const { return k; }
  std::size_t steps() const { return at; }
  bool done() const { return at == says.size(); }
  release step(std::span<double const> scalars) {
    seen.assign(scalars.begin(), scalars.end());
    return says.at(at++);
  }
};

train_options const plain{.smoothing = 1e-3, .learning_rate = 0.05, .seed = 7};

}  // namespace

TEST_CASE("a mechanism without a direction is refused") {
  std::vector<float> theta = start();
  scripted mechanism{.says = {release{}}, .k = 0};
  trainer run{mechanism, plain, theta};
  CHECK_THROWS_AS(run.step(loss), std::invalid_argument);
  CHECK(theta == start());
}

TEST_CASE("a trainer brings the loss down") {
  for (direction_law const law :
       {direction_law::rademacher, direction_law::gaussian, direction_law::sphere}) {
    std::vector<float> theta = start();
    mezo mechanism({.steps = 1000}, records);
    trainer run{mechanism,
                {.smoothing = 1e-3,
                 .learning_rate = 0.5,
                 .decay = schedule::linear,
                 .steps = 1000,
                 .law = law,
                 .seed = 7},
                theta};
    double const before = mean_loss(theta);
    while (!run.done()) run.step(loss);
    CHECK(mechanism.steps() == 1000);
    CHECK(mean_loss(theta) < 0.1 * before);
  }
}

TEST_CASE("one step is the formula") {
  for (std::size_t const k : {1U, 3U}) {
    scripted mechanism{{{std::vector<double>(k, 0.0)}, {std::vector<double>(k, 0.0)}}, k};
    for (std::size_t j = 0; j < k; ++j) mechanism.says[1].coefficients[j] = 0.25 - 0.5 * double(j);
    train_options const options{.smoothing = 1e-3,
                                .learning_rate = 0.1,
                                .weight_decay = 0.2,
                                .decay = schedule::linear,
                                .steps = 4,
                                .law = direction_law::gaussian,
                                .seed = 5};
    std::vector<float> theta = start();
    trainer run{mechanism, options, theta};
    CHECK(run.step(loss).held());
    for (std::size_t i = 0; i < dimension; ++i) {
      REQUIRE(theta[i] == Approx(start()[i]).margin(1e-6));  // a hold: no decay either
    }
    std::vector<float> const before = theta;
    run.step(loss);
    double const rate = 0.1 * 3.0 / 4.0;
    for (std::size_t i = 0; i < dimension; ++i) {
      double expected = (1.0 - rate * 0.2) * double{before[i]};
      for (std::size_t j = 0; j < k; ++j) {
        direction const z =
            direction_at(direction_law::gaussian, {.seed = 5, .step = k + j}, dimension);
        expected -= rate * mechanism.says[1].coefficients[j] * double{z(i)};
      }
      REQUIRE(theta[i] == Approx(expected).margin(1e-6));
    }
  }
}

TEST_CASE("the mechanism sees the two-point scalars, direction by direction") {
  scripted mechanism{{{{0.5, 0.5}}}, 2};
  std::vector<float> theta = start();
  trainer run{mechanism, plain, theta};
  run.step(loss);
  std::vector<direction> const z{direction_at(plain.law, {.seed = 7, .step = 0}, dimension),
                                 direction_at(plain.law, {.seed = 7, .step = 1}, dimension)};
  std::vector<double> expected(2 * records);
  std::vector<float> again = start();
  two_point(again, z, 1e-3, loss, expected);
  CHECK(mechanism.seen == expected);
}

namespace {

// Counts passes over a tensor.
struct counting {
  std::size_t* passes;

  template <class Pass>
  void operator()(Pass const& pass, std::size_t count) const {
    ++*passes;
    sweep(pass, count);
  }
};

}  // namespace

TEST_CASE("a replay of the releases is the training, bit for bit") {
  for (direction_law const law :
       {direction_law::rademacher, direction_law::gaussian, direction_law::sphere}) {
    for (std::size_t const k : {1U, 2U}) {
      train_options const options{.smoothing = 1e-3,
                                  .learning_rate = 0.3,
                                  .weight_decay = 0.01,
                                  .decay = schedule::linear,
                                  .steps = 60,
                                  .law = law,
                                  .seed = 99};
      check_replay<float>(options, k);
      check_replay<half>(options, k);
      check_replay<bfloat16>(options, k);
    }
  }
}

TEST_CASE("a step is three passes over the parameters, a hold too") {
  scripted mechanism{{{{1.0}}, {{0.0}}}};
  std::vector<float> theta = start();
  std::size_t passes = 0;
  trainer run{mechanism, plain, theta, counting{&passes}};
  run.step(loss);
  CHECK(passes == 3);
  run.step(loss);
  CHECK(passes == 6);
}

TEST_CASE("a trainer with a resumed mechanism insists on the replay") {
  std::vector<release> const said{{{1.0}}, {{0.0}}, {{-1.0}}, {{1.0}}};
  std::vector<float> theta = start();
  scripted whole{said};
  trainer run{whole, plain, theta};
  while (!run.done()) run.step(loss);

  std::vector<float> again = start();
  scripted resumed{said, 1, 2};
  trainer rest{resumed, plain, again};
  CHECK_THROWS_AS(rest.step(loss), std::invalid_argument);
  CHECK(again == start());
  CHECK_THROWS_AS(rest.replay(said), std::invalid_argument);
  rest.replay(std::span(said).first(2));
  while (!rest.done()) rest.step(loss);
  CHECK(again == theta);
}

TEST_CASE("the pull form with the library's functors is the trainer, bit for bit") {
  train_options const options{
      .smoothing = 1e-3, .learning_rate = 0.2, .weight_decay = 0.1, .seed = 21};
  std::vector<float> mine = start();
  std::vector<double> plus(records);
  std::vector<double> minus(records);
  mezo pulled({.directions = 2, .steps = 20}, records);
  zeroth_order_loop loop(pulled, options, dimension);
  while (!loop.done()) {
    float const mu = loop.smoothing();
    for (std::size_t k = 0; k < loop.directions().size(); ++k) {
      direction const z = loop.directions()[k];
      for (std::size_t i = 0; i < dimension; ++i) perturb{mine.data(), z, mu}(i);
      loss(mine, plus);
      for (std::size_t i = 0; i < dimension; ++i) perturb{mine.data(), z, -2.0F * mu}(i);
      loss(mine, minus);
      for (std::size_t i = 0; i < dimension; ++i) perturb{mine.data(), z, mu}(i);
      two_point_scalars(plus, minus, mu, loop.scalars(k));
    }
    update const moved{mine.data(), loop.step()};
    for (std::size_t i = 0; i < dimension; ++i) moved(i);
  }
  CHECK(mine == trained(options));
}

TEST_CASE("a direction that is never measured holds the step") {
  mezo mechanism({.directions = 2}, records);
  zeroth_order_loop loop(mechanism, plain, dimension);
  for (double& x : loop.scalars(0)) x = 1.0;
  direction_steps const moved = loop.step();
  CHECK(moved.size() == 2);
  CHECK(moved[0].step != 0.0F);
  CHECK(moved[1].step == 0.0F);
  CHECK(loop.released().coefficients[1] == 0.0);
  CHECK(loop.step().size() == 0);
  CHECK(loop.released().held());
  CHECK_THROWS_AS(loop.scalars(2), std::invalid_argument);
}

TEST_CASE("a loss that throws costs no step") {
  std::vector<float> theta = start();
  mezo mechanism({}, records);
  trainer run{mechanism, plain, theta};
  CHECK_THROWS_AS(run.step([](std::span<float const>, std::span<double>) {
    throw std::runtime_error("out of memory");
  }),
                  std::runtime_error);
  CHECK(mechanism.steps() == 0);
  for (std::size_t i = 0; i < dimension; ++i) {
    REQUIRE(theta[i] == Approx(start()[i]).margin(1e-6));
  }
  run.step(loss);
  CHECK(mechanism.steps() == 1);
}

namespace {

noisy_sum_options sampled_at(double rate, std::size_t steps) {
  return {.clip = 1.0,
          .noise_multiplier = 0.5,
          .rate = rate,
          .expected_records = static_cast<double>(records),
          .steps = steps};
}

// The same numbers as `loss`, and how many there were.
struct counted_loss {
  std::size_t* passes;

  void operator()(std::span<float const> theta, std::span<std::size_t const> batch,
                  std::span<double> losses) const {
    REQUIRE(batch.size() == losses.size());
    REQUIRE(!batch.empty());
    std::vector<double> all(small_problem::records);
    loss(theta, all);
    for (std::size_t j = 0; j < batch.size(); ++j) losses[j] = all.at(batch[j]);
    *passes += batch.size();
  }
};

// Says what batches a mechanism drew.
template <class Mechanism>
struct watched_batches {
  Mechanism* mechanism;
  std::size_t drawn = 0;

  std::size_t records() const { return mechanism->records(); }
  std::size_t directions() const { return mechanism->directions(); }
  std::size_t steps() const { return mechanism->steps(); }
  bool done() const { return mechanism->done(); }
  std::span<std::size_t const> batch() { return mechanism->batch(); }
  release step(std::span<double const> scalars) {
    drawn += mechanism->batch().size();
    return mechanism->step(scalars);
  }
};

}  // namespace

TEST_CASE("a batch's losses are all that is evaluated, and a loss of all gives the same") {
  constexpr std::size_t steps = 40;
  for (std::size_t const k : {1U, 3U}) {
    dp_aggzo mechanism(sampled_at(0.1, steps), k, records, fixed_stream(3));
    watched_batches<dp_aggzo<secret_stream>> watched{&mechanism};
    std::vector<float> theta = start();
    trainer run{watched, plain, theta};
    std::size_t passes = 0;
    std::vector<release> transcript;
    while (!run.done()) transcript.push_back(run.step(counted_loss{&passes}));
    CHECK(passes == 2 * k * watched.drawn);
    CHECK(passes > 0);
    CHECK(passes < 2 * k * steps * records / 4);  // of 480 coins of a tenth, not 120 heads

    std::vector<float> rebuilt = start();
    replay(rebuilt, plain, transcript);
    CHECK(rebuilt == theta);

    dp_aggzo same(sampled_at(0.1, steps), k, records, fixed_stream(3));
    std::vector<float> again = start();
    trainer all{same, plain, again};
    while (!all.done()) all.step(loss);
    CHECK(again == theta);
  }
}

TEST_CASE("a mechanism of all records takes a loss of batches too") {
  std::vector<float> theta = start();
  mezo mechanism({.steps = 5}, records);
  trainer run{mechanism, plain, theta};
  std::size_t passes = 0;
  while (!run.done()) run.step(counted_loss{&passes});
  CHECK(passes == 5 * 2 * records);
  std::vector<float> again = start();
  mezo same({.steps = 5}, records);
  trainer all{same, plain, again};
  while (!all.done()) all.step(loss);
  CHECK(again == theta);
}

TEST_CASE("a loss that throws keeps its batch, which is charged once") {
  dpzero mechanism(sampled_at(0.5, 2), records, fixed_stream(5));
  std::vector<float> theta = start();
  trainer run{mechanism, plain, theta};
  std::vector<std::size_t> lost;
  auto const broken = [&](parameters const&, record_indices batch, std::span<double>) {
    lost.assign(batch.begin(), batch.end());
    throw std::runtime_error("out of memory");
  };
  CHECK_THROWS_AS(run.step(broken), std::runtime_error);
  CHECK(mechanism.steps() == 0);
  REQUIRE(!lost.empty());
  std::vector<std::size_t> kept;
  run.step([&](tensor_views tensors, record_indices batch, std::span<double> losses) {
    kept.assign(batch.begin(), batch.end());
    REQUIRE(tensors.size() == 1);
    std::fill(losses.begin(), losses.end(), 0.0);
  });
  CHECK(kept == lost);
  CHECK(mechanism.steps() == 1);
  run.step(loss);
  CHECK(run.done());
}

TEST_CASE("the pull form says which records a batch has") {
  train_options const options{.smoothing = 1e-3, .learning_rate = 0.2, .seed = 21};
  dp_aggzo pushed(sampled_at(0.3, 12), 2, records, fixed_stream(6));
  std::vector<float> theta = start();
  trainer run{pushed, options, theta};
  while (!run.done()) run.step(loss);

  dp_aggzo pulled(sampled_at(0.3, 12), 2, records, fixed_stream(6));
  std::vector<float> mine = start();
  zeroth_order_loop loop(pulled, options, dimension);
  CHECK(loop.records() == records);
  while (!loop.done()) {
    record_indices const batch = loop.batch();
    std::vector<double> plus(batch.size());
    std::vector<double> minus(batch.size());
    auto const measure = [&](std::vector<double>& out) {
      std::vector<double> all(records);
      loss(mine, all);
      for (std::size_t j = 0; j < batch.size(); ++j) out[j] = all[batch[j]];
    };
    for (std::size_t k = 0; k < loop.directions().size(); ++k) {
      perturb const there{mine.data(), loop.directions()[k], loop.smoothing()};
      sweep(there, dimension);
      measure(plus);
      sweep(there.flip(), dimension);
      measure(minus);
      sweep(there.restore(), dimension);
      two_point_scalars(plus, minus, loop.smoothing(), loop.scalars(k));
    }
    sweep(update{mine.data(), loop.step()}, dimension);
  }
  CHECK(mine == theta);

  mezo all({.steps = 1}, records);
  zeroth_order_loop every(all, options, dimension);
  REQUIRE(every.batch().size() == records);
  for (std::size_t i = 0; i < records; ++i) REQUIRE(every.batch()[i] == i);
}

TEST_CASE("a forgotten or impossible option is refused by name") {
  std::vector<float> theta = start();
  mezo mechanism({}, records);
  auto const make = [&](train_options const& options) { trainer{mechanism, options, theta}; };
  double const nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_THROWS_WITH(make({.learning_rate = 1e-2}),
                    "trainer: smoothing is nan, but must be positive and finite");
  CHECK_THROWS_WITH(make({.smoothing = 1e-3}),
                    "trainer: learning_rate is nan, but must be positive and finite");
  CHECK_THROWS_AS(make({.smoothing = -1e-3, .learning_rate = 1e-2}), std::domain_error);
  CHECK_THROWS_AS(make({.smoothing = 1e-3, .learning_rate = 1e300}), std::domain_error);
  CHECK_THROWS_WITH(make({.smoothing = 1e-3, .learning_rate = 1e-2, .weight_decay = nan}),
                    "trainer: weight_decay is nan, but must be finite and at least 0");
  CHECK_THROWS_AS(make({.smoothing = 1e-3, .learning_rate = 1e-2, .weight_decay = 101.0}),
                  std::domain_error);
  CHECK_THROWS_WITH(make({.smoothing = 1e-3, .learning_rate = 1e-2, .decay = schedule::linear}),
                    "trainer: steps is 0, but must be at least 1 for a linear schedule");
  CHECK_THROWS_AS(replay(theta, plain, {}, 1), std::invalid_argument);
  CHECK_THROWS_AS(replay(theta, plain, std::vector<release>(1)), std::invalid_argument);
  std::vector<release> const ragged{{{1.0}}, {{1.0, 1.0}}};
  std::vector<float> const before = theta;
  CHECK_THROWS_AS(replay(theta, plain, ragged), std::invalid_argument);
  CHECK(theta == before);
}

}  // namespace trainer_tests
