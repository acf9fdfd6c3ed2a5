// SPDX-License-Identifier: Apache-2.0
#include "finetune/tuning_run.hpp"

#include <tacit/dp/calibration.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/train/first_order.hpp>
#include <tacit/zo/two_point.hpp>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace apps {

namespace {

double median(std::vector<double> of) {
  if (of.empty()) return 0.0;
  auto const middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

}  // namespace

tuning_run::tuning_run(model& tuned, tuning_options const& how,
                       std::function<void(std::size_t)> const& progress)
    : of(tuned),
      options(how),
      theta(tuned.initial(how.seed)),
      attacker(tuned.records()),
      progress_(progress) {}

std::size_t tuning_run::members() const {
  return static_cast<std::size_t>(std::count(inside.begin(), inside.end(), true));
}

tacit::train_options tuning_run::training() const {
  return {.smoothing = 1e-3,
          .learning_rate = options.learning_rate,
          .weight_decay = options.weight_decay,
          .decay = options.decay,
          .steps = options.steps,
          .seed = options.seed,
          .optimiser = options.optimiser};
}

void tuning_run::descend(std::size_t t, tacit::vector_release const& released) {
  if (!optimiser_) optimiser_.emplace(options.optimiser, theta.size());
  tacit::descend(theta, *optimiser_, training(), t, released);
}

tacit::noisy_sum_options tuning_run::noisy_sum(double noise_multiplier, double rate) const {
  return {.clip = options.clip,
          .noise_multiplier = noise_multiplier,
          .rate = rate,
          .expected_records = expected_members(),
          .steps = options.steps};
}

double tuning_run::gaussian_multiplier(double rate) const {
  return tacit::noise_multiplier_for<tacit::privacy_loss_accountant>(
      options.target, tacit::poisson{rate}, options.steps);
}

void tuning_run::losses(std::span<float const> at, std::span<double> out) {
  of.losses(at, out);
  result.losses_evaluated += out.size();
}

void tuning_run::losses(std::span<float const> at, std::span<std::size_t const> batch,
                        std::span<double> out) {
  of.losses(at, batch, out);
  result.losses_evaluated += batch.size();
}

std::vector<double> tuning_run::scalars_outside(std::span<std::size_t const> batch,
                                                std::span<tacit::direction const> along) {
  std::vector<std::size_t> every(records());
  std::iota(every.begin(), every.end(), std::size_t{0});
  std::vector<std::size_t> outside;
  std::set_difference(every.begin(), every.end(), batch.begin(), batch.end(),
                      std::back_inserter(outside));
  std::vector<double> all(along.size() * records(), 0.0);
  if (outside.empty()) return all;
  std::vector<float> copy = theta;
  std::vector<double> scalars(along.size() * outside.size());
  auto const loss = [&](std::span<float const> at, std::span<double> out) {
    of.losses(at, outside, out);
  };
  tacit::two_point(copy, along, training().smoothing, loss, scalars);
  for (std::size_t k = 0; k < along.size(); ++k) {
    for (std::size_t j = 0; j < outside.size(); ++j) {
      all[k * records() + outside[j]] = scalars[k * outside.size() + j];
    }
  }
  return all;
}

void tuning_run::choose_members() {
  tacit::secret_stream secret;
  inside.resize(records());
  for (std::size_t i = 0; i < records(); ++i) inside[i] = tacit::bernoulli(secret, 0.5);
  flags.assign(inside.begin(), inside.end());
}

void tuning_run::account_for(tacit::event const& step) {
  tacit::privacy_loss_accountant account;
  account.compose(step, result.steps);
  result.epsilon = account.epsilon(options.target.delta).upper;
  result.bound = account.attack_success();
  count_guesses();
}

void tuning_run::count_guesses() {
  if (!options.attacked) return;
  auto const right = attacker.right_guesses(flags);
  result.attacked = static_cast<double>(std::count(right.begin(), right.end(), 1)) /
                    static_cast<double>(records());
}

tuning_result tuning_run::finish() {
  result.score = result.curve.back();
  result.seconds_per_step = median(std::move(times_));
  result.tuned = std::move(theta);
  result.inside = std::move(inside);
  return std::move(result);
}

}  // namespace apps
