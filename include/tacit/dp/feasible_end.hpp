// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/core/short_number.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <string_view>

/// The search behind dp/calibration.hpp: the end of what keeps a target, in few questions, which cost far
/// more than the search itself.

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

/// Where searches look for a noise multiplier, a Poisson rate, or a count, of steps or of records.
inline constexpr quantity noise_sought{
    .protects = true, .smallest = 1e-3, .largest = 1e300, .start = 1.0};
inline constexpr quantity rate_sought{.smallest = 1e-12, .largest = 1.0, .start = 0.01};
inline constexpr double most_steps_sought = 1e15;
[[nodiscard]] constexpr quantity count_sought(double most, double start) {
  return {.whole = true, .smallest = 1.0, .largest = most, .start = start};
}
/// A batch of so many records.
[[nodiscard]] constexpr quantity batch_sought(double records) {
  double const start = 0.01 * records;
  return count_sought(records, start > 1.0 ? start : 1.0);
}

/// What a search may cost: seconds of work as accountants count it (dp/work_budget.hpp), which is the same on every
/// machine. Today's processors do it in about two thirds of that time.
struct search_effort {
  double seconds = 1e-9 * detail::work_on_search;
};

/// As long as it takes: for programs with another way to end a search.
inline constexpr search_effort unlimited_effort{.seconds = 1e9};

namespace detail {

/// About the log of the μ at which Gaussian DP has this δ at this ε. In it, the loss of a run is
/// nearly linear in the log of its noise, steps and rate, so that a secant finds the end in a few
/// evaluations. Only the speed rests on it. Grows with δ; ±∞ where δ is 0 or nearly 1.
[[nodiscard]] inline double loss_coordinate(double epsilon, double delta) {
  if (!(delta < 1.0 - 0x1p-50)) return std::numeric_limits<double>::infinity();
  if (delta <= 0.0) return -std::numeric_limits<double>::infinity();
  double const target = delta < 0.5 ? elementary::log(delta) : elementary::log1p(-delta);
  // With d = ε/μ − μ/2 and e = d + μ, δ = φ(d)(R(d) − R(e)). For the Mills ratio R(x), a smooth
  // 2/(x + √(x² + 8/π)) will do; differences are taken so that nothing cancels.
  auto const below = [&](double log_mu) {
    constexpr double k = 8.0 / std::numbers::pi;
    double const mu = elementary::exp(log_mu);
    double const d = epsilon / mu - 0.5 * mu;
    double const e = epsilon / mu + 0.5 * mu;
    if (d > 1e8) return true;
    double const root_d = std::sqrt(d * d + k);
    double const root_e = std::sqrt(e * e + k);
    double const log_phi = -0.5 * d * d - 0.5 * elementary::log(2.0 * std::numbers::pi);
    if (d >= 0.0) {
      double const difference =
          2.0 * (mu + mu * (d + e) / (root_d + root_e)) / ((d + root_d) * (e + root_e));
      double const log_delta = log_phi + elementary::log(difference);
      return delta < 0.5 ? log_delta < target
                         : elementary::log1p(-std::min(1.0, elementary::exp(log_delta))) > target;
    }
    if (delta < 0.5) {  // 1 − e^{−d²/2} + φ(d)(2R(0) − R(−d) − R(e))
      double const root_0 = std::sqrt(k);
      auto const below_0 = [&](double x, double root) {
        return 2.0 * (x + x * x / (root + root_0)) / (root_0 * (x + root));
      };
      double const found = elementary::exp(log_phi) * (below_0(-d, root_d) + below_0(e, root_e)) -
                           elementary::expm1(-0.5 * d * d);
      return elementary::log(found) < target;
    }
    double const log_rest = log_phi + elementary::log(2.0 / (root_d - d) + 2.0 / (e + root_e));
    return log_rest > target;
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
/// time.
///
/// Numbers are tried to 27 bits, 2^-26 apart at most, a tenth of what it aims beside the end. So the last bits of a score,
/// which are not the same on every machine (a long double has 53, 64 or 113 bits), do not choose the next number: ends that
/// are not monotone, as those of a grid, would lead to another answer each time.
///
/// Not `sign_search`, which nears the end from one side and need not close its bracket: a question costs an accountant.
///
/// At most 150 questions, whatever the scores. Until both sides are known, the k-th question moves on by
/// 16^{k−4}·1.5e-7 in log x at least, which no range of doubles has room for when k = 15. Then, from the
/// 24th question on, every other one bisects: in log x, which leaves a ratio of at most 4 after 10 of
/// them, then in x, which closes a bracket of whole numbers up to 2^53 after 52 more.
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
    if (sought.whole) {
      x = sought.protects ? std::ceil(x) : std::floor(x);
    } else if (x != sought.smallest && x != sought.largest) {
      x = nearest_short_number(x, 27);
    }
    return std::clamp(x, sought.smallest, sought.largest);
  };

  std::optional<point> inside;
  std::optional<point> outside;
  std::optional<point> before;
  double slope = -up;                   // of the score in log x
  double reach = elementary::log(8.0);  // of a step where one side is not known yet
  enum class aimed { nowhere, in, out } aim = aimed::nowhere;
  int misses = 0;
  double x = within_range(sought.start);
  for (int evaluation = 1; evaluation <= 150; ++evaluation) {
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
      double const steepness = (now.score - before->score) / elementary::log(now.x / before->x);
      if (steepness * up < 0.0 && std::isfinite(steepness)) slope = steepness;
    }
    before = now;
    misses = aim == (holds ? aimed::out : aimed::in) ? misses + 1 : 0;
    double const farther = std::ldexp(1.0, 2 * std::min(misses, 200));

    if (finite) {
      double const end = now.x * elementary::exp(-now.score / slope);
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
      auto const [low, high] = std::minmax(inside->x, outside->x);
      bracket<double> const open{low, high};
      if (!finite || !open.holds(x) || (evaluation >= 24 && evaluation % 2 == 1)) {
        aim = aimed::nowhere;
        x = high > 4.0 * low ? std::sqrt(low) * std::sqrt(high) : open.middle();
      }
      x = within_range(x);
      if (sought.whole) x = std::clamp(x, low + 1.0, high - 1.0);
      continue;
    }
    // One side is not known yet: on towards it, by strides that grow.
    double const towards = holds ? -up : up;
    double const most = now.x * elementary::exp(towards * reach);
    reach *= 2.0;
    double const stride = std::ldexp(gap, 4 * std::max(0, evaluation - 4));
    double const least = now.x * elementary::exp(towards * std::max(gap * farther, stride));
    if (!finite || towards * x > towards * most) x = most;
    if (!(towards * x > towards * least)) x = least;
    x = within_range(x);
    if (x == now.x && sought.whole) x = within_range(now.x + towards * farther);
    if (x == now.x) x = holds ? boldest : safest;
  }
  throw convergence_error("feasible_end: the end was not found", sought.smallest, sought.largest);
}

