// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/private_file.hpp>
#include <tacit/core/process.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/info/sign_channel.hpp>
#include <tacit/mechanism/paid_release.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/pac/allocation.hpp>
#include <tacit/pac/candidates.hpp>
#include <tacit/pac/fixed_point.hpp>
#include <tacit/pac/posterior.hpp>
#include <tacit/pac/record_ledger.hpp>
#include <tacit/secret/bernoulli.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// PACZero (arXiv 2605.06505): zeroth-order training in which every step releases one sign, under an
/// exact budget of mutual information about which candidate subset is the data.
///
/// A step, for each of K directions: the sign s_m of every candidate's sum of clipped two-point
/// scalars; if all live candidates agree, that sign is public knowledge and free; else the secret
/// subset's sign is released through a noisy channel that is paid for first, or not at all.

namespace tacit {

/// What the adversary is assumed to see of a paid release. The world sees a sign in both cases.
enum class observed {
  value,  ///< the noised real value behind the sign (the paper's charge)
  sign,   ///< the sign that is really released: up to 1.25 times more signal for the same budget
};

/// Whose information the budget limits.
enum class ledger_kind {
  subset,  ///< nats about the secret subset (the paper)
  record,  ///< nats about the membership of each record by itself: far more signal for the same
           ///< number, and no bound for an attacker who knows other memberships
  pathwise,  ///< no nats: every record's posterior within prior ± κ on every transcript; each record
             ///< by itself, too
};

/// What is released on a disagreement that nothing pays for. None of the three reads the secret.
enum class disagreement {
  coin,      ///< a fair coin (the paper's ZPL)
  hold,      ///< nothing: the step is skipped
  majority,  ///< the sign with the larger posterior mass
};

struct paczero_options {
  std::size_t steps = 0;  // T
  nats budget{};          // of the whole run; 0 is ZPL; not used by pathwise
  observed what = observed::sign;
  ledger_kind ledger = ledger_kind::subset;
  double kappa = required;  // pathwise only, in (0, ½]
  allocation spend = allocation::adaptive;
  double horizon = 200.0;            // confident_or_hold only
  double minimum_correlation = 0.3;  // confident_or_hold only
  disagreement otherwise = disagreement::hold;
  std::size_t directions = 1;  // K
  double clip = 1024.0;        // of a record's scalar; utility only
  bool track_records = false;  // keep the per-record account even where it does not bind
};

/// What happened in one direction of a step. Tells about the universe of records to anyone who does
/// not hold it: it belongs in the owner's private journal, not in the transcript.
struct paczero_report {
  enum class kind { unanimous, paid, unpaid, void_input };
  kind what = kind::void_input;
  split agreement{0.0, false};
  nats charged{0.0};         // about the subset
  double correlation = 0.0;  // of the released sign with the secret's, if paid
  int released = 0;          // −1, +1, or 0 for a hold
};

/// The mechanism: per-record numbers in, signs out. Never sees parameters or data.
///
/// Guarantee. Over the secret, its coins and every adaptive choice of later steps:
///   subset    I(secret subset; transcript) ≤ budget
///   record    I(U_i; transcript) ≤ budget for every record i
///   pathwise  |P(U_i = 1 | transcript) − prior| ≤ κ for every record and every transcript
///   budget 0  I(secret subset; transcript) = 0 exactly: no release reads the secret
/// The guarantee is about *which subset* of the universe was used. It says nothing about whether the
/// universe itself stays private (docs/guarantees.md).
///
/// The budget is charged before a release exists; with `persist`, charge and release are on disk
/// together before `step` returns.
template <secret_bits Secret = secret_stream>
class paczero {
 public:
  /// Draws the secret subset.
  /// @throws std::invalid_argument or std::domain_error naming the option out of range
  paczero(paczero_options const& options, candidate_set candidates, Secret secret = Secret())
      : paczero(checked(options), std::move(candidates), std::move(secret), fresh{}) {
    chosen_ = uniform_below(secret_, candidates_.subsets());
  }

  [[nodiscard]] paczero_options const& options() const noexcept { return options_; }
  [[nodiscard]] std::size_t records() const noexcept { return candidates_.records(); }
  [[nodiscard]] std::size_t directions() const noexcept { return options_.directions; }
  [[nodiscard]] std::size_t steps() const noexcept { return transcript_.size(); }
  [[nodiscard]] bool done() const noexcept { return steps() == options_.steps; }
  [[nodiscard]] candidate_set const& candidates() const noexcept { return candidates_; }

