// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/feasible_end.hpp>

#include "accountants.hpp"
#include "plan.hpp"
#include "schedule/around_run.hpp"
#include "verbs.hpp"

#include <functional>
#include <string>
#include <vector>

namespace calculator {

using apps::asked;
using apps::surroundings;
using accounts = apps::accounts<account>;

void declare_surroundings(arguments& of);
surroundings read_surroundings(arguments const& of, plan const& run);

/// The same around another run.
surroundings around(surroundings its, plan const& run);

/// The options of `declare_surroundings`.
std::vector<std::string> const& surroundings_names();

/// `the best of …, each of 10000 steps, …, batches of at most …`, of words about a run. `each` is what stands between the
/// words about several runs and those about one.
std::string words_around(surroundings const& around, std::string const& run,
                         char const* each = "each of");

/// `the best of …, each of 10000 steps, …, add-remove neighbours`
std::string about(plan const& run, surroundings const& around);

/// Sentences for a statement: what is done to the releases, and what is assumed of it.
std::vector<std::string> releases_around(surroundings const& around);
std::vector<std::string> assumptions_around(surroundings const& around);

answer with_surroundings(answer out, surroundings const& around);

/// @throws bad_input for an estimate where only bounds are known of what is around the run
accounts accounts_by(method const& how, plan const& run, surroundings const& around);

/// The number on the edge of what keeps the target, of runs with something around them: `run` is a function of the number.
/// Every number that is tried has accounts of its own, and what is returned was asked as `tacit epsilon` and `tacit delta` ask.
/// @throws tacit::infeasible if not even the protecting end of the range, which is called `safest`, keeps the target
double end_around(method const& how, tacit::approx_dp target,
                  std::function<plan(double)> const& run, surroundings const& around,
                  tacit::quantity const& sought, char const* safest);

}  // namespace calculator
