// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/filter/renyi.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/mechanism/pairwise_run.hpp>
#include <tacit/mechanism/parameter_groups.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

/// RLDP: gradients clipped group by group (a group is a LoRA pair), each group with noise of its own, clips
/// and noise chosen on the way by a controller.
///
/// One record moves all n groups at once, so that n groups of noise multiplier σ are one Gaussian release
/// of multiplier σ/√n; the paper charges σ. And a controller that reads gradients and losses makes choices
/// that depend on them; the paper's does. Here the joint release is charged to a filter, which allows any
/// choice made from what was released before, and what a controller may read is released, with noise,
/// in the same joint release.
/// Source: RLDP (July 2025).

namespace tacit {

/// All that a controller may read. Everything in it was released and paid for.
struct pairwise_state {
  std::size_t steps = 0;       ///< done so far
  pairwise_controls controls;  ///< those of the next step, unless set anew
  /// The share of records that were clipped in each group in the last step, with noise: outside of
  /// [0, 1] at times. Empty before the first step, and if not released.
  std::vector<double> clipped_share;
  /// The mean clipped loss of the last step, with noise. NaN before the first step, and if not released.
  double loss = std::numeric_limits<double>::quiet_NaN();
  double epsilon = 0.0;   ///< the filter's reading
  double progress = 0.0;  ///< the part of the budget that is used up, in [0, 1]
};

/// The common noise multiplier of n groups with which T steps just fit the budget, statistics included:
/// with J what fills it as one release, 1/J² = n/m² + n/share² + 1/loss².
/// Guarantee: feasible end for `pairwise_gaussian` with these options, within 1e-4 of its best.
/// @throws infeasible if the statistics alone use up the budget; std::domain_error for an option outside
///         its range; std::invalid_argument for no group or no step
template <real T = double>
[[nodiscard]] double pairwise_noise_multiplier(pairwise_options const& options,
                                               std::size_t groups) {
  constexpr std::string_view me = "pairwise_noise_multiplier";
  detail::check_pairwise(me, options);
  detail::require_argument(groups >= 1, me, "groups", groups, "at least 1");
  detail::require_argument(options.steps >= 1, me, "steps", options.steps, "at least 1");
  // The filter's order is the best only up to rounding: a little of the budget stays.
  double const joint = noise_multiplier_for<accountant<basic_renyi<T>>>(
                           options.budget, poisson{options.rate}, options.steps) *
                       (1.0 + 2e-5);
  double const n = static_cast<double>(groups);
  double const share = 1.0 / options.share_noise_multiplier;
  double const loss = 1.0 / options.loss_noise_multiplier;
  double const left = 1.0 / (joint * joint) - n * share * share - loss * loss;
  if (!(left > 0.0)) {
    throw infeasible(
        detail::complaint(me, "joint noise multiplier of the statistics",
                          detail::to_text(1.0 / std::sqrt(n * share * share + loss * loss)),
                          "above " + detail::to_text(joint) + ", which the budget allows in all"));
  }
  return std::sqrt(n / left);
}

/// Gradients of n groups, each clipped to C_i, with noise of its own; controls changed on the way; a budget
/// that is never exceeded.
///
///     pairwise_gaussian mechanism(groups, options, controls, records);
///     while (!mechanism.done()) {
///       vector_release const y = mechanism.step(gradient_of);   // void, or the record's loss
///       mechanism.set(controller.next(mechanism.state()));
///     }
///
/// y = (Σ_{i∈batch} clipped gradient + discrete Gaussian)/(rate·expected_records), see quantised.hpp.
///
/// Guarantee: (ε, δ)-DP within `budget()`, adding or removing a record, whatever the controls are chosen from,
/// as long as it is public or released: `state()` is. Each step is charged as one Gaussian release
/// (`event`) before its batch is drawn, and one that would leave the budget is refused; a step that throws
/// later stays charged. The filter's order is fixed before the run, from the first controls and T.
/// A gradient that is not finite counts as 0 in the groups where it is not, as clipped there, and a loss
/// that is not finite as loss_clip: an exception would depend on the record.
/// Move-only, and refuses in a forked child.
template <secret_bits Secret = secret_stream>
class pairwise_gaussian : public pairwise_run<Secret> {
 public:
  /// @throws std::domain_error, std::invalid_argument for an option or control outside its range, and
  ///         unless the groups tile the parameters; infeasible if the budget has no room for one step
  ///         with these controls
  pairwise_gaussian(std::vector<parameter_range> groups, pairwise_options const& options,
                    pairwise_controls controls, participants taking_part, Secret secret = Secret())
      : run("pairwise_gaussian", std::move(groups), options, std::move(controls),
            std::move(taking_part), std::move(secret)),
        filter_(order(), options.budget),
        nothing_spent_(filter_.epsilon()),
        exceeds_(filter_.would_exceed(event())) {}

