// SPDX-License-Identifier: Apache-2.0
#include "json_text.hpp"

#include "arguments.hpp"
#include "schedule/schedule.hpp"

#include <nlohmann/json.hpp>

#include <stdexcept>

namespace calculator {

nlohmann::json parse_json(std::string const& origin, std::string const& text) {
  try {
    return apps::parse_json(text);
  } catch (std::invalid_argument const& error) {
    throw bad_input(origin + ": " + error.what());
  }
}

}  // namespace calculator
