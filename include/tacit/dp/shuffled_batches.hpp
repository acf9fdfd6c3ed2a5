// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/count.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/capped_run.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/shared_questions.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <variant>

/// Epochs of shuffled batches, amplified: a record hides among those that could have been absent for all that their
/// steps show. docs/certificates/sampling.md, Lemma 10.

namespace tacit {

/// What an epoch of shuffled batches costs at most: as much as `release`, under zero_out whichever neighbours were asked
/// about, but for a probability `failure`.
struct shuffled_epoch {
  event release;
  double failure = 0.0;
};

namespace detail {

/// Bounds on one shuffled epoch. `shift` is the largest distance, in units of σ, between what the record at hand and
/// another one may add to a step.
class hidden_record {
 public:
  hidden_record(double shift, std::uint64_t steps) : shift_(shift), others_(steps - 1) {}

  /// P(fewer than `clones` of the other records add what a null record adds) ≤ this, where each of them does so with
  /// probability c = e^{−s}/(1 + η).
  [[nodiscard]] double too_few(double s, std::uint64_t clones) const {
    enclosure const c = exp(-enclosure(s)) / (1.0 + enclosure(missing(s)));
    return binomial_excess(others_, std::clamp((1.0 - c).upper, 0.0, 1.0), others_ - clones);
  }

  /// (T − 1)·η, η = ∫(e^{−s}·N(0, 1) − N(shift, 1))⁺ = e^{−s}·δ(s): how much e^{−s} of a null record's law every other
  /// record's has to be given, in all.
  [[nodiscard]] double given(double s) const { return multiply_up(count_up(others_), missing(s)); }

 private:
  [[nodiscard]] double missing(double s) const {
    return multiply_up(exp(-enclosure(s)).upper, delta(gaussian_dp{shift_}, s).upper);
  }

  double shift_;
  std::uint64_t others_;
};

}  // namespace detail

/// The random allocation that an epoch of shuffled batches is no worse than, but for a probability `failure`. A batch has
/// the same number of records as any other; `steps` counts them, without a smaller one at the end. Records are shuffled
/// afresh for each epoch, secretly. Noise is of standard deviation σC where no record adds more than C to a batch's sum.
///
/// With a null record's share c = e^{−s}/(1 + η) of every contribution, Bin(T − 1, c) of the other records hide the one at
/// hand, which costs what 1 of t steps costs, if t − 1 of them do: `release` has the largest such t of a few s, and is the
/// unsampled epoch with failure 0 where that is 1. Under replace_one its σ is half of what was given: contributions differ
/// by up to 2C.
///
/// Compose `release` under zero_out, and put `capped_run` around the accountant, with the sum of all failures:
/// δ ≤ δ_base + (1 + e^ε)·Σ failure. Other events of the run have to be composed as what they cost under the neighbours that
/// were asked about: under replace_one, where contributions differ by up to 2C, a Gaussian as one of half its noise.
/// Guarantee: upper bound.
/// Source: clones are Feldman, McMillan & Talwar 2021's; the proof for Gaussians and null records is in
/// docs/certificates/sampling.md, Lemma 10.
/// @throws std::domain_error unless the noise is positive and finite, steps in [1, 10'000'000] and failure in [0, 1);
///         std::invalid_argument under add_remove, where a record more moves all the others
[[nodiscard]] inline shuffled_epoch hidden_in_shuffle(gaussian noise, std::uint64_t steps,
                                                      double failure,
                                                      adjacency neighbours = adjacency::zero_out) {
  char const* const me = "hidden_in_shuffle";
  detail::check_positive(me, "noise_multiplier", noise.noise_multiplier);
  detail::check_count(me, "steps", steps, 1, random_allocation::most_steps);
  detail::require_domain(failure >= 0.0 && failure < 1.0, me, "failure", failure, "in [0, 1)");
  if (neighbours == adjacency::add_remove) {
    throw std::invalid_argument(
        "hidden_in_shuffle: no bound is known for shuffled batches under add_remove: a record more "
        "moves all the others; use zero_out or replace_one");
  }
  if (neighbours == adjacency::replace_one) noise.noise_multiplier *= 0.5;
  double const shift = detail::divide_up(1.0, noise.noise_multiplier);
  detail::require_domain(shift <= 1e6, me, "noise_multiplier", noise.noise_multiplier,
                         "above 2e-6");
  detail::hidden_record const hidden(shift, steps);

  std::uint64_t most = 1;
  double spent = 0.0;
  for (double const part : {0.25, 0.5, 0.75, 0.9, 0.96}) {
    // Clones are the likelier the smaller s is, and cost the more.
    double const s = last_holding(shift * (40.0 + shift), 0.0,
                                  [&](double x) { return hidden.given(x) <= part * failure; });
    double const given = hidden.given(s);
    auto const left = [&](std::uint64_t t) {
      return detail::add_up(given, hidden.too_few(s, t - 1));
    };
    std::uint64_t inside = 1;
    std::uint64_t outside = steps + 1;
    while (inside + 1 < outside) {
      std::uint64_t const middle = inside + (outside - inside) / 2;
      (left(middle) <= failure ? inside : outside) = middle;
    }
    if (inside > most) {
      most = inside;
      spent = left(inside);
    }
  }
  if (most == 1) return {event(noise), 0.0};
  return {event(noise, random_allocation{.steps = most, .part = 1}), spent};
}

/// A run of shuffled epochs with all of its amplification: the least of what epochs cost without any, and of `capped_run`s
/// around epochs of `hidden_in_shuffle`, whose failures are chosen for the question.
///
/// `Accountant` is an `accountant` that takes random allocation: `privacy_loss_accountant`, `discretised_accountant` or `renyi_accountant`.
/// Guarantee: upper bounds; `lower` is 0.
template <class Accountant>
class shuffled_run {
 public:
  /// @throws as `hidden_in_shuffle`
  shuffled_run(gaussian noise, std::uint64_t steps, std::uint64_t epochs,
               adjacency neighbours = adjacency::zero_out)
      : noise_(noise), steps_(steps), epochs_(epochs), neighbours_(neighbours), whole_(neighbours) {
    (void)hidden_in_shuffle(noise, steps, 0.0, neighbours);
    whole_.compose(sampled(noise, shuffled{}), epochs);
  }

