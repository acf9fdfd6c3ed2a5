// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/inverse.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/grid/convolution.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

/// The plan of a discretised composition: which tilt, which steps, which levels, and the certified
/// δ(ε) that comes of it.

namespace tacit {

namespace detail {

/// Losses and masses for estimates, dense enough for sums e^{θ·loss} and coarse enough to be cheap.
struct loss_sketch {
  std::vector<double> loss;  // ascending
  std::vector<double> p;
  double count = 0.0;

  explicit loss_sketch(loss_source const& source) : count(source.count) {
    // Many atoms count in groups of neighbours, at their means: no mass is lost.
    std::vector<loss_atom> atoms = source.atoms;
    std::size_t const group = atoms.size() / 4096 + 1;
    if (group > 1) {
      std::sort(atoms.begin(), atoms.end(),
                [](loss_atom const& a, loss_atom const& b) { return a.loss < b.loss; });
    }
    for (std::size_t k = 0; k < atoms.size(); k += group) {
      double mass = 0.0;
      double weighted = 0.0;
      for (std::size_t j = k; j < std::min(k + group, atoms.size()); ++j) {
        mass += atoms[j].p;
        weighted += atoms[j].p * (atoms[j].loss - atoms[k].loss);
      }
      if (mass > 0.0) put(atoms[k].loss + weighted / mass, mass);
    }
    for (loss_curve_part const& part : source.curves) {
      std::visit(
          [this](auto const& curve) {
            double const length = curve.high - curve.low;
            double const rough = std::max(curve.roughness(curve.low), curve.roughness(curve.high));
            auto const n =
                static_cast<int>(std::clamp(length * std::min(rough, 16.0), 64.0, 4096.0));
            for (int k = 0; k < n; ++k) {
              double const t = curve.low + length * (k + 0.5) / n;
              double const l = curve.loss(t);
              put(l, std::exp(curve.log_density(t, l)) * length / n);
            }
          },
          part);
    }
    std::vector<std::size_t> order(loss.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return loss[a] < loss[b]; });
    std::vector<double> sorted_loss;
    std::vector<double> sorted_p;
    for (std::size_t const k : order) {
      sorted_loss.push_back(loss[k]);
      sorted_p.push_back(p[k]);
    }
    loss = std::move(sorted_loss);
    p = std::move(sorted_p);
  }

  struct cumulants {
    double log_moment;
    double mean;
    double variance;
  };
  [[nodiscard]] cumulants at(double tilt) const {
    double high = -std::numeric_limits<double>::infinity();
    for (double const l : loss) high = std::max(high, tilt * l);
    double sum = 0.0;
    double first = 0.0;
    double second = 0.0;
    double const base = loss.empty() ? 0.0 : loss[loss.size() / 2];
    for (std::size_t k = 0; k < loss.size(); ++k) {
      double const w = p[k] * std::exp(tilt * loss[k] - high);
      double const d = loss[k] - base;
      sum += w;
      first += w * d;
      second += w * d * d;
    }
    double const mean = first / sum;
    return {high + std::log(sum), base + mean, std::max(0.0, second / sum - mean * mean)};
  }

