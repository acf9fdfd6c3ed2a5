// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/real.hpp>
#include <tacit/dp/grid/cells.hpp>
#include <tacit/dp/grid/convolution.hpp>
#include <tacit/dp/grid/fill.hpp>
#include <tacit/dp/grid/law.hpp>
#include <tacit/dp/grid/measure.hpp>
#include <tacit/dp/grid/sketch.hpp>
#include <tacit/dp/grid/tail.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// A composition on grids: which steps, which levels, and the certified δ(ε) that comes of it.

namespace tacit::detail {

/// A law on its grid, `level` levels up.
template <std::same_as<double> T = double>
struct gridded_law {
  grid_measure<T> measure;
  T count = 0.0;
  int level = 0;
};

/// A law's pairs above and below. The one below is off by `moved` over all releases.
template <std::same_as<double> T = double>
struct fitted_law {
  grid_measure<T> above;
  grid_measure<T> below;
  T origin = 0.0;
  T moved = 0.0;
  T mass_error = 0.0;
  T error = 0.0;  // an estimate: of log δ, over all releases
};

template <std::same_as<double> T = double>
class grid_composition {
 public:
  static constexpr std::size_t largest_size = std::size_t{1} << 22;
  static constexpr T comfortable_size = 0x1p15;
  static constexpr std::int64_t ratio = 8;  // of the steps of two levels
  static constexpr T fan = 64.0;            // = ratio²: releases that a level composes into one

  /// Any laws; `tilt` is that of a saddle.
  grid_composition(std::span<loss_law<T> const> laws, std::span<loss_sketch<T> const> sketches,
                   T tilt)
      : laws_(laws), sketches_(sketches), tilt_(tilt) {}

  /// On the losses' own lattice: no grid error at all. Nothing if there is none, or it is too long.
  [[nodiscard]] std::optional<certified_tail<T>> exact() const {
    std::optional<T> const step = common_lattice(laws_);
    if (!step) return std::nullopt;
    std::vector<gridded_law<T>> grids;
    certified_tail<T> out = infinite_parts();
    T origin = 0.0;
    T distance = 0.0;
    T shift = 0.0;
    T largest = 0.0;
    for (std::size_t s = 0; s < laws_.size(); ++s) {
      loss_law<T> const& law = laws_[s];
      T const log_scale = sketches_[s].at(tilt_).value;
      grid_measure<T> measure;
      auto const last = static_cast<std::size_t>(std::round((law.high - law.low) / *step));
      measure.mass.resize(last + 1);
      T wear = 0.0;
      for (loss_atom<T> const& a : law.atoms) {
        T const exponent = tilt_ * a.loss - log_scale;
        auto const k = static_cast<std::size_t>(std::round((a.loss - law.low) / *step));
        T const mass = a.p * std::exp(exponent);
        measure.mass[k] += mass;
        wear += mass * (8.0 + 2.0 * std::abs(exponent) + 2.0 * std::abs(log_scale));
      }
      measure.log_norm = log_scale;
      if (!normalise(measure)) return std::nullopt;
      origin += law.count * law.low;
      distance += law.count * (law.mass_error + unit_roundoff * wear +
                               law.below * std::exp(tilt_ * law.low - log_scale));
      shift += law.count *
               (law.loss_error + 32.0 * unit_roundoff * (std::abs(law.low) + std::abs(law.high)));
      largest += law.count * law.largest;
      grids.push_back({std::move(measure), law.count, 0});
    }
    loss_convolution<T> convolution(largest_size, 40.0);
    std::vector<loss_factor<T>> factors;
    for (gridded_law<T> const& g : grids) factors.push_back({&g.measure, g.count});
    std::optional<grid_measure<T>> sum = convolution.compose(factors, distance);
    if (!sum) return std::nullopt;
    T const scale = sum->log_norm;
    out.above = out.below =
        tilted_tail(std::move(*sum), *step, origin, tilt_, distance, scale, shift, largest);
    return out;
  }

  /// On a grid whose error in log δ is about `aim`, or else on the finest of those tried that fits.
  [[nodiscard]] std::optional<certified_tail<T>> gridded(T aim) const {
    T most = 0.1;
    for (int k = 0; k < 8; ++k) {
      if (std::optional<certified_tail<T>> tail = on_grid(aim, most)) {
        tail->finest = tail->finest || k > 0;
        return tail;
      }
      aim *= 16.0;
      most *= 4.0;
    }
    return std::nullopt;
  }

 private:
  static constexpr T odds = 21.0;
  static constexpr std::size_t few_atoms = 64;  // that are worth a node each

