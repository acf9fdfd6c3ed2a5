// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/run_owner.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/event_words.hpp>
#include <tacit/dp/filter/state.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/normal_sum.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tacit {

/// What a Gaussian filter counts: μ².
struct gaussian_cost {
  double value = required;
  constexpr gaussian_cost() = default;
  constexpr explicit gaussian_cost(double mu_squared) : value(mu_squared) {}
};

namespace detail {

/// count·μ² of a release that N(μ, 1) against N(0, 1) dominates, rounded up and finite.
template <real T>
[[nodiscard]] gaussian_cost gaussian_cost_of(std::string_view who, event const& release,
                                             std::uint64_t count, adjacency neighbours) {
  domination const pairs = dominate<T>(release, neighbours);
  auto const* normal = std::get_if<normal_pair>(&pairs.remove);
  if (normal == nullptr || !pairs.symmetric) {
    throw std::invalid_argument(std::string(who) +
                                ": the release is not dominated by a Gaussian pair, but must be: "
                                "nothing of the kind holds for sampled or other noise; use Rényi "
                                "divergences");
  }
  if (count == 0) return gaussian_cost(0.0);
  double const each = square(shift_of(*normal)).upper;
  // An infinite cost is beyond every budget, and would be no amount.
  return gaussian_cost(
      std::min(std::numeric_limits<double>::max(), multiply_up(count_up(count), each)));
}

}  // namespace detail

/// Keeps a run of releases chosen on the way inside μ-Gaussian differential privacy: Σ μ_t² ≤ μ². No
/// loss against a fixed schedule.
///
/// For releases dominated by N(μ_t, 1) against N(0, 1): Gaussian and matrix mechanisms that every record
/// takes part in. Sampled ones are refused, as their trade-off function is no Gaussian's, and natural
/// filters for others are invalid (arXiv 2602.15815); use `renyi_filter`.
///
/// Guarantee: whatever is chosen from past releases, the whole run is μ-GDP, and (ε, δ)-DP if made from
/// such a budget. Rounding may refuse a release that would fill the budget to the last digit: leave it
/// 1e-14.
/// Source: Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023.
/// Move-only, and a moved-from filter refuses.
template <real T = double>
class basic_gaussian_filter {
 public:
  /// @throws std::domain_error unless μ is finite and at least 0
  explicit basic_gaussian_filter(gaussian_dp budget, adjacency neighbours = adjacency::add_remove)
      : basic_gaussian_filter(squared_down(budget), gaussian_cost(0.0), neighbours) {}

  /// The largest μ that implies (ε, δ).
  /// @throws std::domain_error unless ε is finite and at least 0 and δ in [0, 1)
  explicit basic_gaussian_filter(approx_dp budget, adjacency neighbours = adjacency::add_remove)
      : basic_gaussian_filter(gaussian_dp_for(budget), neighbours) {}

  /// Whether `count` more such releases would leave the budget.
  /// @throws as `charge`, but for budget_exhausted
  [[nodiscard]] bool would_exceed(event const& release, std::uint64_t count = 1) const {
    owner_.check("gaussian_filter");
    return ledger_.would_exceed(
        detail::gaussian_cost_of<T>("gaussian_filter::would_exceed", release, count, neighbours_));
  }

  /// Charges `count` releases, of which the last is chosen with the first, before any of them exists.
  /// @throws budget_exhausted if they do not fit; std::domain_error for a value out of range;
  ///         std::invalid_argument, with the reason, for an event that is not Gaussian. Nothing is
  ///         charged then.
  receipt<gaussian_cost> charge(event const& release, std::uint64_t count = 1) {
    owner_.check("gaussian_filter");
    return ledger_.charge(
        detail::gaussian_cost_of<T>("gaussian_filter::charge", release, count, neighbours_));
  }

  /// The μ that is never exceeded.
  [[nodiscard]] gaussian_dp budget() const noexcept { return rooted_up(ledger_.budget()); }
  /// The μ of what was charged, √Σμ_t², rounded up.
  [[nodiscard]] gaussian_dp spent() const noexcept { return rooted_up(ledger_.spent()); }
  [[nodiscard]] adjacency neighbours() const noexcept { return neighbours_; }

  /// As `renyi_odometer::save`: to be stored after the charge and before its release.
  [[nodiscard]] std::string save() const {
    owner_.check("gaussian_filter");
    archive_writer out("tacit-gaussian-filter", 1);
    out.field("adjacency", to_text(neighbours_));
    out.field("budget", ledger_.budget().value);
    out.field("spent", ledger_.spent().value);
    return std::move(out).finish();
  }
  /// @throws corrupt_state for a text that `save` did not write
  [[nodiscard]] static basic_gaussian_filter load(std::string text) {
    archive_reader in(std::move(text), "tacit-gaussian-filter", 1);
    adjacency const neighbours = detail::adjacency_of(detail::stored_word(in, "adjacency"));
    gaussian_cost budget;
    gaussian_cost spent;
    in.field("budget", budget.value);
    in.field("spent", spent.value);
    in.finish();
    return detail::from_storage([&] { return basic_gaussian_filter(budget, spent, neighbours); });
  }

 private:
  basic_gaussian_filter(gaussian_cost budget, gaussian_cost spent, adjacency neighbours)
      : neighbours_(neighbours), ledger_(budget, spent) {}

  static gaussian_cost squared_down(gaussian_dp guarantee) {
    detail::check_non_negative("gaussian_filter", "mu", guarantee.mu);
    return gaussian_cost(detail::multiply_down(guarantee.mu, guarantee.mu));
  }

  static gaussian_dp rooted_up(gaussian_cost cost) noexcept {
    return {detail::sqrt_up(cost.value)};
  }

  adjacency neighbours_;
  ledger<gaussian_cost> ledger_;
  detail::run_owner owner_;
};
using gaussian_filter = basic_gaussian_filter<double>;

#if defined(TACIT_COMPILED)
extern template class basic_gaussian_filter<double>;
#endif

}  // namespace tacit
