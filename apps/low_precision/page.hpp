// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "experiment.hpp"

#include <string>

namespace apps {

/// The study as Markdown. `seconds`: of processor, of all jobs.
std::string page(low_precision_options const& how, low_precision_results const& found,
                 double seconds);

/// The page's section on quantised parameters.
std::string quantised_section(low_precision_results const& found);

/// Accuracy by μ of two systems, and how far the moves there and back carry θ by themselves.
std::string figure(low_precision_results const& found);

}  // namespace apps
