// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/short_number.hpp>
#include <tacit/dp/contour/envelope.hpp>
#include <tacit/dp/contour/search.hpp>
#include <tacit/dp/contour/table.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/saddle.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

/// How far the line of integration should go, and how finely it and the tables should be divided: found on
/// coarse tables, and only proposed. What is certain of an integral along it is for `integrate` to say.

namespace tacit::detail {

/// A line of integration.
template <std::same_as<double> T = double>
struct contour_plan {
  struct part {
    std::optional<T> log_dropped;
    T cut;         // in x, if split
    T step;        // in x
    T height;      // of the lines that bound the table's error; of the table, if lifted
    T end_height;  // and of those that bound what is beyond the end of the line: of all losses,
    T small_height;
    T large_height;
  };
  line_route<T> route;
  T tilt;
  T epsilon;  // nearly where it will be asked
  T right;    // the copies of δ are bounded at the tilts tilt + right and tilt − left
  T left;
  T spacing;
  std::size_t points;
  T small_tilt;  // the small losses at this one, if split
  std::vector<part> parts;

  [[nodiscard]] T end() const { return spacing * static_cast<T>(points); }
};

/// The copies of δ at ε ± P, ε ± 2P, … must be small, their logarithms at most `goal`: Chernoff at θ ± Δ, Δ chosen for each
/// side. K(tilt) is `value(tilt)`, and its second derivative at the line's tilt `curvature`.
template <std::same_as<double> T, class Value>
[[nodiscard]] bool choose_copies(contour_plan<T>& line, T goal, T curvature, Value&& value) {
  T const theta = line.tilt;
  T const deviation = 1.0 / std::sqrt(curvature);
  auto const need = [&](T move) {
    T const tilt = theta + move;
    return (contour_search<T>::chernoff_constant(tilt) + value(tilt) - tilt * line.epsilon - goal) /
           std::abs(move);
  };
  // Each has one minimum, for a normal K at √70 deviations: down both ways from near there.
  auto const descend = [&](T scale, T factor, auto&& move, T& best, T& at) {
    T here = need(move(scale));
    T where = scale;
    for (T const way : {factor, 1.0 / factor}) {
      for (T next = where * way; move(next) != 0.0; next *= way) {
        T const there = need(move(next));
        if (!(there < here)) break;
        here = there;
        where = next;
      }
    }
    if (here < best) {
      best = here;
      at = std::abs(move(where));
    }
  };
  T period = std::numeric_limits<T>::infinity();
  descend(
      6.5, 1.6, [&](T scale) { return scale > 0.05 && scale < 40.0 ? scale * deviation : 0.0; },
      period, line.right);
  T best = -goal / theta;  // δ ≤ 1
  line.left = theta;
  descend(
      std::clamp(8.0 * deviation / theta, 0.05, 0.9), 1.5,
      [&](T part) { return part > 0.02 && part < 0.95 ? -part * theta : 0.0; }, best, line.left);
  period = std::max(period, best) * 1.02;
  if (!(period > 0.0 && period < std::numeric_limits<T>::max())) return false;
  line.spacing = short_number(2.0 * std::numbers::pi / period, 22);
  return line.spacing > 0.0;
}

/// Plans lines on the coarse tables of one route.
template <std::same_as<double> T = double>
class line_planner : public contour_search<T> {
  using search = contour_search<T>;
  using search::budget_;
  using search::coarse_;
  using search::cuts_;
  using search::dropped;
  using search::nodes_;
  using search::of_;
  using search::route_;
  using search::shape;
  using search::small_tilt_;

 public:
  using contour_search<T>::contour_search;

