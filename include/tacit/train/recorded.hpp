// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/mechanism/mezo.hpp>
#include <tacit/mechanism/noisy_sum.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/pac/allocation.hpp>
#include <tacit/pac/candidates.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/journal.hpp>
#include <tacit/zo/transcript.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// Between a run and its record: mechanisms described and read back, releases that are on disk before
/// they act, a model from its transcript.

namespace tacit {

namespace detail {

inline constexpr std::array<std::string_view, 3> ledger_words{"subset", "record", "pathwise"};
inline constexpr std::array<std::string_view, 2> observed_words{"value", "sign"};
inline constexpr std::array<std::string_view, 4> allocation_words{
    "uniform", "adaptive", "confident-or-hold", "budget-then-zero"};
inline constexpr std::array<std::string_view, 3> disagreement_words{"coin", "hold", "majority"};
inline constexpr std::array<std::string_view, 5> surrogate_words{"raw", "full-sign", "half-raw",
                                                                 "half-sign", "random-sign"};

}  // namespace detail

/// Takes a mechanism's parameters in the order in which they were described.
class parameter_reader {
 public:
  explicit parameter_reader(recorded_mechanism const& mechanism)
      : who_(mechanism.name), rest_(mechanism.parameters) {}

  /// @throws std::invalid_argument unless the next parameter has this name and type
  template <class T>
  [[nodiscard]] T take(std::string_view name) {
    if (!rest_.empty() && rest_.front().first == name) {
      if (auto const* value = std::get_if<T>(&rest_.front().second)) {
        rest_ = rest_.subspan(1);
        return *value;
      }
    }
    throw std::invalid_argument(
        detail::complaint(who_, name, "missing, or of another type", "the next parameter"));
  }
  [[nodiscard]] double real(std::string_view name) { return take<double>(name); }
  [[nodiscard]] std::uint64_t whole(std::string_view name) { return take<std::uint64_t>(name); }

  template <class Enum, std::size_t N>
  [[nodiscard]] Enum choice(std::string_view name, std::array<std::string_view, N> const& words) {
    auto const word = take<std::string>(name);
    auto const choice = detail::choice_called<Enum>(words, word);
    detail::require_argument(choice.has_value(), who_, name, word, "one of those there are");
    return *choice;
  }

  /// @throws std::invalid_argument if a parameter is left
  void finish() const {
    if (rest_.empty()) return;
    detail::fail_argument(who_, "parameter", rest_.front().first, "one of this mechanism");
  }