  /// Steps of at most `most` deviations, whose error in log δ is about `aim` if they are not too many.
  [[nodiscard]] std::optional<certified_tail<T>> on_grid(T aim, T most) const {
    T variance = 0.0;
    std::vector<T> deviation;
    for (std::size_t s = 0; s < laws_.size(); ++s) {
      T const v = sketches_[s].at(tilt_).curvature;
      T const width = laws_[s].high - laws_[s].low;
      // A law that the sketch misses is still somewhere in its range.
      deviation.push_back(std::max(std::sqrt(v), 1e-9 * width));
      variance += laws_[s].count * deviation.back() * deviation.back();
    }
    T const least = *std::min_element(deviation.begin(), deviation.end());
    // Each of the two pairs moves log δ by T·θ(1+θ)h²/12 where the grid resolves the losses; every law
    // gets a share by its variance, every level the same.
    T levels = 1.0;
    T step = 0.0;  // of the law of the least deviation
    auto const levels_for = [&](T h) {
      T const size = 18.0 * std::sqrt(variance) / h;
      return 1.0 + std::max(0.0, std::ceil(std::log(size / comfortable_size) / std::log(T(ratio))));
    };
    for (int k = 0; k < 12; ++k) {
      T const relative = std::sqrt(6.0 * aim / (variance * tilt_ * (1.0 + tilt_) * levels));
      step = std::min(relative, most) * least;
      if (levels_for(step) <= levels) break;
      levels = levels_for(step);
    }
    std::vector<int> level(laws_.size());
    T smallest = 0.0;
    for (std::size_t s = 0; s < laws_.size(); ++s) {
      T const l = std::log(deviation[s] / least) / std::log(T(ratio));
      level[s] = static_cast<int>(std::clamp(std::floor(l + 1e-9), 0.0, 60.0));
      T const width = laws_[s].high - laws_[s].low;
      smallest = std::max(smallest, width / step_at(1.0, level[s]) / (T(largest_size) / 8.0));
    }
    step = std::max(step, smallest);
    if (!(step > 0.0 && step < 1e300)) return std::nullopt;
    for (std::size_t s = 0; s < laws_.size(); ++s) {
      if (level[s] == 0) {
        step = aligned(laws_[s], step);
        break;
      }
    }
    std::vector<fitted_law<T>> fits;
    bool finest = false;
    for (int round = 0; round < 10; ++round) {
      fits.clear();
      T error = 0.0;
      T noise = 0.0;
      for (std::size_t s = 0; s < laws_.size(); ++s) {
        std::optional<fitted_law<T>> fit = fitted(s, step_at(step, level[s]));
        if (!fit) return std::nullopt;
        error += fit->error;
        noise += 1e-14 * laws_[s].count;
        fits.push_back(std::move(*fit));
      }
      T const allowed = aim / levels_for(step) + noise;
      if (!(error > 1.3 * allowed)) break;
      T const next = step * std::clamp(0.9 * std::sqrt(allowed / error), 0.3, 0.8);
      finest = next < smallest;
      if (finest) break;
      step = next;
    }

    certified_tail<T> out = infinite_parts();
    out.finest = finest || step <= smallest;
    T origin = 0.0;
    T shift = 0.0;
    T shift_below = 0.0;
    T distance = 0.0;
    T distance_below = 0.0;
    T largest = 0.0;
    std::vector<gridded_law<T>> above;
    std::vector<gridded_law<T>> below;
    for (std::size_t s = 0; s < laws_.size(); ++s) {
      loss_law<T> const& law = laws_[s];
      fitted_law<T>& fit = fits[s];
      origin += law.count * fit.origin;
      shift += law.count * (law.loss_error + 4.0 * unit_roundoff * std::abs(fit.origin));
      distance += law.count * (law.mass_error + unit_roundoff * fit.mass_error);
      largest += law.count * law.largest;
      shift_below += fit.moved;
      distance_below += fit.moved > 0.0 ? std::exp(-odds) : 0.0;
      above.push_back({std::move(fit.above), law.count, level[s]});
      below.push_back({std::move(fit.below), law.count, level[s]});
    }
    std::optional<tilted_tail<T>> top =
        run(std::move(above), step, origin, true, distance, shift, largest);
    if (!top) return std::nullopt;
    std::optional<tilted_tail<T>> bottom =
        run(std::move(below), step, origin, false, distance + distance_below, shift + shift_below,
            largest);
    if (!bottom) return std::nullopt;
    out.above = std::move(*top);
    out.below = std::move(*bottom);
    return out;
  }

