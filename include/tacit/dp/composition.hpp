// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/exact_sum.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/optimal_composition.hpp>

#include <algorithm>
#include <span>
#include <string_view>

/// Composition of (ε, δ) guarantees about which nothing else is known.
///
/// For k equal ones the optimum is known in closed form (Kairouz, Oh & Viswanath 2015): the worst
/// mechanism is randomised response, with a probability δ of revealing the record. For different ones
/// the optimum is #P-hard (Murtagh & Vadhan 2016), so there is no such function here:
/// `best_composition` bounds it, and a certified accountant that composes the same events comes closer.

namespace tacit {

namespace detail {

inline void check_guarantees(std::string_view who, std::span<approx_dp const> each, double slack) {
  for (approx_dp const& one : each) {
    check_non_negative(who, "epsilon", one.epsilon);
    check_probability(who, "delta", one.delta);
  }
  check_probability(who, "slack", slack);
}

/// 1 − (1−slack)·Π(1−δ_i), rounded up.
[[nodiscard]] inline double union_delta(std::span<approx_dp const> each, double slack) {
  enclosure kept = slack < 1.0 ? log1p(enclosure(-slack)) : enclosure(-infinite_double);
  for (approx_dp const& one : each) {
    kept += one.delta < 1.0 ? log1p(enclosure(-one.delta)) : enclosure(-infinite_double);
  }
  return std::min(1.0, (0.0 - expm1(kept)).upper);
}

}  // namespace detail

/// (Σ ε_i, 1 − Π(1−δ_i)): the ε add up, also where the mechanisms are chosen on the way.
/// Guarantee: upper bound.
/// Source: Kairouz, Oh & Viswanath 2015 (Dwork et al. 2006 for Σ δ_i).
/// @throws std::domain_error unless every ε_i is finite and at least 0 and every δ_i in [0, 1]
[[nodiscard]] inline approx_dp basic_composition(std::span<approx_dp const> each) {
  detail::check_guarantees("basic_composition", each, 0.0);
  detail::exact_sum epsilon;
  for (approx_dp const& one : each) epsilon.add(one.epsilon);
  return {epsilon.value().upper, detail::union_delta(each, 0.0)};
}

/// With δ = 1 − (1−slack)·Π(1−δ_i), the smallest of
///   Σ ε_i,
///   Σ ε_i tanh(ε_i/2) + √(2 Σ ε_i²·log(1/slack)),
///   Σ ε_i tanh(ε_i/2) + √(2 Σ ε_i²·log(e + √(Σ ε_i²)/slack)).
/// The (ε_i, δ_i) are fixed before the run; the mechanisms may be chosen on the way. The first such
/// bound had e^ε−1 in place of tanh(ε/2) and Σ δ_i (Dwork, Rothblum & Vadhan 2010): it is never
/// smaller.
/// Guarantee: upper bound.
/// Source: Kairouz, Oh & Viswanath 2015, Theorem 3.5.
/// @throws std::domain_error unless every ε_i is finite and at least 0, every δ_i and slack in [0, 1]
[[nodiscard]] inline approx_dp advanced_composition(std::span<approx_dp const> each, double slack) {
  detail::check_guarantees("advanced_composition", each, slack);
  detail::exact_sum sum;
  detail::exact_sum mean;
  detail::exact_sum squares;
  for (approx_dp const& one : each) {
    detail::enclosure const epsilon(one.epsilon);
    sum.add(one.epsilon);
    mean.add((epsilon * tanh(0.5 * epsilon)).upper);
    squares.add(square(epsilon).upper);
  }
  double best = sum.value().upper;
  if (slack > 0.0) {  // squares that overflow leave the sum alone, as does slack = 0
    detail::enclosure const norm = sqrt(squares.value());
    detail::enclosure const e = exp(detail::enclosure(1.0));
    detail::enclosure const tail = min(-log(detail::enclosure(slack)), log(e + norm / slack));
    best = std::min(best, (mean.value() + norm * sqrt(2.0 * tail)).upper);
  }
  return {best, detail::union_delta(each, slack)};
}

/// The smallest ε of the bounds above at δ = 1 − (1−slack)·Π(1−δ_i); where all guarantees are equal,
/// the optimum. (The optimum of different ones is #P-hard to compute: there is no function for it.)
/// Guarantee: upper bound.
/// @throws std::domain_error unless every ε_i is finite and at least 0, every δ_i and slack in [0, 1]
template <real T = double>
[[nodiscard]] approx_dp best_composition(std::span<approx_dp const> each, double slack) {
  detail::check_guarantees("best_composition", each, slack);
  approx_dp best = advanced_composition(each, slack);
  bool const equal = std::all_of(each.begin(), each.end(),
                                 [&](approx_dp const& one) { return one == each.front(); });
  if (equal && !each.empty()) {
    // The δ_i are in union_delta already: this is what slack buys for the rest.
    basic_optimal_composition<T> const optimum({each.front().epsilon, 0.0}, each.size());
    best.epsilon = std::min(best.epsilon, optimum.epsilon(slack).upper);
  }
  return best;
}

}  // namespace tacit
