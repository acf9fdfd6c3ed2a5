// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/train/loop.hpp>
#include <tacit/train/retrace.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/launch.hpp>
#include <tacit/zo/optimise.hpp>
#include <tacit/zo/optimiser_state.hpp>
#include <tacit/zo/options.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/stochastic.hpp>
#include <tacit/zo/two_point.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

/// The loop around a user's loss. Each step: K public directions z_k, the losses at θ±μz_k, one
/// release y from a mechanism, θ ← (1−η_tλ)θ − η_t Σ_k y_k z_k.
///
/// **θ is public.** It is a function of the initial θ, the options (with the public seed) and the
/// releases: nothing else reaches it, and `replay` computes the same θ from them, bit for bit.
///
/// What happens to an entry of θ in a step, in this order, with the roundings of zo/step.hpp:
///   1. for each k: +μz_k, −2μz_k, +μz_k. In place, because a copy of θ would double the memory;
///      the sums do not cancel exactly, and the few ulp that remain are part of θ. A replay makes
///      the same ones.
///   2. unless the release is a hold: (1−η_tλ)θ − η_t Σ_k y_k·z_k, rounded once. A hold moves
///      nothing, by decay neither.
/// The last +μz and the update are one pass over memory: three a step for K = 1.
///
/// With an optimiser 2. is its formula (zo/optimise.hpp), by a pass of its own, and a hold leaves m and v
/// alone too. They are public and as large as θ, or twice.
///
/// With stochastic rounding the last rounding of 2. is by public draws (zo/stochastic.hpp), for half and bfloat16
/// tensors; float ones are rounded as ever. 1. is the same.

namespace tacit {

/// Rebuilds θ from the releases alone: in, θ and the optimiser's state as they were after the first `from` of
/// them (0: the initial θ, and a new state); out, both after the last. Each block of θ goes through thousands of
/// steps while it is in the cache.
/// Guarantee: with the options of the run, the θ of `trainer`, bit for bit, for every storage and
/// launcher. (A step whose loss threw and was taken again has moved θ by roundings that no release
/// accounts for.)
/// @throws std::domain_error, std::invalid_argument for an option outside its range, for
///         from > releases.size(), releases that differ in their number of directions, or a state that is
///         not that of `from` releases
template <class Launcher = serial>
void replay(parameters const& theta, optimiser_state& state, train_options const& options,
            std::span<release const> releases, std::size_t from = 0, Launcher const& launch = {}) {
  detail::check_train_options(options);
  detail::check_from(from, releases.size());
  detail::check_state(state, options, static_cast<std::size_t>(theta.size()), from);
  detail::check_rounding("replay", options, theta);
  if (releases.empty()) return;
  std::size_t const directions = detail::directions_of(releases);
  auto const coefficients_of = [&](std::size_t t) { return std::span(releases[t].coefficients); };
  detail::retrace_steps(theta, state, options, directions, from, releases.size(), coefficients_of,
                        launch);
}

/// The same without a state that was kept: from the initial θ, and by sgd from anywhere.
template <class Launcher = serial>
void replay(parameters const& theta, train_options const& options,
            std::span<release const> releases, std::size_t from = 0, Launcher const& launch = {}) {
  optimiser_state state = detail::state_at(from, options, static_cast<std::size_t>(theta.size()));
  tacit::replay(theta, state, options, releases, from, launch);
}

namespace detail {

/// Checks and replay of other parameters than floats (train/quantised.hpp).
template <class Parameters>
struct training;

}  // namespace detail

/// Trains parameters that lie in this program's memory:
///
///     trainer run{mechanism, {.smoothing = 1e-3, .learning_rate = 1e-2, .seed = 7}, theta};
///     while (!run.done()) run.step(loss);
///
/// The mechanism and the parameters are used, not owned, and must outlive the trainer. To go on
/// with a resumed mechanism, start from the initial θ and `replay` first.
///
/// Of a mechanism that draws batches a loss of batches (zo/two_point.hpp) is asked for the batch alone:
///
///     run.step([&](std::span<float const> theta, std::span<std::size_t const> records,
///                  std::span<double> losses) { … });   // losses[j] is that of records[j]
///
/// It sees the secret batch, and its time tells the batch's size. It is not called for an empty one.
/// What it says of a record must be the same bits whoever else is in the batch: roundings that differ
/// with the company (matrix products of other shapes) move the sum by more than a clip. A loss of all
/// records is asked for all, of which those of the batch count: it does more than is needed, but the
/// same whatever the batch.
/// With a launcher as the last
/// argument (`openmp{}`) the passes over θ run by it: the same bits, on more threads.
///
/// Blocks of quantised parameters, alone or beside tensors of floats, are trained in the same way: train/quantised.hpp.
template <zeroth_order_mechanism Mechanism, class Launcher = serial, class Parameters = parameters>
class trainer {
 public:
  /// @throws std::domain_error, std::invalid_argument for an option outside its range
  trainer(Mechanism& mechanism, train_options const& options,
          std::type_identity_t<Parameters> theta, Launcher launch = {})
      : mechanism_(&mechanism),
        theta_(std::move(theta)),
        options_(options),
        launch_(std::move(launch)),
        loop_(mechanism, options, theta_.dimension()),
        state_(options.optimiser, static_cast<std::size_t>(theta_.size())),
        unreplayed_(mechanism.steps()) {
    detail::check_launcher<Launcher>(state_);
    if constexpr (of_floats) {
      detail::check_rounding("trainer", options, theta_);
    } else {
      detail::training<Parameters>::check("trainer", theta_, options);
    }
  }

