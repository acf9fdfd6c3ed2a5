// SPDX-License-Identifier: Apache-2.0
#include "json_text.hpp"

#include "arguments.hpp"

#include <nlohmann/json.hpp>

#include <set>
#include <vector>

namespace calculator {

nlohmann::json parse_json(std::string const& origin, std::string const& text) {
  using nlohmann::json;
  using event = json::parse_event_t;
  constexpr int deepest = 32;
  std::vector<std::set<std::string>> open;
  auto const watch = [&](int depth, event what, json& value) {
    bool const opens = what == event::object_start || what == event::array_start;
    if (opens && depth >= deepest) throw bad_input(origin + ": is nested too deep");
    if (what == event::object_start) open.emplace_back();
    if (what == event::object_end) open.pop_back();
    if (what == event::key && !open.back().insert(value.get<std::string>()).second) {
      throw bad_input(origin + ": " + value.get<std::string>() + " is given twice in an object");
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (json::exception const& error) {
    throw bad_input(origin + ": is no JSON: " + error.what());
  }
}

}  // namespace calculator
