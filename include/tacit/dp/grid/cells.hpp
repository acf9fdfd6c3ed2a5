// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
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
/// docs/certificates/grid.md, Lemmas 1 to 6.

namespace tacit::detail {

/// P-mass between node `node` and node `node + stride`. With v the loss above the lower node, w the cell's
/// width, and u = (1−e^{−v})/(1−e^{−w}) in [0, 1]; each sum is tilted as at the node it belongs to:
template <std::same_as<double> T = double>
struct loss_cell {
  std::int64_t node = 0;
  std::int64_t stride = 1;  // the far tails get wide cells
  T at = 0.0;               // on the lower node itself; the rest is
  T low = 0.0;              // Σ p·(1−u), at the lower node
  T high = 0.0;             // Σ p·u, at the upper node
  // Σ p·u(1−u) of atoms, at either node
  T cross_low = 0.0;
  T cross_high = 0.0;
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
    drop = elementary::exp(-tilt_ * width);
    less = elementary::exp(-width);
    above = -elementary::expm1(-width);
    below = elementary::expm1(width);
  }

  T width = 0.0;
  T drop = 1.0;  // tilt at the lower node over tilt at the upper
  T less = 1.0;  // R(lower node) over R(upper node): 1 − above has few of its digits in a wide cell
  T above = 0.0;  // an outcome at u has R − R(lower node) = above·u in its own R, …
  T below = 0.0;  // … and R(upper node) − R = below·(1−u)

 private:
  T step_;
  T tilt_;
  std::int64_t stride_ = 0;
};

/// A measure without mass on the nodes of these cells.
template <std::same_as<double> T = double>
[[nodiscard]] measure<T> nodes_of(std::vector<loss_cell<T>> const& cells, T step, T tilt) {
  std::int64_t const last = cells.back().node + cells.back().stride;
  auto const size = static_cast<std::size_t>(last - cells.front().node) + 1;
  measure<T> out;
  out.first = cells.front().node;
  out.mass.resize(size, 0.0);
  out.step = step;
  out.tilt = tilt;
  std::int64_t widest = 1;
  for (loss_cell<T> const& cell : cells) widest = std::max(widest, cell.stride);
  T const exponents = (1.0 + tilt) * step * static_cast<T>(widest);
  out.distance = unit_roundoff * (64.0 + 6.0 * exponents);
  return out;
}

/// The pair above: each cell's mass between its two nodes, u of an outcome's P-mass to the upper one
/// (connect-the-dots: Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022). Lemma 3.
template <std::same_as<double> T = double>
[[nodiscard]] measure<T> spread(std::vector<loss_cell<T>> const& cells, T step, T tilt) {
  measure<T> out = nodes_of(cells, step, tilt);
  for (loss_cell<T> const& cell : cells) {
    auto const k = static_cast<std::size_t>(cell.node - out.first);
    out.mass[k] += cell.at + cell.low;
    out.mass[k + static_cast<std::size_t>(cell.stride)] += cell.high;
  }
  return out;
}

/// A pair below: each cell's mass at its lower node. Lemma 4.
template <std::same_as<double> T = double>
[[nodiscard]] measure<T> lowered(std::vector<loss_cell<T>> const& cells, T step, T tilt) {
  cell_width<T> width(step, tilt);
  measure<T> out = nodes_of(cells, step, tilt);
  for (loss_cell<T> const& cell : cells) {
    width.of(cell);
    out.mass[static_cast<std::size_t>(cell.node - out.first)] +=
        cell.at + cell.low + cell.high * width.drop;
  }
  return out;
}

