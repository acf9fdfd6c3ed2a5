// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/grid/compose.hpp>
#include <tacit/dp/grid/convolution.hpp>
#include <tacit/dp/grid/fit.hpp>
#include <tacit/dp/grid/law.hpp>
#include <tacit/dp/grid/measure.hpp>
#include <tacit/dp/grid/nodes.hpp>
#include <tacit/dp/grid/sketch.hpp>
#include <tacit/dp/grid/tail.hpp>
#include <tacit/dp/work_budget.hpp>

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

/// A composition on grids: which steps, and the certified δ(ε) that comes of it.

namespace tacit::detail {

template <std::same_as<double> T = double>
class grid_composition {
 public:
  /// Any laws; `tilt` is that of a saddle. Work is taken from `work`. Of the tilted mass e^{−reach} is left out at most, but
  /// for a few times the number of releases.
  grid_composition(std::span<loss_law<T> const> laws, std::span<loss_sketch<T> const> sketches,
                   T tilt, work_budget& work, T reach = 25.0)
      : laws_(laws), sketches_(sketches), tilt_(tilt), reach_(reach), work_(work) {
    for (std::size_t s = 0; s < laws.size(); ++s) {
      total_ += laws[s].count;
      // A law that the sketch misses is still somewhere in its range.
      T const width = laws[s].high - laws[s].low;
      deviation_.push_back(std::max(std::sqrt(sketches[s].at(tilt).curvature), 1e-9 * width));
      extents_.push_back(extents_of(laws[s], sketches[s], deviation_.back()));
    }
  }

  /// On the losses' own lattice: no grid error at all. Nothing if there is none, or it is too long.
  [[nodiscard]] std::optional<certified_tail<T>> exact() const {
    std::optional<T> const step = common_lattice(laws_);
    if (!step || too_many()) return std::nullopt;
    T nodes = 0.0;  // of a step that is fine for one law others may have very many
    for (loss_law<T> const& law : laws_) nodes += (law.high - law.low) / *step + 1.0;
    if (!(nodes <= most_nodes)) return std::nullopt;
    composer<T> const compose(rounding_side::exact, 40.0 + elementary::log(1.0 + total_), work_);
    std::vector<measure<T>> powers;
    certified_tail<T> out = infinite_parts();
    compensated_sum<T> origin;
    T placed = 0.0;
    T shift = 0.0;
    T largest = 0.0;
    for (std::size_t s = 0; s < laws_.size(); ++s) {
      loss_law<T> const& law = laws_[s];
      T const log_scale = sketches_[s].at(tilt_).value;
      measure<T> one;
      one.step = *step;
      one.tilt = tilt_;
      auto const last = static_cast<std::size_t>(std::round((law.high - law.low) / *step));
      one.mass.resize(last + 1);
      T wear = 0.0;
      T sum = 0.0;
      for (loss_atom<T> const& a : law.atoms) {
        T const exponent = tilt_ * a.loss - log_scale;
        auto const k = static_cast<std::size_t>(std::round((a.loss - law.low) / *step));
        T const mass = a.p * elementary::exp(exponent);
        one.mass[k] += mass;
        sum += mass;
        // Its place is not quite its loss.
        T const place = law.low + *step * static_cast<T>(k);
        T const away = std::abs(a.loss - place) / unit_roundoff +
                       4.0 * (std::abs(law.low) + std::abs(law.high));
        wear += mass *
                (libm_units + 2.0 * std::abs(exponent) + 2.0 * std::abs(log_scale) + tilt_ * away);
      }
      one.log_norm = log_scale;
      if (!normalise(one)) return std::nullopt;
      one.distance +=
          law.mass_error +
          (unit_roundoff * wear + law.below * elementary::exp(tilt_ * law.low - log_scale)) / sum;
      origin += law.count * law.low;
      placed += 4.0 * unit_roundoff * law.count * std::abs(law.low);
      shift += law.count *
               (law.loss_error + 32.0 * unit_roundoff * (std::abs(law.low) + std::abs(law.high)));
      largest = add_up(largest, multiply_up(law.count, law.largest));
      out.range.lower += law.count * law.low;
      out.range.upper += law.count * law.high;
      std::optional<measure<T>> all = compose.power(one, law.count);
      if (!all) return std::nullopt;
      powers.push_back(std::move(*all));
    }
    std::optional<measure<T>> sum = compose.compose(std::move(powers));
    if (!sum) return std::nullopt;
    out.above = out.below = tilted_tail<T>(std::move(*sum), origin.value(), placed, shift, largest);
    widen(out.range, shift);
    return out;
  }

