// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace tacit {

/// Parameters first … last − 1 of a model whose tensors lie one after another.
struct parameter_range {
  std::size_t first = 0;
  std::size_t last = 0;

  [[nodiscard]] std::size_t size() const noexcept { return last - first; }
  friend bool operator==(parameter_range const&, parameter_range const&) = default;
};

/// The tensors in order, `tensors_per_group` to a group; the last group takes what is left.
/// Adapter pairs (A, B) that lie side by side are groups of 2.
/// @throws std::invalid_argument unless there is a tensor, each has an entry, and tensors_per_group ≥ 1
[[nodiscard]] inline std::vector<parameter_range> tensor_groups(std::span<std::size_t const> sizes,
                                                                std::size_t tensors_per_group) {
  detail::require_argument(!sizes.empty(), "tensor_groups", "number of tensors", sizes.size(),
                           "at least 1");
  detail::require_argument(tensors_per_group >= 1, "tensor_groups", "tensors_per_group",
                           tensors_per_group, "at least 1");
  std::vector<parameter_range> groups;
  std::size_t end = 0;
  for (std::size_t t = 0; t < sizes.size(); ++t) {
    detail::require_argument(sizes[t] >= 1, "tensor_groups", "size of a tensor", sizes[t],
                             "at least 1");
    if (t % tensors_per_group == 0) groups.push_back({end, end});
    end += sizes[t];
    groups.back().last = end;
  }
  return groups;
}

namespace detail {

/// Refuses groups that do not tile 0 … dimension − 1 in order; the dimension.
inline std::size_t check_groups(std::string_view who, std::span<parameter_range const> groups) {
  require_argument(!groups.empty(), who, "number of groups", groups.size(), "at least 1");
  std::size_t end = 0;
  for (parameter_range const& group : groups) {
    require_argument(group.first == end, who, "first parameter of a group", group.first,
                     "where the group before it ends, " + to_text(end));
    require_argument(group.last > group.first, who, "last parameter of a group", group.last,
                     "beyond its first");
    end = group.last;
  }
  return end;
}

}  // namespace detail
}  // namespace tacit
