// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attacks.hpp"
#include "claims.hpp"
#include "dpzero/study.hpp"
#include "rows.hpp"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace apps {

struct comparison {
  std::vector<compared_row> rows;
  std::vector<lira_row> lira;
  std::vector<study_row> study;
  std::vector<claim> claims;
  std::size_t seeds = 0;
  double seconds = 0.0;
  std::string command;
};

std::string as_markdown(comparison const& all);
nlohmann::ordered_json as_json(comparison const& all);

/// The score against what an attacker may reach, a panel for each place.
std::string score_figure(std::vector<compared_row> const& rows);

}  // namespace apps
