// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/certified.hpp>
#include <tacit/info/sign_channel.hpp>
#include <tacit/pac/candidates.hpp>
#include <tacit/pac/posterior.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// The information of a release about each record's membership, one by one.
///
/// U_i = 1 if record i is in the secret subset. Given what was released before, a released sign Y is
/// the output of a binary symmetric channel whose input S has mean s̄ = Σ p_m s_m, and mean
/// m₁ = a_i/π_i given U_i = 1, m₀ = (s̄ − a_i)/(1 − π_i) given U_i = 0. Hence exactly
///   I(U_i; Y | past) = Σ_u P(u) Σ_y P(y)·ψ(yρ(m_u − s̄)/(1 + yρs̄)),
/// and by the chain rule for U_i the sums over steps bound I(U_i; transcript). A run may give away far
/// more about *which subset* was the secret than about any one record: that is what makes this
/// ledger worth its arithmetic.

namespace tacit {

/// A belief about every record and about one sign that may be released: the price of a
/// release for each record, and the bound it would put on their posteriors. Rounding goes to the safe
/// side: informations are upper bounds, `flip_within` is a feasible end.
class record_exposure {
 public:
  /// `slack` bounds the absolute error of the masses in `belief`.
  record_exposure(candidate_set const& candidates, posterior const& belief,
                  std::span<std::int8_t const> signs, double slack)
      : slack_(4.0 * slack + (80.0 + static_cast<double>(candidates.subsets()) / 8.0) *
                                 std::numeric_limits<double>::epsilon()),
        membership_(candidates.records()),
        signed_membership_(candidates.records()) {
    detail::require_domain(slack_ > 0.0 && slack_ < 0.25, "record_exposure", "slack", slack,
                           "at least 0 and far below 1");
    belief.memberships(candidates, membership_);
    belief.sign_memberships(candidates, signs, signed_membership_);
    split const agreement = belief.agreement(signs);
    minority_ = agreement.minority;
    double const majority_sign = agreement.minority_positive ? -1.0 : 1.0;
    mean_ = majority_sign * (1.0 - 2.0 * minority_);
    inside_.reserve(records());
    covariance_.reserve(records());
    for (std::size_t i = 0; i < records(); ++i) {
      inside_.push_back(std::clamp(membership_[i], slack_, 1.0 - slack_));
      double const covariance = signed_membership_[i] - membership_[i] * mean_;
      covariance_.push_back(majority_sign * (covariance + std::copysign(slack_, covariance)));
    }
  }

  [[nodiscard]] std::size_t records() const noexcept { return membership_.size(); }

  /// I(U_i; Y | past), in nats, of the sign released through `noise`.
  /// Guarantee: upper bound, within 1e-5 relative and the rounding of the belief.
  [[nodiscard]] double information(std::size_t record, flip const& noise) const {
    double const inside = inside_[record];
    double const outside = 1.0 - inside;
    double const rare = chance_of_minority(noise);
    double const common = 1.0 - rare;
    double const lean = 0.5 * noise.correlation() * covariance_[record];
    double total = common * (inside * residual_above(lean / (common * inside)) +
                             outside * residual_above(-lean / (common * outside)));
    if (rare > 0.0) {
      total += rare * (inside * residual_above(-lean / (rare * inside)) +
                       outside * residual_above(lean / (rare * outside)));
    }
    return detail::raised(total);
  }

  /// The largest ρ ≤ `most` for which no record's information exceeds its allowance.
  /// Guarantee: feasible end, within 1e-6 relative of the largest.
  ///
  /// With v_i = cov(U_i, S)²/(π_i(1−π_i)): I_i ≤ χ² = ρ²v_i/(4·P(Y=1)·P(Y=−1)), and I_i/ρ² increases
  /// with ρ from v_i/2 (a binary symmetric channel contracts information by ρ² at least). The lower
  /// bound caps ρ, the upper one clears nearly all records, and the few that are left are solved.
  [[nodiscard]] flip flip_for(std::span<double const> allowance, flip const& most) const {
    detail::check_size("flip_for", "size of allowance", allowance.size(), records());
    detail::check_probability("flip_for", "correlation", most.correlation());
    for (double const a : allowance) {
      detail::require_domain(a == a, "flip_for", "allowance", a, "a number");
    }
    double rho = most.correlation();
    for (std::size_t i = 0; i < records(); ++i) {
      rho = std::min(rho, std::sqrt(2.0 * std::max(allowance[i], 0.0) / spread(i)));
    }
    if (rho == 0.0) return flip::with_correlation(0.0);
    double const rare = chance_of_minority(flip::with_correlation(rho));
    double const chi_square = rho * rho / (4.0 * rare * (1.0 - rare));
    for (std::size_t i = 0; i < records(); ++i) {
      if (chi_square * spread(i) <= allowance[i] * (1.0 - 1e-12)) continue;
      double const spent = information(i, flip::with_correlation(rho));
      if (spent <= allowance[i]) continue;
      auto const wide = [](double low, double high) { return high - low > 1e-7 * low; };
      auto const fits = [&](double x) {
        return information(i, flip::with_correlation(x)) <= allowance[i];
      };
      double const contracted = rho * std::sqrt(allowance[i] / spent) * (1.0 - 1e-5);
      rho = detail::bisect<double>({contracted, rho}, wide, fits).low;
    }
    return rho == most.correlation() ? most : flip::with_correlation(rho * (1.0 - 1e-9));
  }

