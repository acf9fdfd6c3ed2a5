// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/mechanism/noisy_sum.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/mechanism/quantised.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/secret/discrete.hpp>
#include <tacit/secret/stream.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace tacit {

/// Discrete Laplace noise of a whole scale t for whole contributions of size at most 2^20 (a clip).
///
/// What it is charged as: the same noise on a grid that is 2^20/m times coarser, m = 64 units a
/// clip, which is no more private. With q = e^(−1/t), discrete Laplace noise is the difference of two geometric numbers of ratio q; of a geometric number G, ⌊G/g⌋ and
/// G mod g are independent, and ⌊G/g⌋ is geometric of ratio q^g. So the noise is g·(discrete
/// Laplace of scale t/g) plus a number that is independent of it: a shift of mg units is
/// post-processing of a shift of m coarse ones. Pure ε is the same, 2^20/t; the trade-off curve is
/// worse by the mass of one coarse cell at its ends (a shift within [0, mg] is dominated by the
/// whole one), and an accountant composes m + 1 losses instead of a million. (The continuous Laplace
/// distribution does not dominate the discrete one: its largest loss has probability ½, not 1/(1 +
/// q).)
struct quantised_laplace {
  static constexpr std::uint64_t cells = 64;

  std::uint64_t scale = 0;

  /// The least whole scale of at least this multiple of a clip.
  /// @throws std::domain_error unless it is positive and at most 2^25
  [[nodiscard]] static quantised_laplace for_multiplier(double noise_multiplier) {
    detail::require_domain(noise_multiplier > 0.0 && noise_multiplier <= 0x1p25,
                           "quantised_laplace", "noise_multiplier", noise_multiplier,
                           "in (0, 2^25]");
    return {static_cast<std::uint64_t>(std::ceil(noise_multiplier * 0x1p20))};
  }

  /// ε of one release, unsampled. Guarantee: upper bound.
  [[nodiscard]] double epsilon() const {
    return 0x1p20 / static_cast<double>(scale) * (2.0 - detail::a_little_less);
  }

  [[nodiscard]] discrete_laplace charged() const {
    constexpr auto coarser = contribution_grid::norm / cells;
    return {.scale = static_cast<double>(scale) / static_cast<double>(coarser),
            .sensitivity = cells};
  }
};

/// What a step of `dp_zo_laplace` is charged as under add_remove: for an accountant, or to
/// calibrate with.
/// @throws as quantised_laplace
template <std::same_as<event> Event = event>
[[nodiscard]] Event dp_zo_laplace_event(double noise_multiplier, double rate) {
  return sampled(quantised_laplace::for_multiplier(noise_multiplier).charged(), poisson{rate});
}

/// DP-ZO with Laplace noise: one direction a step, y = (1/n)·(Σ_{i∈B} clip_C(ĝ_i) + N), N discrete
/// Laplace of scale C times the noise multiplier, on a grid of 2^20 units a clip.
///
/// Guarantee: a step is `event()` under add_remove; unsampled it is pure 1/noise_multiplier-DP, and
/// T steps are T times that. Sampled at rate q, pure log(1 + q·(e^(1/noise_multiplier) − 1)). A
/// record whose scalar is not finite contributes 0.
/// Source: DP-ZO with the Laplace mechanism; the grid as in mechanism/quantised.hpp.
template <secret_bits Secret = secret_stream>
class dp_zo_laplace : public noisy_sum_run<Secret> {
 public:
  /// @throws std::domain_error for an option outside its range; std::invalid_argument for no step
  ///         or no record
  dp_zo_laplace(noisy_sum_options const& options, participants taking_part,
                Secret secret = Secret())
      : noisy_sum_run<Secret>("dp_zo_laplace", options, std::move(taking_part), std::move(secret)),
        noise_(quantised_laplace::for_multiplier(options.noise_multiplier)) {}

  [[nodiscard]] std::size_t directions() const noexcept { return 1; }

  using noisy_sum_run<Secret>::batch;

  /// What a step is charged as.
  [[nodiscard]] tacit::event event() const {
    return dp_zo_laplace_event(this->options().noise_multiplier, this->options().rate);
  }

  /// Takes the scalars of the batch alone, in its order.
  /// @throws std::invalid_argument unless there is one for each record of the batch: it waits on;
  ///         std::logic_error without a batch, unless the rate is 1, and in a forked process;
  ///         budget_exhausted beyond the last step
  release step(std::span<double const> scalars) {
    contribution_grid const grid{this->options().clip};
    (void)this->take_batch(scalars, 1);
    std::int64_t sum = this->sum_of(grid, scalars);
    sum += draw_discrete_laplace(this->secret(), noise_.scale);
    double const unit = grid.quantum() / this->options().divisor();
    return {{static_cast<double>(sum) * unit}};
  }

 private:
  quantised_laplace noise_;
};

}  // namespace tacit
