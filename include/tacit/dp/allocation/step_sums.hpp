// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/allocation/lattice.hpp>
#include <tacit/dp/allocation/sums.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/saddle.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

/// The sum X of the likelihood ratios U_i of an epoch's t steps, of which a record takes part in one, by lattices above and
/// below it in convex order. With the pair (mean of the laws in which one step has the record, the law in which none has)
///   δ_remove(ε) = E(X − c)₊/t, c = t·e^ε;   δ_add(ε) = e^ε·E(c − X)₊/t, c = t·e^{−ε}.
/// docs/certificates/allocation.md, Lemmas 1 to 7.

namespace tacit::detail::epochs {

/// E(X−c)₊ or E(c−X)₊ for c near one value, as bounds.
template <std::same_as<double> T = double, class Loss = stop_loss<T>>
struct certified_sum {
  Loss above;
  std::optional<Loss> below;
  side way;
  T linear_to;             // for c up to here a U beyond the cut makes the sum exceed c, …
  T unlikely;              // … but for a probability of so much
  enclosure excess_above;  // t·E(U − top)₊
  enclosure excess_below;
  enclosure alone;  // t times what the record alone can produce, which calls have besides
  T location_error;
  T mass_error;  // of sums, relatively

  [[nodiscard]] std::size_t size() const { return above.size() + (below ? below->size() : 0); }

  [[nodiscard]] bound<T> operator()(enclosure c) const {
    bool const call = way == side::call;
    // A sum whose terms are off by η relatively: X within X′(1±η).
    enclosure const margin{1.0 - 2.0 * location_error, 1.0 + 2.0 * location_error};
    enclosure const y = call ? c * margin : -(c * margin);
    bound<T> out{0.0, std::numeric_limits<T>::infinity()};
    T const more = (1.0 + 4.0 * location_error) * (1.0 + mass_error);
    out.upper = above(y.lower - above.shift()).upper * more;
    if (call) out.upper = add_up(out.upper, (excess_above + alone).upper);
    if (below) {
      T low = (*below)(y.upper + below->shift()).lower * (2.0 - more);
      // E(X − c)₊ is linear in a U beyond the cut where that makes the sum exceed c.
      bool const linear = c.upper <= linear_to * (1.0 - 4.0 * location_error);
      enclosure const kept = excess_below * (1.0 - enclosure(unlikely));
      if (call && linear) low = add_down(low, kept.lower);
      if (call) low = add_down(low, alone.lower);
      if (!call) low = subtract_down(low, (linear ? excess_below * unlikely : excess_below).upper);
      out.lower = std::max(0.0, low);
    }
    out.lower = std::min(out.lower, out.upper);
    return out;
  }
};

/// log E e^{θs(V − c/t)}, V = min(U, top), and its derivatives in θ. Estimates: they steer, and never bound.
template <std::same_as<double> T = double>
class ratio_sketch {
 public:
  ratio_sketch(std::vector<outcome<T>> const& step, T centre, side way) {
    T const sign = way == side::call ? 1.0 : -1.0;
    for (auto const& [value, mass] : step) {
      value_.push_back(sign * (value - centre));
      mass_.push_back(mass);
    }
  }

  [[nodiscard]] cumulants<T> at(T tilt) const {
    T most = -std::numeric_limits<T>::infinity();
    for (std::size_t k = 0; k < value_.size(); ++k) most = std::max(most, tilt * value_[k]);
    T sum = 0.0;
    T first = 0.0;
    T second = 0.0;
    for (std::size_t k = 0; k < value_.size(); ++k) {
      T const exponent = tilt * value_[k] - most;
      if (exponent < -80.0) continue;
      T const w = mass_[k] * elementary::exp(exponent);
      sum += w;
      first += w * value_[k];
      second += w * value_[k] * value_[k];
    }
    if (!(sum > 0.0)) return {most - 800.0, 0.0, 0.0};
    T const mean = first / sum;
    return {most + elementary::log(sum), mean, std::max(0.0, second / sum - mean * mean)};
  }

