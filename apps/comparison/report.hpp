// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attacks.hpp"
#include "claims.hpp"
#include "protocol.hpp"
#include "rows.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace apps {

struct comparison {
  measured found;
  std::vector<claim> claims;
  std::size_t seeds = 0;
  std::size_t runs = 0;  // in the log
  double seconds = 0.0;  // of all of them, one after the other
  std::string command;
  std::string log;  // its name, beside the page
};

std::string as_markdown(comparison const& all);
nlohmann::ordered_json as_json(comparison const& all);

/// The score against what an attacker may reach, a panel for each place that is measured.
std::string score_figure(std::vector<compared_row> const& rows);

/// The effects of all claims that are tested, with their intervals, numbered as in the table.
std::string claims_figure(std::vector<claim> const& claims);

}  // namespace apps
