// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>

namespace tacit::detail {

/// Of what answered at some ε and is kept for others, `start()` being that ε: what is nearest to this one; null of nothing.
template <class All>
[[nodiscard]] auto const* nearest_kept(All const& kept, double epsilon) {
  auto const nearest =
      std::min_element(kept.begin(), kept.end(), [&](auto const& a, auto const& b) {
        return std::abs(a.start() - epsilon) < std::abs(b.start() - epsilon);
      });
  return nearest == kept.end() ? nullptr : &*nearest;
}

}  // namespace tacit::detail
