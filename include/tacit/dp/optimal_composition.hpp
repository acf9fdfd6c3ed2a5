// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/response_profile.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

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

#if defined(TACIT_COMPILED)
extern template class basic_optimal_composition<double>;
#endif

}  // namespace tacit
