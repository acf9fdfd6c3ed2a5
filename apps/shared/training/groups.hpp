// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace apps {

/// Groups of records, such as families: the rows of a table, counted from 0.
using record_lists = std::vector<std::vector<std::size_t>>;

/// One group a line, its rows separated by commas or blanks; empty lines count for nothing.
/// @throws std::runtime_error with the line of what is no row of a table of `records` rows, or is twice in its group,
///         and where there is no group; `name` is for the messages
record_lists parse_groups(std::string_view text, std::string const& name, std::size_t records);

/// The same groups of those records alone that `rows` lists, numbered by their places in it. A group without any
/// is left out.
record_lists groups_among(record_lists const& groups, std::vector<std::size_t> const& rows);

}  // namespace apps
