// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/open_file.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/mechanism/answering.hpp>
#include <tacit/mechanism/saved_run.hpp>
#include <tacit/pac/answer_belief.hpp>
#include <tacit/pac/answer_plan.hpp>
#include <tacit/secret/bernoulli.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace tacit {

namespace detail {

/// What a file keeps of private answers: all but the candidates and the source of the noise.
class answers_on_file {
 public:
  struct state {
    static constexpr std::string_view kind = "tacit-answering";
    static constexpr unsigned version = 1;

    nats budget{0.0};
    nats per_answer{0.0};
    answer_options how{};
    double kappa = 0.0;
    std::size_t truth = 0;
    nats charged{0.0};
    bool ahead =
        false;  // whether answers may have been given that are charged, and not in the belief
    std::uint64_t answers = 0;
    answer_belief::state belief{};

    template <class Archive, class Self>
    static void fields(Archive& archive, Self& self) {
      archive.field("budget", self.budget.value);
      archive.field("per_answer", self.per_answer.value);
      archive.field("how", self.how.axes, self.how.resolution);
      archive.field("kappa", self.kappa);
      archive.field("truth", self.truth);
      archive.field("charged", self.charged.value, self.ahead);
      archive.field("answers", self.answers);
      answer_belief::state::fields(archive, self.belief);
    }
  };

  explicit answers_on_file(state now) : now_(std::move(now)) {}

  [[nodiscard]] state const& save() const noexcept { return now_; }

  [[nodiscard]] static answers_on_file restore(state from) {
    constexpr std::string_view who = "saved_answering";
    std::size_t const candidates = answer_belief::restore(from.belief).candidates();
    require_domain(from.truth < candidates, who, "candidate", from.truth, "one of those there are");
    require_domain(
        from.how.axes == answer_axes::principal || from.how.axes == answer_axes::coordinates, who,
        "axes", static_cast<int>(from.how.axes), "one of those there are");
    check_answering({.budget = from.budget,
                     .per_answer = from.per_answer,
                     .how = from.how,
                     .kappa = from.kappa});
    static_cast<void>(ledger<nats>(from.budget, from.charged));
    return answers_on_file(std::move(from));
  }

  /// From now on this is what the file keeps.
  [[nodiscard]] nats step(state now) {
    now_ = std::move(now);
    return now_.charged;
  }

 private:
  state now_;
};

}  // namespace detail

/// Private answers that outlive their process: `answering`, bound to a file.
///
///     saved_answering<models> answers(models{…}, {.budget = nats(1e-3), .per_answer = nats(0x1p-32)}, "answers.state");
///     auto answers = saved_answering<models>::resume(models{…}, "answers.state");
///
/// `ahead` is what the file is charged at a time. 0: each answer is stored with its charge before it is returned, which takes
/// a write to the disk for each that costs anything. Otherwise the file is charged `ahead` nats more whenever what it was charged is used
/// up, and between these writes an answer takes a look at the file and no write; `close`, or the end of the object, gives back what is left. After
/// a crash all of what was charged counts as spent. The answers since the last write are not known then, and later
/// ones are charged whatever an attacker may have learned from them, which asks for more noise (`answer_belief::forget`).
///
/// Guarantee: that of `answering` for the answers of all processes together. However a process ends, each answer that it returned
/// was charged on disk before. Nothing is drawn twice: the noise after `resume` comes from a source of its own.
/// The file holds the secret, and is kept as by `saved_run`: readable by its owner alone, written by one run at a time, refused where
/// it was moved, has a second name, or in a forked process. A copy of it defeats this.
template <class Candidates = given_answers, secret_bits Secret = secret_stream>
class saved_answering {
 public:
  /// Starts. `about`, one word such as a digest of the data, says what the answers belong to: `resume` needs the same.
  /// @throws std::invalid_argument if the answers were to be recorded: a file keeps no transcript; for `ahead` with kappa;
  ///         as `answering`, `saved_run`
  saved_answering(Candidates candidates, answering_options const& options, file_path const& file,
                  nats ahead = nats(0.0), std::string about = {}, Secret secret = Secret())
      : saved_answering(
            file_of(started(candidates, options, ahead, secret), file, std::move(about)),
            std::move(candidates), ahead, std::move(secret)) {}

  /// Goes on, with the candidates that there were.
  /// @throws std::invalid_argument for another number of candidates; as `saved_run::resume`
  [[nodiscard]] static saved_answering resume(Candidates candidates, file_path const& file,
                                              nats ahead = nats(0.0), std::string about = {},
                                              Secret secret = Secret()) {
    detail::check_non_negative(who, "ahead", ahead.value);
    return {on_file::resume(file, std::move(about)), std::move(candidates), ahead,
            std::move(secret)};
  }

