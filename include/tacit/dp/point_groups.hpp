// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/profile_knots.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tacit::detail {

/// Points that D is not above, or not below, by their odds: in groups, each with a point whose odds and δ are the least of
/// its own. A line 1 − δ − yα of that one is at least as high as any of them, so that most groups need no look.
class point_groups {
 public:
  using point = profile_knots<>::point;

  void clear() {
    points_.clear();
    least_.clear();
  }
  void push_back(point const& p) {
    if (points_.size() % size == 0) {
      least_.push_back(p);
    } else {
      point& least = least_.back();
      least.odds.lower = std::min(least.odds.lower, p.odds.lower);
      least.odds.upper = std::min(least.odds.upper, p.odds.upper);
      least.delta = std::min(least.delta, p.delta);
    }
    points_.push_back(p);
  }

  [[nodiscard]] std::vector<point> const& all() const { return points_; }

  /// `use` of every point but for those of groups whose least point `may` rules out by then. Those come first whose least
  /// point has the smallest `size`.
  template <class Size, class May, class Use>
  void search(Size&& size_of, May&& may, Use&& use) const {
    if (least_.empty()) return;
    auto const first = static_cast<std::size_t>(
        std::min_element(least_.begin(), least_.end(),
                         [&](point const& a, point const& b) { return size_of(a) < size_of(b); }) -
        least_.begin());
    auto const look = [&](std::size_t group) {
      std::size_t const end = std::min(points_.size(), (group + 1) * size);
      for (std::size_t k = group * size; k < end; ++k) use(points_[k]);
    };
    look(first);
    for (std::size_t group = 0; group < least_.size(); ++group) {
      if (group != first && may(least_[group])) look(group);
    }
  }

 private:
  static constexpr std::size_t size = 16;
  std::vector<point> points_;
  std::vector<point> least_;  // of each group
};

}  // namespace tacit::detail
