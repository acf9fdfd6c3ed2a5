// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/selection.hpp>

#include <string>

namespace binding {

/// The law of the number of runs of this mean: "geometric", "logarithmic" or "poisson".
/// @throws std::domain_error for a mean out of the law's range; std::invalid_argument for any other word
tacit::repetitions repetitions_of(std::string const& law, double mean);

}  // namespace binding
