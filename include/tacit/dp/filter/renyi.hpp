// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/run_owner.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/event_words.hpp>
#include <tacit/dp/filter/state.hpp>
#include <tacit/dp/filter/tally.hpp>
#include <tacit/dp/rdp/conversion.hpp>
#include <tacit/dp/renyi.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tacit {

/// What a Rényi filter counts: ε at the δ of its budget.
struct epsilon_cost {
  double value = required;
  constexpr epsilon_cost() = default;
  constexpr explicit epsilon_cost(double epsilon) : value(epsilon) {}
};

/// Keeps a run of releases chosen on the way inside (ε, δ): every release is charged before it exists,
/// and one that might not fit is refused.
///
///   renyi_filter filter(16.0, {.epsilon = 2.0, .delta = 1e-6});
///   auto paid = filter.charge(sampled(gaussian{.noise_multiplier = sigma}, poisson{.rate = rate}));
///   // now, and only now, draw the noise
///
/// With one order α: Σρ(α) ≤ B, the largest B at which D_α ≤ B implies (ε, δ) (`renyi_epsilon`). With
/// several: as long as their odometer's reading stays in ε. Orders, budget and adjacency must be fixed
/// before the run; `order_for` suggests an order from a schedule planned in advance.
///
/// Guarantee: whatever is chosen from past releases, the whole run is (ε, δ)-DP. Rounding may refuse a
/// release that would fill the budget to the last digit: leave it 1e-12.
/// Move-only, and a moved-from filter refuses: a copy would spend the budget twice.
template <real T = double>
class basic_renyi_filter {
 public:
  /// @throws std::domain_error unless ε is finite and at least 0, δ in (0, 1), the orders finite, above
  ///         1 and ascending; infeasible if the orders leave nothing of ε at this δ
  basic_renyi_filter(std::vector<double> orders, approx_dp budget,
                     adjacency neighbours = adjacency::add_remove)
      : tally_("renyi_filter", std::move(orders), neighbours),
        delta_(budget.delta),
        ledger_(opened(tally_, budget)) {}
  basic_renyi_filter(double order, approx_dp budget, adjacency neighbours = adjacency::add_remove)
      : basic_renyi_filter(std::vector<double>{order}, budget, neighbours) {}

  /// Whether `count` more such releases would leave the budget.
  /// @throws as `charge`, but for budget_exhausted
  [[nodiscard]] bool would_exceed(event const& release, std::uint64_t count = 1) const {
    return !fits(release, count);
  }
  template <detail::divergence_bound Divergence>
  [[nodiscard]] bool would_exceed(Divergence const& divergence, std::uint64_t count = 1) const {
    return !fits(divergence, count);
  }

  /// Charges `count` releases, of which the last is chosen with the first, before any of them exists.
  /// @throws budget_exhausted if they do not fit; std::domain_error for a value out of range;
  ///         std::invalid_argument, with the reason, for an event without a bound. Nothing is charged
  ///         then.
  receipt<epsilon_cost> charge(event const& release, std::uint64_t count = 1) {
    return pay(release, count);
  }

  /// A mechanism of one's own, as in `renyi_odometer::add`.
  template <detail::divergence_bound Divergence>
  receipt<epsilon_cost> charge(Divergence const& divergence, std::uint64_t count = 1) {
    return pay(divergence, count);
  }

  [[nodiscard]] approx_dp budget() const noexcept { return {ledger_.budget().value, delta_}; }

  /// The ε that a run stopped now has used up, valid for a stop decided on by the run itself.
  /// Guarantee: upper bound, in the sense of filter.hpp; at most the budget.
  [[nodiscard]] double epsilon() const {
    owner_.check("renyi_filter");
    return std::min(ledger_.budget().value, tally_.epsilon(tally_.spent(), delta_));
  }

  [[nodiscard]] std::span<double const> orders() const noexcept { return tally_.orders(); }
  /// Σρ at each order.
  [[nodiscard]] std::span<double const> spent() const noexcept { return tally_.spent(); }
  [[nodiscard]] adjacency neighbours() const noexcept { return tally_.neighbours(); }