  /// One step from the K×N scalars ĝ, row-major. A NaN or infinite scalar, or all sums zero, holds:
  /// that is a function of the universe and costs nothing.
  /// @throws budget_exhausted beyond T steps; std::invalid_argument unless there are K·N scalars;
  ///         std::logic_error in a forked process: one run, one process;
  ///         std::system_error if the state cannot be stored: nothing was published then, this object
  ///         is of no further use, and `resume` takes the step again from the file, coins and all
  release step(std::span<double const> scalars) {
    detail::check_size("paczero::step", "number of scalars", scalars.size(),
                       options_.directions * records());
    fixed_point const grid{options_.clip};
    std::vector<std::int32_t> quantised(records());
    std::vector<std::int64_t> sums(options_.directions * candidates_.subsets(), 0);
    for (std::size_t k = 0; k < options_.directions; ++k) {
      if (!grid.try_quantise(scalars.subspan(k * records(), records()), quantised)) {
        std::fill(sums.begin(), sums.end(), 0);
        break;
      }
      candidates_.add_sums(
          quantised, std::span(sums).subspan(k * candidates_.subsets(), candidates_.subsets()));
    }
    return step_from_sums(sums);
  }

  /// The same from the K×M subset sums, row-major: for one who adds them up elsewhere.
  release step_from_sums(std::span<std::int64_t const> sums) {
    if (done()) {
      throw budget_exhausted(detail::complaint("paczero::step", "step",
                                               detail::to_text(steps() + 1),
                                               "at most " + detail::to_text(options_.steps)));
    }
    check_process("step");
    if (unstored_) throw std::logic_error("paczero::step: the last step could not be stored");
    std::size_t const subsets = candidates_.subsets();
    detail::check_size("paczero::step", "number of sums", sums.size(),
                       options_.directions * subsets);
    release result;
    last_.clear();
    for (std::size_t k = 0; k < options_.directions; ++k) {
      paczero_report const report = release_one(sums.subspan(k * subsets, subsets), k);
      last_.push_back(report);
      using enum paczero_report::kind;
      unanimous_ += report.what == unanimous;
      held_ += report.released == 0;
      result.coefficients.push_back(report.released / static_cast<double>(options_.directions));
    }
    transcript_.push_back(result);
    store();
    return result;
  }

  // ---- what was spent, and what is known --------------------------------------------------------
  // The owner's view: all but the transcript tells about the universe.

  /// Everything released so far, in order.
  [[nodiscard]] std::span<release const> transcript() const noexcept { return transcript_; }

  /// The last step, one report a direction.
  [[nodiscard]] std::span<paczero_report const> last() const noexcept { return last_; }

  /// Nats charged for the secret subset on this path.
  [[nodiscard]] nats spent() const noexcept { return subset_.spent(); }

  /// Nats charged for the worst record: of its own account where one is kept, else the subset's
  /// (information about the subset bounds that about a record).
  [[nodiscard]] nats spent_worst_record() const noexcept {
    return record_ ? record_->worst() : subset_.spent();
  }

  /// What an attacker who has seen the transcript, and knows the universe, believes.
  [[nodiscard]] posterior const& belief() const noexcept { return belief_; }

  /// The success that the guarantee allows in guessing one record's membership. From the budget, not
  /// from what this path happened to spend.
  /// Guarantee: upper bound; an average over transcripts, except for pathwise, where it holds on each.
  [[nodiscard]] double attack_bound() const {
    double const prior = std::max(candidates_.prior(), 1.0 - candidates_.prior());
    if (options_.ledger == ledger_kind::pathwise) return std::min(1.0, prior + options_.kappa);
    return membership_success(options_.budget, prior);
  }

  /// Directions in which every live candidate had the same sign.
  [[nodiscard]] std::size_t unanimous_steps() const noexcept { return unanimous_; }

  /// Directions in which nothing was released.
  [[nodiscard]] std::size_t held_steps() const noexcept { return held_; }

  // ---- keeping a run ----------------------------------------------------------------------------

  /// From now on every step stores charge, belief, release and the state of the secret stream before
  /// it returns, and the file is written once now. The file holds the secret: it is readable by its
  /// owner only and is no part of what is published. A run that is kept elsewhere already moves: no
  /// state stays behind from which it could be resumed.
  /// @throws std::system_error if the file cannot be written or the old one not moved, or another run
  ///         writes it; std::logic_error in a forked process
  void persist(std::filesystem::path const& file) requires requires(Secret const& s) { s.save(); }
  {
    check_process("persist");
    std::filesystem::path path = std::filesystem::weakly_canonical(file);  // links are one file
    if (path != path_) {
      file_lock mine(path);
      if (!path_.empty()) {
        std::filesystem::rename(claimed_.empty() ? path_ : claimed_, path);
        claimed_.clear();
      }
      lock_.reset();
      lock_.emplace(std::move(mine));
      path_ = std::move(path);
    }
    store();
  }

