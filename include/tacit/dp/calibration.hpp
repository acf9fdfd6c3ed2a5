// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/event.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Calibration: the least noise, the most steps, the largest rate or batch that keeps a run (ε, δ)-DP
/// by an accountant of one's choice.
///
/// Whatever is returned was itself evaluated, and both figures were within the target: delta(ε).upper ≤ δ
/// and epsilon(δ).upper ≤ ε. That holds for every accountant, however its upper ends behave. Where
/// they are monotone, a noise multiplier or rate is within 1e-6 (relative) of the best for that
/// accountant, and a count or batch is the best.

namespace tacit {

/// What is sought: a positive number, and the side on which it keeps the target.
struct quantity {
  /// Whether a larger number means less privacy loss (noise) or more (steps, rate, batch).
  bool protects = false;
  bool whole = false;  // only whole numbers, to 2^53
  double smallest = required;
  double largest = required;
  double start = required;  // a guess
};

namespace detail {

/// About the log of the μ at which Gaussian DP has this δ at this ε. In it, the loss of a run is
/// nearly linear in the log of its noise, steps and rate, so that a secant finds the end in a few
/// evaluations. Only the speed rests on it. Grows with δ; ±∞ where δ is 0 or nearly 1.
[[nodiscard]] inline double loss_coordinate(double epsilon, double delta) {
  if (!(delta < 1.0 - 0x1p-50)) return std::numeric_limits<double>::infinity();
  if (delta <= 0.0) return -std::numeric_limits<double>::infinity();
  double const target = delta < 0.5 ? std::log(delta) : std::log1p(-delta);
  // With d = ε/μ − μ/2 and e = d + μ, δ = φ(d)(R(d) − R(e)). For the Mills ratio R(x), a smooth
  // 2/(x + √(x² + 8/π)) will do; differences are taken so that nothing cancels.
  auto const below = [&](double log_mu) {
    constexpr double k = 8.0 / std::numbers::pi;
    double const mu = std::exp(log_mu);
    double const d = epsilon / mu - 0.5 * mu;
    double const e = epsilon / mu + 0.5 * mu;
    if (d > 1e8) return true;
    double const root_d = std::sqrt(d * d + k);
    double const root_e = std::sqrt(e * e + k);
    double const log_phi = -0.5 * d * d - 0.5 * std::log(2.0 * std::numbers::pi);
    if (d >= 0.0) {
      double const difference =
          2.0 * (mu + mu * (d + e) / (root_d + root_e)) / ((d + root_d) * (e + root_e));
      double const log_delta = log_phi + std::log(difference);
      return delta < 0.5 ? log_delta < target
                         : std::log1p(-std::min(1.0, std::exp(log_delta))) > target;
    }
    double const log_rest = log_phi + std::log(2.0 / (root_d - d) + 2.0 / (e + root_e));
    return delta < 0.5 ? std::log1p(-std::min(1.0, std::exp(log_rest))) < target
                       : log_rest > target;
  };
  auto const always = [](double, double) { return true; };
  return bisect<double>({-705.0, 355.0}, always, below, 64).high;
}

/// The feasible end of one axis: `score(x)` ≤ 0 where x keeps the target; a NaN does not. None if not
/// even the most protective number does.
///
/// A secant in log x, held to the bracket of a number that keeps the target and one that does not. It
/// aims just inside of where it expects the end, and once inside just outside of it, so that the bracket
/// closes from both sides; what falls on the other side than meant is aimed four times farther the next
/// time. From the 24th question on, every other one bisects.
template <class Score>
[[nodiscard]] std::optional<double> feasible_end(quantity const& sought, Score const& score) {
  struct point {
    double x;
    double score;
  };
  constexpr double gap = 1.5e-7;     // aimed beside the expected end, relatively
  constexpr double close_by = 7e-7;  // inside so near the end, what is left is to close the bracket
  constexpr double closed = 9e-7;
  double const up = sought.protects ? 1.0 : -1.0;  // towards the numbers that keep the target
  double const safest = sought.protects ? sought.largest : sought.smallest;
  double const boldest = sought.protects ? sought.smallest : sought.largest;
  auto const within_range = [&](double x) {
    x = std::clamp(x, sought.smallest, sought.largest);
    if (!sought.whole) return x;
    x = sought.protects ? std::ceil(x) : std::floor(x);
    return std::clamp(x, sought.smallest, sought.largest);
  };

  std::optional<point> inside;
  std::optional<point> outside;
  std::optional<point> before;
  double slope = -up;            // of the score in log x
  double reach = std::log(8.0);  // of a step where one side is not known yet
  enum class aimed { nowhere, in, out } aim = aimed::nowhere;
  int misses = 0;
  double x = within_range(sought.start);
  for (int evaluation = 1; evaluation <= 1000; ++evaluation) {
    point const now{x, score(x)};
    bool const holds = now.score <= 0.0;
    (holds ? inside : outside) = now;
    if (inside && inside->x == boldest) return boldest;
    if (outside && outside->x == safest) return std::nullopt;
    if (inside && outside &&
        std::fabs(inside->x - outside->x) <= (sought.whole ? 1.0 : closed * inside->x)) {
      return inside->x;
    }
    bool const finite = std::isfinite(now.score);
    if (before && finite && std::isfinite(before->score)) {
      double const steepness = (now.score - before->score) / std::log(now.x / before->x);
      if (steepness * up < 0.0 && std::isfinite(steepness)) slope = steepness;
    }
    before = now;
    misses = aim == (holds ? aimed::out : aimed::in) ? misses + 1 : 0;
    double const farther = std::ldexp(1.0, 2 * std::min(misses, 200));

    if (finite) {
      double const end = now.x * std::exp(-now.score / slope);
      bool const close = inside && (sought.whole ? up * inside->x <= up * within_range(end)
                                                 : up * (inside->x - end) <= close_by * end);
      aim = close ? aimed::out : aimed::in;
      if (sought.whole) {
        x = close ? inside->x - up * farther : within_range(end) + up * (farther - 1.0);
      } else if (close) {
        x = (up * end < up * inside->x ? end : inside->x) * (1.0 - up * gap * farther);
      } else {
        x = end * (1.0 + up * gap * farther);
      }
    } else {
      aim = aimed::nowhere;
    }

    if (inside && outside) {
      double const low = std::min(inside->x, outside->x);
      double const high = std::max(inside->x, outside->x);
      if (!finite || !(x > low && x < high) || (evaluation >= 24 && evaluation % 2 == 1)) {
        aim = aimed::nowhere;
        x = high > 4.0 * low ? std::sqrt(low) * std::sqrt(high) : low + 0.5 * (high - low);
      }
      if (sought.whole) x = std::clamp(within_range(x), low + 1.0, high - 1.0);
      continue;
    }
    // One side is not known yet: on towards it, by strides that grow.
    double const towards = holds ? -up : up;
    double const most = now.x * std::exp(towards * reach);
    reach *= 2.0;
    if (!finite || towards * x > towards * most) x = most;
    if (!(towards * x > towards * now.x)) x = now.x * (1.0 + towards * gap * farther);
    x = within_range(x);
    if (x == now.x && sought.whole) x = within_range(now.x + towards * farther);
    if (x == now.x) x = holds ? boldest : safest;
  }
  if (inside) return inside->x;  // it keeps the target, though perhaps not as the best
  throw convergence_error("feasible_end: no number that keeps the target was found",
                          sought.smallest, sought.largest);
}

inline void check_target(std::string_view who, approx_dp target) {
  check_non_negative(who, "epsilon", target.epsilon);
  require_domain(target.delta > 0.0 && target.delta < 1.0, who, "delta", target.delta, "in (0, 1)");
}

/// Whether δ at ε keeps the target, as a score.
template <class Accountant>
[[nodiscard]] double target_score(Accountant const& run, approx_dp target) {
  double const delta = run.delta(target.epsilon).upper;
  if (!(delta >= 0.0)) return std::numeric_limits<double>::infinity();
  double const score =
      loss_coordinate(target.epsilon, delta) - loss_coordinate(target.epsilon, target.delta);
  // Rounding in the coordinate decides nothing.
  constexpr double tiny = std::numeric_limits<double>::min();
  return delta <= target.delta ? std::min(score, 0.0) : std::max(score, tiny);
}

template <class Plan>
[[nodiscard]] std::optional<double> feasible_end(std::string_view who, approx_dp target,
                                                 Plan const& plan, quantity const& sought) {
  check_target(who, target);
  check_positive(who, "smallest", sought.smallest);
  require_domain(sought.largest >= sought.smallest && std::isfinite(sought.largest), who, "largest",
                 sought.largest, "finite and at least the smallest");
  require_domain(sought.start >= sought.smallest && sought.start <= sought.largest, who, "start",
                 sought.start, "in [smallest, largest]");
  constexpr double never = std::numeric_limits<double>::infinity();
  auto const by_delta = [&](double x) {
    try {
      return target_score(plan(x), target);
    } catch (convergence_error const&) {  // not shown to keep the target
      return never;
    }
  };
  auto const by_epsilon = [&](double x) {
    try {
      return plan(x).epsilon(target.delta).upper <= target.epsilon;
    } catch (convergence_error const&) {
      return false;
    }
  };
  auto const end = feasible_end(sought, by_delta);
  if (!end || by_epsilon(*end)) return end;
  // δ at ε is within the target and ε at δ is not: an accountant that converts one way better than
  // the other. Both decide.
  quantity again = sought;
  again.start = *end;
  return feasible_end(again, [&](double x) {
    double const score = by_delta(x);
    return score <= 0.0 && !by_epsilon(x) ? never : score;
  });
}

template <class Accountant>
[[nodiscard]] Accountant run_of(event const& release, adjacency neighbours) {
  return Accountant(neighbours).compose(release);
}
template <class Accountant>
[[nodiscard]] Accountant run_of(std::vector<composed> const& releases, adjacency neighbours) {
  Accountant run(neighbours);
  for (composed const& entry : releases) run.compose(entry.release, entry.count);
  return run;
}

/// A function of the number sought that says what is released: an event, or a history of them.
template <class Plan, class Number>
concept plan_of = std::invocable<Plan const&, Number> &&
    (std::convertible_to<std::invoke_result_t<Plan const&, Number>, event> ||
     std::convertible_to<std::invoke_result_t<Plan const&, Number>, std::vector<composed>>);

inline std::string to_text(approx_dp target) {
  return "(epsilon " + to_text(target.epsilon) + ", delta " + to_text(target.delta) + ")";
}

[[noreturn]] inline void fail_infeasible(std::string_view who, std::string_view what,
                                         std::string_view accountant, approx_dp target) {
  throw infeasible(std::string(who) + ": " + std::string(what) + " keeps " + to_text(target) +
                   " by the " + std::string(accountant) + " accountant");
}

}  // namespace detail

/// The number on the edge of what keeps the target, of any plan: a function from the number to an
/// accountant that has composed the run (anything with `delta(ε)` and `epsilon(δ)` that return a
/// `bound`). `sought` says where to look, and on which side the target is kept.
/// Guarantee: feasible end, as above; an end of the range where all of it keeps the target.
/// @throws infeasible if not even the protecting end of the range keeps the target; std::domain_error
///         for a target without 0 ≤ ε < ∞ and 0 < δ < 1, or an empty range; whatever the plan throws
template <class Plan>
requires std::invocable<Plan const&, double>
[[nodiscard]] double calibrate(approx_dp target, Plan const& plan, quantity const& sought) {
  auto const end = detail::feasible_end("calibrate", target, plan, sought);
  if (!end) {
    throw infeasible("calibrate: not even " +
                     detail::to_text(sought.protects ? sought.largest : sought.smallest) +
                     " keeps " + detail::to_text(target));
  }
  return *end;
}

/// The smallest noise multiplier in [1e-3, 1e300] with which a run keeps the target. `plan` says for a
/// noise multiplier what is released: an event, or a `std::vector<composed>`; e.g. a schedule scaled
/// by it.
///     noise_multiplier_for<renyi_accountant>({.epsilon = 2.0, .delta = 1e-5}, [](double sigma) {
///       return std::vector<composed>{{sampled(gaussian{sigma}, poisson{0.01}), 1000},
///                                    {sampled(gaussian{2 * sigma}, poisson{0.02}), 1000}};
///     })
/// Guarantee: feasible end, within 1e-6 of the best for this accountant.
/// @throws infeasible if no noise in the range does; std::domain_error for a target out of range;
///         std::invalid_argument, with the reason, for an event that has no bound
template <class Accountant, detail::plan_of<double> Plan>
[[nodiscard]] double noise_multiplier_for(approx_dp target, Plan const& plan,
                                          adjacency neighbours = adjacency::add_remove) {
  auto const end = detail::feasible_end(
      "noise_multiplier_for", target,
      [&](double sigma) { return detail::run_of<Accountant>(plan(sigma), neighbours); },
      {.protects = true, .smallest = 1e-3, .largest = 1e300, .start = 1.0});
  if (!end) {
    detail::fail_infeasible("noise_multiplier_for", "no noise multiplier up to 1e300",
                            Accountant::name, target);
  }
  return *end;
}

/// The same for `steps` Gaussian releases of one kind.
template <class Accountant>
[[nodiscard]] double noise_multiplier_for(approx_dp target, sampling how, std::uint64_t steps,
                                          adjacency neighbours = adjacency::add_remove) {
  return noise_multiplier_for<Accountant>(
      target,
      [&](double sigma) {
        return std::vector<composed>{{sampled(gaussian{sigma}, how), steps}};
      },
      neighbours);
}

/// How many more such releases keep the target after what was already `spent` (whose adjacency
/// counts), up to 10^15.
/// Guarantee: feasible end; for a monotone upper end one more would not keep it.
/// @throws infeasible if not even one does; else as `noise_multiplier_for`
template <class Accountant>
[[nodiscard]] std::uint64_t steps_for(approx_dp target, event const& release,
                                      Accountant const& spent = Accountant()) {
  auto const end = detail::feasible_end(
      "steps_for", target,
      [&](double count) {
        return Accountant(spent).compose(release, static_cast<std::uint64_t>(count));
      },
      {.whole = true, .smallest = 1.0, .largest = 1e15, .start = 1000.0});
  if (!end) detail::fail_infeasible("steps_for", "not even one step", Accountant::name, target);
  return static_cast<std::uint64_t>(*end);
}

/// The largest Poisson rate in [1e-12, 1] with which a run keeps the target; `plan` is a function of
/// the rate.
/// Guarantee: feasible end, within 1e-6 of the best for this accountant.
/// @throws infeasible if not even a rate of 1e-12 does; else as `noise_multiplier_for`
template <class Accountant, detail::plan_of<double> Plan>
[[nodiscard]] double rate_for(approx_dp target, Plan const& plan,
                              adjacency neighbours = adjacency::add_remove) {
  auto const end = detail::feasible_end(
      "rate_for", target,
      [&](double rate) { return detail::run_of<Accountant>(plan(rate), neighbours); },
      {.smallest = 1e-12, .largest = 1.0, .start = 0.01});
  if (!end) {
    detail::fail_infeasible("rate_for", "not even a rate of 1e-12", Accountant::name, target);
  }
  return *end;
}

/// The same for `steps` releases of one mechanism.
template <class Accountant>
[[nodiscard]] double rate_for(approx_dp target, mechanism_event const& mechanism,
                              std::uint64_t steps, adjacency neighbours = adjacency::add_remove) {
  return rate_for<Accountant>(
      target,
      [&](double rate) {
        return std::vector<composed>{{sampled(mechanism, poisson{rate}), steps}};
      },
      neighbours);
}

/// How a batch is drawn, for `batch_for`: `poisson` batches have the size on average.
enum class batches { poisson, fixed_size };

/// The largest batch in [1, records] with which a run keeps the target; `plan` is a function of the
/// batch.
/// Guarantee: feasible end; for a monotone upper end one record more would not keep it.
/// @throws infeasible if not even a batch of one record does; std::domain_error unless records is in
///         [1, 2^53]; else as `noise_multiplier_for`
template <class Accountant, detail::plan_of<std::uint64_t> Plan>
[[nodiscard]] std::uint64_t batch_for(approx_dp target, Plan const& plan, std::uint64_t records,
                                      adjacency neighbours = adjacency::replace_one) {
  detail::require_domain(records >= 1 && records <= (std::uint64_t{1} << 53), "batch_for",
                         "records", records, "in [1, 2^53]");
  double const most = static_cast<double>(records);
  auto const end = detail::feasible_end(
      "batch_for", target,
      [&](double batch) {
        return detail::run_of<Accountant>(plan(static_cast<std::uint64_t>(batch)), neighbours);
      },
      {.whole = true, .smallest = 1.0, .largest = most, .start = std::max(1.0, 0.01 * most)});
  if (!end) {
    detail::fail_infeasible("batch_for", "not even a batch of one record", Accountant::name,
                            target);
  }
  return static_cast<std::uint64_t>(*end);
}

/// The same for `steps` releases of one mechanism.
template <class Accountant>
[[nodiscard]] std::uint64_t batch_for(approx_dp target, mechanism_event const& mechanism,
                                      batches drawn, std::uint64_t records, std::uint64_t steps,
                                      adjacency neighbours) {
  return batch_for<Accountant>(
      target,
      [&](std::uint64_t batch) {
        fixed_size const fixed{batch, records};
        sampling const how = drawn == batches::poisson ? sampling(poisson{fixed.rate()}) : fixed;
        return std::vector<composed>{{sampled(mechanism, how), steps}};
      },
      records, neighbours);
}

}  // namespace tacit