  struct point {
    T tilt;
    cumulants<T> k;
  };
  /// The saddle point of e^{t·K(θ)}/θ².
  [[nodiscard]] point saddle(T t) const {
    T const unit = std::max(std::abs(value_.front()), std::abs(value_.back()));
    T const start = smallest_log_tilt(t * std::max(at(0.0).curvature, 1e-16 * unit * unit));
    auto const there = [&](T tilt) { return point{tilt, at(tilt)}; };
    auto const found =
        find_saddle(start, there, [&](point const& p) { return 2.0 - t * p.tilt * p.k.slope; });
    return found ? *found : there(elementary::exp(start));
  }

 private:
  std::vector<T> value_;
  std::vector<T> mass_;
};

/// The sums of `steps` ratios of one kind, in one direction. A Step is one ratio: its outcomes roughly (`sketch`), where it
/// may be cut (`farthest`), what it has beyond (`excess`), and lattices `above` and `below` it.
template <class Step, std::same_as<double> T = double>
class step_sums {
 public:
  step_sums(Step step, T steps, orientation way)
      : step_(std::move(step)),
        steps_(steps),
        way_(way == orientation::remove ? side::call : side::put) {}

  [[nodiscard]] Step const& step() const { return step_; }
  [[nodiscard]] side way() const { return way_; }

  /// The ε at which the saddle point's δ is about this. An estimate.
  [[nodiscard]] T estimate(T most, T delta) const {
    auto const miss = [&](T e) {
      T const c = threshold(e).upper;
      ratio_sketch<T> const sketch(step_.sketch(cut(c, delta)), c / steps_, way_);
      auto const [tilt, k] = sketch.saddle(steps_);
      T const log_loss = steps_ * k.value - 2.0 * elementary::log(tilt) -
                         0.5 * elementary::log(2.0 * std::numbers::pi *
                                               (steps_ * k.curvature + 2.0 / (tilt * tilt)));
      T const log_delta = log_loss - elementary::log(way_ == side::call ? steps_ : c);
      return log_delta - elementary::log(delta);
    };
    T const at_most = miss(most);
    if (!(at_most < 0.0)) return most;
    T const least = 1e-7 * most;
    T const at_least = miss(least);
    if (!(at_least > 0.0)) return least;
    return sign_change({least, most}, at_least, at_most, miss, 0.01).middle();
  }

