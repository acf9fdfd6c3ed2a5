// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/info/binary_channel.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/info/sign_channel.hpp>
#include <tacit/mechanism/paczero_options.hpp>
#include <tacit/mechanism/paid_release.hpp>
#include <tacit/pac/allocation.hpp>
#include <tacit/pac/candidates.hpp>
#include <tacit/pac/posterior.hpp>
#include <tacit/pac/record_ledger.hpp>
#include <tacit/pac/value_exposure.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tacit {

/// How often an attacker who has seen the transcript is right about whether a record is in the secret
/// subset, at most. The prior success is p = 1 − 1/k, k = `one_in`, rounded up.
///   subset    the s with D(s‖p) = budget: on average over transcripts, for any record, also one that is
///             chosen after the transcript was seen. At k = 2 it is the bound below.
///   record    1 − h⁻¹(h(p) − budget): on average over transcripts, for a record that is fixed beforehand.
///             A record that stands out in the transcript is not covered.
///   pathwise  p + κ: for any record, on every transcript.
/// Guarantee: upper bound. docs/certificates/pac.md, lemmas 3 to 5.
/// @throws std::domain_error for a budget that is negative or NaN
[[nodiscard]] inline double attack_bound(paczero_options const& options, std::size_t one_in) {
  double const share = detail::divide_down(1.0, static_cast<double>(one_in));
  double const prior = detail::subtract_up(1.0, share);
  switch (options.ledger) {
    case ledger_kind::pathwise:
      return std::min(1.0, detail::add_up(prior, options.kappa));
    case ledger_kind::record:
      return membership_success(options.budget, prior);
    case ledger_kind::subset:
      break;
  }
  return attack_success(options.budget, prior);
}

