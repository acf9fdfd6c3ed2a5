// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/run_owner.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/pac/answer_belief.hpp>
#include <tacit/pac/answer_plan.hpp>
#include <tacit/pac/answer_transcript.hpp>
#include <tacit/secret/bernoulli.hpp>
#include <tacit/secret/discrete.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace tacit {

/// Candidates whose answers to a query are the query itself: M numbers, or a matrix with a row a candidate.
struct given_answers {
  std::size_t candidates;

  [[nodiscard]] std::size_t size() const noexcept { return candidates; }
  template <class Answers>
  [[nodiscard]] Answers const& operator()(Answers const& answers) const noexcept {
    return answers;
  }
};

template <class Candidates, secret_bits Secret>
class saved_answering;

struct answering_options {
  nats budget{0.0};      ///< of all answers together
  nats per_answer{0.0};  ///< what one may tell; far less than `budget`
  answer_options how{};
  /// No answers whatever make a candidate more than e^κ times as likely as it was, or as unlikely; up to 100, or ∞ for no such cap.
  double kappa = std::numeric_limits<double>::infinity();
  bool recorded = false;  ///< keep a transcript: some 40 bytes an answer and axis
};

namespace detail {

/// @throws std::domain_error unless the budget is finite and at least 0, per_answer in [1e-100, 1000], the resolution in [2, 40],
///         and kappa in (0, 100] or ∞
inline void check_answering(answering_options const& options) {
  check_non_negative("answering", "budget", options.budget.value);
  require_domain(options.per_answer.value >= 1e-100 && options.per_answer.value <= 1e3, "answering",
                 "per_answer", options.per_answer.value, "in [1e-100, 1000]");
  require_domain(options.how.resolution >= 2 && options.how.resolution <= 40, "answering",
                 "resolution", options.how.resolution, "in [2, 40]");
  require_domain(options.kappa > 0.0 && (options.kappa <= 100.0 || std::isinf(options.kappa)),
                 "answering", "kappa", options.kappa, "in (0, 100], or infinite");
}

}  // namespace detail

/// Private answers to any number of queries that may depend on the answers before (PAC-private responses, Zhu, Sridhar &
/// Devadas 2026, arXiv 2601.14033). One of M candidates, drawn uniformly in secret, answers all of them.
///
/// `Candidates` has `size()`, M, and returns for a query what all of them would answer: M numbers as contiguous doubles, for one
/// cell; or an M×d matrix, for d cells that are noised together. The program that asks may be anybody's; whoever sees the
/// candidates' answers sees the secret data.
///
/// Guarantee: I(j; all answers) ≤ `spent()` ≤ budget. Each answer is charged, before it is drawn, an upper bound of I(j; answer |
/// answers before) at the exact posterior, whose rounding is part of the charge. What is drawn are whole numbers, exactly; nothing
/// else depends on j (docs/certificates/pac.md, 27 and 28). With κ, moreover, P(j = m | answers) stays in [e^−κ/M, e^κ/M] for each m
/// whatever the answers are: where these leave little room, the next has more noise (30).
/// It moves and does not copy, and is refused in a forked process. One that outlives its process: `saved_answering`.
template <class Candidates = given_answers, secret_bits Secret = secret_stream>
class answering {
 public:
  /// @throws std::invalid_argument unless there are 2 to 2²⁴ candidates; std::domain_error unless the budget is finite and at least
  ///         0, per_answer in [1e-100, 1000], the resolution in [2, 40], and kappa in (0, 100] or infinite
  answering(Candidates candidates, answering_options const& options, Secret secret = Secret())
      : candidates_(std::move(candidates)),
        options_(options),
        account_(options.budget),
        belief_(candidates_.size()),
        secret_(std::move(secret)) {
    detail::check_answering(options);
    truth_ = static_cast<std::size_t>(uniform_below(secret_, candidates_.size()));
    if (options_.recorded) transcript_.emplace(belief_.candidates(), options_.budget, options_.how);
  }

  [[nodiscard]] Candidates const& candidates() const noexcept { return candidates_; }
  [[nodiscard]] nats budget() const noexcept { return account_.budget(); }
  [[nodiscard]] nats spent() const noexcept { return account_.spent(); }
  [[nodiscard]] nats remaining() const noexcept { return account_.remaining(); }
  [[nodiscard]] std::uint64_t answers() const noexcept { return answers_; }

