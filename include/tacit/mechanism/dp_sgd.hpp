// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/mechanism/gridded.hpp>
#include <tacit/mechanism/noisy_sum.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tacit {

/// DP-SGD; at rate 1, DP-GD. Per-record gradients g_i, clipped to L2 norm C:
///   value = (1/n)·(Σ_{i∈B} min(1, C/‖g_i‖)·g_i + N),  N of C times the noise multiplier in every
/// coordinate, on a grid of 2^20 units a clip (mechanism/gridded.hpp).
///
/// Guarantee: a step is `event()` under add_remove. A record whose gradient is not finite
/// contributes 0. A step is charged before a gradient is asked for: one that throws loses its
/// charge, and its batch is gone.
/// Source: Abadi et al. 2016; the divisor is the expected batch size.
template <secret_bits Secret = secret_stream>
class dp_sgd : public noisy_sum_run<Secret> {
 public:
  /// @throws std::domain_error for an option outside its range; std::invalid_argument for no step,
  ///         no coordinate, or no record
  dp_sgd(noisy_sum_options const& options, std::size_t dimension, participants taking_part,
         Secret secret = Secret())
      : noisy_sum_run<Secret>("dp_sgd", options, std::move(taking_part), std::move(secret)),
        gradient_(dimension) {
    detail::require_argument(dimension > 0, "dp_sgd", "dimension", dimension, "at least 1");
    static_cast<void>(gridded_sum(1, options.clip, options.noise_multiplier));  // in its range too
  }

  [[nodiscard]] std::size_t dimension() const noexcept { return gradient_.size(); }

  /// What a step is charged as.
  [[nodiscard]] tacit::event event() const { return this->options().gaussian_event(); }

  /// `gradient_of(record, out)` writes the d numbers of a record, zeros before.
  /// @throws budget_exhausted beyond the last step; std::logic_error in a forked process; what
  ///         gradient_of throws
  template <class Gradient>
  vector_release step(Gradient&& gradient_of) {
    std::span<std::size_t const> const batch = this->take_batch();
    noisy_sum_options const& o = this->options();
    gridded_sum sum(dimension(), o.clip, o.noise_multiplier);
    for (std::size_t const i : batch) {
      std::fill(gradient_.begin(), gradient_.end(), 0.0F);
      gradient_of(i, std::span<float>(gradient_));
      sum.add(std::span<float const>(gradient_));
    }
    vector_release out{std::vector<float>(dimension())};
    std::move(sum).release(this->secret(), o.divisor(), std::span(out.value));
    return out;
  }

 private:
  std::vector<float> gradient_;
};

}  // namespace tacit
