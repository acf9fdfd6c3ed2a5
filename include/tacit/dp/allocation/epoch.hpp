// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/agreement.hpp>
#include <tacit/dp/allocation/lattice.hpp>
#include <tacit/dp/allocation/one_jump.hpp>
#include <tacit/dp/allocation/sums.hpp>
#include <tacit/dp/gaussian_profile.hpp>
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

/// One epoch of random allocation: a record takes part in one of t steps, which one is uniform and secret.
///
/// With X = ΣU_i, U_i = e^{aZ_i − a²/2}, a = 1/σ, the dominating pair (mean of N(e_i, σ²I), N(0, σ²I)) has
///   δ_remove(ε) = E(X − c)₊/t, c = t·e^ε;   δ_add(ε) = e^ε·E(c − X)₊/t, c = t·e^{−ε}.
/// Sources and proofs: docs/certificates/allocation.md.

namespace tacit::detail::epochs {

/// E(X−c)₊ or E(c−X)₊ for c near one value, as bounds.
template <std::same_as<double> T = double>
struct certified_sum {
  stop_loss<T> above;
  std::optional<stop_loss<T>> below;
  side way;
  T top_above;  // where U is cut
  T top_below;
  enclosure excess_above;  // t·E(U − top)₊
  enclosure excess_below;
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
    if (call) out.upper = add_up(out.upper, excess_above.upper);
    if (below) {
      T low = (*below)(y.upper + below->shift()).lower * (2.0 - more);
      // Where U is cut above c, a U beyond makes the sum exceed c, and E(X − c)₊ is linear in it.
      bool const linear = top_below * (1.0 - 4.0 * location_error) >= c.upper;
      if (call && linear) low = add_down(low, excess_below.lower);
      if (!call && !linear) low = subtract_down(low, excess_below.upper);
      out.lower = std::max(0.0, low);
    }
    out.lower = std::min(out.lower, out.upper);
    return out;
  }
};

/// Sums that have answered at one ε, for those near it: their bounds hold at every ε.
template <std::same_as<double> T = double>
class kept_sums {
 public:
  [[nodiscard]] std::vector<certified_sum<T>> const& all() const { return all_; }

  /// Of what is kept the oldest is dropped where it becomes too much.
  void keep(certified_sum<T> sum) {
    nodes_ += sum.size();
    all_.push_back(std::move(sum));
    while (all_.size() > 1 && nodes_ > most_nodes) {
      nodes_ -= all_.front().size();
      all_.erase(all_.begin());
    }
  }

 private:
  static constexpr std::size_t most_nodes = std::size_t{1} << 22;  // 16 bytes each
  std::vector<certified_sum<T>> all_;
  std::size_t nodes_ = 0;
};

