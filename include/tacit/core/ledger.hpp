// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/run_owner.hpp>
#include <tacit/core/units.hpp>

namespace tacit {

template <class Unit>
class ledger;

/// Proof that a release was paid for. Only a ledger mints one; the draw that makes the release
/// consumes it, once and in the process that paid. Move-only, and never refunded, even if the draw never
/// happens.
template <class Unit>
class [[nodiscard]] receipt {
 public:
  receipt(receipt const&) = delete;
  receipt& operator=(receipt const&) = delete;
  receipt(receipt&&) noexcept = default;
  receipt& operator=(receipt&&) = delete;
  ~receipt() = default;

  [[nodiscard]] Unit cost() const noexcept { return cost_; }

  /// False once moved from, and in a forked process: such a receipt pays for nothing.
  [[nodiscard]] bool live() const noexcept { return owner_.holds(); }

 private:
  friend class ledger<Unit>;
  explicit receipt(Unit cost) : cost_(cost) {}

  Unit cost_;
  detail::run_owner owner_;
};

/// A budget and what has been spent of it. It moves and does not copy, so that no budget is spent twice;
/// one that was moved from, also to itself, charges nothing, nor does the copy that a forked process has.
///
/// Guarantee: the sum of all charges, in exact arithmetic, is ≤ `spent()` ≤ `budget()`. Sums are
/// rounded up, and a charge that does not fit, a negative one or a NaN leaves the ledger as it was.
template <class Unit>
class ledger {
 public:
  /// @throws std::domain_error unless budget and spent are finite, at least 0, and spent ≤ budget
  explicit ledger(Unit budget, Unit spent = Unit(0.0)) : budget_(budget), spent_(spent) {
    detail::check_non_negative("ledger", "budget", budget.value);
    detail::require_domain(spent.value >= 0.0 && spent.value <= budget.value, "ledger", "spent",
                           spent.value, "in [0, budget]");
  }

  ledger(ledger const&) = delete;
  ledger& operator=(ledger const&) = delete;
  ledger(ledger&&) noexcept = default;
  ledger& operator=(ledger&&) noexcept = default;
  ~ledger() = default;

  [[nodiscard]] Unit budget() const noexcept { return budget_; }
  [[nodiscard]] Unit spent() const noexcept { return spent_; }

  /// Rounded down: what is surely left.
  [[nodiscard]] Unit remaining() const noexcept {
    return Unit(detail::subtract_down(budget_.value, spent_.value));
  }

  /// True for NaN, and of a ledger that was moved from or is a forked process's copy.
  [[nodiscard]] bool would_exceed(Unit cost) const noexcept {
    return !owner_.holds() || !(detail::add_up(spent_.value, cost.value) <= budget_.value);
  }

  /// Charges before the release exists.
  /// @throws std::domain_error   unless cost is finite and at least 0
  /// @throws budget_exhausted    if the charge does not fit; nothing is charged
  /// @throws std::logic_error    if the ledger was moved from, or in a forked process
  receipt<Unit> charge(Unit cost) {
    owner_.check("ledger");
    detail::check_non_negative("ledger::charge", "cost", cost.value);
    if (would_exceed(cost)) {
      throw budget_exhausted(
          detail::complaint("ledger::charge", "cost", detail::to_text(cost.value),
                            "at most the remaining " + detail::to_text(remaining().value)));
    }
    spent_ = Unit(detail::add_up(spent_.value, cost.value));
    return receipt<Unit>(cost);
  }

  /// Charges whatever raises `spent` to `total`: for a ledger whose balance is the largest of many
  /// sums kept elsewhere. The receipt's cost is that rise, rounded up.
  /// @throws std::domain_error unless total is finite and at least what is spent; budget_exhausted if
  ///         it is beyond the budget; std::logic_error if the ledger was moved from, or in a forked
  ///         process. Nothing is charged then.
  receipt<Unit> raise_to(Unit total) {
    owner_.check("ledger");
    detail::require_domain(total.value >= spent_.value, "ledger::raise_to", "total", total.value,
                           "at least what is spent");
    if (!(total.value <= budget_.value)) {
      throw budget_exhausted(
          detail::complaint("ledger::raise_to", "total", detail::to_text(total.value),
                            "at most the budget " + detail::to_text(budget_.value)));
    }
    Unit const rise(-detail::subtract_down(spent_.value, total.value));
    spent_ = total;
    return receipt<Unit>(rise);
  }

 private:
  Unit budget_;
  Unit spent_;
  detail::run_owner owner_;
};

}  // namespace tacit
