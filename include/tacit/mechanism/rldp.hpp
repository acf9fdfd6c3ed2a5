// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/filter.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/sensitivity.hpp>
#include <tacit/mechanism/gridded.hpp>
#include <tacit/mechanism/parameter_groups.hpp>
#include <tacit/mechanism/paid_steps.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/secret/discrete.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// RLDP: gradients clipped group by group (a group is a LoRA pair), each group with noise of its own, clips
/// and noise chosen on the way by a controller.
///
/// One record moves all n groups at once, so that n groups of noise multiplier σ are one Gaussian release
/// of multiplier σ/√n; the paper charges σ. And a controller that reads gradients and losses makes choices
/// that tell of them; the paper's does. Here the joint release is charged to a filter, which allows any
/// choice made from what was released before, and what a controller may read is released, with noise,
/// in the same joint release.
/// Source: RLDP (July 2025).

namespace tacit {

/// What may change from step to step.
struct pairwise_controls {
  std::vector<double> clips;              ///< C_i, in [1e-100, 1e100]
  std::vector<double> noise_multipliers;  ///< noise of group i over C_i, in [2^-10, 2^20]

  friend bool operator==(pairwise_controls const&, pairwise_controls const&) = default;
};

struct pairwise_options {
  double rate = required;              ///< of Poisson batches, in (0, 1]
  double expected_records = required;  ///< how many are taken to take part. Public: a guess will do
  std::size_t steps = 0;               ///< T; the budget may end the run before
  approx_dp budget{};
  /// Noise on the number of records clipped in each group, over the ½ that a record moves it by.
  /// Infinite: not released.
  double share_noise_multiplier = std::numeric_limits<double>::infinity();
  /// Noise on the sum of losses, each clipped to [0, loss_clip], over the loss_clip/2 that a record moves
  /// it by. Infinite: not released.
  double loss_noise_multiplier = std::numeric_limits<double>::infinity();
  double loss_clip = required;  ///< needed where losses are released

  /// What sums are divided by: the batch size that is expected, never the one that was drawn.
  [[nodiscard]] double divisor() const noexcept { return rate * expected_records; }
};

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

namespace detail {

inline void check_controls(std::string_view who, pairwise_controls const& controls,
                           std::size_t groups) {
  check_size(who, "number of clips", controls.clips.size(), groups);
  check_size(who, "number of noise multipliers", controls.noise_multipliers.size(), groups);
  for (double const clip : controls.clips) contribution_grid{clip}.check(who);
  for (double const noise : controls.noise_multipliers) {
    require_domain(noise >= 0x1p-10 && noise <= 0x1p20, who, "noise multiplier", noise,
                   "in [2^-10, 2^20]");
  }
}

inline void check_pairwise(std::string_view who, pairwise_options const& options) {
  require_domain(options.rate > 0.0 && options.rate <= 1.0, who, "rate", options.rate, "in (0, 1]");
  require_domain(options.expected_records >= 1.0 && options.expected_records <= 0x1p53, who,
                 "expected_records", options.expected_records, "in [1, 2^53]");
  auto const statistic = [&](std::string_view name, double noise) {
    require_domain(
        (noise >= 0x1p-10 && noise <= 0x1p20) || noise == std::numeric_limits<double>::infinity(),
        who, name, noise, "in [2^-10, 2^20], or infinite");
  };
  statistic("share_noise_multiplier", options.share_noise_multiplier);
  statistic("loss_noise_multiplier", options.loss_noise_multiplier);
  if (std::isfinite(options.loss_noise_multiplier)) {
    check_positive(who, "loss_clip", options.loss_clip);
  }
}

/// What a step releases, statistics included. Each clip is 1 and each sigma a multiplier.
[[nodiscard]] inline gaussian joint_release(std::span<double const> noise_multipliers,
                                            pairwise_options const& options) {
  std::vector<clipped_group> parts;
  for (double const noise : noise_multipliers) {
    parts.push_back({1.0, noise});
    if (std::isfinite(options.share_noise_multiplier)) {
      parts.push_back({1.0, options.share_noise_multiplier});
    }
  }
  if (std::isfinite(options.loss_noise_multiplier)) {
    parts.push_back({1.0, options.loss_noise_multiplier});
  }
  return joint_gaussian(parts);
}

/// The steps themselves, without their account: batch, clips, sums, noise.
template <secret_bits Secret>
class pairwise_steps {
 public:
  pairwise_steps(std::string_view who, std::vector<parameter_range>&& groups,
                 pairwise_options const& options, pairwise_controls&& controls,
                 participants&& taking_part, Secret&& secret)
      : groups_(std::move(groups)),
        dimension_(check_groups(who, groups_)),
        options_(options),
        controls_(std::move(controls)),
        taking_part_(std::move(taking_part)),
        secret_(std::move(secret)),
        paid_(who, options.steps) {
    check_pairwise(who, options);
    check_controls(who, controls_, groups_.size());
  }