 private:
  void put(double l, double mass) {
    if (!(mass > 0.0)) return;
    loss.push_back(l);
    p.push_back(mass);
  }
};

/// What a query is about; the other of the two is estimated.
struct loss_query {
  bool wants_epsilon;
  double value;
};

/// A saddle point of the composition, and what follows from it. Estimates: they steer, and never bound.
struct saddle {
  double tilt = 1.0;
  double epsilon = 0.0;
  double log_delta = 0.0;
  double deviation = 0.0;  // of the tilted sum
};

[[nodiscard]] inline saddle saddle_at(std::span<loss_sketch const> sketches, double tilt) {
  double moment = 0.0;
  double mean = 0.0;
  double variance = 0.0;
  for (loss_sketch const& s : sketches) {
    auto const c = s.at(tilt);
    moment += s.count * c.log_moment;
    mean += s.count * c.mean;
    variance += s.count * c.variance;
  }
  saddle out;
  out.tilt = tilt;
  out.deviation = std::sqrt(variance);
  out.epsilon = mean - 1.0 / tilt - 1.0 / (1.0 + tilt);
  double const width = variance + 1.0 / (tilt * tilt) + 1.0 / ((1.0 + tilt) * (1.0 + tilt));
  out.log_delta = moment - tilt * out.epsilon - std::log(tilt) - std::log1p(tilt) -
                  0.5 * std::log(2.0 * std::numbers::pi * width);
  return out;
}

[[nodiscard]] inline saddle find_saddle(std::span<loss_sketch const> sketches, loss_query query) {
  // Both ε and −log δ rise with the tilt.
  double low = -46.0;
  double high = 46.0;
  double const log_delta = query.wants_epsilon ? std::log(query.value) : 0.0;
  while (high - low > 0.01) {
    double const middle = 0.5 * (low + high);
    saddle const s = saddle_at(sketches, std::exp(middle));
    bool const beyond =
        query.wants_epsilon ? !(s.log_delta > log_delta) : !(s.epsilon < query.value);
    (beyond ? high : low) = middle;
  }
  return saddle_at(sketches, std::exp(0.5 * (low + high)));
}

/// A source on its grid, `level` levels up.
struct gridded_source {
  grid_measure measure;
  double count = 0.0;
  int level = 0;
};

/// A source's pairs above and below. The one below is off by `moved` over all releases.
struct fitted_source {
  grid_measure above;
  grid_measure below;
  double origin = 0.0;
  double moved = 0.0;
  double mass_error = 0.0;
  double error = 0.0;  // an estimate: of log δ, over all releases
};

/// The composition of one direction, certified on both sides.
struct certified_tail {
  tilted_tail above;
  tilted_tail below;
  double infinite_above = 0.0;
  double infinite_below = 0.0;
  bool lower_holds = true;
  bool finest = false;  // no finer grid fits

  [[nodiscard]] bound<double> delta(double epsilon) const {
    double const up = (infinite_above + above.upper(epsilon)) * (1.0 + 4.0 * unit_roundoff);
    double const low =
        lower_holds ? (infinite_below + below.lower(epsilon)) * (1.0 - 4.0 * unit_roundoff) : 0.0;
    return {std::min(1.0, low), up < 1.0 ? up : 1.0};
  }
  [[nodiscard]] bound<double> epsilon(double delta_aim) const {
    auto const holds = [&](double e) { return delta(e).upper <= delta_aim; };
    auto const exceeds = [&](double e) { return delta(e).lower > delta_aim; };
    bound<double> out{0.0, 0.0};
    if (!holds(0.0)) {
      double const most = std::numeric_limits<double>::max();
      out.upper =
          holds(most) ? last_holding(most, 0.0, holds) : std::numeric_limits<double>::infinity();
    }
    // Any ε at which δ surely exceeds is a lower bound, but far from where the tilt is at home nothing
    // is sure. So from there, and from the upper bound down.
    double const top = std::min(out.upper, above.last());
    double start = 0.0;
    auto const consider = [&](double e) {
      if (e > start && e <= top && exceeds(e)) start = e;
    };
    double const home = below.centre() - 1.0 / below.tilt() - 1.0 / (1.0 + below.tilt());
    for (int z = -8; z <= 8; ++z) consider(home + 0.5 * z * below.deviation());
    for (double k = 0x1p-40; k < 1.0; k *= 2.0) consider(top * (1.0 - k));
    if (exceeds(start)) {
      out.lower = std::min(last_holding(start, std::max(start, top), exceeds), out.upper);
    }
    return out;
  }
};

/// The common step of all losses, if every source is made of atoms on such a lattice.
[[nodiscard]] inline std::optional<double> common_lattice(std::span<loss_source const> sources) {
  double common = 0.0;
  std::vector<double> steps;
  for (loss_source const& source : sources) {
    if (!source.curves.empty() || source.atoms.empty()) return std::nullopt;
    if (source.atoms.size() == 1) continue;
    std::vector<double> losses;
    for (loss_atom const& a : source.atoms) losses.push_back(a.loss);
    std::sort(losses.begin(), losses.end());
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 1; k < losses.size(); ++k)
      least = std::min(least, losses[k] - losses[k - 1]);
    double const range = losses.back() - losses.front();
    double const intervals = std::round(range / least);
    if (!(least > 0.0) || !(intervals <= 4e6)) return std::nullopt;
    double const step = range / intervals;
    double const slack =
        32.0 * unit_roundoff * std::max(std::abs(losses.front()), std::abs(losses.back()));
    for (double const loss : losses) {
      double const d = loss - losses.front();
      if (std::abs(d - step * std::round(d / step)) > slack) return std::nullopt;
    }
    steps.push_back(step);
    common = common == 0.0 ? step : std::min(common, step);
  }
  if (common == 0.0) return 1.0;
  for (double const step : steps) {
    double const ratio = step / common;
    if (std::abs(ratio - std::round(ratio)) > 16.0 * unit_roundoff * ratio) return std::nullopt;
  }
  return common;
}

