// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace tacit {

/// How a budget is spread over the releases of a run.
enum class allocation {
  uniform,            ///< budget/T at every release, whether the last ones used theirs or not
  adaptive,           ///< what is left, over the releases that are left (PACZero, Eq. 6)
  confident_or_hold,  ///< what is left over `horizon`; if that buys less than `minimum_correlation`,
                      ///< hold: a few clear answers instead of many coins
  budget_then_zero,   ///< nearly the whole sign each time until nothing is left, then nothing
};

struct pacing {
  allocation rule = allocation::adaptive;
  double horizon = 200.0;            // confident_or_hold only
  double minimum_correlation = 0.3;  // confident_or_hold only
};

/// The share of a sign's entropy that a release may give away at most. Below 1, so that no candidate is
/// ever excluded by a release that is paid for (PACZero: 0.999).
inline constexpr double entropy_cap = 0.999;

/// What one release may cost: the rule's share of the budget, at most what remains.
/// Guarantee: lower end, 0 ≤ allowance ≤ remaining.
/// @param releases_left counts this one
/// @throws std::domain_error     for a horizon below 1
/// @throws std::invalid_argument if no release is left, or more than there ever were
[[nodiscard]] inline nats allowance(pacing const& pace, nats budget, nats remaining,
                                    std::size_t releases_left, std::size_t releases) {
  detail::require_argument(releases_left >= 1 && releases_left <= releases, "allowance",
                           "releases_left", releases_left, "in [1, releases]");
  double share = 0.0;
  switch (pace.rule) {
    case allocation::uniform:
      share = budget.value / static_cast<double>(releases);
      break;
    case allocation::adaptive:
      share = remaining.value / static_cast<double>(releases_left);
      break;
    case allocation::confident_or_hold:
      detail::require_domain(pace.horizon >= 1.0, "allowance", "horizon", pace.horizon,
                             "at least 1");
      share = remaining.value / pace.horizon;
      break;
    case allocation::budget_then_zero:
      share = remaining.value;
      break;
  }
  return nats(std::clamp(share * (1.0 - std::numeric_limits<double>::epsilon()), 0.0,
                         std::max(remaining.value, 0.0)));
}

}  // namespace tacit