  /// The line through a saddle found here.
  [[nodiscard]] std::optional<contour_plan<T>> plan(saddle<T> const& found, T log_delta) {
    contour_plan<T> line{route_, found.tilt, found.epsilon, 0.0, found.tilt,
                         0.0,    0,          small_tilt_,   {}};
    if (!choose_period(line, log_delta) || !choose_end(line, log_delta)) return {};
    T const share = static_cast<T>(of_->size());
    work_ = 0.0;
    for (std::size_t k = 0; k < coarse_.size(); ++k) {
      if (!choose_step(line, k)) return {};
      if (route_.table != contour_table::lifted) {
        line.parts[k].log_dropped = dropped(log_delta, of_->entries[k].count * share);
      }
      if (this->splits()) line.parts[k].cut = cuts_[k];
    }
    return line;
  }

 private:
  static constexpr T most_step = 0.42;

  // Whether so many tables of such a step can be worth building, beside others of so much work: they are at least
  // 20 wide, and `integrate` gives all of them together four times what one may take.
  [[nodiscard]] bool affordable(T points, T step, T tables, T others = 0.0) const {
    T const most = route_.work * (route_.each ? static_cast<T>(of_->size()) : 1.0);
    T const one = 20.0 / step * points;
    return one <= most && others + tables * one <= 4.0 * most;
  }

  [[nodiscard]] bool choose_period(contour_plan<T>& line, T log_delta) const {
    return choose_copies(line, log_delta + route_.log_tolerance, shape(line.tilt).curvature,
                         [this](T tilt) { return this->value(tilt); });
  }

  // Where |M| is bounded so low that the rest of the line does not matter.
  [[nodiscard]] bool choose_end(contour_plan<T>& line, T log_delta) {
    T const theta = line.tilt;
    T const whole = this->value(theta);
    std::size_t const count = coarse_.size();
    std::vector<T> values;  // log M of all
    std::vector<envelope<T>> lesser;
    std::vector<envelope<T>> large;
    T events = 0.0;
    envelopes_.clear();
    for (std::size_t j = 0; j < count; ++j) {
      mixture_table<T> const& nodes = coarse_[j];
      values.push_back(nodes.value(theta));
      events += of_->entries[j].count;
      envelopes_.emplace_back(nodes, theta, values.back());
      if (this->splits()) {
        lesser.emplace_back(nodes, theta, values.back(), losses::lesser);
        large.emplace_back(nodes, theta, values.back(), losses::large);
      }
    }
    std::vector<T> others;  // log M of what is not tabulated
    this->each_untabulated([&](T number, auto const& law) {
      others.push_back(law.at_tilt(theta).value);
      events += number;
    });
    line.parts.resize(count);
    T const v = of_->variance;
    // What rounding will add to the bound is left room for.
    T const goal =
        log_delta + route_.log_tolerance - (whole - theta * line.epsilon) - 2e-14 * events - 0.01;
    T end = 8.0 / std::sqrt(shape(theta).curvature);
    for (;;) {
      if (!affordable(end / line.spacing, most_step, static_cast<T>(count)) ||
          !budget_->spend((this->splits() ? 250.0 : 80.0) * nodes_))
        return false;
      T fallen = -0.5 * v * end * end;
      if (this->splits()) fallen += 0.5 * v * theta * (theta + 1.0) - whole;
      T ratio = 0.0;
      for (std::size_t j = 0; j < count; ++j) {
        T const n = of_->entries[j].count;
        // Where all events' losses together are nearly normal, each is wanted low down, however few are equal.
        T const typical = std::min(coarse_[j].strip(), 8.0 / std::sqrt(events));
        auto& part = line.parts[j];
        if (this->splits()) {
          // |M^n − S^n| ≤ (s + l)^n − s^n with any bounds s and l on |M_small| and |M_large|.
          auto const s = lesser[j].least(end, typical);
          auto const l = large[j].least(end, 0.1);
          part.small_height = s.height;
          part.large_height = l.height;
          fallen += n * (values[j] + s.log_size);
          ratio += n * log1p_exp(l.log_size - s.log_size);
        } else {
          auto const all = envelopes_[j].least(end, typical);
          part.end_height = all.height;
          fallen += n * std::min(0.0, all.log_size);
        }
      }
      std::size_t k = 0;
      this->each_untabulated([&](T number, auto const& law) {
        T const size = law.beyond(theta, end, others[k++]);
        fallen += number * std::min(0.0, elementary::log(size));
      });
      if (this->splits()) {
        fallen += ratio > 1.0 ? ratio + elementary::log(-elementary::expm1(-ratio))
                              : elementary::log(elementary::expm1(ratio));
      }
      T const enough = goal + elementary::log(std::numbers::pi * end);
      if (fallen <= enough) break;
      // A normal law's logarithm falls as t².
      end *= fallen < 0.0 && enough < 0.0 ? std::clamp(1.02 * std::sqrt(enough / fallen), 1.06, 1.3)
                                          : 1.3;
    }
    line.points = static_cast<std::size_t>(end / line.spacing) + 2;
    return true;
  }

