// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attacks.hpp"
#include "rows.hpp"
#include "runs/run_log.hpp"

#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

/// The protocol, one for all systems. In each place every row is tuned as grid.hpp says, and the setting that was chosen
/// runs on the seeds that are scored. Every run is in the log before it counts, and none that is there is run again.

namespace apps {

struct protocol_options {
  std::size_t seeds = 10;  // scored: 1 to this
  std::size_t threads = 2;
  bool quick = false;
  std::filesystem::path data{};
  std::set<std::string>
      parts{};  // that run: ids of places, `shadows`, sections of the papers; empty: all
  double minutes = std::numeric_limits<double>::infinity();  // after which no run begins
  std::size_t most_runs = std::numeric_limits<std::size_t>::max();
};

/// The parts there are, in the order in which they run.
std::vector<std::string> all_parts();

/// What the log has, and what is done of the rest before time is up.
struct measured {
  std::vector<compared_row> rows;
  std::vector<lira_row> lira;  // those that are done
  bool whole = false;          // nothing that was asked for is left
};
measured follow(protocol_options const& how, run_log& log);

/// Settings in the order of their mean scores, the best first: of equals the first stays first, and means that are not
/// finite come last.
std::vector<std::size_t> best_settings(std::vector<std::vector<double>> const& scores,
                                       bool less_is_better);

}  // namespace apps
