// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/info/conversion.hpp>
#include <tacit/mechanism/gridded.hpp>
#include <tacit/mechanism/noisy_sum.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/secret/discrete.hpp>
#include <tacit/secret/stream.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>

namespace tacit {

/// DPZero: one direction a step. For a Poisson batch B of expected size n, y = (1/n)·(Σ_{i∈B}
/// clip_C(ĝ_i) + N), N discrete Gaussian. The paper's direction is uniform on
/// the sphere √d·S^(d−1) (`direction_law::sphere`); Gaussian and Rademacher ones are as private.
///
/// Guarantee: a step is `event()`, a Gaussian of C times the noise multiplier, under add_remove: a
/// record's contribution moves the sum by C. The paper compares data sets that differ in one
/// record, which moves it by 2C: calibrate with `adjacency::replace_one` for that. A record whose
/// scalar is not finite contributes 0. The least multiplier for a target is
/// `noise_multiplier_for<privacy_loss_accountant>(target, poisson{rate}, steps)`
/// (dp/calibration.hpp).
/// Source: DPZero (arXiv 2310.09639), algorithm 2; grid and noise as in mechanism/gridded.hpp.
template <secret_bits Secret = secret_stream>
class dpzero : public noisy_sum_run<Secret> {
 public:
  /// @throws std::domain_error for an option outside its range; std::invalid_argument for no step
  ///         or no record
  dpzero(noisy_sum_options const& options, participants taking_part, Secret secret = Secret())
      : noisy_sum_run<Secret>("dpzero", options, std::move(taking_part), std::move(secret)),
        noise_(gridded_noise::for_multiplier("dpzero", options.noise_multiplier,
                                             static_cast<double>(contribution_grid::norm))) {}

  [[nodiscard]] std::size_t directions() const noexcept { return 1; }

  /// What a step is charged as.
  [[nodiscard]] tacit::event event() const { return this->options().gaussian_event(); }

  /// @throws std::invalid_argument unless there are N scalars: nothing is charged then;
  ///         budget_exhausted beyond the last step; std::logic_error in a forked process
  release step(std::span<double const> scalars) {
    detail::check_size("dpzero", "number of scalars", scalars.size(), this->records());
    contribution_grid const grid{this->options().clip};
    std::int64_t sum = this->next_sum(grid, scalars);
    sum += draw_discrete_gaussian(this->secret(), noise_.sigma);
    double const unit = grid.quantum() / this->options().divisor();
    return {{static_cast<double>(sum) * unit}};
  }

