// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dpzero/study.hpp"

#include <string>
#include <vector>

namespace apps {

/// The gradient norm against d, both logarithmic, a panel for each effective rank.
std::string figure(std::vector<study_row> const& rows);

}  // namespace apps
