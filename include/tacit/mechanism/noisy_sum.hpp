// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/mechanism/gridded.hpp>
#include <tacit/mechanism/paid_steps.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/secret/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
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
  [[nodiscard]] event gaussian_event() const {
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
template <secret_bits Secret>
class noisy_sum_run {
 public:
  [[nodiscard]] std::size_t records() const noexcept { return taking_part_.records(); }
  [[nodiscard]] std::size_t steps() const noexcept { return paid_.taken(); }
  [[nodiscard]] bool done() const noexcept { return paid_.done(); }
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

  /// Charges a step and draws its batch.
  [[nodiscard]] std::span<std::size_t const> next_batch() {
    paid_.charge();
    if (options_.rate == 1.0) return taking_part_.everyone();
    taking_part_.sample(secret_, options_.rate, batch_);
    return batch_;
  }

  /// Charges a step and draws its batch: the sum of its scalars, in units.
  [[nodiscard]] std::int64_t next_sum(contribution_grid const& grid,
                                      std::span<double const> scalars) {
    std::span<std::size_t const> const batch = next_batch();
    std::int64_t sum = 0;
    if (batch.size() == scalars.size()) {  // every record
      for (double const x : scalars) sum += grid.quantise(x);
    } else {
      for (std::size_t const i : batch) sum += grid.quantise(scalars[i]);
    }
    return sum;
  }

  [[nodiscard]] Secret& secret() noexcept { return secret_; }
  [[nodiscard]] std::string_view who() const noexcept { return paid_.who(); }

 private:
  noisy_sum_options options_;
  participants taking_part_;
  Secret secret_;
  std::vector<std::size_t> batch_;
  paid_steps paid_;
};

}  // namespace tacit