  /// @throws std::domain_error unless δ is in (0, 1)
  [[nodiscard]] bound<double> epsilon(double delta) const {
    detail::work_budget work(detail::work_on_run);
    return epsilon_within(delta, work);
  }

  /// @throws std::domain_error unless ε is finite and at least 0
  [[nodiscard]] bound<double> delta(double epsilon) const {
    detail::work_budget work(detail::work_on_run);
    return delta_within(epsilon, work);
  }

  /// The same for about what is left of `work`, in which it is counted.
  [[nodiscard]] bound<double> epsilon_within(double delta, detail::work_budget& work) const {
    detail::shared_questions<Accountant> ask(whole_, work);
    double const plain = ask.epsilon(delta).upper;
    // The largest failure that takes no more than a share of δ at the ε that it seems to have.
    double failure = share * delta;
    for (int k = 0; k < 200; ++k, failure *= 0.5) {
      double const mu = about(failure);
      if (!(mu < infinity)) return {0.0, plain};
      double const about_epsilon = tacit::epsilon(gaussian_dp{mu}, (1.0 - share) * delta).upper;
      if ((1.0 + std::exp(about_epsilon)) * failure <= share * delta) break;
    }
    return {0.0, std::min(plain, with_failure(failure, work, [&](auto const& run) {
                            return run.epsilon_within(delta, work).upper;
                          }))};
  }
  [[nodiscard]] bound<double> delta_within(double epsilon, detail::work_budget& work) const {
    detail::shared_questions<Accountant> ask(whole_, work);
    double const plain = ask.delta(epsilon).upper;
    double best = plain;
    double failure = 0.0;
    for (double f = share; f > 0.0; f *= 0.5) {
      double const cost = (1.0 + std::exp(epsilon)) * f;
      if (cost <= 1e-3 * best) break;  // μ rises as f falls: twice this is all there is to gain
      double const mu = about(f);
      if (!(mu < infinity)) break;
      double const all = tacit::delta(gaussian_dp{mu}, epsilon).upper + cost;
      if (all < best) {
        best = all;
        failure = f;
      }
    }
    if (failure == 0.0) return {0.0, plain};
    return {0.0, std::min(plain, with_failure(failure, work, [&](auto const& run) {
                            return run.delta_within(epsilon, work).upper;
                          }))};
  }

