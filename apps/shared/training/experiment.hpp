// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/mechanism/mezo.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/zo/direction.hpp>

#include "training/data.hpp"
#include "training/model.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

namespace examples {

/// A model that has learnt the public part and is about to be tuned on the private one.
struct task {
  split_data data;
  mlp shape;
  std::vector<float> start;  // the parameters after public training
  double start_accuracy;     // on the test part
  std::uint64_t seed;        // public: split, first parameters, candidate subsets, directions
};

struct task_options {
  split_options split{};
  std::size_t hidden = 32;
  int epochs = 300;  // of public training
};

task prepare(dataset const& all, std::uint64_t seed, task_options const& options = {});

enum class method {
  public_only,
  without_privacy,  // tacit::mezo with one of its surrogates
  paczero
};

struct experiment_options {
  method how = method::paczero;
  tacit::surrogate surrogate = tacit::surrogate::raw;  // without_privacy
  tacit::paczero_options paczero{};  // steps, directions and clip hold for every method
  std::size_t subsets = 128;
  double smoothing = 1e-3;
  double learning_rate = 0.01;  // falls linearly to 0
  tacit::direction_law law = tacit::direction_law::rademacher;
  std::size_t curve_points = 40;
  std::filesystem::path save{};    // paczero: keep the state here after every step
  std::filesystem::path resume{};  // paczero: go on from such a state; the mechanism's options are
                                   // the stored ones, the others must be given as before
  std::filesystem::path transcript{};  // what the world sees: a journal of this name and .journal
                                       // step by step, sealed as this file at the end
};

/// What a run gave away about the secret half of the private records.
struct exposure {
  double mi = 0.0;               // nats about which candidate subset is the secret
  double mi_worst_record = 0.0;  // nats about one record's membership, the worst
  double attack_bound = 0.5;     // what no attacker on membership exceeds, by the guarantee
  double attack_mean = 0.5;      // success of the exact-posterior attacker on this run's releases:
  double attack_worst = 0.5;     // mean over the records, and the worst record (one draw)
};

struct curve_point {
  std::size_t step;
  double accuracy;
  double mi;
  double mi_worst_record;
};

struct experiment_result {
  double accuracy = 0.0;            // on the test part
  std::optional<exposure> exposed;  // none where every record is used: nothing is protected
  double unanimity = 0.0;           // share of directions on which all candidates agreed
  double held = 0.0;                // share of steps that released nothing
  std::size_t steps = 0;
  double seconds = 0.0;
  std::vector<curve_point> curve;
  std::vector<float> tuned;  // the parameters after the last step
};

/// One run. `progress` is called with the number of steps done since its last call.
experiment_result run(task const& job, experiment_options const& options,
                      std::function<void(std::size_t)> const& progress = {});

}  // namespace examples
