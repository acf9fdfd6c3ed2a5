// SPDX-License-Identifier: Apache-2.0
#include "training/groups.hpp"

#include <tacit/core/number_text.hpp>

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace apps {

record_lists parse_groups(std::string_view text, std::string const& name, std::size_t records) {
  record_lists groups;
  for (std::size_t at = 1; !text.empty(); ++at) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    auto const fail = [&](std::string_view word, std::string const& what) {
      throw std::runtime_error(name + ":" + std::to_string(at) + ": " +
                               std::string(word.substr(0, 40)) + what);
    };
    std::vector<std::size_t> group;
    for (;;) {
      line.remove_prefix(std::min(line.find_first_not_of(", \t\r"), line.size()));
      if (line.empty()) break;
      std::string_view const word = line.substr(0, line.find_first_of(", \t\r"));
      line.remove_prefix(word.size());
      auto const row = tacit::detail::from_text<std::size_t>(word);
      if (!row || *row >= records) {
        fail(word, " is no row of the table, which are 0 to " + std::to_string(records - 1));
      }
      group.push_back(*row);
    }
    if (group.empty()) continue;
    std::sort(group.begin(), group.end());
    auto const twice = std::adjacent_find(group.begin(), group.end());
    if (twice != group.end()) fail(std::to_string(*twice), " is twice in its group");
    groups.push_back(std::move(group));
  }
  if (groups.empty()) throw std::runtime_error(name + ": no groups");
  return groups;
}

record_lists groups_among(record_lists const& groups, std::vector<std::size_t> const& rows) {
  std::unordered_map<std::size_t, std::size_t> place;
  for (std::size_t i = 0; i < rows.size(); ++i) place.emplace(rows[i], i);
  record_lists out;
  for (std::vector<std::size_t> const& group : groups) {
    std::vector<std::size_t> among;
    for (std::size_t const row : group) {
      if (auto const found = place.find(row); found != place.end()) among.push_back(found->second);
    }
    if (among.empty()) continue;
    std::sort(among.begin(), among.end());
    out.push_back(std::move(among));
  }
  return out;
}

}  // namespace apps
