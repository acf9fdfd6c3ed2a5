// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/count.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/feasible_end.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// Calibration: the least noise, the most steps, the largest rate or batch that keeps a run (ε, δ)-DP
/// by an accountant of one's choice.
///
/// Whatever is returned was itself evaluated, and both figures were within the target: delta(ε).upper ≤ δ
/// and epsilon(δ).upper ≤ ε. That holds for every accountant, however its upper ends behave. So does
/// this: some number at most 1e-6 (relative) bolder, or the next count or batch, was evaluated and was
/// not, unless the end of the range was. Where the upper ends are monotone, what is returned is therefore
/// the best for that accountant, to that accuracy. At most 300 runs are evaluated; about 8 are as a rule.
/// A search that would cost more than its `search_effort` is refused with what it knows of the end (convergence_error):
/// a number that keeps the target but may be far from the best is named there, and not returned.

namespace tacit {

namespace detail {

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
[[nodiscard]] double calibrate(approx_dp target, Plan const& plan, quantity const& sought,
                               search_effort effort = {}) {
  auto const end = detail::feasible_end("calibrate", target, plan, sought, effort);
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
/// @throws infeasible if no noise in the range does; convergence_error where the effort does not find the end, with what
///         is known of it; std::domain_error for a target out of range;
///         std::invalid_argument, with the reason, for an event that has no bound
template <class Accountant, detail::plan_of<double> Plan>
[[nodiscard]] double noise_multiplier_for(approx_dp target, Plan const& plan,
                                          adjacency neighbours = adjacency::add_remove,
                                          search_effort effort = {}) {
  auto const end = detail::feasible_end(
      "noise_multiplier_for", target,
      [&](double sigma) { return detail::run_of<Accountant>(plan(sigma), neighbours); },
      noise_sought, effort);
  if (!end) {
    detail::fail_infeasible("noise_multiplier_for", "no noise multiplier up to 1e300",
                            Accountant::name, target);
  }
  return *end;
}

/// The same for `steps` Gaussian releases of one kind.
template <class Accountant>
[[nodiscard]] double noise_multiplier_for(approx_dp target, sampling how, std::uint64_t steps,
                                          adjacency neighbours = adjacency::add_remove,
                                          search_effort effort = {}) {
  return noise_multiplier_for<Accountant>(
      target,
      [&](double sigma) {
        return std::vector<composed>{{sampled(gaussian{sigma}, how), steps}};
      },
      neighbours, effort);
}

/// How many more such releases keep the target after what was already `spent` (whose adjacency
/// counts), up to 10^15.
/// Guarantee: feasible end; for a monotone upper end one more would not keep it.
/// @throws infeasible if not even one does; else as `noise_multiplier_for`
template <class Accountant>
[[nodiscard]] std::uint64_t steps_for(approx_dp target, event const& release,
                                      Accountant const& spent = Accountant(),
                                      search_effort effort = {}) {
  auto const end = detail::feasible_end(
      "steps_for", target,
      [&](double count) {
        return Accountant(spent).compose(release, static_cast<std::uint64_t>(count));
      },
      count_sought(most_steps_sought, 1000.0), effort);
  if (!end) detail::fail_infeasible("steps_for", "not even one step", Accountant::name, target);
  return static_cast<std::uint64_t>(*end);
}

/// The largest Poisson rate in [1e-12, 1] with which a run keeps the target; `plan` is a function of
/// the rate.
/// Guarantee: feasible end, within 1e-6 of the best for this accountant.
/// @throws infeasible if not even a rate of 1e-12 does; else as `noise_multiplier_for`
template <class Accountant, detail::plan_of<double> Plan>
[[nodiscard]] double rate_for(approx_dp target, Plan const& plan,
                              adjacency neighbours = adjacency::add_remove,
                              search_effort effort = {}) {
  auto const end = detail::feasible_end(
      "rate_for", target,
      [&](double rate) { return detail::run_of<Accountant>(plan(rate), neighbours); }, rate_sought,
      effort);
  if (!end) {
    detail::fail_infeasible("rate_for", "not even a rate of 1e-12", Accountant::name, target);
  }
  return *end;
}

/// The same for `steps` releases of one mechanism.
template <class Accountant>
[[nodiscard]] double rate_for(approx_dp target, mechanism_event const& mechanism,
                              std::uint64_t steps, adjacency neighbours = adjacency::add_remove,
                              search_effort effort = {}) {
  return rate_for<Accountant>(
      target,
      [&](double rate) {
        return std::vector<composed>{{sampled(mechanism, poisson{rate}), steps}};
      },
      neighbours, effort);
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
                                      adjacency neighbours = adjacency::replace_one,
                                      search_effort effort = {}) {
  detail::check_count("batch_for", "records", records);
  auto const end = detail::feasible_end(
      "batch_for", target,
      [&](double batch) {
        return detail::run_of<Accountant>(plan(static_cast<std::uint64_t>(batch)), neighbours);
      },
      batch_sought(static_cast<double>(records)), effort);
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
                                      adjacency neighbours, search_effort effort = {}) {
  return batch_for<Accountant>(
      target,
      [&](std::uint64_t batch) {
        fixed_size const fixed{batch, records};
        sampling const how = drawn == batches::poisson ? sampling(poisson{fixed.rate()}) : fixed;
        return std::vector<composed>{{sampled(mechanism, how), steps}};
      },
      records, neighbours, effort);
}

}  // namespace tacit
