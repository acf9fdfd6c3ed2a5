// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "experiment.hpp"

#include <string>

namespace apps {

/// The study as Markdown. `seconds`: of all runs.
std::string page(experiment_options const& how, experiment_results const& found, double seconds);

/// The gradient norm against d, both logarithmic, with intervals: a panel for each effective rank, one for the
/// directions and one for the theorems.
std::string figure(experiment_options const& how, experiment_results const& found);

}  // namespace apps