  /// E(X−c)₊ or E(c−X)₊ from lattices of about so many points, made for c = t·e^{±ε}, where δ is of that size.
  /// Nothing where that is more than the work left.
  [[nodiscard]] std::optional<certified_sum<T>> at(T epsilon, T points, T delta_size,
                                                   work_budget& work, bool grouped = false) const {
    T const c = threshold(epsilon).upper;
    T const top = cut(c, delta_size);
    ratio_sketch<T> const sketch(step_.sketch(top), c / steps_, way_);
    auto const start = sketch.saddle(steps_);
    T tilt = start.tilt;
    cumulants<T> moments = start.k;
    // What an error of the masses is beside the answer: log of e^{tK−θy}/(eθ) over t·δ. A smaller tilt than the
    // saddle point's makes that larger, and the window shorter where it is for rare large values.
    T const scale_of_loss = delta_size * (way_ == side::call ? steps_ : c);
    auto const scale_at = [&](T theta, cumulants<T> const& m) {
      return steps_ * m.value - elementary::log(theta) - elementary::log(scale_of_loss);
    };
    T scale = scale_at(tilt, moments);
    T const most = std::max(scale + 2.0, elementary::log(1e6 / steps_));
    for (int k = 0; k < 40; ++k) {
      T const less = 0.8 * tilt;
      cumulants<T> const there = sketch.at(less);
      T const off = scale_at(less, there);
      if (!(off <= most)) break;
      tilt = less;
      moments = there;
      scale = off;
    }
    T const reach = 2.0 + 2.0 * elementary::log(points) + std::clamp(scale, 0.0, 60.0);
    T const whole_size = grouped ? 2.0 * points : std::numeric_limits<T>::infinity();
    using summation = composer<T, lattice_coarsening<T>>;
    summation const up(rounding_side::above, reach, work, whole_size);
    summation const down(rounding_side::below, reach, work, whole_size);
    // A coarse lattice shows how long the window is.
    T const deviation = std::sqrt(steps_ * moments.curvature);
    T step = std::clamp(deviation / 64.0, top / 8192.0, top / 1024.0);
    if (!work.take(node_cost * top / step)) return std::nullopt;
    std::optional<measure<T>> one = tilted(step_.above(step, top), way_, tilt);
    if (!one) return std::nullopt;
    T length = loss_convolution<T>(reach).size_of({{&*one, steps_}});
    if (!(length < 1e300)) return std::nullopt;
    length *= step;
    step = length / points;
    // Sums of very many are formed in groups: the first lattice is for one of them.
    T const groups = std::floor(elementary::log(steps_) / elementary::log(64.0) - 0.4);
    T const finest = step * elementary::exp(-elementary::log(8.0) * groups);
    if (grouped) {
      step = finest;
      if (!(step > top / 0x1p21 && step < 0.25 * std::sqrt(moments.curvature))) return std::nullopt;
    }
    step = std::max(step, top / 0x1p21);
    if (!work.take(node_cost * top / step)) return std::nullopt;
    lattice_law<T> const high = step_.above(step, top);
    std::optional<lattice_law<T>> const low =
        step_.below(step, top, [&] { return work.take(node_cost * top / step); });
    auto const sum_of = [&](lattice_law<T> const& law,
                            summation const& by) -> std::optional<stop_loss<T>> {
      std::optional<measure<T>> const base = tilted(law, way_, tilt);
      if (!base) return std::nullopt;
      std::optional<measure<T>> all = by.power(*base, steps_);
      if (!all) return std::nullopt;
      T const origin = steps_ * law.origin;
      T const sign = way_ == side::call ? 1.0 : -1.0;
      all->log_norm += tilt * sign * origin;
      all->log_scale += tilt * sign * origin;
      return stop_loss<T>(std::move(*all), sign * origin);
    };
    std::optional<stop_loss<T>> above = sum_of(high, up);
    if (!above) return std::nullopt;
    std::optional<stop_loss<T>> below;
    if (low) below = sum_of(*low, down);
    auto const cut = [](lattice_law<T> const& law) {
      return law.origin + law.step * static_cast<T>(law.mass.size() - 1);
    };
    T const top_above = cut(high);
    T const top_below = low ? cut(*low) : top_above;
    enclosure const t = steps_;
    return certified_sum<T>{
        std::move(*above),
        std::move(below),
        way_,
        top_below,
        0.0,
        t * step_.excess(top_above),
        t * step_.excess(top_below),
        t * step_.alone(),
        std::max(high.location_error, low ? low->location_error : 0.0),
        2.0 * steps_ * (relative_error(high, tilt) + (low ? relative_error(*low, tilt) : 0.0))};
  }

  /// δ(ε) by sums that were made for an ε near it: they hold for any.
  template <class Loss>
  [[nodiscard]] bound<T> from(certified_sum<T, Loss> const& sum, T epsilon) const {
    bound<T> const loss = sum(threshold(epsilon));
    enclosure delta = enclosure(loss.lower, loss.upper) / enclosure(steps_);
    if (way_ == side::put) delta *= exp(enclosure(epsilon));
    return {std::max(0.0, delta.lower), std::min(1.0, delta.upper)};
  }

 private:
  static constexpr T node_cost = 250.0;  // of a lattice and its tilted copy, in nanoseconds, about

  [[nodiscard]] enclosure threshold(T epsilon) const {
    return enclosure(steps_) * exp(enclosure(way_ == side::call ? epsilon : -epsilon));
  }

  // Where U is cut: beyond c nothing is lost.
  [[nodiscard]] T cut(T c, T delta_size) const {
    return std::min(c * (1.0 + 0x1p-10), step_.farthest(delta_size));
  }

  Step step_;
  T steps_;
  side way_;
};

}  // namespace tacit::detail::epochs