/// A better pair below. As functions of x = e^ε every δ is convex; the pair above is the polygon through δ
/// at the nodes. A polygon that is lower by c_j at node j is below δ if (1−λ)c_j + λc_{j+1} is at least
/// the gap between chord and δ everywhere in the cell. The gap is the sum of one tent an outcome, of height
/// (R−G)(G′−R)/(G′−G) under Q between the nodes' G < G′, a concave function of R: by Jensen at most that of
/// the mean, above·low·high/Q. So c = the larger one of either cell beside the node suffices. What is left
/// is to make the polygon convex where it is not (its lower hull): node after node, a negative mass goes to
/// its neighbours, mean kept. Lemma 5.
///
/// The ends. Below its first node the polygon is the line P − xQ, and nowhere under it: the first node
/// is the last one at which c would be more than δ is above that line. From its last node on it is 0: that is the first one at
/// which c would be more than δ itself. So neither P nor Q loses mass.
template <std::same_as<double> T = double>
[[nodiscard]] measure<T> contract(std::vector<loss_cell<T>> const& cells, T step, T tilt) {
  cell_width<T> width(step, tilt);
  std::size_t const all = cells.size();
  // Bounds of a cell's gap, tilted as at its lower and at its upper node.
  std::vector<T> gap_low(all, 0.0);
  std::vector<T> gap_high(all, 0.0);
  // δ at the node, and δ less P − xQ there; in passing, Q's mass above and below in units of the node's R.
  std::vector<T> delta(all + 1, 0.0);
  std::vector<T> reverse_delta(all + 1, 0.0);
  T q = 0.0;
  for (std::size_t j = all; j-- > 0;) {
    loss_cell<T> const& cell = cells[j];
    width.of(cell);
    T const high = cell.high * width.drop;
    T const in_q = cell.low + high * width.less;
    if (in_q > 0.0) {
      gap_low[j] = width.above * high * (cell.low / in_q);
      gap_high[j] = width.above * cell.high * (cell.low / in_q);
    }
    delta[j] = width.above * high + (delta[j + 1] + width.above * q) * width.drop;
    q = cell.at + in_q + width.less * q * width.drop;
  }
  q = 0.0;
  for (std::size_t j = 0; j < all; ++j) {
    loss_cell<T> const& cell = cells[j];
    width.of(cell);
    q += cell.at;
    reverse_delta[j + 1] = (reverse_delta[j] + width.below * (q + cell.low)) / width.drop;
    q = (1.0 + width.below) * (q + cell.low) / width.drop + cell.high;
  }

  std::vector<T> lower(all + 1, 0.0);
  std::size_t first = 0;
  std::size_t n = all;
  for (std::size_t j = 1; j < all; ++j) {
    lower[j] = std::max(gap_high[j - 1], gap_low[j]);
    if (!(lower[j] <= reverse_delta[j])) first = j;
  }
  // From the first node to the next the gap's whole slope falls on the next.
  lower[first] = reverse_delta[first];
  auto const gap_below = [&](std::size_t j) {
    if (j != first + 1) return gap_high[j - 1];
    width.of(cells[first]);
    return width.below * cells[first].low / width.drop;
  };
  for (std::size_t j = first + 1; j < all; ++j) {
    lower[j] = std::max(gap_below(j), gap_low[j]);
    if (!(lower[j] <= delta[j])) {
      n = j;
      break;
    }
  }
  for (; n >= first + 2; --n) {
    // From the last node but one to the last, on the last but one.
    T const below = gap_below(n - 1);
    loss_cell<T> const& last = cells[n - 1];
    width.of(last);
    lower[n - 1] = std::max(below, width.above * last.high * width.drop);
    if (lower[n - 1] <= delta[n - 1]) break;
  }
  if (n < first + 2) return lowered(cells, step, tilt);
  lower[n] = delta[n];

  // The masses are the bends of the polygon; sizes are what their terms sum to, of which rounding is a part: `wear`, in
  // units of the roundoff. What an end's long sum is off by is in the masses next to it.
  std::vector<T> mass(n + 1, 0.0);
  std::vector<T> size(n + 1, 0.0);
  T from_below = 0.0;
  T bend_below = 0.0;
  T bend_size = 0.0;
  T widest = 0.0;
  T long_first = 0.0;
  T long_next = 0.0;
  for (std::size_t j = first; j < n; ++j) {
    width.of(cells[j]);
    widest = std::max(widest, width.width);
    T const next = lower[j + 1] * width.drop;
    if (j == first) {
      T const to_next = width.drop / width.below;
      mass[j] = (reverse_delta[j + 1] - lower[j + 1]) * to_next;
      size[j] = reverse_delta[j + 1] * to_next;
      long_first = size[j];
      long_next = lower[j] / (width.above * width.drop);
    } else {
      T const own = cells[j].at + cells[j].low + from_below;
      mass[j] = own - (next - lower[j]) / width.below + bend_below;
      size[j] = own + (next + lower[j]) / width.below + bend_size;
    }
    from_below = cells[j].high;
    bend_below = (next - lower[j]) / (width.above * width.drop);
    bend_size = (next + lower[j]) / (width.above * width.drop);
  }
  T const to_last = 1.0 / (width.above * width.drop);
  mass[n] = (delta[n - 1] - lower[n - 1]) * to_last;
  size[n] = delta[n - 1] * to_last;
  T const exponents = 1.0 + tilt;
  T const range = step * static_cast<T>(cells.back().node + cells.back().stride - cells[0].node);
  T const units_of_one = 24.0 + 4.0 * exponents * widest;
  T const units_of_long = 16.0 * static_cast<T>(all) + 2.0 * exponents * range;
  std::vector<T> wear(n + 1, 0.0);
  for (std::size_t j = first; j <= n; ++j) wear[j] = units_of_one * size[j];
  wear[first] += units_of_long * long_first;
  wear[first + 1] += units_of_long * long_next;
  wear[n - 1] += units_of_long * (delta[n] * width.drop / width.below);
  wear[n] += units_of_long * size[n];

  measure<T> out = nodes_of(cells, step, tilt);
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
      T moved = wear[j] + (20.0 + 2.0 * exponents * to_next) * size[j];
      if (!kept.empty()) {
        std::size_t const i = kept.back();
        T const back = step * static_cast<T>(node[j] - node[i]);
        moved += 2.0 * exponents * back * size[j];
        T const whole = elementary::expm1(-(back + to_next));
        share = elementary::expm1(-back) / whole;
        T const rest = elementary::exp(-back) * (elementary::expm1(-to_next) / whole);
        T const down = rest * elementary::exp(-tilt * back);
        mass[i] += mass[j] * down;
        size[i] += size[j] * down;
        wear[i] += moved * down + size[i];
      }
      T const up = share * elementary::exp(tilt * to_next);
      mass[k] += mass[j] * up;
      size[k] += size[j] * up;
      wear[k] += moved * up + size[k];
      mass[j] = 0.0;
    }
    kept.push_back(k);
  }
  T total = 0.0;
  T all_wear = 0.0;
  for (std::size_t const k : kept) {
    out.mass[static_cast<std::size_t>(node[k] - out.first)] = mass[k];
    total += mass[k];
    all_wear += wear[k];
  }
  // The last mass may not be negative, and the first is a long sum.
  if (!(mass[n] >= 0.0 && total > 0.0 && total < 1e300 && all_wear < 1e300)) {
    return lowered(cells, step, tilt);
  }
  out.distance += unit_roundoff * all_wear / total;
  return out;
}

