// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/audit/interval.hpp>
#include <tacit/audit/membership.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/rounded.hpp>

#include <algorithm>
#include <limits>

namespace tacit {

/// The ε that a mechanism has at least at this δ, by what an attack achieved: (ε, δ)-DP keeps false
/// positives a and false negatives b of every test at a + e^ε b ≥ 1 − δ and b + e^ε a ≥ 1 − δ, so
///   ε ≥ max{log((1−δ−a)/b), log((1−δ−b)/a), 0}
/// for the rates' upper ends, (1−confidence)/2 each (Jagielski, Ullman & Oprea 2020; Nasr et al. 2021).
///
/// The counts must be of independent runs on two fixed neighbours, one guess a run, with the threshold
/// fixed on other runs: `count_guesses`.
/// Guarantee: lower bound, except with probability 1 − confidence. What a perfect attack can certify is
/// limited by its trials: n runs a side give about log(n/log(2/(1−confidence))).
/// @throws std::invalid_argument unless the counts fit; std::domain_error unless δ is in [0, 1] and
///         confidence in (0, 1)
[[nodiscard]] inline double epsilon_lower_bound(attack_counts const& counts, double delta,
                                                double confidence) {
  detail::check_hits("epsilon_lower_bound", "true_positives", counts.true_positives,
                     counts.members);
  detail::check_hits("epsilon_lower_bound", "false_positives", counts.false_positives,
                     counts.others);
  detail::check_probability("epsilon_lower_bound", "delta", delta);
  detail::check_open("epsilon_lower_bound", "confidence", confidence);
  double const failure = 0.5 * (1.0 - confidence);
  double const false_positives = upper_rate(counts.false_positives, counts.others, failure);
  double const false_negatives =
      upper_rate(counts.members - counts.true_positives, counts.members, failure);
  auto const missed = [delta](double rate) {
    return detail::subtract_down(detail::subtract_down(1.0, delta), rate);
  };
  // The upper ends of rates are positive.
  double const side = std::max(missed(false_positives) / false_negatives,
                               missed(false_negatives) / false_positives);
  constexpr double roundings = 4.0 * std::numeric_limits<double>::epsilon();
  return side > 1.0 ? std::max(0.0, elementary::log(side) * (1.0 - roundings) - roundings) : 0.0;
}

}  // namespace tacit