  /// Goes on with a stored run: the same secret, belief, account and stream. Claims the file, so that
  /// one state resumes once; the next step writes `path` again. The last stored release may not have
  /// been published before a crash: `transcript()` has it, and publishing that same release (never a
  /// new one) is what keeps the charge right.
  /// @throws corrupt_state for a damaged, truncated or foreign file, which is left as it was;
  ///         std::system_error if there is no such file, it was claimed before, or its writer lives
  [[nodiscard]] static paczero resume(std::filesystem::path const& file) requires
      requires(Secret const& s) {
    s.save();
  }
  {
    std::filesystem::path path = std::filesystem::weakly_canonical(file);
    file_lock mine(path);
    std::filesystem::path claimed = claim_file(path);
    try {
      paczero run = parsed(read_file(claimed));
      run.path_ = std::move(path);
      run.lock_.emplace(std::move(mine));
      run.claimed_ = std::move(claimed);
      return run;
    } catch (...) {
      unclaim_file(claimed, path);
      throw;
    }
  }

  /// What `use` says of a stored run, which it gets as a constant; the file stays as it is.
  /// @throws as `resume`, and what `use` throws
  template <class Use>
  [[nodiscard]] static auto look_at(std::filesystem::path const& file, Use&& use) requires
      requires(Secret const& s) {
    s.save();
  }
  {
    std::filesystem::path const path = std::filesystem::weakly_canonical(file);
    file_lock const mine(path);  // a run that writes it is not looked at half-way
    paczero const stored = parsed(read_file(path));
    return std::forward<Use>(use)(stored);
  }

 private:
  struct fresh {};
  static constexpr unsigned format = 1;
  static constexpr std::string_view kind = "tacit-paczero";
  // Below this minority mass a paid step releases the majority sign, which costs exactly nothing: it
  // does not read the secret.
  static constexpr double near_unanimous = 1e-12;

  paczero(paczero_options const& options, candidate_set candidates, Secret secret, fresh)
      : options_(options),
        candidates_(std::move(candidates)),
        secret_(std::move(secret)),
        belief_(candidates_.subsets()),
        subset_(options_.ledger == ledger_kind::subset ? options_.budget : unlimited(options_)) {
    if (options_.ledger == ledger_kind::record) {
      record_.emplace(records(), options_.budget);
    } else if (options_.track_records || options_.ledger == ledger_kind::pathwise) {
      record_.emplace(records(), unlimited(options_));
    }
  }

  static paczero_options const& checked(paczero_options const& options) {
    auto const require = [](bool holds, char const* name, auto value, char const* range) {
      detail::require_domain(holds, "paczero", name, value, range);
    };
    require(options.steps >= 1, "steps", options.steps, "at least 1");
    require(options.directions >= 1, "directions", options.directions, "at least 1");
    detail::check_positive("paczero", "clip", options.clip);
    if (options.ledger == ledger_kind::pathwise) {
      require(options.kappa > 0.0 && options.kappa <= 0.5, "kappa", options.kappa, "in (0, 0.5]");
      if (options.what == observed::value) {
        throw std::invalid_argument(
            "paczero: observed is value, but must be sign for the pathwise ledger: an unbounded "
            "value has no worst case");
      }
    } else {
      detail::check_non_negative("paczero", "budget", options.budget.value);
    }
    if (options.spend == allocation::confident_or_hold) {
      require(options.horizon >= 1.0 && std::isfinite(options.horizon), "horizon", options.horizon,
              "finite and at least 1");
      require(options.minimum_correlation > 0.0 && options.minimum_correlation <= 1.0,
              "minimum_correlation", options.minimum_correlation, "in (0, 1]");
    }
    return options;
  }

  /// A forked child holds the same secret and the same budget; only its parent may spend it.
  void check_process(char const* function) const {
    if (owner_ != detail::process_id()) {
      throw std::logic_error(std::string("paczero::") + function +
                             ": the run belongs to the process that made it");
    }
  }

