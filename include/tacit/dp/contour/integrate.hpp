// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/contour/envelope.hpp>
#include <tacit/dp/contour/epoch_moments.hpp>
#include <tacit/dp/contour/laplace_nodes.hpp>
#include <tacit/dp/contour/line.hpp>
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
#include <vector>

/// e^K on one vertical line, from tables of its laws.

namespace tacit::detail {

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

/// What the law of so many events contributes to the sums along a line, and log M(tilt), nearly, to which its moments are relative.
/// Nothing where the law has no moments there.
template <std::same_as<double> T, class Law>
[[nodiscard]] std::optional<T> add_along(T count, Law const& law, contour_plan<T> const& plan,
                                         line_sums<T>& sums) {
  T value = 0.0;
  auto const put = [&](std::size_t n, T log_size, complex<T> const& moment, T error) {
    value = log_size;
    T const modulus = std::max(modulus_of(moment), std::numeric_limits<T>::min());
    T const log_modulus = elementary::log(modulus);
    T const turned = angle_of(moment);
    // |aⁿ − bⁿ| ≤ (|b| + |a − b|)ⁿ − |b|ⁿ
    sums.add(n, count * (value + log_modulus), count * turned,
             count * (elementary::log1p(1.001 * error / modulus) +
                      unit_roundoff * (std::abs(value) + 3.0 * std::abs(log_modulus) +
                                       8.0 * std::abs(turned) + 4.0)));
  };
  if (!law.along(plan.tilt, plan.spacing, plan.points, put)) return std::nullopt;
  return value;
}

/// What the law of so many events contributes to a line without a table of it: of Laplace noise, or of an epoch. `lost` is what a
/// product with a count, and the sum over all laws, rounds by. False where the budget does not allow it.
template <std::same_as<double> T, class Law>
[[nodiscard]] bool add_law(T count, Law const& law, contour_plan<T> const& plan, T lost,
                           contour_line<T>& line, line_sums<T>& sums, work_budget& budget) {
  if (!budget.take(law.work(static_cast<T>(plan.points)))) return false;
  std::optional<T> const value = add_along(count, law, plan, sums);
  if (!value) return false;
  auto const add = [&](T& to, T log_size) { add_counted(to, count, log_size, lost); };
  T const fallen = elementary::log(law.beyond(plan.tilt, plan.end(), *value));
  add(line.log_end_, *value + fallen + 2.0 * unit_roundoff * (std::abs(*value) + std::abs(fallen)));
  add(line.at_right_, law.above(plan.tilt + plan.right));
  if (plan.left < plan.tilt) add(line.at_left_, law.above(plan.tilt - plan.left));
  return true;
}

/// The line of a plan, from its own tables. Nothing of what is certain of it rests on how the plan was
/// found. Empty if the budget does not allow it.
template <std::same_as<double> T>
[[nodiscard]] std::optional<contour_line<T>> integrate(contour_pairs<T> const& of,
                                                       contour_plan<T> const& plan,
                                                       work_budget& budget) {
  bool const lifted = plan.route.table == contour_table::lifted;
  bool const split = plan.route.table == contour_table::split;
  T const most_work = plan.route.work * (plan.route.each ? static_cast<T>(of.size()) : 1.0);
  contour_line<T> line(plan);
  line.split_ = split;
  T const theta = plan.tilt;
  T const end = line.end_;
  line_sums<T> sums(plan.points, of.size() == 1 && of.variance == 0.0);
  if (split) sums.split();
  // A product with a count, and the sum over the entries.
  T const lost = unit_roundoff * (4.0 + static_cast<T>(of.size()));
  auto const add = [&](T& to, T count, T log_size) { add_counted(to, count, log_size, lost); };
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
    // Of a law that hardly varies the moved line says less than its moment on the real axis.
    auto const within_moment = [&](envelope<T>& losses, T fallen) {
      return fallen > 0.0 ? std::min(fallen, losses.log_moment() - value) : fallen;
    };
    if (split) {
      envelope<T> lesser(nodes, theta, value, losses::lesser, &facts);
      envelope<T> large(nodes, theta, value, losses::large, &facts);
      alias.large = elementary::exp(sum_above<T>({0.7, rule, large.grows_to(part.height, end)})) +
                    elementary::exp(large.moved_tail(part.height, end));
      T const s = within_moment(lesser, lesser.falls_to(part.small_height, end));
      T const l = within_moment(large, large.falls_to(part.large_height, end));
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
      fallen = within_moment(all, fallen);
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
  for (laplace_entry<T> const& e : of.laplace) {
    auto const law = laplace_nodes<T>::fine(e.pair, theta, end, budget);
    if (!law || !add_law(e.count, *law, plan, lost, line, sums, budget)) return {};
  }
  for (epoch_entry<T> const& e : of.epochs) {
    auto const law =
        epochs::epoch_moments<T>::fine(e.pair, theta, plan.left, plan.right, end, budget);
    if (!law || !add_law(e.count, *law, plan, lost, line, sums, budget)) return {};
  }
  line.add_normals(of.variance, plan, sums);
  if (split) sums.subtract_small();
  line.finish(sums);
  return line;
}

}  // namespace tacit::detail
