// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/mezo.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/train/quantised.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>

#include "support/catch.hpp"
#include "support/directory.hpp"
#include "train/small_problem.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// Training of quantised tensors, and its replay.

namespace quantised_training_tests {

using namespace tacit;
using namespace small_problem;

namespace {

constexpr double mu = 0.1;

train_options options_of(direction_law law = direction_law::rademacher) {
  return {.smoothing = mu,
          .learning_rate = 1.5,
          .weight_decay = 1e-5,
          .decay = schedule::linear,
          .steps = 300,
          .law = law,
          .seed = 7,
          .rounding = rounding_mode::stochastic};
}

// The problem's entries, and ten that its loss does not see.
template <class B>
std::vector<B> start_in(direction_law law = direction_law::rademacher) {
  return quantise<B>(start(), {.smoothing = mu, .law = law}, 1.2);
}

template <class B>
quantised_parameters in_two(std::vector<B>& theta, direction_law law = direction_law::rademacher) {
  std::span<B> const all(theta);
  return {{{.blocks = all.first(2), .name = "first"}, {.blocks = all.subspan(2), .name = "second"}},
          {.smoothing = mu, .law = law}};
}

template <class B>
std::vector<float> floats_of(std::vector<B> const& theta) {
  std::vector<float> out;
  for (std::size_t i = 0; i < dimension; ++i) out.push_back(value_of(theta[i / 32], i % 32));
  return out;
}

template <class B>
std::vector<release> train(std::vector<B>& theta, train_options const& options,
                           std::size_t directions) {
  std::vector<release> out;
  quantised_parameters const all = in_two(theta, options.law);
  mezo<> mechanism({.directions = directions, .steps = options.steps, .clip = 10.0}, records);
  zeroth_order_loop loop(mechanism, options, all.size());
  auto const losses = [&](quantised_parameters const&, std::span<double> each) {
    loss(floats_of(theta), each);
  };
  while (!loop.done()) {
    two_point(all, loop.directions(), losses, loop.scalars());
    rounded_step const next = loop.step_rounded();
    stochastic_update_all(all, next.terms, next.rounding);
    out.push_back(loop.released());
  }
  return out;
}

run_record record_of(quantised_parameters const& theta, train_options const& options,
                     std::size_t directions) {
  return {.mechanism = {"told", {}},
          .training = options,
          .directions = directions,
          .symbols = symbol_kind::scalar,
          .tensors = tensors_of(theta),
          .start = hash_of(theta)};
}

std::vector<double> all_of(std::vector<release> const& releases) {
  std::vector<double> out;
  for (release const& one : releases) {
    out.insert(out.end(), one.coefficients.begin(), one.coefficients.end());
  }
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("quantised tensors learn, and replay to the same bytes", "", q8_0, q4_0) {
  for (direction_law const law : {direction_law::rademacher, direction_law::gaussian}) {
    for (std::size_t const directions : {1U, 8U}) {
      train_options const options = options_of(law);
      std::vector<TestType> const start = start_in<TestType>(law);
      std::vector<TestType> theta = start;
      std::vector<release> const releases = train(theta, options, directions);
      // The wandering of single directions' updates is more than four bits can learn by.
      double const left = mean_loss(floats_of(theta)) / mean_loss(floats_of(start));
      if (directions == 8) CHECK(left < (std::is_same_v<TestType, q8_0> ? 0.15 : 0.4));
      for (std::size_t b = 0; b < start.size(); ++b) CHECK(theta[b].scale == start[b].scale);

      std::vector<TestType> again = start;
      quantised_parameters const all = in_two(again, law);
      replay(all, options, releases);
      CHECK(again == theta);

      again = start;
      replay(all, options, std::span(releases).first(70));
      CHECK_FALSE(again == theta);
      replay(all, options, releases, 70, openmp{});
      CHECK(again == theta);

      again = start;
      transcript const sealed(record_of(all, options, directions), all_of(releases));
      std::string const bytes = sealed.sealed();
      CHECK(bytes.starts_with("tacit-transcript 4\n"));
      transcript const read = transcript::parse(bytes);
      CHECK(read.sealed() == bytes);
      replay(all, read);
      CHECK(again == theta);

      // Another scale, integer or release is not this run.
      for (std::size_t const bit : {0U, 9U}) {
        again = start;
        again[3].scale.bits = static_cast<std::uint16_t>(again[3].scale.bits ^ 1U << bit);
        std::vector<TestType> const wrong = again;
        CHECK_THROWS_AS(replay(all, read), std::invalid_argument);
        CHECK(again == wrong);
      }
      again = start;
      again[4].set(31, again[4].get(31) == 0 ? 1 : 0);
      CHECK_THROWS_AS(replay(all, read), std::invalid_argument);
      again = start;
      std::vector<release> others = releases;
      for (release& one : others) one.coefficients[0] = -one.coefficients[0];
      replay(all, options, others);
      CHECK_FALSE(again == theta);
    }
  }
}

TEST_CASE("a replay by other options than the moves' is refused") {
  std::vector<q8_0> theta = start_in<q8_0>();
  std::vector<q8_0> const before = theta;
  quantised_parameters const all = in_two(theta);
  std::vector<release> const releases(3, release{{1.0}});
  auto const refused = [&](auto const& change) {
    train_options options = options_of();
    change(options);
    CHECK_THROWS_AS(replay(all, options, releases), std::invalid_argument);
    run_record record = record_of(all, options_of(), 1);
    change(record.training);
    CHECK(theta == before);
  };
  refused([](train_options& o) { o.smoothing = 0.03; });
  refused([](train_options& o) { o.law = direction_law::gaussian; });
  refused([](train_options& o) { o.law = direction_law::sphere; });
  refused([](train_options& o) { o.rounding = rounding_mode::nearest; });
  CHECK_THROWS_AS(replay(all, options_of(), releases, 4), std::invalid_argument);
  std::vector<release> const infinite(1, release{{1e300}});
  CHECK_THROWS_AS(replay(all, options_of(), infinite), std::domain_error);
  CHECK(theta == before);
}

TEST_CASE("a record of blocks says how they are rounded") {
  std::vector<q4_0> theta = start_in<q4_0>();
  quantised_parameters const all = in_two(theta);
  auto const refused = [&](auto const& change) {
    run_record record = record_of(all, options_of(), 1);
    change(record);
    CHECK_THROWS_AS(transcript(record, {1.0}), std::invalid_argument);
  };
  refused([](run_record& r) { r.training.rounding = rounding_mode::nearest; });
  refused([](run_record& r) { r.training.law = direction_law::sphere; });
  refused([](run_record& r) { r.tensors[1].shape = {97}; });
  std::string bytes = transcript(record_of(all, options_of(), 1), {1.0}).sealed();
  bytes[17] = '3';
  CHECK_THROWS_AS(transcript::parse(bytes), corrupt_state);
  // A part of a model is not recorded.
  quantised_parameters const part({{.blocks = std::span<q4_0>(theta), .first = 32}},
                                  {.smoothing = mu});
  CHECK_THROWS_AS(tensors_of(part), std::invalid_argument);
}

namespace {

// As an inference engine has a model: a norm in float, matrices in blocks, a bias in half, and a tensor of nothing.
struct engine_model {
  std::vector<float> norm = std::vector<float>(41, 0.05F);
  std::vector<q8_0> matrix;
  std::vector<float> nothing{};
  std::vector<half> bias = std::vector<half>(13, rounded_to<half>(0.05F));
  std::vector<q4_0> other;

  explicit engine_model(direction_law law) {
    std::vector<float> const small(64, 0.05F);
    matrix = quantise<q8_0>(small, {.smoothing = mu, .law = law}, 1.2);
    other = quantise<q4_0>(std::span(small).first(32), {.smoothing = mu, .law = law}, 1.2);
  }

  mixed_parameters view(direction_law law) {
    return {{tensor{.entries = std::span(norm), .name = "norm"},
             quantised_tensor{.blocks = std::span(matrix), .name = "matrix"},
             tensor{.entries = std::span(nothing), .name = "nothing"},
             tensor{.entries = std::span(bias), .name = "bias"},
             quantised_tensor{.blocks = std::span(other), .name = "other"}},
            {.smoothing = mu, .law = law}};
  }

  // The problem's entries in their order.
  [[nodiscard]] std::vector<float> floats() const {
    std::vector<float> out = norm;
    for (std::size_t i = 0; i < 64; ++i) out.push_back(value_of(matrix[i / 32], i % 32));
    for (half const x : bias) out.push_back(to_float(x));
    for (std::size_t i = 0; i < 32; ++i) out.push_back(value_of(other[0], i));
    return out;
  }

  friend bool operator==(engine_model const&, engine_model const&) = default;
};

}  // namespace

TEST_CASE("a model of floats and blocks is trained in private, and is one transcript") {
  for (direction_law const law : {direction_law::rademacher, direction_law::gaussian}) {
    for (std::size_t const directions : {1U, 8U}) {
      train_options options = options_of(law);
      options.learning_rate = 0.1;
      engine_model const start(law);
      engine_model model = start;
      mixed_parameters const theta = model.view(law);
      CHECK(theta.size() == 150);
      CHECK(theta.dimension() == 150);
      auto const candidates = candidate_set::balanced({.records = records, .subsets = 16}, 11);
      paczero_options const asked{
          .steps = options.steps, .budget = nats(2.0), .directions = directions};
      support::directory const folder;
      journal log = journal::create(folder / "j", {.mechanism = describe(asked, candidates),
                                                   .training = options,
                                                   .directions = directions,
                                                   .symbols = symbol_kind::held_sign,
                                                   .magnitude = 1.0 / double(directions),
                                                   .tensors = tensors_of(theta),
                                                   .start = hash_of(theta)});
      CHECK(log.run().tensors[1].type == element_type::q8_0);
      paczero<> mechanism(asked, candidates);
      journaled recorded{mechanism, log};
      trainer run{recorded, options, theta};
      auto const losses = [&](mixed_parameters const&, std::span<double> each) {
        loss(model.floats(), each);
      };
      while (!run.done()) run.step(losses);
      double const left = mean_loss(model.floats()) / mean_loss(start.floats());
      CHECK(left < (directions == 8 ? 0.4 : 0.9));

      engine_model again = start;
      mixed_parameters const view = again.view(law);
      transcript const sealed = transcript::parse(log.seal().sealed());
      replay(view, sealed);
      CHECK(again == model);
      CHECK_THROWS_AS(replay(view, sealed), std::invalid_argument);
      CHECK(again == model);

      // By parts, by threads, by the pull form and by a trainer that goes on.
      std::vector<release> const releases = releases_of(sealed);
      again = start;
      replay(view, options, std::span(releases).first(70), 0, openmp{});
      CHECK_FALSE(again == model);
      replay(view, options, releases, 70);
      CHECK(again == model);
      again = start;
      trainer resumed{mechanism, options, view, openmp{}};
      CHECK_THROWS_AS(resumed.step(losses), std::invalid_argument);
      resumed.replay(releases);
      CHECK(again == model);

      // Each tensor counts.
      auto const refused = [&](auto const& change) {
        again = start;
        change(again);
        CHECK_THROWS_AS(replay(view, sealed), std::invalid_argument);
      };
      refused([](engine_model& m) { m.norm[40] = -m.norm[40]; });
      refused([](engine_model& m) { m.matrix[1].set(31, m.matrix[1].get(31) - 1); });
      refused([](engine_model& m) { m.bias[0].bits ^= 1U; });
    }
  }
}

TEMPLATE_TEST_CASE("a trainer takes blocks as it takes floats", "", q8_0, q4_0) {
  train_options options = options_of();
  options.steps = 40;
  for (std::size_t const directions : {1U, 3U}) {
    std::vector<TestType> pulled = start_in<TestType>();
    std::vector<release> const releases = train(pulled, options, directions);
    std::vector<TestType> theta = start_in<TestType>();
    mezo<> mechanism({.directions = directions, .steps = options.steps, .clip = 10.0}, records);
    trainer run{mechanism, options, in_two(theta), openmp{}};
    while (!run.done()) {
      // A loss of batches, for which these are all records; and one that fails, at either end.
      int calls = 0;
      std::vector<TestType> const before = theta;
      CHECK_THROWS_AS(run.step([&](quantised_parameters const&, std::span<double>) {
        if (++calls > static_cast<int>(mechanism.steps() % 2)) throw std::runtime_error("lost");
      }),
                      std::runtime_error);
      REQUIRE(theta == before);
      run.step([&](quantised_parameters const&, record_indices batch, std::span<double> each) {
        REQUIRE(batch.size() == each.size());
        loss(floats_of(theta), each);
      });
    }
    CHECK(theta == pulled);
  }
  std::vector<TestType> theta = start_in<TestType>();
  mezo<> mechanism({.steps = 3}, records);
  train_options far = options;
  far.learning_rate = 3e38;
  far.weight_decay = 0.0;
  trainer wild{mechanism, far, in_two(theta)};
  double high = 10.0;
  CHECK_THROWS_AS(wild.step([&](quantised_parameters const&, std::span<double> each) {
    std::fill(each.begin(), each.end(), std::exchange(high, 0.0));
  }),
                  std::domain_error);
  CHECK(theta == start_in<TestType>());
  options.rounding = rounding_mode::nearest;
  CHECK_THROWS_AS((trainer{mechanism, options, in_two(theta)}), std::invalid_argument);
  options.rounding = rounding_mode::stochastic;
  options.smoothing = 0.03;
  CHECK_THROWS_AS((trainer{mechanism, options, in_two(theta)}), std::invalid_argument);
}

TEST_CASE("tensors of floats and of blocks keep apart") {
  std::vector<float> floats(40);
  std::vector<q8_0> blocks = start_in<q8_0>();
  quantised_moves const by{.smoothing = mu};
  std::uint64_t const end = 32 * blocks.size();
  auto const at = [&](std::optional<std::uint64_t> of_floats,
                      std::optional<std::uint64_t> of_blocks) {
    return mixed_parameters({tensor{.entries = std::span(floats), .first = of_floats},
                             quantised_tensor{.blocks = std::span(blocks), .first = of_blocks}},
                            by);
  };
  CHECK(at({}, {}).dimension() == 40 + end);
  CHECK(*at(end, 0).floats()->all()[0].first == end);
  CHECK_THROWS_AS(tensors_of(at(end, 0)), std::invalid_argument);
  CHECK_THROWS_AS(tensors_of(at(1, {})), std::invalid_argument);
  CHECK_THROWS_AS(at({}, 39), std::invalid_argument);
  CHECK_THROWS_AS(at(end - 1, 0), std::invalid_argument);
  CHECK_THROWS_AS(at(~std::uint64_t{0}, 0), std::invalid_argument);
  CHECK_THROWS_AS(mixed_parameters({tensor{.entries = std::span(floats)}}, by),
                  std::invalid_argument);
  // Blocks that cannot be moved, and directions of another law, are refused before a float moves.
  mixed_parameters const theta = at({}, {});
  CHECK_THROWS_AS(perturb_all(theta, direction{direction_law::gaussian, {}}, 1),
                  std::invalid_argument);
  CHECK(floats == std::vector<float>(40));
  blocks[2].scale = half{0x7C00};
  CHECK_THROWS_AS(at({}, {}), std::domain_error);
}

}  // namespace quantised_training_tests
