// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/grid/cells.hpp>
#include <tacit/dp/grid/convolution.hpp>
#include <tacit/dp/grid/fill.hpp>
#include <tacit/dp/grid/law.hpp>
#include <tacit/dp/grid/measure.hpp>
#include <tacit/dp/grid/nodes.hpp>
#include <tacit/dp/grid/sketch.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

/// One law of losses on a grid of some step, above it and below it.

namespace tacit::detail {

/// A law's pairs above and below. The one below is off by `moved` over all releases.
template <std::same_as<double> T = double>
struct fitted_law {
  measure<T> above;
  measure<T> below;
  T origin = 0.0;  // the loss of index 0
  T first = 0.0;   // and of the first node, which may have been cut off
  T moved = 0.0;
  T error = 0.0;  // an estimate: of log δ, over all releases
};

template <std::same_as<double> T = double>
class law_fit {
 public:
  law_fit(loss_law<T> const& law, loss_sketch<T> const& sketch, T tilt)
      : law_(&law), sketch_(&sketch), tilt_(tilt), log_scale_(sketch.at(tilt).value) {}

  /// Nothing where the work does not allow it, or the grid would be too long.
  [[nodiscard]] std::optional<fitted_law<T>> at(T step, work_budget& work) const {
    loss_law<T> const& law = *law_;
    if (!(law.high - law.low <= step * T(loss_convolution<T>::largest_size))) return std::nullopt;
    T const origin = origin_of(law, step, tilt_);
    std::optional<fitted_law<T>> out = at(step, origin, work);
    // A density that hardly reaches below 0 begins at a node, or has one at 0.
    bool const either = law.atoms.empty() && origin == law.low && law.low < 0.0 && law.high > 0.0;
    if (out && either && out->error > 0.0) {
      std::optional<fitted_law<T>> other = at(step, -step, work);
      if (other && other->error < out->error) return other;
    }
    return out;
  }

 private:
  static constexpr T odds = 21.0;

  [[nodiscard]] std::optional<fitted_law<T>> at(T step, T origin, work_budget& work) const {
    loss_law<T> const& law = *law_;
    T const log_scale = log_scale_;
    cell_plan const nodes = planned(step, origin);
    T const size = nodes.size();
    // Measures are dense, however few the cells.
    T const dense = static_cast<T>(nodes.last) + 1.0;
    if (!work.take(cell_filler<T>::cost(law, size, step) + 60.0 * dense)) return std::nullopt;
    std::vector<loss_cell<T>> cells = cells_of<T>(nodes);
    if (law.atoms.size() <= few_atoms) {
      for (loss_atom<T> const& a : law.atoms) split_at(cells, (a.loss - origin) / step);
    }
    cell_filler<T> const filler(law, cells, step, origin, tilt_, log_scale);
    if (!(filler.total() > 1e-30)) return std::nullopt;
    // 8 units are for the scale's own rounding.
    T const off = law.mass_error + unit_roundoff * (8.0 + filler.mass_error());
    // Errors are relative to all masses, whose sum `log_scale` only estimates: that of the pair above is as large.
    auto const scaled = [&](measure<T> m, T largest) -> std::optional<measure<T>> {
      m.log_norm = log_scale;
      m.log_scale = largest;
      m.distance += off;
      return normalise(m) ? std::optional(std::move(m)) : std::nullopt;
    };
    std::vector<loss_cell<T>> const all = filler.all();
    measure<T> up = spread(all, step, tilt_);
    // What lies below everything is taken up to the first node that does not.
    up.mass[1] += law.below * elementary::exp(tilt_ * (origin + step) - log_scale);
    std::optional<measure<T>> above = scaled(std::move(up), -std::numeric_limits<T>::infinity());
    if (!above) return std::nullopt;
    fitted_law<T> out;
    out.origin = out.first = origin;
    out.above = std::move(*above);
    T best = std::numeric_limits<T>::infinity();
    auto const consider = [&](measure<T> candidate, T moved) {
      std::optional<measure<T>> below = scaled(std::move(candidate), out.above.log_norm);
      if (!below) return;
      T const error = law.count * (out.above.log_norm - below->log_norm) + moved * tilt_;
      if (!(error < best)) return;
      best = error;
      out.below = std::move(*below);
      out.moved = moved;
      out.error = std::max(0.0, error);
    };
    consider(contract(all, step, tilt_), 0.0);
    // Merging loses an isolated atom up to a step; the other way loses a few steps·√count.
    if (!filler.atoms().empty()) {
      T const moved = spread_shift(filler.atoms(), step, tilt_, filler.total(), law.count, odds);
      if (moved * tilt_ < best) {
        measure<T> split = spread(filler.atoms(), step, tilt_);
        if (!filler.curves().empty()) {
          measure<T> const rest = contract(filler.curves(), step, tilt_);
          for (std::size_t k = 0; k < rest.mass.size(); ++k) split.mass[k] += rest.mass[k];
          split.distance += rest.distance;
        }
        split.distance += elementary::exp(-odds) / law.count;
        consider(std::move(split), moved);
      }
    }
    if (!(best < 0.1)) consider(lowered(all, step, tilt_), 0.0);
    // A law that is hardly wider than a step is better merged than lowered.
    auto [one, moved] = merged(nodes, step, origin);
    if (moved * tilt_ < best) consider(std::move(one), moved);
    if (out.below.mass.empty()) return std::nullopt;
    // Index 0 belongs to a loss of 0, if that has a node: so it has one on every coarser grid, and in every sum.
    T const home = std::round(-origin / step);
    if (home > 0.0 && home <= dense && std::abs(origin + step * home) <= 1e-6 * step) {
      out.origin = origin + step * home;
      out.above.first -= static_cast<std::int64_t>(home);
      out.below.first -= static_cast<std::int64_t>(home);
    }
    return out;
  }

