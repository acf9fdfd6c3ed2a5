// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/train/description.hpp>
#include <tacit/train/retrace.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/hash.hpp>
#include <tacit/zo/journal.hpp>
#include <tacit/zo/launch.hpp>
#include <tacit/zo/optimiser_state.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/transcript.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Between a run and its record: releases that are on disk before they act, a model from its
/// transcript.

namespace tacit {

/// A mechanism whose releases are on disk before the loop applies them:
///
///     journal log = journal::create("run.journal", record);
///     journaled recorded{mechanism, log};
///     trainer run{recorded, record.training, theta};
///
/// A journal that is behind a resumed mechanism (a crash came between the two files) is given the
/// releases that it lacks. Both are used, not owned, and must outlive this.
template <zeroth_order_mechanism Mechanism>
class journaled {
 public:
  /// @throws std::invalid_argument unless the journal is one of this mechanism: as many directions, and
  ///         the releases that the mechanism made
  journaled(Mechanism& mechanism, journal& log) : mechanism_(&mechanism), log_(&log) {
    detail::check_size("journaled", "directions of the journal", log.run().directions,
                       mechanism.directions());
    if constexpr (requires { mechanism.transcript(); }) {
      std::span<release const> const made = mechanism.transcript();
      for (std::size_t t = 0; t < std::min(log.steps(), made.size()); ++t) {
        std::span<double const> const logged = log.step(t);
        std::span<double const> const released = made[t].coefficients;
        if (!std::equal(logged.begin(), logged.end(), released.begin(), released.end())) {
          detail::fail_argument("journaled", "step " + detail::to_text(t) + " of the journal",
                                std::string("another one"), "what the mechanism released");
        }
      }
      for (std::size_t t = log.steps(); t < made.size(); ++t) log.append(made[t].coefficients);
    }
    detail::check_size("journaled", "steps of the journal", log.steps(), mechanism.steps());
  }

  [[nodiscard]] std::size_t records() const { return mechanism_->records(); }
  [[nodiscard]] std::size_t directions() const { return mechanism_->directions(); }
  [[nodiscard]] std::size_t steps() const { return mechanism_->steps(); }
  [[nodiscard]] bool done() const { return mechanism_->done(); }

  [[nodiscard]] std::span<std::size_t const> batch() requires batched_mechanism<Mechanism> {
    return mechanism_->batch();
  }

  /// @throws what the mechanism throws, and std::system_error if the release cannot be written: it is
  ///         not applied then, and the run goes on from the mechanism's file
  release step(std::span<double const> scalars) {
    release released = mechanism_->step(scalars);
    log_->append(released.coefficients);
    return released;
  }

 private:
  Mechanism* mechanism_;
  journal* log_;
};

/// The releases of a transcript, as `replay` takes them.
template <std::same_as<transcript> Transcript>
[[nodiscard]] std::vector<release> releases_of(Transcript const& from) {
  std::vector<release> result;
  result.reserve(from.steps());
  for (std::size_t t = 0; t < from.steps(); ++t) {
    std::span<double const> const step = from.step(t);
    result.push_back({{step.begin(), step.end()}});
  }
  return result;
}

/// Refuses parameters from which this run did not start: other tensors, or other numbers in them.
/// @throws std::invalid_argument naming the first difference
template <std::same_as<run_record> Record>
void check_start(parameters const& theta, Record const& run) {
  constexpr std::string_view who = "check_start";
  std::vector<recorded_tensor> const here = tensors_of(theta);
  detail::check_size(who, "number of tensors", here.size(), run.tensors.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    recorded_tensor const& there = run.tensors[i];
    std::string const which = "tensor " + detail::to_text(i);
    detail::require_argument(here[i].name == there.name, who, "name of " + which, here[i].name,
                             there.name);
    detail::require_argument(here[i].type == there.type, who, "type of " + which,
                             std::string(name_of(here[i].type)), name_of(there.type));
    detail::require_argument(here[i].shape.front() == detail::entries_of(who, there), who,
                             "size of " + which, here[i].shape.front(),
                             detail::to_text(detail::entries_of(who, there)));
  }
  parameter_hash const found = hash_of(theta);
  detail::require_argument(found == run.start, who, "hash of the parameters", to_hex(found),
                           to_hex(run.start) + ", with which the run began");
}

/// Steps from … to − 1 of a transcript: in, the parameters and the optimiser's state as they were after the
/// first `from`; out, those after the first `to`. Copies no releases.
/// @throws std::domain_error, std::invalid_argument for an option outside its range, for a state that is not
///         that of `from` releases, or unless from ≤ to ≤ run.steps()
template <class Launcher = serial>
void replay(parameters const& theta, optimiser_state& state, transcript const& run,
            std::size_t from, std::size_t to, Launcher const& launch = {}) {
  detail::check_train_options(run.run().training);
  detail::require_argument(to <= run.steps(), "replay", "to", to, "at most the number of steps");
  detail::check_from(from, to);
  detail::check_rounding("replay", run.run().training, theta);
  detail::retrace_steps(
      theta, state, run.run().training, run.run().directions, from, to,
      [&](std::size_t t) { return run.step(t); }, launch);
}

/// The same without a state that was kept: from the initial parameters, and by sgd from anywhere.
template <class Launcher = serial>
void replay(parameters const& theta, transcript const& run, std::size_t from, std::size_t to,
            Launcher const& launch = {}) {
  optimiser_state state =
      detail::state_at(from, run.run().training, static_cast<std::size_t>(theta.size()));
  replay(theta, state, run, from, to, launch);
}

/// In: the parameters with which the run began. Out: the tuned ones, bit for bit those of training.
/// The host hashes them first. Where a launcher moves them elsewhere: check_start(a copy of them, run.run()), and
/// then replay(theta, run, 0, run.steps(), launch).
/// @throws std::invalid_argument for any other parameters, which are left as they are
template <class Launcher = serial>
requires(!moves_elsewhere<Launcher>) void replay(parameters const& theta, transcript const& run,
                                                 Launcher const& launch = {}) {
  check_start(theta, run.run());
  replay(theta, run, 0, run.steps(), launch);
}

}  // namespace tacit