  [[nodiscard]] static T step_at(T step, int level) { return step * std::pow(T(ratio), level); }

  [[nodiscard]] std::optional<fitted_law<T>> fitted(std::size_t s, T step) const {
    loss_law<T> const& law = laws_[s];
    T const log_scale = sketches_[s].at(tilt_).value;
    fitted_law<T> out;
    out.origin = law.low;
    std::vector<loss_cell<T>> cells = cells_of(plan_of(law, sketches_[s], log_scale, step));
    if (law.atoms.size() <= few_atoms) {
      for (loss_atom<T> const& a : law.atoms) split_at(cells, (a.loss - law.low) / step);
    }
    cell_filler<T> const filler(law, std::move(cells), step, out.origin, tilt_, log_scale);
    out.mass_error = filler.mass_error();
    out.above = spread(filler.cells(), step, tilt_);
    // What lies below everything is taken up to the first node.
    out.above.mass.front() += law.below * std::exp(tilt_ * out.origin - log_scale);
    out.below = contract(filler.cells(), step, tilt_);
    out.above.log_norm = out.below.log_norm = log_scale;
    if (!normalise(out.above) || !normalise(out.below)) return std::nullopt;
    out.error = law.count * (out.above.log_norm - out.below.log_norm);
    // Merging loses an isolated atom up to a step; the other way loses a few steps·√count.
    T const moved = spread_shift(filler.cells(), step, tilt_, law.count, odds);
    if (moved * tilt_ < out.error) {
      out.below = out.above;
      out.moved = moved;
      out.error = moved * tilt_;
    }
    return out;
  }

  [[nodiscard]] certified_tail<T> infinite_parts() const {
    certified_tail<T> out;
    T above = 0.0;
    T below = 0.0;
    for (loss_law<T> const& law : laws_) {
      above += law.count * std::log1p(-std::min(1.0, law.infinite + law.above));
      below += law.count * std::log1p(-law.infinite);
      out.lower_holds = out.lower_holds && law.lower_holds;
    }
    T const off = 16.0 * unit_roundoff;
    out.infinite_above = -std::expm1(above) * (1.0 + off);
    out.infinite_below = -std::expm1(below) * (1.0 - off);
    return out;
  }

  /// Cells whose widths add little to the error: of c steps where the tilted mass beyond is below
  /// 2e-3/c², and in which that mass does not fall by much.
  [[nodiscard]] cell_plan plan_of(loss_law<T> const& law, loss_sketch<T> const& sketch, T log_scale,
                                  T step) const {
    cell_plan out;
    out.last = static_cast<std::int64_t>(std::ceil((law.high - law.low) / step - 1e-9)) + 1;
    auto const n = sketch.loss.size();
    auto const marks = [&](bool from_above) {
      // From the end inwards: a loss, the mass up to it, the way on which it has tripled.
      struct point {
        T loss;
        T tail;
        T scale;
      };
      std::vector<point> points;
      T tail = 0.0;
      std::size_t third = 0;
      for (std::size_t j = 0; j < n; ++j) {
        std::size_t const k = from_above ? n - 1 - j : j;
        tail += sketch.p[k] * std::exp(tilt_ * sketch.loss[k] - log_scale);
        points.push_back({sketch.loss[k], tail, 0.0});
        while (3.0 * points[third].tail < tail) ++third;
        points.back().scale = std::abs(points.back().loss - points[third].loss);
      }
      std::vector<std::int64_t> found;
      std::size_t k = points.size();
      T stride = 2.0;
      for (int doubling = 0; doubling < 20; ++doubling, stride *= 2.0) {
        while (k > 0 && !(points[k - 1].tail * stride * stride < 1e-2 &&
                          stride * step < 0.15 * points[k - 1].scale)) {
          --k;
        }
        if (k == 0) break;
        found.push_back(static_cast<std::int64_t>((points[k - 1].loss - law.low) / step));
      }
      return found;
    };
    out.marks_down = marks(false);
    out.marks_up = marks(true);
    return out;
  }

