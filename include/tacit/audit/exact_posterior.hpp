// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/audit/sigmas.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/candidates.hpp>
#include <tacit/pac/posterior.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tacit {

/// How a released sum came about: each record of the secret subset in it with probability `rate`.
struct released_mean {
  double divisor = required;  ///< public; the sum is divided by it and then noised
  double rate = 1.0;
};

/// The strongest attacker in the setting of PAC privacy: it knows the universe, all M candidate subsets, every
/// record's numbers and every release, and follows Bayes' rule. It guesses for each record whether it is in the
/// secret subset, and which candidate that is.
///
/// What covers it: bounds of the information about the secret subset, on average over releases:
/// `membership_success(nats, prior)` for a record that is fixed beforehand, `attack_success(nats, prior)` also for one
/// that is chosen afterwards, `attack_success(nats, 1/M)` for the subset. Differential privacy of
/// single records does not: candidates differ in many records (`informed_adversary`).
///
/// Every observation either happens or throws and changes nothing.
class candidate_attack {
 public:
  explicit candidate_attack(candidate_set candidates)
      : candidates_(std::move(candidates)),
        belief_(candidates_.subsets()),
        inside_(candidates_.records() * candidates_.subsets()) {
    for (std::size_t i = 0; i < candidates_.records(); ++i) {
      for (std::size_t m = 0; m < candidates_.subsets(); ++m) {
        inside_[i * candidates_.subsets() + m] = candidates_.contains(m, i) ? 1.0 : 0.0;
      }
    }
  }

  [[nodiscard]] candidate_set const& candidates() const noexcept { return candidates_; }
  [[nodiscard]] posterior const& belief() const noexcept { return belief_; }

  /// p[m] ∝ p[m]·e^l_m for any release of log-likelihoods l_m; −∞ excludes a candidate.
  /// @throws std::invalid_argument unless there is one a candidate, or if no live candidate is left;
  ///         std::domain_error for a NaN or +∞
  void observe(std::span<double const> log_likelihoods) {
    detail::check_size("candidate_attack", "number of log-likelihoods", log_likelihoods.size(),
                       belief_.size());
    std::vector<double> next(belief_.log_weights().begin(), belief_.log_weights().end());
    for (std::size_t m = 0; m < next.size(); ++m) next[m] += log_likelihoods[m];
    belief_ = posterior::from_log_weights(std::move(next));
  }

  /// y = (Σ_{i in secret, in batch} g_i)/divisor + N(0, diag σ²) was released: d numbers, of contributions
  /// N×d, record after record, as the mechanism clips them. Below rate 1 the sum over the batch is taken as
  /// normal, of mean qΣg and variance q(1−q)Σg² a coordinate: an attack, no longer the best one.
  /// @throws std::invalid_argument unless there are N·d contributions and d or 1 sigmas; std::domain_error
  ///         unless numbers are finite, sigmas and divisor positive and rate in (0, 1]
  void observe_sum(std::span<double const> contributions, std::span<double const> released,
                   std::span<double const> sigmas, released_mean const& how) {
    std::size_t const d = released.size();
    std::size_t const subsets = candidates_.subsets();
    check(contributions, released, sigmas, how);
    double const spread = how.rate * (1.0 - how.rate);
    std::vector<double> logs(subsets, 0.0);
    std::vector<double> sum(subsets);
    std::vector<double> squares(subsets);
    for (std::size_t k = 0; k < d; ++k) {
      std::fill(sum.begin(), sum.end(), 0.0);
      std::fill(squares.begin(), squares.end(), 0.0);
      for (std::size_t i = 0; i < candidates_.records(); ++i) {
        double const g = contributions[i * d + k] / how.divisor;
        double const* const inside = inside_.data() + i * subsets;
        for (std::size_t m = 0; m < subsets; ++m) {
          sum[m] += inside[m] * g;
          squares[m] += inside[m] * g * g;
        }
      }
      double const noise = detail::variance_of(sigmas, k);
      for (std::size_t m = 0; m < subsets; ++m) {
        double const variance = noise + spread * squares[m];
        double const away = released[k] - how.rate * sum[m];
        logs[m] -= 0.5 * (away * away / variance + elementary::log(variance));
      }
    }
    observe(logs);
  }

 private:
  void check(std::span<double const> contributions, std::span<double const> released,
             std::span<double const> sigmas, released_mean const& how) const {
    constexpr char const* who = "candidate_attack";
    detail::check_size(who, "number of contributions", contributions.size(),
                       candidates_.records() * released.size());
    detail::check_sigmas(who, sigmas, released.size());
    for (double const g : contributions) detail::check_finite(who, "contribution", g);
    for (double const y : released) detail::check_finite(who, "released number", y);
    detail::check_positive(who, "divisor", how.divisor);
    detail::require_domain(how.rate > 0.0 && how.rate <= 1.0, who, "rate", how.rate, "in (0, 1]");
  }

  candidate_set candidates_;
  posterior belief_;
  std::vector<double> inside_;  // N×M, 0 or 1
};

/// The candidate that a belief favours; the first of equals.
[[nodiscard]] inline std::size_t likeliest(posterior const& belief) {
  auto const logs = belief.log_weights();
  return static_cast<std::size_t>(std::max_element(logs.begin(), logs.end()) - logs.begin());
}

/// 1 for each record about which the belief is right: "in" where P(in) ≥ ½. For `attack_trials`. Works on
/// any belief, so also on that of a `paczero` run.
/// @throws std::invalid_argument unless the set has the belief's subsets, and the secret is one of them
[[nodiscard]] inline std::vector<std::uint8_t> right_guesses(posterior const& belief,
                                                             candidate_set const& candidates,
                                                             std::size_t secret) {
  std::vector<double> in(candidates.records());
  belief.memberships(candidates, in);
  std::vector<std::uint8_t> right(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    right[i] = (in[i] >= 0.5) == candidates.contains(secret, i);
  }
  return right;
}

}  // namespace tacit
