// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include <optional>
#include <string>
#include <vector>

/// What pages say of a row.

namespace apps {

/// A value of each run that has it.
template <class Value>
std::vector<double> each(compared_row const& row, Value const& value) {
  std::vector<double> out;
  for (scored_run const& run : row.runs) {
    if (std::optional<double> const v = value(run)) out.push_back(*v);
  }
  return out;
}

/// 0 of none.
double largest(std::vector<double> const& of);

/// `form` is of a mean and of the two ends of its 95 % interval. A share lies between 0 and 1.
std::string with_interval(char const* form, std::vector<double> const& values, bool share);

/// The mean score with its interval, or the seeds with which the row diverged.
std::string score_text(compared_row const& row);

/// "public training alone" of a place, if it is done.
compared_row const* public_row(std::vector<compared_row> const& rows, place where);

}  // namespace apps
