// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// Privacy as a trade-off between an attacker's two errors (f-DP; Dong, Roth & Su 2022), from anything
/// that knows δ(ε): an accountant of any method.

namespace tacit {

/// Anything with certified δ(ε) for ε ≥ 0.
template <class P>
concept privacy_profile = requires(P const& profile, double epsilon) {
  { profile.delta(epsilon) } -> std::same_as<bound<double>>;
};

/// A point of a trade-off curve.
struct error_rates {
  double false_positive;
  double false_negative;
};

/// The least false negative rate of any test between two neighbours whose false positive rate is at most
/// α, by what is known of δ:
///   f(α) = max over ε ≥ 0 of 1 − δ(ε) − e^ε·α and e^{−ε}(1 − δ(ε) − α), and 0.
/// Guarantee: lower bound: every ε gives one, the best is searched for (both are concave in e^{±ε}).
/// @throws std::domain_error unless α is in [0, 1]
template <privacy_profile P>
[[nodiscard]] double false_negative_rate(P const& profile, double false_positive_rate) {
  double const alpha = false_positive_rate;
  detail::check_probability("false_negative_rate", "false_positive_rate", alpha);
  // 1 − δ − … rounds by less than three units of 1's last place.
  constexpr double rounding = 3.0 * std::numeric_limits<double>::epsilon();
  double best = 0.0;
  auto const at = [&](double epsilon, bool mirrored) {
    double const miss = 1.0 - profile.delta(epsilon).upper;
    double const rate =
        mirrored ? std::exp(-epsilon) * (miss - alpha) : miss - std::exp(epsilon) * alpha;
    // e^{−ε} scales its own rounding, which matters where the rate is next to 0.
    best = std::max(best, rate - (mirrored ? std::exp(-epsilon) : 1.0) * rounding -
                              4.0 * std::numeric_limits<double>::epsilon() * rate);
    return rate;
  };
  for (bool const mirrored : {false, true}) {
    // The maximum lies below the first doubling at which the rate falls.
    double reach = 0.25;
    double last = at(0.0, mirrored);
    for (double next = at(reach, mirrored); next > last && reach < 1e6;
         next = at(reach, mirrored)) {
      last = next;
      reach *= 2.0;
    }
    // Where the first step falls, the maximum may be much closer to 0.
    (void)detail::least_between({0.0, reach}, 0x1p-25, 60,
                                [&](double e) { return -at(e, mirrored); });
  }
  return std::min(best, 1.0 - alpha);
}

/// 1 − f(FPR): the largest true positive rate of any attacker with that false positive rate.
/// Guarantee: upper bound. @throws as `false_negative_rate`
template <privacy_profile P>
[[nodiscard]] double true_positive_rate(P const& profile, double false_positive_rate) {
  double const power = 1.0 - false_negative_rate(profile, false_positive_rate);
  return std::min(1.0, power * (1.0 + std::numeric_limits<double>::epsilon()));
}

/// f at each of the false positive rates.
/// Guarantee: lower bounds of the false negative rates. @throws as `false_negative_rate`
template <privacy_profile P>
[[nodiscard]] std::vector<error_rates> trade_off_curve(
    P const& profile, std::span<double const> false_positive_rates) {
  std::vector<error_rates> curve;
  curve.reserve(false_positive_rates.size());
  for (double const alpha : false_positive_rates) {
    curve.push_back({alpha, false_negative_rate(profile, alpha)});
  }
  return curve;
}

/// The total variation distance δ(0): an attacker's advantage TPR − FPR is at most that.
/// Guarantee: bounds.
template <privacy_profile P>
[[nodiscard]] bound<double> total_variation(P const& profile) {
  return profile.delta(0.0);
}

}  // namespace tacit