  /// What an attacker who saw all answers believes: public, for whoever knows the candidates' answers.
  [[nodiscard]] answer_belief const& belief() const noexcept { return belief_; }

  /// No attacker is right more often, on average over the answers, about something whose best guess beforehand is right with
  /// probability `prior`: a half for the membership of a record in balanced subsets, 1/M for j.
  [[nodiscard]] double attack_bound(double prior = 0.5) const {
    return std::min(attack_success(spent(), prior), attack_bound_afterwards(prior));
  }

  /// The same given any answers at all, and about anything, chosen after they were seen: min(e^κ·prior, 1 − e^−κ·(1 − prior)),
  /// which is 1 without κ.
  [[nodiscard]] double attack_bound_afterwards(double prior = 0.5) const {
    detail::require_domain(prior > 0.0 && prior <= 1.0, "answering", "prior", prior, "in (0, 1]");
    if (std::isinf(options_.kappa)) return 1.0;
    constexpr double up = 1.0 + 16.0 * detail::unit_roundoff;
    double const seldom = elementary::exp(-options_.kappa) * (1.0 - prior) / up;
    return std::min({elementary::exp(options_.kappa) * prior * up, (1.0 - seldom) * up, 1.0});
  }

  /// What was said, if it was to be recorded.
  [[nodiscard]] std::optional<answer_transcript> const& transcript() const noexcept {
    return transcript_;
  }

  /// A double for one cell, else a vector of d.
  /// @throws budget_exhausted if the charge does not fit, or κ leaves no room: nothing was charged or drawn; as `plan_answer`;
  ///         std::logic_error where this was moved from, or in a forked process
  template <class Query>
  auto answer(Query const& query) {
    return answer(query, options_.per_answer);
  }

  /// The same for this many nats at most.
  template <class Query>
  auto answer(Query const& query, nats at_most) {
    return answer(query, at_most, [] {});
  }

 private:
  friend class saved_answering<Candidates, Secret>;

  // A stored one, with another source of noise.
  answering(Candidates&& candidates, answering_options const& options, nats spent,
            answer_belief&& belief, Secret&& secret, std::size_t truth, std::uint64_t answers)
      : candidates_(std::move(candidates)),
        options_(options),
        account_(options.budget, spent),
        belief_(std::move(belief)),
        secret_(std::move(secret)),
        truth_(truth),
        answers_(answers) {}

  // `charged` is called between the charge and the draw, and may throw.
  template <class Query, class Charged>
  auto answer(Query const& query, nats at_most, Charged&& charged) {
    owner_.check("answering");
    double const room = std::isinf(options_.kappa)
                            ? options_.kappa
                            : detail::subtract_down(options_.kappa, belief_.strayed());
    auto const [plan, within] =
        detail::plan_within(candidates_(query), belief_, at_most, options_.how, room);
    receipt<nats> const paid = account_.charge(plan.charge);
    static_cast<void>(paid);
    std::forward<Charged>(charged)();
    ++answers_;
    said_.resize(plan.along.size());
    for (std::size_t i = 0; i < said_.size(); ++i) {
      answer_axis const& axis = plan.along[i];
      auto const place = static_cast<std::int64_t>(axis.places[truth_]);
      do {
        said_[i] = place;
        if (axis.scale > 0) said_[i] += draw_discrete_gaussian(secret_, axis.scale);
      } while (axis.scale > 0 && (said_[i] > axis.reach || said_[i] < -axis.reach));
    }
    observe(belief_, plan, said_);
    if (transcript_) transcript_->add(plan, within, said_);
    if constexpr (requires { candidates_(query).cols(); }) {
      return plan.shown(said_);
    } else {
      return plan.shown(said_)(0);
    }
  }

  Candidates candidates_;
  answering_options options_;
  ledger<nats> account_;
  answer_belief belief_;
  Secret secret_;
  std::size_t truth_ = 0;
  std::uint64_t answers_ = 0;
  std::vector<std::int64_t> said_;
  std::optional<answer_transcript> transcript_;
  detail::run_owner owner_;
};

}  // namespace tacit
