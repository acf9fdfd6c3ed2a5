// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/text_archive.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

/// What filters and odometers share: a state that is read back or refused.

namespace tacit::detail {

[[nodiscard]] inline std::vector<double> stored_list(archive_reader& in, std::string_view name) {
  std::vector<double> values;
  in.list(name, values);
  return values;
}

[[nodiscard]] inline std::string stored_word(archive_reader& in, std::string_view name) {
  std::string text;
  in.field(name, text);
  return text;
}

/// Any complaint about stored values is a corrupt state.
template <class Build>
[[nodiscard]] auto from_storage(Build&& build) {
  try {
    return build();
  } catch (std::logic_error const& error) {
    throw corrupt_state(std::string("archive: ") + error.what());
  } catch (infeasible const& error) {
    throw corrupt_state(std::string("archive: ") + error.what());
  }
}

}  // namespace tacit::detail
