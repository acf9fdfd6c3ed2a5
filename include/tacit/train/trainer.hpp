// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/random/philox.hpp>
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

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

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

/// What a step along directions does with stochastic rounding. The terms are a view.
struct rounded_step {
  direction_steps terms{};
  stream_id rounding{};
};

/// The pull form: for a program that holds the parameters itself, on a GPU say. It asks which
/// directions to measure, and answers with the losses:
///
///     zeroth_order_loop loop(mechanism, options, number_of_parameters);
///     while (!loop.done()) {
///       for (std::size_t k = 0; k < loop.directions().size(); ++k) {
///         // losses of the records loop.batch() at θ ± loop.smoothing()·z, z = loop.directions()[k]
///         two_point_scalars(plus, minus, loop.smoothing(), loop.scalars(k));
///       }
///       sweep(update{theta, loop.step()}, number_of_parameters);  // or your own kernel
///     }
///
/// With an optimiser, of which this program holds the state too:
///
///     optimiser_state state(options.optimiser, number_of_parameters);
///       …
///       optimised_step const next = loop.step(state);
///       sweep(optimise{theta, state.at(0), next.terms, next.by}, number_of_parameters);
///
/// With stochastic rounding:
///
///       rounded_step const next = loop.step_rounded();
///       sweep(stochastic_update{theta, next.terms, next.rounding}, number_of_parameters);
///
/// With the functors of zo/step.hpp in the order given above, θ is the one of `trainer` and `replay`,
/// bit for bit. A program that evaluates at θ ± μz without moving θ has a θ of its own, which replays
/// by the updates alone.
///
/// The mechanism is used, not owned, and must outlive the loop.
template <zeroth_order_mechanism Mechanism>
class zeroth_order_loop {
 public:
  /// Starts at the mechanism's next step: 0, or a later one of a resumed mechanism, for which θ is
  /// rebuilt with `replay` first.
  /// @throws std::domain_error, std::invalid_argument for an option outside its range
  zeroth_order_loop(Mechanism& mechanism, train_options const& options, std::uint64_t dimension)
      : mechanism_(&mechanism),
        options_(options),
        dimension_(dimension),
        directions_(mechanism.directions()) {
    detail::check_train_options(options);
    detail::require_argument(dimension > 0, "trainer", "number of parameters", dimension,
                             "at least 1");
    prepare();
  }

  [[nodiscard]] bool done() const { return mechanism_->done(); }
  [[nodiscard]] float smoothing() const noexcept { return static_cast<float>(options_.smoothing); }

  /// The K directions of the present step.
  [[nodiscard]] std::span<direction const> directions() const noexcept {
    return {directions_.data(), directions_.size()};
  }

  /// N: how many records there are.
  [[nodiscard]] std::size_t records() const { return mechanism_->records(); }

  /// The records whose losses the present step asks for, in increasing order: all of them, or those of
  /// the secret batch of a mechanism that draws one. The first call of a step charges it then, and so
  /// does the first call of `scalars`.
  /// @throws what the mechanism's `batch` throws
  [[nodiscard]] record_indices batch() {
    if constexpr (batched_mechanism<Mechanism>) {
      return mechanism_->batch();
    } else {
      if (everyone_.empty()) {
        everyone_.resize(records());
        std::iota(everyone_.begin(), everyone_.end(), std::size_t{0});
      }
      return everyone_;
    }
  }

  /// Where the scalars of direction k go, one for each record of the batch. NaN until written: where a
  /// direction is forgotten a mechanism of all records holds, and to one of batches it is 0.
  /// @throws std::invalid_argument unless k < K; as `batch`
  [[nodiscard]] std::span<double> scalars(std::size_t k) {
    detail::require_argument(k < directions_.size(), "trainer", "direction", k,
                             "below the number of directions");
    std::size_t const size = scalars().size() / directions_.size();
    return std::span(scalars_).subspan(k * size, size);
  }