  /// After T steps, and where the budget has no room for another with the present controls.
  [[nodiscard]] bool done() const noexcept { return run::done() || exceeds_; }

  /// What the next step is charged as.
  [[nodiscard]] tacit::event event() const { return event_of(this->controls()); }

  [[nodiscard]] approx_dp budget() const noexcept { return filter_.budget(); }
  /// Guarantee: upper bound, at the budget's δ, of the run up to now.
  [[nodiscard]] double epsilon() const { return filter_.epsilon(); }

  /// For the next step. To be chosen from `state()` and what is public, from nothing else.
  /// @throws std::domain_error, std::invalid_argument for a control outside its range: nothing changes
  void set(pairwise_controls controls) {
    detail::check_controls("pairwise_gaussian::set", controls, this->groups());
    exceeds_ = filter_.would_exceed(event_of(controls));
    this->set_checked(std::move(controls));
  }

  [[nodiscard]] pairwise_state state() const {
    pairwise_state out;
    out.steps = this->steps();
    out.controls = this->controls();
    out.clipped_share = this->released_statistics().clipped_share;
    out.loss = this->released_statistics().loss;
    out.epsilon = filter_.epsilon();
    double const room = filter_.budget().epsilon - nothing_spent_;
    out.progress = room > 0.0 ? std::clamp((out.epsilon - nothing_spent_) / room, 0.0, 1.0) : 1.0;
    return out;
  }

  /// gradients_of writes `dimension()` numbers for each record, in one of the forms of
  /// mechanism/gradients.hpp, and where losses are released it says the losses, too.
  /// @throws budget_exhausted when `done()`; std::invalid_argument for a callable without the losses that are
  ///         needed: nothing is charged; what the callable throws: the step is spent
  template <gradients_in_any_form<float> GradientsOf>
  vector_release step(GradientsOf&& gradients_of, std::size_t most_rows = 256) {
    detail::check_rows("pairwise_gaussian", most_rows, this->dimension());
    constexpr bool says_losses = detail::says_losses<std::remove_reference_t<GradientsOf>, float>();
    if (std::isfinite(this->options().loss_noise_multiplier) && !says_losses) {
      throw std::invalid_argument(
          "pairwise_gaussian::step: gradients_of returns nothing, but must say the records' losses "
          "where losses are released");
    }
    tacit::event const what = event();
    if (exceeds_) (void)filter_.charge(what);  // which says why
    this->charge();
    (void)filter_.charge(what);
    exceeds_ = filter_.would_exceed(what);
    return this->release_step(gradients_of, most_rows, [](double, std::span<double const>) {});
  }

 private:
  using run = pairwise_run<Secret>;

  [[nodiscard]] tacit::event event_of(pairwise_controls const& controls) const {
    return sampled(detail::joint_release(controls.noise_multipliers, this->options()),
                   poisson{this->options().rate});
  }

  /// The best order for the steps that fit, with the first controls.
  [[nodiscard]] double order() const {
    approx_dp const budget = this->options().budget;
    detail::check_target("pairwise_gaussian", budget);
    composed plan{event(), this->options().steps};
    renyi_accountant whole(adjacency::add_remove);
    whole.compose(plan.release, plan.count);
    if (!(whole.epsilon(budget.delta).upper <= budget.epsilon)) {
      plan.count = steps_for<renyi_accountant>(budget, plan.release);
    }
    return order_for({&plan, 1}, budget.delta);
  }

  renyi_filter filter_;
  double nothing_spent_;
  bool exceeds_;
};

}  // namespace tacit
