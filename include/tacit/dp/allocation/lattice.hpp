// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/grid/fill.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

/// The likelihood ratio of one step, U = e^{aZ − a²/2} with Z ~ N(0, 1), on a lattice: once above it and once
/// below it in convex order. docs/certificates/allocation.md, Lemmas 2 to 5.

namespace tacit::detail::epochs {

/// Masses between two neighbouring nodes of a lattice, v their place between the two, in [0, 1]. Tilted masses are
/// tilted as at the node that they belong to, `gap` as at the lower one.
template <std::same_as<double> T = double>
struct lattice_cell {
  T at = 0.0;    // on the lower node itself; the rest is
  T low = 0.0;   // Σ mass·(1−v), at the lower node
  T high = 0.0;  // Σ mass·v, at the upper node
  // At least max over x in [0, 1] of Σ mass·min(v(1−x), x(1−v)): how far the chord lies above E(U−·)₊.
  T gap = 0.0;
};

/// Masses at origin + k·step, without a tilt. Each is off by at most `mass_error`, relatively, and by its `wear` besides, in
/// units of the roundoff (none if that is empty); the nodes stand for values that are off by at most `location_error`,
/// relatively.
template <std::same_as<double> T = double>
struct lattice_law {
  T origin = 0.0;
  T step = 1.0;
  std::vector<T> mass;
  T mass_error = 0.0;
  T location_error = 0.0;
  std::vector<T> wear;
};

/// Whether sums X are asked about from above, E(X−c)₊, or from below, E(c−X)₊.
enum class side { call, put };

/// A likelihood ratio and its mass without the record.
template <std::same_as<double> T = double>
struct outcome {
  T value;
  T mass;
};

/// In which all ratios are.
template <std::same_as<double> T = double>
struct ratio_range {
  T least = 0.0;
  T most = std::numeric_limits<T>::infinity();
};

/// Each cell's mass goes to its two nodes, means kept: above the law in convex order.
template <std::same_as<double> T = double>
[[nodiscard]] std::vector<T> spread(std::vector<lattice_cell<T>> const& cells) {
  std::vector<T> mass(cells.size(), 0.0);
  for (std::size_t k = 0; k < cells.size(); ++k) {
    mass[k] += cells[k].at + cells[k].low;
    if (k + 1 < cells.size()) mass[k + 1] += cells[k].high;
  }
  return mass;
}

/// Below the law in convex order: the polygon through E(U−x)₊ at the nodes, lowered at each node by as much as the
/// chords beside it lie above the curve, and made convex where it is not. Masses are its bends. `drop` is
/// e^{−tilt·step}. The last cell has only `at`. What cannot be made convex at the ends is set to 0, and added to
/// `missing`: so far the masses are above what they should be. `wear` is what rounding moves at each node, in units of the
/// roundoff.
template <std::same_as<double> T = double>
[[nodiscard]] std::vector<T> contract(std::vector<lattice_cell<T>> const& cells, T drop, T& missing,
                                      std::vector<T>& wear) {
  std::size_t const n = cells.size();
  std::vector<T> lowered(n, 0.0);
  for (std::size_t k = 1; k + 1 < n; ++k) {
    lowered[k] = std::max(cells[k].gap, cells[k - 1].gap / drop);
  }
  lowered[1] = std::max(lowered[1], cells[0].low / drop);
  lowered[n - 2] = std::max(lowered[n - 2], cells[n - 2].high * drop);
  std::vector<T> mass = spread(cells);
  // What a mass is made of, and what that rounds by.
  std::vector<T> size = mass;
  wear.assign(n, 0.0);
  T const tilt = -elementary::log(drop);
  for (std::size_t k = 0; k < n; ++k) {
    T const before = k > 0 ? lowered[k - 1] / drop : 0.0;
    T const after = k + 1 < n ? lowered[k + 1] * drop : 0.0;
    mass[k] += 2.0 * lowered[k] - before - after;
    size[k] += 2.0 * lowered[k] + before + after;
    wear[k] = (12.0 + 4.0 * tilt) * size[k];
  }
  // A negative mass goes to the nodes beside it, mean kept. One that may be negative is dropped, and what it may be goes there.
  std::vector<std::size_t> kept;
  auto const least = [&] {
    return kept.size() > 1 ? 1.01 * unit_roundoff * wear[kept.back()] : 0.0;
  };
  for (std::size_t k = 0; k < n; ++k) {
    while (!kept.empty() && mass[kept.back()] < least()) {
      std::size_t const j = kept.back();
      if (mass[j] >= 0.0) {
        mass[j] = 0.0;
        wear[j] *= 2.0;
      }
      kept.pop_back();
      if (kept.empty()) {
        missing -= mass[j];
        mass[j] = 0.0;
        break;
      }
      std::size_t const i = kept.back();
      T const back = static_cast<T>(j - i);
      T const ahead = static_cast<T>(k - j);
      T const share = back / (back + ahead);
      T const rest = ahead / (back + ahead);
      T const down = rest * elementary::exp(-tilt * back);
      T const up = share * elementary::exp(tilt * ahead);
      T const moved = wear[j] + (8.0 + (2.0 + 6.0 * tilt) * (back + ahead)) * size[j];
      mass[i] += mass[j] * down;
      size[i] += size[j] * down;
      wear[i] += moved * down + size[i];
      mass[k] += mass[j] * up;
      size[k] += size[j] * up;
      wear[k] += moved * up + size[k];
      mass[j] = wear[j] = 0.0;
    }
    kept.push_back(k);
  }
  for (std::size_t const k : kept) {
    if (mass[k] < 0.0) {
      missing -= mass[k];
      mass[k] = 0.0;
    }
  }
  return mass;
}

template <std::same_as<double> T = double>
inline constexpr T inv_root_two_pi = std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;

/// e^{−z²/2} is a normal number up to here.
inline constexpr double highest_z = 37.5;
/// And 0 from here on.
inline constexpr double no_mass = 40.0;

/// U of one step, and where it is cut.
template <std::same_as<double> T = double>
class step_ratio {
 public:
  explicit step_ratio(T noise_multiplier)
      : noise_multiplier_(noise_multiplier), a_(1.0 / noise_multiplier) {}

