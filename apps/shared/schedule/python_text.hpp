// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace apps {

/// How a call stands in the JSON of `parse_python`: {"()": "PoissonSampledDpEvent", "values": […], "named": {…}}.
inline constexpr char const* call_key = "()";

/// The JSON of a value that Python prints: numbers, strings, lists, tuples, dicts, None, True and False, and calls
/// Name(value, …, name=value, …). An OrderedDict is an object, array([…]) a list, np.float64(x) its x; inf and nan are strings,
/// for JSON has none. Nothing is evaluated.
/// @throws std::invalid_argument, with the place, for anything else, a name that a call or a dict has twice, and values
///         nested deeper than 64
nlohmann::json parse_python(std::string const& text);

}  // namespace apps