/// log E e^{θs(V − c/t)}, V = min(U, top), and its derivatives in θ. Estimates: they steer, and never bound.
template <std::same_as<double> T = double>
class ratio_sketch {
 public:
  ratio_sketch(step_ratio<T> const& ratio, T top, T centre, side way) {
    T const sign = way == side::call ? 1.0 : -1.0;
    T const last = ratio.parameter(top);
    T const first = std::min(-12.0, last - 12.0);
    constexpr int n = 600;
    T const length = (last - first) / n;
    for (int k = 0; k < n; ++k) {
      T const z = first + length * (k + 0.5);
      value_.push_back(sign * (ratio.value(z) - centre));
      mass_.push_back(length * inv_root_two_pi<T> * elementary::exp(-0.5 * z * z));
    }
    value_.push_back(sign * (top - centre));
    mass_.push_back(std::max(1e-300, normal_tail(enclosure(last)).upper));
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

/// The two-sided answers for one epoch in one direction.
template <std::same_as<double> T = double>
class epoch {
 public:
  epoch(allocation_pair const& pair, orientation way)
      : ratio_(pair.noise_multiplier),
        noise_(pair.noise_multiplier),
        steps_(static_cast<T>(pair.steps)),
        way_(way == orientation::remove ? side::call : side::put),
        own_(pair, way) {}

  /// δ(ε). Guarantee: holds the pair's; about `width` wide, relatively, where lattices of 2^19 points do.
  [[nodiscard]] bound<T> delta(T epsilon, T width = 1e-6) const {
    work_budget work(work_on_epoch);
    return delta(epsilon, work, width);
  }
  /// What `keep` has serves ε near those that it was found for, where it is within twice `width`.
  [[nodiscard]] bound<T> delta(T epsilon, work_budget& work, T width = 1e-6,
                               kept_sums<T>* keep = nullptr) const {
    bound<T> kept{0.0, 1.0};
    if (keep != nullptr) {
      for (certified_sum<T> const& sum : keep->all()) narrow(kept, from(sum, epsilon));
      if (kept.upper - kept.lower <= 2.0 * width * kept.upper) return kept;
    }
    bound<T> best = at_once_delta(epsilon, work);
    narrow(best, kept);
    // Where U is cut beyond c a sum serves smaller c, too.
    T const place = keep == nullptr      ? epsilon
                    : way_ == side::call ? 1.05 * epsilon + 0.01
                                         : std::max(0.0, 0.95 * epsilon - 0.01);
    T points = 0x1p13;
    for (int attempt = 0; attempt < 6; ++attempt) {
      if (!(best.upper > std::numeric_limits<T>::min())) break;
      if (best.upper - best.lower <= width * best.upper) break;
      std::optional<certified_sum<T>> sum = at(place, points, best.upper, work);
      T const before = best.upper;
      if (sum) narrow(best, from(*sum, epsilon));
      T const off = (best.upper - best.lower) / (width * best.upper);
      if (off <= 1.0 || points == most_points) {
        if (sum && keep != nullptr) keep->keep(std::move(*sum));
        break;
      }
      // The width falls with the square of the step, once the lattices are for a δ of that size.
      if (best.upper < 0.1 * before) continue;
      points = std::min(most_points, points * std::clamp(1.3 * std::sqrt(off), 2.0, 32.0));
    }
    return best;
  }

  /// ε(δ). Guarantee: holds the pair's; about `width`·max(1, ε) wide where lattices of 2^19 points do.
  [[nodiscard]] bound<T> epsilon(T delta, T width = 2e-7) const {
    work_budget work(work_on_epoch);
    return epsilon(delta, work, width);
  }
  [[nodiscard]] bound<T> epsilon(T delta, work_budget& work, T width = 2e-7) const {
    bound<T> best = at_once_epsilon(delta, work);
    if (best.upper - best.lower <= width * std::max(1.0, best.upper)) return best;
    T guess = estimate(best.upper, delta);
    T points = 0x1p12;
    bool may_group = steps_ > 8192.0;
    bool grouped = false;
    for (int attempt = 0; attempt < 14; ++attempt) {
      std::optional<certified_sum<T>> const sum = at(guess, points, delta, work, grouped);
      T const before = best.upper - best.lower;
      bool settled = true;
      if (sum) {
        narrow(best, read(*sum, guess, delta, best));
        T const next = std::clamp(newton(*sum, guess, delta), best.lower, best.upper);
        settled = std::abs(next - guess) <= 2e-3 * guess;
        guess = next;
      }
      T const after = best.upper - best.lower;
      T const off = after / (width * std::max(1.0, best.upper));
      if (off <= 1.0) break;
      bool const stuck = settled && !(after < 0.5 * before);
      if (points == most_points && stuck) break;
      if (grouped && stuck) {
        grouped = false;
        points = most_points;
        continue;
      }
      // The width falls with the square of the step.
      points *= settled ? std::clamp(1.3 * std::sqrt(off), 2.0, 32.0) : attempt > 4 ? 2.0 : 1.0;
      if (may_group && points > 0x1p17) {
        may_group = false;
        grouped = true;
        points = 0x1p16;
      }
      points = std::min(points, grouped ? 0x1p18 : most_points);
    }
    return best;
  }

  /// The ε at which the saddle point's δ is about this. An estimate.
  [[nodiscard]] T estimate(T most, T delta) const {
    auto const miss = [&](T e) {
      T const c = threshold(e).upper;
      ratio_sketch<T> const sketch(ratio_, cut(c, delta), c / steps_, way_);
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
    ratio_sketch<T> const sketch(ratio_, top, c / steps_, way_);
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
    std::optional<measure<T>> one = tilted(ratio_.above(step, top), way_, tilt);
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
    lattice_law<T> const high = ratio_.above(step, top);
    std::optional<lattice_law<T>> const low =
        ratio_.below(step, top, [&] { return work.take(node_cost * top / step); });
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
        top_above,
        top_below,
        t * ratio_.excess(top_above),
        t * ratio_.excess(top_below),
        std::max(high.location_error, low ? low->location_error : 0.0),
        2.0 * steps_ * (relative_error(high, tilt) + (low ? relative_error(*low, tilt) : 0.0))};
  }

 private:
  static constexpr T most_points = 0x1p19;
  static constexpr T node_cost = 250.0;  // of a lattice and its tilted copy, in nanoseconds, about

  // One step that every record takes part in, for no fewer steps are than one, and what the record's own step says.
  [[nodiscard]] gaussian_dp whole() const { return {divide_up(1.0, noise_)}; }
  [[nodiscard]] bound<T> at_once_epsilon(T delta, work_budget& work) const {
    bound<T> out = own_.epsilon(delta, work);
    out.upper = std::max(out.lower, std::min(out.upper, tacit::epsilon(whole(), delta).upper));
    return out;
  }
  [[nodiscard]] bound<T> at_once_delta(T epsilon, work_budget& work) const {
    bound<T> out = own_.delta(epsilon, work);
    out.upper = std::max(out.lower, std::min(out.upper, tacit::delta(whole(), epsilon).upper));
    return out;
  }

  // Lattices are made for ε near a guess; from there they are read to either side.
  [[nodiscard]] bound<T> read(certified_sum<T> const& sum, T guess, T delta, bound<T> known) const {
    auto const holds = [&](T e) { return from(sum, e).upper <= delta; };
    auto const exceeds = [&](T e) { return from(sum, e).lower > delta; };
    bound<T> out = known;
    T const least = std::max(1e-9 * guess, std::numeric_limits<T>::min());
    if (holds(guess)) {
      T gap = least;
      while (gap < guess && holds(guess - gap)) gap *= 2.0;
      out.upper =
          last_holding(std::min(guess, guess - 0.5 * gap), std::max(0.0, guess - gap), holds);
      if (!holds(out.upper)) out.upper = guess;
      if (gap >= guess && holds(0.0)) out.upper = 0.0;
    } else {
      T gap = least;
      while (guess + gap < known.upper && !holds(guess + gap)) gap *= 2.0;
      T const e = std::min(known.upper, guess + gap);
      if (holds(e)) out.upper = last_holding(e, guess, holds);
    }
    if (exceeds(guess)) {
      T gap = least;
      while (guess + gap < out.upper && exceeds(guess + gap)) gap *= 2.0;
      out.lower = last_holding(guess, std::min(std::max(out.upper, guess), guess + gap), exceeds);
    } else {
      T gap = least;
      while (gap < guess && !exceeds(guess - gap)) gap *= 2.0;
      T const e = std::max(0.0, guess - gap);
      if (exceeds(e)) out.lower = last_holding(e, guess, exceeds);
    }
    return out;
  }

  // From the guess to where log δ is the one asked for, by the slope that is read off.
  [[nodiscard]] T newton(certified_sum<T> const& sum, T guess, T delta) const {
    auto const log_delta = [&](T e) {
      bound<T> const d = from(sum, e);
      return elementary::log(0.5 * (d.lower + d.upper) + std::numeric_limits<T>::min());
    };
    T const step = std::min(1e-3 * guess, 0x1p-12);  // before the cut of U
    T const here = log_delta(guess);
    T const slope = (here - log_delta(guess - step)) / step;
    T const move = (elementary::log(delta) - here) / slope;
    return move > -guess ? guess + move : 0.5 * guess;
  }

  [[nodiscard]] enclosure threshold(T epsilon) const {
    return enclosure(steps_) * exp(enclosure(way_ == side::call ? epsilon : -epsilon));
  }

  [[nodiscard]] bound<T> from(certified_sum<T> const& sum, T epsilon) const {
    bound<T> const loss = sum(threshold(epsilon));
    enclosure delta = enclosure(loss.lower, loss.upper) / enclosure(steps_);
    if (way_ == side::put) delta *= exp(enclosure(epsilon));
    return {std::max(0.0, delta.lower), std::min(1.0, delta.upper)};
  }

  // Where U is cut: beyond c nothing is lost, and beyond so many deviations an excess is next to nothing beside δ.
  [[nodiscard]] T cut(T c, T delta_size) const {
    T const deviations = std::sqrt(-2.0 * elementary::log(1e-13 * std::min(0.1, delta_size)));
    return std::min(c * (1.0 + 0x1p-10),
                    ratio_.value(std::min(deviations + ratio_.shift(), highest_z)));
  }

  step_ratio<T> ratio_;
  T noise_;
  T steps_;
  side way_;
  one_jump<T> own_;
};

}  // namespace tacit::detail::epochs
