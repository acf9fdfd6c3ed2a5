// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/run_owner.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/binary_channel.hpp>
#include <tacit/info/sign_channel.hpp>
#include <tacit/mechanism/paczero_account.hpp>
#include <tacit/mechanism/paczero_options.hpp>
#include <tacit/mechanism/paid_release.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/pac/allocation.hpp>
#include <tacit/pac/candidates.hpp>
#include <tacit/pac/fixed_point.hpp>
#include <tacit/pac/posterior.hpp>
#include <tacit/secret/bernoulli.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// PACZero (arXiv 2605.06505): zeroth-order training in which every step releases one sign, under an
/// exact budget of mutual information about which candidate subset is the data.
///
/// A step, for each of K directions: the sign s_m of every candidate's sum of clipped two-point
/// scalars; if all live candidates agree, that sign is public knowledge and free; else the secret
/// subset's sign is released through a noisy channel that is paid for first, or not at all.

namespace tacit {

template <class Mechanism>
class saved_run;  // mechanism/saved_run.hpp

/// What happened in one direction of a step. It reveals information about the universe of records, and
/// belongs in the owner's private journal, not in the transcript.
struct paczero_report {
  enum class kind { unanimous, paid, unpaid, void_input };
  kind what = kind::void_input;
  split agreement{0.0, false};
  nats charged{0.0};         // about the subset
  double correlation = 0.0;  // of the released sign with the secret's, if paid
  int released = 0;          // −1, +1, or 0 for a hold
};

/// What the state of a run says of it, but for its secret.
struct paczero_summary {
  paczero_options options;
  candidate_set::shape candidates;
  std::uint64_t public_seed;
  std::size_t first_record;
  std::size_t steps;     // taken
  std::string releases;  // in them: +, - or, for a hold, 0, a character a direction
};

/// The mechanism: per-record numbers in, signs out. Never sees parameters or data.
///
/// Guarantee. Over the secret, its coins and every adaptive choice of later steps:
///   subset    I(secret subset; transcript) ≤ budget
///   record    I(U_i; transcript) ≤ budget for every record i
///   pathwise  |P(U_i = 1 | transcript) − prior| ≤ κ for every record and every transcript, and so
///             under subset and record where a κ is given
///   groups    I(U_G; transcript) ≤ group budget for the memberships U_G of every declared group
///   budget 0  I(secret subset; transcript) = 0 exactly: no release reads the secret
/// The guarantee is about *which subset* of the universe was used. It says nothing about whether the
/// universe itself stays private (docs/guarantees.md).
///
/// The budget is charged before a release exists. A run that must survive its process is a
/// `saved_run<paczero<>>` (mechanism/saved_run.hpp).
template <secret_bits Secret = secret_stream>
class paczero {
 public:
  /// Draws the secret subset.
  /// @throws std::invalid_argument or std::domain_error naming the option out of range
  paczero(paczero_options const& options, candidate_set candidates, Secret secret = Secret())
      : account_(options, std::move(candidates)), secret_(std::move(secret)) {
    check_sizes();
    chosen_ = uniform_below(secret_, this->candidates().subsets());
  }

  [[nodiscard]] paczero_options const& options() const noexcept { return account_.options(); }
  [[nodiscard]] std::size_t records() const noexcept { return candidates().records(); }
  [[nodiscard]] std::size_t directions() const noexcept { return options().directions; }
  [[nodiscard]] std::size_t steps() const noexcept { return transcript_.size(); }
  [[nodiscard]] bool done() const noexcept { return steps() == options().steps; }
  [[nodiscard]] candidate_set const& candidates() const noexcept { return account_.candidates(); }