 private:
  std::string who_;
  std::span<std::pair<std::string, recorded_mechanism::value> const> rest_;
};

/// What of PACZero is public: its options and the candidate subsets. Not which of them is the secret.
[[nodiscard]] inline recorded_mechanism describe(paczero_options const& o,
                                                 candidate_set const& candidates) {
  bool const pathwise = o.ledger == ledger_kind::pathwise;
  recorded_mechanism out{"paczero", {}};
  auto const add = [&](std::string name, recorded_mechanism::value value) {
    out.parameters.emplace_back(std::move(name), std::move(value));
  };
  auto const add_word = [&](char const* name, auto const& words, auto choice) {
    add(name, detail::word_of("paczero", name, words, choice));
  };
  add("steps", std::uint64_t{o.steps});
  add_word("ledger", detail::ledger_words, o.ledger);
  add(pathwise ? "kappa" : "budget", pathwise ? o.kappa : o.budget.value);
  add_word("observed", detail::observed_words, o.what);
  add_word("allocation", detail::allocation_words, o.spend);
  if (o.spend == allocation::confident_or_hold) {
    add("horizon", o.horizon);
    add("minimum_correlation", o.minimum_correlation);
  }
  add_word("disagreement", detail::disagreement_words, o.otherwise);
  add("clip", o.clip);
  candidate_set::shape const& shape = candidates.dimensions();
  add("records", std::uint64_t{shape.records});
  add("subsets", std::uint64_t{shape.subsets});
  add("one_in", std::uint64_t{shape.one_in});
  add("complementary", std::uint64_t{shape.complementary});
  add("candidate_seed", candidates.public_seed());
  return out;
}

/// A described PACZero.
struct paczero_description {
  paczero_options options;
  candidate_set::shape candidates;
  std::uint64_t candidate_seed = 0;
};

/// The inverse of `describe`; `directions` is the record's.
/// @throws std::invalid_argument, std::domain_error naming the parameter that `describe` never writes
[[nodiscard]] inline paczero_description paczero_described(recorded_mechanism const& mechanism,
                                                           std::size_t directions) {
  constexpr std::string_view who = "paczero";
  detail::require_argument(mechanism.name == who, who, "mechanism", mechanism.name, "paczero");
  parameter_reader in(mechanism);
  paczero_description out;
  paczero_options& o = out.options;
  o.directions = directions;
  o.steps = in.whole("steps");
  detail::require_domain(o.steps >= 1, who, "steps", o.steps, "at least 1");
  o.ledger = in.choice<ledger_kind>("ledger", detail::ledger_words);
  if (o.ledger == ledger_kind::pathwise) {
    o.kappa = in.real("kappa");
    detail::require_domain(o.kappa > 0.0 && o.kappa <= 0.5, who, "kappa", o.kappa, "in (0, 0.5]");
  } else {
    o.budget = nats(in.real("budget"));
    detail::check_non_negative(who, "budget", o.budget.value);
  }
  o.what = in.choice<observed>("observed", detail::observed_words);
  detail::require_argument(o.ledger != ledger_kind::pathwise || o.what == observed::sign, who,
                           "observed", std::string("value"), "sign for the pathwise ledger");
  o.spend = in.choice<allocation>("allocation", detail::allocation_words);
  if (o.spend == allocation::confident_or_hold) {
    o.horizon = in.real("horizon");
    o.minimum_correlation = in.real("minimum_correlation");
    detail::require_domain(o.horizon >= 1.0, who, "horizon", o.horizon, "at least 1");
    detail::require_domain(o.minimum_correlation > 0.0 && o.minimum_correlation <= 1.0, who,
                           "minimum_correlation", o.minimum_correlation, "in (0, 1]");
  }
  o.otherwise = in.choice<disagreement>("disagreement", detail::disagreement_words);
  o.clip = in.real("clip");
  detail::check_positive(who, "clip", o.clip);
  out.candidates.records = in.whole("records");
  out.candidates.subsets = in.whole("subsets");
  out.candidates.one_in = in.whole("one_in");
  auto const paired = in.whole("complementary");
  detail::require_domain(paired <= 1, who, "complementary", paired, "0 or 1");
  out.candidates.complementary = paired == 1;
  out.candidate_seed = in.whole("candidate_seed");
  in.finish();
  candidate_set::shape const& s = out.candidates;
  constexpr std::uint64_t most = std::uint64_t{1} << 32;
  detail::require_domain(s.records >= 1 && s.records <= most, who, "records", s.records,
                         "in [1, 2^32]");
  detail::require_domain(s.one_in >= 2, who, "one_in", s.one_in, "at least 2");
  detail::require_domain(s.subsets >= 1 && s.subsets < most && s.subsets % s.one_in == 0, who,
                         "subsets", s.subsets, "a multiple of one_in in [1, 2^32 - 1]");
  detail::require_domain(!s.complementary || s.one_in == 2, who, "one_in", s.one_in,
                         "2 for complementary subsets");
  return out;
}

/// What of MeZO is public.
[[nodiscard]] inline recorded_mechanism describe(mezo_options const& o, std::size_t records) {
  return {"mezo",
          {{"steps", std::uint64_t{o.steps}},
           {"surrogate", detail::word_of("mezo", "surrogate", detail::surrogate_words, o.what)},
           {"clip", o.clip},
           {"records", std::uint64_t{records}}}};
}

/// A described MeZO.
struct mezo_description {
  mezo_options options;
  std::size_t records = 0;
};

/// The inverse of `describe`.
/// @throws std::invalid_argument, std::domain_error naming the parameter that `describe` never writes
[[nodiscard]] inline mezo_description mezo_described(recorded_mechanism const& mechanism,
                                                     std::size_t directions) {
  constexpr std::string_view who = "mezo";
  detail::require_argument(mechanism.name == who, who, "mechanism", mechanism.name, "mezo");
  parameter_reader in(mechanism);
  mezo_description out;
  out.options.directions = directions;
  out.options.steps = in.whole("steps");
  out.options.what = in.choice<surrogate>("surrogate", detail::surrogate_words);
  out.options.clip = in.real("clip");
  detail::check_positive(who, "clip", out.options.clip);
  out.records = in.whole("records");
  detail::require_domain(out.records >= 1, who, "records", out.records, "at least 1");
  in.finish();
  return out;
}

/// What is public of dpzero, dp_aggzo or dp_zo_laplace, whichever is `name`. (Not who takes part.)
[[nodiscard]] inline recorded_mechanism describe(std::string name, noisy_sum_options const& o,
                                                 std::size_t records) {
  return {std::move(name),
          {{"steps", std::uint64_t{o.steps}},
           {"clip", o.clip},
           {"noise_multiplier", o.noise_multiplier},
           {"rate", o.rate},
           {"expected_records", o.expected_records},
           {"records", std::uint64_t{records}}}};
}

/// One of those, described.
struct noisy_sum_description {
  noisy_sum_options options;
  std::size_t records = 0;
};

/// The inverse of `describe`.
/// @throws std::invalid_argument, std::domain_error naming the parameter that `describe` never writes
[[nodiscard]] inline noisy_sum_description noisy_sum_described(
    recorded_mechanism const& mechanism) {
  std::string const& who = mechanism.name;
  parameter_reader in(mechanism);
  noisy_sum_description out;
  out.options.steps = in.whole("steps");
  detail::require_domain(out.options.steps >= 1, who, "steps", out.options.steps, "at least 1");
  out.options.clip = in.real("clip");
  out.options.noise_multiplier = in.real("noise_multiplier");
  out.options.rate = in.real("rate");
  out.options.expected_records = in.real("expected_records");
  out.options.check(who);
  out.records = in.whole("records");
  detail::require_domain(out.records >= 1, who, "records", out.records, "at least 1");
  in.finish();
  return out;
}

/// A mechanism whose releases are on disk before the loop applies them:
///
///     journal log = journal::create("run.journal", record);
///     journaled recorded{mechanism, log};
///     trainer run{recorded, record.training, theta};
///
/// A journal that is behind a resumed mechanism (a crash came between the two files) is given the
/// releases that it lacks. Both are used, not owned, and must outlive this.
template <zeroth_order_mechanism Mechanism>
class journaled {
 public:
  /// @throws std::invalid_argument unless the journal is one of this mechanism: as many directions, and
  ///         the releases that the mechanism made
  journaled(Mechanism& mechanism, journal& log) : mechanism_(&mechanism), log_(&log) {
    detail::check_size("journaled", "directions of the journal", log.run().directions,
                       mechanism.directions());
    if constexpr (requires { mechanism.transcript(); }) {
      std::span<release const> const made = mechanism.transcript();
      for (std::size_t t = 0; t < std::min(log.steps(), made.size()); ++t) {
        std::span<double const> const logged = log.step(t);
        std::span<double const> const released = made[t].coefficients;
        if (!std::equal(logged.begin(), logged.end(), released.begin(), released.end())) {
          detail::fail_argument("journaled", "step " + detail::to_text(t) + " of the journal",
                                std::string("another one"), "what the mechanism released");
        }
      }
      for (std::size_t t = log.steps(); t < made.size(); ++t) log.append(made[t].coefficients);
    }
    detail::check_size("journaled", "steps of the journal", log.steps(), mechanism.steps());
  }

