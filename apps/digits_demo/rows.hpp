// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training/experiment.hpp"

#include <string>
#include <vector>

namespace examples {

/// One line of the demo's table: a mechanism with its settings, and what its runs gave.
struct row {
  std::string id;     // for --rows
  std::string title;  // for people
  experiment_options options;
  std::vector<experiment_result> runs{};  // one a seed
};

/// All rows, in the order of the table.
std::vector<row> demo_rows(std::size_t steps);

}  // namespace examples
