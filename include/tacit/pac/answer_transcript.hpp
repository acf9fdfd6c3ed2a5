// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/answer_belief.hpp>
#include <tacit/pac/answer_plan.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tacit {

/// Learns from whole numbers that were said by this plan.
template <dense_scalar T>
void observe(answer_belief& belief, basic_answer_plan<T> const& plan,
             std::span<std::int64_t const> said) {
  bool learned = false;
  for (std::size_t i = 0; i < plan.along.size(); ++i) {
    if (plan.along[i].scale == 0) continue;
    belief.see(plan.along[i].places, static_cast<double>(said[i]),
               static_cast<double>(plan.along[i].scale));
    learned = true;
  }
  if (learned) belief.learn();
}

/// What was said, query by query: public. Whoever has the candidates' answers can check by it what was charged (`audit_answers`).
template <dense_scalar Scalar = double>
class basic_answer_transcript {
 public:
  struct entry {
    double at_most;  // nats
    std::size_t axes;
  };
  struct axis {
    double step;
    std::uint64_t scale;
    std::int64_t centre;
    std::int64_t said;  // relative to it
  };

  basic_answer_transcript(std::size_t candidates, nats budget, answer_options const& how)
      : candidates_(candidates), budget_(budget), how_(how) {}

  [[nodiscard]] std::size_t candidates() const noexcept { return candidates_; }
  [[nodiscard]] nats budget() const noexcept { return budget_; }
  [[nodiscard]] answer_options const& how() const noexcept { return how_; }
  [[nodiscard]] std::size_t answers() const noexcept { return entries_.size(); }
  [[nodiscard]] std::span<entry const> entries() const noexcept { return entries_; }
  /// Of all entries, one after another.
  [[nodiscard]] std::span<axis const> axes() const noexcept { return axes_; }

  template <dense_scalar T>
  void add(basic_answer_plan<T> const& plan, nats at_most, std::span<std::int64_t const> said) {
    entries_.push_back({at_most.value, plan.along.size()});
    for (std::size_t i = 0; i < said.size(); ++i) {
      answer_axis const& one = plan.along[i];
      axes_.push_back({one.step, one.scale, one.centre, said[i]});
    }
  }

  /// Versioned lines with a checksum (core/text_archive.hpp), a line an answer.
  [[nodiscard]] std::string text() const {
    archive_writer out(kind, version);
    out.field("candidates", candidates_).field("budget", budget_.value);
    out.field("how", how_.axes, how_.resolution).field("answers", entries_.size());
    std::size_t next = 0;
    std::vector<std::int64_t> whole;
    std::vector<double> steps;
    for (entry const& e : entries_) {
      whole.clear();
      steps.clear();
      for (std::size_t i = 0; i < e.axes; ++i, ++next) {
        axis const& a = axes_[next];
        steps.push_back(a.step);
        for (std::int64_t const x : {static_cast<std::int64_t>(a.scale), a.centre, a.said}) {
          whole.push_back(x);
        }
      }
      out.field("at_most", e.at_most).list("steps", steps).list("said", whole);
    }
    return std::move(out).finish();
  }

  /// @throws corrupt_state for any text but one of the above
  [[nodiscard]] static basic_answer_transcript parse(std::string text) {
    archive_reader in(std::move(text), kind, version);
    std::size_t candidates = 0;
    double budget = 0.0;
    answer_options how;
    std::size_t answers = 0;
    in.field("candidates", candidates);
    in.field("budget", budget);
    in.field("how", how.axes, how.resolution);
    in.field("answers", answers);
    bool const known = how.axes == answer_axes::principal || how.axes == answer_axes::coordinates;
    if (candidates < 2 || !(budget >= 0.0) || !std::isfinite(budget) || !known) fail();
    basic_answer_transcript out(candidates, nats(budget), how);
    std::vector<std::int64_t> whole;
    std::vector<double> steps;
    for (std::size_t n = 0; n < answers; ++n) {
      double at_most = 0.0;
      in.field("at_most", at_most);
      in.list("steps", steps);
      in.list("said", whole);
      if (!(at_most >= 0.0) || !std::isfinite(at_most) || whole.size() != 3 * steps.size()) fail();
      out.entries_.push_back({at_most, steps.size()});
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (!(steps[i] > 0.0) || !std::isfinite(steps[i]) || whole[3 * i] < 0) fail();
        out.axes_.push_back({steps[i], static_cast<std::uint64_t>(whole[3 * i]), whole[3 * i + 1],
                             whole[3 * i + 2]});
      }
    }
    in.finish();
    return out;
  }

 private:
  static constexpr char const* kind = "tacit-answers";
  static constexpr unsigned version = 1;

  [[noreturn]] static void fail() { throw corrupt_state("answer_transcript: makes no sense"); }

  std::size_t candidates_;
  nats budget_;
  answer_options how_;
  std::vector<entry> entries_;
  std::vector<axis> axes_;
};

