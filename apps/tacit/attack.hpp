// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/dp/trade_off_curve.hpp>

#include "arguments.hpp"
#include "verbs.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
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

/// δ by ε.
using knots_by_epsilon = std::map<double, tacit::bound<double>>;

/// What is asked of a run for the advantage of an attacker. Of the best of several runs δ(0) may be known to be at most 1,
/// and no less: there some ε(δ) say more.
template <class Profile>
knots_by_epsilon knots_for_advantage(Profile const& run) {
  knots_by_epsilon knots{{0.0, run.delta(0.0)}};
  if (knots.begin()->second.upper > 0.999) {
    for (double const delta : {1e-2, 1e-4, 1e-6}) {
      double const above = run.epsilon(delta).upper;
      if (above <= 700.0) knots.emplace(above, tacit::bound<double>{0.0, delta});
    }
  }
  return knots;
}

/// A curve of δ where that advantage, and the best guess of a membership of this probability, need it.
template <class Profile>
tacit::trade_off_curve curve_for_guess(Profile const& run, knots_by_epsilon knots, double prior) {
  double const least = std::min(prior, 1.0 - prior);
  double const epsilon = least > 0.0 ? std::log(std::max(prior, 1.0 - prior) / least) : 0.0;
  if (epsilon > 0.0 && epsilon <= 700.0) knots.insert_or_assign(epsilon, run.delta(epsilon));
  std::vector<tacit::profile_knot> ascending;
  for (auto const& [at, found] : knots) ascending.push_back({at, found});
  return {tacit::adjacency::add_remove, ascending};
}

/// The success of that guess.
inline tacit::bound<double> guessed_rightly(tacit::trade_off_curve const& curve, double prior) {
  return prior == 0.0 || prior == 1.0 ? tacit::bound<double>{1.0, 1.0}
                                      : curve.attack_success(prior);
}

/// The note of the verbs that match nats and epsilon.
extern char const* const matched_note;

}  // namespace calculator