  /// A balance for an account that does not bind: a sign tells at most log 2.
  static nats unlimited(paczero_options const& options) {
    return nats(2.0 * static_cast<double>(options.steps) * static_cast<double>(options.directions));
  }

  /// Releases one sign for the sums of one direction.
  paczero_report release_one(std::span<std::int64_t const> sums, std::size_t direction) {
    using enum paczero_report::kind;
    paczero_report report;
    if (std::all_of(sums.begin(), sums.end(), [](std::int64_t x) { return x == 0; })) return report;

    signs_.resize(sums.size());
    std::transform(sums.begin(), sums.end(), signs_.begin(),
                   [](std::int64_t x) { return static_cast<std::int8_t>(x >= 0 ? 1 : -1); });
    report.agreement = belief_.agreement(signs_);
    int const majority = report.agreement.minority_positive ? -1 : 1;

    if (belief_.unanimous(signs_)) {
      report.what = unanimous;
      report.released = majority;
      return report;
    }
    report.what = unpaid;
    bool const paying = options_.ledger == ledger_kind::pathwise || options_.budget.value > 0.0;
    if (paying && options_.spend != allocation::budget_then_zero &&
        report.agreement.minority < near_unanimous) {
      report.released = majority;
      return report;
    }
    if (paying) {
      std::optional<record_exposure> exposed;
      if (record_) exposed.emplace(candidates_, belief_, signs_, belief_error());
      bool const paid =
          options_.what == observed::sign
              ? release_paid(affordable_sign(report, exposed, direction), exposed, report)
              : release_paid(affordable_value(report, exposed, direction), exposed, report);
      if (paid) return report;
    }
    bool const hold = options_.otherwise == disagreement::hold ||
                      (paying && options_.spend == allocation::confident_or_hold);
    if (hold) return report;
    report.released = options_.otherwise == disagreement::majority
                          ? majority
                          : (bernoulli(secret_, 0.5) ? 1 : -1);
    return report;
  }

  [[nodiscard]] std::size_t releases() const { return options_.steps * options_.directions; }

  [[nodiscard]] nats allowed(nats remaining, std::size_t direction) const {
    pacing const pace{options_.spend, options_.horizon, options_.minimum_correlation};
    return allowance(pace, options_.budget, remaining,
                     releases() - steps() * options_.directions - direction, releases());
  }

  /// What a release may tell about a sign of minority mass q: most of its entropy, or what the
  /// subset's account pays for where that binds, before the charge is raised by `belief_error` and
  /// rounded.
  [[nodiscard]] nats limit_about_subset(double q, std::size_t direction) const {
    double const most = entropy_cap * binary_entropy(q);
    if (options_.ledger != ledger_kind::subset) return nats(most);
    double const share = allowed(subset_.remaining(), direction).value / (1.0 + belief_error()) *
                         (1.0 - 4.0 * std::numeric_limits<double>::epsilon());
    return nats(std::min(most, share));
  }

  /// What each record may still be told by this release.
  [[nodiscard]] std::vector<double> allowed_to_records(std::size_t direction) const {
    std::vector<double> result(records());
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = allowed(record_->remaining(i), direction).value;
    }
    return result;
  }

  /// The belief is computed, not exact: after n observations a mass is right to this relative error
  /// (posterior.hpp: a few 2⁻⁵³·(1 + |w|) each, |w| ≤ 64 where it matters). Charges are raised by it.
  [[nodiscard]] double belief_error() const noexcept {
    return 2.5e-14 * static_cast<double>(observations_ + 1);
  }

  /// The least noise that this release's share of the budget pays for; nothing if it pays for none.
  [[nodiscard]] std::optional<sign_channel> affordable_sign(
      paczero_report const& report, std::optional<record_exposure> const& exposed,
      std::size_t direction) const {
    double const q = report.agreement.minority;
    flip noise = noise_for(sign_channel{.prior = q}, limit_about_subset(q, direction));
    if (options_.ledger == ledger_kind::record) {
      noise = exposed->flip_for(allowed_to_records(direction), noise);
    }
    if (options_.ledger == ledger_kind::pathwise) {
      // The cap is reached at the end: posteriors walk at random, so their room grows as √t.
      double const done_after = static_cast<double>(steps() * options_.directions + direction + 1);
      double const now = options_.kappa * std::sqrt(done_after / static_cast<double>(releases()));
      noise = exposed->flip_within(candidates_.prior(), std::min(now, options_.kappa), noise);
    }
    if (!worth(noise.correlation())) return std::nullopt;
    return sign_channel{.prior = q, .noise = noise};
  }

