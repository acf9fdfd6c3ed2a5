// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/dp/agreement.hpp>
#include <tacit/dp/contour/atom_line.hpp>
#include <tacit/dp/grid/atoms.hpp>
#include <tacit/dp/grid/ends.hpp>
#include <tacit/dp/grid/tail.hpp>
#include <tacit/dp/nearest_kept.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

/// Compositions on grids that have answered at one ε, for those near it: their bounds hold at every ε, and are narrow while
/// the tilt suits it.

namespace tacit::detail {

/// A composition of atoms alone, which answers for all ε.
template <std::same_as<double> T = double>
struct composed_atoms {
  atom_composition<T> atoms;
  loss_ends<T> ends;
  bool lower_holds;  // of the ends

  [[nodiscard]] bound<T> delta(T epsilon) const {
    bound<T> best = ends.delta(epsilon);
    if (!lower_holds) best.lower = 0.0;
    narrow(best, ends.with_infinite(atoms.delta(epsilon)));
    return best;
  }
};

/// Lines of listed losses, which answer for the ε near their own. Of laws with curves there are lists above them and below.
template <std::same_as<double> T = double>
struct composed_line {
  atom_line<T> above;
  std::optional<atom_line<T>> below;  // if it is another one
  bool lower_holds;

  [[nodiscard]] T start() const { return above.start(); }
  [[nodiscard]] bound<T> delta(T epsilon) const {
    bound<T> found = above.delta(epsilon).value;
    if (below) found.lower = below->delta(epsilon).value.lower;
    if (!lower_holds) found.lower = 0.0;
    return found;
  }
};

template <std::same_as<double> T = double>
class kept_tails {
 public:
  /// δ(ε) of the nearest one, where it is within a few times `width` of itself.
  [[nodiscard]] std::optional<bound<T>> delta(T epsilon, T width) const {
    if (atoms_) return atoms_->delta(epsilon);
    auto const narrow_enough = [&](bound<T> const& found) {
      return found.upper - found.lower <= 4.0 * width * found.upper;
    };
    if (composed_line<T> const* const nearest = nearest_kept(lines_, epsilon)) {
      bound<T> const found = nearest->delta(epsilon);
      if (narrow_enough(found)) return found;
    }
    if (kept const* const nearest = nearest_kept(all_, epsilon)) {
      bound<T> const found = nearest->tail.delta(epsilon);
      if (narrow_enough(found)) return found;
    }
    return std::nullopt;
  }

  void keep(composed_atoms<T> atoms) { atoms_ = std::move(atoms); }
  void keep(composed_line<T> line) {
    if (lines_.size() == most_lines) lines_.erase(lines_.begin());
    lines_.push_back(std::move(line));
  }
  /// Of what is kept the oldest is dropped where it becomes too much.
  void keep(T epsilon, certified_tail<T> tail) {
    auto const nodes = [](certified_tail<T> const& of) {
      return of.above.law().mass.size() + of.below.law().mass.size();
    };
    nodes_ += nodes(tail);
    all_.push_back({epsilon, std::move(tail)});
    while (all_.size() > 1 && nodes_ > most_nodes) {
      nodes_ -= nodes(all_.front().tail);
      all_.erase(all_.begin());
    }
  }

 private:
  static constexpr std::size_t most_lines = 64;
  static constexpr std::size_t most_nodes = std::size_t{1} << 22;  // 24 bytes each

  struct kept {
    T at;
    certified_tail<T> tail;
    [[nodiscard]] T start() const { return at; }
  };
  std::optional<composed_atoms<T>> atoms_;
  std::vector<composed_line<T>> lines_;
  std::vector<kept> all_;
  std::size_t nodes_ = 0;
};

/// Of one direction, whose pairs may have others above and below them.
template <std::same_as<double> T = double>
struct kept_grids {
  kept_tails<T> above;
  kept_tails<T> below;
};

/// How narrow an answer on a grid is to be, relative to itself, and what it leaves for other ε, if wanted.
template <std::same_as<double> T = double>
struct grid_aim {
  T width;
  kept_tails<T>* keep = nullptr;
  T for_lists = 0.0;  // share of the work that lists of curves have in any case
};

}  // namespace tacit::detail