  [[nodiscard]] std::size_t records() const noexcept { return taking_part_.records(); }
  [[nodiscard]] std::size_t dimension() const noexcept { return dimension_; }
  [[nodiscard]] std::size_t groups() const noexcept { return groups_.size(); }
  [[nodiscard]] std::size_t group_size(std::size_t i) const { return groups_[i].size(); }
  [[nodiscard]] pairwise_options const& options() const noexcept { return options_; }
  [[nodiscard]] pairwise_controls const& controls() const noexcept { return controls_; }
  [[nodiscard]] paid_steps& paid() noexcept { return paid_; }
  [[nodiscard]] paid_steps const& paid() const noexcept { return paid_; }

  void set(std::string_view who, pairwise_controls&& controls) {
    check_controls(who, controls, groups());
    controls_ = std::move(controls);
  }

  template <class GradientOf>
  void check_callable(std::string_view who) const {
    constexpr bool tells_loss =
        !std::is_void_v<std::invoke_result_t<GradientOf&, std::size_t, std::span<float>>>;
    if (std::isfinite(options_.loss_noise_multiplier) && !tells_loss) {
      throw std::invalid_argument(std::string(who) +
                                  ": gradient_of returns nothing, but must return the record's "
                                  "loss where losses are released");
    }
  }

  /// After it was charged. watch(loss, norms) sees each record of the batch.
  template <class GradientOf, class Watch>
  vector_release step(GradientOf& gradient_of, Watch&& watch, pairwise_state& told) {
    taking_part_.sample(secret_, options_.rate, batch_);
    std::size_t const n = groups();
    std::vector<gridded_sum> sums;
    for (std::size_t i = 0; i < n; ++i) {
      sums.emplace_back(groups_[i].size(), controls_.clips[i], controls_.noise_multipliers[i]);
    }
    std::vector<std::int64_t> statistics(n + 1, 0);  // clipped records, and losses, in units
    std::vector<float> gradient(dimension_);
    std::vector<double> norms(n);
    for (std::size_t const record : batch_) {
      std::fill(gradient.begin(), gradient.end(), 0.0F);
      double loss = std::numeric_limits<double>::quiet_NaN();
      if constexpr (std::is_void_v<
                        std::invoke_result_t<GradientOf&, std::size_t, std::span<float>>>) {
        gradient_of(record, std::span(gradient));
      } else {
        loss = static_cast<double>(gradient_of(record, std::span(gradient)));
      }
      for (std::size_t i = 0; i < n; ++i) {
        auto const part =
            std::span<float const>(gradient).subspan(groups_[i].first, groups_[i].size());
        sums[i].add(part);
        double squares = 0.0;
        for (float const x : part) squares += double{x} * double{x};
        norms[i] = std::sqrt(squares);
        statistics[i] += norms[i] <= controls_.clips[i] ? -unit : unit;  // NaN is clipped
      }
      statistics[n] += centred(loss);
      watch(loss, std::span<double const>(norms));
    }

    vector_release out;
    out.value.resize(dimension_);
    for (std::size_t i = 0; i < n; ++i) {
      std::move(sums[i]).release(secret_, options_.divisor(),
                                 std::span(out.value).subspan(groups_[i].first, groups_[i].size()));
    }
    tell(statistics, told);
    return out;
  }

 private:
  static constexpr std::int64_t unit = contribution_grid::norm;

