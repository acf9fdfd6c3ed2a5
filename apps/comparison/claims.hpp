// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "dpzero/study.hpp"
#include "rows.hpp"

#include <string>
#include <vector>

namespace examples {

enum class outcome { confirmed, not_seen, refuted };

/// A claim of a paper, and what the runs say about it.
struct claim {
  std::string what;
  std::string source;
  std::string found;  // with the figures
  outcome how;
};

/// Two families differ if the mean of their paired differences is more than two of its standard errors from 0.
std::vector<claim> claims_of(std::vector<result_row> const& rows,
                             std::vector<study_row> const& study);

struct spread_of_runs {
  double mean;
  double deviation;  // of one run
  std::size_t runs;
};
spread_of_runs spread_of(std::vector<double> const& values);
std::vector<double> scores_of(result_row const& row);

}  // namespace examples
