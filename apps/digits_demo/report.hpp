// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "output/spread.hpp"
#include "rows.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace apps {

/// A row's runs, summed up.
struct summary {
  std::string id;
  std::string title;
  spread accuracy;
  std::optional<spread> against_mezo;  // paired by seed; deviation: standard error of the mean
  std::optional<exposure> exposed;     // means over the seeds; attack_worst: the largest
  std::size_t steps;
  double unanimity;
  double held;
  double seconds;  // of one run
};

/// Rows in their order; the row `mezo`, if it is there, is what the others are compared with.
std::vector<summary> summarise(std::vector<row> const& rows);

/// What the table's guarantees do not cover, and how to read it.
std::string caveat(std::size_t records);
std::string legend();

std::string as_text(std::vector<summary> const& table);
std::string as_markdown(std::vector<summary> const& table);
nlohmann::ordered_json as_json(std::vector<summary> const& table);

}  // namespace apps