  /// All outcomes as one, of a loss of about 0 (Lemma 5a of docs/certificates/grid.md): at the node below, or the one that is 0 but for
  /// rounding. And how much lower its loss may be, over all releases.
  [[nodiscard]] std::pair<measure<T>, T> merged(cell_plan const& nodes, T step, T origin) const {
    loss_law<T> const& law = *law_;
    T const place = std::clamp(std::floor(-origin / step + 1e-6), 0.0, static_cast<T>(nodes.last));
    T const loss = origin + step * place;
    T const lost = (law.infinite + law.above + law.below) * (1.0 + 8.0 * unit_roundoff);
    if (!(lost < 0.5)) return {{}, std::numeric_limits<T>::infinity()};
    measure<T> out;
    out.mass.assign(static_cast<std::size_t>(nodes.last) + 1, 0.0);
    out.step = step;
    out.tilt = tilt_;
    T const exponent = tilt_ * loss - log_scale_;
    out.mass[static_cast<std::size_t>(place)] = (1.0 - lost) * elementary::exp(exponent);
    out.distance = 64.0 * unit_roundoff *
                   (1.0 + tilt_ * (std::abs(loss) + std::abs(origin)) + std::abs(log_scale_));
    // log(1 − lost) ≥ −lost/(1 − lost)
    T const moved = law.count * (std::max(0.0, loss) + lost / (1.0 - lost));
    return {out, moved * (1.0 + 8.0 * unit_roundoff)};
  }

  /// Cells whose widths add little to the error: of c steps where the tilted mass beyond is below
  /// 2e-3/c², and in which that mass does not fall by much.
  [[nodiscard]] cell_plan planned(T step, T origin) const {
    loss_sketch<T> const& sketch = *sketch_;
    cell_plan out;
    out.last = static_cast<std::int64_t>(std::ceil((law_->high - origin) / step - 1e-9)) + 1;
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
        tail += sketch.p[k] * elementary::exp(tilt_ * sketch.loss[k] - log_scale_);
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
        found.push_back(static_cast<std::int64_t>((points[k - 1].loss - origin) / step));
      }
      return found;
    };
    out.marks_down = marks(false);
    out.marks_up = marks(true);
    return out;
  }

  loss_law<T> const* law_;
  loss_sketch<T> const* sketch_;
  T tilt_;
  T log_scale_;
};

}  // namespace tacit::detail
