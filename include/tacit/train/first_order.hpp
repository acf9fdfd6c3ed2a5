// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/options.hpp>
#include <tacit/zo/step.hpp>

#include <cstddef>
#include <span>
#include <utility>

/// The loop for mechanisms that release a vector. **θ is public**, as in train/trainer.hpp: a
/// function of the initial θ, the options and the releases. Of the options only learning_rate,
/// weight_decay, decay and steps matter.

namespace tacit {

/// θ ← (1−η_tλ)θ − η_t·value: release t of a run, in double and rounded to float once.
/// Guarantee: the same bits everywhere.
/// @throws std::domain_error, std::invalid_argument for an option outside its range, and unless θ
///         has as many entries as the release
inline void descend(std::span<float> theta, train_options options, std::size_t t,
                    vector_release const& released) {
  options.smoothing = 1.0;  // not used
  detail::check_train_options(options);
  detail::check_size("descend", "size of the release", released.value.size(), theta.size());
  double const rate = detail::rate_at(options, t);
  auto const step = static_cast<float>(-rate);
  auto const decay = static_cast<float>(rate * options.weight_decay);
  for (std::size_t j = 0; j < theta.size(); ++j) {
    theta[j] = detail::decayed<float>(theta[j], step, released.value[j], decay);
  }
}

/// Rebuilds θ from the releases: in, θ as it was after the first `from` of them; out, θ after the
/// last.
/// @throws as descend; std::invalid_argument for from > releases.size()
inline void replay(std::span<float> theta, train_options const& options,
                   std::span<vector_release const> releases, std::size_t from = 0) {
  detail::check_from(from, releases.size());
  for (std::size_t t = from; t < releases.size(); ++t) descend(theta, options, t, releases[t]);
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
      : mechanism_(&mechanism), options_(options), theta_(theta) {
    options_.smoothing = 1.0;  // not used
    detail::check_train_options(options_);
    detail::check_size("first_order_trainer", "number of parameters", theta.size(),
                       mechanism.dimension());
    detail::check_size("first_order_trainer", "steps of the mechanism", mechanism.steps(), 0);
  }

  [[nodiscard]] bool done() const { return mechanism_->done(); }

  /// How many releases there are: fewer than the mechanism's steps if some threw.
  [[nodiscard]] std::size_t releases() const noexcept { return releases_; }

  /// One step; returns its release. `gradient_of(record, out)` writes the gradient at θ as it
  /// is.
  /// @throws what the mechanism or gradient_of throws: θ is where it was, and the step is charged
  template <class Gradient>
  vector_release const& step(Gradient&& gradient_of) {
    released_ = mechanism_->step(std::forward<Gradient>(gradient_of));
    descend(theta_, options_, releases_, released_);
    ++releases_;
    return released_;
  }

 private:
  Mechanism* mechanism_;
  train_options options_;
  std::span<float> theta_;
  std::size_t releases_ = 0;
  vector_release released_;
};

}  // namespace tacit
