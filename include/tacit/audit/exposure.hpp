// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/info/certified.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

/// Canary exposure (Carlini et al. 2019, "The Secret Sharer"): a canary is drawn uniformly from R candidates
/// and put into the training data once; afterwards the candidates are ranked by the model's loss on them.
///   exposure = log₂ R − log₂ rank   (bits)
///
/// A model that saw no canary gives it a uniform rank: exposure is then 1.44 bits (1 nat) on average and not 0.

namespace tacit {

/// 1 + the number of other candidates whose loss is no higher than the canary's: ties count against it.
/// @throws std::domain_error for a NaN
[[nodiscard]] inline std::uint64_t canary_rank(double canary_loss,
                                               std::span<double const> other_losses) {
  detail::require_domain(canary_loss == canary_loss, "canary_rank", "canary_loss", canary_loss,
                         "a number");
  std::uint64_t rank = 1;
  for (double const loss : other_losses) {
    detail::require_domain(loss == loss, "canary_rank", "a loss", loss, "a number");
    rank += loss <= canary_loss ? 1 : 0;
  }
  return rank;
}

/// log₂ R − log₂ rank, in bits; R counts the canary.
/// @throws std::domain_error unless 1 ≤ rank ≤ candidates
[[nodiscard]] inline double exposure(std::uint64_t rank, std::uint64_t candidates) {
  detail::require_domain(rank >= 1 && rank <= candidates, "exposure", "rank", rank,
                         "in [1, the number of candidates]");
  return std::log2(static_cast<double>(candidates)) - std::log2(static_cast<double>(rank));
}

/// −log₂ P(loss of a random candidate ≤ the canary's), by a skew-normal law with the sample's mean, variance
/// and skewness: for more candidates than can be ranked.
/// Guarantee: estimate. It extrapolates a fit of three moments into a tail that no one sampled, and may be
/// bits off on either side; `exposure` of a rank is exact.
/// @throws std::invalid_argument for fewer than 3 sampled losses; std::domain_error unless they are finite and
///         not all equal
[[nodiscard]] inline double exposure_estimate(double canary_loss,
                                              std::span<double const> sampled_losses) {
  detail::require_argument(sampled_losses.size() >= 3, "exposure_estimate",
                           "number of sampled losses", sampled_losses.size(), "at least 3");
  detail::check_finite("exposure_estimate", "canary_loss", canary_loss);
  double const n = static_cast<double>(sampled_losses.size());
  compensated_sum<double> sum;
  for (double const x : sampled_losses) {
    detail::check_finite("exposure_estimate", "a loss", x);
    sum += x;
  }
  double const mean = sum.value() / n;
  double second = 0.0;
  double third = 0.0;
  for (double const x : sampled_losses) {
    second += (x - mean) * (x - mean) / n;
    third += (x - mean) * (x - mean) * (x - mean) / n;
  }
  detail::check_positive("exposure_estimate", "variance of the sampled losses", second);

  // The skew-normal 2φ(t)Φ(αt) has a skewness below .9953.
  double const skewness = std::clamp(third / (second * std::sqrt(second)), -0.99, 0.99);
  double const power = std::pow(std::abs(skewness), 2.0 / 3.0);
  double const delta_square = std::numbers::pi / 2.0 * power /
                              (power + std::pow((4.0 - std::numbers::pi) / 2.0, 2.0 / 3.0));
  double const delta = std::copysign(std::sqrt(delta_square), skewness);
  double const slope = delta / std::sqrt(1.0 - delta_square);
  double const scale = std::sqrt(second / (1.0 - 2.0 * delta_square / std::numbers::pi));
  double const centre = mean - scale * delta * std::sqrt(2.0 / std::numbers::pi);
  double const z = (canary_loss - centre) / scale;

  // ∫_{−∞}^z, t = z − e^s, in logarithms: the tail may lie below every double.
  constexpr double step = 0.004;
  double const last = elementary::log(std::abs(z) + 40.0);
  std::vector<double> logs;
  for (double s = -36.0; s <= last; s += step) {
    double const t = z - elementary::exp(s);
    logs.push_back(s - 0.5 * t * t + log_normal_tail(-slope * t));
  }
  double const log_chance =
      log_sum(logs) + elementary::log(2.0 * step * std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return std::max(0.0, -log_chance / std::numbers::ln2);
}

namespace detail {

inline void check_ranks(char const* who, std::uint64_t rank, std::uint64_t candidates) {
  require_domain(candidates >= 1, who, "candidates", candidates, "at least 1");
  require_domain(rank >= 1 && rank <= candidates, who, "rank", rank,
                 "in [1, the number of candidates]");
}

inline void check_guarantee(char const* who, approx_dp guarantee) {
  require_domain(guarantee.epsilon >= 0.0, who, "epsilon", guarantee.epsilon, "at least 0");
  check_probability(who, "delta", guarantee.delta);
}

inline constexpr double few_ulps_up = 1.0 + 16.0 * std::numeric_limits<double>::epsilon();

}  // namespace detail

/// P(the canary ranks `rank` or better) of R candidates, whatever the ranking reads of the releases, if they tell
/// at most so much about which candidate is the canary: D(P‖rank/R) ≤ information.
/// Guarantee: upper bound, an average over runs.
/// @throws std::domain_error unless 1 ≤ rank ≤ candidates and information ≥ 0
[[nodiscard]] inline double rank_success(nats information, std::uint64_t rank,
                                         std::uint64_t candidates) {
  detail::check_ranks("rank_success", rank, candidates);
  return attack_success(information,
                        std::min(1.0, static_cast<double>(rank) / static_cast<double>(candidates) *
                                          detail::few_ulps_up));
}

/// The same under (ε, δ)-DP by add_remove or zero_out, the canary being one record: without it the rank is
/// uniform, so P ≤ min{e^ε·k/R + δ, 1 − e^−ε(1 − k/R − δ)}.
/// Guarantee: upper bound.
/// @throws std::domain_error unless 1 ≤ rank ≤ candidates, ε ≥ 0 and δ in [0, 1]
[[nodiscard]] inline double rank_success(approx_dp guarantee, std::uint64_t rank,
                                         std::uint64_t candidates) {
  detail::check_ranks("rank_success", rank, candidates);
  detail::check_guarantee("rank_success", guarantee);
  double const blind = static_cast<double>(rank) / static_cast<double>(candidates);
  double const raised = elementary::exp(guarantee.epsilon) * blind + guarantee.delta;
  double const kept = elementary::exp(-guarantee.epsilon) * std::min(1.0, blind + guarantee.delta);
  double const other =
      kept - elementary::expm1(-guarantee.epsilon);  // nothing cancels: both are positive
  return std::min({1.0, raised * detail::few_ulps_up, other * detail::few_ulps_up});
}

/// The largest mean exposure, in bits, of a canary about which the releases tell at most so many nats.
///   E[exposure] ≤ v nats,  v − 1 − log v = information,  v ≥ 1;  and never above log R
/// The rank's law is within `information` of the uniform one (given the releases, rank and canary determine each
/// other), and E[e^{λ·exposure}] < 1/(1−λ) for a uniform rank, so that by Donsker & Varadhan
/// E[exposure] ≤ (information − log(1−λ))/λ; the best λ is 1 − 1/v.
/// Guarantee: upper bound, an average over runs; sharp as R grows.
/// @throws std::domain_error unless information ≥ 0 and candidates ≥ 1
[[nodiscard]] inline double exposure_bound(nats information, std::uint64_t candidates) {
  detail::check_ranks("exposure_bound", 1, candidates);
  detail::require_domain(information.value >= 0.0, "exposure_bound", "information",
                         information.value, "at least 0");
  double const most =
      elementary::log(static_cast<double>(candidates)) / std::numbers::ln2 * detail::few_ulps_up;
  if (!(information.value < 1e6)) return most;
  // u = v − 1: u − log(1+u) is at least the information at u = 2·information + 4.
  double const u = last_holding(2.0 * information.value + 4.0, 0.0, [=](double x) {
    return detail::lowered(log1p_residual(x)) >= information.value;
  });
  return std::min(most, (1.0 + u) / std::numbers::ln2 * detail::few_ulps_up);
}

/// The same under (ε, δ)-DP by add_remove or zero_out: ∫_0^{log R} min(1, e^{ε−t} + δ) dt, that is
///   t + (1−δ) − e^ε/R + δ(log R − t) nats,  t = ε − log(1−δ),  and never above log R.
/// Guarantee: upper bound.
/// @throws std::domain_error unless ε ≥ 0, δ in [0, 1] and candidates ≥ 1
[[nodiscard]] inline double exposure_bound(approx_dp guarantee, std::uint64_t candidates) {
  detail::check_ranks("exposure_bound", 1, candidates);
  detail::check_guarantee("exposure_bound", guarantee);
  double const count = static_cast<double>(candidates);
  double const most = elementary::log(count) / std::numbers::ln2 * detail::few_ulps_up;
  double const certain = guarantee.epsilon - elementary::log1p(-guarantee.delta);
  if (!(certain < elementary::log(count))) return most;
  double const tail = (1.0 - guarantee.delta) - elementary::exp(guarantee.epsilon) / count +
                      guarantee.delta * (elementary::log(count) - certain);
  return std::min(most, (certain + std::max(0.0, tail)) / std::numbers::ln2 * detail::few_ulps_up);
}

}  // namespace tacit