  /// As `renyi_odometer::save`: to be stored after the charge and before its release.
  [[nodiscard]] std::string save() const {
    owner_.check("renyi_filter");
    archive_writer out("tacit-renyi-filter", 1);
    out.field("adjacency", to_text(tally_.neighbours()));
    out.field("budget", ledger_.budget().value, delta_);
    out.list("orders", tally_.orders());
    out.list("spent", tally_.spent());
    return std::move(out).finish();
  }
  /// @throws corrupt_state for a text that `save` did not write
  [[nodiscard]] static basic_renyi_filter load(std::string text) {
    archive_reader in(std::move(text), "tacit-renyi-filter", 1);
    adjacency const neighbours = detail::adjacency_of(detail::stored_word(in, "adjacency"));
    approx_dp budget;
    in.field("budget", budget.epsilon, budget.delta);
    std::vector<double> orders = detail::stored_list(in, "orders");
    std::vector<double> spent = detail::stored_list(in, "spent");
    in.finish();
    return detail::from_storage([&] {
      basic_renyi_filter out(std::move(orders), budget, neighbours);
      out.tally_.restore(std::move(spent));
      double const level = out.level(out.tally_.spent());
      out.ledger_ = ledger<epsilon_cost>(epsilon_cost(budget.epsilon), epsilon_cost(level));
      return out;
    });
  }

 private:
  static ledger<epsilon_cost> opened(detail::renyi_tally<T> const& tally, approx_dp budget) {
    detail::check_non_negative("renyi_filter", "epsilon", budget.epsilon);
    detail::require_domain(budget.delta > 0.0 && budget.delta < 1.0, "renyi_filter", "delta",
                           budget.delta, "in (0, 1)");
    double const level = counted(tally, tally.spent(), budget.delta);
    if (!(level <= budget.epsilon)) {
      throw infeasible(detail::complaint("renyi_filter", "epsilon", detail::to_text(budget.epsilon),
                                         "at least " + detail::to_text(level) +
                                             ", which is what these orders need at this delta"));
    }
    return ledger<epsilon_cost>(epsilon_cost(budget.epsilon), epsilon_cost(level));
  }

  /// One order: the tightest conversion, which bounds the run as a whole. Several: the reading.
  [[nodiscard]] static double counted(detail::renyi_tally<T> const& tally,
                                      std::span<double const> sums, double delta) {
    double const reading = tally.epsilon(sums, delta);
    if (sums.size() > 1) return reading;
    return std::min(reading, renyi_epsilon(tally.orders().front(), sums.front(), delta));
  }

  [[nodiscard]] double level(std::span<double const> sums) const {
    return counted(tally_, sums, delta_);
  }

  template <class Release>
  [[nodiscard]] bool fits(Release const& release, std::uint64_t count) const {
    char const* const me = "renyi_filter::would_exceed";
    owner_.check("renyi_filter");
    return level(tally_.after(me, tally_.costs(me, release), count)) <= ledger_.budget().value;
  }

  template <class Release>
  receipt<epsilon_cost> pay(Release const& release, std::uint64_t count) {
    char const* const me = "renyi_filter::charge";
    owner_.check("renyi_filter");
    std::vector<double> each = tally_.costs(me, release);
    std::vector<double> sums = tally_.after(me, each, count);
    double const next = std::max(ledger_.spent().value, level(sums));
    if (!(next <= ledger_.budget().value)) {
      throw budget_exhausted(
          detail::complaint(me, "epsilon after it", detail::to_text(next),
                            "at most the budget " + detail::to_text(ledger_.budget().value)));
    }
    tally_.remember(release, std::move(each));
    receipt<epsilon_cost> paid = ledger_.raise_to(epsilon_cost(next));
    tally_.accept(std::move(sums));
    return paid;
  }

  detail::renyi_tally<T> tally_;
  double delta_;
  ledger<epsilon_cost> ledger_;
  detail::run_owner owner_;
};
using renyi_filter = basic_renyi_filter<double>;

/// A good order for a filter over a schedule planned in advance: the one at which the plan's own ε at δ
/// is the smallest. A run that ends up elsewhere is no less private; another order would only have let it go
/// on for longer.
/// Guarantee: nearest; the plan's ε at that order is within 1e-6 of the least. It may depend on nothing
/// private.
/// @throws std::domain_error unless δ is in (0, 1); std::invalid_argument for an empty plan, or an event
///         without a finite divergence
template <real T = double>
[[nodiscard]] double order_for(std::span<composed const> plan, double delta,
                               adjacency neighbours = adjacency::add_remove) {
  detail::require_argument(!plan.empty(), "order_for", "size of plan", plan.size(), "at least 1");
  detail::require_domain(delta > 0.0 && delta < 1.0, "order_for", "delta", delta, "in (0, 1)");
  basic_renyi<T> all(neighbours);
  for (composed const& entry : plan) all.add(entry.release, entry.count);
  detail::ordered_bound const best = detail::least_over_orders(
      0.0, -std::numeric_limits<double>::infinity(),
      [&](double order) { return renyi_epsilon(order, all.divergence(order), delta); });
  return 1.0 + elementary::exp(best.where);
}

#if defined(TACIT_COMPILED)
extern template class basic_renyi_filter<double>;
#endif

}  // namespace tacit
