// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include <optional>
#include <string>

namespace apps {

/// What it would have cost to choose the row's setting on the private records themselves, and to release only the
/// best run: of (ε, δ) systems by repeating and selecting (dp/selection.hpp), with as many repetitions on average as
/// tuning took runs, each of them with a setting drawn from those tried; of FERRET by adding up all runs. "–" where no bound is known:
/// a record's information of separate runs of PACZero-MI does not add up, and controllers that choose noise have no
/// profile.
/// Guarantee: upper bound at δ = comparison_delta. ε as a text that is rounded up, or nats.
std::string cost_of_tuning(compared_row const& row);

/// The ε alone, of a system that has one: what `tuned_epsilon` of a row is to be. Takes seconds.
std::optional<double> epsilon_with_tuning(compared_row const& row);

}  // namespace apps
