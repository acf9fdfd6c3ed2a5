// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/mezo.hpp>
#include <tacit/train/ferret.hpp>
#include <tacit/train/first_order.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>

#include "support/catch.hpp"
#include "support/directory.hpp"
#include "train/small_problem.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

/// Training whose updates are rounded at random, and its replay.

namespace rounding_tests {

using namespace tacit;
using namespace small_problem;

namespace {

train_options options_of(rounding_mode rounding, direction_law law = direction_law::rademacher) {
  return {.smoothing = 1e-2,
          .learning_rate = 0.05,
          .weight_decay = 0.1,
          .decay = schedule::linear,
          .steps = 60,
          .law = law,
          .seed = 7,
          .rounding = rounding};
}

template <class T>
void loss_of(parameters const& at, std::span<double> losses) {
  std::vector<float> whole;
  for (tensor const& one : at.all()) {
    for (T const x : std::get<std::span<T>>(one.entries)) whole.push_back(to_float(x));
  }
  loss(whole, losses);
}

// Releases what it is told, of K directions.
struct told {
  std::vector<release> says;
  std::size_t at = 0;

  std::size_t records() const { return small_problem::records; }
  std::size_t directions() const { return says.front().coefficients.size(); }
  std::size_t steps() const { return at; }
  bool done() const { return at == says.size(); }
  release step(std::span<double const>) { return says.at(at++); }
};

template <class T>
std::vector<T> trained_by(std::vector<release> const& says, train_options const& options) {
  std::vector<T> theta = start<T>();
  told mechanism{says};
  trainer run{mechanism, options, view(theta)};
  while (!run.done()) run.step(loss_of<T>);
  return theta;
}

std::vector<release> some_releases(std::size_t steps, std::size_t k) {
  std::vector<release> out(steps);
  for (std::size_t t = 0; t < steps; ++t) {
    for (std::size_t j = 0; j < k; ++j) {
      double const y = std::sin(static_cast<double>(3 * t + j));
      out[t].coefficients.push_back(t % 5 == 3 ? 0.0 : y);
    }
  }
  return out;
}

template <class T>
void check_by_definition(std::size_t k, direction_law law) {
  train_options const options = options_of(rounding_mode::stochastic, law);
  std::vector<release> const says = some_releases(20, k);
  std::vector<T> theta = start<T>();
  for (std::size_t t = 0; t < says.size(); ++t) {
    double const rate = 0.05 * (60.0 - static_cast<double>(t)) / 60.0;
    std::vector<direction_step> terms;
    for (std::size_t j = 0; j < k; ++j) {
      direction const z = direction_at(law, {.seed = 7, .step = k * t + j}, dimension);
      terms.push_back({z, static_cast<float>(-rate * says[t].coefficients[j]),
                       j == 0 ? static_cast<float>(rate * 0.1) : 0.0F});
      for (float const amount : {1e-2F, -2e-2F, 1e-2F}) {
        for (std::size_t i = 0; i < dimension; ++i) perturb<T>{theta.data(), z, amount}(i);
      }
    }
    if (says[t].held()) continue;
    direction_steps const all{terms.data(), terms.size()};
    stream_id const draws{.seed = 7, .step = t, .use = purpose::rounding};
    for (std::size_t i = 0; i < dimension; ++i) {
      float x = to_float(theta[i]);
      update{&x, all, i}(0);
      theta[i] = rounded_at_random<T>(x, random_bits32(draws, i));
    }
  }
  CHECK(trained_by<T>(says, options) == theta);
  CHECK_FALSE(trained_by<T>(says, options_of(rounding_mode::nearest, law)) == theta);
}

run_record record_of(parameters const& theta, train_options const& options) {
  return {.mechanism = {"told", {}},
          .training = options,
          .directions = 2,
          .symbols = symbol_kind::scalar,
          .tensors = tensors_of(theta),
          .start = hash_of(theta)};
}

}  // namespace

TEST_CASE("a step rounded at random is its definition, entry by entry") {
  for (direction_law const law :
       {direction_law::rademacher, direction_law::gaussian, direction_law::sphere}) {
    for (std::size_t const k : {1U, 3U}) {
      check_by_definition<half>(k, law);
      check_by_definition<bfloat16>(k, law);
    }
  }
}

TEST_CASE("a run rounded at random is replayed, whole and from halfway") {
  for (direction_law const law :
       {direction_law::rademacher, direction_law::gaussian, direction_law::sphere}) {
    for (std::size_t const k : {1U, 2U}) {
      check_replay<half>(options_of(rounding_mode::stochastic, law), k);
      check_replay<bfloat16>(options_of(rounding_mode::stochastic, law), k);
    }
  }
}

// More steps than retrace_steps holds the terms of at a time: the draws go on where they were.
TEST_CASE("a long run is replayed in parts") {
  train_options const options = options_of(rounding_mode::stochastic);
  std::vector<release> const says = some_releases(40, 600);
  std::vector<bfloat16> const theta = trained_by<bfloat16>(says, options);
  std::vector<bfloat16> again = start<bfloat16>();
  replay(view(again), options, says);
  CHECK(again == theta);
}

TEST_CASE("to the nearest nothing has changed") {
  for (std::size_t const k : {1U, 2U}) {
    train_options const before = options_of(rounding_mode::nearest);
    check_replay<half>(before, k);
    std::vector<release> const says = some_releases(20, k);
    std::vector<bfloat16> theta = start<bfloat16>();
    told mechanism{says};
    zeroth_order_loop loop(mechanism, before, dimension);
    while (!loop.done()) {
      for (direction const& z : loop.directions()) {
        perturb_all(view(theta), z, 1e-2F);
        perturb_all(view(theta), z, -2e-2F);
        perturb_all(view(theta), z, 1e-2F);
      }
      update_all(view(theta), loop.step());
    }
    CHECK(trained_by<bfloat16>(says, before) == theta);
  }
}

TEST_CASE("a loop of one's own rounds by the loop's draws") {
  train_options const options = options_of(rounding_mode::stochastic);
  std::vector<release> const says = some_releases(20, 2);
  std::vector<half> theta = start<half>();
  told mechanism{says};
  zeroth_order_loop loop(mechanism, options, dimension);
  while (!loop.done()) {
    for (direction const& z : loop.directions()) {
      perturb_all(view(theta), z, 1e-2F);
      perturb_all(view(theta), z, -2e-2F);
      perturb_all(view(theta), z, 1e-2F);
    }
    CHECK_THROWS_AS(loop.step(), std::logic_error);  // and nothing is released
    rounded_step const next = loop.step_rounded();
    stochastic_update_all(view(theta), next.terms, next.rounding);
  }
  train_options const nearest = options_of(rounding_mode::nearest);
  told other{says};
  zeroth_order_loop plain(other, nearest, dimension);
  CHECK_THROWS_AS(plain.step_rounded(), std::logic_error);
  CHECK(other.at == 0);
  CHECK(trained_by<half>(says, options) == theta);
}

TEST_CASE("float tensors among others are rounded as ever") {
  std::vector<release> const says = some_releases(20, 1);
  auto const run_of = [&](rounding_mode rounding) {
    std::vector<float> norms(40, 0.3F);
    std::vector<bfloat16> weights(40, rounded_to<bfloat16>(0.3F));
    told mechanism{says};
    parameters const theta(
        std::vector<tensor>{{.entries = std::span(norms)}, {.entries = std::span(weights)}});
    trainer run{mechanism, options_of(rounding), theta};
    while (!run.done()) run.step([](parameters const&, std::span<double>) {});
    return std::pair(norms, weights);
  };
  auto const near = run_of(rounding_mode::nearest);
  auto const random = run_of(rounding_mode::stochastic);
  CHECK(near.first == random.first);
  CHECK_FALSE(near.second == random.second);
}

// 1000 steps of 1e-4 up or down along one sign an entry, where half a unit of bfloat16 is 2^-9 or 2^-8: to the
// nearest no entry moves. At random an entry's variance is below 1000·2^-7·1e-4, so that the mean over d = 4096
// deviates by less than 4.4e-4; 2.7e-3 is more than six of that, which happens once in 5e8 runs.
TEST_CASE("updates below half a unit add up on average", "[long]") {
  std::size_t const d = 4096;
  auto const moved_by = [&](rounding_mode rounding) {
    std::vector<bfloat16> theta(d, rounded_to<bfloat16>(1.0F));
    double sum = 0.0;
    train_options const options{
        .smoothing = 0x1p-6, .learning_rate = 1e-4, .seed = 3, .rounding = rounding};
    // Each step pulls all entries up: its coefficient has the sign of z_0, and what is summed is along z.
    told mechanism{std::vector<release>(1000, release{{1.0}})};
    std::vector<double> expected(d, 0.0);
    for (std::size_t t = 0; t < 1000; ++t) {
      direction const z = direction_at(direction_law::rademacher, {.seed = 3, .step = t}, d);
      for (std::size_t i = 0; i < d; ++i) expected[i] -= 1e-4 * double{z(i)};
    }
    trainer run{mechanism, options, parameters(std::vector<tensor>{{.entries = std::span(theta)}})};
    while (!run.done()) run.step([](parameters const&, std::span<double>) {});
    double norm = 0.0;
    for (std::size_t i = 0; i < d; ++i) {
      sum += (double{to_float(theta[i])} - 1.0) * expected[i];
      norm += expected[i] * expected[i];
    }
    return sum / norm;  // 1 if θ moved as it should on average
  };
  CHECK(moved_by(rounding_mode::nearest) == 0.0);
  // The variance of the ratio is at most 1000·2^-7·1e-4/Σexpected², and Σexpected² is near 4096·1000·1e-8 = 0.041.
  CHECK(std::fabs(moved_by(rounding_mode::stochastic) - 1.0) < 6.5 * std::sqrt(7.9e-4 / 0.039));
}

TEST_CASE("a transcript names the rounding, and replays by it") {
  for (rounding_mode const rounding : {rounding_mode::nearest, rounding_mode::stochastic}) {
    std::vector<bfloat16> theta = start<bfloat16>();
    run_record const record = record_of(view(theta), options_of(rounding));
    std::vector<double> all;
    for (release const& one : some_releases(20, 2)) {
      all.insert(all.end(), one.coefficients.begin(), one.coefficients.end());
    }
    transcript const sealed = transcript::parse(transcript(record, all).sealed());
    CHECK(sealed.run().training.rounding == rounding);
    replay(view(theta), sealed);
    CHECK(theta == trained_by<bfloat16>(some_releases(20, 2), options_of(rounding)));
  }
}

// Stopped after ten steps and an update that was on disk, but not applied.
TEST_CASE("a run that was stopped goes on to the same bits") {
  support::directory const folder;
  train_options const options = options_of(rounding_mode::stochastic);
  std::vector<release> const says = some_releases(20, 2);
  std::vector<half> theta = start<half>();
  run_record const record = record_of(view(theta), options);
  {
    journal log = journal::create(folder / "j", record);
    for (std::size_t t = 0; t < 10; ++t) log.append(says[t].coefficients);
  }
  journal log = journal::resume(folder / "j", record);
  told mechanism{says, log.steps()};
  journaled recorded{mechanism, log};
  trainer run{recorded, options, view(theta)};
  CHECK_THROWS_AS(run.step(loss_of<half>), std::invalid_argument);
  run.replay(releases_of(log.seal()));
  while (!run.done()) run.step(loss_of<half>);
  CHECK(theta == trained_by<half>(says, options));
  // The same journal is not one of a run to the nearest.
  run_record other = record;
  other.training.rounding = rounding_mode::nearest;
  CHECK_THROWS_AS(journal::resume(folder / "j", other), std::exception);
}

TEST_CASE("rounding at random is refused where nothing is rounded") {
  std::vector<float> floats = start();
  told mechanism{some_releases(3, 1)};
  train_options options = options_of(rounding_mode::stochastic);
  std::string const message =
      "rounding is stochastic, but must be nearest where all tensors are float: there must be one "
      "of half or bfloat16";
  CHECK_THROWS_WITH((trainer{mechanism, options, view(floats)}), "trainer: " + message);
  CHECK_THROWS_WITH(replay(view(floats), options, mechanism.says), "replay: " + message);
  CHECK(floats == start());
  CHECK_THROWS_WITH(transcript(record_of(view(floats), options), {}), "transcript: " + message);

  optimiser_state none({}, 0);
  vector_release const vector{std::vector<float>(dimension, 0.5F)};
  CHECK_THROWS_WITH(descend(floats, none, options, 0, vector), "descend: " + message);
  std::vector<parameter_range> const groups{{0, dimension}};
  CHECK_THROWS_WITH(step_on_groups(floats, none, {}, groups, release{{1.0}}, 0.1, options),
                    "step_on_groups: " + message);
  CHECK(floats == start());

  std::vector<half> halves = start<half>();
  options.optimiser.rule = optimiser_rule::momentum;
  CHECK_THROWS_WITH(
      (trainer{mechanism, options, view(halves)}),
      "trainer: rounding is stochastic, but must be nearest for an optimiser other than sgd");
  CHECK_THROWS_AS(transcript(record_of(view(halves), options), {}), std::invalid_argument);
  options.optimiser = {};
  options.rounding = static_cast<rounding_mode>(2);
  CHECK_THROWS_WITH((trainer{mechanism, options, view(halves)}),
                    "trainer: rounding is 2, but must be nearest or stochastic");
  CHECK_THROWS_AS(transcript(record_of(view(halves), options), {}), std::invalid_argument);
}

}  // namespace rounding_tests
