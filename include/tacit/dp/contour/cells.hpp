// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/real.hpp>
#include <tacit/dp/contour/search.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/similar_pairs.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

/// Many distinct mixtures as fewer: above all of them, and below.

namespace tacit::detail {

/// Entries that are above all of others, and below them.
template <real T>
struct entries_around {
  std::vector<contour_entry<T>> above;
  std::vector<contour_entry<T>> below;
};

/// About `most` at most, of similar weights and shifts; nothing where there is a mixture that has none similar to it.
template <real T>
[[nodiscard]] std::optional<entries_around<T>> fewer_entries(
    std::vector<contour_entry<T>> const& entries, std::size_t most) {
  similar<> all;
  T largest = 0.0;
  for (contour_entry<T> const& e : entries) {
    rising_pair at = rising_numbers(dominating_pair(e.pair));
    if (!at) return std::nullopt;
    largest = std::max(largest, at.numbers[0]);
    all.add(e.pair, std::move(at), e.count);
  }
  // No engine takes a rate of 1e-200: a negligible one is raised to what is still negligible, or left out.
  T const negligible = 1e-12 * largest;
  entries_around<T> out;
  std::move(all).round(
      most, most, 0.0,
      [&](dominating_pair const& like, std::vector<double> numbers, double count, bool up) {
        if (!up && numbers[0] < negligible) return;
        numbers[0] = std::max(numbers[0], negligible);
        (up ? out.above : out.below)
            .push_back({std::get<mixture_pair>(pair_with(like, numbers, up)), count});
      });
  return out;
}

/// The same pairs in the other direction.
template <real T>
[[nodiscard]] std::vector<contour_entry<T>> turned(std::vector<contour_entry<T>> entries,
                                                   orientation towards) {
  for (contour_entry<T>& e : entries) e.pair.orientation = towards;
  return entries;
}

}  // namespace tacit::detail
