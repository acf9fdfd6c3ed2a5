// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/dp/rays/guess.hpp>
#include <tacit/dp/rays/kept.hpp>
#include <tacit/dp/rays/plan.hpp>
#include <tacit/dp/rays/profile.hpp>
#include <tacit/dp/rays/sketch.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <list>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

/// ε(δ) and δ(ε) in one direction: drafts find ε, certified rays ask the ends.

namespace tacit::detail::rays {

struct configuration {
  angles at;
  bool wide;     // sums in long double
  double noise;  // relative error of a weight, about
};

/// From the fastest to the most precise. Rare jumps to far out need narrow angles: their weights grow as the line turns.
inline constexpr std::array<configuration, 7> menu = [] {
  constexpr auto at = [](double scale, bool wide) {
    double const step = wide ? 3.0 / 128.0 : 1.0 / 32.0;
    return configuration{
        {0.15 * scale, 0.4 * scale, 0.6 * scale, step * scale}, wide, wide ? 1e-16 : 2e-13};
  };
  return std::array{at(1.0, false),  at(0.5, false), at(1.0, true),  at(0.5, true),
                    at(0.25, false), at(0.25, true), at(0.125, true)};
}();

/// The largest step, that of the configuration at least, whose aliases on the ray and in the moments are within what may
/// be wrong.
[[nodiscard]] inline double step_for(configuration const& how, plan const& planned) {
  double const on_ray = planned.log_line - planned.log_goal + 3.0;
  double const in_moments = planned.log_error - planned.log_goal - elementary::log(how.noise) + 5.0;
  double const step = 2.0 * std::numbers::pi *
                      std::min(how.at.alpha / std::max(on_ray, 30.0),
                               (how.at.top - how.at.gamma) / std::max(in_moments, 30.0));
  return std::max(how.at.step, std::ldexp(std::floor(std::ldexp(step, 11)), -11));
}

inline constexpr bool has_wide =
    std::numeric_limits<long double>::digits > std::numeric_limits<double>::digits;

template <class R>
[[nodiscard]] std::optional<ray_sum<R>> build(composition const& what, orientation towards,
                                              double epsilon, lines<R>& on, plan const& planned,
                                              bool certified, work_budget& work) {
  ray_sum<R> out{{}, planned.log_rest, planned.rest_tilt, planned.log_far};
  if (!work.allows(static_cast<double>(planned.levels.size()) * cost_of_nodes(on))) return {};
  double const tolerance =
      certified ? (std::numeric_limits<R>::digits > 53 ? -44.0 : -32.0) : -14.0;
  for (crossing const& at : planned.levels) {
    auto one = build(what, towards, epsilon, on,
                     request{at, tolerance, planned.log_goal, certified}, work);
    if (!one) return std::nullopt;
    out.levels.push_back(std::move(*one));
  }
  out.tabulate(epsilon);
  return out;
}

/// The root of δ(ε) = δ on given rays.
struct root_found {
  double epsilon;
  profile at;
  bool found;    // by Newton's method
  bool too_low;  // if not: δ at the start is below
};

template <class R>
[[nodiscard]] root_found root(ray_sum<R> const& r, double log_delta, double start, double most,
                              double closeness = 1e-15) {
  double e = start;
  profile p = integrate(r, e);
  for (int i = 0; i < 40; ++i) {
    if (!(p.value > 0.0 && p.slope > 0.0)) {
      profile const begin = integrate(r, start);
      return {start, begin, false,
              !(begin.value + begin.above > 0.0) || begin.log_upper() < log_delta};
    }
    double const miss = p.log_scale + elementary::log(p.value) - log_delta;
    double next = e + miss * p.value / p.slope;
    if (next < 0.0) next = 0.5 * e;
    if (next >= most) next = 0.5 * (e + most);
    // closer than a small part of what is not known anyway
    bool const done =
        std::abs(next - e) <= 1e-15 * std::abs(next) ||
        std::abs(miss) * p.value < std::max(0.03 * (p.above + p.below), closeness * p.value);
    e = next;
    p = integrate(r, e);
    if (done || e < 1e-300) break;
  }
  return {e, p, e == e, false};
}

/// The ends of the interval, each asked: δ(upper) ≤ δ ≤ δ(lower) by the bounds. Rays answer for ε below
/// `most`, which no loss exceeds if they are `bounded`.
template <class R>
[[nodiscard]] std::optional<bound<double>> ends(ray_sum<R> const& r, double log_delta,
                                                root_found const& at, double most, bool bounded,
                                                double blur) {
  double const e = at.epsilon, shift = r.shift(e) + blur;
  bound<double> out{0.0, most};
  bool found = false;
  for (double k = 1.0; k < 60.0 && !found; k *= 1.5) {
    out.upper = e + std::max(k * (at.at.above + blur * at.at.value) / at.at.slope,
                             4.0 * unit<double> * e * k);
    found = out.upper < most ? integrate(r, out.upper).log_upper() <= log_delta - blur : bounded;
  }
  if (!found) return std::nullopt;
  found = false;
  for (double k = 1.0; k < 60.0 && !found; k *= 1.5) {
    out.lower = e - std::max(k * (at.at.below + blur * at.at.value) / at.at.slope,
                             4.0 * unit<double> * e * k);
    found = out.lower <= 0.0 || integrate(r, out.lower).log_lower() >= log_delta + blur;
  }
  if (!found) return std::nullopt;
  if (out.lower <= 0.0 && integrate(r, -shift).log_upper() <= log_delta - blur)
    return bound<double>{0.0, 0.0};
  return bound<double>{std::max(0.0, (out.lower - shift) * (1.0 - 1e-15)),
                       std::min(most, out.upper) * (1.0 + 1e-15) + shift};
}

/// One direction of a composition. Its tables belong to the question; nothing is kept but rays that know log δ to `narrow`,
/// in `keep`.
template <std::same_as<double> T = double>
class solver {
 public:
  solver(composition const& what, orientation towards, work_budget& work,
         std::vector<kept_rays>* keep = nullptr, double narrow = kept_width)
      : what_(&what),
        few_(sketch_of<T>(what)),
        towards_(towards),
        base_(static_cast<double>(base(what))),
        work_(&work),
        keep_(keep),
        narrow_(narrow) {}

