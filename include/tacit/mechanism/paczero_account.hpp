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
#include <tacit/pac/record_groups.hpp>
#include <tacit/pac/record_ledger.hpp>
#include <tacit/pac/value_exposure.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
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
/// Where subset or record have a κ, too, the lesser of both.
/// Guarantee: upper bound. docs/certificates/pac.md, lemmas 3 to 5.
/// @throws std::domain_error for a budget that is negative or NaN
[[nodiscard]] inline double attack_bound(paczero_options const& options, std::size_t one_in) {
  double const share = detail::divide_down(1.0, static_cast<double>(one_in));
  double const prior = detail::subtract_up(1.0, share);
  double bound = options.caps_posteriors() ? detail::add_up(prior, options.kappa) : 1.0;
  if (options.ledger == ledger_kind::record) {
    bound = std::min(bound, membership_success(options.budget, prior));
  } else if (options.ledger == ledger_kind::subset) {
    bound = std::min(bound, attack_success(options.budget, prior));
  }
  return std::min(1.0, bound);
}

/// The same for a record that is chosen after the transcript was seen: 1 under a record ledger without κ, which does
/// not cover it. Guarantee: upper bound. docs/certificates/pac.md, lemma 25.
/// @throws std::domain_error for a budget that is negative or NaN
[[nodiscard]] inline double attack_bound_afterwards(paczero_options options, std::size_t one_in) {
  if (options.ledger == ledger_kind::record) {
    if (!options.caps_posteriors()) return 1.0;
    options.ledger = ledger_kind::pathwise;
  }
  return attack_bound(options, one_in);
}

