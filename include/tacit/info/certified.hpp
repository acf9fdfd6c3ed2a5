// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

/// From a nearest value to a certified one, and from a budget to a noise that surely fits it.

namespace tacit {

/// The proven bound on the relative error of every information computed here in double where the
/// value is at least 1e-290 (docs/accuracy.md derives it; measured errors are some 50 times
/// smaller). It turns a nearest value into a certified one: truth ≤ value·(1 + bound).
inline constexpr double information_error = 1e-13;

namespace detail {

/// A bound above (below) the true information behind a computed one that is not exactly 0. Below
/// 1e-290 products underflow and the relative bound says nothing: the smallest normal number covers
/// what they lose.
[[nodiscard]] inline double raised(double information) noexcept {
  double const lost = information < 1e-290 ? std::numeric_limits<double>::min() : 0.0;
  return information * (1.0 + information_error) + lost;
}
[[nodiscard]] inline double lowered(double information) noexcept {
  double const lost = information < 1e-290 ? std::numeric_limits<double>::min() : 0.0;
  double const low = information * (1.0 - information_error) - lost;
  return low > 0.0 ? low : 0.0;
}

/// One evaluation on the way to spending a budget: the information at a trial point, and where
/// Newton's method would go next.
struct spending_step {
  double information;
  double next;
};

/// A point x > 0 at which the computed information, raised by its error bound, fits the budget and
/// leaves at most 5e-13 of it unspent. `evaluate(x, aim)` proposes the next point towards `aim`; a
/// bracket keeps a bad proposal from doing harm.
template <class Evaluate>
[[nodiscard]] double spend_nearly(double budget, double x, bool increasing, Evaluate&& evaluate) {
  double const aim = budget * (1.0 - 3.0 * information_error);
  double const enough = budget * (1.0 - 5.0 * information_error);
  bracket<double> at{0.0, std::numeric_limits<double>::max()};
  double const& feasible = increasing ? at.low : at.high;
  for (int step = 0; step < 200; ++step) {
    spending_step const tried = evaluate(x, aim);
    bool const fits = raised(tried.information) <= budget;
    if (fits && tried.information >= enough) return x;
    (fits == increasing ? at.low : at.high) = x;
    bool const from_below = at.low > 0.0;
    bool const from_above = at.high < std::numeric_limits<double>::max();
    if (at.holds(tried.next)) {
      x = tried.next;
    } else if (from_below && from_above) {
      x = std::sqrt(at.low) * std::sqrt(at.high);
      if (!at.holds(x)) break;
    } else {
      x = from_below ? 4.0 * at.low : at.high / 4.0;
    }
  }
  // The spacing of doubles, not the search, is what is left: the feasible end is the answer.
  if (feasible > 0.0 && feasible < std::numeric_limits<double>::max()) return feasible;
  throw convergence_error("noise_for: found no noise that fits the budget", at.low, at.high);
}

inline void check_noise_request(double prior, nats budget, bool noise_left_open,
                                std::string_view noise) {
  check_probability("noise_for", "prior", prior);
  require_domain(budget.value >= 0.0, "noise_for", "budget", budget.value, "at least 0");
  if (!noise_left_open) {
    throw std::invalid_argument("noise_for: " + std::string(noise) +
                                " is already set, but must be left out: it is what is asked for");
  }
}

}  // namespace detail

}  // namespace tacit
