// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/audit/interval.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/certified.hpp>
#include <tacit/info/entropy.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

/// Membership attacks by a score: the higher, the more likely a member. How well a score separates
/// members from others, and how often a threshold on it is right.
///
/// The intervals are those of independent scores. Scores of fresh runs, one a run, are independent. Scores
/// of the records of *one* model are not quite: members shaped the same model. An interval over them covers
/// the choice of records, not that of the run.

namespace tacit {

/// One score for each record of known membership.
struct membership_scores {
  std::vector<double> members;
  std::vector<double> others;
};

/// The loss-threshold attack (Yeom et al. 2018): a member's loss is lower, so the score is minus the loss.
[[nodiscard]] inline membership_scores loss_scores(std::span<double const> member_losses,
                                                   std::span<double const> other_losses) {
  membership_scores out;
  for (double const loss : member_losses) out.members.push_back(-loss);
  for (double const loss : other_losses) out.others.push_back(-loss);
  return out;
}

/// Two parts, so that a threshold chosen on one is tested on scores it has not seen. Scores go to the
/// parts in turn.
struct split_scores {
  membership_scores calibration;
  membership_scores test;
};
[[nodiscard]] inline split_scores halves(membership_scores const& scores) {
  split_scores out;
  for (std::size_t i = 0; i < scores.members.size(); ++i) {
    (i % 2 == 0 ? out.calibration : out.test).members.push_back(scores.members[i]);
  }
  for (std::size_t i = 0; i < scores.others.size(); ++i) {
    (i % 2 == 0 ? out.calibration : out.test).others.push_back(scores.others[i]);
  }
  return out;
}

namespace detail {

inline void check_scores(char const* function, membership_scores const& scores, std::size_t least) {
  auto const check = [=](char const* name, std::vector<double> const& side) {
    require_argument(side.size() >= least, function, name, side.size(),
                     "at least " + to_text(least));
    for (double const x : side) {
      require_domain(x < std::numeric_limits<double>::infinity(), function, "a score", x,
                     "a number below infinity");
    }
  };
  check("number of members", scores.members);
  check("number of others", scores.others);
}

/// For each x the share of `sorted` that lies below it, ties by half.
[[nodiscard]] inline std::vector<double> placements(std::vector<double> const& of,
                                                    std::vector<double> const& sorted) {
  std::vector<double> out;
  out.reserve(of.size());
  for (double const x : of) {
    auto const [first, last] = std::equal_range(sorted.begin(), sorted.end(), x);
    out.push_back(0.5 * static_cast<double>((first - sorted.begin()) + (last - sorted.begin())) /
                  static_cast<double>(sorted.size()));
  }
  return out;
}

[[nodiscard]] inline std::vector<double> ascending(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x;
}

[[nodiscard]] inline double mean_of(std::span<double const> x) {
  compensated_sum<double> sum;
  for (double const value : x) sum += value;
  return sum.value() / static_cast<double>(x.size());
}

/// Σ(x − mean)²/(n − 1).
[[nodiscard]] inline double sample_variance(std::span<double const> x) {
  double const mean = mean_of(x);
  compensated_sum<double> sum;
  for (double const value : x) sum += (value - mean) * (value - mean);
  return sum.value() / static_cast<double>(x.size() - 1);
}

}  // namespace detail

/// The area under the ROC curve, P(a member scores higher than another) + ½P(they tie), and an interval for
/// it: no law of the scores is assumed. By Hoeffding 1963 (§5) the share of the m·n pairs deviates no more
/// easily than the mean of k = min(m, n) independent pairs, so all A with k·D(measured‖A) > log(2/α) are
/// refuted, D the divergence of two coins.
/// Guarantee: covers at any number of independent scores. At ½, with m = n, two thirds wider than by `auc_estimate`.
/// @throws std::invalid_argument unless both sides have a score; std::domain_error for a NaN, or unless
///         confidence is in (0, 1)
[[nodiscard]] inline confidence_interval auc(membership_scores const& scores, double confidence) {
  detail::check_scores("auc", scores, 1);
  detail::check_open("auc", "confidence", confidence);
  double const area = std::clamp(
      detail::mean_of(detail::placements(scores.members, detail::ascending(scores.others))), 0.0,
      1.0);
  double const pairs = static_cast<double>(std::min(scores.members.size(), scores.others.size()));
  double const refuting = elementary::log(2.0 / (1.0 - confidence)) / pairs * (1.0 + 1e-12);
  auto const below = [refuting](double measured) {
    if (measured == 0.0) return 0.0;
    return last_holding(0.0, measured, [=](double a) {
      return detail::lowered(bernoulli_kl(measured, a)) >= refuting;
    });
  };
  return {area, below(area), detail::add_up(1.0, -below(1.0 - area)), confidence};
}

/// The same area with the standard error of DeLong, DeLong & Clarke-Pearson 1988.
/// Guarantee: estimate: the error is right for many scores, and none where they separate perfectly.
/// @throws std::invalid_argument unless both sides have two scores; std::domain_error unless scores are
///         below infinity
[[nodiscard]] inline estimate<double> auc_estimate(membership_scores const& scores) {
  detail::check_scores("auc_estimate", scores, 2);
  auto const above = detail::placements(scores.members, detail::ascending(scores.others));
  auto const beaten = detail::placements(scores.others, detail::ascending(scores.members));
  double const variance = detail::sample_variance(above) / static_cast<double>(above.size()) +
                          detail::sample_variance(beaten) / static_cast<double>(beaten.size());
  return {detail::mean_of(above), std::sqrt(variance)};
}

/// What a test "member if the score is at least t" answered.
struct attack_counts {
  std::uint64_t members = 0;
  std::uint64_t true_positives = 0;  ///< members that were called members
  std::uint64_t others = 0;
  std::uint64_t false_positives = 0;  ///< others that were called members
};

/// @throws std::invalid_argument unless both sides have a score; std::domain_error unless scores are
///         below infinity
[[nodiscard]] inline attack_counts count_guesses(membership_scores const& scores,
                                                 double threshold) {
  detail::check_scores("count_guesses", scores, 1);
  detail::require_domain(threshold == threshold, "count_guesses", "threshold", threshold,
                         "a number");
  auto const reaching = [threshold](std::vector<double> const& side) {
    return static_cast<std::uint64_t>(
        std::count_if(side.begin(), side.end(), [=](double x) { return x >= threshold; }));
  };
  return {scores.members.size(), reaching(scores.members), scores.others.size(),
          reaching(scores.others)};
}

/// The threshold with the largest true positive rate less false positive rate, on these scores: choose it on
/// one part, count on another. The highest of equals; +∞ (nobody is a member) where none does any good.
/// @throws std::invalid_argument unless both sides have a score; std::domain_error unless scores are
///         below infinity
[[nodiscard]] inline double best_threshold(membership_scores const& calibration) {
  detail::check_scores("best_threshold", calibration, 1);
  auto const members = detail::ascending(calibration.members);
  auto const others = detail::ascending(calibration.others);
  auto const rate = [](std::vector<double> const& side, double t) {
    auto const first = std::lower_bound(side.begin(), side.end(), t);
    return static_cast<double>(side.end() - first) / static_cast<double>(side.size());
  };
  double best = std::numeric_limits<double>::infinity();
  double gain = 0.0;
  for (auto t = members.rbegin(); t != members.rend(); ++t) {
    double const here = rate(members, *t) - rate(others, *t);
    if (here > gain) {
      gain = here;
      best = *t;
    }
  }
  return best;
}

/// The lowest threshold that calls at most this share of the others members, on these scores.
/// @throws std::invalid_argument unless both sides have a score; std::domain_error unless scores are
///         below infinity and the rate is in [0, 1]
[[nodiscard]] inline double threshold_at(membership_scores const& calibration,
                                         double false_positive_rate) {
  detail::check_scores("threshold_at", calibration, 1);
  detail::check_probability("threshold_at", "false_positive_rate", false_positive_rate);
  std::vector<double> others = calibration.others;
  std::sort(others.begin(), others.end(), std::greater<>());
  auto const allowed = static_cast<std::size_t>(
      std::floor(false_positive_rate * static_cast<double>(others.size())));
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return allowed >= others.size() ? -infinity : std::nextafter(others[allowed], infinity);
}

/// The share of right guesses. With as many members as others, blind guessing is right on ½ of them;
/// otherwise on the larger share, and then a guarantee has to be asked at that prior.
/// Guarantee: as `success_interval` (members and others are right with different probabilities; see
/// `lower_rate`).
/// @throws std::invalid_argument unless the counts fit; std::domain_error unless confidence is in (0, 1)
[[nodiscard]] inline confidence_interval success(attack_counts const& counts, double confidence) {
  detail::check_hits("success", "true_positives", counts.true_positives, counts.members);
  detail::check_hits("success", "false_positives", counts.false_positives, counts.others);
  return success_interval(counts.true_positives + (counts.others - counts.false_positives),
                          counts.members + counts.others, confidence);
}

/// @throws as `success`
[[nodiscard]] inline confidence_interval true_positive_rate(attack_counts const& counts,
                                                            double confidence) {
  return success_interval(counts.true_positives, counts.members, confidence);
}

/// @throws as `success`
[[nodiscard]] inline confidence_interval false_positive_rate(attack_counts const& counts,
                                                             double confidence) {
  return success_interval(counts.false_positives, counts.others, confidence);
}

}  // namespace tacit
