// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>

namespace apps {

/// Nanoseconds of processor an entry (and a step, where there are several) of the passes over parameters, `repetitions`
/// times each over so many entries: {pass: {type: [numbers]}}.
nlohmann::ordered_json time_passes(std::size_t entries, std::size_t repetitions);

}  // namespace apps
