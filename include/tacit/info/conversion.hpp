// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/binary_channel.hpp>
#include <tacit/info/certified.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/info/sign_channel.hpp>

#include <algorithm>
#include <limits>

/// One ledger for both worlds: what a differential-privacy guarantee says, in nats, about the
/// membership U of one record (prior π) given everything that was released.

namespace tacit {

/// I(U;Y) ≤ I of the binary-input Gaussian channel with prior π and σ = 2/μ: the release is a
/// function of that channel's output (Blackwell), and information falls under functions.
/// Guarantee: upper bound.
/// @throws std::domain_error unless μ ≥ 0 and prior is in [0, 1]
[[nodiscard]] inline nats information_bound(gaussian_dp guarantee, double prior = 0.5) {
  detail::require_domain(guarantee.mu >= 0.0, "information_bound", "mu", guarantee.mu,
                         "at least 0");
  // 2/μ may overflow, but there is always some signal.
  double const sigma = guarantee.mu == 0.0
                           ? std::numeric_limits<double>::infinity()
                           : std::min(2.0 / guarantee.mu, std::numeric_limits<double>::max());
  return information_charge(binary_channel{.prior = prior, .sigma = sigma});
}

/// I(U;Y) ≤ δ·h(π) + (1−δ)·I(binary symmetric channel with ρ = tanh(ε/2)): every (ε, δ) release is a
/// function of one that reveals the secret with probability δ and else answers by randomised response
/// (Kairouz, Oh & Viswanath 2015). At π = ½: δ log 2 + (1−δ)(log 2 − h(1/(1+e^ε))).
/// Guarantee: upper bound.
/// @throws std::domain_error unless ε ≥ 0, δ in [0, 1] and prior in [0, 1]
[[nodiscard]] inline nats information_bound(approx_dp guarantee, double prior = 0.5) {
  detail::require_domain(guarantee.epsilon >= 0.0, "information_bound", "epsilon",
                         guarantee.epsilon, "at least 0");
  detail::check_probability("information_bound", "delta", guarantee.delta);
  detail::check_probability("information_bound", "prior", prior);
  double const correlation = elementary::tanh(0.5 * guarantee.epsilon);
  flip const answer =
      correlation <= 0.5 ? flip::with_correlation(correlation)
                         : flip::with_probability(1.0 / (1.0 + elementary::exp(guarantee.epsilon)));
  double const revealed = guarantee.delta * binary_entropy(detail::minority(prior));
  double const answered =
      (1.0 - guarantee.delta) * mutual_information(sign_channel{.prior = prior, .noise = answer});
  // A bound that underflows must not become 0.
  bool const nothing =
      detail::minority(prior) == 0.0 || (guarantee.epsilon == 0.0 && guarantee.delta == 0.0);
  return nats(nothing ? 0.0 : detail::raised(revealed + answered));
}

}  // namespace tacit
