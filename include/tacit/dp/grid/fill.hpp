// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/grid/cells.hpp>
#include <tacit/dp/grid/law.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <variant>
#include <vector>

/// A law's masses put into the cells of a grid: atoms one by one, curves by quadrature.

namespace tacit::detail {

/// Gauss–Legendre on [0, 1].
template <std::same_as<double> T = double>
struct unit_rule {
  std::span<T const> node;
  std::span<T const> weight;
};

/// A rule for Σp(1−u) and Σp·u over a stretch of this width times roughness, at most 0.4, of a cell: its error
/// is below 3 units of rounding of the stretch's mass (docs/certificates/grid.md, Lemma 8).
template <std::same_as<double> T = double>
[[nodiscard]] unit_rule<T> gauss_legendre(T rough_width) {
  static constexpr std::array<T, 2> n2{0.21132486540518711775, 0.78867513459481288225};
  static constexpr std::array<T, 2> w2{0.5, 0.5};
  static constexpr std::array<T, 3> n3{0.11270166537925831148, 0.5, 0.88729833462074168852};
  static constexpr std::array<T, 3> w3{0.27777777777777777778, 0.44444444444444444444,
                                       0.27777777777777777778};
  static constexpr std::array<T, 4> n4{0.069431844202973712388, 0.33000947820757186760,
                                       0.66999052179242813240, 0.93056815579702628761};
  static constexpr std::array<T, 4> w4{0.17392742256872692869, 0.32607257743127307131,
                                       0.32607257743127307131, 0.17392742256872692869};
  static constexpr std::array<T, 6> n6{0.033765242898423986094, 0.16939530676686774317,
                                       0.38069040695840154568,  0.61930959304159845432,
                                       0.83060469323313225683,  0.96623475710157601391};
  static constexpr std::array<T, 6> w6{0.085662246189585172520, 0.18038078652406930378,
                                       0.23395696728634552370,  0.23395696728634552370,
                                       0.18038078652406930378,  0.085662246189585172520};
  if (rough_width < 3.5e-5) return {n2, w2};
  if (rough_width < 5.5e-3) return {n3, w3};
  if (rough_width < 0.05) return {n4, w4};
  return {n6, w6};
}

/// e^x − 1 where |x| is often small.
template <std::same_as<double> T = double>
[[nodiscard]] T short_expm1(T x) {
  if (std::abs(x) < 0.01) {
    return x * (1.0 + x * (1.0 / 2 + x * (1.0 / 6 + x * (1.0 / 24 + x * (1.0 / 120 + x / 720)))));
  }
  return elementary::expm1(x);
}

/// The nodes of a law: even in the bulk of its tilted law, ever wider apart in the tails.
struct cell_plan {
  std::int64_t first = 0;
  std::int64_t last = 0;
  // Between the first of either kind every node; the stride doubles at every mark outwards.
  std::vector<std::int64_t> marks_down;
  std::vector<std::int64_t> marks_up;