  /// Those of all K directions, row after row.
  /// @throws as `batch`
  [[nodiscard]] std::span<double> scalars() {
    if (!asked_) {
      std::size_t size = 0;
      if constexpr (batched_mechanism<Mechanism>) {
        size = mechanism_->batch().size();
      } else {
        size = records();
      }
      scalars_.assign(directions_.size() * size, std::numeric_limits<double>::quiet_NaN());
      asked_ = true;
    }
    return scalars_;
  }

  /// The mechanism's release, as what is to be done to θ: the K terms of `update`, none for a
  /// hold. Then the next step begins. The terms are valid until the next call.
  /// @throws what the mechanism throws: no update follows, and the loop is where it was.
  ///         (A mechanism whose state could not be stored refuses every further step.)
  /// @throws std::logic_error with an optimiser other than sgd, or stochastic rounding, before anything is
  ///         released
  direction_steps step() {
    if (options_.rounding != rounding_mode::nearest) {
      throw std::logic_error("zeroth_order_loop: stochastic rounding needs draws: step_rounded()");
    }
    return step_by_terms();
  }

  /// The same for stochastic rounding: what `stochastic_update` is to do to θ.
  /// @throws std::logic_error for rounding to the nearest, before anything is released
  rounded_step step_rounded() {
    if (options_.rounding == rounding_mode::nearest) {
      throw std::logic_error(
          "zeroth_order_loop: what is rounded to the nearest has no draws: step()");
    }
    stream_id const draws = rounding_of(options_.seed, mechanism_->steps());
    return {step_by_terms(), draws};
  }

  /// The same for an optimiser, whose state counts the release: what `optimise` is to do to θ, m and v.
  /// Nothing for a hold.
  /// @throws std::invalid_argument unless the state is that of these options and of the releases before;
  ///         std::logic_error for sgd, before anything is released
  optimised_step step(optimiser_state& state) {
    if (options_.optimiser.rule == optimiser_rule::sgd) {
      throw std::logic_error("zeroth_order_loop: sgd has no state: step()");
    }
    detail::check_of_options("trainer", state, options_.optimiser);
    detail::check_size("trainer", "releases in the optimiser's state", state.releases(),
                       mechanism_->steps());
    double const rate = release_next();
    optimiser_step by;
    if (!released_.held()) {
      by = state.next(rate, options_.weight_decay);
      for (std::size_t k = 0; k < directions_.size(); ++k) {
        terms_.push_back({directions_[k], static_cast<float>(released_.coefficients[k])});
      }
    }
    state.count();
    prepare();
    return {{terms_.data(), terms_.size()}, by};
  }

  /// The last release; empty before the first step.
  [[nodiscard]] release const& released() const noexcept { return released_; }

 private:
  direction_steps step_by_terms() {
    if (options_.optimiser.rule != optimiser_rule::sgd) {
      throw std::logic_error("zeroth_order_loop: an optimiser needs its state: step(state)");
    }
    double const rate = release_next();
    if (!released_.held()) {
      for (std::size_t k = 0; k < directions_.size(); ++k) {
        terms_.push_back(
            detail::term_of(options_, rate, directions_[k], released_.coefficients[k], k));
      }
    }
    prepare();
    return {terms_.data(), terms_.size()};
  }

  /// Has the mechanism release; the learning rate of that step.
  double release_next() {
    std::size_t const t = mechanism_->steps();
    std::span<double const> const measured = scalars();
    asked_ = !batched_mechanism<Mechanism>;  // a batch may be gone, whether or not this throws
    released_ = mechanism_->step(measured);
    terms_.clear();
    return detail::rate_at(options_, t);
  }

  void prepare() {
    for (std::size_t k = 0; k < directions_.size(); ++k) {
      directions_[k] =
          detail::direction_of(options_, dimension_, mechanism_->steps(), directions_.size(), k);
    }
    asked_ = false;
  }

