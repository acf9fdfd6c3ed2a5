// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/mechanism/mezo.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/options.hpp>

#include "training/task.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace apps {

/// One run of PACZero on a network, which can be saved, resumed and recorded; and of its baselines, for
/// comparison.

enum class method {
  public_only,
  without_privacy,  // tacit::mezo with one of its surrogates
  paczero
};

struct paczero_run_options {
  method how = method::paczero;
  tacit::surrogate surrogate = tacit::surrogate::raw;  // without_privacy
  tacit::paczero_options paczero{};  // steps, directions and clip hold for every method
  std::size_t subsets = 128;
  double smoothing = 1e-3;
  double learning_rate = 0.01;  // falls linearly to 0
  double weight_decay = 0.0;
  tacit::optimiser_options optimiser{};
  tacit::direction_law law = tacit::direction_law::rademacher;
  std::size_t curve_points = 40;
  std::filesystem::path save{};    // paczero: keep the state here after every step
  std::filesystem::path resume{};  // paczero: go on from such a state; the mechanism's options are
                                   // the stored ones, the others must be given as before
  std::filesystem::path transcript{};  // what the world sees: a journal of this name and .journal
                                       // step by step, sealed as this file at the end
  std::string about{};  // one word, stored with the state: a run resumes only with the same,
  std::string
      about_from_now{};  // and is about this once its journal is there, unless this is empty
};

/// A state that no run has, or one of another run.
struct unusable_state : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a run gave away about the secret half of the private records.
struct exposure {
  double mi = 0.0;               // nats about which candidate subset is the secret
  double mi_worst_record = 0.0;  // nats about one record's membership, the worst
  double mi_worst_group =
      0.0;  // nats about the memberships of a declared group, the worst; 0 without any
  double attack_bound = 0.5;  // what no attacker on membership exceeds, by the guarantee
  double attack_mean = 0.5;   // success of the exact-posterior attacker on this run's releases:
  double attack_worst = 0.5;  // mean over the records, and the worst record (one draw)
};

struct curve_point {
  std::size_t step;
  double accuracy;
  double mi;
  double mi_worst_record;
};

struct paczero_run_result {
  double accuracy = 0.0;            // on the test part
  std::optional<exposure> exposed;  // none where every record is used: nothing is protected
  double unanimity = 0.0;           // share of directions on which all candidates agreed
  double held = 0.0;                // share of steps that released nothing
  std::size_t steps = 0;
  std::size_t losses_evaluated = 0;  // by all of them, also where the run was resumed
  double seconds = 0.0;
  std::vector<curve_point> curve;
  std::vector<float> tuned;  // the parameters after the last step
};

/// `progress` is called with the number of steps done since its last call.
/// @throws unusable_state for what `resume` names, and what tacit::paczero, tacit::saved_run, tacit::journal
///         and tacit::trainer throw
paczero_run_result run_paczero(task const& job, paczero_run_options const& options,
                               std::function<void(std::size_t)> const& progress = {});

}  // namespace apps
