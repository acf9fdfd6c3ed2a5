// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/contour/search.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <vector>

/// Many distinct sampled Gaussians as fewer: above all of them, and below.

namespace tacit::detail {

/// Entries of a composition in cells of similar ones.
template <std::same_as<double> T = double>
class entry_cells {
 public:
  using entries = std::vector<contour_entry<T>>;

  /// At most `most` cells, found by halving, always the cell whose rates and shifts spread the moments the most.
  /// Nothing where persons have several records.
  [[nodiscard]] static std::optional<entry_cells> of(entries const& all, std::size_t most) {
    entry_cells out;
    out.points_.reserve(all.size());
    for (contour_entry<T> const& e : all) {
      if (e.pair.parts.size() != 1) return std::nullopt;
      auto const& [weight, shift] = e.pair.parts[0];
      T const square = elementary::expm1(std::min(50.0, shift * shift));
      out.points_.push_back({{weight, shift}, e.count, e.count * weight * weight * square});
    }
    out.cells_.push_back(out.cell_of(0, all.size()));
    std::vector<cell>& heap = out.cells_;
    while (heap.size() < most && heap.front().spread > 0.0) {
      std::pop_heap(heap.begin(), heap.end());
      cell const widest = heap.back();
      heap.pop_back();
      std::size_t const middle = widest.begin + (widest.end - widest.begin) / 2;
      auto const at = [&](std::size_t k) {
        return out.points_.begin() + static_cast<std::ptrdiff_t>(k);
      };
      std::nth_element(at(widest.begin), at(middle), at(widest.end),
                       [axis = widest.axis](point const& a, point const& b) {
                         return a.numbers[axis] < b.numbers[axis];
                       });
      for (cell const& half :
           {out.cell_of(widest.begin, middle), out.cell_of(middle, widest.end)}) {
        heap.push_back(half);
        std::push_heap(heap.begin(), heap.end());
      }
    }
    return out;
  }

  /// One entry a cell, of its extreme rate and shift: a composition above, or below. Profiles rise in each number
  /// (Lemma 13 of docs/certificates/grid.md) and in the count.
  [[nodiscard]] entries rounded(bool up, orientation towards) const {
    entries out;
    out.reserve(cells_.size());
    // No engine takes a rate of 1e-200: a negligible one is raised to what is still negligible, or left out.
    T const negligible = 1e-12 * largest_rate();
    for (cell const& c : cells_) {
      auto const& [rate, shift] = up ? c.high : c.low;
      if (!up && rate < negligible) continue;
      T const weight = std::max(rate, negligible);
      T count = 0.0;
      for (std::size_t k = c.begin; k < c.end; ++k) count += points_[k].count;
      // Whole numbers, of which sums are exact up to 2⁵³.
      if (count > 0x1p53) {
        T const slack = static_cast<T>(c.end - c.begin) * unit_roundoff;
        count = up ? std::ceil(count * (1.0 + slack)) : std::floor(count * (1.0 - slack));
      }
      out.push_back({mixture_pair{{{weight, shift}}, towards}, count});
    }
    return out;
  }

 private:
  using rate_and_shift = std::array<T, 2>;
  struct point {
    rate_and_shift numbers;
    T count;
    T weight;  // about its part of the second moment
  };
  struct cell {
    std::size_t begin;
    std::size_t end;
    rate_and_shift low;
    rate_and_shift high;
    std::size_t axis;  // in which it is the wider
    T spread;
    bool operator<(cell const& other) const { return spread < other.spread; }
  };

  [[nodiscard]] T largest_rate() const {
    T largest = 0.0;
    for (cell const& c : cells_) largest = std::max(largest, c.high[0]);
    return largest;
  }

  [[nodiscard]] cell cell_of(std::size_t begin, std::size_t end) const {
    cell c{begin, end, points_[begin].numbers, points_[begin].numbers, 0, 0.0};
    T weight = 0.0;
    for (std::size_t k = begin; k < end; ++k) {
      weight += points_[k].weight;
      for (std::size_t i = 0; i < 2; ++i) {
        c.low[i] = std::min(c.low[i], points_[k].numbers[i]);
        c.high[i] = std::max(c.high[i], points_[k].numbers[i]);
      }
    }
    T const rates = elementary::log(c.high[0] / c.low[0]);
    T const shifts = elementary::log(c.high[1] / c.low[1]);
    c.axis = rates < shifts ? 1 : 0;
    c.spread = weight * (rates + shifts);
    return c;
  }

  std::vector<point> points_;
  std::vector<cell> cells_;
};

}  // namespace tacit::detail
