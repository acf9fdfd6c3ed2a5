// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/mezo.hpp>
#include <tacit/train/quantised.hpp>
#include <tacit/train/trainer.hpp>

#include "support/catch.hpp"
#include "train/small_problem.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
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

}  // namespace quantised_training_tests
