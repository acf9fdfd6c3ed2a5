// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/mi_dp.hpp>
#include <tacit/mechanism/gradients.hpp>
#include <tacit/mechanism/paid_steps.hpp>
#include <tacit/mechanism/parameter_groups.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/pac/fixed_point.hpp>
#include <tacit/secret/bernoulli.hpp>
#include <tacit/secret/discrete.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tacit {

/// How the tensors of a model form FERRET's groups. The fewer groups, the more often each fires.
enum class ferret_grouping {
  max,      ///< a group each
  half,     ///< buckets of 2
  quarter,  ///< buckets of 4
  eighth,   ///< buckets of 8
  two       ///< two halves
};

/// @throws std::invalid_argument unless there is a tensor and each has an entry
[[nodiscard]] inline std::vector<parameter_range> ferret_groups(
    std::span<std::size_t const> tensor_sizes, ferret_grouping grouping) {
  switch (grouping) {
    case ferret_grouping::half:
      return tensor_groups(tensor_sizes, 2);
    case ferret_grouping::quarter:
      return tensor_groups(tensor_sizes, 4);
    case ferret_grouping::eighth:
      return tensor_groups(tensor_sizes, 8);
    case ferret_grouping::two:
      return tensor_groups(tensor_sizes, std::max<std::size_t>((tensor_sizes.size() + 1) / 2, 1));
    case ferret_grouping::max:
      break;
  }
  return tensor_groups(tensor_sizes, 1);
}

struct ferret_options {
  std::size_t groups = 0;  ///< G
  std::size_t steps = 0;   ///< T
  double rate = required;  ///< s: how often a record takes part in a step
  nats budget;             ///< ε: what all releases may tell about a record, on average
  double clip = 1.0;       ///< C: scalars are clipped to ±C, on the grid of `fixed_point`
  /// Standard deviation of the Gaussian dither on each group's sum, over C. 0: none, and no (ε, δ).
  double noise_multiplier = 0.0;
};

/// FERRET. In a step every record joins the batch with probability s; each group of parameters fires
/// with probability p = min(1, ε/(G·T·s·ln 2)), and one that fires releases a bit, the sign of its sum:
///   y_g = sign(Σ_{i∈batch} clip(g_{g,i}) [+ N_Z(0, σ²)]), or 0 for a group that does not fire.
/// A scalar g_{g,i} is record i's gradient along a public unit direction on group g
/// (train/ferret.hpp); the step is θ ← θ − η Σ_g y_g u_g. What the world sees is y, masks included: they
/// depend on no record.
///
/// A sum that is exactly 0, of an empty batch above all, is a fair coin, so that it neither reveals an
/// empty batch nor moves θ one way. A scalar that is not finite counts as 0: an exception would
/// depend on the record.
///
/// Guarantee: I(X_i; Y | X_{−i}) ≤ ε nats for each record (and ≤ `account().spent()`, if the number of steps
/// does not depend on what was released), given the others and the public past: *an average over
/// transcripts*, that bounds no single one and gives no (ε, δ). The clip does not enter it. With dither also
/// what dp/mi_dp.hpp says of `dithered()`, worst case and for any adjacency: sums are integers, a record
/// moves one by at most 2·2³⁰, and the discrete Gaussian of σ = ⌈noise_multiplier·2³⁰⌉ has the Rényi
/// divergence α·shift²/2σ² at most (Canonne, Kamath & Steinke 2020); its sign is post-processing. A step is
/// charged before mask, batch and noise are drawn; one that throws later stays charged. Mask, batch, noise
/// and coins come from `Secret`. Move-only, and refuses in a forked child.
/// Source: FERRET (June 2025), with the Rényi bound of dp/mi_dp.hpp in place of its Eq. 12.
template <secret_bits Secret = secret_stream>
class ferret_mechanism {
 public:
  /// @throws std::domain_error for an option outside its range; std::invalid_argument for no group,
  ///         step or record
  ferret_mechanism(ferret_options const& options, participants taking_part,
                   Secret secret = Secret())
      : options_(checked(options)),
        taking_part_(std::move(taking_part)),
        secret_(std::move(secret)),
        paid_("ferret_mechanism", options.steps),
        account_(options.budget),
        probability_(fire_probability(
            {.groups = options.groups, .steps = options.steps, .rate = options.rate},
            options.budget)),
        row_(options.groups),
        quantised_(options.groups) {}

  [[nodiscard]] std::size_t records() const noexcept { return taking_part_.records(); }
  [[nodiscard]] std::size_t directions() const noexcept { return options_.groups; }
  [[nodiscard]] std::size_t steps() const noexcept { return paid_.taken(); }
  [[nodiscard]] bool done() const noexcept { return paid_.done(); }