  /// On a grid whose error in log δ is about `aim`, or else on the finest of those tried that fits.
  [[nodiscard]] std::optional<certified_tail<T>> on_grid(T aim) const {
    if (too_many()) return std::nullopt;
    T taken = 1.0;
    auto const tried = [&](int k) {
      // Not all that is left, so that something remains for a coarser one.
      T const part = laws_.size() > few_laws ? 0.5 : laws_.size() > 1 ? 0.75 : 0.8;
      std::optional<certified_tail<T>> tail =
          work_.within(part * work_.left(), [&](work_budget& share) {
            return on_grid(std::ldexp(aim, 2 * k), std::ldexp(T(0.1), k), taken, share);
          });
      if (tail) tail->finest = tail->finest || k > 0;
      return tail;
    };
    for (int k = 0; k < 20 && !work_.ended(); ++k) {
      std::optional<certified_tail<T>> tail = tried(k);
      if (!tail) continue;
      // It may have taken less than was expected, so that a finer one fits as well.
      for (int finer = 0; finer < k; ++finer) {
        if (std::optional<certified_tail<T>> better = tried(finer)) return better;
      }
      return tail;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t few_laws = 64;
  static constexpr T most_nodes = 0x1p23;  // of all laws on one lattice
  // Beyond it numbers of releases, and of steps, are no longer whole.
  [[nodiscard]] bool too_many() const { return laws_.size() > 1 && total_ > 0x1p53; }
  static constexpr T ratio = static_cast<T>(composer<T>::ratio);

  /// Steps of at most `most` deviations, whose error in log δ is about `aim` if they are not too many. `taken` is what
  /// powers and sums take over what is expected of them, where a coarser grid has shown it.
  [[nodiscard]] std::optional<certified_tail<T>> on_grid(T aim, T most, T& taken,
                                                         work_budget& work) const {
    T variance = 0.0;
    std::vector<T> deviation = deviation_;
    for (std::size_t s = 0; s < laws_.size(); ++s) {
      variance += laws_[s].count * deviation[s] * deviation[s];
    }
    if (!(variance < std::numeric_limits<T>::infinity())) return std::nullopt;
    // A law that hardly varies may be rounded as much as the others are.
    T const laws = static_cast<T>(laws_.size());
    T shared = 0.0;
    for (std::size_t s = 0; s < laws_.size(); ++s) {
      deviation[s] = std::max(deviation[s], std::sqrt(variance / (laws_[s].count * laws)));
      shared += laws_[s].count * deviation[s] * deviation[s];
    }
    variance = shared;
    T const least = *std::min_element(deviation.begin(), deviation.end());
    if (!(least > 0.0)) return std::nullopt;
    // Each of the two pairs moves log δ by T·θ(1+θ)h²/12 where the grid resolves the losses; every law
    // gets a share by its variance, every level the same.
    T levels = 1.0;
    T step = 0.0;  // of the law of the least deviation
    auto const levels_for = [&](T h) {
      T const size =
          composer<T>::deviations * std::sqrt(variance) / h / composer<T>::comfortable_size;
      return 1.0 + std::max(0.0, std::ceil(elementary::log(size) / elementary::log(ratio)));
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
      T const l = elementary::log(deviation[s] / least) / elementary::log(ratio);
      level[s] = static_cast<int>(std::clamp(std::floor(l + 1e-9), 0.0, 60.0));
      T const width = laws_[s].high - laws_[s].low;
      smallest = std::max(
          smallest, width / step_at(1.0, level[s]) / (T(loss_convolution<T>::largest_size) / 8.0));
    }
    step = std::max(step, smallest);
    if (!(step > 0.0 && step < 1e300)) return std::nullopt;
    constexpr T margin = 1.1;  // of what is expected to take so much
    auto const expected = [&](T of) {
      return margin * taken * expected_cost(of, level, deviation);
    };
    // As far as there is work enough for a step that suits atoms.
    std::vector<T> scale;
    for (int const l : level) scale.push_back(step_at(1.0, l));
    auto const suitable = [&](T wanted) {
      T const nearer = aligned(laws_, scale, wanted, tilt_);
      bool const fits = nearer >= smallest && work.allows(expected(nearer) + least_cost_of_fits());
      return fits ? nearer : wanted;
    };
    step = suitable(step);
    if (!work.allows(expected(step) + least_cost_of_fits())) return std::nullopt;
    std::vector<fitted_law<T>> fits;
    bool finest = false;
    for (int round = 0; round < 10; ++round) {
      fits.clear();
      T error = 0.0;
      T noise = 0.0;
      T const before = work.left();
      for (std::size_t s = 0; s < laws_.size(); ++s) {
        std::optional<fitted_law<T>> fit =
            law_fit<T>(laws_[s], sketches_[s], tilt_).at(step_at(step, level[s]), work);
        if (!fit) return std::nullopt;
        error += fit->error;
        noise += 1e-14 * laws_[s].count;
        fits.push_back(std::move(*fit));
      }
      T const allowed = aim / levels_for(step) + noise;
      if (!(error > 1.3 * allowed)) break;
      T const next = suitable(step * std::clamp(0.9 * std::sqrt(allowed / error), 0.3, 0.8));
      T const fitting = margin * (before - work.left()) * step / next;
      finest = next < smallest || !work.allows(fitting + expected(next));
      if (finest) break;
      step = next;
    }

    T const before = work.left();
    T const planned = expected_cost(step, level, deviation);
    if (!work.allows(taken * planned)) return std::nullopt;
    std::optional<certified_tail<T>> out = composed(fits, work);
    // What was not enough for it was at most as much as it takes.
    taken = std::max((out ? 1.0 : 1.5) * (before - work.left()) / planned, 0.6);
    if (out) out->finest = finest || step <= smallest;
    return out;
  }

  /// The sum of all laws, above and below.
  [[nodiscard]] std::optional<certified_tail<T>> composed(std::vector<fitted_law<T>> const& fits,
                                                          work_budget& work) const {
    certified_tail<T> out = infinite_parts();
    T const reach = reach_ + elementary::log(total_ + static_cast<T>(laws_.size()));
    composer<T> const up(rounding_side::above, reach, work);
    composer<T> const down(rounding_side::below, reach, work);
    compensated_sum<T> origin;
    T placed = 0.0;
    T shift = 0.0;
    T moved = 0.0;
    T largest = 0.0;
    std::vector<measure<T>> above;
    std::vector<measure<T>> below;
    for (std::size_t s = 0; s < laws_.size(); ++s) {
      loss_law<T> const& law = laws_[s];
      origin += law.count * fits[s].origin;
      placed +=
          4.0 * unit_roundoff * law.count * (std::abs(fits[s].origin) + std::abs(fits[s].first));
      shift += law.count * (2.0 * law.loss_error +
                            24.0 * unit_roundoff * (std::abs(law.low) + std::abs(law.high)));
      largest = add_up(largest, multiply_up(law.count, law.largest));
      moved += fits[s].moved;
      // Its first node and its last one.
      out.range.lower += law.count * fits[s].first;
      out.range.upper += law.count * (law.high + 2.0 * fits[s].above.step);
      std::optional<measure<T>> high = up.power(fits[s].above, law.count);
      std::optional<measure<T>> low = down.power(fits[s].below, law.count);
      if (!high || !low) return std::nullopt;
      above.push_back(std::move(*high));
      below.push_back(std::move(*low));
    }
    std::optional<measure<T>> high = up.compose(std::move(above));
    std::optional<measure<T>> low = down.compose(std::move(below));
    if (!high || !low) return std::nullopt;
    out.above = tilted_tail<T>(std::move(*high), origin.value(), placed, shift, largest);
    out.below = tilted_tail<T>(std::move(*low), origin.value(), placed, shift + moved, largest);
    // A grid that is coarser takes a loss up to a step farther: of 64 releases together at most, or of a law's all.
    T const steps = 2.0 * (total_ + 8.0 * static_cast<T>(laws_.size()));
    widen(out.range, shift + moved + steps * std::max(out.above.step(), out.below.step()));
    return out;
  }

  static void widen(bound<T>& range, T by) {
    T const off = by + 1e-12 * (std::abs(range.lower) + std::abs(range.upper));
    range = {range.lower - off, range.upper + off};
  }

  /// About what the powers, and the sums of them, will take on both sides, in nanoseconds.
  [[nodiscard]] T expected_cost(T step, std::vector<int> const& level,
                                std::vector<T> const& deviation) const {
    T cost = 0.0;
    std::vector<measure_forecast<T>> sums;
    for (std::size_t s = 0; s < laws_.size(); ++s) {
      T const n = laws_[s].count;
      T const unit = step_at(step, level[s]);
      T const nodes = extents_[s].front() / unit;
      if (n > 1.0) {
        for (T const extent : extents_[s]) cost += 100.0 * (std::min(extent / unit, 3e5) + 16.0);
      }
      T const deviations =
          std::max(std::sqrt(n) * deviation[s] / unit, nodes / composer<T>::deviations);
      sums.push_back({level[s], nodes + 2.0, deviations * deviations});
    }
    return cost + 2.0 * composer<T>::expected_cost(std::move(sums));
  }

  // How far the tilted losses of n, n/2, n/4, … releases reach, but for next to nothing of them: by Chernoff's bound, which is
  // about right of rare large losses, too. Estimates.
  [[nodiscard]] std::vector<T> extents_of(loss_law<T> const& law, loss_sketch<T> const& sketch,
                                          T deviation) const {
    struct moments {
      T s;
      T above;
      T below;
    };
    std::vector<moments> known;
    cumulants<T> const at = sketch.at(tilt_);
    auto const log_moment = [&](T s) {
      return std::max(T(0.0), sketch.at(tilt_ + s).value - at.value - s * at.slope);
    };
    for (T s = 64.0 / deviation; s > 1e-3 / deviation / std::sqrt(law.count); s *= 0.5) {
      known.push_back({s, log_moment(s), log_moment(-s)});
    }
    std::vector<T> out;
    T n = law.count;
    do {
      T const range = n * (law.high - law.low);
      T above = range;
      T below = range;
      for (moments const& m : known) {
        above = std::min(above, (n * m.above + reach_) / m.s);
        below = std::min(below, (n * m.below + reach_) / m.s);
      }
      out.push_back(std::min(range, above + below));
      n *= 0.5;
    } while (n > 1.0);
    return out;
  }

  [[nodiscard]] T least_cost_of_fits() const {
    T cost = 0.0;
    for (loss_law<T> const& law : laws_) cost += 100.0 * static_cast<T>(law.atoms.size());
    return cost;
  }

  [[nodiscard]] static T step_at(T step, int level) { return step * std::pow(ratio, level); }

  [[nodiscard]] certified_tail<T> infinite_parts() const {
    certified_tail<T> out;
    T above = 0.0;
    T below = 0.0;
    for (loss_law<T> const& law : laws_) {
      above += law.count * elementary::log1p(-std::min(1.0, law.infinite + law.above));
      below += law.count * elementary::log1p(-law.infinite);
      out.lower_holds = out.lower_holds && law.lower_holds;
    }
    T const off = unit_roundoff * (16.0 + 2.0 * static_cast<T>(laws_.size()));
    out.infinite_above = -elementary::expm1(above) * (1.0 + off);
    out.infinite_below = -elementary::expm1(below) * (1.0 - off);
    return out;
  }

  std::span<loss_law<T> const> laws_;
  std::span<loss_sketch<T> const> sketches_;
  T tilt_;
  T reach_;
  work_budget& work_;
  T total_ = 0.0;
  std::vector<T> deviation_;             // of the tilted laws
  std::vector<std::vector<T>> extents_;  // see `extents_of`
};

}  // namespace tacit::detail