  [[nodiscard]] std::int64_t middle() const {
    std::int64_t const inner = !marks_down.empty() ? marks_down.front()
                               : !marks_up.empty() ? marks_up.front()
                                                   : first;
    return std::clamp(inner, first, last);
  }
  /// About how many cells there are.
  [[nodiscard]] double size() const {
    auto const side = [&](std::int64_t sign, std::int64_t end,
                          std::vector<std::int64_t> const& marks) {
      double cells = 0.0;
      double stride = 1.0;
      std::int64_t at = middle();
      for (std::int64_t const mark : marks) {
        if (sign * (mark - at) > 0 && sign * (end - mark) >= 0) {
          cells += static_cast<double>(sign * (mark - at)) / stride;
          at = mark;
        }
        stride *= 2.0;
      }
      return cells + 1.0 + static_cast<double>(sign * (end - at)) / stride;
    };
    return side(-1, first, marks_down) + side(1, last, marks_up);
  }
};

template <std::same_as<double> T = double>
[[nodiscard]] std::vector<loss_cell<T>> cells_of(cell_plan const& plan) {
  std::vector<loss_cell<T>> cells;
  std::int64_t const middle = plan.middle();
  cells.reserve(static_cast<std::size_t>(plan.size()) + 8);
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
      loss_cell<T> cell;
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
template <std::same_as<double> T = double>
void split_at(std::vector<loss_cell<T>>& cells, T position) {
  auto const next = std::partition_point(cells.begin(), cells.end(), [&](loss_cell<T> const& c) {
    return static_cast<T>(c.node) <= position;
  });
  if (next == cells.begin()) return;
  auto k = static_cast<std::size_t>(next - cells.begin()) - 1;
  while (cells[k].stride > 1) {
    loss_cell<T> upper = cells[k];
    cells[k].stride /= 2;
    upper.node += cells[k].stride;
    upper.stride -= cells[k].stride;
    cells.insert(cells.begin() + static_cast<std::ptrdiff_t>(k) + 1, upper);
    if (static_cast<T>(upper.node) <= position) ++k;
  }
}

/// Puts a law on the cells of a grid with nodes origin + index·step.
template <std::same_as<double> T = double>
class cell_filler {
 public:
  using cells = std::vector<loss_cell<T>>;

  cell_filler(loss_law<T> const& law, cells const& empty, T step, T origin, T tilt, T log_scale)
      : width_(step, tilt), step_(step), origin_(origin), tilt_(tilt), log_scale_(log_scale) {
    if (!law.atoms.empty()) atoms_ = empty;
    if (!law.curves.empty()) curves_ = empty;
    for (loss_atom<T> const& atom : law.atoms) put(atom);
    for (loss_curve<T> const& part : law.curves) {
      std::visit([this](auto const& curve) { this->put_curve(curve); }, part);
    }
  }

  [[nodiscard]] cells const& atoms() const { return atoms_; }
  [[nodiscard]] cells const& curves() const { return curves_; }
  [[nodiscard]] cells all() const {
    if (curves_.empty()) return atoms_;
    cells out = curves_;
    for (std::size_t k = 0; k < atoms_.size(); ++k) {
      out[k].at += atoms_[k].at;
      out[k].low += atoms_[k].low;
      out[k].high += atoms_[k].high;
    }
    return out;
  }
  /// How far the masses are off, in units of the roundoff and of all of them together.
  [[nodiscard]] T mass_error() const { return total_ > 0.0 ? 16.0 + wear_ / total_ : 0.0; }
  [[nodiscard]] T total() const { return total_; }

  /// What filling that many cells costs.
  [[nodiscard]] static T cost(loss_law<T> const& law, T size, T step) {
    T cost = 180.0 * size + 100.0 * static_cast<T>(law.atoms.size());
    for (loss_curve<T> const& part : law.curves) {
      std::visit(
          [&](auto const& curve) {
            T const range = std::abs(curve.loss(curve.high) - curve.loss(curve.low));
            T const n = std::min(size, 2.0 + range / step);
            T const rough = (curve.high - curve.low) * curve.roughness(curve.low, curve.high);
            T const nodes = n * static_cast<T>(gauss_legendre<T>(rough / n).node.size());
            cost +=
                0.6 * curve.cost() * (nodes + 15.0 * std::min(rough, 1e6)) + n * curve.cell_cost();
          },
          part);
    }
    return cost;
  }

 private:
  [[nodiscard]] T node_loss(loss_cell<T> const& cell) const {
    return origin_ + step_ * static_cast<T>(cell.node);
  }
  [[nodiscard]] T width(loss_cell<T> const& cell) const {
    return step_ * static_cast<T>(cell.stride);
  }

  // Of a mass, and of the sum that it has become a part of. A node's loss is off by 2u of itself and by u of what is added to
  // the origin.
  void count_wear(T p, T log_p, T tilt, T sum) {
    total_ += p;
    wear_ += p * (libm_units + 20.0 * std::abs(log_p) + 6.0 * std::abs(tilt) +
                  tilt_ * (std::abs(origin_) + 8.0 * width_.width) + 2.0 * std::abs(log_scale_)) +
             sum;
  }

  void add(loss_cell<T>& cell, T v, T log_p, T weight, bool atom) {
    width_.of(cell);
    T const u = std::min(1.0, -short_expm1(-v) / width_.above);
    // 1 − u = e^{−v}·(1−e^{v−w})/(1−e^{−w})
    T const rest =
        std::min(1.0, elementary::exp(-v) * -short_expm1(v - width_.width) / width_.above);
    T const tilt_low = tilt_ * node_loss(cell);
    T const tilt_high = tilt_low + tilt_ * width_.width;
    T const p = weight * elementary::exp(log_p + tilt_low - log_scale_);
    T const at_low = p * rest;
    T const at_high = width_.drop > 1e-50
                          ? p * u / width_.drop
                          : weight * u * elementary::exp(log_p + tilt_high - log_scale_);
    cell.low += at_low;
    cell.high += at_high;
    count_wear(at_low, log_p, tilt_low, cell.low);
    count_wear(at_high, log_p, tilt_high, cell.high);
    if (atom) {
      cell.cross_low += at_low * u;
      cell.cross_high += at_high * rest;
    }
  }

  // The last cell that begins at or below the loss.
  [[nodiscard]] std::size_t cell_below(cells const& in, T loss) const {
    T const position = (loss - origin_) / step_;
    auto const next = std::partition_point(in.begin(), in.end(), [&](loss_cell<T> const& c) {
      return static_cast<T>(c.node) <= position;
    });
    return next == in.begin() ? 0 : static_cast<std::size_t>(next - in.begin()) - 1;
  }

  void put(loss_atom<T> const& atom) {
    if (!(atom.p > 0.0)) return;
    std::size_t k = cell_below(atoms_, atom.loss);
    T v = std::clamp(atom.loss - node_loss(atoms_[k]), 0.0, width(atoms_[k]));
    // On a node but for the rounding of its loss, which `on_grid` counts.
    T const slack = 8.0 * unit_roundoff * (std::abs(atom.loss) + std::abs(origin_));
    if (width(atoms_[k]) - v <= slack && k + 1 < atoms_.size()) {
      ++k;
      v = 0.0;
    }
    if (v > slack) {
      add(atoms_[k], v, elementary::log(atom.p), 1.0, true);
    } else {
      T const log_p = elementary::log(atom.p);
      T const tilt = tilt_ * node_loss(atoms_[k]);
      T const p = elementary::exp(log_p + tilt - log_scale_);
      atoms_[k].at += p;
      count_wear(p, log_p, tilt, atoms_[k].at);
    }
  }

  template <class Curve>
  void put_curve(Curve const& curve) {
    T t = curve.low;
    for (std::size_t k = cell_below(curves_, curve.loss(t)); t < curve.high; ++k) {
      bool const last = k + 1 == curves_.size();
      T end = last ? curve.high : curve.parameter(node_loss(curves_[k]) + width(curves_[k]), t);
      if (!(end < curve.high)) end = curve.high;
      if (!(end > t)) continue;
      put_piece(curve, curves_[k], t, end);
      t = end;
    }
  }

  template <class Curve>
  void put_piece(Curve const& curve, loss_cell<T>& cell, T from, T to) {
    T const roughness = curve.roughness(from, to);
    T const pieces = std::max(1.0, std::ceil((to - from) * roughness * 2.5));
    T const length = (to - from) / pieces;
    unit_rule<T> const rule = gauss_legendre(length * roughness);
    for (T piece = 0.0; piece < pieces; piece += 1.0) {
      for (std::size_t k = 0; k < rule.node.size(); ++k) {
        T const t = from + length * (piece + rule.node[k]);
        T const loss = curve.loss(t);
        T const log_p = curve.log_density(t, loss);
        if (!(log_p > -std::numeric_limits<T>::infinity())) continue;
        T const v = std::clamp(loss - node_loss(cell), 0.0, width(cell));
        add(cell, v, log_p, length * rule.weight[k], false);
      }
    }
  }

  cells atoms_;
  cells curves_;
  cell_width<T> width_;
  T step_;
  T origin_;
  T tilt_;
  T log_scale_;
  T total_ = 0.0;
  T wear_ = 0.0;
};

}  // namespace tacit::detail