  Mechanism* mechanism_;
  train_options options_;
  std::uint64_t dimension_;
  std::vector<direction> directions_;
  std::vector<std::size_t> everyone_;
  std::vector<double> scalars_;
  bool asked_ = false;  // scalars_ is for the present step
  std::vector<direction_step> terms_;
  release released_;
};

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
  if (releases.empty()) return;
  std::size_t const directions = releases.front().coefficients.size();
  detail::require_argument(directions > 0, "replay", "number of coefficients", 0, "at least 1");
  for (release const& released : releases) {
    detail::check_size("replay", "number of coefficients", released.coefficients.size(),
                       directions);
  }
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
template <zeroth_order_mechanism Mechanism, class Launcher = serial>
class trainer {
 public:
  /// @throws std::domain_error, std::invalid_argument for an option outside its range
  trainer(Mechanism& mechanism, train_options const& options, parameters theta,
          Launcher launch = {})
      : mechanism_(&mechanism),
        theta_(std::move(theta)),
        options_(options),
        launch_(std::move(launch)),
        loop_(mechanism, options, theta_.dimension()),
        state_(options.optimiser, static_cast<std::size_t>(theta_.size())),
        unreplayed_(mechanism.steps()) {
    detail::check_launcher<Launcher>(state_);
    detail::check_rounding("trainer", options, theta_);
  }

  [[nodiscard]] bool done() const { return loop_.done(); }

  /// One step; returns its release. The loss is called 2K times, at θ+μz_k and θ−μz_k in turn,
  /// with the parameters moved in place.
  /// @throws what the loss throws: θ is moved back, up to rounding, nothing is released, and the step
  ///         can be taken again. A mechanism of batches has charged it, once, and keeps the batch; no
  ///         other has
  /// @throws what the mechanism throws: θ is where it was, up to rounding
  /// @throws std::invalid_argument for a loss of one tensor where there are several, or of floats
  ///         where θ is stored otherwise, and before the releases of a resumed mechanism have been
  ///         replayed
  template <class Loss>
  release const& step(Loss&& loss) {
    detail::check_size("trainer", "number of releases not yet replayed", unreplayed_, 0);
    float const mu = loop_.smoothing();
    std::span<double> const scalars = loop_.scalars();
    record_indices batch;
    if constexpr (batched_mechanism<Mechanism> || loss_of_batches<Loss>) batch = loop_.batch();
    detail::losses_of_batch<std::remove_reference_t<Loss>> losses(loss, batch, loop_.records());
    detail::two_point_unrestored(theta_, loop_.directions(), mu, losses, scalars, launch_);
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
      perturb_all(theta_, last, mu, launch_);
      throw;
    }
    if (state_.empty() && next.terms.count > 0) {
      if (rounded) {
        restore_and_stochastic_update_all(theta_, mu, next.terms, draws, launch_);
      } else {
        restore_and_update_all(theta_, mu, next.terms, launch_);
      }
    } else {
      perturb_all(theta_, last, mu, launch_);
      if (!next.by.held) optimise_all(theta_, state_, next, launch_);
    }
    return loop_.released();
  }

  /// Brings θ from after the first `from` releases (0: the initial θ) to where a resumed mechanism
  /// stands.
  /// @throws std::invalid_argument unless there are as many releases as the mechanism has made
  ///         steps, and an optimiser's state has seen `from` of them
  void replay(std::span<release const> releases, std::size_t from = 0) {
    detail::check_size("replay", "number of releases", releases.size(), mechanism_->steps());
    tacit::replay(theta_, state_, options_, releases, from, launch_);
    unreplayed_ = 0;
  }

  /// m, v and their clock after the releases so far. To go on from a checkpoint give back the state that was kept
  /// with it, then `replay` the rest.
  [[nodiscard]] optimiser_state& optimiser() noexcept { return state_; }

 private:
  Mechanism* mechanism_;
  parameters theta_;
  train_options options_;
  Launcher launch_;
  zeroth_order_loop<Mechanism> loop_;
  optimiser_state state_;
  std::size_t unreplayed_;
};

}  // namespace tacit
