// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/train/trainer.hpp>

#include "training/paczero_run.hpp"

#include <cstddef>
#include <cstdint>

namespace apps {

/// The run that `tacit_mpi` makes: the demo's network on the demo's split, with options that learn it
/// well. For 0 nats it is zero leakage, which reads no secret and draws no coin.
inline tacit::paczero_options paczero_of(tacit::nats budget, std::size_t steps) {
  return {.steps = steps, .budget = budget, .spend = tacit::allocation::confident_or_hold};
}

inline tacit::train_options training_of(std::uint64_t seed, std::size_t steps) {
  return {.smoothing = 1e-3,
          .learning_rate = 0.02,
          .decay = tacit::schedule::linear,
          .steps = steps,
          .seed = seed};
}

inline tacit::candidate_set candidates_of(task const& job) {
  return tacit::candidate_set::balanced({.records = job.data.private_part.size()}, job.seed);
}

}  // namespace apps
