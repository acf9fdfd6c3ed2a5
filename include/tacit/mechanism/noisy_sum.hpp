// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/mechanism/paid_steps.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/mechanism/quantised.hpp>
#include <tacit/secret/stream.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

namespace tacit {

/// What DPZero, DP-AggZO, DP-ZO with Laplace, DPGD-0th and DP-SGD have in common: a batch,
/// contributions that are clipped and summed, noise, a public divisor.
struct noisy_sum_options {
  double clip = required;  ///< C, of a record's whole contribution to a step; in [1e-100, 1e100]
  double noise_multiplier = required;  ///< noise / C: see `noise_multiplier_for`
  double rate = required;  ///< of Poisson batches, in (0, 1]; 1: every record, every step
  double expected_records = required;  ///< assumed participants; public, an estimate suffices
  std::size_t steps = 0;  ///< T, for which the noise was calibrated; no step follows the last

  /// What a sum is divided by: the batch size that is expected, never the one that was drawn.
  [[nodiscard]] double divisor() const noexcept { return rate * expected_records; }

  /// What a step is charged as under add_remove where the noise is Gaussian.
  template <std::same_as<event> Event = event>
  [[nodiscard]] Event gaussian_event() const {
    return sampled(gaussian{noise_multiplier}, poisson{rate});
  }

  /// @throws std::domain_error, naming the option
  void check(std::string_view who) const {
    contribution_grid{clip}.check(who);
    detail::check_positive(who, "noise_multiplier", noise_multiplier);
    detail::require_domain(rate > 0.0 && rate <= 1.0, who, "rate", rate, "in (0, 1]");
    detail::require_domain(expected_records >= 1.0 && expected_records <= 0x1p53, who,
                           "expected_records", expected_records, "in [1, 2^53]");
  }
};

/// The run of such a mechanism: what was paid for, and the secret batches.
///
/// A step of the zeroth-order ones is taken in two halves, so that only the batch is evaluated:
///
///     for (std::size_t const record : mechanism.batch()) …;   // charged, then drawn
///     release const y = mechanism.step(scalars_of_the_batch);
///
/// A batch waits until `step` has its scalars: asking again gives the same one and charges nothing, so
/// that losses which could not be computed are computed again. **The batch is secret**: who sees it, or
/// times how long its losses take, learns more than the guarantee says.
template <secret_bits Secret>
class noisy_sum_run {
 public:
  [[nodiscard]] std::size_t records() const noexcept { return taking_part_.records(); }
  /// How many were taken. A step whose batch waits is charged and does not count yet.
  [[nodiscard]] std::size_t steps() const noexcept { return paid_.taken() - (waits_ ? 1 : 0); }
  [[nodiscard]] bool done() const noexcept { return paid_.done() && !waits_; }
  [[nodiscard]] noisy_sum_options const& options() const noexcept { return options_; }

 protected:
  noisy_sum_run(std::string_view who, noisy_sum_options const& options, participants&& taking_part,
                Secret&& secret)
      : options_(options),
        taking_part_(std::move(taking_part)),
        secret_(std::move(secret)),
        paid_(who, options.steps) {
    options.check(who);
  }

  /// The records whose scalars the next step takes, in increasing order; valid until then. The first
  /// call charges the step, before it draws them.
  /// @throws budget_exhausted beyond the last step; std::logic_error if the run was moved from, or in
  ///         a forked process
  [[nodiscard]] std::span<std::size_t const> batch() {
    paid_.check_owner();
    if (!waits_) {
      paid_.charge();
      if (options_.rate < 1.0) taking_part_.sample(secret_, options_.rate, batch_);
      waits_ = true;
    }
    return drawn();
  }

  /// The same, used up: the step can no longer be taken again.
  [[nodiscard]] std::span<std::size_t const> take_batch() {
    (void)batch();
    waits_ = false;
    return drawn();
  }

  /// The batch of a step that has its scalars, used up. Where every record is in every batch nobody
  /// needs to ask for it.
  /// @throws std::invalid_argument unless there are K scalars for each of its records, and
  ///         std::logic_error if it was never drawn: nothing is charged or used up then
  std::size_t take_batch(std::span<double const> scalars, std::size_t directions) {
    paid_.check_owner();
    if (!waits_ && options_.rate < 1.0) {
      throw std::logic_error(detail::complaint(who(), "step", "one without a batch",
                                               "preceded by batch(), which draws it"));
    }
    detail::check_size(who(), "number of scalars", scalars.size(), drawn().size() * directions);
    return take_batch().size();
  }

  /// The sum of a batch's scalars, in units.
  [[nodiscard]] static std::int64_t sum_of(contribution_grid const& grid,
                                           std::span<double const> scalars) {
    std::int64_t sum = 0;
    for (double const x : scalars) sum += grid.quantise(x);
    return sum;
  }

  [[nodiscard]] Secret& secret() noexcept { return secret_; }
  [[nodiscard]] std::string_view who() const noexcept { return paid_.who(); }

 private:
  [[nodiscard]] std::span<std::size_t const> drawn() const noexcept {
    if (options_.rate < 1.0) return batch_;
    return taking_part_.everyone();
  }

  noisy_sum_options options_;
  participants taking_part_;
  Secret secret_;
  std::vector<std::size_t> batch_;
  bool waits_ = false;  // batch_ is charged and drawn, and has not been summed
  paid_steps paid_;
};

}  // namespace tacit
