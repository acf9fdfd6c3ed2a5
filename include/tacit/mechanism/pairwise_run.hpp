// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/sensitivity.hpp>
#include <tacit/mechanism/gradients.hpp>
#include <tacit/mechanism/paid_steps.hpp>
#include <tacit/mechanism/parameter_groups.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/mechanism/quantised.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/secret/discrete.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tacit {

/// What may change from step to step.
struct pairwise_controls {
  std::vector<double> clips;              ///< C_i, in [1e-100, 1e100]
  std::vector<double> noise_multipliers;  ///< noise of group i over C_i, in [2^-10, 2^20]

  friend bool operator==(pairwise_controls const&, pairwise_controls const&) = default;
};

struct pairwise_options {
  double rate = required;              ///< of Poisson batches, in (0, 1]
  double expected_records = required;  ///< assumed participants; public, an estimate suffices
  std::size_t steps = 0;               ///< T; the budget may end the run before
  approx_dp budget{};
  /// Noise on the number of records clipped in each group, over the ½ that a record moves it by.
  /// Infinite: not released.
  double share_noise_multiplier = std::numeric_limits<double>::infinity();
  /// Noise on the sum of losses, each clipped to [0, loss_clip], over the loss_clip/2 that a record moves
  /// it by. Infinite: not released.
  double loss_noise_multiplier = std::numeric_limits<double>::infinity();
  double loss_clip = required;  ///< needed where losses are released

  /// What sums are divided by: the batch size that is expected, never the one that was drawn.
  [[nodiscard]] double divisor() const noexcept { return rate * expected_records; }
};

namespace detail {

inline void check_controls(std::string_view who, pairwise_controls const& controls,
                           std::size_t groups) {
  check_size(who, "number of clips", controls.clips.size(), groups);
  check_size(who, "number of noise multipliers", controls.noise_multipliers.size(), groups);
  for (double const clip : controls.clips) contribution_grid{clip}.check(who);
  for (double const noise : controls.noise_multipliers) {
    require_domain(noise >= 0x1p-10 && noise <= 0x1p20, who, "noise multiplier", noise,
                   "in [2^-10, 2^20]");
  }
}

inline void check_pairwise(std::string_view who, pairwise_options const& options) {
  require_domain(options.rate > 0.0 && options.rate <= 1.0, who, "rate", options.rate, "in (0, 1]");
  require_domain(options.expected_records >= 1.0 && options.expected_records <= 0x1p53, who,
                 "expected_records", options.expected_records, "in [1, 2^53]");
  auto const statistic = [&](std::string_view name, double noise) {
    require_domain(
        (noise >= 0x1p-10 && noise <= 0x1p20) || noise == std::numeric_limits<double>::infinity(),
        who, name, noise, "in [2^-10, 2^20], or infinite");
  };
  statistic("share_noise_multiplier", options.share_noise_multiplier);
  statistic("loss_noise_multiplier", options.loss_noise_multiplier);
  if (std::isfinite(options.loss_noise_multiplier)) {
    check_positive(who, "loss_clip", options.loss_clip);
  }
}

/// What a step releases, statistics included. Each clip is 1 and each sigma a multiplier.
[[nodiscard]] inline gaussian joint_release(std::span<double const> noise_multipliers,
                                            pairwise_options const& options) {
  std::vector<clipped_group> parts;
  for (double const noise : noise_multipliers) {
    parts.push_back({1.0, noise});
    if (std::isfinite(options.share_noise_multiplier)) {
      parts.push_back({1.0, options.share_noise_multiplier});
    }
  }
  if (std::isfinite(options.loss_noise_multiplier)) {
    parts.push_back({1.0, options.loss_noise_multiplier});
  }
  return joint_gaussian({parts.data(), parts.size()});
}

}  // namespace detail

/// The run of an RLDP mechanism, without its account: batches, clips, sums and noise. What
/// `pairwise_gaussian` and `unsound_rldp` have in common.
template <secret_bits Secret>
class pairwise_run {
 public:
  [[nodiscard]] std::size_t records() const noexcept { return taking_part_.records(); }
  [[nodiscard]] std::size_t dimension() const noexcept { return dimension_; }
  [[nodiscard]] std::size_t steps() const noexcept { return paid_.taken(); }
  [[nodiscard]] bool done() const noexcept { return paid_.done(); }
  [[nodiscard]] pairwise_controls const& controls() const noexcept { return controls_; }

 protected:
  /// Released with the gradients, if at all, of the last step.
  struct statistics {
    std::vector<double> clipped_share;
    double loss = std::numeric_limits<double>::quiet_NaN();
  };

