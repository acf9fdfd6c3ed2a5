// SPDX-License-Identifier: Apache-2.0
#include "tuning.hpp"

#include <tacit/dp/calibration.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/mechanism/dpzero.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_run.hpp>
#include <tacit/train/description.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <utility>

std::string tune(tuning const& how, tacit::parameters const& theta, std::size_t records,
                 batch_loss const& loss) {
  tacit::train_options const training{.smoothing = how.smoothing,
                                      .learning_rate = how.learning_rate,
                                      .decay = tacit::schedule::linear,
                                      .steps = how.steps,
                                      .seed = how.seed};

  // Releases are on disk before they act: a run that was interrupted goes on from them.
  auto const take_steps = [&](auto& mechanism, tacit::recorded_mechanism described,
                              tacit::symbol_kind symbols, double magnitude) {
    tacit::run_record const record{.mechanism = std::move(described),
                                   .training = training,
                                   .directions = mechanism.directions(),
                                   .symbols = symbols,
                                   .magnitude = magnitude,
                                   .tensors = tacit::tensors_of(theta),
                                   .start = tacit::hash_of(theta)};
    bool const goes_on = !how.save.empty() && std::filesystem::exists(how.transcript);
    tacit::journal log = goes_on ? tacit::journal::resume(how.transcript, record)
                                 : tacit::journal::create(how.transcript, record);
    tacit::journaled recorded{mechanism, log};
    tacit::trainer run{recorded, training, theta};
    run.replay(tacit::releases_of(log.seal()));
    while (!run.done()) run.step(loss);
  };

  char said[256];
  if (how.mechanism.starts_with("paczero-")) {
    double const budget = how.mechanism == "paczero-zpl" ? 0.0 : how.nats;
    tacit::paczero_options const options{
        .steps = how.steps, .budget = tacit::nats(budget), .directions = how.directions};
    auto const begin = [&] {
      return tacit::paczero(options,
                            tacit::candidate_set::balanced({.records = records}, how.seed));
    };
    auto const take = [&](auto& run, tacit::paczero<> const& mechanism) {
      take_steps(run, tacit::describe(mechanism.options(), mechanism.candidates()),
                 tacit::symbol_kind::held_sign, 1.0 / static_cast<double>(how.directions));
      std::snprintf(said, sizeof said,
                    "%.3g of %.3g nats spent on which half of the records counts: an attacker on "
                    "membership is "
                    "right with probability %.3f at most",
                    mechanism.spent().value, budget, mechanism.attack_bound());
    };
    if (how.save.empty()) {
      tacit::paczero mechanism = begin();
      take(mechanism, mechanism);
    } else {
      auto saved = tacit::saved_run<tacit::paczero<>>::resume_or_start(how.save, begin);
      take(saved, *saved);
    }
    return said;
  }

  if (how.mechanism != "dpzero" && how.mechanism != "dp-aggzo") {
    throw std::invalid_argument("mechanism is " + how.mechanism +
                                ", but must be paczero-mi, paczero-zpl, dpzero or dp-aggzo");
  }
  if (!how.save.empty())
    throw std::invalid_argument("only PACZero keeps a state: --save is for it");
  tacit::noisy_sum_options const options{
      .clip = how.clip,
      .noise_multiplier = tacit::noise_multiplier_for<tacit::privacy_loss_accountant>(
          {.epsilon = how.epsilon, .delta = how.delta}, tacit::poisson{how.rate}, how.steps),
      .rate = how.rate,
      .expected_records = static_cast<double>(records),
      .steps = how.steps};
  auto const take = [&](auto mechanism, char const* name) {
    take_steps(mechanism, tacit::describe(name, options, records), tacit::symbol_kind::scalar, 0.0);
  };
  if (how.mechanism == "dpzero") {
    take(tacit::dpzero(options, records), "dpzero");
  } else {
    take(tacit::dp_aggzo(options, how.directions, records), "dp_aggzo");
  }
  std::snprintf(said, sizeof said, "(%g, %g)-differentially private, noise multiplier %.4g",
                how.epsilon, how.delta, options.noise_multiplier);
  return said;
}