 private:
  gridded_noise noise_;
};

/// The paper's σ of the mean over n records, each clipped at C, for T steps without sampling:
/// 4C·√(2T·log(e + ε/δ))/(nε), for replace_one. As a noise multiplier of `dpzero`: σ·n/C.
/// At δ = 1e-5 that is 2.57 times the least σ for ε = 1, 2.17 times for ε = 8; and too little above
/// some ε (169.3 at δ = 1e-5), where it is refused.
/// Source: DPZero (arXiv 2310.09639), algorithm 2. Checked by exact Gaussian DP.
/// @throws std::domain_error for a value out of range, naming the largest ε where that is it
[[nodiscard]] inline double dpzero_paper_sigma(double clip, std::uint64_t steps,
                                               std::uint64_t records, approx_dp target) {
  constexpr auto who = "dpzero_paper_sigma";
  detail::check_positive(who, "clip", clip);
  detail::require_domain(steps >= 1, who, "steps", steps, "at least 1");
  detail::require_domain(records >= 1, who, "records", records, "at least 1");
  detail::check_positive(who, "epsilon", target.epsilon);
  detail::require_domain(target.delta > 0.0 && target.delta < 1.0, who, "delta", target.delta,
                         "in (0, 1)");
  auto const root = [&](double epsilon) {
    return std::sqrt(2.0 * std::log(std::numbers::e + epsilon / target.delta));
  };
  auto const holds = [&](double epsilon) {
    // T steps of sensitivity 2C/n: μ = √T·(2C/n)/σ.
    gaussian_dp const run{epsilon / (2.0 * root(epsilon))};
    return delta(run, epsilon).upper <= target.delta;
  };
  if (!holds(target.epsilon)) {
    double low = 0.0;
    double high = target.epsilon;
    for (int k = 0; k < 60; ++k) {
      double const middle = 0.5 * (low + high);
      (holds(middle) ? low : high) = middle;
    }
    detail::fail_domain(who, "epsilon", target.epsilon,
                        "at most " + detail::to_text(low) + ": above, this noise is too little");
  }
  return 4.0 * clip * root(target.epsilon) * std::sqrt(static_cast<double>(steps)) /
         (static_cast<double>(records) * target.epsilon);
}

/// What DPZero's Theorem 3 is about: an L-Lipschitz, ℓ-smooth loss of every record, of effective
/// rank r (‖H‖₂ ≤ ℓ and tr H ≤ rℓ), in d dimensions.
struct dpzero_problem {
  double lipschitz = required;       ///< L
  double smoothness = required;      ///< ℓ
  double effective_rank = required;  ///< r
  double dimension = required;       ///< d
  double records = required;         ///< n
};

struct dpzero_parameters {
  double learning_rate;  ///< α
  std::size_t steps;     ///< T
  double clip;           ///< C
  double smoothing;      ///< λ
};

/// α = 1/(4ℓ(r+2)), T = n(r+2)ε/(4√(r·log(e + ε/δ))) (rounded, at least 1), C = √2·C₀,
/// λ = 2(√2−1)·C₀/(ℓd). C₀ is taken such that none of the T·n scalars is clipped but with
/// probability `clipping`: of one, |⟨z, ∇f_i⟩| ≥ C₀ has probability at most 2√(2π)·e^(−C₀²/8L²) on
/// the sphere, and the two-point scalar differs from ⟨z, ∇f_i⟩ by at most λℓd/2 = (√2−1)·C₀.
/// Guarantee: estimate; none of this touches privacy.
/// Source: DPZero (arXiv 2310.09639), Theorem 3 and its remark on clipping.
/// @throws std::domain_error for a value that is not positive and finite, δ ≥ 1, or clipping ≥ 1
[[nodiscard]] inline dpzero_parameters dpzero_theorem(dpzero_problem const& of, approx_dp target,
                                                      double clipping = 1e-3) {
  constexpr auto who = "dpzero_theorem";
  detail::check_positive(who, "lipschitz", of.lipschitz);
  detail::check_positive(who, "smoothness", of.smoothness);
  detail::check_positive(who, "effective_rank", of.effective_rank);
  detail::check_positive(who, "dimension", of.dimension);
  detail::check_positive(who, "records", of.records);
  detail::check_positive(who, "epsilon", target.epsilon);
  detail::require_domain(target.delta > 0.0 && target.delta < 1.0, who, "delta", target.delta,
                         "in (0, 1)");
  detail::require_domain(clipping > 0.0 && clipping < 1.0, who, "clipping", clipping, "in (0, 1)");
  double const r = of.effective_rank;
  double const log_term = std::log(std::numbers::e + target.epsilon / target.delta);
  double const steps = std::fmax(
      1.0, std::round(0.25 * of.records * (r + 2.0) * target.epsilon / std::sqrt(r * log_term)));
  detail::require_domain(steps <= 0x1p53, who, "steps", steps, "at most 2^53");
  double const scalars = steps * of.records;
  double const odds = 2.0 * std::sqrt(2.0 * std::numbers::pi) * scalars / clipping;
  double const c0 = of.lipschitz * std::sqrt(8.0 * std::log(odds));
  return {0.25 / (of.smoothness * (r + 2.0)), static_cast<std::size_t>(steps),
          std::numbers::sqrt2 * c0,
          2.0 * (std::numbers::sqrt2 - 1.0) * c0 / (of.smoothness * of.dimension)};
}

}  // namespace tacit
