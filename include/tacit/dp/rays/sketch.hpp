// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/dp/rays/law.hpp>
#include <tacit/dp/rising_cells.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

/// A few events that stand for many, where nothing is bounded: for drafts and plans.

namespace tacit::detail::rays {

inline constexpr std::size_t most_drafted = 64;   // events as they are
inline constexpr std::size_t most_sketched = 24;  // cells of more

/// The composition, or both corners of each cell of similar events at half its count.
template <std::same_as<double> T = double>
[[nodiscard]] composition sketch_of(composition const& what) {
  if (what.events.size() <= most_drafted) return what;
  using cells = rising_cells<T>;
  std::vector<typename cells::member> members;
  members.reserve(what.events.size());
  for (sampled_gaussian const& e : what.events) {
    double const size = e.rate * e.rate * elementary::expm1(std::min(50.0, e.shift * e.shift));
    members.push_back({{e.rate, e.shift}, e.count, e.count * size});
  }
  cells const similar(std::move(members), most_sketched);
  composition out{{}, what.variance};
  for (bool const up : {true, false}) {
    for (auto const& [at, count] : similar.rounded(up)) {
      out.events.push_back({at[0], at[1], 0.5 * count});
    }
  }
  return out;
}

}  // namespace tacit::detail::rays
