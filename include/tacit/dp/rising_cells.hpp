// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <utility>
#include <vector>

/// Many similar pairs as fewer, above all of them and below. docs/certificates/grid.md, Lemma 13.

namespace tacit::detail {

/// Pairs of one shape, each given by numbers, none of them negative, in which its profile rises, in cells of similar ones.
template <std::same_as<double> T = double>
class rising_cells {
 public:
  using numbers = std::vector<T>;
  struct member {
    numbers at;
    double count;
    double weight;  ///< about its part of the composition; steers only which cells are halved
  };
  /// What stands for the members of a cell: its extreme numbers, and as many as there are, in one direction.
  struct extreme {
    numbers at;
    double count;
  };

  /// At most `most` cells, found by halving, always the one whose numbers spread the composition the most. Numbers whose
  /// logarithms differ by `close` together stay in one. All members have as many numbers.
  rising_cells(std::vector<member> members, std::size_t most, double close = 0.0)
      : members_(std::move(members)), close_(close) {
    if (members_.empty()) return;
    cells_.push_back(cell_of(0, members_.size()));
    while (cells_.size() < most && cells_.front().spread > 0.0) {
      std::pop_heap(cells_.begin(), cells_.end());
      cell const widest = cells_.back();
      cells_.pop_back();
      std::size_t const middle = widest.begin + (widest.end - widest.begin) / 2;
      auto const place = [&](std::size_t k) {
        return members_.begin() + static_cast<std::ptrdiff_t>(k);
      };
      std::nth_element(place(widest.begin), place(middle), place(widest.end),
                       [axis = widest.axis](member const& a, member const& b) {
                         return a.at[axis] < b.at[axis];
                       });
      for (cell const& half : {cell_of(widest.begin, middle), cell_of(middle, widest.end)}) {
        cells_.push_back(half);
        std::push_heap(cells_.begin(), cells_.end());
      }
    }
  }

  /// One a cell: profiles rise in both numbers and in the count, so that these compositions are above, or below.
  [[nodiscard]] std::vector<extreme> rounded(bool up) const {
    std::vector<extreme> out;
    out.reserve(cells_.size());
    for (cell const& c : cells_) {
      double count = 0.0;
      for (std::size_t k = c.begin; k < c.end; ++k) count += members_[k].count;
      // Whole numbers, of which sums are exact up to 2⁵³.
      if (count > 0x1p53) {
        double const slack = static_cast<double>(c.end - c.begin + 2) * unit_roundoff;
        count = up ? std::ceil(count * (1.0 + slack)) : std::floor(count * (1.0 - slack));
      }
      out.push_back({up ? c.high : c.low, count});
    }
    return out;
  }

 private:
  struct cell {
    std::size_t begin;
    std::size_t end;
    numbers low;
    numbers high;
    std::size_t axis;  // in which it is the wider
    double spread;
    bool operator<(cell const& other) const { return spread < other.spread; }
  };

  [[nodiscard]] cell cell_of(std::size_t begin, std::size_t end) const {
    cell c{begin, end, members_[begin].at, members_[begin].at, 0, 0.0};
    double weight = 0.0;
    for (std::size_t k = begin; k < end; ++k) {
      weight += members_[k].weight;
      for (std::size_t i = 0; i < c.low.size(); ++i) {
        c.low[i] = std::min(c.low[i], members_[k].at[i]);
        c.high[i] = std::max(c.high[i], members_[k].at[i]);
      }
    }
    double widest = 0.0;
    double together = 0.0;
    for (std::size_t i = 0; i < c.low.size(); ++i) {
      // All of them may be 0.
      double const width = c.high[i] > c.low[i] ? elementary::log(c.high[i] / c.low[i]) : 0.0;
      together += width;
      if (width > widest) {
        widest = width;
        c.axis = i;
      }
    }
    c.spread = together > close_ ? weight * together : 0.0;
    return c;
  }

  std::vector<member> members_;
  double close_;
  std::vector<cell> cells_;
};

}  // namespace tacit::detail
