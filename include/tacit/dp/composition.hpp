// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/exact_sum.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/response_profile.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

/// Composition of (ε, δ) guarantees about which nothing else is known.
///
/// For k equal ones the optimum is known in closed form (Kairouz, Oh & Viswanath 2015): the worst
/// mechanism is randomised response, with a probability δ of revealing the record. For different ones
/// the optimum is #P-hard (Murtagh & Vadhan 2016), so there is no such function here:
/// `best_composition` bounds it, and a certified accountant that composes the same events comes closer.

namespace tacit {

/// The optimal composition of `count` mechanisms of which each is (ε₀, δ₀)-differentially private,
/// chosen adaptively, with (ε₀, δ₀) fixed before the run:
///   δ(ε) = 1 − (1−δ₀)^k·(1 − Σ_l C(k, l) p^{k−l} q^l (1 − e^{ε−(k−2l)ε₀})⁺), p = 1/(1+e^{−ε₀}) = 1−q.
/// No better bound holds for all such mechanisms.
///
/// Guarantee: lower ≤ the optimum ≤ upper, at every real ε ≥ 0 and not only at multiples of ε₀.
/// Accuracy: the interval's relative width is 4e-15 to 2e-13 for k ≤ 1e8; then it grows with √k, as
/// k·q is known to 64 bits only: below 3e-11 at 1e12. Some thousand elementary functions for any k.
/// Source: Kairouz, Oh & Viswanath 2015, Theorem 3.3; Murtagh & Vadhan 2016.
template <real T = double>
class basic_optimal_composition {
 public:
  /// @throws std::domain_error unless ε₀ is finite and at least 0, δ₀ in [0, 1], count ≤ 1e15
  basic_optimal_composition(approx_dp each, std::uint64_t count)
      : each_(each), count_(count), responses_(checked(each, count).epsilon, count) {
    if (count == 0 || each.delta == 0.0) return;
    failure_ = {1.0, 1.0};
    if (each.delta == 1.0) return;
    detail::enclosure const kept = log1p(detail::enclosure(-each.delta));  // count ≤ 2^53
    detail::enclosure const failure = -expm1(static_cast<double>(count) * kept);
    failure_ = {failure.lower, failure.upper};
  }

  /// The smallest δ.
  /// @throws std::domain_error unless ε is finite and at least 0
  [[nodiscard]] bound<double> delta(double epsilon) const {
    detail::check_non_negative("optimal_composition::delta", "epsilon", epsilon);
    if (count_ == 0) return {0.0, 0.0};
    detail::log_bound const part = responses_.log_delta(epsilon);
    double low = static_cast<double>(elementary::exp(part.value) * (1.0L - part.error));
    double high = static_cast<double>(elementary::exp(part.value) * (1.0L + part.error));
    // Below the normal numbers a relative bound says nothing.
    if (part.value > -std::numeric_limits<double>::infinity() &&
        !(low >= std::numeric_limits<double>::min())) {
      low = 0.0;
      high = std::max(high, std::numeric_limits<double>::min());
    }
    // The cast to double rounded once more.
    detail::enclosure const least(std::clamp(detail::next_down(low), 0.0, 1.0));
    detail::enclosure const most(high > 0.0 ? std::min(1.0, detail::next_up(high)) : 0.0);
    return {(least + (1.0 - least) * failure_.lower).lower,
            std::min(1.0, (most + (1.0 - most) * failure_.upper).upper)};
  }

  /// The smallest ε ≥ 0; ∞ where the δ₀ alone exceed δ.
  /// @throws std::domain_error unless δ is in [0, 1]
  [[nodiscard]] bound<double> epsilon(double delta) const {
    detail::check_probability("optimal_composition::epsilon", "delta", delta);
    constexpr double never = std::numeric_limits<double>::infinity();
    if (count_ == 0 || this->delta(0.0).upper <= delta) return {0.0, 0.0};
    // Beyond the largest loss nothing but the δ₀ is left.
    double const most = detail::multiply_up(static_cast<double>(count_), each_.epsilon);
    if (delta == 0.0 && each_.delta == 0.0) {
      return {detail::multiply_down(static_cast<double>(count_), each_.epsilon), most};
    }
    double const upper = failure_.upper <= delta ? last_below(most, delta, true) : never;
    double lower = 0.0;
    if (failure_.lower > delta) {
      lower = never;
    } else if (this->delta(0.0).lower > delta) {
      lower = last_below(std::min(upper, most), delta, false);
    }
    return {lower, upper};
  }

 private:
  static approx_dp checked(approx_dp each, std::uint64_t count) {
    detail::check_non_negative("optimal_composition", "epsilon", each.epsilon);
    detail::check_probability("optimal_composition", "delta", each.delta);
    detail::require_domain(count <= 1000000000000000U, "optimal_composition", "count", count,
                           "at most 1e15");
    return each;
  }

  /// `from_above`: an ε at which the upper bound on δ(ε) is at most δ. Else one at which the lower
  /// bound is at least δ.
  [[nodiscard]] double last_below(double most, double delta, bool from_above) const {
    double const failure = from_above ? failure_.upper : failure_.lower;
    // The logarithm of the part that moves, for speed; only its sign is relied on.
    auto const height = [&](double x) {
      bound<double> const at = this->delta(x);
      double const d = from_above ? at.upper : at.lower;
      if (d == delta) return 0.0;
      double const h = elementary::log((d - failure) / (delta - failure));
      // Written so that a NaN becomes the far end.
      return d > delta ? std::max(1e-20, std::min(1e4, h)) : -std::max(1e-20, std::min(1e4, -h));
    };
    // The loss has the mean k·ε₀·tanh(ε₀/2), and Hoeffding's inequality says how far it strays. Only
    // where to look follows from that.
    double const spread = std::sqrt(static_cast<double>(count_)) * each_.epsilon;
    double const mean =
        static_cast<double>(count_) * each_.epsilon * elementary::tanh(0.5 * each_.epsilon);
    double high =
        std::min(most, mean + spread * std::sqrt(2.0 * -elementary::log(delta - failure)) * 1.01);
    double low = std::max(0.0, mean - 4.0 * spread);
    double at_high = high > low ? height(high) : 1.0;
    if (!(at_high <= 0.0)) {
      high = most;
      at_high = height(most);
      if (at_high > 0.0) return most;
    }
    double at_low = low < high ? height(low) : -1.0;
    if (!(at_low >= 0.0)) {
      low = 0.0;
      at_low = height(low);
    }
    auto const at = detail::sign_change({low, high}, at_low, at_high, height);
    return from_above ? at.high : at.low;
  }

  approx_dp each_;
  std::uint64_t count_;
  detail::response_profile<T> responses_;
  bound<double> failure_{};  // 1 − (1−δ₀)^k
};
using optimal_composition = basic_optimal_composition<double>;

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

#if defined(TACIT_COMPILED)
extern template class basic_optimal_composition<double>;
#endif

}  // namespace tacit