inline void check_target(std::string_view who, approx_dp target) {
  check_non_negative(who, "epsilon", target.epsilon);
  require_domain(target.delta > 0.0 && target.delta < 1.0, who, "delta", target.delta, "in (0, 1)");
}

/// How far a run is beyond a target, about in the log of μ, by one of two questions: at most 0 where
/// the answer is within the target, +∞ where there is none. A question whose answer is the same for many
/// runs, such as ε(δ) = 0 or a δ(ε) that underflows, leaves the distance open: ±∞.
class target_score {
 public:
  target_score(std::string_view who, approx_dp target) : target_(target) {
    check_non_negative(who, "epsilon", target.epsilon);
    require_domain(target.delta > 0.0 && target.delta < 1.0, who, "delta", target.delta,
                   "in (0, 1)");
    aim_ = loss_coordinate(target.epsilon, target.delta);
  }

  /// Whether to search by ε(δ) rather than δ(ε): not where ε(δ) is 0 with slightly more noise.
  [[nodiscard]] bool search_by_epsilon() const {
    return aim_ - loss_coordinate(0.0, target_.delta) > 3.0;
  }

  template <class Accountant>
  [[nodiscard]] double by_epsilon(Accountant const& run, work_budget& work) const {
    double const epsilon = [&] {
      if constexpr (requires { run.counted_epsilon(1.0, work); }) {
        return run.counted_epsilon(target_.delta, work).upper;
      } else if constexpr (requires { run.epsilon_within(1.0, work); }) {
        return counted(work, work_budget(work_on_run), [&](work_budget& own) {
          return run.epsilon_within(target_.delta, own).upper;
        });
      } else {
        return run.epsilon(target_.delta).upper;
      }
    }();
    if (epsilon == 0.0) return -infinity;
    if (!(epsilon < infinity)) return infinity;
    return sided(epsilon <= target_.epsilon, loss_coordinate(epsilon, target_.delta));
  }