/// What a PACZero run has charged, and what an attacker who has seen its releases and knows the
/// universe believes. Everything here is a function of the universe and the releases: the account
/// does not know which subset is the secret.
template <std::same_as<paczero_options> Options = paczero_options>
class basic_paczero_account {
 public:
  /// Of a stored run.
  struct state {
    std::vector<double> belief;  // logarithms of the posterior's weights
    std::size_t observations = 0;
    double spent = 0.0;
    std::vector<double> spent_by_record;  // empty unless records are tracked
    std::vector<double> spent_by_group;   // empty unless groups are declared

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.list("belief", self.belief);
      archive.field("observations", self.observations);
      archive.field("spent", self.spent);
      archive.list("spent_by_record", self.spent_by_record);
      archive.optional_list("spent_by_group", self.spent_by_group);
    }
  };

  /// What a release of a sign would tell about each record, as a sign (`record_exposure`) or as a noised value
  /// (`value_exposure`), and about each group.
  template <class Exposure>
  struct exposures {
    std::optional<Exposure> records{};       // unless nothing asks for it
    std::optional<group_exposure> groups{};  // where groups are declared
  };

  /// Nothing spent, and all candidates equally likely.
  /// @throws std::invalid_argument or std::domain_error naming the option out of range
  basic_paczero_account(Options const& options, candidate_set candidates)
      : options_(checked(options)),
        candidates_(std::move(candidates)),
        belief_(candidates_.subsets()),
        subset_(binds(ledger_kind::subset) ? options.budget : unlimited()) {
    if (tracks_records()) {
      record_.emplace(candidates_.records(),
                      binds(ledger_kind::record) ? options.budget : unlimited());
    }
    if (!options_.groups.empty()) {
      groups_.emplace(candidates_, options_.groups);
      group_.emplace(groups_->size(), options.group_budget);
    }
  }

  /// @throws as above; std::invalid_argument or std::domain_error for a state that is not one of a run
  ///         with these options
  basic_paczero_account(Options const& options, candidate_set candidates, state from)
      : basic_paczero_account(options, std::move(candidates)) {
    detail::check_size("paczero", "size of the stored belief", from.belief.size(),
                       candidates_.subsets());
    detail::check_size("paczero", "size of the stored record ledger", from.spent_by_record.size(),
                       record_ ? candidates_.records() : 0);
    detail::check_size("paczero", "size of the stored group ledger", from.spent_by_group.size(),
                       options.groups.size());
    belief_ = posterior::from_log_weights(std::move(from.belief));
    observations_ = from.observations;
    subset_ = ledger<nats>(subset_.budget(), nats(from.spent));
    if (record_) record_.emplace(record_->budget(), std::move(from.spent_by_record));
    if (group_) group_.emplace(group_->budget(), std::move(from.spent_by_group));
  }

  [[nodiscard]] state save() const {
    auto const copy = [](std::span<double const> of) {
      return std::vector<double>(of.begin(), of.end());
    };
    return {copy(belief_.log_weights()), observations_, subset_.spent().value,
            record_ ? copy(record_->spent()) : std::vector<double>(), copy(spent_by_group())};
  }

  [[nodiscard]] Options const& options() const noexcept { return options_; }
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

  /// Nats charged for each declared group.
  [[nodiscard]] std::span<double const> spent_by_group() const noexcept {
    return group_ ? group_->spent() : std::span<double const>();
  }

  /// The success that the budget allows in guessing a record's membership: see the function of that name.
  [[nodiscard]] double attack_bound() const {
    return tacit::attack_bound(options_, candidates_.dimensions().one_in);
  }

  template <class Exposure>
  [[nodiscard]] exposures<Exposure> exposed(std::span<std::int8_t const> signs) const {
    exposures<Exposure> out;
    if (record_) out.records.emplace(candidates_, belief_, signs, belief_error());
    if (groups_) out.groups.emplace(*groups_, belief_, signs, belief_error());
    return out;
  }

  /// The least noise on the secret's sign that a release's share of the budget pays for; nothing if
  /// it pays for none, or for too little signal to be worth it. `done` is the number of releases of
  /// the run before this one, of whatever kind.
  [[nodiscard]] std::optional<sign_channel> affordable(split const& agreement,
                                                       exposures<record_exposure> const& exposed,
                                                       std::size_t done) const {
    double const q = agreement.minority;
    flip noise = noise_for(sign_channel{.prior = q}, limit_about_subset(q, done));
    if (options_.caps_posteriors()) {
      noise = exposed.records->flip_within(candidates_.prior(), kappa_at(done), noise);
    }
    noise = within_allowances(noise, exposed, done);
    if (!worth(noise.correlation())) return std::nullopt;
    return sign_channel{.prior = q, .noise = noise};
  }

  /// The same for Gaussian noise on the sign as a number, ±1.
  [[nodiscard]] std::optional<binary_channel> affordable(split const& agreement,
                                                         exposures<value_exposure> const& exposed,
                                                         std::size_t done) const {
    double const q = agreement.minority;
    double sigma = noise_for(binary_channel{.prior = q}, limit_about_subset(q, done));
    sigma = within_allowances(sigma, exposed, done);
    if (!worth(flip_of_gaussian(sigma).correlation())) return std::nullopt;
    return binary_channel{.prior = q, .sigma = sigma};
  }

  /// Charges every ledger for one use of the channel. The ledger that binds allowed it: one that cannot
  /// pay is an error of the arithmetic above.
  /// @throws budget_exhausted then; nothing may be released
  template <class Channel, class Exposure>
  [[nodiscard]] paid<Channel> charge(Channel const& channel, exposures<Exposure> const& exposed) {
    if (exposed.records) static_cast<void>(pay(*record_, channel, *exposed.records));
    if (exposed.groups) static_cast<void>(pay(*group_, channel, *exposed.groups));
    return pay(subset_, channel, 1.0 + belief_error());
  }

  /// What was drawn from a channel that was charged.
  template <class Drawn>
  void observe(std::span<std::int8_t const> signs, Drawn const& drawn) {
    tacit::observe(belief_, signs, drawn);
    ++observations_;
  }

 private:
  static Options const& checked(Options const& options) {
    options.check();
    return options;
  }

  [[nodiscard]] bool binds(ledger_kind kind) const noexcept { return options_.ledger == kind; }

  [[nodiscard]] bool tracks_records() const noexcept {
    return options_.track_records || options_.caps_posteriors() || !binds(ledger_kind::subset);
  }

  /// The budget of a ledger that never limits the run: a sign reveals at most log 2.
  [[nodiscard]] nats unlimited() const {
    return nats(2.0 * static_cast<double>(options_.steps) *
                static_cast<double>(options_.directions));
  }

  [[nodiscard]] nats allowed(nats budget, nats remaining, std::size_t done) const {
    pacing const pace{options_.spend, options_.horizon, options_.minimum_correlation};
    return allowance(pace, budget, remaining, options_.releases() - done, options_.releases());
  }

  /// Where information is spent evenly a posterior walks at random, its room grows as √t, and the cap is
  /// reached at the end. Where it is spent early the whole room is there from the start.
  [[nodiscard]] double kappa_at(std::size_t done) const {
    bool const evenly = binds(ledger_kind::pathwise) || options_.spend == allocation::adaptive ||
                        options_.spend == allocation::uniform;
    if (!evenly) return options_.kappa;
    double const share = static_cast<double>(done + 1) / static_cast<double>(options_.releases());
    return options_.kappa * std::min(std::sqrt(share), 1.0);
  }

  /// What a release may tell about a sign of minority mass q: most of its entropy, or what the
  /// subset's ledger pays for where that binds, before the charge is raised by `belief_error` and
  /// rounded.
  [[nodiscard]] nats limit_about_subset(double q, std::size_t done) const {
    double const most = entropy_cap * binary_entropy(q);
    if (!binds(ledger_kind::subset)) return nats(most);
    double const share = allowed(options_.budget, subset_.remaining(), done).value /
                         (1.0 + belief_error()) *
                         (1.0 - 4.0 * std::numeric_limits<double>::epsilon());
    return nats(std::min(most, share));
  }

  /// What this release may tell about each record, or group, of an account.
  [[nodiscard]] std::vector<double> allowances(record_ledger const& account,
                                               std::size_t done) const {
    std::vector<double> result(account.spent().size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = allowed(account.budget(), account.remaining(i), done).value;
    }
    return result;
  }

  /// At least this noise, and as little more as keeps every group, and every record where its ledger binds, within
  /// its allowance. What one of them asks for may move the other's prices by a rounding: both are asked until neither
  /// asks for more.
  template <class Noise, class Exposure>
  [[nodiscard]] Noise within_allowances(Noise noise, exposures<Exposure> const& exposed,
                                        std::size_t done) const {
    bool const records = binds(ledger_kind::record);
    std::vector<double> const of_records =
        records ? allowances(*record_, done) : std::vector<double>();
    std::vector<double> const of_groups =
        group_ ? allowances(*group_, done) : std::vector<double>();
    for (;;) {
      if (records) noise = enough(*exposed.records, of_records, noise);
      Noise const before = noise;
      if (group_) noise = enough(*exposed.groups, of_groups, noise);
      if (!records || noise == before) return noise;
    }
  }

  template <class Exposure>
  [[nodiscard]] static flip enough(Exposure const& exposure, std::span<double const> allowance,
                                   flip const& noise) {
    return exposure.flip_for(allowance, noise);
  }
  template <class Exposure>
  [[nodiscard]] static double enough(Exposure const& exposure, std::span<double const> allowance,
                                     double sigma) {
    return exposure.sigma_for(allowance, sigma);
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

  Options options_;
  candidate_set candidates_;
  posterior belief_;
  ledger<nats> subset_;
  std::optional<record_ledger> record_;
  std::optional<record_groups> groups_;
  std::optional<record_ledger> group_;  // an account for each of them
  std::size_t observations_ = 0;
};
using paczero_account = basic_paczero_account<>;

}  // namespace tacit