  [[nodiscard]] bool done() const { return loop_.done(); }

  /// One step; returns its release. The loss is called 2K times, at θ+μz_k and θ−μz_k in turn,
  /// with the parameters moved in place.
  /// @throws what the loss throws: θ is moved back, up to rounding, nothing is released, and the step
  ///         can be taken again. A mechanism of batches has charged it, once, and keeps the batch; no
  ///         other has
  /// @throws what the mechanism throws: θ is where it was, up to rounding
  /// @throws std::domain_error with blocks among the parameters, for a release by which the step is no finite
  ///         float: θ is where it was, and no replay goes beyond this release
  /// @throws std::invalid_argument for a loss of one tensor where there are several, or of floats
  ///         where θ is stored otherwise, and before the releases of a resumed mechanism have been
  ///         replayed
  template <class Loss>
  release const& step(Loss&& loss) {
    detail::check_size("trainer", "number of releases not yet replayed", unreplayed_, 0);
    float const mu = loop_.smoothing();
    std::span<double> const scalars = loop_.scalars();
    record_indices batch;
    if constexpr (batched_mechanism<Mechanism> || detail::batch_loss_over<Loss, Parameters>) {
      batch = loop_.batch();
    }
    detail::losses_of_batch<std::remove_reference_t<Loss>, Parameters> losses(loss, batch,
                                                                              loop_.records());
    auto const move = [&](direction const& z, int times) {
      if constexpr (of_floats) {
        perturb_all(theta_, z, static_cast<float>(times) * mu, launch_);
      } else {
        perturb_all(theta_, z, times, launch_);
      }
    };
    detail::two_point_unrestored(theta_, loop_.directions(), mu, losses, scalars, move);
    direction const last = loop_.directions().back();  // the loop goes on to the next step's
    bool const rounded = options_.rounding == rounding_mode::stochastic;
    optimised_step next;
    stream_id draws;
    try {
      if (rounded) {
        rounded_step const release = loop_.step_rounded();
        next.terms = release.terms;
        draws = release.rounding;
      } else if (state_.empty()) {
        next.terms = loop_.step();
      } else {
        next = loop_.step(state_);
      }
    } catch (...) {
      move(last, 1);
      throw;
    }
    if (!state_.empty() || next.terms.count == 0) {
      move(last, 1);
      if constexpr (of_floats) {
        if (!next.by.held) optimise_all(theta_, state_, next, launch_);
      }
    } else if constexpr (!of_floats) {
      try {
        restore_and_stochastic_update_all(theta_, next.terms, draws, launch_);
      } catch (...) {
        move(last, 1);
        throw;
      }
    } else if (rounded) {
      restore_and_stochastic_update_all(theta_, mu, next.terms, draws, launch_);
    } else {
      restore_and_update_all(theta_, mu, next.terms, launch_);
    }
    return loop_.released();
  }

  /// Brings θ from after the first `from` releases (0: the initial θ) to where a resumed mechanism
  /// stands.
  /// @throws std::invalid_argument unless there are as many releases as the mechanism has made
  ///         steps, and an optimiser's state has seen `from` of them
  void replay(std::span<release const> releases, std::size_t from = 0) {
    detail::check_size("replay", "number of releases", releases.size(), mechanism_->steps());
    if constexpr (of_floats) {
      tacit::replay(theta_, state_, options_, releases, from, launch_);
    } else {
      detail::training<Parameters>::replay(theta_, options_, releases, from, launch_);
    }
    unreplayed_ = 0;
  }

  /// m, v and their clock after the releases so far. To go on from a checkpoint give back the state that was kept
  /// with it, then `replay` the rest.
  [[nodiscard]] optimiser_state& optimiser() noexcept { return state_; }

 private:
  static constexpr bool of_floats = std::same_as<Parameters, parameters>;

  Mechanism* mechanism_;
  Parameters theta_;
  train_options options_;
  Launcher launch_;
  zeroth_order_loop<Mechanism> loop_;
  optimiser_state state_;
  std::size_t unreplayed_;
};

}  // namespace tacit