  template <class Accountant>
  [[nodiscard]] double by_delta(Accountant const& run, work_budget& work) const {
    double const delta = [&] {
      if constexpr (requires { run.counted_delta(1.0, work); }) {
        return run.counted_delta(target_.epsilon, work).upper;
      } else if constexpr (requires { run.delta_within(1.0, work); }) {
        return counted(work, work_budget(work_on_run), [&](work_budget& own) {
          return run.delta_within(target_.epsilon, own).upper;
        });
      } else {
        return run.delta(target_.epsilon).upper;
      }
    }();
    if (!(delta >= 0.0)) return infinity;
    bool const holds = delta <= target_.delta;
    if (holds && delta <= 4.0 * std::numeric_limits<double>::min()) return -infinity;
    return sided(holds, loss_coordinate(target_.epsilon, delta));
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  // Rounding in the coordinate decides nothing.
  [[nodiscard]] double sided(bool holds, double at) const {
    double const score = at - aim_;
    return holds ? std::min(score, 0.0) : std::max(score, std::numeric_limits<double>::min());
  }

  approx_dp target_;
  double aim_ = 0.0;
};

inline std::string to_text(approx_dp target) {
  return "(epsilon " + to_text(target.epsilon) + ", delta " + to_text(target.delta) + ")";
}

/// The questions of one search, and the work that they may cost together. A question is not asked if one as expensive as
/// the most expensive so far would be too much: with less work than an accountant's own the answer would be another one,
/// and could hide all of the range from the search.
class search_questions {
 public:
  search_questions(std::string_view who, approx_dp target, search_effort effort)
      : who_(who), target_(target), effort_(effort), work_(1e9 * effort.seconds) {
    check_positive(who, "effort", effort.seconds);
  }

  /// @throws convergence_error, with what is known of the end, where the work is done
  template <class Ask>
  [[nodiscard]] double operator()(double x, Ask&& ask) {
    if (!work_.allows(most_)) refuse();
    double const before = work_.left();
    double score = std::numeric_limits<double>::infinity();
    try {
      score = ask(work_);
    } catch (convergence_error const&) {  // not shown to keep the target
    }
    most_ = std::max(most_, before - work_.left());
    ++asked_;
    (score <= 0.0 ? kept_ : not_kept_) = x;
    return score;
  }

 private:
  [[noreturn]] void refuse() const {
    std::string text(who_);
    text += ": the search was ended after " + std::to_string(asked_) +
            (asked_ == 1 ? " question" : " questions") + ", for its effort is " +
            to_text(effort_.seconds) + " s of counted work and the most expensive question took " +
            to_text(1e-9 * most_) + ": " + to_text(target_);
    if (kept_) text += " is kept at " + to_text(*kept_) + " by the figure that was asked";
    if (kept_ && not_kept_) text += " and";
    if (not_kept_) text += " is not shown to be kept at " + to_text(*not_kept_);
    double const one = kept_ ? *kept_ : *not_kept_;
    double const other = not_kept_ ? *not_kept_ : *kept_;
    throw convergence_error(text + ". A larger effort goes on.", std::min(one, other),
                            std::max(one, other));
  }

  std::string_view who_;
  approx_dp target_;
  search_effort effort_;
  work_budget work_;
  double most_ = 0.0;
  int asked_ = 0;
  std::optional<double> kept_;
  std::optional<double> not_kept_;
};

template <class Plan>
[[nodiscard]] std::optional<double> feasible_end(std::string_view who, approx_dp target,
                                                 Plan const& plan, quantity const& sought,
                                                 search_effort effort = {}) {
  target_score const score(who, target);
  check_positive(who, "smallest", sought.smallest);
  require_domain(sought.largest >= sought.smallest && std::isfinite(sought.largest), who, "largest",
                 sought.largest, "finite and at least the smallest");
  require_domain(sought.start >= sought.smallest && sought.start <= sought.largest, who, "start",
                 sought.start, "in [smallest, largest]");
  search_questions questions(who, target, effort);
  auto const ask = [&](double x, bool epsilon) {
    return questions(x, [&](work_budget& work) {
      return epsilon ? score.by_epsilon(plan(x), work) : score.by_delta(plan(x), work);
    });
  };
  bool const first = score.search_by_epsilon();
  auto const end = feasible_end(sought, [&](double x) { return ask(x, first); });
  if (!end) return end;
  double const other = ask(*end, !first);
  if (other <= 0.0) return end;
  // One figure is within the target and the other is not: an accountant that converts one way better
  // than the other. Both decide.
  quantity again = sought;
  if (std::isfinite(other)) again.start = *end;
  return feasible_end(again, [&](double x) { return std::max(ask(x, first), ask(x, !first)); });
}

}  // namespace detail

}  // namespace tacit