  /// The largest ρ ≤ `most` after which, whatever is released, every record's posterior lies within
  /// [prior − κ, prior + κ]: from (π + yρa)/(1 + yρs̄) for y = ±1,
  ///   ρ ≤ (κ ∓ (π − prior))/|a − (prior ± κ)·s̄|.
  /// Guarantee: feasible end; ρ = 0, a fair coin, where a record has no room left.
  [[nodiscard]] flip flip_within(double prior, double kappa, flip const& most) const {
    detail::check_probability("flip_within", "prior", prior);
    detail::require_domain(kappa <= 1.0, "flip_within", "kappa", kappa, "at most 1");
    detail::check_probability("flip_within", "correlation", most.correlation());
    double rho = most.correlation();
    for (std::size_t i = 0; i < records(); ++i) {
      for (double const side : {-1.0, 1.0}) {
        double const room = kappa - side * (membership_[i] - prior) - slack_;
        double const move =
            std::abs(signed_membership_[i] - (prior + side * kappa) * mean_) + slack_;
        rho = std::min(rho, std::max(room, 0.0) / move * (1.0 - 1e-9));
      }
    }
    return rho == most.correlation() ? most : flip::with_correlation(rho);
  }

 private:
  [[nodiscard]] double chance_of_minority(flip const& noise) const noexcept {
    double const e = noise.probability();
    return e * (1.0 - minority_) + (1.0 - e) * minority_;
  }

  [[nodiscard]] double spread(std::size_t record) const noexcept {
    double const inside = inside_[record];
    return covariance_[record] * covariance_[record] / (inside * (1.0 - inside));
  }

  /// ψ(d) from above; d ≥ −1 up to rounding. Near 0 by its alternating series to d⁴, whose remainder is
  /// negative for d > 0 and below |d|⁵/19 for −1/20 < d < 0.
  [[nodiscard]] static double residual_above(double d) {
    if (d > -0.05 && d < 0.05) {
      double const square = d * d;
      double const remainder = d < 0.0 ? -d * square * square / 19.0 : 0.0;
      return square * (0.5 + d * (d / 12.0 - 1.0 / 6.0)) + remainder;
    }
    return entropy_residual(std::max(d, -1.0));
  }

  double slack_;
  double minority_ = 0.0;
  double mean_ = 0.0;                      // of the sign
  std::vector<double> membership_;         // π_i
  std::vector<double> signed_membership_;  // a_i
  std::vector<double> inside_;             // π_i, kept off 0 and 1 by the slack
  std::vector<double> covariance_;  // of U_i and the majority sign, widened by the slack: ψ grows
                                    // with |d|, so a wider one prices the release higher
};

/// One running sum of nats for each record, under one budget for the worst of them.
///
/// Guarantee: after every charge, each record's exact sum is ≤ its `spent` ≤ budget. By the chain
/// rule I(U_i; transcript) ≤ budget for every record i.
class record_ledger {
 public:
  /// @throws std::invalid_argument for no records; std::domain_error unless the budget is finite and
  ///         at least 0
  record_ledger(std::size_t records, nats budget) : worst_(budget), spent_(records, 0.0) {
    detail::require_argument(records >= 1, "record_ledger", "records", records, "at least 1");
  }

  /// The ledger of a resumed run.
  /// @throws std::domain_error unless every sum is in [0, budget]
  record_ledger(nats budget, std::vector<double> spent)
      : worst_(budget, nats(spent.empty() ? 0.0 : *std::max_element(spent.begin(), spent.end()))),
        spent_(std::move(spent)) {
    detail::require_argument(!spent_.empty(), "record_ledger", "records", spent_.size(),
                             "at least 1");
    for (double const s : spent_) detail::check_non_negative("record_ledger", "spent", s);
  }

  [[nodiscard]] nats budget() const noexcept { return worst_.budget(); }
  [[nodiscard]] std::span<double const> spent() const noexcept { return spent_; }
  [[nodiscard]] nats worst() const noexcept { return worst_.spent(); }

  /// What record i has left, rounded down.
  [[nodiscard]] nats remaining(std::size_t record) const {
    return nats(detail::subtract_down(budget().value, spent_.at(record)));
  }

  /// Charges every record its own cost, all or nothing.
  /// @throws budget_exhausted if any record cannot pay; std::domain_error for a negative or NaN cost
  receipt<nats> charge(std::span<double const> costs) {
    detail::check_size("record_ledger::charge", "size of costs", costs.size(), spent_.size());
    std::vector<double> next(spent_.size());
    double worst = worst_.spent().value;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      detail::check_non_negative("record_ledger::charge", "cost", costs[i]);
      next[i] = detail::add_up(spent_[i], costs[i]);
      worst = std::max(worst, next[i]);
    }
    // The worst sum is the ledger's balance; its rise is exact or rounded up by the ledger.
    receipt<nats> paid = worst_.raise_to(nats(worst));
    spent_ = std::move(next);
    return paid;
  }

 private:
  ledger<nats> worst_;
  std::vector<double> spent_;
};

}  // namespace tacit
