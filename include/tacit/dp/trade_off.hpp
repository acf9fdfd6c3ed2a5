// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/shared_questions.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <concepts>

/// Privacy as a trade-off between an attacker's two errors (f-DP; Dong, Roth & Su 2022), from anything
/// that knows δ(ε): an accountant of any method.

namespace tacit {

/// Anything with certified δ(ε) for ε ≥ 0.
template <class P>
concept privacy_profile = requires(P const& profile, double epsilon) {
  { profile.delta(epsilon) } -> std::same_as<bound<double>>;
};

/// The least false negative rate of any test between two neighbours whose false positive rate is at most
/// α, by what is known of δ:
///   f(α) = max over ε ≥ 0 of 1 − δ(ε) − e^ε·α and e^{−ε}(1 − δ(ε) − α), and 0.
/// Guarantee: lower bound: every ε gives one, the best is searched for. Both are concave, in e^ε and in
/// e^{−ε}, and at least 0 where that is 0: on the side of 0 each falls no faster than its argument, so that
/// points 8 apart in ε find the summit's slope unless f is below 1e-12. The search ends after `seconds` of counted work,
/// as that of a curve does: the rate is then the best of the ε that were asked, further below f. A profile that does not
/// count its work is asked some three hundred times at most.
/// @throws std::domain_error unless α is in [0, 1] and seconds > 0
template <privacy_profile P>
[[nodiscard]] double false_negative_rate(P const& profile, double false_positive_rate,
                                         double seconds = 1e-9 * detail::work_on_search) {
  double const alpha = false_positive_rate;
  detail::check_probability("false_negative_rate", "false_positive_rate", alpha);
  detail::check_positive("false_negative_rate", "seconds", seconds);
  if (alpha == 1.0) return 0.0;
  detail::work_budget work(1e9 * seconds);
  detail::shared_questions<P> questions(profile, work);
  double best = 0.0;
  // Of one question both lines count, whichever is searched for.
  auto const at = [&](double epsilon, bool mirrored) {
    detail::enclosure const miss = detail::enclosure(1.0) - questions.delta(epsilon).upper;
    double const direct = (miss - exp(detail::enclosure(epsilon)) * alpha).lower;
    double const other = (exp(detail::enclosure(-epsilon)) * (miss - alpha)).lower;
    best = std::max({best, direct, other});
    return mirrored ? other : direct;
  };
  for (bool const mirrored : {false, true}) {
    // Beyond −log α the first is negative, beyond −log of the best the second is no better.
    double const farthest =
        std::min(745.0, mirrored || alpha == 0.0 ? 745.0 : -elementary::log(alpha));
    double const step = std::max(1e-3, std::min(8.0, 0.25 * farthest));
    double where = 0.0;
    double highest = 0.0;
    double last = 0.0;
    bool falls = false;  // past the summit, as far as rounding can tell
    for (double e = 0.0; e <= farthest && !falls && questions.more(); e += step) {
      double const scale = mirrored ? elementary::exp(-e) : 1.0;
      double const rate = at(e, mirrored);
      falls = last > 1e-12 * scale && rate <= last;
      last = rate;
      if (rate > highest) {
        highest = rate;
        where = e;
      }
      if (mirrored && scale < best) break;
    }
    if (!(highest > 0.0)) continue;
    double low = std::max(0.0, where - step);
    double high = std::min(where + step, mirrored ? -elementary::log(best) : farthest);
    if (!(low < high)) continue;
    (void)detail::least_between({low, high}, 0x1p-26, 60, [&](double e) {
      return questions.more() ? -at(e, mirrored) : 0.0;
    });
  }
  return std::min(best, detail::subtract_down(1.0, alpha));
}

/// 1 − f(FPR): the largest true positive rate of any attacker with that false positive rate.
/// Guarantee: upper bound. @throws as `false_negative_rate`
template <privacy_profile P>
[[nodiscard]] double true_positive_rate(P const& profile, double false_positive_rate) {
  return detail::subtract_up(1.0, false_negative_rate(profile, false_positive_rate));
}

/// The total variation distance δ(0): an attacker's advantage TPR − FPR is at most that.
/// Guarantee: bounds.
template <privacy_profile P>
[[nodiscard]] bound<double> total_variation(P const& profile) {
  return profile.delta(0.0);
}

}  // namespace tacit
