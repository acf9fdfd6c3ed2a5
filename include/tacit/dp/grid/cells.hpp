// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/sum.hpp>
#include <tacit/dp/grid/source.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <variant>
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
struct loss_cell {
  std::int64_t node = 0;
  std::int64_t stride = 1;  // the far tails get wide cells
  double at = 0.0;          // on the lower node itself; the rest is
  double low = 0.0;         // Σ p·(1−u)
  double high = 0.0;        // Σ p·u
  double cross = 0.0;       // Σ p·u(1−u)
  double tent = 0.0;        // Σ p·u(1−u)·e^v
};

/// What follows from a cell's width.
class cell_width {
 public:
  cell_width(double step, double tilt) : step_(step), tilt_(tilt) {}
  void of(loss_cell const& cell) {
    if (cell.stride == stride_) return;
    stride_ = cell.stride;
    width = step_ * static_cast<double>(stride_);
    lift = std::exp(tilt_ * width);
    above = -std::expm1(-width);
    below = std::expm1(width);
  }

  double width = 0.0;
  double lift = 1.0;   // tilt at the upper node over tilt at the lower
  double above = 0.0;  // an outcome at u has R − R(lower node) = above·u in its own R, …
  double below = 0.0;  // … and R(upper node) − R = below·(1−u)

 private:
  double step_;
  double tilt_;
  std::int64_t stride_ = 0;
};

/// Masses at the losses index·step (+ an origin kept elsewhere), index = first, first+1, …; they sum to
/// 1, and e^{log_norm} times them are the tilted masses.
struct grid_measure {
  std::int64_t first = 0;
  std::vector<double> mass;
  double log_norm = 0.0;
};

/// Scales to sum 1 and cuts empty ends. False if there is nothing to scale.
inline bool normalise(grid_measure& measure) {
  // Less than any distance that is ever claimed, and slow to compute with.
  auto const full = [](double mass) { return mass > 1e-200; };
  auto const begin = std::find_if(measure.mass.begin(), measure.mass.end(), full);
  if (begin == measure.mass.end()) return false;
  auto const end = std::find_if(measure.mass.rbegin(), measure.mass.rend(), full).base();
  measure.first += begin - measure.mass.begin();
  measure.mass.erase(end, measure.mass.end());
  measure.mass.erase(measure.mass.begin(), begin);
  compensated_sum<double> total;
  for (double& mass : measure.mass) {
    if (!full(mass)) mass = 0.0;
    total += mass;
  }
  if (!(total.value() <= std::numeric_limits<double>::max())) return false;
  for (double& mass : measure.mass) mass /= total.value();
  measure.log_norm += std::log(total.value());
  return true;
}

/// A measure without mass on the nodes of these cells.
[[nodiscard]] inline grid_measure nodes_of(std::vector<loss_cell> const& cells) {
  std::int64_t const last = cells.back().node + cells.back().stride;
  auto const size = static_cast<std::size_t>(last - cells.front().node) + 1;
  return {cells.front().node, std::vector<double>(size, 0.0), 0.0};
}

