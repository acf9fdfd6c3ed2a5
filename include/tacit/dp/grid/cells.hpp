// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/grid/measure.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// From the law of one release's loss to masses on a grid: a pair above it and a pair below it.
///
/// All masses here are tilted, p·e^{θ·loss}, and scaled to sum 1, so that the far tail that decides a
/// small δ is the bulk of what floating point sees.
///
/// What may be done. δ(ε) = E_Q[(R−e^ε)⁺] with R = dP/dQ, and for measures P′, Q′ that need not have
/// mass 1 as well. If δ′ ≤ δ at every real ε for one factor of a composition, so it is for the
/// composition: δ_{A∘B}(ε) = ∫ δ_A(ε−s) dP_B(s), and the factors commute. Hence
///   above: splitting an outcome's P- and Q-mass between the nodes beside it, both kept (a mean-
///          preserving spread of R under Q), and moving P-mass to a higher loss;
///   below: merging outcomes (data processing: a contraction of R under Q), moving P-mass to a lower
///          loss, and dropping P-mass.

namespace tacit::detail {

/// P-mass between node `node` and node `node + stride`, tilted as at the lower one. With v the loss
/// above that node, w the cell's width, and u = (1−e^{−v})/(1−e^{−w}) in [0, 1]:
template <std::same_as<double> T = double>
struct loss_cell {
  std::int64_t node = 0;
  std::int64_t stride = 1;  // the far tails get wide cells
  T at = 0.0;               // on the lower node itself; the rest is
  T low = 0.0;              // Σ p·(1−u)
  T high = 0.0;             // Σ p·u
  T cross = 0.0;            // Σ p·u(1−u)
  T tent = 0.0;             // Σ p·u(1−u)·e^v
};

/// What follows from a cell's width.
template <std::same_as<double> T = double>
class cell_width {
 public:
  cell_width(T step, T tilt) : step_(step), tilt_(tilt) {}
  void of(loss_cell<T> const& cell) {
    if (cell.stride == stride_) return;
    stride_ = cell.stride;
    width = step_ * static_cast<T>(stride_);
    lift = std::exp(tilt_ * width);
    above = -std::expm1(-width);
    below = std::expm1(width);
  }

  T width = 0.0;
  T lift = 1.0;   // tilt at the upper node over tilt at the lower
  T above = 0.0;  // an outcome at u has R − R(lower node) = above·u in its own R, …
  T below = 0.0;  // … and R(upper node) − R = below·(1−u)