  [[nodiscard]] T noise_multiplier() const { return noise_multiplier_; }
  [[nodiscard]] T shift() const { return a_; }
  [[nodiscard]] T value(T z) const { return elementary::exp(a_ * z - 0.5 * a_ * a_); }
  [[nodiscard]] T parameter(T u) const { return (elementary::log(u) + 0.5 * a_ * a_) / a_; }

  /// What the record alone can produce: nothing.
  [[nodiscard]] static enclosure alone() { return 0.0; }

  /// E(U − u)₊ and E(u − U)₊.
  [[nodiscard]] enclosure excess(T u) const {
    auto const [a, z] = enclosed(u);
    return max(normal_tail(z - a) - u * normal_tail(z), 0.0);
  }
  [[nodiscard]] enclosure shortfall(T u) const {
    auto const [a, z] = enclosed(u);
    return max(u * normal_tail(-z) - normal_tail(a - z), 0.0);
  }

  /// Of one step, but for so much of δ.
  [[nodiscard]] T largest_loss(side, T delta) const {
    return tacit::epsilon(gaussian_dp{next_up(a_)}, delta).upper;
  }
  /// Losses of an epoch are told apart up to here.
  [[nodiscard]] static T highest_loss() { return 8.0; }
  [[nodiscard]] static ratio_range<T> range() { return {}; }

  /// Beyond this an excess is next to nothing beside δ.
  [[nodiscard]] T farthest(T delta) const {
    T const deviations = std::sqrt(-2.0 * elementary::log(1e-13 * std::min(0.1, delta)));
    return value(std::min(deviations + a_, highest_z));
  }