  /// A step a little below the one wanted, on which the law's upper end and its few atoms come
  /// nearest to nodes.
  [[nodiscard]] T aligned(loss_law<T> const& law, T step) const {
    std::vector<loss_atom<T>> special;
    if (law.atoms.size() <= few_atoms) special = law.atoms;
    if (special.empty()) return step;
    T high = -std::numeric_limits<T>::infinity();
    for (loss_atom<T> const& a : special) high = std::max(high, tilt_ * a.loss);
    T best = std::numeric_limits<T>::infinity();
    T found = step;
    // Candidates put the highest atom on a node.
    T top = law.low;
    for (loss_atom<T> const& a : special) top = std::max(top, a.loss);
    T const range = top - law.low;
    if (!(range > 0.0)) return step;
    T const fewest = std::ceil(range / step);
    T const most = std::max(fewest, std::min(std::floor(1.4 * fewest), fewest + 1000.0));
    for (T n = fewest; n <= most; n += 1.0) {
      T const h = range / n;
      T cost = 0.0;
      for (loss_atom<T> const& a : special) {
        T const position = (a.loss - law.low) / h;
        T const off = std::abs(position - std::round(position));
        cost += a.p * std::exp(tilt_ * a.loss - high) * std::max(0.0, off - 1e-9);
      }
      if (cost < best) {
        best = cost;
        found = h;
      }
      if (cost == 0.0) break;
    }
    return found;
  }

  /// Level by level: of every law, `fan` copies become one on a grid `ratio` times coarser, the
  /// remainder joins what is finished.
  [[nodiscard]] std::optional<tilted_tail<T>> run(std::vector<gridded_law<T>> waiting, T step,
                                                  T origin, bool above, T distance, T shift,
                                                  T largest) const {
    int last_start = 0;
    T scale = 0.0;
    for (gridded_law<T> const& g : waiting) {
      last_start = std::max(last_start, g.level);
      scale += g.count * g.measure.log_norm;
    }
    std::optional<grid_measure<T>> done;
    auto const coarser = [&](grid_measure<T> const& fine, T h) {
      std::vector<loss_cell<T>> const cells = gather(fine, h, tilt_, ratio);
      T const coarse = h * static_cast<T>(ratio);
      grid_measure<T> out = above ? spread(cells, coarse, tilt_) : contract(cells, coarse, tilt_);
      out.log_norm = fine.log_norm;
      return normalise(out) ? std::optional(std::move(out)) : std::nullopt;
    };
    // Window errors of about 1e-11, or a share of them for each group of copies to come.
    T copies = 1.0;
    for (gridded_law<T> const& a : waiting) copies = std::max(copies, a.count);
    loss_convolution<T> convolution(largest_size, 25.0 + std::log(copies));
    T h = step;
    for (int level = 0; level < 200; ++level, h *= static_cast<T>(ratio)) {
      std::vector<loss_factor<T>> all;
      bool ready = level >= last_start;
      T most = 0.0;
      if (done) all.push_back({&*done, 1.0});
      for (gridded_law<T> const& a : waiting) {
        if (a.level > level || a.count == 0.0) continue;
        all.push_back({&a.measure, a.count});
        most = std::max(most, a.count);
      }
      if (ready && (most < fan || convolution.size_of(all) <= 2.0 * comfortable_size)) {
        std::optional<grid_measure<T>> sum = convolution.compose(all, distance);
        if (!sum) return std::nullopt;
        return tilted_tail(std::move(*sum), h, origin, tilt_, distance, scale, shift, largest);
      }
      std::vector<loss_factor<T>> remainders;
      if (done) remainders.push_back({&*done, 1.0});
      for (gridded_law<T> const& a : waiting) {
        T const rest = std::fmod(a.count, fan);
        if (a.level <= level && rest > 0.0) remainders.push_back({&a.measure, rest});
      }
      if (!remainders.empty()) {
        std::optional<grid_measure<T>> sum = convolution.compose(remainders, distance);
        if (!sum) return std::nullopt;
        sum = coarser(*sum, h);
        if (!sum) return std::nullopt;
        done = std::move(sum);
      }
      T now = done ? done->log_norm : 0.0;
      for (gridded_law<T>& a : waiting) {
        if (a.level > level) {
          now += a.count * a.measure.log_norm;
          continue;
        }
        T const groups = std::floor(a.count / fan);
        a.count = groups;
        if (groups == 0.0) continue;
        T off = 0.0;
        std::optional<grid_measure<T>> sum = convolution.compose({{&a.measure, fan}}, off);
        if (!sum) return std::nullopt;
        distance += groups * off;
        sum = coarser(*sum, h);
        if (!sum) return std::nullopt;
        a.measure = std::move(*sum);
        now += groups * a.measure.log_norm;
      }
      scale = std::max(scale, now);
    }
    return std::nullopt;
  }

  std::span<loss_law<T> const> laws_;
  std::span<loss_sketch<T> const> sketches_;
  T tilt_;
};

}  // namespace tacit::detail