  /// The loss clipped to [0, loss_clip], from −unit to unit.
  [[nodiscard]] std::int64_t centred(double loss) const {
    if (!std::isfinite(options_.loss_noise_multiplier)) return 0;
    bool const within = std::isfinite(loss) && loss < options_.loss_clip;
    double const part = within ? std::max(loss, 0.0) / options_.loss_clip : 1.0;
    return static_cast<std::int64_t>((2.0 * part - 1.0) * static_cast<double>(unit));
  }

  void tell(std::span<std::int64_t> statistics, pairwise_state& told) {
    double const n_units = 2.0 * static_cast<double>(unit) * options_.divisor();
    std::size_t const n = groups();
    auto const hide = [&](double multiplier, std::span<std::int64_t> numbers) {
      gridded_noise const noise =
          gridded_noise::for_multiplier("rldp", multiplier, static_cast<double>(unit));
      add_discrete_gaussian(secret_, noise.sigma, numbers);
    };
    if (std::isfinite(options_.share_noise_multiplier)) {
      hide(options_.share_noise_multiplier, statistics.first(n));
      told.clipped_share.resize(n);
      for (std::size_t i = 0; i < n; ++i) {
        told.clipped_share[i] = 0.5 + static_cast<double>(statistics[i]) / n_units;
      }
    }
    if (std::isfinite(options_.loss_noise_multiplier)) {
      hide(options_.loss_noise_multiplier, statistics.subspan(n));
      told.loss = options_.loss_clip * (0.5 + static_cast<double>(statistics[n]) / n_units);
    }
  }

