// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/mechanism/gradients.hpp>
#include <tacit/mechanism/noisy_sum.hpp>
#include <tacit/mechanism/parameter_groups.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/mechanism/quantised.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tacit {

/// DP-SGD; at rate 1, DP-GD. Per-record gradients g_i, clipped to L2 norm C:
///   value = (1/n)·(Σ_{i∈B} min(1, C/‖g_i‖)·g_i + N),  N of C times the noise multiplier in every
/// coordinate, on a grid of 2^20 units a clip (mechanism/quantised.hpp).
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
        dimension_(dimension) {
    detail::require_argument(dimension > 0, "dp_sgd", "dimension", dimension, "at least 1");
    static_cast<void>(
        quantised_sum(1, options.clip, options.noise_multiplier));  // in its range too
  }

  [[nodiscard]] std::size_t dimension() const noexcept { return dimension_; }

  /// What a step is charged as.
  [[nodiscard]] tacit::event event() const { return this->options().gaussian_event(); }

  /// `gradients_of` writes d numbers for each record, in one of the forms of mechanism/gradients.hpp.
  /// @throws budget_exhausted beyond the last step; std::logic_error in a forked process; what
  ///         gradients_of throws
  template <gradients_in_any_form<float> Gradients>
  vector_release step(Gradients&& gradients_of, std::size_t most_rows = 256) {
    detail::check_rows("dp_sgd", most_rows, dimension());
    std::span<std::size_t const> const batch = this->take_batch();
    quantised_sum sum = empty_sum();
    detail::for_each_gradient<float>(
        batch, dimension(), most_rows, gradients_of,
        [&](std::size_t, std::span<float const> gradient, double) { sum.add(gradient); });
    return released(std::move(sum));
  }

  /// The same where not even a few whole gradients fit in memory: part by part, as ghost norms allow.
  ///   norms_of(records, norms)         ‖g_i‖ of each record
  ///   part_of(records, k, rows)        the entries of part k of each gradient
  /// For `most_rows` records at a time the norms are asked for once, then each part in turn. `parts` are public
  /// and tile the parameters.
  ///
  /// Guarantee: as `step`, whatever norms_of says. A record is scaled by its norm, less a 2^-14th, and cut off at
  /// the part with which it would exceed the clip: norms that are right to a 2^-14th cut nothing off.
  /// @throws as step; std::invalid_argument unless the parts tile the parameters
  template <class Norms, class Part>
  requires std::invocable<Norms&, std::span<std::size_t const>, std::span<double>> &&
      std::invocable<Part&, std::span<std::size_t const>, std::size_t, gradient_rows<float>>
          vector_release step_in_parts(std::span<parameter_range const> parts, Norms&& norms_of,
                                       Part&& part_of, std::size_t most_rows = 256) {
    detail::check_rows("dp_sgd", most_rows, dimension());
    detail::check_size("dp_sgd", "end of the last part", detail::check_groups("dp_sgd", parts),
                       dimension());
    std::span<std::size_t const> const batch = this->take_batch();
    quantised_sum sum = empty_sum();
    std::size_t widest = 0;
    for (parameter_range const& part : parts) widest = std::max(widest, part.size());
    std::vector<float> room(std::min(most_rows, batch.size()) * widest);
    std::vector<double> norms;
    std::vector<quantised_sum::in_parts> contributions;
    for (std::size_t begin = 0; begin < batch.size(); begin += most_rows) {
      auto const records = batch.subspan(begin, std::min(most_rows, batch.size() - begin));
      norms.assign(records.size(), std::numeric_limits<double>::quiet_NaN());
      norms_of(records, std::span<double>(norms));
      contributions.clear();
      for (double const norm : norms) contributions.push_back(sum.scaled_by(norm));
      for (std::size_t k = 0; k < parts.size(); ++k) {
        std::size_t const width = parts[k].size();
        gradient_rows<float> const rows(std::span<float>(room).first(records.size() * width),
                                        width);
        std::fill(rows.all().begin(), rows.all().end(), 0.0F);
        part_of(records, k, rows);
        for (std::size_t j = 0; j < records.size(); ++j) {
          sum.add_part(contributions[j], parts[k].first, std::span<float const>(rows[j]));
        }
      }
    }
    return released(std::move(sum));
  }

 private:
  [[nodiscard]] quantised_sum empty_sum() const {
    return {dimension(), this->options().clip, this->options().noise_multiplier};
  }

  [[nodiscard]] vector_release released(quantised_sum&& sum) {
    vector_release out{std::vector<float>(dimension())};
    std::move(sum).release(this->secret(), this->options().divisor(), std::span(out.value));
    return out;
  }

  std::size_t dimension_;
};

}  // namespace tacit