  /// One step from the K×N scalars ĝ, row-major. A NaN or infinite scalar, or all sums zero, holds:
  /// that is a function of the universe and costs nothing.
  /// @throws budget_exhausted beyond T steps; std::invalid_argument unless there are K·N scalars;
  ///         std::logic_error if the run was moved from, or in a forked process: one run, one process
  release step(std::span<double const> scalars) {
    owner_.check("paczero");
    detail::check_size("paczero::step", "number of scalars", scalars.size(),
                       directions() * records());
    fixed_point const grid{options().clip};
    std::size_t const subsets = candidates().subsets();
    std::vector<std::int32_t> quantised(records());
    std::vector<std::int64_t> sums(directions() * subsets, 0);
    for (std::size_t k = 0; k < directions(); ++k) {
      if (!grid.try_quantise(scalars.subspan(k * records(), records()), quantised)) {
        std::fill(sums.begin(), sums.end(), 0);
        break;
      }
      candidates().add_sums(quantised, std::span(sums).subspan(k * subsets, subsets));
    }
    return step_from_sums(sums);
  }

  /// The same from the K×M subset sums, row-major: for a caller who has added them up already.
  release step_from_sums(std::span<std::int64_t const> sums) {
    owner_.check("paczero");
    if (done()) {
      throw budget_exhausted(detail::complaint("paczero::step", "step",
                                               detail::to_text(steps() + 1),
                                               "at most " + detail::to_text(options().steps)));
    }
    std::size_t const subsets = candidates().subsets();
    detail::check_size("paczero::step", "number of sums", sums.size(), directions() * subsets);
    bool const before = std::exchange(half_way_, true);
    release result;
    last_.clear();
    for (std::size_t k = 0; k < directions(); ++k) {
      paczero_report const report =
          release_one(sums.subspan(k * subsets, subsets), steps() * directions() + k);
      last_.push_back(report);
      unanimous_ += report.what == paczero_report::kind::unanimous;
      held_ += report.released == 0;
      result.coefficients.push_back(coefficient(report.released, directions()));
    }
    transcript_.push_back(result);
    // A state of this run that is read later reveals nothing about the coins so far.
    if constexpr (requires { secret_.forget_past(); }) secret_.forget_past();
    half_way_ = before;
    return result;
  }

  // ---- what was spent, and what is known --------------------------------------------------------
  // For the owner alone: all of it but the transcript reveals information about the universe.

  /// Everything released so far, in order.
  [[nodiscard]] std::span<release const> transcript() const noexcept {
    return {transcript_.data(), transcript_.size()};
  }

  /// The last step, one report a direction.
  [[nodiscard]] std::span<paczero_report const> last() const noexcept {
    return {last_.data(), last_.size()};
  }

  /// Nats charged for the secret subset on this path.
  [[nodiscard]] nats spent() const noexcept { return account_.spent(); }

  /// Nats charged for the worst record, see `paczero_account`.
  [[nodiscard]] nats spent_worst_record() const noexcept { return account_.spent_worst_record(); }

  /// Nats charged for each declared group, in the order of the options.
  [[nodiscard]] std::span<double const> spent_by_group() const noexcept {
    return account_.spent_by_group();
  }

  /// What an attacker who has seen the transcript, and knows the universe, believes.
  [[nodiscard]] posterior const& belief() const noexcept { return account_.belief(); }

  /// The success that the guarantee allows in guessing a record's membership: `tacit::attack_bound`. From
  /// the budget, not from what this path happened to spend.
  [[nodiscard]] double attack_bound() const { return account_.attack_bound(); }

  /// Directions in which every live candidate had the same sign.
  [[nodiscard]] std::size_t unanimous_steps() const noexcept { return unanimous_; }

  /// Directions in which nothing was released.
  [[nodiscard]] std::size_t held_steps() const noexcept { return held_; }

 private:
  // The secret is in a state: only a file that its owner alone can read gets one.
  friend class saved_run<paczero>;

  struct state {
    static constexpr std::string_view kind = "tacit-paczero";
    static constexpr unsigned version = 1;