class discretisation {
 public:
  static constexpr std::size_t largest_size = std::size_t{1} << 22;
  static constexpr double comfortable_size = 0x1p15;
  static constexpr std::int64_t ratio = 8;  // of the steps of two levels
  static constexpr double fan = 64.0;       // = ratio²: releases that a level composes into one

  /// Any sources; `tilt` is that of a saddle.
  discretisation(std::span<loss_source const> sources, std::span<loss_sketch const> sketches,
                 double tilt)
      : sources_(sources), sketches_(sketches), tilt_(tilt) {}

  /// On the losses' own lattice: no grid error at all. Nothing if there is none, or it is too long.
  [[nodiscard]] std::optional<certified_tail> exact() const {
    std::optional<double> const step = common_lattice(sources_);
    if (!step) return std::nullopt;
    std::vector<gridded_source> grids;
    certified_tail out = infinite_parts();
    double origin = 0.0;
    double distance = 0.0;
    double shift = 0.0;
    double largest = 0.0;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      loss_source const& source = sources_[s];
      double const log_scale = sketches_[s].at(tilt_).log_moment;
      grid_measure measure;
      auto const last = static_cast<std::size_t>(std::round((source.high - source.low) / *step));
      measure.mass.resize(last + 1);
      double wear = 0.0;
      for (loss_atom const& a : source.atoms) {
        double const exponent = tilt_ * a.loss - log_scale;
        auto const k = static_cast<std::size_t>(std::round((a.loss - source.low) / *step));
        double const mass = a.p * std::exp(exponent);
        measure.mass[k] += mass;
        wear += mass * (8.0 + 2.0 * std::abs(exponent) + 2.0 * std::abs(log_scale));
      }
      measure.log_norm = log_scale;
      if (!normalise(measure)) return std::nullopt;
      origin += source.count * source.low;
      distance += source.count * (source.mass_error + unit_roundoff * wear +
                                  source.below * std::exp(tilt_ * source.low - log_scale));
      shift +=
          source.count * (source.loss_error +
                          32.0 * unit_roundoff * (std::abs(source.low) + std::abs(source.high)));
      largest += source.count * source.largest;
      grids.push_back({std::move(measure), source.count, 0});
    }
    loss_convolution convolution(largest_size, 40.0);
    std::vector<loss_factor> factors;
    for (gridded_source const& g : grids) factors.push_back({&g.measure, g.count});
    std::optional<grid_measure> sum = convolution.compose(factors, distance);
    if (!sum) return std::nullopt;
    double const scale = sum->log_norm;
    out.above = out.below =
        tilted_tail(std::move(*sum), *step, origin, tilt_, distance, scale, shift, largest);
    return out;
  }

  /// On a grid whose error in log δ is about `aim`, or else on the finest of those tried that fits.
  [[nodiscard]] std::optional<certified_tail> gridded(double aim) const {
    double most = 0.1;
    for (int k = 0; k < 8; ++k) {
      if (std::optional<certified_tail> tail = on_grid(aim, most)) {
        tail->finest = tail->finest || k > 0;
        return tail;
      }
      aim *= 16.0;
      most *= 4.0;
    }
    return std::nullopt;
  }

 private:
  static constexpr double odds = 21.0;
  static constexpr std::size_t few_atoms = 64;  // that are worth a node each

  /// Steps of at most `most` deviations, whose error in log δ is about `aim` if they are not too many.
  [[nodiscard]] std::optional<certified_tail> on_grid(double aim, double most) const {
    double variance = 0.0;
    std::vector<double> deviation;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      double const v = sketches_[s].at(tilt_).variance;
      double const width = sources_[s].high - sources_[s].low;
      // A source that the sketch misses is still somewhere in its range.
      deviation.push_back(std::max(std::sqrt(v), 1e-9 * width));
      variance += sources_[s].count * deviation.back() * deviation.back();
    }
    double const least = *std::min_element(deviation.begin(), deviation.end());
    // Each of the two pairs moves log δ by T·θ(1+θ)h²/12 where the grid resolves the losses; every source
    // gets a share by its variance, every level the same.
    double levels = 1.0;
    double step = 0.0;  // of the source of the least deviation
    auto const levels_for = [&](double h) {
      double const size = 18.0 * std::sqrt(variance) / h;
      return 1.0 +
             std::max(0.0, std::ceil(std::log(size / comfortable_size) / std::log(double(ratio))));
    };
    for (int k = 0; k < 12; ++k) {
      double const relative =
          std::sqrt(6.0 * aim / (variance * tilt_ * (1.0 + tilt_) * levels));
      step = std::min(relative, most) * least;
      if (levels_for(step) <= levels) break;
      levels = levels_for(step);
    }
    std::vector<int> level(sources_.size());
    double smallest = 0.0;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      double const l = std::log(deviation[s] / least) / std::log(double(ratio));
      level[s] = static_cast<int>(std::clamp(std::floor(l + 1e-9), 0.0, 60.0));
      double const width = sources_[s].high - sources_[s].low;
      smallest = std::max(smallest, width / step_at(1.0, level[s]) / (double(largest_size) / 8.0));
    }
    step = std::max(step, smallest);
    if (!(step > 0.0 && step < 1e300)) return std::nullopt;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      if (level[s] == 0) {
        step = aligned(sources_[s], step);
        break;
      }
    }
    std::vector<fitted_source> fits;
    bool finest = false;
    for (int round = 0; round < 10; ++round) {
      fits.clear();
      double error = 0.0;
      double noise = 0.0;
      for (std::size_t s = 0; s < sources_.size(); ++s) {
        std::optional<fitted_source> fit = fitted(s, step_at(step, level[s]));
        if (!fit) return std::nullopt;
        error += fit->error;
        noise += 1e-14 * sources_[s].count;
        fits.push_back(std::move(*fit));
      }
      double const allowed = aim / levels_for(step) + noise;
      if (!(error > 1.3 * allowed)) break;
      double const next = step * std::clamp(0.9 * std::sqrt(allowed / error), 0.3, 0.8);
      finest = next < smallest;
      if (finest) break;
      step = next;
    }

    certified_tail out = infinite_parts();
    out.finest = finest || step <= smallest;
    double origin = 0.0;
    double shift = 0.0;
    double shift_below = 0.0;
    double distance = 0.0;
    double distance_below = 0.0;
    double largest = 0.0;
    std::vector<gridded_source> above;
    std::vector<gridded_source> below;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      loss_source const& source = sources_[s];
      fitted_source& fit = fits[s];
      origin += source.count * fit.origin;
      shift += source.count * (source.loss_error + 4.0 * unit_roundoff * std::abs(fit.origin));
      distance += source.count * (source.mass_error + unit_roundoff * fit.mass_error);
      largest += source.count * source.largest;
      shift_below += fit.moved;
      distance_below += fit.moved > 0.0 ? std::exp(-odds) : 0.0;
      above.push_back({std::move(fit.above), source.count, level[s]});
      below.push_back({std::move(fit.below), source.count, level[s]});
    }
    std::optional<tilted_tail> top =
        run(std::move(above), step, origin, true, distance, shift, largest);
    if (!top) return std::nullopt;
    std::optional<tilted_tail> bottom =
        run(std::move(below), step, origin, false, distance + distance_below, shift + shift_below,
            largest);
    if (!bottom) return std::nullopt;
    out.above = std::move(*top);
    out.below = std::move(*bottom);
    return out;
  }

  [[nodiscard]] static double step_at(double step, int level) {
    return step * std::pow(double(ratio), level);
  }

  [[nodiscard]] std::optional<fitted_source> fitted(std::size_t s, double step) const {
    loss_source const& source = sources_[s];
    double const log_scale = sketches_[s].at(tilt_).log_moment;
    fitted_source out;
    out.origin = source.low;
    std::vector<loss_cell> cells = cells_of(plan_of(source, sketches_[s], log_scale, step));
    if (source.atoms.size() <= few_atoms) {
      for (loss_atom const& a : source.atoms) split_at(cells, (a.loss - source.low) / step);
    }
    cell_filler const filler(source, std::move(cells), step, out.origin, tilt_, log_scale);
    out.mass_error = filler.mass_error();
    out.above = spread(filler.cells(), step, tilt_);
    // What lies below everything is taken up to the first node.
    out.above.mass.front() += source.below * std::exp(tilt_ * out.origin - log_scale);
    out.below = contract(filler.cells(), step, tilt_);
    out.above.log_norm = out.below.log_norm = log_scale;
    if (!normalise(out.above) || !normalise(out.below)) return std::nullopt;
    out.error = source.count * (out.above.log_norm - out.below.log_norm);
    // Merging loses an isolated atom up to a step; the other way loses a few steps·√count.
    double const moved = spread_shift(filler.cells(), step, tilt_, source.count, odds);
    if (moved * tilt_ < out.error) {
      out.below = out.above;
      out.moved = moved;
      out.error = moved * tilt_;
    }
    return out;
  }

  [[nodiscard]] certified_tail infinite_parts() const {
    certified_tail out;
    double above = 0.0;
    double below = 0.0;
    for (loss_source const& source : sources_) {
      above += source.count * std::log1p(-std::min(1.0, source.infinite + source.above));
      below += source.count * std::log1p(-source.infinite);
      out.lower_holds = out.lower_holds && source.lower_holds;
    }
    double const off = 16.0 * unit_roundoff;
    out.infinite_above = -std::expm1(above) * (1.0 + off);
    out.infinite_below = -std::expm1(below) * (1.0 - off);
    return out;
  }

  /// Cells whose widths add little to the error: of c steps where the tilted mass beyond is below
  /// 2e-3/c², and in which that mass does not fall by much.
  [[nodiscard]] cell_plan plan_of(loss_source const& source, loss_sketch const& sketch,
                                  double log_scale, double step) const {
    cell_plan out;
    out.last = static_cast<std::int64_t>(std::ceil((source.high - source.low) / step - 1e-9)) + 1;
    auto const n = sketch.loss.size();
    auto const marks = [&](bool from_above) {
      // From the end inwards: a loss, the mass up to it, the way on which it has tripled.
      struct point {
        double loss;
        double tail;
        double scale;
      };
      std::vector<point> points;
      double tail = 0.0;
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
      double stride = 2.0;
      for (int doubling = 0; doubling < 20; ++doubling, stride *= 2.0) {
        while (k > 0 && !(points[k - 1].tail * stride * stride < 1e-2 &&
                          stride * step < 0.15 * points[k - 1].scale)) {
          --k;
        }
        if (k == 0) break;
        found.push_back(static_cast<std::int64_t>((points[k - 1].loss - source.low) / step));
      }
      return found;
    };
    out.marks_down = marks(false);
    out.marks_up = marks(true);
    return out;
  }

  /// A step a little below the one wanted, on which the source's upper end and its few atoms come
  /// nearest to nodes.
  [[nodiscard]] double aligned(loss_source const& source, double step) const {
    std::vector<loss_atom> special;
    if (source.atoms.size() <= few_atoms) special = source.atoms;
    if (special.empty()) return step;
    double high = -std::numeric_limits<double>::infinity();
    for (loss_atom const& a : special) high = std::max(high, tilt_ * a.loss);
    double best = std::numeric_limits<double>::infinity();
    double found = step;
    // Candidates put the highest atom on a node.
    double top = source.low;
    for (loss_atom const& a : special) top = std::max(top, a.loss);
    double const range = top - source.low;
    if (!(range > 0.0)) return step;
    double const fewest = std::ceil(range / step);
    double const most = std::max(fewest, std::min(std::floor(1.4 * fewest), fewest + 1000.0));
    for (double n = fewest; n <= most; n += 1.0) {
      double const h = range / n;
      double cost = 0.0;
      for (loss_atom const& a : special) {
        double const position = (a.loss - source.low) / h;
        double const off = std::abs(position - std::round(position));
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

  /// Level by level: of every source, `fan` copies become one on a grid `ratio` times coarser, the
  /// remainder joins what is finished.
  [[nodiscard]] std::optional<tilted_tail> run(std::vector<gridded_source> waiting, double step,
                                               double origin, bool above, double distance,
                                               double shift, double largest) const {
    int last_start = 0;
    double scale = 0.0;
    for (gridded_source const& g : waiting) {
      last_start = std::max(last_start, g.level);
      scale += g.count * g.measure.log_norm;
    }
    std::optional<grid_measure> done;
    auto const coarser = [&](grid_measure const& fine, double h) {
      std::vector<loss_cell> const cells = gather(fine, h, tilt_, ratio);
      double const coarse = h * static_cast<double>(ratio);
      grid_measure out = above ? spread(cells, coarse, tilt_) : contract(cells, coarse, tilt_);
      out.log_norm = fine.log_norm;
      return normalise(out) ? std::optional(std::move(out)) : std::nullopt;
    };
    // Window errors of about 1e-11, or a share of them for each group of copies to come.
    double copies = 1.0;
    for (gridded_source const& a : waiting) copies = std::max(copies, a.count);
    loss_convolution convolution(largest_size, 25.0 + std::log(copies));
    double h = step;
    for (int level = 0; level < 200; ++level, h *= static_cast<double>(ratio)) {
      std::vector<loss_factor> all;
      bool ready = level >= last_start;
      double most = 0.0;
      if (done) all.push_back({&*done, 1.0});
      for (gridded_source const& a : waiting) {
        if (a.level > level || a.count == 0.0) continue;
        all.push_back({&a.measure, a.count});
        most = std::max(most, a.count);
      }
      if (ready && (most < fan || convolution.size_of(all) <= 2.0 * comfortable_size)) {
        std::optional<grid_measure> sum = convolution.compose(all, distance);
        if (!sum) return std::nullopt;
        return tilted_tail(std::move(*sum), h, origin, tilt_, distance, scale, shift, largest);
      }
      std::vector<loss_factor> remainders;
      if (done) remainders.push_back({&*done, 1.0});
      for (gridded_source const& a : waiting) {
        double const rest = std::fmod(a.count, fan);
        if (a.level <= level && rest > 0.0) remainders.push_back({&a.measure, rest});
      }
      if (!remainders.empty()) {
        std::optional<grid_measure> sum = convolution.compose(remainders, distance);
        if (!sum) return std::nullopt;
        sum = coarser(*sum, h);
        if (!sum) return std::nullopt;
        done = std::move(sum);
      }
      double now = done ? done->log_norm : 0.0;
      for (gridded_source& a : waiting) {
        if (a.level > level) {
          now += a.count * a.measure.log_norm;
          continue;
        }
        double const groups = std::floor(a.count / fan);
        a.count = groups;
        if (groups == 0.0) continue;
        double off = 0.0;
        std::optional<grid_measure> sum = convolution.compose({{&a.measure, fan}}, off);
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

  std::span<loss_source const> sources_;
  std::span<loss_sketch const> sketches_;
  double tilt_;
};

}  // namespace detail
}  // namespace tacit
