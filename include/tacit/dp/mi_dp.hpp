// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/rdp/conversion.hpp>
#include <tacit/dp/renyi.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <string_view>

/// FERRET's accounting: parameter groups that release one bit a step, and only if a coin fires.
///
/// Two guarantees of different kinds:
///   - MI-DP, I(X_i; Y | X_{−i}) ≤ ε nats for every record. *An average over transcripts*: that a record
///     is published with probability p satisfies it with p·H(X_i). It bounds no single transcript and
///     gives no (ε, δ)-DP; from it follow the bounds of `attack_success(nats, prior)` and no others.
///   - With Gaussian noise on the released signs, Rényi divergence and hence (ε, δ)-DP: worst case.

namespace tacit {

/// G groups, each firing with `probability` in a step; a step's batch takes every record with `rate`.
/// The masks must not depend on the data; they may be public. Later steps may depend on earlier ones.
struct ferret {
  std::uint64_t groups = 0;
  std::uint64_t steps = 0;
  double rate = required;
  double probability = required;
};

/// The same for any data-independent sampling: `participations` is how many steps a record is expected
/// to take part in (steps·rate for `ferret`, the number of epochs for shuffled batches).
struct masked_participation {
  std::uint64_t groups = 0;
  double participations = required;
  double probability = required;
};

namespace detail {

inline void check_ferret(std::string_view who, std::uint64_t groups, double rate) {
  require_domain(groups >= 1, who, "groups", groups, "at least 1");
  check_probability(who, "rate", rate);
}

}  // namespace detail

/// I(X_i; Y | X_{−i}) ≤ G·p·ln 2·E[participations of record i]: a group that fires reveals at most a bit
/// about a record in its batch, and nothing else is released.
/// Guarantee: upper bound, of an average-case quantity: see the head of this file.
/// @throws std::domain_error unless groups ≥ 1, participations is finite and at least 0, probability in
///         [0, 1]
[[nodiscard]] inline nats mutual_information_bound(masked_participation const& run) {
  constexpr std::string_view me = "mutual_information_bound";
  detail::require_domain(run.groups >= 1, me, "groups", run.groups, "at least 1");
  detail::check_non_negative(me, "participations", run.participations);
  detail::check_probability(me, "probability", run.probability);
  if (run.participations == 0.0 || run.probability == 0.0) return nats(0.0);
  double const times = detail::multiply_up(detail::count_up(run.groups), run.participations);
  double const bits = detail::multiply_up(times, run.probability);
  // The double nearest to log 2 is below it.
  return nats(detail::multiply_up(bits, detail::next_up(std::numbers::ln2)));
}

/// I(X_i; Y | X_{−i}) ≤ G·T·s·p·ln 2. (The paper's Lemmas 1 and 2 print =; ≤ is what holds.)
/// Guarantee: upper bound, of an average-case quantity: see the head of this file.
/// @throws std::domain_error unless groups ≥ 1, rate and probability are in [0, 1]
[[nodiscard]] inline nats mutual_information_bound(ferret const& run) {
  detail::check_ferret("mutual_information_bound", run.groups, run.rate);
  return mutual_information_bound(masked_participation{
      .groups = run.groups,
      .participations = detail::multiply_up(detail::count_up(run.steps), run.rate),
      .probability = run.probability});
}

/// G·T·s·ln 2, what groups that always fire would reveal: a larger budget restricts nothing.
/// `probability` plays no part and may be left out.
/// Guarantee: upper bound, of an average-case quantity: see the head of this file.
/// @throws std::domain_error unless groups ≥ 1 and rate is in [0, 1]
[[nodiscard]] inline nats mutual_information_ceiling(ferret run) {
  run.probability = 1.0;
  return mutual_information_bound(run);
}

/// The largest fire probability that keeps I(X_i; Y | X_{−i}) within the budget,
/// min(1, ε/(G·T·s·ln 2)). `probability` must be left out: it is the result.
/// Guarantee: feasible end, 1e-14 relative below the largest for budgets above 1e-290:
/// `mutual_information_bound` there is at most the budget. An average-case guarantee: see the head of
/// this file.
/// @throws std::domain_error unless groups ≥ 1, rate is in [0, 1], the budget finite and at least 0;
///         std::invalid_argument if probability is set
[[nodiscard]] inline double fire_probability(ferret run, nats budget) {
  detail::check_non_negative("fire_probability", "budget", budget.value);
  if (!std::isnan(run.probability)) {
    throw std::invalid_argument(
        "fire_probability: probability is already set, but must be left out: it is what is asked "
        "for");
  }
  double const ceiling = mutual_information_ceiling(run).value;
  if (ceiling <= budget.value) return 1.0;
  run.probability = budget.value / ceiling * (1.0 - 16.0 * std::numeric_limits<double>::epsilon());
  // Next to underflow the bound keeps an absolute distance.
  while (run.probability > 0.0 && !(mutual_information_bound(run).value <= budget.value)) {
    run.probability *= 0.5;
  }
  return run.probability;
}

/// One group whose release has the Rényi divergence R at this order and fires with probability p, by a
/// mask that does not depend on the data, public or hidden (joint convexity):
///   D_α ≤ (1/(α−1))·log((1−p) + p·e^{(α−1)R}).
/// (The paper's Eq. 12 is smaller. It rests on p ≤ p^α, which is false for 0 < p < 1 < α.)
/// Guarantee: upper bound. Attained where the mask is public.
/// @throws std::domain_error unless order is finite and above 1, divergence ≥ 0, probability in [0, 1]
[[nodiscard]] inline double masked_divergence(double order, double divergence, double probability) {
  constexpr std::string_view me = "masked_divergence";
  detail::check_renyi(me, order, divergence);
  detail::check_probability(me, "probability", probability);
  if (divergence == 0.0 || probability == 0.0) return 0.0;
  detail::enclosure const z = detail::enclosure(order) - 1.0;
  double const log_moment = detail::sampled_loss_up(z * divergence, probability);
  return detail::divide_up(log_moment, z.lower);
}

/// A whole step: G such groups that share one batch, which has a record with probability `rate`:
///   D_α ≤ (1/(α−1))·log(1 − s + s·((1−p) + p·e^{(α−1)R})^G).
/// Composing the groups as if each were sampled at rate p·s says less than the truth (G = 200, R = ½,
/// α = 4, s = .005, p = .01: .012 in the place of .58): the batch is drawn once.
/// Guarantee: upper bound. Attained where masks and batch are public.
/// @throws std::domain_error unless order is finite and above 1, divergence ≥ 0, groups ≥ 1, probability
///         and rate in [0, 1]
[[nodiscard]] inline double masked_step_divergence(double order, double divergence,
                                                   double probability, std::uint64_t groups,
                                                   double rate) {
  detail::check_ferret("masked_step_divergence", groups, rate);
  double const each = masked_divergence(order, divergence, probability);
  if (each == 0.0 || rate == 0.0) return 0.0;
  detail::enclosure const z = detail::enclosure(order) - 1.0;
  double const joint = (z * each * detail::count_up(groups)).upper;
  return detail::divide_up(detail::sampled_loss_up(joint, rate), z.lower);
}

/// `ferret` with Gaussian noise of noise_multiplier·C on each released sum of signs clipped to C. A
/// changed record flips its sign, a shift of 2C: R = 2α/noise_multiplier². Holds under every adjacency.
struct ferret_dithered {
  std::uint64_t groups = 0;
  std::uint64_t steps = 0;
  double rate = required;
  double probability = required;
  double noise_multiplier = required;
};

/// D_α of one step, in both directions: what a `renyi_filter` may be charged for it.
/// Guarantee: upper bound.
/// @throws std::domain_error unless order is finite and above 1, groups ≥ 1, rate and probability are in
///         [0, 1] and noise_multiplier is positive and finite
[[nodiscard]] inline double step_divergence(ferret_dithered const& run, double order) {
  detail::check_positive("step_divergence", "noise_multiplier", run.noise_multiplier);
  detail::enclosure const shift = detail::enclosure(1.0) / run.noise_multiplier;
  return masked_step_divergence(order, (2.0 * order * square(shift)).upper, run.probability,
                                run.groups, run.rate);
}

/// D_α of the whole run: T times that of a step, also if later steps depend on earlier releases.
/// Guarantee: upper bound.
/// @throws as `step_divergence`
[[nodiscard]] inline double divergence(ferret_dithered const& run, double order) {
  double const step = step_divergence(run, order);
  if (step == 0.0 || run.steps == 0) return 0.0;
  return detail::multiply_up(detail::count_up(run.steps), step);
}

/// The smallest ε that the divergences above give at δ, over all orders. `lower` is 0: none is known.
/// Guarantee: upper bound.
/// @throws as `step_divergence`; std::domain_error unless δ is in (0, 1)
template <real T = double>
[[nodiscard]] bound<double> epsilon(ferret_dithered const& run, double delta) {
  detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
  return {0.0, detail::least_over_orders(0.0, 0.0, [&](double order) {
                 return renyi_epsilon<T>(order, divergence(run, order), delta);
               }).value};
}

/// The smallest δ that the divergences above give at ε, over all orders. `lower` is 0: none is known.
/// Guarantee: upper bound.
/// @throws as `step_divergence`; std::domain_error unless ε is finite and at least 0
template <real T = double>
[[nodiscard]] bound<double> delta(ferret_dithered const& run, double epsilon) {
  detail::check_non_negative("delta", "epsilon", epsilon);
  double best = std::numeric_limits<double>::infinity();
  (void)detail::least_over_orders(0.0, -std::numeric_limits<double>::infinity(), [&](double order) {
    double const spent = divergence(run, order);
    best = std::min(best, renyi_delta(order, spent, epsilon));
    return log_renyi_delta(order, spent, epsilon);
  });
  return {0.0, best};
}

}  // namespace tacit