/// The pair above: each cell's mass between its two nodes, u of an outcome's P-mass to the upper one
/// (connect-the-dots: Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022).
[[nodiscard]] inline grid_measure spread(std::vector<loss_cell> const& cells, double step,
                                         double tilt) {
  cell_width width(step, tilt);
  grid_measure out = nodes_of(cells);
  for (loss_cell const& cell : cells) {
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
[[nodiscard]] inline grid_measure contract(std::vector<loss_cell> const& cells, double step,
                                           double tilt) {
  cell_width width(step, tilt);
  grid_measure out = nodes_of(cells);
  auto const place = [&](std::int64_t at) -> double& {
    return out.mass[static_cast<std::size_t>(at - out.first)];
  };
  std::size_t const all = cells.size();
  std::vector<double> height(all, 0.0);
  // P's mass from a node up, δ at the node, and δ less P − xQ there; in passing, Q's mass above and below
  // in units of the node's R.
  std::vector<double> from_here(all + 1, 0.0);
  std::vector<double> delta(all + 1, 0.0);
  std::vector<double> beneath(all + 1, 0.0);
  double q = 0.0;
  for (std::size_t j = all; j-- > 0;) {
    loss_cell const& cell = cells[j];
    width.of(cell);
    double const inside = cell.low + cell.high;
    height[j] = width.above * cell.tent;
    from_here[j] = cell.at + inside + from_here[j + 1] / width.lift;
    delta[j] = width.above * cell.high + (delta[j + 1] + width.above * q) / width.lift;
    q = cell.at + inside - width.above * cell.high + (1.0 - width.above) * q / width.lift;
  }
  q = 0.0;
  for (std::size_t j = 0; j < all; ++j) {
    loss_cell const& cell = cells[j];
    width.of(cell);
    q += cell.at;
    beneath[j + 1] = width.lift * (beneath[j] + width.below * (q + cell.low));
    q = width.lift * (1.0 + width.below) * (q + cell.low + cell.high - width.above * cell.high);
  }

  std::vector<double> lowered(all + 1, 0.0);
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
    double const below = gap_below(n - 1);
    loss_cell const& last = cells[n - 1];
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
  std::vector<double> mass(n + 1, 0.0);
  double from_below = 0.0;
  double bend_below = 0.0;
  for (std::size_t j = first; j < n; ++j) {
    width.of(cells[j]);
    double const rise = lowered[j + 1] / width.lift - lowered[j];
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
      double const to_next = step * static_cast<double>(node[k] - node[j]);
      double share = 1.0;
      if (!kept.empty()) {
        std::size_t const i = kept.back();
        double const back = step * static_cast<double>(node[j] - node[i]);
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
/// For isolated atoms, which have nobody to merge with. An outcome's node is its loss plus noise in
/// [−v, w−v]; Chernoff for the sum of the noises, e^{λx} by its chord over the cell.
[[nodiscard]] inline double spread_shift(std::vector<loss_cell> const& cells, double step,
                                         double tilt, double count, double log_odds) {
  struct noise {
    double width;
    double down;
    double up;
  };
  std::vector<noise> noises;
  cell_width width(step, tilt);
  double total = 0.0;
  double variance = 0.0;
  for (loss_cell const& cell : cells) {
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
  auto const bound = [&](double lambda) {
    double excess = 0.0;
    for (noise const& n : noises) {
      excess += n.up * std::expm1(lambda * n.width) + n.down * std::expm1(-lambda * n.width);
    }
    return (count * std::log1p(excess / total) + log_odds) / lambda;
  };
  double const lambda = std::sqrt(2.0 * log_odds * total / (count * variance));
  double shift = std::numeric_limits<double>::infinity();
  for (double const factor : {0.3, 0.5, 0.7, 1.0, 1.4, 2.0}) {
    double const here = bound(factor * lambda);
    if (here < shift) shift = here;
  }
  return shift * (1.0 + 1e-12);
}

/// Gauss–Legendre on [0, 1].
struct unit_rule {
  std::span<double const> node;
  std::span<double const> weight;
};

/// The rule whose error is below 1e-16 of an integrand f·(1−e^{−v}) on an interval of this width times
/// roughness: (n!)⁴/((2n+1)(2n)!³)·x^{2n}·(1+2n/x) (Abramowitz & Stegun 25.4.30). Up to ½.
[[nodiscard]] inline unit_rule gauss_legendre(double rough_width) {
  static constexpr std::array<double, 2> n2{0.21132486540518711775, 0.78867513459481288225};
  static constexpr std::array<double, 2> w2{0.5, 0.5};
  static constexpr std::array<double, 3> n3{0.11270166537925831148, 0.5, 0.88729833462074168852};
  static constexpr std::array<double, 3> w3{0.27777777777777777778, 0.44444444444444444444,
                                            0.27777777777777777778};
  static constexpr std::array<double, 4> n4{0.069431844202973712388, 0.33000947820757186760,
                                            0.66999052179242813240, 0.93056815579702628761};
  static constexpr std::array<double, 4> w4{0.17392742256872692869, 0.32607257743127307131,
                                            0.32607257743127307131, 0.17392742256872692869};
  static constexpr std::array<double, 6> n6{0.033765242898423986094, 0.16939530676686774317,
                                            0.38069040695840154568,  0.61930959304159845432,
                                            0.83060469323313225683,  0.96623475710157601391};
  static constexpr std::array<double, 6> w6{0.085662246189585172520, 0.18038078652406930378,
                                            0.23395696728634552370,  0.23395696728634552370,
                                            0.18038078652406930378,  0.085662246189585172520};
  if (rough_width < 4e-5) return {n2, w2};
  if (rough_width < 6e-3) return {n3, w3};
  if (rough_width < 0.06) return {n4, w4};
  return {n6, w6};
}

/// e^x − 1 where |x| is often small.
[[nodiscard]] inline double short_expm1(double x) {
  if (std::abs(x) < 0.01) {
    return x * (1.0 + x * (1.0 / 2 + x * (1.0 / 6 + x * (1.0 / 24 + x * (1.0 / 120 + x / 720)))));
  }
  return std::expm1(x);
}

/// The nodes of a source: even in the bulk of its tilted law, ever wider apart in the tails.
struct cell_plan {
  std::int64_t first = 0;
  std::int64_t last = 0;
  // Between the first of either kind every node; the stride doubles at every mark outwards.
  std::vector<std::int64_t> marks_down;
  std::vector<std::int64_t> marks_up;
};

[[nodiscard]] inline std::vector<loss_cell> cells_of(cell_plan const& plan) {
  std::vector<loss_cell> cells;
  std::int64_t const inner = !plan.marks_down.empty() ? plan.marks_down.front()
                             : !plan.marks_up.empty() ? plan.marks_up.front()
                                                      : plan.first;
  std::int64_t const middle = std::clamp(inner, plan.first, plan.last);
  auto const walk = [&](std::int64_t sign, std::int64_t end,
                        std::vector<std::int64_t> const& marks) {
    std::int64_t stride = 1;
    std::size_t mark = 0;
    for (std::int64_t at = middle; at != end;) {
      while (mark < marks.size() && sign * (at - marks[mark]) >= 0) {
        ++mark;
        stride *= 2;
      }
      std::int64_t const width = std::min(stride, sign * (end - at));
      loss_cell cell;
      cell.node = sign > 0 ? at : at - width;
      cell.stride = width;
      cells.push_back(cell);
      at += sign * width;
    }
  };
  walk(-1, plan.first, plan.marks_down);
  std::reverse(cells.begin(), cells.end());
  walk(1, plan.last, plan.marks_up);
  return cells;
}

/// Halves the cell around a position, in steps, until that has a stride of 1: a heavy atom in a wide
/// cell keeps the pair below from passing it, whatever the tilt makes of its mass.
inline void split_at(std::vector<loss_cell>& cells, double position) {
  auto const next = std::partition_point(cells.begin(), cells.end(), [&](loss_cell const& c) {
    return static_cast<double>(c.node) <= position;
  });
  if (next == cells.begin()) return;
  auto k = static_cast<std::size_t>(next - cells.begin()) - 1;
  while (cells[k].stride > 1) {
    loss_cell upper = cells[k];
    cells[k].stride /= 2;
    upper.node += cells[k].stride;
    upper.stride -= cells[k].stride;
    cells.insert(cells.begin() + static_cast<std::ptrdiff_t>(k) + 1, upper);
    if (static_cast<double>(upper.node) <= position) ++k;
  }
}

/// Puts a source on the cells of a grid with nodes origin + index·step.
class cell_filler {
 public:
  cell_filler(loss_source const& source, std::vector<loss_cell> cells, double step, double origin,
              double tilt, double log_scale)
      : cells_(std::move(cells)),
        width_(step, tilt),
        step_(step),
        origin_(origin),
        tilt_(tilt),
        log_scale_(log_scale) {
    for (loss_atom const& atom : source.atoms) put(atom);
    for (loss_curve_part const& part : source.curves) {
      std::visit([this](auto const& curve) { put_curve(curve); }, part);
    }
  }

  [[nodiscard]] std::vector<loss_cell> const& cells() const { return cells_; }
  /// How far the masses are off, in units of the roundoff and of all of them together.
  [[nodiscard]] double mass_error() const { return total_ > 0.0 ? wear_ / total_ : 0.0; }

 private:
  [[nodiscard]] double node_loss(loss_cell const& cell) const {
    return origin_ + step_ * static_cast<double>(cell.node);
  }
  [[nodiscard]] double width(loss_cell const& cell) const {
    return step_ * static_cast<double>(cell.stride);
  }

  double tilted(loss_cell const& cell, double log_p, double weight) {
    double const exponent = log_p + tilt_ * node_loss(cell) - log_scale_;
    double const p = weight * std::exp(exponent);
    total_ += p;
    wear_ += p * (8.0 + 2.0 * std::abs(log_p) + 2.0 * std::abs(exponent - log_p) +
                  2.0 * std::abs(log_scale_));
    return p;
  }

  void add(loss_cell& cell, double v, double log_p, double weight) {
    double const p = tilted(cell, log_p, weight);
    width_.of(cell);
    double const u = std::min(1.0, -short_expm1(-v) / width_.above);
    double const raise = short_expm1(width_.width - v);
    double const rest = std::min(1.0, raise / width_.below);
    // e^v·(1−u) = (1−e^{v−w})/(1−e^{−w}), which no width makes overflow
    double const tent = std::min(1.0, raise / (1.0 + raise) / width_.above);
    cell.low += p * rest;
    cell.high += p * u;
    cell.cross += p * u * rest;
    cell.tent += p * u * tent;
  }

  // The last cell that begins at or below the loss.
  [[nodiscard]] std::size_t cell_below(double loss) const {
    double const position = (loss - origin_) / step_;
    auto const next = std::partition_point(cells_.begin(), cells_.end(), [&](loss_cell const& c) {
      return static_cast<double>(c.node) <= position;
    });
    return next == cells_.begin() ? 0 : static_cast<std::size_t>(next - cells_.begin()) - 1;
  }

  void put(loss_atom const& atom) {
    if (!(atom.p > 0.0)) return;
    std::size_t k = cell_below(atom.loss);
    double v = std::clamp(atom.loss - node_loss(cells_[k]), 0.0, width(cells_[k]));
    // On a node but for the rounding of its loss.
    double const slack = 8.0 * unit_roundoff * (std::abs(atom.loss) + std::abs(origin_));
    if (width(cells_[k]) - v <= slack && k + 1 < cells_.size()) {
      ++k;
      v = 0.0;
    }
    if (v > slack) {
      add(cells_[k], v, std::log(atom.p), 1.0);
    } else {
      cells_[k].at += tilted(cells_[k], std::log(atom.p), 1.0);
    }
  }

  template <class Curve>
  void put_curve(Curve const& curve) {
    double t = curve.low;
    for (std::size_t k = cell_below(curve.loss(t)); t < curve.high; ++k) {
      bool const last = k + 1 == cells_.size();
      double end = last ? curve.high : curve.parameter(node_loss(cells_[k]) + width(cells_[k]), t);
      if (!(end < curve.high)) end = curve.high;
      if (!(end > t)) continue;
      put_piece(curve, cells_[k], t, end);
      t = end;
    }
  }

  template <class Curve>
  void put_piece(Curve const& curve, loss_cell& cell, double from, double to) {
    double const roughness = std::max(curve.roughness(from), curve.roughness(to));
    double const pieces = std::max(1.0, std::ceil((to - from) * roughness * 2.0));
    double const length = (to - from) / pieces;
    unit_rule const rule = gauss_legendre(length * roughness);
    for (double piece = 0.0; piece < pieces; piece += 1.0) {
      for (std::size_t k = 0; k < rule.node.size(); ++k) {
        double const t = from + length * (piece + rule.node[k]);
        double const loss = curve.loss(t);
        double const log_p = curve.log_density(t, loss);
        if (!(log_p > -std::numeric_limits<double>::infinity())) continue;
        double const v = std::clamp(loss - node_loss(cell), 0.0, width(cell));
        add(cell, v, log_p, length * rule.weight[k]);
      }
    }
  }

  std::vector<loss_cell> cells_;
  cell_width width_;
  double step_;
  double origin_;
  double tilt_;
  double log_scale_;
  double total_ = 0.0;
  double wear_ = 0.0;
};

/// A coarser grid's cells, `ratio` steps of a finer one's masses each.
[[nodiscard]] inline std::vector<loss_cell> gather(grid_measure const& fine, double step,
                                                   double tilt, std::int64_t ratio) {
  auto const coarse = [ratio](std::int64_t index) {
    return index >= 0 ? index / ratio : -((-index + ratio - 1) / ratio);
  };
  std::int64_t const first = coarse(fine.first);
  std::int64_t const last = coarse(fine.first + static_cast<std::int64_t>(fine.mass.size()) - 1);
  std::vector<loss_cell> out(static_cast<std::size_t>(last - first) + 1);
  for (std::size_t k = 0; k < out.size(); ++k) out[k].node = first + static_cast<std::int64_t>(k);
  struct within {
    double low;
    double high;
    double rest;
    double tent;
  };
  std::vector<within> table(static_cast<std::size_t>(ratio));
  double const width = step * static_cast<double>(ratio);
  for (std::size_t k = 0; k < table.size(); ++k) {
    double const v = step * static_cast<double>(k);
    double const lowered = std::exp(-tilt * v);
    double const u = std::expm1(-v) / std::expm1(-width);
    double const rest = std::expm1(width - v) / std::expm1(width);
    double const tent = std::expm1(v - width) / std::expm1(-width);
    table[k] = {rest * lowered, u * lowered, rest, tent};
  }
  for (std::size_t k = 0; k < fine.mass.size(); ++k) {
    std::int64_t const index = fine.first + static_cast<std::int64_t>(k);
    std::int64_t const node = coarse(index);
    auto const place = static_cast<std::size_t>(index - node * ratio);
    loss_cell& cell = out[static_cast<std::size_t>(node - first)];
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
