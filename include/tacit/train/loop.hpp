// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/train/retrace.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/optimise.hpp>
#include <tacit/zo/optimiser_state.hpp>
#include <tacit/zo/options.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/stochastic.hpp>
#include <tacit/zo/two_point.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <stdexcept>
#include <vector>

/// The loop of train/trainer.hpp in its pull form, which leaves the parameters to the program.

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

}  // namespace tacit
