// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/run_owner.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/rdp/conversion.hpp>

#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

/// Individual filters: every record has a budget of its own, pays for what its own contributions may reveal, and is
/// left out of a release that it cannot pay. A run may go on while any record is left; records with small gradients last
/// longer than the worst case. Neighbours under add_remove or zero_out, whose records do not differ otherwise. Proof:
/// docs/certificates/filters.md, Lemma 6; Feldman & Zrnic 2021.
///
/// What a record pays may depend on this record and on what was released before, and on nothing else: not on other
/// records, and not on which of them are left. Who takes part and what was spent are as secret as the records.

namespace tacit {

namespace detail {

/// Amounts that n records have spent of one budget.
class individual_tally {
 public:
  individual_tally(std::string_view who, std::size_t records, double budget)
      : spent_(records, 0.0), budget_(budget) {
    require_argument(records >= 1, who, "records", records, "at least 1");
  }

  /// Charges whom it can and returns who was, in ascending order. `cost(i)` throws before anything is charged.
  template <class Cost>
  std::vector<std::size_t> charge(Cost const& cost) {
    owner_.check("individual filter");
    std::vector<double> after(spent_.size());
    for (std::size_t i = 0; i < spent_.size(); ++i) after[i] = add_up(spent_[i], cost(i));
    std::vector<std::size_t> taking_part;
    for (std::size_t i = 0; i < spent_.size(); ++i) {
      if (after[i] <= budget_) taking_part.push_back(i);
    }
    for (std::size_t const i : taking_part) spent_[i] = after[i];
    return taking_part;
  }

  [[nodiscard]] std::span<double const> spent() const noexcept { return spent_; }
  [[nodiscard]] double budget() const noexcept { return budget_; }

  void check_size(std::string_view who, std::string_view what, std::size_t size) const {
    require_argument(size == spent_.size(), who, what, size, "the number of records");
  }

 private:
  std::vector<double> spent_;
  double budget_;
  run_owner owner_;
};

}  // namespace detail

/// Sums of contributions with Gaussian noise, in which every record that can pay takes part: Σ (norm/σ)² ≤ μ² for each
/// record.
/// Guarantee: the run is μ-GDP, whatever noise and contributions are chosen from past releases, and (ε, δ)-DP if made
/// from such a budget.
/// Move-only, and a moved-from filter refuses.
class individual_gaussian_filter {
 public:
  /// @throws std::invalid_argument without records; std::domain_error unless μ is finite and at least 0
  individual_gaussian_filter(std::size_t records, gaussian_dp budget)
      : tally_("individual_gaussian_filter", records, squared_down(budget)) {}
  /// The largest μ that implies (ε, δ).
  /// @throws std::domain_error unless ε is finite and at least 0 and δ in [0, 1)
  individual_gaussian_filter(std::size_t records, approx_dp budget)
      : individual_gaussian_filter(records, gaussian_dp_for<double>(budget)) {}

  /// Before a release of noise N(0, σ²) in every coordinate: `norms[i]` is at least the L2 norm of what record i would
  /// add. Returns the records whose contributions may be added; the others are left out of this release.
  /// @throws std::invalid_argument unless there is a norm for each record; std::domain_error unless norms are finite and
  ///         at least 0, and σ positive and finite. Nothing is charged then.
  [[nodiscard]] std::vector<std::size_t> charge(std::span<double const> norms, double sigma) {
    char const* const me = "individual_gaussian_filter::charge";
    tally_.check_size(me, "number of norms", norms.size());
    detail::check_positive(me, "sigma", sigma);
    return tally_.charge([&](std::size_t i) {
      detail::check_non_negative(me, "norm", norms[i]);
      double const ratio = detail::divide_up(norms[i], sigma);
      return detail::multiply_up(ratio, ratio);
    });
  }

  /// The μ that no record exceeds.
  [[nodiscard]] gaussian_dp budget() const noexcept { return {detail::sqrt_up(tally_.budget())}; }
  /// Σ (norm/σ)² of each record. Secret.
  [[nodiscard]] std::span<double const> spent() const noexcept { return tally_.spent(); }

 private:
  static double squared_down(gaussian_dp budget) {
    detail::check_non_negative("individual_gaussian_filter", "mu", budget.mu);
    return detail::multiply_down(budget.mu, budget.mu);
  }

  detail::individual_tally tally_;
};

/// Any releases whose Rényi divergence at one order is known for each record: Σρ_i ≤ B.
/// Guarantee: D_α of the run is at most B in both directions, whatever is chosen from past releases, and the run (ε, δ)-DP
/// if made from such a budget.
/// Move-only, and a moved-from filter refuses.
class individual_renyi_filter {
 public:
  /// @throws std::invalid_argument without records; std::domain_error unless order is finite and above 1 and the
  ///         divergence finite and at least 0
  individual_renyi_filter(std::size_t records, double order, double divergence)
      : order_(checked(order)),
        tally_("individual_renyi_filter", records, checked_budget(divergence)) {}

  /// The largest divergence at this order that implies (ε, δ). See `order_for`.
  /// @throws std::domain_error unless ε is finite and at least 0 and δ in (0, 1)
  individual_renyi_filter(std::size_t records, double order, approx_dp budget)
      : individual_renyi_filter(records, order, divergence_for(checked(order), budget)) {}

  /// Before a release: `divergences[i]` is a bound on D_α between the release with and without record i, in both
  /// directions, whatever the other records are. Returns the records that may take part.
  /// @throws std::invalid_argument unless there is one for each record; std::domain_error if one is negative or NaN.
  ///         Nothing is charged then.
  [[nodiscard]] std::vector<std::size_t> charge(std::span<double const> divergences) {
    char const* const me = "individual_renyi_filter::charge";
    tally_.check_size(me, "number of divergences", divergences.size());
    return tally_.charge([&](std::size_t i) {
      detail::require_domain(divergences[i] >= 0.0, me, "divergence", divergences[i], "at least 0");
      return divergences[i];
    });
  }

  [[nodiscard]] double order() const noexcept { return order_; }
  /// The D_α that no record exceeds.
  [[nodiscard]] double budget() const noexcept { return tally_.budget(); }
  /// Σρ of each record. Secret.
  [[nodiscard]] std::span<double const> spent() const noexcept { return tally_.spent(); }

 private:
  static double checked(double order) {
    detail::require_domain(order > 1.0 && order <= std::numeric_limits<double>::max(),
                           "individual_renyi_filter", "order", order, "finite and above 1");
    return order;
  }
  static double checked_budget(double divergence) {
    detail::check_non_negative("individual_renyi_filter", "divergence", divergence);
    return divergence;
  }
  static double divergence_for(double order, approx_dp budget) {
    char const* const me = "individual_renyi_filter";
    detail::check_non_negative(me, "epsilon", budget.epsilon);
    detail::require_domain(budget.delta > 0.0 && budget.delta < 1.0, me, "delta", budget.delta,
                           "in (0, 1)");
    auto const keeps = [&](double divergence) {
      return renyi_epsilon(order, divergence, budget.delta) <= budget.epsilon;
    };
    // A divergence of 0 keeps any (ε, δ).
    return last_holding(0.0, std::numeric_limits<double>::max(), keeps);
  }

  double order_;
  detail::individual_tally tally_;
};

}  // namespace tacit