  // The spacing in x at which the trapezoid rule's own error does not matter either, with the height
  // that shows it: the distance to the lines that bound the error, and of the table if it is lifted.
  [[nodiscard]] bool choose_step(contour_plan<T>& line, std::size_t j) {
    mixture_table<T> const& nodes = coarse_[j];
    bool const lifted = route_.table == contour_table::lifted;
    contour_entry<T> const& entry = of_->entries[j];
    T const end = line.end();
    T const both = 1.0 + line.tilt + end;
    T const need = elementary::log(8.0 * entry.count) - route_.log_tolerance;
    // Higher up a taper swells beyond all use, and what rounds in a lifted table, by e^{h²/2}, at half of this height.
    T const most = std::min(nodes.strip(), lifted ? 5.0 : 15.0 * taper_width);
    T const s = nodes.shift();
    T weight = 0.0;
    for (mixture_pair::part const& part : entry.pair.parts) weight += part.weight;
    bool const near_one = nodes.excess(line.tilt) < 0.5;
    T best = 0.0;
    T height = 0.0;
    for (T h = most; h > 0.02 * most; h *= 0.6) {
      if (!budget_->spend(60.0 * static_cast<T>(nodes.size()))) return false;
      T const here = lifted ? 0.5 * h : h;
      T growth = std::max(0.0, envelopes_[j].log_size(h, lifted ? 0.0 : -end));
      if (!lifted) growth = std::max(growth, envelopes_[j].growth_beyond(h, end));
      if (lifted && near_one) {
        T const square = elementary::exp(0.5 * h * h);
        growth =
            log_add(growth, elementary::log(both * weight *
                                            (2.0 * (1.0 + square) +
                                             16.0 * weight * square * elementary::exp(1.5 * s * s) /
                                                 elementary::cos(0.5 * s * h))));
      }
      T step = std::min(most_step, 2.0 * std::numbers::pi * here / (need + growth));
      if (!lifted) {
        T const cosine = elementary::cos(0.5 * s * h);
        T const chord = 0.125 * step * step *
                        (1.0 + 1.0 / (taper_width * taper_width) +
                         both * s * s * std::min(0.25, weight) / (cosine * cosine));
        step = std::min(most_step, 2.0 * std::numbers::pi * here / (need + growth + chord));
      }
      // Not unimodal where the ratio's argument grows fast: a poor step does not end the search.
      if (step <= best && best > 0.1) break;
      if (step <= best) continue;
      best = step;
      height = here;
    }
    if (!(best > 0.004)) return false;  // no table is worth so many nodes
    T const points = static_cast<T>(line.points);
    if (!affordable(points, best, 1.0, work_)) return false;
    work_ += 20.0 / best * points;
    line.parts[j].step = best;
    line.parts[j].height = short_number(height, 11);
    return true;
  }

  std::vector<envelope<T>> envelopes_;
  T work_ = 0.0;  // of the tables whose steps are chosen
};

}  // namespace tacit::detail
