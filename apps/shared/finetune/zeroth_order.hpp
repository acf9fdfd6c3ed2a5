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
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace apps {

/// A mechanism whose scalars and releases are shown to an attacker too.
template <class Mechanism, class Watch>
class watched {
 public:
  watched(Mechanism& mechanism, Watch const& watch) : mechanism_(&mechanism), watch_(&watch) {}
  std::size_t records() const { return mechanism_->records(); }
  std::size_t directions() const { return mechanism_->directions(); }
  std::size_t steps() const { return mechanism_->steps(); }
  bool done() const { return mechanism_->done(); }

  tacit::release step(std::span<double const> scalars) {
    tacit::release out = mechanism_->step(scalars);
    (*watch_)(scalars, out);
    return out;
  }

 private:
  Mechanism* mechanism_;
  Watch const* watch_;
};

/// All steps of a mechanism that releases a scalar a direction; the attacker's `watch` gets the records'
/// scalars and the release. `described` is the mechanism as a transcript names it.
/// @throws std::invalid_argument if a transcript is asked for and it is not described
template <class Mechanism, class Watch>
void take_zeroth_order_steps(tuning_run& run, Mechanism& mechanism, Watch const& watch,
                             std::optional<tacit::recorded_mechanism> described = {}) {
  auto const attacked = [&](std::span<double const> scalars, tacit::release const& released) {
    run.let_attacker([&] { watch(scalars, released); });
  };
  watched seen{mechanism, attacked};
  auto const train = [&](auto& releases) {
    tacit::trainer trainer{releases, run.training(), run.theta};
    auto const loss = [&](std::span<float const> theta, std::span<double> losses) {
      run.of.losses(theta, losses);
    };
    run.take_steps([&] { return mechanism.done(); }, [&] { return !trainer.step(loss).held(); });
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