  /// Goes on with what is in `file`, whose options then hold, or starts where there is none, or an empty file.
  /// @throws as both
  [[nodiscard]] static saved_answering resume_or_start(
      Candidates candidates, answering_options const& options, file_path const& file,
      nats ahead = nats(0.0), std::string about = {}, Secret secret = Secret()) {
    detail::check_non_negative(who, "ahead", ahead.value);
    auto const start = [&] { return started(candidates, options, ahead, secret); };
    return {on_file::resume_or_start(file, start, std::move(about)), std::move(candidates), ahead,
            std::move(secret)};
  }

  saved_answering(saved_answering&&) noexcept = default;
  saved_answering& operator=(saved_answering&&) = delete;
  saved_answering(saved_answering const&) = delete;
  saved_answering& operator=(saved_answering const&) = delete;

  /// Closes, unless that fails: the file is then as after a crash.
  ~saved_answering() {
    try {
      close();
    } catch (std::exception const&) {  // moved from, in a forked process, or a disk that fails
    }
  }

  /// As of `answering`, constant: what was spent, and what is left, by the answers that were given. Those that cost nothing, where
  /// all candidates agree, are not stored, nor is their number.
  [[nodiscard]] answering<Candidates, Secret> const& operator*() const noexcept { return answers_; }
  [[nodiscard]] answering<Candidates, Secret> const* operator->() const noexcept {
    return &answers_;
  }

  /// What counts as spent if the process ends now.
  [[nodiscard]] nats charged() const noexcept { return file_->save().charged; }

  /// @throws as `answering::answer`; std::system_error if it cannot be stored: nothing was answered then, and this object is of
  ///         no further use
  template <class Query>
  auto answer(Query const& query) {
    return answer(query, answers_.options_.per_answer);
  }

  /// The same for this many nats at most.
  template <class Query>
  auto answer(Query const& query, nats at_most) {
    file_.check();
    auto said = answers_.answer(query, at_most, [&] {
      if (ahead_.value > 0.0 && answers_.spent().value > charged().value) {
        store(nats(std::min(answers_.budget().value,
                            detail::add_up(answers_.spent().value, ahead_.value))),
              true);
      }
    });
    // What cost nothing taught nobody anything.
    if (answers_.spent().value > charged().value) store(answers_.spent(), false);
    return said;
  }

  /// Gives back what was charged ahead and is not spent. Answers may follow, charged anew.
  /// @throws std::system_error if it cannot be stored; std::logic_error where this was moved from, or in a forked process
  void close() {
    file_.check();
    if (file_->save().ahead) store(answers_.spent(), false);
  }

 private:
  using on_file = saved_run<detail::answers_on_file>;
  using state = detail::answers_on_file::state;

  static constexpr std::string_view who = "saved_answering";

  saved_answering(on_file&& file, Candidates&& candidates, nats ahead, Secret&& secret)
      : file_(std::move(file)),
        answers_(restored(file_->save(), std::move(candidates), std::move(secret))),
        ahead_(ahead) {
    check_ahead(ahead, answers_.options_.kappa);
    if (file_->save().ahead)
      store(answers_.spent(), false);  // that answers are missing is known now
  }

  // What is lost in a crash may have been anything, also what leaves no room.
  static void check_ahead(nats ahead, double kappa) {
    detail::require_argument(ahead.value == 0.0 || std::isinf(kappa), who, "ahead", ahead.value,
                             "0 with kappa, which needs all answers known");
  }

  static on_file file_of(detail::answers_on_file&& start, file_path const& file,
                         std::string&& about) {
    return on_file(std::move(start), file, std::move(about));
  }

  static detail::answers_on_file started(Candidates const& candidates,
                                         answering_options const& options, nats ahead,
                                         Secret& secret) {
    detail::check_non_negative(who, "ahead", ahead.value);
    detail::require_argument(!options.recorded, who, "recorded", true,
                             "false: a file keeps no transcript");
    detail::check_answering(options);
    check_ahead(ahead, options.kappa);
    answer_belief const belief(candidates.size());
    return detail::answers_on_file(
        {.budget = options.budget,
         .per_answer = options.per_answer,
         .how = options.how,
         .kappa = options.kappa,
         .truth = static_cast<std::size_t>(uniform_below(secret, candidates.size())),
         .belief = belief.save()});
  }

  static answering<Candidates, Secret> restored(state const& from, Candidates&& candidates,
                                                Secret&& secret) {
    answer_belief belief = answer_belief::restore(from.belief);
    detail::check_size(who, "number of candidates", candidates.size(), belief.candidates());
    if (from.ahead) belief.forget();
    return {std::move(candidates),
            {.budget = from.budget,
             .per_answer = from.per_answer,
             .how = from.how,
             .kappa = from.kappa},
            from.charged,
            std::move(belief),
            std::move(secret),
            from.truth,
            from.answers};
  }

  void store(nats charged, bool ahead) {
    state now = file_->save();
    now.charged = charged;
    now.ahead = ahead;
    now.answers = answers_.answers();
    now.belief = answers_.belief().save();
    static_cast<void>(file_.step(std::move(now)));
  }

  on_file file_;
  answering<Candidates, Secret> answers_;
  nats ahead_;
};

}  // namespace tacit
