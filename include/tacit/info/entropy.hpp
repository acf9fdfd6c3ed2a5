// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

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
  double constexpr unknown = std::numeric_limits<double>::quiet_NaN();
  double feasible = unknown;
  double infeasible = unknown;
  for (int step = 0; step < 200; ++step) {
    spending_step const at = evaluate(x, aim);
    bool const fits = raised(at.information) <= budget;
    if (fits && at.information >= enough) return x;
    (fits ? feasible : infeasible) = x;
    double const low = increasing ? feasible : infeasible;
    double const high = increasing ? infeasible : feasible;
    bool const inside = at.next > 0.0 && at.next < std::numeric_limits<double>::max() &&
                        !(at.next <= low) && !(at.next >= high);
    if (inside) {
      x = at.next;
    } else if (low == low && high == high) {
      double const middle = std::sqrt(low) * std::sqrt(high);
      if (!(middle > low && middle < high)) break;
      x = middle;
    } else {
      x = low == low ? 4.0 * low : high / 4.0;
    }
  }
  // The spacing of doubles, not the search, is what is left: the feasible end is the answer.
  if (feasible == feasible) return feasible;
  throw convergence_error("noise_for: found no noise that fits the budget", feasible, infeasible);
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

/// h(p) = −p log p − (1−p) log(1−p), in nats, for p in [0, 1]; h(0) = h(1) = 0.
/// Guarantee: nearest; relative error ≤ 1e-14. Pass the smaller of p and 1−p: a double cannot hold
/// 1 − 1e-20.
/// @throws std::domain_error unless p is in [0, 1]
template <real T>
[[nodiscard]] T binary_entropy(T const& p) {
  using std::log, std::log1p;
  detail::check_probability("binary_entropy", "p", p);
  if (p == T(0) || p == T(1)) return T(0);
  T const rest = T(T(1) - p);
  return p < rest ? T(T(-p * T(log(p))) - T(rest * T(log1p(T(-p)))))
                  : T(T(-p * T(log1p(T(-rest)))) - T(rest * T(log(rest))));
}

/// D(p‖q) = p log(p/q) + (1−p) log((1−p)/(1−q)), in nats, of two Bernoulli laws; +∞ where p puts
/// mass that q has not.
/// Guarantee: nearest; relative error ≤ 1e-14 also for p next to q: it is summed as
/// q·ψ(p/q−1) + (1−q)·ψ((1−p)/(1−q)−1), in which every term is positive.
/// @throws std::domain_error unless both are in [0, 1]
template <real T>
[[nodiscard]] T bernoulli_kl(T const& p, T const& q) {
  detail::check_probability("bernoulli_kl", "p", p);
  detail::check_probability("bernoulli_kl", "q", q);
  if (p == q) return T(0);
  if (q == T(0) || q == T(1)) return std::numeric_limits<T>::infinity();
  T const rest = T(T(1) - q);
  T const excess = T(p - q);
  if (excess / q > T(1e300)) {  // p/q overflows: its term is p·log(p/q) − p + q
    using std::log;
    return T(T(T(p * T(T(log(p)) - T(log(q)))) - excess) +
             T(rest * entropy_residual(T(-excess / rest))));
  }
  return T(T(q * entropy_residual(T(excess / q))) + T(rest * entropy_residual(T(-excess / rest))));
}

/// The smallest p in [0, ½] whose entropy is still at least `entropy`, less the error bound: the
/// inverse of h on the minority side.
/// Guarantee: lower bound on the true h⁻¹(entropy), within 1e-12 relative or one ulp.
/// @throws std::domain_error unless entropy is in [0, log 2]
[[nodiscard]] inline double minority_for(nats entropy) {
  // log 2 is not a double: everything up to the next one above it is taken as log 2.
  detail::require_domain(entropy.value >= 0.0 && entropy.value <= 0.6931471805599454,
                         "minority_for", "entropy", entropy.value, "in [0, log 2]");
  return last_holding(0.0, 0.5, [target = entropy.value](double p) {
    return detail::raised(binary_entropy(p)) <= target;
  });
}

/// The largest p ≥ q with D(p‖q) ≤ `divergence`.
/// Guarantee: upper bound on the true inverse (1 once the divergence reaches log 1/q), within
/// 1e-12 relative in 1−p or p−q, or one ulp.
/// @throws std::domain_error unless q is in [0, 1] and the divergence at least 0
[[nodiscard]] inline double upper_probability_for(nats divergence, double q) {
  detail::check_probability("upper_probability_for", "q", q);
  detail::require_domain(divergence.value >= 0.0, "upper_probability_for", "divergence",
                         divergence.value, "at least 0");
  return last_holding(1.0, q, [q, target = divergence.value](double p) {
    return detail::lowered(bernoulli_kl(p, q)) >= target;
  });
}

}  // namespace tacit
