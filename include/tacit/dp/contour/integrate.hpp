// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/contour/envelope.hpp>
#include <tacit/dp/contour/moment_line.hpp>
#include <tacit/dp/contour/plan.hpp>
#include <tacit/dp/contour/search.hpp>
#include <tacit/dp/contour/strip.hpp>
#include <tacit/dp/contour/sums.hpp>
#include <tacit/dp/contour/table.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>

/// The integral along one vertical line.

namespace tacit::detail {

/// log δ, with everything that is not sure.
template <std::same_as<double> T = double>
struct certified_profile {
  T log_scale;  // δ = e^{log_scale}·value
  T value;
  T below;  // δ ≥ e^{log_scale}(value − below)
  T above;  // δ ≤ e^{log_scale}(value + above)
  T slope;  // −dδ/dε, in the same scale

  [[nodiscard]] T log_upper() const {
    T const log_value = elementary::log(value + above);
    return log_scale + log_value + rounding(log_value);
  }
  [[nodiscard]] T log_lower() const {
    if (!(value > below)) return -std::numeric_limits<T>::infinity();
    T const log_value = elementary::log(value - below);
    return log_scale + log_value - rounding(log_value);
  }

 private:
  [[nodiscard]] T rounding(T log_value) const {
    return unit_roundoff *
           (2.0 * std::abs(log_scale + log_value) + 4.0 * std::abs(log_value) + 4.0);
  }
};

/// e^K on one vertical line, and every error that comes with it: what `integrate` returns.
template <std::same_as<double> T = double>
class contour_line {
 public:
  [[nodiscard]] T start() const { return start_; }
  [[nodiscard]] T tilt() const { return tilt_; }
  /// Of one profile, in nanoseconds.
  [[nodiscard]] T work() const { return 40.0 * static_cast<T>(sums_.real.size()); }

  /// log of the δ(ε) that small losses alone make at most (Chernoff), if split; else of nothing.
  [[nodiscard]] T lesser(T epsilon) const {
    return split_ ? sum_above<T>({chernoff(small_tilt_), at_small_, -small_tilt_ * epsilon})
                  : -std::numeric_limits<T>::infinity();
  }

  [[nodiscard]] certified_profile<T> profile(T epsilon) const {
    T const top = sums_.real[0].value();
    T const scale = top - tilt_ * epsilon;
    // e^scale is exact but for a product and a difference.
    T const slack = 1.01 * unit_roundoff * (std::abs(scale) + std::abs(tilt_ * epsilon));
    compensated_sum<T> value;
    T slope = 0.0;
    T error = 0.0;
    for (std::size_t n = 0; n < sums_.real.size(); ++n) {
      T const t = spacing_ * static_cast<T>(n);
      T const fall = sums_.real[n].value() - top;
      T const turned = sums_.imaginary[n].value();
      T const size = elementary::exp(fall) * (n == 0 ? 0.5 : 1.0);
      T const angle = turned - t * epsilon;
      auto const [sine, cosine] = elementary::sin_cos_far(angle);
      T const c = cosine * size;
      T const s = sine * size;
      // 1/(z(z+1)) and 1/(z+1) at z = θ + it.
      T const norm = tilt_ * tilt_ + t * t;
      T const next = (1.0 + tilt_) * (1.0 + tilt_) + t * t;
      T const a = 1.0 + tilt_;
      T const kernel_real = (tilt_ * a - t * t) / (norm * next);
      T const kernel_imaginary = -t * (tilt_ + a) / (norm * next);
      value += c * kernel_real - s * kernel_imaginary;
      slope += (c * a + s * t) / next;
      T const kernel = 1.0 / std::sqrt(norm * next);
      // Lemma 13
      T const units = 26.0 + 2.0 * std::abs(fall) + std::abs(turned) + 2.0 * std::abs(t * epsilon);
      error += size * kernel * (elementary::expm1(sums_.error[n]) + unit_roundoff * units);
    }
    T const points = static_cast<T>(sums_.real.size());
    T const factor = spacing_ / std::numbers::pi;
    T const alias = aliased(epsilon, scale);
    // The sums of positive terms are no longer than the line: what they lose is a part of themselves.
    T const rounded = 1.0 + unit_roundoff * (4.0 * points + 64.0);
    T const rest = elementary::exp(sum_above<T>({log_end_, -top, slack})) * (1.0 + 1.0 / points) /
                   (std::numbers::pi * end_);
    T lost = dropped_ > 0.0
                 ? elementary::exp(sum_above<T>({elementary::log(dropped_), -scale, slack}))
                 : 0.0;
    lost += elementary::exp(sum_above<T>({lesser(epsilon), -scale, slack}));
    T const sure = (factor * error + rest + slack * factor * std::abs(value.value())) * rounded;
    return {scale, factor * value.value(), (sure + alias) * rounded, (sure + lost) * rounded,
            factor * slope};
  }

