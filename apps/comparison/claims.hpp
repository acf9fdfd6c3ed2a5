// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "output/statistics.hpp"
#include "rows.hpp"

#include <string>
#include <vector>

namespace apps {

enum class outcome { confirmed, not_seen, refuted };

/// A claim of a paper, and what the runs say about it.
///
/// Two rows are compared by the paired differences of their runs on the same seeds, by Student's t. It is a win
/// if the one claimed to be better is so, and better than public training alone as well, where both are scores: both
/// tests must reject, so that the larger p counts. It is a loss if it is worse. The claim's p is twice the smaller of
/// the two, corrected by Holm over all claims that are tested.
struct claim {
  std::string what;
  std::string source;
  std::string where;
  std::string who;              // this against that
  std::vector<double> gains{};  // paired
  double mean_of_this = 0.0;
  double mean_of_that = 0.0;
  std::string note{};   // beside the test
  bool is_win = false;  // the smaller of the two p is that of a win
  double p = 1.0;
  double adjusted = 1.0;
  outcome how = outcome::not_seen;
};

inline constexpr double claim_level = 0.05;

std::vector<claim> claims_of(std::vector<compared_row> const& rows);

/// Sets `adjusted` and `how` of claims with gains from their p.
void judge(std::vector<claim>& all);

/// By how much each run of `a` is better than its twin of `b`, whatever better means there.
std::vector<double> gains_over(std::vector<double> const& a, std::vector<double> const& b,
                               bool less_is_better);

std::vector<double> scores_of(compared_row const& row);

}  // namespace apps