  /// p.
  [[nodiscard]] double probability() const noexcept { return probability_; }
  /// The mutual information charged so far. Where what was released decides when to stop, only its budget
  /// bounds the information; else what is spent does.
  [[nodiscard]] ledger<nats> const& account() const noexcept { return account_; }

  /// All T steps, for `epsilon`, `delta` and `divergence` of dp/mi_dp.hpp. A run that stops before, whatever
  /// makes it stop, is post-processing of those.
  /// @throws std::invalid_argument if there is no dither: then no (ε, δ) is known
  [[nodiscard]] ferret_dithered dithered() const {
    detail::require_argument(options_.noise_multiplier > 0.0, "ferret_mechanism::dithered",
                             "noise_multiplier", options_.noise_multiplier, "positive");
    return {.groups = options_.groups,
            .steps = options_.steps,
            .rate = options_.rate,
            .probability = probability_,
            .noise_multiplier = options_.noise_multiplier};
  }

  /// Scalars of all records, G×N row-major.
  /// @throws std::invalid_argument unless there are G·N scalars; budget_exhausted beyond the last step
  release step(std::span<double const> scalars) {
    detail::check_size("ferret_mechanism", "number of scalars", scalars.size(),
                       records() * directions());
    return step([&](std::size_t record, std::span<double> out) {
      for (std::size_t g = 0; g < out.size(); ++g) out[g] = scalars[g * records() + record];
    });
  }

  /// The same where scalars are costly: `project` writes the G scalars of each record, in one of the forms of
  /// mechanism/gradients.hpp, for those of the batch only, and is not called at all where no group fires.
  /// @throws budget_exhausted beyond the last step; what `project` throws: the step is spent
  template <gradients_in_any_form<double> Project>
  release step(Project&& project, std::size_t most_rows = 256) {
    detail::check_rows("ferret_mechanism", most_rows, directions());
    paid_.charge();
    (void)account_.raise_to(mutual_information_bound(ferret{.groups = options_.groups,
                                                            .steps = steps(),
                                                            .rate = options_.rate,
                                                            .probability = probability_}));
    std::vector<std::size_t> firing;
    for (std::size_t g = 0; g < directions(); ++g) {
      if (bernoulli(secret_, probability_)) firing.push_back(g);
    }
    release out{std::vector<double>(directions(), 0.0)};
    if (firing.empty()) return out;

    taking_part_.sample(secret_, options_.rate, batch_);
    std::vector<std::int64_t> sums(directions(), 0);
    fixed_point const grid{.clip = options_.clip};
    auto const add = [&](std::size_t, std::span<double const> scalars, double) {
      for (std::size_t g = 0; g < scalars.size(); ++g) {
        row_[g] = std::isfinite(scalars[g]) ? scalars[g] : 0.0;
      }
      grid.quantise(row_, quantised_);
      for (std::size_t const g : firing) sums[g] += quantised_[g];
    };
    detail::for_each_gradient<double>(batch_, directions(), most_rows, project, add);
    for (std::size_t const g : firing) out.coefficients[g] = released_sign(sums[g]);
    return out;
  }

 private:
  static ferret_options checked(ferret_options const& options) {
    constexpr std::string_view me = "ferret_mechanism";
    detail::require_argument(options.groups >= 1, me, "groups", options.groups, "at least 1");
    detail::require_domain(options.rate > 0.0 && options.rate <= 1.0, me, "rate", options.rate,
                           "in (0, 1]");
    detail::check_non_negative(me, "budget", options.budget.value);
    detail::check_positive(me, "clip", options.clip);
    double const noise = options.noise_multiplier;
    detail::require_domain(noise == 0.0 || (noise >= 0x1p-20 && noise <= 0x1p15), me,
                           "noise_multiplier", noise, "0, or in [2^-20, 2^15]");
    return options;
  }

  double released_sign(std::int64_t sum) {
    if (options_.noise_multiplier > 0.0) {
      double const sigma = std::ceil(options_.noise_multiplier * 0x1p30);
      sum += draw_discrete_gaussian(secret_, static_cast<std::uint64_t>(sigma));
    }
    if (sum == 0) return bernoulli(secret_, 0.5) ? 1.0 : -1.0;
    return sum > 0 ? 1.0 : -1.0;
  }

  ferret_options options_;
  participants taking_part_;
  Secret secret_;
  paid_steps paid_;
  ledger<nats> account_;
  double probability_;
  std::vector<std::size_t> batch_;
  std::vector<double> row_;
  std::vector<std::int32_t> quantised_;
};

}  // namespace tacit