  /// ε at δ, from about where to begin.
  [[nodiscard]] std::optional<bound<double>> epsilon(double log_delta, double start) {
    return certified({std::min(start, 0.5 * most()), log_delta}, true);
  }
  /// log δ at ε.
  [[nodiscard]] std::optional<bound<double>> log_delta(double epsilon) {
    if (!(exponent(epsilon) > 0.0)) return std::nullopt;
    return certified({epsilon, first_guess_of_delta(*what_, epsilon)}, false);
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  // A point of the profile, about, and where a ray for it crosses the real axis.
  struct point {
    double epsilon;
    double log_delta;
    double tilt = 1.0;
    double c = std::numeric_limits<double>::quiet_NaN();
  };

  // Rays are asked at ε below it. Without unsampled noise no loss exceeds it.
  [[nodiscard]] double most() const { return towards_ == orientation::add ? base_ : infinity; }
  [[nodiscard]] bool bounded() const { return what_->variance == 0.0; }
  [[nodiscard]] double exponent(double epsilon) const {
    return towards_ == orientation::remove ? base_ + epsilon : base_ - epsilon;
  }
  [[nodiscard]] double log_scale(double epsilon) const {  // of δ over D
    return towards_ == orientation::remove ? epsilon : 0.0;
  }
  [[nodiscard]] std::optional<plan> planned(planner<T>& search, point const& at, double log_error,
                                            int levels) const {
    return search.make(exponent(at.epsilon), at.log_delta - log_scale(at.epsilon) + log_error,
                       levels, at.c);
  }

  // Drafts: the root, or the value, to a few percent of δ.
  [[nodiscard]] point approach(point now, bool root_wanted);

  // Certified rays at a point, which moves to what they find. An interval of ε, or of log δ.
  template <class R>
  [[nodiscard]] std::optional<bound<double>> ask(lines<R>& on, plan const& planned,
                                                 bool root_wanted, point& at, double& error);

  [[nodiscard]] std::optional<bound<double>> certified(point start, bool root_wanted);

  // Whether one ray of a configuration is precise enough: narrow angles take half the time of two rays with wide ones.
  [[nodiscard]] bool serves_alone(configuration const& how, point const& at, double log_goal) {
    auto const plan = planned(search_for(how.at, how.noise), at, log_goal, 1);
    return plan && plan->log_error < log_goal - 3.0;
  }

  // Where all events are drafted one table serves both.
  [[nodiscard]] bool drafts_all() const { return few_.events.size() == what_->events.size(); }
  [[nodiscard]] lines<T>& lines_for(angles const& at, bool draft) {
    std::list<lines<T>>& all = draft && !drafts_all() ? drafts_ : lines_;
    for (lines<T>& known : all) {
      if (known.at.top == at.top && known.at.step == at.step) return known;
    }
    return all.emplace_back(draft ? few_ : *what_, at);
  }
  // One planner serves all steps and formats on the same lines.
  [[nodiscard]] planner<T>& search_for(angles const& at, double noise) {
    auto const known = std::find_if(searches_.begin(), searches_.end(),
                                    [&](auto const& s) { return s.first == at.top; });
    auto& found =
        known == searches_.end()
            ? searches_.emplace_back(at.top, planner<T>(*what_, few_, towards_, at, *work_))
            : *known;
    found.second.set(at.step, noise);
    return found.second;
  }

  composition const* what_;
  composition few_;  // for drafts
  orientation towards_;
  double base_;
  work_budget* work_;
  std::vector<kept_rays>* keep_;
  double narrow_;
  std::list<std::pair<double, planner<T>>> searches_;
  std::list<lines<T>> lines_;
  std::list<lines<T>> drafts_;
};

template <std::same_as<double> T>
typename solver<T>::point solver<T>::approach(point now, bool root_wanted) {
  struct coarse {
    double scale, step, noise;
    int levels;
  };
  double const beyond = towards_ == orientation::add ? static_cast<double>(base(few_)) : infinity;
  int tries = 0;
  for (coarse const& c : {coarse{1.0, 1.0 / 8.0, 1e-3, 1}, coarse{1.0, 1.0 / 16.0, 1e-6, 1},
                          coarse{1.0, 1.0 / 32.0, 2e-13, 4}, coarse{0.5, 1.0 / 64.0, 2e-13, 4}}) {
    angles const at{0.15 * c.scale, 0.4 * c.scale, 0.6 * c.scale, c.step};
    planner<T>& search = search_for(at, c.noise);
    lines<T>& on = lines_for(at, true);
    for (; tries < 14; ++tries) {
      auto const plan = planned(search, now, -3.0, c.levels);
      auto const rays = plan ? build(few_, towards_, now.epsilon, on, *plan, false, *work_)
                             : std::optional<ray_sum<T>>();
      if (!rays) {
        // A guess of δ that is far too low asks for more than can be had; one that is too high falls to what is found.
        if (root_wanted || !std::isnan(now.c) || now.log_delta > -2.0) break;
        now.log_delta *= 0.6;
        continue;
      }
      point const before = now;
      now.c = plan->levels.back().c;
      if (root_wanted) {
        root_found const found = root(*rays, now.log_delta, now.epsilon, beyond, 1e-3);
        if (!found.found) {
          if (!found.too_low) break;
          now.epsilon *= 0.6;
          now.c = before.c;
          continue;
        }
        now.epsilon = found.epsilon;
        now.tilt = found.at.slope / found.at.value;
        double const away = std::abs(now.epsilon - before.epsilon);
        // Certified rays move as far themselves.
        if (away * now.tilt <= 6.0 && away * std::abs(now.c) <= 12.0) return now;
      } else {
        profile const p = integrate(*rays, now.epsilon);
        if (!(p.value > 0.0)) break;
        // what is left out counts where it is most of it
        now.log_delta = std::min(p.log_scale + elementary::log(p.value + p.above), 0.0);
        now.tilt = p.slope / p.value;
        if (std::abs(now.log_delta - before.log_delta) <= 1.0) return now;
      }
    }
  }
  return now;
}

template <std::same_as<double> T>
template <class R>
std::optional<bound<double>> solver<T>::ask(lines<R>& on, plan const& planned, bool root_wanted,
                                            point& at, double& error) {
  auto rays = build(*what_, towards_, at.epsilon, on, planned, true, *work_);
  if (!rays) return std::nullopt;
  root_found found{at.epsilon, {}, true, false};
  if (root_wanted) {
    found = root(*rays, at.log_delta, at.epsilon, most(), 1e-7);
    if (!found.found) return std::nullopt;
    rays->tabulate(found.epsilon);
    found = root(*rays, at.log_delta, found.epsilon, most());
    if (!found.found) return std::nullopt;
    at.epsilon = found.epsilon;
  } else {
    found.at = integrate(*rays, at.epsilon);
    if (!(found.at.value > 2.0 * found.at.below)) return std::nullopt;
    at.log_delta = found.at.log_scale + elementary::log(found.at.value);
  }
  at.tilt = found.at.slope / found.at.value;
  error = found.at.log_scale + elementary::log(0.5 * (found.at.above + found.at.below));
  rounded_shifts const shifts = shifts_of(*what_);
  if (root_wanted) {
    return ends(*rays, at.log_delta, found, most(), bounded(), shifts.blur(at.log_delta));
  }
  kept_sum<R> asked(std::move(*rays), shifts, at.epsilon, found.at);
  std::optional<bound<double>> const value = asked.log_delta(at.epsilon);
  if (keep_ != nullptr && value && value->upper - value->lower <= narrow_) {
    keep_->push_back({std::move(asked)});
  }
  return value;
}

template <std::same_as<double> T>
std::optional<bound<double>> solver<T>::certified(point start, bool root_wanted) {
  point at = approach(start, root_wanted);
  std::optional<bound<double>> best;
  auto const width = [](bound<double> const& b) { return b.upper - b.lower; };
  // what misses the goal by the least
  double least_excess = 13.0;
  std::optional<std::pair<configuration const*, plan>> nearest;
  // ε to 1e-9; log δ to as much, or if it must be to what corresponds in ε
  for (bool const strict : {true, false}) {
    if (!strict && (root_wanted || best)) break;
    for (configuration const& how : menu) {
      if (work_->ended()) break;
      if (how.wide && !has_wide) continue;
      planner<T>& search = search_for(how.at, how.noise);
      std::optional<lines<long double>> wide;
      bool fine = false;
      for (int tries = 0; tries < 4; ++tries) {
        double const scale = root_wanted ? std::max(1.0, at.epsilon) : 1.0;
        double const goal = elementary::log(
            2e-10 * scale * std::max(1.0, root_wanted || !strict ? at.tilt : 0.03 * at.tilt));
        auto const plan = planned(search, at, goal, 5);
        if (!plan) break;
        if (&how == &menu[0] && plan->levels.size() > 1 && serves_alone(menu[1], at, goal)) break;
        if (double const excess = plan->log_error - plan->log_goal; excess > 1.0) {
          if (excess < least_excess - 1.0) least_excess = excess, nearest = {&how, *plan};
          break;
        }
        point const before = at;
        at.c = plan->levels.back().c;
        double error = 0.0;
        std::optional<bound<double>> found;
        if (how.wide) {
          angles const fit{how.at.alpha, how.at.gamma, how.at.top,
                           fine ? how.at.step : step_for(how, *plan)};
          if (!wide || wide->at.step != fit.step) wide.emplace(*what_, fit);
          found = ask(*wide, *plan, root_wanted, at, error);
        } else {
          found = ask(lines_for(how.at, false), *plan, root_wanted, at, error);
        }
        if (found && (!best || width(*found) < width(*best))) best = found;
        double const wanted = root_wanted ? scale : std::max(1.0, strict ? 0.1 * at.tilt : at.tilt);
        if (best && width(*best) <= 1e-9 * wanted) return best;
        if (work_->ended()) break;
        // What the right boundary is bounded by was not predicted.
        if (wide && wide->at.step > how.at.step) {
          fine = true;
          continue;
        }
        if (!found) break;
        double const moved = std::abs(at.epsilon - before.epsilon) * at.tilt +
                             std::abs(at.log_delta - before.log_delta);
        if (moved > 0.5) continue;
        // more noise than was thought
        double const ratio = elementary::exp(error - log_scale(at.epsilon) - plan->log_error);
        if (!(tries == 0 && ratio > 1.5 && ratio < 1e12)) break;
        search.set(how.at.step, how.noise * std::min(ratio, 1e4));
      }
    }
  }
  if (!best && nearest && !work_->ended()) {
    auto const& [how, planned] = *nearest;
    double error = 0.0;
    if (how->wide) {
      lines<long double> wide(*what_, how->at);
      best = ask(wide, planned, root_wanted, at, error);
    } else {
      best = ask(lines_for(how->at, false), planned, root_wanted, at, error);
    }
  }
  return best;
}

}  // namespace tacit::detail::rays