/// How much lower than the losses of the spread atoms the true ones may be, over `count` releases of tilted
/// mass `total`, but for a tilted probability of e^{−log_odds}: another pair below is the one above, moved
/// by that much (Lemma 6). An outcome's node is its loss plus noise in [−v, w−v]; Chernoff for the sum of the
/// noises, e^{λx} by its chord over the cell.
template <std::same_as<double> T = double>
[[nodiscard]] T spread_shift(std::vector<loss_cell<T>> const& atoms, T step, T tilt, T total,
                             T count, T log_odds) {
  struct noise {
    T width;
    T down;
    T up;
  };
  T const unknown = std::numeric_limits<T>::infinity();
  std::vector<noise> noises;
  cell_width<T> width(step, tilt);
  T variance = 0.0;
  for (loss_cell<T> const& cell : atoms) {
    if (cell.cross_low == 0.0 && cell.cross_high == 0.0) continue;
    width.of(cell);
    if (noises.empty() || noises.back().width != width.width)
      noises.push_back({width.width, 0.0, 0.0});
    // v ≥ above·u and w−v ≤ below·(1−u)
    noises.back().down += width.above * cell.cross_low / width.width;
    noises.back().up += width.below * cell.cross_high / width.width;
    variance += (cell.cross_low + cell.cross_high) * width.width * width.width;
  }
  if (!(total > 0.0)) return unknown;
  if (noises.empty()) return 0.0;
  T const lambda = std::sqrt(2.0 * log_odds * total / (count * variance));
  T shift = unknown;
  for (T const factor : {0.3, 0.5, 0.7, 1.0, 1.4, 2.0}) {
    T const at = factor * lambda;
    T excess = 0.0;
    for (noise const& n : noises) {
      excess += n.up * elementary::expm1(at * n.width) + n.down * elementary::expm1(-at * n.width);
    }
    T const here = (count * elementary::log1p(excess / total) + log_odds) / at;
    if (here < shift) shift = here;
  }
  return shift * (1.0 + 1e-12);
}

/// A coarser grid's cells, `ratio` steps of a finer one's masses each.
template <std::same_as<double> T = double>
[[nodiscard]] std::vector<loss_cell<T>> gather(measure<T> const& fine, std::int64_t ratio) {
  std::int64_t const end = fine.first + static_cast<std::int64_t>(fine.mass.size());
  std::int64_t const first = coarse_index(fine.first, ratio);
  std::int64_t const last = coarse_index(end - 1, ratio);
  std::vector<loss_cell<T>> out(static_cast<std::size_t>(last - first) + 1);
  for (std::size_t k = 0; k < out.size(); ++k) out[k].node = first + static_cast<std::int64_t>(k);
  struct within {
    T low;
    T high;
  };
  std::vector<within> table(static_cast<std::size_t>(ratio));
  T const width = fine.step * static_cast<T>(ratio);
  for (std::size_t k = 1; k < table.size(); ++k) {
    T const v = fine.step * static_cast<T>(k);
    T const u = elementary::expm1(-v) / elementary::expm1(-width);
    T const rest = elementary::exp(-v) * elementary::expm1(v - width) / elementary::expm1(-width);
    table[k] = {rest * elementary::exp(-fine.tilt * v),
                u * elementary::exp(fine.tilt * (width - v))};
  }
  for (std::size_t k = 0; k < fine.mass.size(); ++k) {
    std::int64_t const index = fine.first + static_cast<std::int64_t>(k);
    std::int64_t const node = coarse_index(index, ratio);
    auto const place = static_cast<std::size_t>(index - node * ratio);
    loss_cell<T>& cell = out[static_cast<std::size_t>(node - first)];
    if (place == 0) {
      cell.at = fine.mass[k];
    } else {
      cell.low += fine.mass[k] * table[place].low;
      cell.high += fine.mass[k] * table[place].high;
    }
  }
  return out;
}

}  // namespace tacit::detail