  pairwise_run(std::string_view who, std::vector<parameter_range>&& groups,
               pairwise_options const& options, pairwise_controls&& controls,
               participants&& taking_part, Secret&& secret)
      : groups_(std::move(groups)),
        dimension_(detail::check_groups(who, {groups_.data(), groups_.size()})),
        options_(options),
        controls_(std::move(controls)),
        taking_part_(std::move(taking_part)),
        secret_(std::move(secret)),
        paid_(who, options.steps) {
    detail::check_pairwise(who, options);
    detail::check_controls(who, controls_, groups_.size());
  }

  [[nodiscard]] std::size_t groups() const noexcept { return groups_.size(); }
  [[nodiscard]] std::size_t group_size(std::size_t i) const { return groups_[i].size(); }
  [[nodiscard]] pairwise_options const& options() const noexcept { return options_; }
  [[nodiscard]] statistics const& released_statistics() const noexcept { return statistics_; }

  void set_checked(pairwise_controls&& controls) noexcept { controls_ = std::move(controls); }

  /// Charges a step, before anything of it is drawn.
  void charge() { paid_.charge(); }

  /// After it was charged. each_record(loss, norms) is called for each record of the batch.
  template <class GradientsOf, class EachRecord>
  vector_release release_step(GradientsOf& gradients_of, std::size_t most_rows,
                              EachRecord&& each_record) {
    taking_part_.sample(secret_, options_.rate, batch_);
    std::size_t const n = groups();
    std::vector<quantised_sum> sums;
    for (std::size_t i = 0; i < n; ++i) {
      sums.emplace_back(groups_[i].size(), controls_.clips[i], controls_.noise_multipliers[i]);
    }
    std::vector<std::int64_t> counts(n + 1, 0);  // clipped records, and losses, in units
    std::vector<double> norms(n);
    auto const add = [&](std::size_t, std::span<float const> gradient, double loss) {
      for (std::size_t i = 0; i < n; ++i) {
        auto const part = gradient.subspan(groups_[i].first, groups_[i].size());
        sums[i].add(part);
        double squares = 0.0;
        for (float const x : part) squares += double{x} * double{x};
        norms[i] = std::sqrt(squares);
        counts[i] += norms[i] <= controls_.clips[i] ? -unit : unit;  // NaN is clipped
      }
      counts[n] += centred(loss);
      each_record(loss, std::span<double const>(norms));
    };
    detail::for_each_gradient<float>(batch_, dimension_, most_rows, gradients_of, add);

    vector_release out;
    out.value.resize(dimension_);
    for (std::size_t i = 0; i < n; ++i) {
      std::move(sums[i]).release(secret_, options_.divisor(),
                                 std::span(out.value).subspan(groups_[i].first, groups_[i].size()));
    }
    release_statistics(counts);
    return out;
  }

 private:
  static constexpr std::int64_t unit = contribution_grid::norm;

  /// The loss clipped to [0, loss_clip], from −unit to unit.
  [[nodiscard]] std::int64_t centred(double loss) const {
    if (!std::isfinite(options_.loss_noise_multiplier)) return 0;
    bool const within = std::isfinite(loss) && loss < options_.loss_clip;
    double const part = within ? std::max(loss, 0.0) / options_.loss_clip : 1.0;
    return static_cast<std::int64_t>((2.0 * part - 1.0) * static_cast<double>(unit));
  }

  /// The counts, with noise, as what a controller may read.
  void release_statistics(std::span<std::int64_t> counts) {
    double const n_units = 2.0 * static_cast<double>(unit) * options_.divisor();
    std::size_t const n = groups();
    auto const add_noise = [&](double multiplier, std::span<std::int64_t> numbers) {
      quantised_noise const noise =
          quantised_noise::for_multiplier("rldp", multiplier, static_cast<double>(unit));
      add_discrete_gaussian(secret_, noise.sigma, numbers);
    };
    if (std::isfinite(options_.share_noise_multiplier)) {
      add_noise(options_.share_noise_multiplier, counts.first(n));
      statistics_.clipped_share.resize(n);
      for (std::size_t i = 0; i < n; ++i) {
        statistics_.clipped_share[i] = 0.5 + static_cast<double>(counts[i]) / n_units;
      }
    }
    if (std::isfinite(options_.loss_noise_multiplier)) {
      add_noise(options_.loss_noise_multiplier, counts.subspan(n));
      statistics_.loss = options_.loss_clip * (0.5 + static_cast<double>(counts[n]) / n_units);
    }
  }

  std::vector<parameter_range> groups_;
  std::size_t dimension_;
  pairwise_options options_;
  pairwise_controls controls_;
  participants taking_part_;
  Secret secret_;
  paid_steps paid_;
  std::vector<std::size_t> batch_;
  statistics statistics_;
};

}  // namespace tacit
