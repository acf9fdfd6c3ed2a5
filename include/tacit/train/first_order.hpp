// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/train/retrace.hpp>
#include <tacit/zo/optimise.hpp>
#include <tacit/zo/optimiser_state.hpp>
#include <tacit/zo/options.hpp>
#include <tacit/zo/step.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

/// The loop for mechanisms that release a vector. **θ is public**, as in train/trainer.hpp: a
/// function of the initial θ, the options and the releases. Of the options only learning_rate,
/// weight_decay, decay, steps and optimiser matter.

namespace tacit {

/// Release t of a run: by sgd θ ← (1−η_tλ)θ − η_t·value, in double and rounded to float once; else by the
/// optimiser (zo/optimise.hpp), whose state counts the release.
/// Guarantee: the same bits everywhere.
/// @throws std::domain_error, std::invalid_argument for an option outside its range, unless θ
///         has as many entries as the release, and unless the state is that of t releases
inline void descend(std::span<float> theta, optimiser_state& state, train_options options,
                    std::size_t t, vector_release const& released) {
  options.smoothing = 1.0;  // not used
  detail::check_train_options(options);
  detail::check_rounding("descend", options, true);
  detail::check_size("descend", "size of the release", released.value.size(), theta.size());
  detail::check_state(state, options, theta.size(), t);
  double const rate = detail::rate_at(options, t);
  optimiser_step const by = state.next(rate, options.weight_decay);
  state.count();
  if (!state.empty()) {
    detail::optimise_entries(theta.data(), state.at(0), released.value.data(), theta.size(), by);
    return;
  }
  for (std::size_t j = 0; j < theta.size(); ++j) {
    theta[j] = detail::decayed<float>(theta[j], by.step, released.value[j], by.decay);
  }
}

/// The same by sgd, which has no state.
/// @throws std::invalid_argument for another optimiser
inline void descend(std::span<float> theta, train_options const& options, std::size_t t,
                    vector_release const& released) {
  detail::require_argument(options.optimiser.rule == optimiser_rule::sgd, "descend", "optimiser",
                           std::string_view("another"), "sgd, or given with its state");
  optimiser_state none({}, 0);
  descend(theta, none, options, t, released);
}

/// Rebuilds θ from the releases: in, θ and the optimiser's state as they were after the first `from` of them;
/// out, both after the last.
/// @throws as descend; std::invalid_argument for from > releases.size()
inline void replay(std::span<float> theta, optimiser_state& state, train_options const& options,
                   std::span<vector_release const> releases, std::size_t from = 0) {
  detail::check_from(from, releases.size());
  for (std::size_t t = from; t < releases.size(); ++t) {
    descend(theta, state, options, t, releases[t]);
  }
}

/// The same without a state that was kept: from the initial θ, and by sgd from anywhere.
inline void replay(std::span<float> theta, train_options options,
                   std::span<vector_release const> releases, std::size_t from = 0) {
  options.smoothing = 1.0;  // not used
  optimiser_state state = detail::state_at(from, options, theta.size());
  replay(theta, state, options, releases, from);
}

/// Trains parameters that lie in this program's memory:
///
///     first_order_trainer run{mechanism, {.learning_rate = 0.1}, theta};
///     while (!run.done()) run.step([&](std::size_t record, std::span<float> out) { … });
///
/// The mechanism and the parameters are used, not owned, and must outlive the trainer. For
/// `dpgd_0th`, whose step takes scalars and a direction, call `descend` with what it releases.
template <first_order_mechanism Mechanism>
class first_order_trainer {
 public:
  /// @throws std::domain_error, std::invalid_argument for an option outside its range, unless θ has
  ///         the mechanism's dimension, or if the mechanism has made a step
  first_order_trainer(Mechanism& mechanism, train_options const& options, std::span<float> theta)
      : mechanism_(&mechanism),
        options_(options),
        theta_(theta),
        state_(options.optimiser, theta.size()) {
    options_.smoothing = 1.0;  // not used
    detail::check_train_options(options_);
    detail::check_rounding("first_order_trainer", options_, true);
    detail::check_size("first_order_trainer", "number of parameters", theta.size(),
                       mechanism.dimension());
    detail::check_size("first_order_trainer", "steps of the mechanism", mechanism.steps(), 0);
  }

  [[nodiscard]] bool done() const { return mechanism_->done(); }

  /// How many releases there are: fewer than the mechanism's steps if some threw.
  [[nodiscard]] std::size_t releases() const noexcept { return releases_; }

  /// One step; returns its release. The callable writes gradients at θ as it is: of a record, or of many
  /// (mechanism/gradients.hpp).
  /// @throws what the mechanism or the callable throws: θ is where it was, and the step is charged
  template <class Gradients>
  vector_release const& step(Gradients&& gradients_of) {
    return apply(mechanism_->step(std::forward<Gradients>(gradients_of)));
  }

  /// The same for `most_rows` records at a time.
  template <class Gradients>
  vector_release const& step(Gradients&& gradients_of, std::size_t most_rows) {
    return apply(mechanism_->step(std::forward<Gradients>(gradients_of), most_rows));
  }

  /// Applies what the mechanism has released in another way, such as `dp_sgd::step_in_parts`.
  vector_release const& apply(vector_release released) {
    descend(theta_, state_, options_, releases_, released);
    released_ = std::move(released);
    ++releases_;
    return released_;
  }

 private:
  Mechanism* mechanism_;
  train_options options_;
  std::span<float> theta_;
  optimiser_state state_;
  std::size_t releases_ = 0;
  vector_release released_;
};

}  // namespace tacit
