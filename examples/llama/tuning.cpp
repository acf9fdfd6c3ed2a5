// SPDX-License-Identifier: Apache-2.0
#include "tuning.hpp"

#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/launch.hpp>

#include "mechanisms.hpp"

#include <filesystem>
#include <utility>

std::string tune(tuning const& how, tacit::parameters const& theta, std::size_t records,
                 batch_loss const& loss) {
  // Releases are on disk before they act: a run that was interrupted goes on from them.
  auto const take_steps = [&](auto& mechanism, tacit::recorded_mechanism described,
                              tacit::symbol_kind symbols, double magnitude) {
    tacit::run_record const record{.mechanism = std::move(described),
                                   .training = how.training(),
                                   .directions = mechanism.directions(),
                                   .symbols = symbols,
                                   .magnitude = magnitude,
                                   .tensors = tacit::tensors_of(theta),
                                   .start = tacit::hash_of(theta)};
    bool const goes_on = !how.save.empty() && std::filesystem::exists(how.transcript);
    tacit::journal log = goes_on ? tacit::journal::resume(how.transcript, record)
                                 : tacit::journal::create(how.transcript, record);
    tacit::journaled recorded{mechanism, log};
    tacit::trainer run{recorded, record.training, theta, tacit::openmp{}};
    run.replay(tacit::releases_of(log.seal()));
    while (!run.done()) run.step(loss);
  };
  return with_mechanism(how, records, take_steps).text;
}
