// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/certified.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace tacit {

/// h(p) = −p log p − (1−p) log(1−p), in nats, for p in [0, 1]; h(0) = h(1) = 0.
/// Guarantee: nearest; relative error ≤ 1e-14. Pass the smaller of p and 1−p: a double cannot hold
/// 1 − 1e-20.
/// @throws std::domain_error unless p is in [0, 1]
template <real T>
[[nodiscard]] T binary_entropy(T const& p) {
  using elementary::log, elementary::log1p;
  detail::check_probability("binary_entropy", "p", p);
  if (p == 0 || p == 1) return 0;
  T const rest = 1 - p;
  return p < rest ? -p * log(p) - rest * log1p(-p) : -p * log1p(-rest) - rest * log(rest);
}

namespace detail {

/// Refuses what is not a finite law.
inline void check_law(char const* function, char const* name, std::span<double const> law) {
  require_argument(!law.empty(), function, name, law.size(), "not empty");
  compensated_sum<double> sum;
  for (double const p : law) {
    check_probability(function, name, p);
    sum += p;
  }
  require_domain(std::abs(sum.value() - 1.0) <= 1e-9, function, name, sum.value(),
                 "probabilities that sum to 1");
}

}  // namespace detail

/// H = −Σ p log p of a finite law, in nats: intrinsic privacy against the counting measure.
/// Guarantee: nearest, relative error some 1e-15 for each candidate that counts: a probability above ½
/// is taken as what the others leave, since a double cannot hold 1 − 1e-20.
/// @throws std::domain_error unless these are probabilities that sum to 1 within 1e-9
[[nodiscard]] inline nats entropy_of(std::span<double const> law) {
  detail::check_law("entropy_of", "law", law);
  double const most = *std::max_element(law.begin(), law.end());
  compensated_sum<double> sum;
  compensated_sum<double> others;
  bool found = false;
  for (double const p : law) {
    if (p > 0.5 && p == most && !found) {
      found = true;
    } else if (p > 0.0) {
      sum += -p * elementary::log(p);
      others += p;
    }
  }
  if (found) sum += -most * elementary::log1p(-others.value());
  return nats(sum.value());
}

/// D(p‖q) = p log(p/q) + (1−p) log((1−p)/(1−q)), in nats, of two Bernoulli laws; +∞ where p puts mass and q
/// does not.
/// Guarantee: nearest; relative error ≤ 1e-14 also for p next to q: it is summed as
/// q·ψ(p/q−1) + (1−q)·ψ((1−p)/(1−q)−1), in which every term is positive.
/// @throws std::domain_error unless both are in [0, 1]
template <real T>
[[nodiscard]] T bernoulli_kl(T const& p, T const& q) {
  detail::check_probability("bernoulli_kl", "p", p);
  detail::check_probability("bernoulli_kl", "q", q);
  if (p == q) return 0;
  if (q == 0 || q == 1) return std::numeric_limits<T>::infinity();
  T const rest = 1 - q;
  T const excess = p - q;
  if (excess / q > T(1e300)) {  // p/q overflows: its term is p·log(p/q) − p + q
    using elementary::log;
    return p * (log(p) - log(q)) - excess + rest * entropy_residual(-excess / rest);
  }
  return q * entropy_residual(excess / q) + rest * entropy_residual(-excess / rest);
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
