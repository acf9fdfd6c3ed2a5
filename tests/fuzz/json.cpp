// SPDX-License-Identifier: Apache-2.0
//
// The JSON of `--schedule` and `--noise`.

#include "tacit/arguments.hpp"
#include "tacit/json_text.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  try {
    nlohmann::json const value =
        calculator::parse_json("schedule", std::string(reinterpret_cast<char const*>(data), size));
    (void)value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  } catch (calculator::bad_input const&) {
  }
  return 0;
}
