// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/certified.hpp>
#include <tacit/info/entropy.hpp>

#include <algorithm>
#include <limits>

/// What an attacker can achieve: bounds on the probability of guessing a secret after a release,
/// from its information in nats or from (ε, δ), and the budgets that keep an attacker under a given
/// success. `prior_success` is the success of the best guess before the release: max(π, 1−π) for one
/// membership bit of prior π.
///
/// Bounds from information are averages over releases: the posterior after one unlucky release may
/// exceed them.

namespace tacit {

/// The largest success s with D(s‖prior_success) ≤ information (Fano's inequality in its
/// data-processing form; Xiao & Devadas 2023, PAC privacy): holds for any secret and any guess.
/// Guarantee: upper bound. Information 0 gives the prior, log(1/prior) or more gives 1.
/// @throws std::domain_error unless prior_success is in (0, 1] and information ≥ 0
[[nodiscard]] inline double attack_success(nats information, double prior_success = 0.5) {
  detail::require_domain(prior_success > 0.0 && prior_success <= 1.0, "attack_success",
                         "prior_success", prior_success, "in (0, 1]");
  detail::require_domain(information.value >= 0.0, "attack_success", "information",
                         information.value, "at least 0");
  if (information.value == 0.0) return prior_success;
  return upper_probability_for(information, prior_success);
}

/// 1 − h⁻¹(h(π) − information): the sharp bound for one membership bit (rate–distortion of a binary
/// source under Hamming distortion) that is fixed beforehand. For a bit that is picked after the release was seen,
/// from several of one prior, take the other form, and the information about all of them together. Equal to
/// it at π = ½, strictly below it elsewhere.
/// Solved for the failure x ≤ r = 1 − π through h(r) − h(x) = D(x‖r) + (r−x)·log((1−r)/r), in which
/// nothing cancels.
/// Guarantee: upper bound; 1 once the information reaches h(π).
/// @throws std::domain_error unless prior_success is in [½, 1] and information ≥ 0
[[nodiscard]] inline double membership_success(nats information, double prior_success = 0.5) {
  detail::require_domain(prior_success >= 0.5 && prior_success <= 1.0, "membership_success",
                         "prior_success", prior_success, "in [0.5, 1]");
  detail::require_domain(information.value >= 0.0, "membership_success", "information",
                         information.value, "at least 0");
  if (information.value == 0.0 || prior_success == 1.0) return prior_success;
  double const r = 1.0 - prior_success;
  double const log_odds = elementary::log1p((1.0 - 2.0 * r) / r);
  double const failure = last_holding(0.0, r, [&](double x) {
    return detail::lowered(bernoulli_kl(x, r) + (r - x) * log_odds) >= information.value;
  });
  return detail::add_up(1.0, -failure);
}

/// The success that (ε, δ)-DP allows against one membership bit:
/// max{1 − (1−δ)/(1+e^ε), π + δ(1−π)} with π = prior_success (the three corners of the region of
/// (false positive, false negative) rates; Kairouz, Oh & Viswanath 2015).
/// Guarantee: upper bound.
/// @throws std::domain_error unless prior_success is in [½, 1], ε ≥ 0 and δ in [0, 1]
[[nodiscard]] inline double attack_success(approx_dp guarantee, double prior_success = 0.5) {
  detail::require_domain(prior_success >= 0.5 && prior_success <= 1.0, "attack_success",
                         "prior_success", prior_success, "in [0.5, 1]");
  detail::require_domain(guarantee.epsilon >= 0.0, "attack_success", "epsilon", guarantee.epsilon,
                         "at least 0");
  detail::check_probability("attack_success", "delta", guarantee.delta);
  double const miss = (1.0 - guarantee.delta) / (1.0 + elementary::exp(guarantee.epsilon));
  double const corner = 1.0 - miss;
  double const edge = prior_success + guarantee.delta * (1.0 - prior_success);
  constexpr double up = 1.0 + 4.0 * std::numeric_limits<double>::epsilon();
  bool const prior_stands =
      guarantee.delta == 0.0 && (guarantee.epsilon == 0.0 || corner * up <= prior_success);
  return prior_stands ? prior_success : std::min(1.0, std::max(corner, edge) * up);
}

/// The largest information that keeps every attacker at or under `success`: D(success‖prior).
/// Guarantee: feasible end (lower bound of the divergence).
/// @throws std::domain_error unless both are in (0, 1]; infeasible if success is below the prior
[[nodiscard]] inline nats information_for(double success, double prior_success = 0.5) {
  detail::require_domain(prior_success > 0.0 && prior_success <= 1.0, "information_for",
                         "prior_success", prior_success, "in (0, 1]");
  detail::require_domain(success > 0.0 && success <= 1.0, "information_for", "success", success,
                         "in (0, 1]");
  if (success < prior_success) {
    throw infeasible(
        detail::complaint("information_for", "success", detail::to_text(success),
                          "at least the prior success " + detail::to_text(prior_success)));
  }
  if (prior_success == 1.0) return nats(0.0);
  return nats(detail::lowered(bernoulli_kl(success, prior_success)));
}

/// The largest ε for which (ε, δ)-DP keeps every membership attacker at or under `success`.
/// Guarantee: feasible end (rounded down); success 1 gives ∞.
/// @throws std::domain_error unless success and prior_success are in [½, 1] and δ in [0, 1];
///         infeasible if no ε, not even 0, keeps the attacker there
[[nodiscard]] inline double epsilon_for(double success, double prior_success = 0.5,
                                        double delta = 0.0) {
  detail::require_domain(prior_success >= 0.5 && prior_success <= 1.0, "epsilon_for",
                         "prior_success", prior_success, "in [0.5, 1]");
  detail::require_domain(success >= 0.5 && success <= 1.0, "epsilon_for", "success", success,
                         "in [0.5, 1]");
  detail::check_probability("epsilon_for", "delta", delta);
  if (success == 1.0) return std::numeric_limits<double>::infinity();
  // From s = 1 − (1−δ)/(1+e^ε), written so that a success next to ½ loses nothing.
  double const excess = (2.0 * success - 1.0 - delta) / (1.0 - success);  // e^ε − 1
  double const edge = prior_success + delta * (1.0 - prior_success);
  constexpr double up = 1.0 + 2.0 * std::numeric_limits<double>::epsilon();
  bool const edge_holds = (delta == 0.0 ? prior_success : edge * up) <= success;
  if (!(excess >= 0.0) || !edge_holds) {
    throw infeasible(detail::complaint("epsilon_for", "success", detail::to_text(success),
                                       "at least what epsilon 0 with the prior success " +
                                           detail::to_text(prior_success) + " and delta " +
                                           detail::to_text(delta) + " allows"));
  }
  return elementary::log1p(excess) * (1.0 - 8.0 * std::numeric_limits<double>::epsilon());
}

}  // namespace tacit
