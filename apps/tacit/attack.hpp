// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/dp/trade_off_curve.hpp>

#include "arguments.hpp"
#include "verbs.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace calculator {

/// What `tacit attack` asks that a formula answers: against nats, or against one (epsilon, delta).
void declare_guarantee(arguments& of);
answer attack_on_guarantee(arguments const& of);

/// Puts into an answer what a test achieves at --false-positive-rate, and at --prevalence; `curve` is asked for only then.
void add_rates(answer& out, arguments const& of,
               std::function<tacit::trade_off_curve()> const& curve, char const* lower_in_words);

nlohmann::ordered_json ends_in_json(tacit::bound<double> ends);
/// What a lower end is: of the run, or of what the curve in a file is about, which it does not say.
inline constexpr char const* of_run = "and at least";
inline constexpr char const* in_file = "lower end";

/// `at most 0.3 (and at least 0.2)`; no word for it leaves the lower end out.
std::string ends_in_words(tacit::bound<double> ends, char const* lower_in_words);

/// The success of the best guess of a membership of this probability. δ is asked for where the guess needs it.
template <class Profile>
tacit::bound<double> guessed_rightly(Profile const& run, tacit::bound<double> advantage,
                                     double prior) {
  double const least = std::min(prior, 1.0 - prior);
  if (least == 0.0) return {1.0, 1.0};
  std::vector<tacit::profile_knot> knots{{0.0, advantage}};
  double const epsilon = std::log(std::max(prior, 1.0 - prior) / least);
  if (epsilon > 0.0 && epsilon <= 700.0) knots.push_back({epsilon, run.delta(epsilon)});
  return tacit::trade_off_curve(tacit::adjacency::add_remove, knots).attack_success(prior);
}

/// The note of the verbs that match nats and epsilon.
extern char const* const matched_note;

}  // namespace calculator
