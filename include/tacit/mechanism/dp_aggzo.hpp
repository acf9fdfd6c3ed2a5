// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/mechanism/gridded.hpp>
#include <tacit/mechanism/noisy_sum.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/secret/stream.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tacit {

/// DP-AggZO: the K scalars of a record, divided by K, are one contribution, clipped to L2 norm C.
/// For a Poisson batch B of expected size n,
///   y_k = (1/n)·(Σ_{i∈B} c_i[k] + N_k),  c_i = min(1, C/‖ĝ_i/K‖)·ĝ_i/K,
/// on a grid of 2^20 units a clip, N_k discrete Gaussian (mechanism/gridded.hpp).
///
/// Guarantee: a step is `event()` under add_remove, and the run is `steps` of them, whatever the
/// noise is calibrated by. A record with a scalar that is not finite contributes 0.
/// Source: DP-AggZO. (K directions cost no more than one, where DPZero K times would.)
template <secret_bits Secret = secret_stream>
class dp_aggzo : public noisy_sum_run<Secret> {
 public:
  /// @throws std::domain_error for an option outside its range; std::invalid_argument for no step,
  ///         no direction, or no record
  dp_aggzo(noisy_sum_options const& options, std::size_t directions, participants taking_part,
           Secret secret = Secret())
      : noisy_sum_run<Secret>("dp_aggzo", options, std::move(taking_part), std::move(secret)),
        contribution_(directions) {
    detail::require_argument(directions > 0, "dp_aggzo", "directions", directions, "at least 1");
    static_cast<void>(gridded_sum(1, options.clip, options.noise_multiplier));  // in its range too
  }

  [[nodiscard]] std::size_t directions() const noexcept { return contribution_.size(); }

  /// What a step is charged as.
  [[nodiscard]] tacit::event event() const { return this->options().gaussian_event(); }

  /// @throws std::invalid_argument unless there are K·N scalars: nothing is charged then;
  ///         budget_exhausted beyond the last step; std::logic_error in a forked process
  release step(std::span<double const> scalars) {
    detail::check_size("dp_aggzo", "number of scalars", scalars.size(),
                       this->records() * directions());
    std::span<std::size_t const> const batch = this->next_batch();
    noisy_sum_options const& o = this->options();
    gridded_sum sum(directions(), o.clip, o.noise_multiplier);
    double const share = 1.0 / static_cast<double>(directions());
    for (std::size_t const i : batch) {
      for (std::size_t k = 0; k < directions(); ++k) {
        contribution_[k] = scalars[k * this->records() + i] * share;
      }
      sum.add(std::span<double const>(contribution_));
    }
    release out{std::vector<double>(directions())};
    std::move(sum).release(this->secret(), o.divisor(), std::span(out.coefficients));
    return out;
  }

 private:
  std::vector<double> contribution_;
};

}  // namespace tacit
