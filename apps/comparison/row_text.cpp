// SPDX-License-Identifier: Apache-2.0
#include "row_text.hpp"

#include "claims.hpp"
#include "output/format.hpp"
#include "output/statistics.hpp"

#include <algorithm>
#include <cmath>

namespace apps {

double largest(std::vector<double> const& of) {
  return of.empty() ? 0.0 : *std::max_element(of.begin(), of.end());
}

std::string with_interval(char const* form, std::vector<double> const& values, bool share) {
  mean_interval s = interval_of(values);
  if (share) {
    s.low = std::max(s.low, 0.0);
    s.high = std::min(s.high, 1.0);
  }
  return formatted(form, s.mean, s.low, s.high);
}

std::string score_text(compared_row const& row) {
  std::string diverged;
  for (std::size_t i = 0; i < row.runs.size(); ++i) {
    if (std::isfinite(row.runs[i].score)) continue;
    diverged += formatted("%s%zu", diverged.empty() ? "" : ", ", i + 1);
  }
  if (!diverged.empty()) return "diverged with seeds " + diverged;
  bool const share = !words_of(row.where).less_is_better;
  return with_interval(share ? "%.3f (%.3f to %.3f)" : "%.2f (%.2f to %.2f)", scores_of(row),
                       share);
}

compared_row const* public_row(std::vector<compared_row> const& rows, place where) {
  for (compared_row const* row : family_of(rows, where, "none")) {
    if (row->done()) return row;
  }
  return nullptr;
}

}  // namespace apps