  /// min(U, top) as some hundred masses, for estimates.
  [[nodiscard]] std::vector<outcome<T>> sketch(T top) const {
    T const last = parameter(top);
    T const first = std::min(-12.0, last - 12.0);
    constexpr int n = 600;
    T const length = (last - first) / n;
    std::vector<outcome<T>> out;
    for (int k = 0; k < n; ++k) {
      T const z = first + length * (k + 0.5);
      out.push_back({value(z), length * inv_root_two_pi<T> * elementary::exp(-0.5 * z * z)});
    }
    out.push_back({top, std::max(1e-300, normal_tail(enclosure(last)).upper)});
    return out;
  }

  /// min(U, about top), above it.
  [[nodiscard]] lattice_law<T> above(T step, T top) const {
    std::int64_t const last = std::max<std::int64_t>(4, static_cast<std::int64_t>(top / step));
    std::int64_t const first = std::clamp<std::int64_t>(
        static_cast<std::int64_t>(value(lowest_z(top)) / step), 1, last - 3);
    builder out(*this, step, 0.0, static_cast<std::size_t>(last) + 1);
    // What is below node `first` goes to it and to 0.
    T const bottom = step * static_cast<T>(first);
    T const z = parameter(bottom);
    enclosure const all = normal_tail(-enclosure(z));
    enclosure const up = normal_tail(within_steps(a_, 1) - enclosure(z)) / bottom;
    out.cells[0].at = std::max(0.0, (all - up).upper);
    out.cells[static_cast<std::size_t>(first)].at = up.upper;
    out.fill(static_cast<std::size_t>(first), z, 0.0);
    out.cells.back().at += out.beyond().upper;
    return {0.0, step, spread(out.cells), out.mass_error(), out.location_error(), {}};
  }

  /// min(U, about top), below it. Nothing where the lattice is too coarse for it.
  /// `allowed()` says before each attempt whether there may be one.
  template <class Allowed>
  [[nodiscard]] std::optional<lattice_law<T>> below(T step, T top, Allowed&& allowed) const {
    // What lies below `bottom` is merged to its mean, which is node 0. There has to be enough of it to make the
    // polygon convex: about as much as in the next cell.
    T const steepness = 1.0 + std::abs(parameter(step)) / a_;
    T bottom = std::max(value(lowest_z(top)), 0.4 * step * steepness);
    for (int attempt = 0; attempt < 12 && bottom < top && allowed(); ++attempt, bottom *= 1.5) {
      if (std::optional<lattice_law<T>> law = from(step, top, bottom)) return law;
    }
    return std::nullopt;
  }

 private:
  struct enclosed_place {
    enclosure a;
    enclosure z;
  };
  // a, as 1/σ is rounded, and the z at which U is u.
  [[nodiscard]] enclosed_place enclosed(T u) const {
    enclosure const a = within_steps(a_, 1);
    return {a, (log(enclosure(u)) + 0.5 * a * a) / a};
  }

  // What lies below is next to nothing, also beside U < top.
  [[nodiscard]] T lowest_z(T top) const {
    return std::max(-highest_z, std::min(0.0, parameter(top)) - 13.0);
  }

  struct builder {
    builder(step_ratio const& of, T h, T from, std::size_t nodes)
        : ratio(of), step(h), origin(from), cells(nodes) {}

    [[nodiscard]] T mass_error() const {
      return unit_roundoff * (libm_units + 2.0 * farthest * farthest +
                              5.0 * (farthest + 2.0) * longest + most_terms);
    }
    // Of a node's place, found by a logarithm and divided by a.
    [[nodiscard]] T location_error() const {
      T const a = ratio.a_;
      return unit_roundoff * 16.0 * (1.0 + a * farthest + a * a);
    }

    // Cells from node `first` on: z and v are where the law begins there.
    void fill(std::size_t first, T z, T v) {
      T const a = ratio.a_;
      farthest = std::abs(z);
      for (std::size_t k = first; k + 1 < cells.size(); ++k) {
        T const end = std::max(z, ratio.parameter(origin + step * static_cast<T>(k + 1)));
        farthest = std::max(farthest, std::abs(end));
        longest = std::max(longest, end - z);
        if (end > z) add(cells[k], z, end, v, a);
        z = end;
        v = 0.0;
      }
      last = z;
    }

