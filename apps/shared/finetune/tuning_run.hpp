// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/audit/informed_adversary.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/mechanism/noisy_sum.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/optimiser_state.hpp>
#include <tacit/zo/options.hpp>

#include "finetune/finetune.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace apps {

/// What every system's run shares: the parameters, who takes part, the attacker, and the clock.
class tuning_run {
 public:
  tuning_run(model& of, tuning_options const& options,
             std::function<void(std::size_t)> const& progress);

  model& of;
  tuning_options const& options;
  std::vector<float> theta;
  std::vector<bool> inside;         ///< who takes part
  std::vector<std::uint8_t> flags;  ///< the same, for the attacker
  tacit::informed_adversary attacker;
  tuning_result result;

  std::size_t records() const { return of.records(); }
  std::size_t members() const;
  double expected_members() const { return 0.5 * static_cast<double>(records()); }
  tacit::train_options training() const;
  tacit::noisy_sum_options noisy_sum(double noise_multiplier, double rate = 1.0) const;

  /// The least noise of Gaussian steps that keeps the target.
  double gaussian_multiplier(double rate = 1.0) const;

  /// The losses that training asks for: of all records, or of a batch.
  void losses(std::span<float const> at, std::span<double> out);
  void losses(std::span<float const> at, std::span<std::size_t const> batch, std::span<double> out);

  /// That of one record at θ.
  double loss(std::size_t record) {
    double out = 0.0;
    losses(theta, {&record, 1}, {&out, 1});
    return out;
  }

  /// What training did not evaluate, for an attacker who knows every record: for the records outside
  /// `batch` their scalars at θ, as it is before a step, along K directions; K×N, 0 for those inside.
  std::vector<double> scalars_outside(std::span<std::size_t const> batch,
                                      std::span<tacit::direction const> along);

  /// Who takes part: for each record a fair coin of the secret stream.
  void choose_members();

  /// Takes steps until `done`, and notes times and scores. `step` says whether θ moved.
  template <class Done, class Step>
  void take_steps(Done const& done, Step const& step) {
    std::size_t const every = std::max<std::size_t>(1, options.steps / options.curve_points);
    while (!done()) {
      watching_ = 0.0;
      auto const begin = clock::now();
      result.released += step() ? 1 : 0;
      times_.push_back(since(begin) - watching_);
      ++result.steps;
      if (result.steps % every == 0 || done()) note_score();
      if (progress_) progress_(1);
    }
  }

  /// Calls `watch`, if the attacker watches; its time is not a step's.
  template <class Watch>
  void let_attacker(Watch const& watch) {
    if (!options.attacked) return;
    auto const begin = clock::now();
    watch();
    watching_ += since(begin);
  }

  /// The (ε, δ) of the steps taken, each of which was this event.
  void account_for(tacit::event const& step);
  /// How often the attacker's guesses are right.
  void count_guesses();

  /// θ after release t, a vector, by the optimiser.
  void descend(std::size_t t, tacit::vector_release const& released);

  void note_score() { result.curve.push_back(of.score(theta)); }
  tuning_result finish();

 private:
  using clock = std::chrono::steady_clock;
  static double since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
  }

  std::function<void(std::size_t)> const& progress_;
  std::optional<tacit::optimiser_state> optimiser_;  // of vectors
  std::vector<double> times_;
  double watching_ = 0.0;
};

// One function a system, or a family of them.
void tune_mezo(tuning_run& run);
void tune_sgd(tuning_run& run);
void tune_paczero(tuning_run& run);
void tune_dp_aggzo(tuning_run& run);  // dpzero too: one direction
void tune_dp_zo_laplace(tuning_run& run);
void tune_dpgd_0th(tuning_run& run);
void tune_dp_sgd(tuning_run& run);
void tune_ferret(tuning_run& run);
void tune_rldp(tuning_run& run);
void tune_rldp_published(tuning_run& run);  // without a guarantee

}  // namespace apps
