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

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tacit {

/// DP-AggZO: the K scalars of a record, divided by K, are one contribution, clipped to L2 norm C.
/// For a Poisson batch B of expected size n,
///   y_k = (1/n)·(Σ_{i∈B} c_i[k] + N_k),  c_i = min(1, C/‖ĝ_i/K‖)·ĝ_i/K,
/// on a grid of 2^20 units a clip, N_k discrete Gaussian (mechanism/quantised.hpp).
///
/// Guarantee: a step is `event()`, a Gaussian of C times the noise multiplier, under add_remove: a
/// record moves the sums by C together, so that K directions cost no more than one. A record with a
/// scalar that is not finite contributes 0. The least multiplier for a target is
/// `noise_multiplier_for<privacy_loss_accountant>(target, poisson{rate}, steps)`
/// (dp/calibration.hpp).
/// Source: DP-AggZO.
template <secret_bits Secret = secret_stream>
class dp_aggzo : public noisy_sum_run<Secret> {
 public:
  /// @throws std::domain_error for an option outside its range; std::invalid_argument for no step,
  ///         no direction, or no record
  dp_aggzo(noisy_sum_options const& options, std::size_t directions, participants taking_part,
           Secret secret = Secret())
      : dp_aggzo("dp_aggzo", options, directions, std::move(taking_part), std::move(secret)) {}

  [[nodiscard]] std::size_t directions() const noexcept { return contribution_.size(); }

  using noisy_sum_run<Secret>::batch;

  /// What a step is charged as.
  [[nodiscard]] tacit::event event() const { return this->options().gaussian_event(); }

  /// Takes the scalars of the batch alone: K rows, in its order.
  /// @throws std::invalid_argument unless there are K for each record of the batch: it waits on;
  ///         std::logic_error without a batch, unless the rate is 1, and in a forked process;
  ///         budget_exhausted beyond the last step
  release step(std::span<double const> scalars) {
    contribution_grid const grid{this->options().clip};
    std::vector<std::int64_t> sums(directions(), 0);
    std::size_t const size = this->take_batch(scalars, directions());
    if (directions() == 1) {
      sums[0] = this->sum_of(grid, scalars);
    } else {
      double const share = 1.0 / static_cast<double>(directions());
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t k = 0; k < directions(); ++k) {
          contribution_[k] = scalars[k * size + i] * share;
        }
        grid.quantise(std::span<double const>(contribution_), units_);
        for (std::size_t k = 0; k < directions(); ++k) sums[k] += units_[k];
      }
    }
    add_discrete_gaussian(this->secret(), noise_.sigma, sums);
    double const unit = grid.quantum() / this->options().divisor();
    release out;
    for (std::int64_t const sum : sums) {
      out.coefficients.push_back(detail::as_released<double>(static_cast<double>(sum) * unit));
    }
    return out;
  }

 protected:
  dp_aggzo(std::string_view who, noisy_sum_options const& options, std::size_t directions,
           participants&& taking_part, Secret&& secret)
      : noisy_sum_run<Secret>(who, options, std::move(taking_part), std::move(secret)),
        noise_(quantised_noise::for_multiplier(who, options.noise_multiplier,
                                               static_cast<double>(contribution_grid::norm))),
        contribution_(directions),
        units_(directions) {
    detail::require_argument(directions > 0, who, "directions", directions, "at least 1");
  }

 private:
  quantised_noise noise_;
  std::vector<double> contribution_;
  std::vector<std::int32_t> units_;
};

/// DPZero: DP-AggZO at K = 1, y = (1/n)·(Σ_{i∈B} clip_C(ĝ_i) + N). The paper's direction is uniform
/// on the sphere √d·S^(d−1) (`direction_law::sphere`); Gaussian and Rademacher ones are as private.
///
/// Guarantee: as `dp_aggzo`. The paper compares data sets that differ in one record, which moves the
/// sum by 2C: calibrate with `adjacency::replace_one` for that.
/// Source: DPZero (arXiv 2310.09639), algorithm 2.
template <secret_bits Secret = secret_stream>
class dpzero : public dp_aggzo<Secret> {
 public:
  /// @throws std::domain_error for an option outside its range; std::invalid_argument for no step
  ///         or no record
  dpzero(noisy_sum_options const& options, participants taking_part, Secret secret = Secret())
      : dp_aggzo<Secret>("dpzero", options, 1, std::move(taking_part), std::move(secret)) {}
};

}  // namespace tacit