 private:
  T step_;
  T tilt_;
  std::int64_t stride_ = 0;
};

/// A measure without mass on the nodes of these cells.
template <std::same_as<double> T = double>
[[nodiscard]] grid_measure<T> nodes_of(std::vector<loss_cell<T>> const& cells) {
  std::int64_t const last = cells.back().node + cells.back().stride;
  auto const size = static_cast<std::size_t>(last - cells.front().node) + 1;
  return {cells.front().node, std::vector<T>(size, 0.0), 0.0};
}

/// The pair above: each cell's mass between its two nodes, u of an outcome's P-mass to the upper one
/// (connect-the-dots: Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022).
template <std::same_as<double> T = double>
[[nodiscard]] grid_measure<T> spread(std::vector<loss_cell<T>> const& cells, T step, T tilt) {
  cell_width<T> width(step, tilt);
  grid_measure<T> out = nodes_of(cells);
  for (loss_cell<T> const& cell : cells) {
    width.of(cell);
    auto const k = static_cast<std::size_t>(cell.node - out.first);
    out.mass[k] += cell.at + cell.low;
    out.mass[k + static_cast<std::size_t>(cell.stride)] += cell.high * width.lift;
  }
  return out;
}

/// The pair below. As functions of x = e^ε every δ is convex; the pair above is the polygon through δ at the
/// nodes. A polygon that is lower by c_j at node j is below δ if (1−λ)c_j + λc_{j+1} is at least the gap
/// between chord and δ everywhere in the cell. The gap is the sum of one tent an outcome, of height
/// (R−G)(G′−R)/(G′−G) under Q between the nodes' G < G′: so c = Σ of those heights, in either cell beside the
/// node, suffices. In smooth places this lowers δ as much as the pair above raises it. What is left is to
/// make the polygon convex where it is not (its lower hull): node after node, a negative mass goes to its
/// neighbours, mean kept.
///
/// The ends. Below its first node the polygon is the line P − xQ, and nowhere under it: the first node
/// is the last one at which c would be more than δ is above that line. At its last node it is 0: where c is
/// more than δ itself, all that lies above moves down to that node.
template <std::same_as<double> T = double>
[[nodiscard]] grid_measure<T> contract(std::vector<loss_cell<T>> const& cells, T step, T tilt) {
  cell_width<T> width(step, tilt);
  grid_measure<T> out = nodes_of(cells);
  auto const place = [&](std::int64_t at) -> T& {
    return out.mass[static_cast<std::size_t>(at - out.first)];
  };
  std::size_t const all = cells.size();
  std::vector<T> height(all, 0.0);
  // P's mass from a node up, δ at the node, and δ less P − xQ there; in passing, Q's mass above and below
  // in units of the node's R.
  std::vector<T> from_here(all + 1, 0.0);
  std::vector<T> delta(all + 1, 0.0);
  std::vector<T> beneath(all + 1, 0.0);
  T q = 0.0;
  for (std::size_t j = all; j-- > 0;) {
    loss_cell<T> const& cell = cells[j];
    width.of(cell);
    T const inside = cell.low + cell.high;
    height[j] = width.above * cell.tent;
    from_here[j] = cell.at + inside + from_here[j + 1] / width.lift;
    delta[j] = width.above * cell.high + (delta[j + 1] + width.above * q) / width.lift;
    q = cell.at + inside - width.above * cell.high + (1.0 - width.above) * q / width.lift;
  }
  q = 0.0;
  for (std::size_t j = 0; j < all; ++j) {
    loss_cell<T> const& cell = cells[j];
    width.of(cell);
    q += cell.at;
    beneath[j + 1] = width.lift * (beneath[j] + width.below * (q + cell.low));
    q = width.lift * (1.0 + width.below) * (q + cell.low + cell.high - width.above * cell.high);
  }

  std::vector<T> lowered(all + 1, 0.0);
  std::size_t first = 0;
  std::size_t n = all;
  for (std::size_t j = 1; j < all; ++j) {
    width.of(cells[j - 1]);
    lowered[j] = std::max(height[j - 1] * width.lift, height[j]);
    if (lowered[j] > beneath[j]) first = j;
  }
  // From the first node to the next the gap's whole slope falls on the next.
  lowered[first] = beneath[first];
  auto const gap_below = [&](std::size_t j) {
    width.of(cells[j - 1]);
    return (j == first + 1 ? width.below * cells[first].low : height[j - 1]) * width.lift;
  };
  for (std::size_t j = first + 1; j < all; ++j) {
    lowered[j] = std::max(gap_below(j), height[j]);
    if (lowered[j] > delta[j]) {
      n = j;
      break;
    }
  }
  for (; n >= first + 2; --n) {
    // From the last node but one to the last, on the last but one: δ of what is now above it permitting.
    T const below = gap_below(n - 1);
    loss_cell<T> const& last = cells[n - 1];
    width.of(last);
    lowered[n - 1] = std::max(below, width.above * last.high);
    if (lowered[n - 1] <= width.above * (last.high + from_here[n] / width.lift)) break;
  }
  if (n < first + 2) {
    place(cells[0].node) = from_here[0];
    return out;
  }
  lowered[n] = 0.0;

  // The masses are the bends of the polygon.
  std::vector<T> mass(n + 1, 0.0);
  T from_below = 0.0;
  T bend_below = 0.0;
  for (std::size_t j = first; j < n; ++j) {
    width.of(cells[j]);
    T const rise = lowered[j + 1] / width.lift - lowered[j];
    mass[j] = j == first
                  ? (beneath[j + 1] - lowered[j + 1]) / (width.below * width.lift)
                  : cells[j].at + cells[j].low + from_below - rise / width.below + bend_below;
    from_below = cells[j].high * width.lift;
    bend_below = rise * width.lift / width.above;
  }
  mass[n] = from_here[n] + from_below + bend_below;

  std::vector<std::int64_t> node;
  for (std::size_t j = 0; j < n; ++j) node.push_back(cells[j].node);
  node.push_back(cells[n - 1].node + cells[n - 1].stride);
  std::vector<std::size_t> kept;
  for (std::size_t k = first; k <= n; ++k) {
    while (!kept.empty() && mass[kept.back()] < 0.0) {
      std::size_t const j = kept.back();
      kept.pop_back();
      T const to_next = step * static_cast<T>(node[k] - node[j]);
      T share = 1.0;
      if (!kept.empty()) {
        std::size_t const i = kept.back();
        T const back = step * static_cast<T>(node[j] - node[i]);
        share = std::expm1(-back) / std::expm1(-(back + to_next));
        mass[i] += mass[j] * (1.0 - share) * std::exp(-tilt * back);
      }
      mass[k] += mass[j] * share * std::exp(tilt * to_next);
      mass[j] = 0.0;
    }
    kept.push_back(k);
  }
  for (std::size_t const k : kept) place(node[k]) = std::max(0.0, mass[k]);
  return out;
}

/// How much lower than the losses of `spread`'s pair the true ones may be, over `count` releases, but
/// for a tilted probability of e^{−log_odds}: another pair below is the one above, moved by that much,
///   δ(ε) ≥ δ_above(ε + shift) − (that probability).
/// For isolated atoms, which no other atom shares a cell with. An outcome's node is its loss plus noise in
/// [−v, w−v]; Chernoff for the sum of the noises, e^{λx} by its chord over the cell.
template <std::same_as<double> T = double>
[[nodiscard]] T spread_shift(std::vector<loss_cell<T>> const& cells, T step, T tilt, T count,
                             T log_odds) {
  struct noise {
    T width;
    T down;
    T up;
  };
  std::vector<noise> noises;
  cell_width<T> width(step, tilt);
  T total = 0.0;
  T variance = 0.0;
  for (loss_cell<T> const& cell : cells) {
    width.of(cell);
    total += cell.at + cell.low + width.lift * cell.high;
    if (noises.empty() || noises.back().width != width.width)
      noises.push_back({width.width, 0.0, 0.0});
    // v ≥ above·u and w−v ≤ below·(1−u)
    noises.back().down += width.above * cell.cross / width.width;
    noises.back().up += width.lift * width.below * cell.cross / width.width;
    variance += 2.0 * cell.cross * width.width * width.width;
  }
  if (!(total > 0.0) || variance == 0.0) return 0.0;
  auto const bound = [&](T lambda) {
    T excess = 0.0;
    for (noise const& n : noises) {
      excess += n.up * std::expm1(lambda * n.width) + n.down * std::expm1(-lambda * n.width);
    }
    return (count * std::log1p(excess / total) + log_odds) / lambda;
  };
  T const lambda = std::sqrt(2.0 * log_odds * total / (count * variance));
  T shift = std::numeric_limits<T>::infinity();
  for (T const factor : {0.3, 0.5, 0.7, 1.0, 1.4, 2.0}) {
    T const here = bound(factor * lambda);
    if (here < shift) shift = here;
  }
  return shift * (1.0 + 1e-12);
}

/// A coarser grid's cells, `ratio` steps of a finer one's masses each.
template <std::same_as<double> T = double>
[[nodiscard]] std::vector<loss_cell<T>> gather(grid_measure<T> const& fine, T step, T tilt,
                                               std::int64_t ratio) {
  auto const coarse = [ratio](std::int64_t index) {
    return index >= 0 ? index / ratio : -((-index + ratio - 1) / ratio);
  };
  std::int64_t const first = coarse(fine.first);
  std::int64_t const last = coarse(fine.first + static_cast<std::int64_t>(fine.mass.size()) - 1);
  std::vector<loss_cell<T>> out(static_cast<std::size_t>(last - first) + 1);
  for (std::size_t k = 0; k < out.size(); ++k) out[k].node = first + static_cast<std::int64_t>(k);
  struct within {
    T low;
    T high;
    T rest;
    T tent;
  };
  std::vector<within> table(static_cast<std::size_t>(ratio));
  T const width = step * static_cast<T>(ratio);
  for (std::size_t k = 0; k < table.size(); ++k) {
    T const v = step * static_cast<T>(k);
    T const lowered = std::exp(-tilt * v);
    T const u = std::expm1(-v) / std::expm1(-width);
    T const rest = std::expm1(width - v) / std::expm1(width);
    T const tent = std::expm1(v - width) / std::expm1(-width);
    table[k] = {rest * lowered, u * lowered, rest, tent};
  }
  for (std::size_t k = 0; k < fine.mass.size(); ++k) {
    std::int64_t const index = fine.first + static_cast<std::int64_t>(k);
    std::int64_t const node = coarse(index);
    auto const place = static_cast<std::size_t>(index - node * ratio);
    loss_cell<T>& cell = out[static_cast<std::size_t>(node - first)];
    if (place == 0) {
      cell.at = fine.mass[k];
      continue;
    }
    within const& t = table[place];
    cell.low += fine.mass[k] * t.low;
    cell.high += fine.mass[k] * t.high;
    cell.cross += fine.mass[k] * t.high * t.rest;
    cell.tent += fine.mass[k] * t.high * t.tent;
  }
  return out;
}

}  // namespace tacit::detail
