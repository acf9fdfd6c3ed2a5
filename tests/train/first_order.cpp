// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/dp_sgd.hpp>
#include <tacit/train/first_order.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"

#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

using tacit::vector_release;

namespace {

constexpr std::size_t few = 12;

tacit::noisy_sum_options ten_steps(double noise_multiplier) {
  return {.clip = 1.0,
          .noise_multiplier = noise_multiplier,
          .rate = 0.5,
          .expected_records = static_cast<double>(few),
          .steps = 10};
}

/// ½‖θ − x_i‖², x_i = i in every coordinate.
auto distance_to(std::span<float const> theta) {
  return [theta](std::size_t i, std::span<float> out) {
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = theta[j] - static_cast<float>(i);
  };
}

}  // namespace

TEST_CASE("a run replays from its releases, bit for bit", "[first_order]") {
  for (auto const decay : {tacit::schedule::constant, tacit::schedule::linear}) {
    tacit::train_options const options{
        .learning_rate = 0.3, .weight_decay = 0.01, .decay = decay, .steps = 10};
    std::vector<float> const start{0.1F, -3.0F, 1e-3F, 7.0F, 0.0F};
    std::vector<float> theta = start;
    tacit::dp_sgd mechanism(ten_steps(0.4), theta.size(), few, fixed_stream(21));
    tacit::first_order_trainer run{mechanism, options, theta};
    std::vector<vector_release> releases;
    std::vector<float> halfway;
    while (!run.done()) {
      if (releases.size() == 5) halfway = theta;
      releases.push_back(run.step(distance_to(theta)));
    }
    CHECK(releases.size() == 10);
    std::vector<float> again = start;
    tacit::replay(again, options, releases);
    CHECK(again == theta);
    tacit::replay(halfway, options, releases, 5);
    CHECK(halfway == theta);
    CHECK_THROWS_AS(tacit::replay(again, options, releases, 11), std::invalid_argument);
    CHECK(theta != start);
  }
}

TEST_CASE("a step is what the options say", "[first_order]") {
  std::vector<float> theta{2.0F, -1.0F};
  tacit::train_options const options{
      .learning_rate = 0.5, .weight_decay = 0.1, .decay = tacit::schedule::linear, .steps = 4};
  tacit::descend(theta, options, 1, {{1.0F, 4.0F}});  // η_1 = 0.375
  CHECK(theta[0] == Approx(2.0 * (1.0 - 0.0375) - 0.375));
  CHECK(theta[1] == Approx(-1.0 * (1.0 - 0.0375) - 1.5));
  CHECK_THROWS_AS(tacit::descend(theta, options, 1, {{1.0F}}), std::invalid_argument);
  CHECK_THROWS_AS(tacit::descend(theta, {}, 1, {{1.0F, 1.0F}}), std::domain_error);
}

TEST_CASE("a gradient that throws leaves theta, and the schedule, where they were",
          "[first_order]") {
  std::vector<float> theta(3, 1.0F);
  tacit::dp_sgd mechanism(ten_steps(0.4), theta.size(), few, fixed_stream(22));
  tacit::train_options const options{
      .learning_rate = 0.3, .decay = tacit::schedule::linear, .steps = 10};
  tacit::first_order_trainer run{mechanism, options, theta};
  std::vector<vector_release> releases{run.step(distance_to(theta))};
  std::vector<float> const before = theta;
  CHECK_THROWS_AS(
      run.step([](std::size_t, std::span<float>) { throw std::runtime_error("no gradient"); }),
      std::runtime_error);
  CHECK(theta == before);
  CHECK(mechanism.steps() == 2);
  CHECK(run.releases() == 1);
  releases.push_back(run.step(distance_to(theta)));
  std::vector<float> again(3, 1.0F);
  tacit::replay(again, options, releases);
  CHECK(again == theta);
}

TEST_CASE("a trainer refuses parameters that are not the mechanism's", "[first_order]") {
  std::vector<float> theta(3);
  tacit::dp_sgd mechanism(ten_steps(0.4), 4, few);
  using trainer = tacit::first_order_trainer<tacit::dp_sgd<>>;
  CHECK_THROWS_AS(trainer(mechanism, {.learning_rate = 0.1}, theta), std::invalid_argument);
  theta.resize(4);
  CHECK_THROWS_AS(trainer(mechanism, {}, theta), std::domain_error);
  (void)mechanism.step([](std::size_t, std::span<float>) {});
  CHECK_THROWS_AS(trainer(mechanism, {.learning_rate = 0.1}, theta), std::invalid_argument);
}

TEST_CASE("gradients of a batch train as those of single records", "[first_order]") {
  std::vector<float> one(3, 1.0F);
  std::vector<float> many = one;
  tacit::dp_sgd alone(ten_steps(0.4), 3, few, fixed_stream(23));
  tacit::dp_sgd together(ten_steps(0.4), 3, few, fixed_stream(23));
  tacit::first_order_trainer run{alone, {.learning_rate = 0.3}, one};
  tacit::first_order_trainer all{together, {.learning_rate = 0.3}, many};
  while (!run.done()) {
    run.step(distance_to(one));
    all.step(
        [&](std::span<std::size_t const> records, tacit::gradient_rows<float> out) {
          for (std::size_t j = 0; j < records.size(); ++j) distance_to(many)(records[j], out[j]);
        },
        5);
  }
  CHECK(one == many);
  CHECK(all.releases() == 10);
}
