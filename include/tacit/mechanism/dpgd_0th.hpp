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

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tacit {

/// DPGD-0th: the zeroth-order estimate ĝ_i·z of a gradient, a vector, clipped to L2 norm C, with
/// noise in every coordinate (where DPZero needs one number's):
///   value = (1/n)·(Σ_{i∈B} min(1, C/‖ĝ_i·z‖)·ĝ_i·z + N).
/// The public direction is put on a grid first, Z = round(256·z). A record contributes a_i·Z with a
/// whole |a_i| ≤ 2^20, worth C/(2^20·‖Z‖) a unit: the norm is at most 2^20·‖Z‖ units, exactly, and
/// ‖Z‖² is a whole number. (So vectors are summed as one number, and value is along Z/256, not z.)
///
/// Guarantee: a step is `event()` under add_remove, whatever the direction, if it does not depend
/// on the data and the batch of its step. A record whose scalar is not finite contributes 0.
/// Source: DPZero (arXiv 2310.09639), algorithm 1, which takes C = L·d; noise as in
/// mechanism/quantised.hpp.
template <secret_bits Secret = secret_stream>
class dpgd_0th : public noisy_sum_run<Secret> {
 public:
  /// @throws std::domain_error for an option outside its range; std::invalid_argument for no step,
  ///         no coordinate, no record, or more than 2^26 records
  dpgd_0th(noisy_sum_options const& options, std::size_t dimension, participants taking_part,
           Secret secret = Secret())
      : noisy_sum_run<Secret>("dpgd_0th", options, std::move(taking_part), std::move(secret)),
        direction_(dimension),
        noise_(dimension) {
    detail::require_argument(dimension > 0, "dpgd_0th", "dimension", dimension, "at least 1");
    // So that no coordinate of a sum, 2^20 a record times 2^15, leaves 64 bits.
    detail::require_argument(this->records() <= std::size_t{1} << 26, "dpgd_0th", "records",
                             this->records(), "at most 2^26");
  }

  [[nodiscard]] std::size_t dimension() const noexcept { return direction_.size(); }

  using noisy_sum_run<Secret>::batch;

  /// What a step is charged as.
  [[nodiscard]] tacit::event event() const { return this->options().gaussian_event(); }

  /// `direction` is z, the d numbers along which the scalars of the batch were measured.
  /// @throws std::invalid_argument unless there are d numbers, and a scalar for each record of the
  ///         batch; std::domain_error for a direction of numbers beyond ±128, or none of which is
  ///         1/512 at least, or so long that σ would be above 2^45 units. The batch waits on then.
  /// @throws std::logic_error without a batch, unless the rate is 1, and in a forked process;
  ///         budget_exhausted beyond the last step
  vector_release step(std::span<double const> scalars, std::span<float const> direction) {
    constexpr auto who = "dpgd_0th";
    detail::check_size(who, "size of the direction", direction.size(), dimension());
    std::uint64_t squares = 0;
    for (std::size_t j = 0; j < dimension(); ++j) {
      double const z = direction[j];
      detail::require_domain(std::fabs(z) <= 128.0, who, "entry of the direction", z,
                             "in [-128, 128]");
      direction_[j] = static_cast<std::int32_t>(std::lround(256.0 * z));
      squares += static_cast<std::uint64_t>(std::int64_t{direction_[j]} * direction_[j]);
      detail::require_domain(squares <= std::uint64_t{1} << 50, who, "length of the direction",
                             std::sqrt(static_cast<double>(squares)) / 256.0, "at most 2^17");
    }
    detail::require_domain(squares > 0, who, "length of the direction", 0.0,
                           "that of a direction with an entry of 1/512 at least");
    double const length = std::sqrt(static_cast<double>(squares)) * (2.0 - detail::a_little_less);
    constexpr auto most = static_cast<double>(contribution_grid::norm);
    noisy_sum_options const& o = this->options();
    auto const noise = quantised_noise::for_multiplier(who, o.noise_multiplier, most * length);

    // clip(ĝ·z, C) = a·Z·C/(2^20·‖Z‖) with a/2^20 = clip(ĝ·‖z‖/C, 1).
    contribution_grid const along{o.clip * 256.0 / length};
    vector_release out{std::vector<float>(dimension())};
    (void)this->take_batch(scalars, 1);
    std::int64_t const sum = this->sum_of(along, scalars);
    std::fill(noise_.begin(), noise_.end(), 0);
    add_discrete_gaussian(this->secret(), noise.sigma, noise_);
    double const unit = o.clip / (most * length * o.divisor());
    for (std::size_t j = 0; j < dimension(); ++j) {
      std::int64_t const released = sum * direction_[j] + noise_[j];
      out.value[j] = detail::as_released<float>(static_cast<double>(released) * unit);
    }
    return out;
  }

 private:
  std::vector<std::int32_t> direction_;
  std::vector<std::int64_t> noise_;
};

}  // namespace tacit