 private:
  template <std::same_as<double> U>
  friend std::optional<contour_line<U>> integrate(contour_pairs<U> const&, contour_plan<U> const&,
                                                  work_budget&);

  contour_line() : sums_(0, true) {}

  [[nodiscard]] static T chernoff(T tilt) { return contour_search<T>::chernoff_constant(tilt); }

  // Everything is relative to e^{scale}. Lemma 12.
  [[nodiscard]] T aliased(T epsilon, T scale) const {
    T const right = tilt_ + right_;
    T const up =
        sum_above<T>({chernoff(right), at_right_, -right * epsilon, -right_ * period_, -scale,
                      unit_roundoff * 4.0 * (std::abs(scale) + std::abs(tilt_ * epsilon))});
    T const left = tilt_ - left_;
    T const log_left = left > 0.0 ? sum_above<T>({chernoff(left), at_left_, -left * epsilon}) : 0.0;
    T const down =
        sum_above<T>({log_left, -left_ * period_, -scale,
                      unit_roundoff * 4.0 * (std::abs(scale) + std::abs(tilt_ * epsilon))});
    return elementary::exp(up) / -elementary::expm1(-right_ * period_) +
           elementary::exp(down) / -elementary::expm1(-left_ * period_);
  }

  bool split_ = false;
  T tilt_ = 0.0;
  T start_ = 0.0;
  T spacing_ = 0.0;
  T period_ = 0.0;
  T end_ = 0.0;
  T right_ = 0.0;
  T left_ = 0.0;
  T small_tilt_ = 0.0;
  T log_end_ = 0.0;   // log|e^K| from `end_` on at most
  T at_right_ = 0.0;  // K at real tilts at most
  T at_left_ = 0.0;
  T at_small_ = 0.0;
  T dropped_ = 0.0;
  line_sums<T> sums_;
};

/// What 1 + zL and z(R − 1) contribute to the rule's error and the ends' where M − 1 is summed: Lemma 9.
template <std::same_as<double> T>
void add_linear_alias(mixture_table<T> const& nodes, T height, moment_alias<T>& alias) {
  T const infinity = std::numeric_limits<T>::infinity();
  T const s = nodes.shift();
  T weight = 0.0;
  compensated_sum<T> above_one(-1.0);
  for (mixture_pair::part const& part : nodes.pair().parts) {
    weight += 1.01 * part.weight;
    above_one += part.weight;
  }
  // Weights that their rounding makes more than one together.
  T const parts = static_cast<T>(nodes.pair().parts.size());
  T const defect = 1.01 * std::max(0.0, above_one.value()) +
                   (parts > 1.0 ? 4.0 * parts * parts * unit_roundoff * unit_roundoff : 0.0);
  T const tail = nodes.removes() && nodes.tapered()
                     ? 4.0 * nodes.cut_off()
                     : elementary::exp(log_tail<T>(nodes, 0.0, 0.0, 0.0));
  T const least = std::min(-nodes.point(0), nodes.point(nodes.size() - 1) - s);
  T const normal_tail_above =
      least > 1.0 ? 1.01 * elementary::exp(-0.5 * least * least) / least : infinity;
  if (height == 0.0) {
    T const normals = alias_of_normals(nodes);
    alias.constant = 1.01 * (normals + tail + defect);
    alias.slope =
        2.02 * (weight * (normals + 2.0 * normal_tail_above) + 2.0 * nodes.cut_off() + defect);
    return;
  }
  T const rule = 1.01 * elementary::exp(log_alias(nodes, height));
  T const square = elementary::exp(2.0 * height * height);
  auto const residual = [&](T c) {
    return 4.0 * weight * weight * elementary::exp(1.5 * s * s + 0.5 * c * c) /
           elementary::cos(0.5 * s * c);
  };
  T const stretched = elementary::exp(log_stretch(nodes, T(0.0), height));
  T const longest = std::max(std::abs(nodes.loss(0)), std::abs(nodes.loss(nodes.size() - 1))) +
                    s * height + s - elementary::log(elementary::cos(0.5 * s * height));
  alias.constant = 1.01 * (rule * (1.0 + square) + stretched * tail + defect);
  alias.slope =
      1.01 *
      (rule * (2.0 * weight * (1.0 + square) + residual(0.0) + 3.0 * residual(2.0 * height)) +
       stretched * (longest * tail + 4.0 * weight * normal_tail_above) + defect);
}

/// The line of a plan, from its own tables. Nothing of what is certain of it rests on how the plan was
/// found. Empty if the budget does not allow it.
template <std::same_as<double> T>
[[nodiscard]] std::optional<contour_line<T>> integrate(contour_pairs<T> const& of,
                                                       contour_plan<T> const& plan,
                                                       work_budget& budget) {
  bool const lifted = plan.route.table == contour_table::lifted;
  bool const split = plan.route.table == contour_table::split;
  T const most_work = plan.route.work * (plan.route.each ? static_cast<T>(of.entries.size()) : 1.0);
  contour_line<T> line;
  line.split_ = split;
  line.tilt_ = plan.tilt;
  line.start_ = plan.epsilon;
  line.spacing_ = plan.spacing;
  line.period_ = 2.0 * std::numbers::pi / plan.spacing;
  line.end_ = plan.end();
  line.right_ = plan.right;
  line.left_ = plan.left;
  line.small_tilt_ = plan.small_tilt;
  T const theta = plan.tilt;
  T const end = line.end_;
  line_sums<T> sums(plan.points, of.entries.size() == 1 && of.variance == 0.0);
  if (split) sums.split();
  // A product with a count, and the sum over the entries.
  T const lost = unit_roundoff * (4.0 + static_cast<T>(of.entries.size()));
  auto const add = [&](T& to, T count, T log_size) {
    to += count * log_size + lost * std::abs(count * log_size);
  };
  T log_ratio = 0.0;
  T work = 0.0;
  T events = 0.0;
  for (contour_entry<T> const& e : of.entries) events += e.count;
  for (std::size_t k = 0; k < of.entries.size(); ++k) {
    contour_entry<T> const& e = of.entries[k];
    auto const& part = plan.parts[k];
    T const reach = theta + plan.right;
    T const turns = lifted ? 0.0 : end * part.height * e.pair.parts.back().shift;
    T const size = mixture_table<T>::nodes_for(e.pair, !lifted, reach, part.step, turns);
    T const points = static_cast<T>(plan.points);
    work += size * points;
    if (!budget.take((split ? 4.0 : 1.2) * size * points + 80.0 * points +
                     (split ? 3200.0 : 1200.0) * size) ||
        work > 4.0 * most_work)
      return {};
    T const most = std::max({part.height, part.end_height + 3.0, 3.2});
    T const swell = 0.5 * most * most * (1.0 + 1.0 / (taper_width * taper_width));
    T const rise = rise_beyond(e.pair.parts, theta, part.height, lifted ? 0.0 : end);
    mixture_table<T> nodes(e.pair, part.log_dropped, reach, part.step, turns, swell, rise);
    // Tapered tables may be longer than was thought.
    T const more = static_cast<T>(nodes.size()) - size;
    if (more > 0.0 &&
        !budget.take((split ? 4.0 : 1.2) * more * points + (split ? 3200.0 : 1200.0) * more))
      return {};
    if (split) {
      nodes.split(part.cut);
      if (!nodes.is_split()) return {};
    }
    T const value = nodes.value(theta);
    table_facts<T> const facts(nodes);
    envelope<T> all(nodes, theta, value, losses::all, &facts);
    moment_alias<T> alias;
    T const rule = log_alias(nodes, part.height);
    if (lifted) {
      alias.whole = elementary::exp(sum_above<T>(
                        {rule, log_add(all.moves_to(0.0), all.moves_to(2.0 * part.height))})) +
                    elementary::exp(all.moved_tail(part.height, 0.0));
    } else {
      alias.whole = elementary::exp(sum_above<T>({0.7, rule, all.grows_to(part.height, end)})) +
                    elementary::exp(all.moved_tail(part.height, end));
    }
    add_linear_alias(nodes, lifted ? part.height : 0.0, alias);
    T const n = e.count;
    if (split) {
      envelope<T> lesser(nodes, theta, value, losses::lesser, &facts);
      envelope<T> large(nodes, theta, value, losses::large, &facts);
      alias.large = elementary::exp(sum_above<T>({0.7, rule, large.grows_to(part.height, end)})) +
                    elementary::exp(large.moved_tail(part.height, end));
      T const s = lesser.falls_to(part.small_height, end);
      T const l = large.falls_to(part.large_height, end);
      add(line.log_end_, n, value + s + 2.0 * unit_roundoff * (std::abs(value) + std::abs(s)));
      add(log_ratio, n,
          elementary::log1p(elementary::exp(l - s) *
                            (1.0 + 8.0 * unit_roundoff * (std::abs(l) + std::abs(s) + 1.0))));
      T const at_small = nodes.at_small(plan.small_tilt).value;
      add(line.at_small_, n,
          envelope<T>(nodes, plan.small_tilt, at_small, losses::lesser, &facts).log_moment());
    } else {
      T fallen = all.falls_to(part.end_height, end);
      // Lower down the taper swells less.
      T const aim = all.log_size(part.end_height, end) + 1.0 / events;
      for (T h = 0.5 * part.end_height; !(fallen <= aim) && h > 0.2 * part.end_height; h *= 0.5) {
        fallen = std::min(fallen, all.falls_to(h, end));
      }
      add(line.log_end_, n,
          value + fallen + 2.0 * unit_roundoff * (std::abs(value) + std::abs(fallen)));
    }
    moment_line<T> const moments(nodes, facts, theta, lifted ? part.height : 0.0, value, alias);
    moments.add(n, plan.spacing, sums);
    line.dropped_ += n * nodes.dropped() *
                     (1.0 + 2.0 * tail_units * unit_roundoff *
                                (2.0 - elementary::log(nodes.dropped() + 1e-300)));
    T const right = theta + plan.right;
    add(line.at_right_, n, moment_above(nodes, right, facts));
    if (plan.left < theta) {
      T const left = theta - plan.left;
      add(line.at_left_, n, moment_above(nodes, left, facts));
    }
  }
  if (split) {
    line.log_end_ = sum_above<T>({line.log_end_, log_expm1(log_ratio)});
  }
  T const v = of.variance;
  auto const normal = [&](T z) { return 0.5 * z * (z + 1.0) * v; };
  line.log_end_ = sum_above<T>({line.log_end_, normal(theta), -0.5 * v * end * end});
  line.at_right_ = sum_above<T>({line.at_right_, normal(theta + plan.right)});
  line.at_left_ = sum_above<T>({line.at_left_, normal(theta - plan.left)});
  line.at_small_ = sum_above<T>({line.at_small_, normal(plan.small_tilt)});
  if (v > 0.0) {
    for (std::size_t n = 0; n < plan.points; ++n) {
      T const t = plan.spacing * static_cast<T>(n);
      T const here = theta * (theta + 1.0);
      sums.add(n, 0.5 * v * (here - t * t), v * t * (theta + 0.5),
               unit_roundoff * 8.0 * v * (here + t * t + t * (theta + 0.5)));
    }
  }
  if (split) sums.subtract_small();
  line.sums_ = std::move(sums);
  return line;
}

}  // namespace tacit::detail
