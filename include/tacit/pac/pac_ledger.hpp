// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/mi_bound.hpp>

namespace tacit {

/// A budget of information, and one of the chance that some bound under it fails. It charges `mi_bound`
/// alone: an estimate does not compile.
///
/// Guarantee: after every charge, the sum of the bounds is ≤ `spent()` ≤ budget and all of them hold
/// together except with probability `failure()` ≤ the failure allowed (their union). For mechanisms whose
/// noise and other randomness is independent given X, chosen in advance,
///   I(X; Z_1 … Z_k) ≤ Σ I(X; Z_i);
/// chosen after earlier answers, each bound must be of I(X; Z_i | what was answered), as for outputs
/// reweighed by the posterior. Shared randomness breaks both.
class pac_ledger {
 public:
  /// @throws std::domain_error unless the budget is finite and at least 0, and allowed_failure in [0, 1)
  pac_ledger(nats budget, double allowed_failure)
      : information_(budget), allowed_(allowed_failure) {
    detail::require_domain(allowed_failure >= 0.0 && allowed_failure < 1.0, "pac_ledger",
                           "allowed_failure", allowed_failure, "in [0, 1)");
  }

  [[nodiscard]] nats budget() const noexcept { return information_.budget(); }
  [[nodiscard]] nats spent() const noexcept { return information_.spent(); }
  [[nodiscard]] nats remaining() const noexcept { return information_.remaining(); }
  [[nodiscard]] double allowed_failure() const noexcept { return allowed_; }

  /// The union of the charged bounds' failures, rounded up: a confidence of .999 fails with a little
  /// more than .001, as doubles go.
  [[nodiscard]] double failure() const noexcept { return failure_; }

  /// What was spent, as one bound.
  [[nodiscard]] mi_bound total() const noexcept {
    return {spent(), detail::subtract_down(1.0, failure_)};
  }

  /// Charges before the release exists, both or neither.
  /// @throws std::domain_error unless the value is finite and at least 0 and the confidence in [0, 1];
  ///         budget_exhausted if either does not fit
  receipt<nats> charge(mi_bound const& bound) {
    detail::check_probability("pac_ledger::charge", "confidence", bound.confidence);
    double const next = detail::add_up(failure_, -detail::subtract_down(bound.confidence, 1.0));
    if (!(next <= allowed_)) {
      throw budget_exhausted(detail::complaint("pac_ledger::charge", "total failure",
                                               detail::to_text(next),
                                               "at most the allowed " + detail::to_text(allowed_)));
    }
    receipt<nats> paid = information_.charge(bound.value);
    failure_ = next;
    return paid;
  }

 private:
  ledger<nats> information_;
  double allowed_;
  double failure_ = 0.0;
};

}  // namespace tacit
