// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/contour/search.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rising_cells.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

/// Many distinct sampled Gaussians as fewer: above all of them, and below.

namespace tacit::detail {

/// At most `most` cells of entries with similar rates and shifts; nothing where persons have several records.
template <real T>
[[nodiscard]] std::optional<rising_cells<>> cells_of(std::vector<contour_entry<T>> const& entries,
                                                     std::size_t most) {
  std::vector<rising_cells<>::member> members;
  members.reserve(entries.size());
  for (contour_entry<T> const& e : entries) {
    if (e.pair.parts.size() != 1) return std::nullopt;
    auto const& [rate, shift] = e.pair.parts[0];
    T const square = elementary::expm1(std::min(50.0, shift * shift));
    members.push_back({{rate, shift}, e.count, e.count * rate * rate * square});
  }
  return rising_cells<>(std::move(members), most);
}

/// One entry a cell: a composition above, or below.
template <real T>
[[nodiscard]] std::vector<contour_entry<T>> entries_of(rising_cells<> const& cells, bool up,
                                                       orientation towards) {
  T largest = 0.0;
  for (auto const& [at, count] : cells.rounded(true)) largest = std::max(largest, at[0]);
  // No engine takes a rate of 1e-200: a negligible one is raised to what is still negligible, or left out.
  T const negligible = 1e-12 * largest;
  std::vector<contour_entry<T>> out;
  for (auto const& [at, count] : cells.rounded(up)) {
    auto const& [rate, shift] = at;
    if (!up && rate < negligible) continue;
    out.push_back({mixture_pair{{{std::max(rate, negligible), shift}}, towards}, count});
  }
  return out;
}

}  // namespace tacit::detail