    // What is beyond the last node.
    [[nodiscard]] enclosure beyond() const { return normal_tail(enclosure(last)); }

    void add(lattice_cell<T>& cell, T from, T to, T v, T a) {
      T const size = std::max(std::abs(from), std::abs(to));
      T const length = to - from;
      // Beyond `no_mass` the density is less than the least double, however long the cell.
      T const begin = std::max(from, -no_mass);
      T const inner = std::min(to, no_mass) - begin;
      if (!(inner > 0.0)) return;
      T const roughness = std::min(size, no_mass) + a + 2.2;
      T const pieces = std::max(1.0, std::ceil(inner * roughness * 2.5));
      T const part = inner / pieces;
      unit_rule<T> const rule = gauss_legendre(part * roughness);
      most_terms = std::max(most_terms, pieces * static_cast<T>(rule.node.size()));
      T const whole = short_expm1(a * length);
      T low = 0.0;
      T high = 0.0;
      for (T piece = 0.0; piece < pieces; piece += 1.0) {
        for (std::size_t i = 0; i < rule.node.size(); ++i) {
          T const tau = (begin - from) + part * (piece + rule.node[i]);
          T const x = from + tau;
          T const place = v + (1.0 - v) * (short_expm1(a * tau) / whole);
          T const mass = part * rule.weight[i] * inv_root_two_pi<T> * elementary::exp(-0.5 * x * x);
          low += mass * (1.0 - place);
          high += mass * place;
        }
      }
      cell.low += low;
      cell.high += high;
      T const mass = low + high;
      // By Jensen, and by the largest density, the mean one times e^{(|z|+a)·length} at most.
      T const by_mean = mass > 0.0 ? low * (high / mass) : 0.0;
      T const steep = (size + a) * length;
      T const by_density =
          steep < 3.0 ? 0.125 * mass * elementary::exp(steep) / ((1.0 - v) * (1.0 - v)) : mass;
      cell.gap += std::min(by_mean, by_density) * (1.0 + 1e-12);
    }

    step_ratio const& ratio;
    T step;
    T origin;
    std::vector<lattice_cell<T>> cells;
    T last = 0.0;  // where they end
    T farthest = 0.0;
    T longest = 0.0;     // of the cells, in z
    T most_terms = 0.0;  // of a cell's sums
  };

  [[nodiscard]] std::optional<lattice_law<T>> from(T step, T top, T bottom) const {
    T const z = parameter(bottom);
    enclosure const mean =
        normal_tail(within_steps(a_, 1) - enclosure(z)) / normal_tail(-enclosure(z));
    T const origin = 0.5 * (mean.lower + mean.upper);
    if (!(origin > 0.0) || !(bottom - origin > 0.0)) return std::nullopt;
    auto const last = static_cast<std::int64_t>((top - origin) / step);
    auto const first = static_cast<std::int64_t>((bottom - origin) / step);
    if (last < first + 4) return std::nullopt;
    builder out(*this, step, origin, static_cast<std::size_t>(last) + 1);
    out.cells[0].at = normal_tail(-enclosure(z)).lower;
    T const place = (bottom - origin) / step - static_cast<T>(first);
    out.fill(static_cast<std::size_t>(first), z, std::clamp(place, 0.0, 1.0));
    out.cells.back().at += out.beyond().lower;
    T missing = 0.0;
    std::vector<T> wear;
    std::vector<T> mass = contract<T>(out.cells, 1.0, missing, wear);
    if (missing > 0.0) return std::nullopt;
    T const off = std::max(out.location_error(), 2.0 * mean.width() / origin);
    return lattice_law<T>{origin, step, std::move(mass), out.mass_error(), off, std::move(wear)};
  }

  T noise_multiplier_;
  T a_;
};

}  // namespace tacit::detail::epochs