  std::vector<parameter_range> groups_;
  std::size_t dimension_;
  pairwise_options options_;
  pairwise_controls controls_;
  participants taking_part_;
  Secret secret_;
  paid_steps paid_;
  std::vector<std::size_t> batch_;
};

}  // namespace detail

/// The common noise multiplier of n groups with which T steps just fit the budget, statistics included:
/// with J what fills it as one release, 1/J² = n/m² + n/share² + 1/loss².
/// Guarantee: feasible end for `pairwise_gaussian` with these options, within 1e-4 of its best.
/// @throws infeasible if the statistics alone use up the budget; std::domain_error for an option outside
///         its range; std::invalid_argument for no group or no step
[[nodiscard]] inline double pairwise_noise_multiplier(pairwise_options const& options,
                                                      std::size_t groups) {
  constexpr std::string_view me = "pairwise_noise_multiplier";
  detail::check_pairwise(me, options);
  detail::require_argument(groups >= 1, me, "groups", groups, "at least 1");
  detail::require_argument(options.steps >= 1, me, "steps", options.steps, "at least 1");
  // The filter's order is the best only up to rounding: a little of the budget stays.
  double const joint =
      noise_multiplier_for<renyi_accountant>(options.budget, poisson{options.rate}, options.steps) *
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
/// y = (Σ_{i∈batch} clipped gradient + discrete Gaussian)/(rate·expected_records), see gridded.hpp.
///
/// Guarantee: (ε, δ)-DP within `budget()`, adding or removing a record, whatever the controls are chosen from,
/// as long as it is public or released: `state()` is. Each step is charged as one Gaussian release
/// (`event`) before its batch is drawn, and one that would leave the budget is refused; a step that throws
/// later stays charged. The filter's order is fixed before the run, from the first controls and T.
/// A gradient that is not finite counts as 0 in the groups where it is not, as clipped there, and a loss
/// that is not finite as loss_clip: an exception would tell of the record.
/// Move-only, and refuses in a forked child.
template <secret_bits Secret = secret_stream>
class pairwise_gaussian {
 public:
  /// @throws std::domain_error, std::invalid_argument for an option or control outside its range, and
  ///         unless the groups tile the parameters; infeasible if the budget has no room for one step
  ///         with these controls
  pairwise_gaussian(std::vector<parameter_range> groups, pairwise_options const& options,
                    pairwise_controls controls, participants taking_part, Secret secret = Secret())
      : run_("pairwise_gaussian", std::move(groups), options, std::move(controls),
             std::move(taking_part), std::move(secret)),
        filter_(order(run_), options.budget),
        nothing_spent_(filter_.epsilon()),
        exceeds_(filter_.would_exceed(event())) {}

  [[nodiscard]] std::size_t records() const noexcept { return run_.records(); }
  [[nodiscard]] std::size_t dimension() const noexcept { return run_.dimension(); }
  [[nodiscard]] std::size_t steps() const noexcept { return run_.paid().taken(); }
  /// After T steps, and where the budget has no room for another with the present controls.
  [[nodiscard]] bool done() const noexcept { return run_.paid().done() || exceeds_; }

  /// What the next step is charged as.
  [[nodiscard]] tacit::event event() const { return event_of(run_.controls()); }

  [[nodiscard]] approx_dp budget() const noexcept { return filter_.budget(); }
  /// Guarantee: upper bound, at the budget's δ, of the run up to now.
  [[nodiscard]] double epsilon() const { return filter_.epsilon(); }

  [[nodiscard]] pairwise_controls const& controls() const noexcept { return run_.controls(); }
  /// For the next step. To be chosen from `state()` and what is public, from nothing else.
  /// @throws std::domain_error, std::invalid_argument for a control outside its range: nothing changes
  void set(pairwise_controls controls) {
    detail::check_controls("pairwise_gaussian::set", controls, run_.groups());
    exceeds_ = filter_.would_exceed(event_of(controls));
    run_.set("pairwise_gaussian::set", std::move(controls));
  }

  [[nodiscard]] pairwise_state state() const {
    pairwise_state out = told_;
    out.steps = steps();
    out.controls = run_.controls();
    out.epsilon = filter_.epsilon();
    double const room = filter_.budget().epsilon - nothing_spent_;
    out.progress = room > 0.0 ? std::clamp((out.epsilon - nothing_spent_) / room, 0.0, 1.0) : 1.0;
    return out;
  }

  /// gradient_of(record, out) writes `dimension()` numbers and, where losses are released, returns the
  /// record's loss. It is called for the records of the batch only, in increasing order.
  /// @throws budget_exhausted when `done()`; std::invalid_argument for a callable without the loss that is
  ///         needed: nothing is charged; what the callable throws: the step is spent
  template <class GradientOf>
  requires std::invocable<GradientOf&, std::size_t, std::span<float>> vector_release
  step(GradientOf&& gradient_of) {
    run_.template check_callable<GradientOf>("pairwise_gaussian::step");
    tacit::event const what = event();
    if (exceeds_) (void)filter_.charge(what);  // which says why
    run_.paid().charge();
    (void)filter_.charge(what);
    exceeds_ = filter_.would_exceed(what);
    return run_.step(
        gradient_of, [](double, std::span<double const>) {}, told_);
  }

 private:
  [[nodiscard]] tacit::event event_of(pairwise_controls const& controls) const {
    return sampled(detail::joint_release(controls.noise_multipliers, run_.options()),
                   poisson{run_.options().rate});
  }

  /// The best order for the steps that fit, with the first controls.
  static double order(detail::pairwise_steps<Secret> const& run) {
    pairwise_options const& options = run.options();
    detail::check_target("pairwise_gaussian", options.budget);
    composed plan{sampled(detail::joint_release(run.controls().noise_multipliers, options),
                          poisson{options.rate}),
                  options.steps};
    renyi_accountant whole(adjacency::add_remove);
    whole.compose(plan.release, plan.count);
    if (!(whole.epsilon(options.budget.delta).upper <= options.budget.epsilon)) {
      plan.count = steps_for<renyi_accountant>(options.budget, plan.release);
    }
    return order_for({&plan, 1}, options.budget.delta);
  }

  detail::pairwise_steps<Secret> run_;
  renyi_filter filter_;
  double nothing_spent_;
  bool exceeds_;
  pairwise_state told_;
};

/// What the paper charges for a step of n groups with noise multiplier σ: one release of multiplier σ.
/// **Not an account of it.** That is σ/√n: `joint_gaussian`.
[[nodiscard]] inline event rldp_paper_event(double noise_multiplier, double rate) {
  return sampled(gaussian{noise_multiplier}, poisson{rate});
}

/// What the paper's controller reads, as it is: of the secret batch, without noise. Whatever is chosen from
/// it tells of the records.
struct unsound_private_statistics {
  std::size_t steps = 0;  ///< done so far
  double progress = 0.0;  ///< steps done of T
  pairwise_controls controls;
  std::vector<std::array<double, 3>> norm_quartiles;  ///< of the gradient's norm in each group
  std::vector<double> fisher_mean;  ///< of the mean squared entry of each group, over records
  std::vector<double> fisher_variance;
  double loss = 0.0;  ///< mean
};

/// The paper's mechanism as it stands, for comparison: T steps, steered by private statistics. **It has no
/// ε**, and none can be asked for.
template <secret_bits Secret = secret_stream>
class unsound_rldp {
 public:
  /// @throws std::invalid_argument if the options have a budget, or noise for statistics: there is none
  ///         here; else as `pairwise_gaussian`
  unsound_rldp(std::vector<parameter_range> groups, pairwise_options const& options,
               pairwise_controls controls, participants taking_part, Secret secret = Secret())
      : run_("unsound_rldp", std::move(groups), options, std::move(controls),
             std::move(taking_part), std::move(secret)) {
    if (!std::isnan(options.budget.epsilon) || !std::isnan(options.budget.delta) ||
        std::isfinite(options.share_noise_multiplier) ||
        std::isfinite(options.loss_noise_multiplier)) {
      throw std::invalid_argument(
          "unsound_rldp: a budget or noise for statistics is set, but must be left out: this run "
          "has "
          "no guarantee");
    }
    std::size_t const n = run_.groups();
    seen_.norm_quartiles.resize(n);
    seen_.fisher_mean.resize(n);
    seen_.fisher_variance.resize(n);
  }

  [[nodiscard]] std::size_t records() const noexcept { return run_.records(); }
  [[nodiscard]] std::size_t dimension() const noexcept { return run_.dimension(); }
  [[nodiscard]] std::size_t steps() const noexcept { return run_.paid().taken(); }
  [[nodiscard]] bool done() const noexcept { return run_.paid().done(); }
  [[nodiscard]] pairwise_controls const& controls() const noexcept { return run_.controls(); }
  void set(pairwise_controls controls) { run_.set("unsound_rldp::set", std::move(controls)); }

  [[nodiscard]] unsound_private_statistics unsound_statistics() const {
    unsound_private_statistics out = seen_;
    out.steps = steps();
    out.progress = static_cast<double>(steps()) / static_cast<double>(run_.options().steps);
    out.controls = run_.controls();
    return out;
  }

  /// As `pairwise_gaussian::step`; the callable returns the record's loss.
  template <class GradientOf>
  requires std::invocable<GradientOf&, std::size_t, std::span<float>> vector_release
  step(GradientOf&& gradient_of) {
    run_.paid().charge();
    std::vector<std::vector<double>> norms(run_.groups());
    double total = 0.0;
    pairwise_state nothing;
    vector_release out = run_.step(
        gradient_of,
        [&](double loss, std::span<double const> sizes) {
          total += std::isfinite(loss) ? loss : 0.0;
          for (std::size_t i = 0; i < sizes.size(); ++i) norms[i].push_back(sizes[i]);
        },
        nothing);
    if (!norms.front().empty()) read(norms, total);
    return out;
  }

 private:
  void read(std::vector<std::vector<double>>& norms, double total_loss) {
    for (std::size_t i = 0; i < norms.size(); ++i) {
      auto& sizes = norms[i];
      std::sort(sizes.begin(), sizes.end());
      double const count = static_cast<double>(sizes.size());
      for (std::size_t k = 0; k < 3; ++k)
        seen_.norm_quartiles[i][k] = sizes[sizes.size() * (k + 1) / 4];
      double const entries = static_cast<double>(run_.group_size(i));
      double sum = 0.0;
      double squares = 0.0;
      for (double const norm : sizes) {
        double const fisher = norm * norm / entries;
        sum += fisher;
        squares += fisher * fisher;
      }
      seen_.fisher_mean[i] = sum / count;
      seen_.fisher_variance[i] =
          std::max(0.0, squares / count - seen_.fisher_mean[i] * seen_.fisher_mean[i]);
    }
    seen_.loss = total_loss / static_cast<double>(norms.front().size());
  }

  detail::pairwise_steps<Secret> run_;
  unsound_private_statistics seen_;
};

}  // namespace tacit
