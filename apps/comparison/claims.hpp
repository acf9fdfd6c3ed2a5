// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dpzero/study.hpp"
#include "rows.hpp"

#include <string>
#include <vector>

namespace apps {

enum class outcome { confirmed, not_seen, refuted };

/// A claim of a paper, and what the runs say about it.
struct claim {
  std::string what;
  std::string source;
  std::string found;  // with the figures
  outcome how;
};

/// Two families differ if the mean of their paired differences is more than two of its standard errors from 0.
std::vector<claim> claims_of(std::vector<compared_row> const& rows,
                             std::vector<study_row> const& study);

std::vector<double> scores_of(compared_row const& row);

}  // namespace apps