  [[nodiscard]] adjacency neighbours() const noexcept { return neighbours_; }

 private:
  [[nodiscard]] shuffled_epoch each(double failure) const {
    if (epochs_ == 0) return {event(noise_), 0.0};
    return hidden_in_shuffle(noise_, steps_, failure / static_cast<double>(epochs_), neighbours_);
  }

  /// The μ of all epochs by the central limit theorem, for the choice of a failure alone; ∞ without amplification.
  [[nodiscard]] double about(double failure) const {
    shuffled_epoch const epoch = each(failure);
    auto const* allocation = std::get_if<random_allocation>(&epoch.release.how);
    if (allocation == nullptr) return infinity;
    double const sigma = std::get<gaussian>(epoch.release.what).noise_multiplier;
    return std::sqrt(static_cast<double>(epochs_) * std::expm1(1.0 / (sigma * sigma)) /
                     static_cast<double>(allocation->steps));
  }

  // Each failure has an epoch of its own. What it takes to make that counts, but takes nothing from its question.
  template <class Ask>
  [[nodiscard]] double with_failure(double failure, detail::work_budget& work,
                                    Ask const& ask) const {
    shuffled_epoch const epoch = each(failure);
    if (epoch.failure == 0.0) return infinity;
    Accountant base(adjacency::zero_out);
    base.compose(epoch.release, epochs_);
    double const all = detail::multiply_up(detail::count_up(epochs_), epoch.failure);
    double const found = ask(capped_run(base, std::min(1.0, all)));
    if constexpr (requires { base.method().work_on_epochs(); }) {
      (void)work.spend(base.method().work_on_epochs());
    }
    return found;
  }

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double share = 0.0625;  // of δ, which failures may take

  gaussian noise_;
  std::uint64_t steps_;
  std::uint64_t epochs_;
  adjacency neighbours_;
  Accountant whole_;
};

/// A number of a search has an epoch of its own, whose random allocation takes most of a second.
inline constexpr search_effort shuffled_effort{.seconds = 20.0};

/// The smallest noise multiplier in [1e-3, 1e300] with which so many shuffled epochs of `steps` batches keep the target.
/// Guarantee: feasible end, within 1e-6 of the best for this accountant.
/// @throws infeasible if no noise in the range does; convergence_error where the effort does not find the end;
///         std::domain_error for a target out of range; else as `hidden_in_shuffle`
template <class Accountant>
[[nodiscard]] double shuffled_noise_multiplier_for(approx_dp target, std::uint64_t steps,
                                                   std::uint64_t epochs,
                                                   adjacency neighbours = adjacency::zero_out,
                                                   search_effort effort = shuffled_effort) {
  auto const end = detail::feasible_end(
      "shuffled_noise_multiplier_for", target,
      [&](double sigma) {
        return shuffled_run<Accountant>(gaussian{sigma}, steps, epochs, neighbours);
      },
      noise_sought, effort);
  if (!end) {
    detail::fail_infeasible("shuffled_noise_multiplier_for", "no noise multiplier up to 1e300",
                            Accountant::name, target);
  }
  return *end;
}

/// How many shuffled epochs of `steps` batches keep the target, up to 10^15.
/// Guarantee: feasible end, as that of `steps_for`.
/// @throws infeasible if not even one does; else as `shuffled_noise_multiplier_for`
template <class Accountant>
[[nodiscard]] std::uint64_t shuffled_epochs_for(approx_dp target, gaussian noise,
                                                std::uint64_t steps,
                                                adjacency neighbours = adjacency::zero_out,
                                                search_effort effort = shuffled_effort) {
  auto const end = detail::feasible_end(
      "shuffled_epochs_for", target,
      [&](double epochs) {
        return shuffled_run<Accountant>(noise, steps, static_cast<std::uint64_t>(epochs),
                                        neighbours);
      },
      count_sought(most_steps_sought, 10.0), effort);
  if (!end) {
    detail::fail_infeasible("shuffled_epochs_for", "not even one epoch", Accountant::name, target);
  }
  return static_cast<std::uint64_t>(*end);
}

}  // namespace tacit