/// What a PACZero run has charged, and what an attacker who has seen its releases and knows the
/// universe believes. Everything here is a function of the universe and the releases: the account
/// does not know which subset is the secret.
class paczero_account {
 public:
  /// Of a stored run.
  struct state {
    std::vector<double> belief;  // logarithms of the posterior's weights
    std::size_t observations = 0;
    double spent = 0.0;
    std::vector<double> spent_by_record;  // empty unless records are tracked

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.list("belief", self.belief);
      archive.field("observations", self.observations);
      archive.field("spent", self.spent);
      archive.list("spent_by_record", self.spent_by_record);
    }
  };

  /// Nothing spent, and all candidates equally likely.
  /// @throws std::invalid_argument or std::domain_error naming the option out of range
  paczero_account(paczero_options const& options, candidate_set candidates)
      : options_(checked(options)),
        candidates_(std::move(candidates)),
        belief_(candidates_.subsets()),
        subset_(binds(ledger_kind::subset) ? options.budget : unlimited()) {
    if (tracks_records()) {
      record_.emplace(candidates_.records(),
                      binds(ledger_kind::record) ? options.budget : unlimited());
    }
  }

  /// @throws as above; std::invalid_argument or std::domain_error for a state that is not one of a run
  ///         with these options
  paczero_account(paczero_options const& options, candidate_set candidates, state from)
      : paczero_account(options, std::move(candidates)) {
    detail::check_size("paczero", "size of the stored belief", from.belief.size(),
                       candidates_.subsets());
    detail::check_size("paczero", "size of the stored record ledger", from.spent_by_record.size(),
                       record_ ? candidates_.records() : 0);
    belief_ = posterior::from_log_weights(std::move(from.belief));
    observations_ = from.observations;
    subset_ = ledger<nats>(subset_.budget(), nats(from.spent));
    if (record_) record_.emplace(record_->budget(), std::move(from.spent_by_record));
  }

  [[nodiscard]] state save() const {
    auto const weights = belief_.log_weights();
    state out{{weights.begin(), weights.end()}, observations_, subset_.spent().value, {}};
    if (record_) out.spent_by_record.assign(record_->spent().begin(), record_->spent().end());
    return out;
  }

  [[nodiscard]] paczero_options const& options() const noexcept { return options_; }
  [[nodiscard]] candidate_set const& candidates() const noexcept { return candidates_; }
  [[nodiscard]] posterior const& belief() const noexcept { return belief_; }
  [[nodiscard]] std::size_t observations() const noexcept { return observations_; }

  /// Nats charged for the secret subset.
  [[nodiscard]] nats spent() const noexcept { return subset_.spent(); }

  /// Nats charged for the worst record: of its own account where one is kept, else the subset's
  /// (information about the subset bounds that about a record).
  [[nodiscard]] nats spent_worst_record() const noexcept {
    return record_ ? record_->worst() : subset_.spent();
  }

  /// The success that the budget allows in guessing a record's membership: see the function of that name.
  [[nodiscard]] double attack_bound() const {
    return tacit::attack_bound(options_, candidates_.dimensions().one_in);
  }

  /// What a release of one of these signs would tell about each record, as a sign (`record_exposure`) or
  /// as a noised value (`value_exposure`); nothing unless records are tracked.
  template <class Exposure>
  [[nodiscard]] std::optional<Exposure> exposure(std::span<std::int8_t const> signs) const {
    std::optional<Exposure> out;
    if (record_) out.emplace(candidates_, belief_, signs, belief_error());
    return out;
  }

  /// The least noise on the secret's sign that a release's share of the budget pays for; nothing if
  /// it pays for none, or for too little signal to be worth it. `done` is the number of releases of
  /// the run before this one, of whatever kind.
  [[nodiscard]] std::optional<sign_channel> affordable(
      split const& agreement, std::optional<record_exposure> const& exposed,
      std::size_t done) const {
    double const q = agreement.minority;
    flip noise = noise_for(sign_channel{.prior = q}, limit_about_subset(q, done));
    if (binds(ledger_kind::record)) {
      noise = exposed->flip_for(allowed_to_records(done), noise);
    }
    if (binds(ledger_kind::pathwise)) {
      // The cap is reached at the end: posteriors walk at random, so their room grows as √t.
      double const now = options_.kappa * std::sqrt(static_cast<double>(done + 1) /
                                                    static_cast<double>(options_.releases()));
      noise = exposed->flip_within(candidates_.prior(), std::min(now, options_.kappa), noise);
    }
    if (!worth(noise.correlation())) return std::nullopt;
    return sign_channel{.prior = q, .noise = noise};
  }

  /// The same for Gaussian noise on the sign as a number, ±1.
  [[nodiscard]] std::optional<binary_channel> affordable(
      split const& agreement, std::optional<value_exposure> const& exposed,
      std::size_t done) const {
    double const q = agreement.minority;
    double sigma = noise_for(binary_channel{.prior = q}, limit_about_subset(q, done));
    if (binds(ledger_kind::record)) sigma = exposed->sigma_for(allowed_to_records(done), sigma);
    if (!worth(flip_of_gaussian(sigma).correlation())) return std::nullopt;
    return binary_channel{.prior = q, .sigma = sigma};
  }

  /// Charges every ledger for one use of the channel. The ledger that binds allowed it: one that cannot
  /// pay is an error of the arithmetic above.
  /// @throws budget_exhausted then; nothing may be released
  template <class Channel, class Exposure>
  [[nodiscard]] paid<Channel> charge(Channel const& channel,
                                     std::optional<Exposure> const& exposed) {
    if (exposed) static_cast<void>(pay(*record_, channel, *exposed));
    return pay(subset_, channel, 1.0 + belief_error());
  }

  /// What was drawn from a channel that was charged.
  template <class Drawn>
  void observe(std::span<std::int8_t const> signs, Drawn const& drawn) {
    tacit::observe(belief_, signs, drawn);
    ++observations_;
  }

 private:
  static paczero_options const& checked(paczero_options const& options) {
    options.check();
    return options;
  }

  [[nodiscard]] bool binds(ledger_kind kind) const noexcept { return options_.ledger == kind; }

  [[nodiscard]] bool tracks_records() const noexcept {
    return options_.track_records || !binds(ledger_kind::subset);
  }

  /// The budget of a ledger that never limits the run: a sign reveals at most log 2.
  [[nodiscard]] nats unlimited() const {
    return nats(2.0 * static_cast<double>(options_.steps) *
                static_cast<double>(options_.directions));
  }

  [[nodiscard]] nats allowed(nats remaining, std::size_t done) const {
    pacing const pace{options_.spend, options_.horizon, options_.minimum_correlation};
    return allowance(pace, options_.budget, remaining, options_.releases() - done,
                     options_.releases());
  }

  /// What a release may tell about a sign of minority mass q: most of its entropy, or what the
  /// subset's ledger pays for where that binds, before the charge is raised by `belief_error` and
  /// rounded.
  [[nodiscard]] nats limit_about_subset(double q, std::size_t done) const {
    double const most = entropy_cap * binary_entropy(q);
    if (!binds(ledger_kind::subset)) return nats(most);
    double const share = allowed(subset_.remaining(), done).value / (1.0 + belief_error()) *
                         (1.0 - 4.0 * std::numeric_limits<double>::epsilon());
    return nats(std::min(most, share));
  }

  /// What this release may tell about each record.
  [[nodiscard]] std::vector<double> allowed_to_records(std::size_t done) const {
    std::vector<double> result(candidates_.records());
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = allowed(record_->remaining(i), done).value;
    }
    return result;
  }

  /// The belief is computed, not exact: after n observations a mass is right to this relative error
  /// (posterior.hpp: a few 2⁻⁵³·(1 + |w|) each, |w| ≤ 64 where it matters). Charges are raised by it.
  [[nodiscard]] double belief_error() const noexcept {
    return 2.5e-14 * static_cast<double>(observations_ + 1);
  }

  [[nodiscard]] bool worth(double correlation) const {
    return options_.spend == allocation::confident_or_hold
               ? correlation >= options_.minimum_correlation
               : correlation > 0.0;
  }

  paczero_options options_;
  candidate_set candidates_;
  posterior belief_;
  ledger<nats> subset_;
  std::optional<record_ledger> record_;
  std::size_t observations_ = 0;
};

}  // namespace tacit
