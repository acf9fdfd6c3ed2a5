// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace calculator {

/// The value that a text of JSON holds. Refuses a key that an object has twice, of which the parser
/// would take the last, and values nested deeper than 32.
/// @throws bad_input that begins with `origin`
nlohmann::json parse_json(std::string const& origin, std::string const& text);

}  // namespace calculator
