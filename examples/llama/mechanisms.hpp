// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/calibration.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/mechanism/dpzero.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_run.hpp>
#include <tacit/train/description.hpp>

#include "tuning.hpp"

#include <cstdio>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>

/// The mechanism that a `tuning` asks for. Knows no engine.

/// What a run has promised.
struct promise {
  std::string text;
  double attack_bound = 1.0;  ///< how often an attacker on membership is right, at most
  /// What the attacker who knows all records and saw these releases achieves by Bayes' rule; NaN where nobody
  /// computes it.
  double posterior_attack = std::numeric_limits<double>::quiet_NaN();
  /// How often one was right who knows every number of every record but whether it takes part; NaN where none watched.
  double informed_attack = std::numeric_limits<double>::quiet_NaN();
};

/// Makes the mechanism, calls take(mechanism, its public part, kind of its symbols, their magnitude) once, which
/// takes the steps that are left, and returns what was promised.
/// @throws std::invalid_argument for a mechanism that is none, or a state that it does not keep; what the
///         library throws for an option outside its range; and what `take` throws
template <class Take>
promise with_mechanism(tuning const& how, tacit::participants const& taking_part, Take&& take) {
  std::size_t const records = taking_part.records();
  char said[256];
  if (how.mechanism == "paczero-mi" || how.mechanism == "paczero-zpl") {
    double const budget = how.mechanism == "paczero-zpl" ? 0.0 : how.nats;
    tacit::paczero_options const options{
        .steps = how.steps, .budget = tacit::nats(budget), .directions = how.directions};
    auto const begin = [&] {
      return tacit::paczero(options,
                            tacit::candidate_set::balanced({.records = records}, how.seed));
    };
    promise out;
    auto const take_and_tell = [&](auto& run, tacit::paczero<> const& mechanism) {
      take(run, tacit::describe(mechanism.options(), mechanism.candidates()),
           tacit::symbol_kind::held_sign, 1.0 / static_cast<double>(how.directions));
      out.attack_bound = mechanism.attack_bound();
      out.posterior_attack = mechanism.belief().exposed(mechanism.candidates()).mean;
      std::snprintf(said, sizeof said,
                    "%.3g of %.3g nats spent on which half of the records counts: an attacker on "
                    "membership is "
                    "right with probability %.3f at most",
                    mechanism.spent().value, budget, out.attack_bound);
    };
    if (how.save.empty()) {
      tacit::paczero mechanism = begin();
      take_and_tell(mechanism, mechanism);
    } else {
      std::error_code none;
      bool const begins =
          !std::filesystem::exists(how.save, none) || std::filesystem::is_empty(how.save, none);
      if (begins && std::filesystem::exists(how.transcript, none)) {
        throw std::invalid_argument("there is a transcript " + how.transcript + ", but no state " +
                                    how.save + " from which it goes on");
      }
      bool made = false;
      try {
        auto saved = tacit::saved_run<tacit::paczero<>>::resume_or_start(how.save, [&] {
          made = true;
          return begin();
        });
        take_and_tell(saved, *saved);
      } catch (...) {
        // A run that did not come to begin its transcript is none.
        if (made && !std::filesystem::exists(how.transcript, none)) {
          std::filesystem::remove(how.save, none);
        }
        throw;
      }
    }
    out.text = said;
    return out;
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
  auto const take_by = [&](auto mechanism, char const* name) {
    take(mechanism, tacit::describe(name, options, records), tacit::symbol_kind::scalar, 0.0);
  };
  if (how.mechanism == "dpzero") {
    take_by(tacit::dpzero(options, taking_part), "dpzero");
  } else {
    take_by(tacit::dp_aggzo(options, how.directions, taking_part), "dp_aggzo");
  }
  std::snprintf(said, sizeof said, "(%g, %g)-differentially private, noise multiplier %.4g",
                how.epsilon, how.delta, options.noise_multiplier);
  return {.text = said,
          .attack_bound =
              tacit::attack_success(tacit::approx_dp{.epsilon = how.epsilon, .delta = how.delta})};
}
