// SPDX-License-Identifier: Apache-2.0
//
// The groups of `tacit train`: each is refused, or a sorted list of different rows of the table.

#include "training/groups.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  // A table as large as the first byte says.
  std::size_t const records = size == 0 ? 1 : 1 + data[0];
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  try {
    apps::record_lists const groups =
        apps::parse_groups(text.substr(size == 0 ? 0 : 1), "groups", records);
    if (groups.empty()) std::abort();
    for (auto const& group : groups) {
      if (group.empty() || group.back() >= records) std::abort();
      if (std::adjacent_find(group.begin(), group.end(), std::greater_equal<>()) != group.end())
        std::abort();
    }
    std::vector<std::size_t> rows(records);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    if (apps::groups_among(groups, rows) != groups) std::abort();
  } catch (std::runtime_error const&) {
  }
  return 0;
}