  [[nodiscard]] std::optional<binary_channel> affordable_value(
      paczero_report const& report, std::optional<record_exposure> const& exposed,
      std::size_t direction) const {
    double const q = report.agreement.minority;
    double sigma = noise_for(binary_channel{.prior = q}, limit_about_subset(q, direction));
    if (options_.ledger == ledger_kind::record) {
      // I(U_i;Y) ≤ min(1, 1/σ²)·I(U_i;S): σ² = I(U_i;S)/allowance fits record i.
      std::vector<double> const allowance = allowed_to_records(direction);
      double variance = 1.0;
      for (std::size_t i = 0; i < allowance.size(); ++i) {
        double const all = exposed->information(i, flip::with_correlation(1.0));
        variance = std::max(variance, all / allowance[i]);  // ∞ for a record that has nothing left
      }
      sigma = std::max(sigma, std::sqrt(variance) * (1.0 + 1e-14));
    }
    if (!worth(flip_of_gaussian(sigma).correlation())) return std::nullopt;
    return binary_channel{.prior = q, .sigma = sigma};
  }

  [[nodiscard]] bool worth(double correlation) const {
    return options_.spend == allocation::confident_or_hold
               ? correlation >= options_.minimum_correlation
               : correlation > 0.0;
  }

  /// Charges every account, draws, learns. The binding account pays first; one that cannot is an
  /// error of the arithmetic above, and nothing is released.
  template <class Channel>
  bool release_paid(std::optional<Channel> const& channel,
                    std::optional<record_exposure> const& exposed, paczero_report& report) {
    if (!channel) return false;
    std::optional<paid<Channel>> by_record;
    if (exposed) by_record.emplace(pay(*record_, *channel, *exposed));
    paid<Channel> payment = pay(subset_, *channel, 1.0 + belief_error());
    report.charged = payment.cost();

    sign const truth = signs_[chosen_] > 0 ? sign::plus : sign::minus;
    auto const drawn = draw(std::move(payment), truth, secret_);
    observe(belief_, signs_, drawn);
    ++observations_;
    report.what = paczero_report::kind::paid;
    report.correlation = correlation_of(*channel);
    report.released = static_cast<int>(drawn.released);
    return true;
  }

  static double correlation_of(sign_channel const& channel) { return channel.noise.correlation(); }
  static double correlation_of(binary_channel const& channel) {
    return flip_of_gaussian(channel.sigma).correlation();
  }

  void store() {
    if constexpr (requires(Secret const& s) { s.save(); }) {
      if (path_.empty()) return;
      unstored_ = true;
      write_private_file(path_, text());
      unstored_ = false;
      if (!claimed_.empty()) std::filesystem::remove(std::exchange(claimed_, {}));
    }
  }

  [[nodiscard]] std::string text() const {
    paczero_options const& o = options_;
    archive_writer out(kind, format);
    out.field("steps", o.steps)
        .field("budget", o.budget.value)
        .field("observed", static_cast<int>(o.what))
        .field("ledger", static_cast<int>(o.ledger))
        .field("kappa", o.kappa)
        .field("spend", static_cast<int>(o.spend), o.horizon, o.minimum_correlation)
        .field("otherwise", static_cast<int>(o.otherwise))
        .field("directions", o.directions)
        .field("clip", o.clip)
        .field("track_records", static_cast<int>(o.track_records));
    candidate_set::shape const& shape = candidates_.dimensions();
    out.field("candidates", shape.records, shape.subsets, shape.one_in,
              static_cast<int>(shape.complementary), candidates_.public_seed(),
              candidates_.first_record());
    out.field("chosen", chosen_).list("belief", belief_.log_weights());
    out.field("observations", observations_).field("spent", subset_.spent().value);
    out.list("spent_by_record", record_ ? record_->spent() : std::span<double const>());
    out.field("counts", unanimous_, held_);
    std::string symbols;
    for (release const& r : transcript_) {
      for (double const y : r.coefficients) symbols.push_back(y > 0.0 ? '+' : y < 0.0 ? '-' : '0');
    }
    out.field("transcript", symbols.empty() ? std::string("none") : symbols);
    auto const stream = secret_.save();
    out.list("stream_key", stream.key).field("stream_position", stream.position);
    return std::move(out).finish();
  }