  [[nodiscard]] std::size_t records() const { return mechanism_->records(); }
  [[nodiscard]] std::size_t directions() const { return mechanism_->directions(); }
  [[nodiscard]] std::size_t steps() const { return mechanism_->steps(); }
  [[nodiscard]] bool done() const { return mechanism_->done(); }

  /// @throws what the mechanism throws, and std::system_error if the release cannot be written: it is
  ///         not applied then, and the run goes on from the mechanism's file
  release step(std::span<double const> scalars) {
    release released = mechanism_->step(scalars);
    log_->append(released.coefficients);
    return released;
  }

 private:
  Mechanism* mechanism_;
  journal* log_;
};

/// The releases of a transcript, as `replay` takes them.
[[nodiscard]] inline std::vector<release> releases_of(transcript const& from) {
  std::vector<release> result;
  result.reserve(from.steps());
  for (std::size_t t = 0; t < from.steps(); ++t) {
    std::span<double const> const step = from.step(t);
    result.push_back({{step.begin(), step.end()}});
  }
  return result;
}

/// Refuses parameters from which this run did not start: other tensors, or other numbers in them.
/// @throws std::invalid_argument naming the first difference
inline void check_start(parameters const& theta, run_record const& run) {
  constexpr std::string_view who = "check_start";
  std::vector<recorded_tensor> const here = tensors_of(theta);
  detail::check_size(who, "number of tensors", here.size(), run.tensors.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    recorded_tensor const& there = run.tensors[i];
    std::string const which = "tensor " + detail::to_text(i);
    detail::require_argument(here[i].name == there.name, who, "name of " + which, here[i].name,
                             there.name);
    detail::require_argument(here[i].type == there.type, who, "type of " + which,
                             std::string(name_of(here[i].type)), name_of(there.type));
    detail::require_argument(here[i].shape.front() == detail::entries_of(who, there), who,
                             "size of " + which, here[i].shape.front(),
                             detail::to_text(detail::entries_of(who, there)));
  }
  parameter_hash const found = hash_of(theta);
  detail::require_argument(found == run.start, who, "hash of the parameters", to_hex(found),
                           to_hex(run.start) + ", with which the run began");
}

/// In: the parameters with which the run began. Out: the tuned ones, bit for bit those of training.
/// @throws std::invalid_argument for any other parameters, which are left as they are
inline void replay(parameters const& theta, transcript const& run) {
  check_start(theta, run.run());
  replay(theta, run.run().training, releases_of(run));
}

}  // namespace tacit
