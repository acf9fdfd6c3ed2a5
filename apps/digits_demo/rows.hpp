// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training/paczero_run.hpp"

#include <string>
#include <vector>

namespace apps {

/// One line of the demo's table: a mechanism with its settings, and what its runs gave.
struct row {
  std::string id;     // for --rows
  std::string title;  // for people
  paczero_run_options options;
  std::vector<paczero_run_result> runs{};  // one a seed
};

/// All rows, in the order of the table.
std::vector<row> digits_rows(std::size_t steps);

}  // namespace apps