using answer_transcript = basic_answer_transcript<>;

struct answer_audit {
  std::size_t answers = 0;  ///< that agree with the candidates, from the first on
  bool whole = false;       ///< all of them do
  nats revealed{0.0};       ///< an upper bound for those, computed anew
  answer_belief belief;     ///< after them
};

namespace detail {

/// What would be said by whom: numbers for one cell, or a matrix with a row a candidate.
template <class Answers>
[[nodiscard]] auto plan_any(Answers const& all, answer_belief const& belief, nats at_most,
                            answer_options const& how) {
  if constexpr (requires { all.rows(), all.cols(); }) {
    return plan_answer<typename Answers::Scalar>(all, belief, at_most, how);
  } else {
    return plan_answer(std::span<double const>(all), belief, at_most, how);
  }
}

/// The same where no answer may move the logarithm of a candidate's probability by more than `room`: for as many nats less
/// as that takes. With how many it is.
/// @throws budget_exhausted if no noise is enough
template <class Answers>
[[nodiscard]] auto plan_within(Answers const& all, answer_belief const& belief, nats at_most,
                               answer_options const& how, double room) {
  for (;;) {
    auto plan = plan_any(all, belief, at_most, how);
    if (plan.swing <= std::max(room, 0.0)) return std::pair(std::move(plan), at_most);
    double const share = room / plan.swing;
    at_most = nats(at_most.value * std::min(0.5, share * share));
    if (!(room > 0.0 && at_most.value >= 1e-100)) {
      throw budget_exhausted(
          "answer: what was said leaves no room for more within kappa, whatever the noise");
    }
  }
}

template <dense_scalar T>
[[nodiscard]] bool said_by(basic_answer_plan<T> const& plan,
                           std::span<answer_transcript::axis const> axes) {
  return std::equal(
      plan.along.begin(), plan.along.end(), axes.begin(), axes.end(),
      [](answer_axis const& planned, answer_transcript::axis const& recorded) {
        bool const same = planned.step == recorded.step && planned.scale == recorded.scale &&
                          planned.centre == recorded.centre;
        if (planned.scale > 0) {
          return same && recorded.said <= planned.reach && recorded.said >= -planned.reach;
        }
        return same && recorded.said == static_cast<std::int64_t>(planned.places.front());
      });
}

}  // namespace detail

/// Replays a transcript for one who has the candidates' answers: `answers_to(n)` is what all of them answered to the n-th query, M
/// numbers or a matrix with a row a candidate. Grid, noise and charge of each answer are computed anew from what was said before, and
/// the first answer that has others ends the audit. It needs the same build of the program: another may round differently.
/// Guarantee: `revealed` bounds the information in the answers that agree, if they were drawn as the transcript says.
/// @throws as `plan_answer`
template <class AnswersTo>
[[nodiscard]] answer_audit audit_answers(answer_transcript const& transcript,
                                         AnswersTo const& answers_to) {
  answer_audit out{.belief = answer_belief(transcript.candidates())};
  ledger<nats> account{transcript.budget()};
  std::span<answer_transcript::axis const> left = transcript.axes();
  std::vector<std::int64_t> said;
  for (answer_transcript::entry const& entry : transcript.entries()) {
    auto const plan = detail::plan_any(answers_to(out.answers), out.belief, nats(entry.at_most),
                                       transcript.how());
    std::span<answer_transcript::axis const> const axes = left.first(entry.axes);
    if (!detail::said_by(plan, axes) || account.would_exceed(plan.charge)) return out;
    static_cast<void>(account.charge(plan.charge));
    said.clear();
    for (answer_transcript::axis const& one : axes) said.push_back(one.said);
    observe(out.belief, plan, said);
    left = left.subspan(entry.axes);
    ++out.answers;
    out.revealed = account.spent();
  }
  out.whole = true;
  return out;
}

}  // namespace tacit