  [[nodiscard]] static paczero parsed(std::string text) {
    archive_reader in(std::move(text), kind, format);
    auto const demand = [](bool holds, char const* name) {
      if (!holds) throw corrupt_state(std::string("paczero: ") + name + " is out of range");
    };
    auto const choice = [&]<class Enum>(std::string_view name, Enum& value, Enum last) {
      int number = 0;
      in.field(name, number);
      demand(number >= 0 && number <= static_cast<int>(last), "an option");
      value = static_cast<Enum>(number);
    };
    paczero_options o;
    in.field("steps", o.steps);
    in.field("budget", o.budget.value);
    choice("observed", o.what, observed::sign);
    choice("ledger", o.ledger, ledger_kind::pathwise);
    in.field("kappa", o.kappa);
    int rule = 0;
    in.field("spend", rule, o.horizon, o.minimum_correlation);
    demand(rule >= 0 && rule <= static_cast<int>(allocation::budget_then_zero), "spend");
    o.spend = static_cast<allocation>(rule);
    choice("otherwise", o.otherwise, disagreement::majority);
    in.field("directions", o.directions);
    in.field("clip", o.clip);
    int flag = 0;
    in.field("track_records", flag);
    o.track_records = flag != 0;
    candidate_set::shape shape;
    std::uint64_t seed = 0;
    std::size_t first = 0;
    in.field("candidates", shape.records, shape.subsets, shape.one_in, flag, seed, first);
    shape.complementary = flag != 0;

    std::size_t chosen = 0;
    std::size_t observations = 0;
    double spent = 0.0;
    std::size_t unanimous = 0;
    std::size_t held = 0;
    std::vector<double> weights;
    std::vector<double> by_record;
    std::string symbols;
    std::vector<std::uint32_t> key;
    typename std::remove_cvref_t<decltype(std::declval<Secret const&>().save())> stream{};
    in.field("chosen", chosen);
    in.list("belief", weights);
    in.field("observations", observations);
    in.field("spent", spent);
    in.list("spent_by_record", by_record);
    in.field("counts", unanimous, held);
    in.field("transcript", symbols);
    in.list("stream_key", key);
    in.field("stream_position", stream.position);
    in.finish();
    if (symbols == "none") symbols.clear();
    demand(key.size() == stream.key.size(), "stream_key");
    std::copy(key.begin(), key.end(), stream.key.begin());

    // A text that passed its checksum and still makes no sense is refused by the same checks that
    // guard the constructors.
    try {
      paczero run(checked(o), candidate_set::balanced(shape, seed, first), Secret::restore(stream),
                  fresh{});
      demand(chosen < run.candidates_.subsets(), "chosen");
      demand(weights.size() == run.candidates_.subsets(), "belief");
      demand(symbols.size() % o.directions == 0 && symbols.size() / o.directions <= o.steps,
             "transcript");
      run.chosen_ = chosen;
      run.belief_ = posterior::from_log_weights(std::move(weights));
      run.observations_ = observations;
      run.subset_ = ledger<nats>(run.subset_.budget(), nats(spent));
      demand(
          observations <= symbols.size() && unanimous <= symbols.size() && held <= symbols.size(),
          "a count of releases");
      demand(by_record.size() == (run.record_ ? run.records() : 0), "spent_by_record");
      if (run.record_) run.record_.emplace(run.record_->budget(), std::move(by_record));
      run.unanimous_ = unanimous;
      run.held_ = held;
      for (std::size_t t = 0; t < symbols.size(); t += o.directions) {
        release r;
        for (char const c : std::string_view(symbols).substr(t, o.directions)) {
          demand(c == '+' || c == '-' || c == '0', "transcript");
          r.coefficients.push_back((c == '+'   ? 1
                                    : c == '-' ? -1
                                               : 0) /
                                   static_cast<double>(o.directions));
        }
        run.transcript_.push_back(std::move(r));
      }
      return run;
    } catch (std::logic_error const& error) {
      throw corrupt_state(error.what());
    }
  }

  paczero_options options_;
  candidate_set candidates_;
  Secret secret_;
  std::uint64_t chosen_ = 0;
  posterior belief_;
  ledger<nats> subset_;
  std::optional<record_ledger> record_;
  std::size_t observations_ = 0;
  std::size_t unanimous_ = 0;
  std::size_t held_ = 0;
  std::vector<release> transcript_;
  std::vector<paczero_report> last_;
  std::vector<std::int8_t> signs_;
  std::filesystem::path path_;
  std::filesystem::path claimed_;
  std::optional<file_lock> lock_;
  std::int64_t owner_ = detail::process_id();
  bool unstored_ = false;
};

}  // namespace tacit
