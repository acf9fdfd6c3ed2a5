// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/rays/kept.hpp>
#include <tacit/dp/rays/solve.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

/// Certified ε(δ) and δ(ε) of compositions of sampled Gaussians, without a grid, where few steps, small noise or
/// rare jumps rule, in one direction. docs/certificates/rays.md has the proofs.

namespace tacit::detail::rays {

constexpr std::size_t most_events = 400;

/// What one question in one direction may cost: about a seventh of a second, and as much for every 16 events more, up to a
/// second and a half.
[[nodiscard]] inline double most_work(composition const& what) {
  return std::min(1.5e9, 1.5e8 * std::max(1.0, static_cast<double>(what.events.size()) / 16.0));
}

/// Few steps.
[[nodiscard]] inline bool few_steps(composition const& what) {
  double steps = 0.0;
  for (sampled_gaussian const& e : what.events) steps += e.count;
  return steps <= 8.0;
}

/// Few steps of much noise: where neither lines nor rays answer soon, a grid of a few milliseconds does.
[[nodiscard]] inline bool few_small_steps(composition const& what) {
  return few_steps(what) && std::all_of(what.events.begin(), what.events.end(),
                                        [](sampled_gaussian const& e) { return e.shift <= 0.25; });
}

/// Whether there can be tables enough for an answer: they begin 10 deviations s below the mean −s²/2 of y, so that
/// small noise takes too many nodes (below about .02); noise of 1e13 and more lies too densely.
[[nodiscard]] inline bool affordable(composition const& what) {
  if (what.events.size() > most_events) return false;
  double nodes = 0.0;
  for (sampled_gaussian const& e : what.events) {
    if (!(e.shift < 1e3)) return false;
    // Nodes lie .4 deviations apart, about a mean of the size of log(rate): doubles have to tell them apart.
    double const size = 8.0 - elementary::log(e.rate);
    if (!(e.shift >= 64.0 * unit_roundoff * size)) return false;
    nodes += line_nodes<double>(e, menu[0].at).most();
  }
  return nodes <= 6e4 * std::max(1.0, static_cast<double>(what.events.size()) / 16.0);
}

/// Whether Chernoff's bound alone shows that δ(ε) ≤ e^{log_delta} in the direction `add`. What shows it is kept, if wanted.
template <std::same_as<double> T = double>
[[nodiscard]] bool add_is_below(composition const& what, double epsilon, double log_delta,
                                work_budget& work, std::vector<kept_moment>* keep = nullptr) {
  rounded_shifts const shifts = shifts_of(what);
  double const blur = shifts.blur(log_delta);
  epsilon -= blur + 2.0 * unit_roundoff * std::abs(epsilon);
  log_delta -= blur;
  double const scale = static_cast<double>(base(what));
  double const G = scale * (1.0 + 1e-14) - epsilon;
  bool const bounded = what.variance == 0.0;
  if (bounded && !(G > 0.0)) return true;  // no loss exceeds `scale`
  if (!affordable(what)) return false;
  real_line<T> moments(what);
  double best = std::numeric_limits<double>::infinity();
  double at = G > 0.0 ? 1.0 / G : 1.0 / std::sqrt(what.variance);
  chernoff_line line{};
  auto const improves = [&](double a) {
    if (!work.take(moments.cost())) return false;
    chernoff_line const there = moments.chernoff(-a, {});
    double const value = there.log_size(G);
    if (!(value < best)) return false;
    best = value;
    at = a;
    line = there;
    return true;
  };
  improves(at);
  for (double const factor : {3.0, 1.0 / 3.0, 1.5}) {
    while (best > log_delta && at < 1e12 && at > 1e-6 && improves(at * factor)) {
    }
  }
  bool const below = best <= log_delta;
  if (below && keep != nullptr) keep->push_back({line, scale, bounded, shifts});
  return below;
}

/// ε at δ in one direction, from about where to begin: 0 if that is not known.
/// Guarantee: lower ≤ ε ≤ upper. No value where nothing could be certified within the budget.
template <std::same_as<double> T = double>
[[nodiscard]] std::optional<bound<double>> epsilon(composition const& what, orientation towards,
                                                   T log_delta, T start, work_budget& work) {
  if (!affordable(what)) return std::nullopt;
  double const most = (few_small_steps(what) ? 0.15 : 1.0) * most_work(what);
  return work.within(most, [&](work_budget& own) {
    return solver<T>(what, towards, own)
        .epsilon(log_delta, start > 0.0 ? start : first_guess(what, log_delta));
  });
}

/// log δ at ε in one direction. Rays that are narrow there are kept, if wanted.
/// Guarantee: lower ≤ log δ ≤ upper.
template <std::same_as<double> T = double>
[[nodiscard]] std::optional<bound<double>> log_delta(composition const& what, orientation towards,
                                                     T epsilon, work_budget& work,
                                                     std::vector<kept_rays>* keep) {
  if (!affordable(what)) return std::nullopt;
  return work.within(most_work(what), [&](work_budget& own) {
    return solver<T>(what, towards, own, keep).log_delta(epsilon);
  });
}
template <std::same_as<double> T = double>
[[nodiscard]] std::optional<bound<double>> log_delta(composition const& what, orientation towards,
                                                     T epsilon, work_budget& work) {
  return log_delta<T>(what, towards, epsilon, work, nullptr);
}

/// The same with a budget of their own.
template <std::same_as<double> T = double>
[[nodiscard]] std::optional<bound<double>> epsilon(composition const& what, orientation towards,
                                                   T log_delta, T start) {
  work_budget work(most_work(what));
  return epsilon<T>(what, towards, log_delta, start, work);
}
template <std::same_as<double> T = double>
[[nodiscard]] std::optional<bound<double>> log_delta(composition const& what, orientation towards,
                                                     T epsilon) {
  work_budget work(most_work(what));
  return log_delta<T>(what, towards, epsilon, work);
}

/// Whether this way should be tried before the vertical line: few steps, or rare jumps of a lognormal size. Many small
/// losses are all but normal, which suits the line.
[[nodiscard]] inline bool rules(composition const& what) {
  double jumps = 0.0, shift = 0.0;
  for (sampled_gaussian const& e : what.events) {
    if (e.rate > 0.3 && e.shift < 0.5) return false;
    jumps += e.count * e.rate;
    shift = std::max(shift, e.shift);
  }
  return what.events.size() <= 4 && shift > 0.2 && jumps < (shift > 0.4 ? 10.0 : 1.0);
}

/// What the slower routes of the vertical line may cost before this way is tried: more than nothing for few steps of much
/// noise, and for many jumps under little noise.
[[nodiscard]] inline double work_before(composition const& what, orientation towards) {
  double jumps = 0.0, shift = 0.0;
  for (sampled_gaussian const& e : what.events) {
    jumps += e.count * e.rate;
    shift = std::max(shift, e.shift);
  }
  if (shift < 0.1) return 6e7;
  if (shift < 0.16 && towards == orientation::add) return 3e7;
  return shift > 2.0 && jumps > 3.0 ? 1.5e7 : 0.0;
}

#if defined(TACIT_COMPILED)
extern template std::optional<bound<double>> epsilon(composition const&, orientation, double,
                                                     double, work_budget&);
extern template std::optional<bound<double>> log_delta(composition const&, orientation, double,
                                                       work_budget&, std::vector<kept_rays>*);
#endif

}  // namespace tacit::detail::rays