    paczero_options options;
    candidate_set::shape candidates;
    std::uint64_t candidate_seed = 0;
    std::size_t first_record = 0;
    std::uint64_t chosen = 0;
    paczero_account::state account;
    std::size_t unanimous = 0;
    std::size_t held = 0;
    std::string transcript;  // a character a direction; "none" before the first step
    decltype(std::declval<Secret const&>().save()) stream;

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      paczero_options::fields(archive, self.options);
      archive.field("candidates", self.candidates.records, self.candidates.subsets,
                    self.candidates.one_in, self.candidates.complementary, self.candidate_seed,
                    self.first_record);
      archive.field("chosen", self.chosen);
      paczero_account::state::fields(archive, self.account);
      archive.field("counts", self.unanimous, self.held);
      archive.field("transcript", self.transcript);
      decltype(self.stream)::fields(archive, self.stream);
    }
  };

  // Below this minority mass a paid step releases the majority sign, which costs exactly nothing: it
  // does not read the secret.
  static constexpr double near_unanimous = 1e-12;
  static constexpr std::string_view no_steps = "none";

  /// @throws std::logic_error if the run was moved from, in a forked process, or after a step that failed half-way:
  ///         its account has releases that its transcript lacks, and goes on from the state before
  [[nodiscard]] state save() const {
    owner_.check("paczero");
    if (half_way_) throw std::logic_error("paczero: saved after a step that failed half-way");
    candidate_set const& set = candidates();
    state out{options(), set.dimensions(), set.public_seed(), set.first_record(),
              chosen_,   account_.save(),  unanimous_,        held_,
              {},        secret_.save()};
    for (release const& r : transcript_) {
      for (double const y : r.coefficients) {
        out.transcript.push_back(y > 0.0 ? '+' : y < 0.0 ? '-' : '0');
      }
    }
    if (out.transcript.empty()) out.transcript = no_steps;
    return out;
  }

  // A character a direction.
  static std::string_view symbols_of(state const& from) {
    return from.transcript == no_steps ? std::string_view() : from.transcript;
  }

  /// @throws std::logic_error for a state that no run has, as far as its own size in memory tells
  static void check(state const& from) {
    from.options.check();
    detail::check_size("paczero", "size of the stored belief", from.account.belief.size(),
                       from.candidates.subsets);
    if (std::size_t const kept = from.account.spent_by_record.size(); kept != 0) {
      detail::check_size("paczero", "size of the stored record ledger", kept,
                         from.candidates.records);
    }
    detail::check_size("paczero", "size of the stored group ledger",
                       from.account.spent_by_group.size(), from.options.groups.size());
    auto const require = [](bool holds, char const* name, auto value, char const* range) {
      detail::require_argument(holds, "paczero", name, value, range);
    };
    std::string_view const symbols = symbols_of(from);
    std::size_t const size = symbols.size();
    require(from.chosen < from.candidates.subsets, "chosen", from.chosen,
            "below the number of subsets");
    require(
        size % from.options.directions == 0 && size / from.options.directions <= from.options.steps,
        "size of the transcript", size, "that of whole steps, at most T");
    auto const held = static_cast<std::size_t>(std::count(symbols.begin(), symbols.end(), '0'));
    require(from.held == held, "held", from.held, "the number of zeros in the transcript");
    std::size_t const released = size - held;
    require(from.account.observations <= released, "observations", from.account.observations,
            "at most the number of signs in the transcript");
    require(from.unanimous <= released - from.account.observations, "unanimous", from.unanimous,
            "at most the number of signs that were not paid for");
    require(from.account.observations > 0 || from.account.spent == 0.0, "spent", from.account.spent,
            "0 before anything was paid for");
  }

  [[nodiscard]] static paczero_summary summary_of(state const& from) {
    check(from);
    return {from.options,
            from.candidates,
            from.candidate_seed,
            from.first_record,
            symbols_of(from).size() / from.options.directions,
            std::string(symbols_of(from))};
  }

  paczero(paczero_account&& account, Secret&& secret)
      : account_(std::move(account)), secret_(std::move(secret)) {
    check_sizes();
  }

  // Of K·N and K·M, which are counted in std::size_t.
  void check_sizes() const {
    std::size_t const most = std::numeric_limits<std::size_t>::max() /
                             std::max(candidates().records(), candidates().subsets());
    detail::require_domain(directions() <= most, "paczero", "directions", directions(),
                           "so few that there are not too many scalars to count");
  }

