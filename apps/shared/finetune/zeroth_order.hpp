// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/hash.hpp>
#include <tacit/zo/journal.hpp>

#include "finetune/tuning_run.hpp"
#include "training/recorded.hpp"
#include "training/tensors.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace apps {

/// No attacker watches.
struct nobody {};

/// What an attacker who knows every record sees of a step.
struct zeroth_order_view {
  std::span<double const> scalars;      ///< K×N: along each direction, of all records
  std::span<std::uint8_t const> batch;  ///< 1 for those of the batch
  tacit::release const& released;
};

/// A mechanism whose scalars are kept, for an attacker.
template <class Mechanism>
class watched {
 public:
  explicit watched(Mechanism& mechanism) : mechanism_(&mechanism) {}
  std::size_t records() const { return mechanism_->records(); }
  std::size_t directions() const { return mechanism_->directions(); }
  std::size_t steps() const { return mechanism_->steps(); }
  bool done() const { return mechanism_->done(); }
  std::span<std::size_t const> batch() requires tacit::batched_mechanism<Mechanism> {
    return mechanism_->batch();
  }

  tacit::release step(std::span<double const> scalars) {
    scalars_.assign(scalars.begin(), scalars.end());
    return mechanism_->step(scalars);
  }

  /// Of the last step.
  std::span<double const> scalars() const { return scalars_; }

 private:
  Mechanism* mechanism_;
  std::vector<double> scalars_;
};

/// One step. The attacker evaluates the records that training did not, before θ moves.
template <class Mechanism, class Trainer, class Watch>
tacit::release const& take_watched_step(tuning_run& run, watched<Mechanism>& mechanism,
                                        Trainer& trainer, Watch const& watch) {
  auto const loss = [&](std::span<float const> theta, std::span<std::size_t const> batch,
                        std::span<double> losses) { run.losses(theta, batch, losses); };
  if constexpr (!tacit::batched_mechanism<Mechanism>) {
    static_assert(std::is_same_v<Watch, nobody>);
    return trainer.step(
        [&](std::span<float const> theta, std::span<double> losses) { run.losses(theta, losses); });
  } else if constexpr (std::is_same_v<Watch, nobody>) {
    return trainer.step(loss);
  } else {
    std::size_t const n = run.records();
    std::size_t const k = mechanism.directions();
    std::vector<std::size_t> batch;
    std::vector<std::uint8_t> flags(n, 0);
    std::vector<double> scalars;
    run.let_attacker([&] {
      batch.assign(mechanism.batch().begin(), mechanism.batch().end());
      for (std::size_t const i : batch) flags[i] = 1;
      std::vector<tacit::direction> along;
      for (std::size_t j = 0; j < k; ++j) {
        along.push_back(
            tacit::detail::direction_of(run.training(), run.theta.size(), mechanism.steps(), k, j));
      }
      scalars = run.scalars_outside(batch, along);
    });
    tacit::release const& released = trainer.step(loss);
    run.let_attacker([&] {
      for (std::size_t j = 0; j < k; ++j) {
        for (std::size_t i = 0; i < batch.size(); ++i) {
          scalars[j * n + batch[i]] = mechanism.scalars()[j * batch.size() + i];
        }
      }
      watch(zeroth_order_view{scalars, flags, released});
    });
    return released;
  }
}

/// All steps of a mechanism that releases a scalar a direction; the attacker's `watch` gets a
/// zeroth_order_view of each. `described` is the mechanism as a transcript names it.
/// @throws std::invalid_argument if a transcript is asked for and it is not described
template <class Mechanism, class Watch>
void take_zeroth_order_steps(tuning_run& run, Mechanism& mechanism, Watch const& watch,
                             std::optional<tacit::recorded_mechanism> described = {}) {
  watched seen{mechanism};
  auto const train = [&](auto& releases) {
    tacit::trainer trainer{releases, run.training(), run.theta};
    run.take_steps([&] { return mechanism.done(); },
                   [&] { return !take_watched_step(run, seen, trainer, watch).held(); });
  };
  if (run.options.transcript.empty()) {
    train(seen);
    return;
  }
  if (!described) {
    throw std::invalid_argument("tune: transcript is given, but must be empty for " +
                                std::string(name_of(run.options.system)));
  }
  tensor_list const tensors = run.of.tensors();
  tacit::run_record const record{.mechanism = *std::move(described),
                                 .training = run.training(),
                                 .directions = mechanism.directions(),
                                 .symbols = tacit::symbol_kind::scalar,
                                 .tensors = recorded_tensors(tensors),
                                 .start = tacit::hash_of(named_tensors(tensors, run.theta))};
  tacit::journal log = begin_journal(run.options.transcript, record);
  tacit::journaled recorded{seen, log};
  train(recorded);
  seal(log, run.options.transcript);
}

}  // namespace apps