  /// @throws std::logic_error for a state that no run has: by the checks of the constructors, and
  ///         these
  [[nodiscard]] static paczero restore(state from) {
    check(from);  // before anything is made as large as it says
    paczero run({from.options,
                 candidate_set::balanced(from.candidates, from.candidate_seed, from.first_record),
                 std::move(from.account)},
                Secret::restore(from.stream));
    std::size_t const directions = run.directions();
    run.chosen_ = from.chosen;
    run.unanimous_ = from.unanimous;
    run.held_ = from.held;
    for (std::string_view symbols = symbols_of(from); !symbols.empty();
         symbols.remove_prefix(directions)) {
      release& step = run.transcript_.emplace_back();
      for (char const c : symbols.substr(0, directions)) {
        detail::require_argument(c == '+' || c == '-' || c == '0', "paczero", "transcript", int{c},
                                 "of +, - and 0");
        step.coefficients.push_back(coefficient(c == '+' ? 1 : c == '-' ? -1 : 0, directions));
      }
    }
    return run;
  }

  static double coefficient(int released, std::size_t directions) {
    return released / static_cast<double>(directions);
  }

  /// Releases one sign for the sums of one direction; `done` releases came before it.
  paczero_report release_one(std::span<std::int64_t const> sums, std::size_t done) {
    using enum paczero_report::kind;
    paczero_report report;
    if (std::all_of(sums.begin(), sums.end(), [](std::int64_t x) { return x == 0; })) return report;

    signs_.resize(sums.size());
    std::transform(sums.begin(), sums.end(), signs_.begin(),
                   [](std::int64_t x) { return static_cast<std::int8_t>(x >= 0 ? 1 : -1); });
    report.agreement = belief().agreement(signs_);
    int const majority = report.agreement.minority_positive ? -1 : 1;

    if (belief().unanimous(signs_)) {
      report.what = unanimous;
      report.released = majority;
      return report;
    }
    report.what = unpaid;
    paczero_options const& options = this->options();
    if (options.pays() && options.spend != allocation::budget_then_zero &&
        report.agreement.minority < near_unanimous) {
      report.released = majority;
      return report;
    }
    if (options.pays()) {
      bool const paid = options.what == observed::sign ? release_paid<record_exposure>(done, report)
                                                       : release_paid<value_exposure>(done, report);
      if (paid) return report;
    }
    bool const hold = options.otherwise == disagreement::hold ||
                      (options.pays() && options.spend == allocation::confident_or_hold);
    if (hold) return report;
    report.released =
        options.otherwise == disagreement::majority ? majority : (bernoulli(secret_, 0.5) ? 1 : -1);
    return report;
  }

  /// Charges what the budget affords, draws it, and learns what the world learns; false where it
  /// affords nothing.
  template <class Exposure>
  bool release_paid(std::size_t done, paczero_report& report) {
    auto const exposed = account_.template exposed<Exposure>(signs_);
    auto const channel = account_.affordable(report.agreement, exposed, done);
    if (!channel) return false;
    auto payment = account_.charge(*channel, exposed);
    report.what = paczero_report::kind::paid;
    report.charged = payment.cost();
    report.correlation = correlation_of(*channel);
    sign const truth = signs_[chosen_] > 0 ? sign::plus : sign::minus;
    auto const drawn = draw(std::move(payment), truth, secret_);
    account_.observe(signs_, drawn);
    report.released = static_cast<int>(drawn.released);
    return true;
  }

  static double correlation_of(sign_channel const& channel) { return channel.noise.correlation(); }
  static double correlation_of(binary_channel const& channel) {
    return flip_of_gaussian(channel.sigma).correlation();
  }

  paczero_account account_;
  Secret secret_;
  std::uint64_t chosen_ = 0;
  std::size_t unanimous_ = 0;
  std::size_t held_ = 0;
  bool half_way_ = false;  // a step has begun, or had when it threw
  std::vector<release> transcript_;
  std::vector<paczero_report> last_;
  std::vector<std::int8_t> signs_;
  detail::run_owner owner_;
};

}  // namespace tacit
