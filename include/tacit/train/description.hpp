// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/mechanism/mezo.hpp>
#include <tacit/mechanism/noisy_sum.hpp>
#include <tacit/mechanism/paczero_options.hpp>
#include <tacit/pac/allocation.hpp>
#include <tacit/pac/candidates.hpp>
#include <tacit/zo/transcript.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// The public part of a mechanism, as a run's record has it: one list of its parameters serves to write and
/// to read it. (Functions are templates so that nothing is instantiated before it is called.)

namespace tacit {

namespace detail {

inline constexpr std::array<std::string_view, 3> ledger_words{"subset", "record", "pathwise"};
inline constexpr std::array<std::string_view, 2> observed_words{"value", "sign"};
inline constexpr std::array<std::string_view, 4> allocation_words{
    "uniform", "adaptive", "confident-or-hold", "budget-then-zero"};
inline constexpr std::array<std::string_view, 3> disagreement_words{"coin", "hold", "majority"};
inline constexpr std::array<std::string_view, 5> surrogate_words{"raw", "full-sign", "half-raw",
                                                                 "half-sign", "random-sign"};

[[nodiscard]] inline std::string text_of_lists(std::vector<std::vector<std::size_t>> const& lists) {
  std::string text;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (i != 0) text += ';';
    for (std::size_t j = 0; j < lists[i].size(); ++j) {
      if (j != 0) text += ',';
      text += to_text(lists[i][j]);
    }
  }
  return text;
}

/// Nothing for a text that `text_of_lists` does not write.
[[nodiscard]] inline std::optional<std::vector<std::vector<std::size_t>>> lists_in_text(
    std::string_view text) {
  std::vector<std::vector<std::size_t>> lists(1);
  for (;;) {
    std::size_t const end = std::min(text.find_first_of(",;"), text.size());
    auto const n = from_text<std::size_t>(text.substr(0, end));
    if (!n) return std::nullopt;
    lists.back().push_back(*n);
    if (end == text.size()) return lists;
    if (text[end] == ';') lists.emplace_back();
    text.remove_prefix(end + 1);
  }
}

}  // namespace detail

/// Writes a mechanism's parameters.
template <std::same_as<recorded_mechanism> Record = recorded_mechanism>
class basic_parameter_writer {
 public:
  explicit basic_parameter_writer(Record& mechanism) : mechanism_(&mechanism) {}

  void field(std::string_view name, double value) { add(name, value); }
  /// Left out where it is NaN.
  void optional_field(std::string_view name, double value) {
    if (value == value) add(name, value);
  }
  /// Lists of numbers, as one text: 0,1;2,3,4. Left out where there is none.
  void optional_lists(std::string_view name, std::vector<std::vector<std::size_t>> const& lists) {
    if (!lists.empty()) add(name, detail::text_of_lists(lists));
  }
  void field(std::string_view name, std::unsigned_integral auto value) {
    add(name, std::uint64_t{value});
  }
  template <class Enum, std::size_t N>
  void field(char const* name, std::array<std::string_view, N> const& words, Enum value) {
    add(name, detail::word_of(mechanism_->name, name, words, value));
  }

 private:
  void add(std::string_view name, typename Record::value value) {
    mechanism_->parameters.emplace_back(std::string(name), std::move(value));
  }

  Record* mechanism_;
};
using parameter_writer = basic_parameter_writer<>;

/// Reads a mechanism's parameters in the order in which they were written.
template <std::same_as<recorded_mechanism> Record = recorded_mechanism>
class basic_parameter_reader {
 public:
  explicit basic_parameter_reader(Record const& mechanism)
      : who_(mechanism.name), rest_(mechanism.parameters.data(), mechanism.parameters.size()) {}

  /// @throws std::invalid_argument unless the next parameter has this name and type
  template <class T>
  [[nodiscard]] T take(std::string_view name) {
    if (next_is(name)) {
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

  [[nodiscard]] bool next_is(std::string_view name) const {
    return !rest_.empty() && rest_.front().first == name;
  }

  // Into a field, as `parameter_writer` takes it from one.
  void optional_field(std::string_view name, double& value) {
    if (next_is(name)) value = real(name);
  }
  void optional_lists(std::string_view name, std::vector<std::vector<std::size_t>>& lists) {
    if (!next_is(name)) return;
    auto const text = take<std::string>(name);
    auto read = detail::lists_in_text(text);
    detail::require_argument(read.has_value(), who_, name, text.substr(0, 40),
                             "lists of numbers, as 0,1;2,3,4");
    lists = *std::move(read);
  }
  void field(std::string_view name, double& value) { value = real(name); }
  template <std::unsigned_integral T>
  void field(std::string_view name, T& value) {
    constexpr std::uint64_t most = std::numeric_limits<T>::max();
    std::uint64_t const number = whole(name);
    detail::require_domain(number <= most, who_, name, number, "at most " + detail::to_text(most));
    value = static_cast<T>(number);
  }
  template <class Enum, std::size_t N>
  void field(std::string_view name, std::array<std::string_view, N> const& words, Enum& value) {
    value = choice<Enum>(name, words);
  }

  /// @throws std::invalid_argument if a parameter is left
  void finish() const {
    if (rest_.empty()) return;
    detail::fail_argument(who_, "parameter", rest_.front().first, "one of this mechanism");
  }

 private:
  std::string who_;
  std::span<std::pair<std::string, typename Record::value> const> rest_;
};
using parameter_reader = basic_parameter_reader<>;

namespace detail {

template <class Description>
[[nodiscard]] recorded_mechanism described_as(std::string name, Description const& description) {
  recorded_mechanism out{std::move(name), {}};
  parameter_writer writer(out);
  Description::fields(writer, description);
  return out;
}

template <class Description>
void read_description(recorded_mechanism const& mechanism, std::string_view name,
                      Description& description) {
  require_argument(mechanism.name == name, name, "mechanism", mechanism.name, name);
  parameter_reader reader(mechanism);
  Description::fields(reader, description);
  reader.finish();
}

}  // namespace detail

/// What of PACZero is public: its options and the candidate subsets. Not which of them is the secret.
struct paczero_description {
  paczero_options options;
  candidate_set::shape candidates;
  std::uint64_t candidate_seed = 0;

  template <class Parameters, class Self>
  static void fields(Parameters& parameters, Self& self) {
    auto& [o, shape, seed] = self;
    parameters.field("steps", o.steps);
    parameters.field("ledger", detail::ledger_words, o.ledger);
    if (o.ledger == ledger_kind::pathwise) {
      parameters.field("kappa", o.kappa);
    } else {
      parameters.field("budget", o.budget.value);
      parameters.optional_field("kappa", o.kappa);
    }
    parameters.optional_lists("groups", o.groups);
    if (!o.groups.empty()) parameters.field("group_budget", o.group_budget.value);
    parameters.field("observed", detail::observed_words, o.what);
    parameters.field("allocation", detail::allocation_words, o.spend);
    if (o.spend == allocation::confident_or_hold) {
      parameters.field("horizon", o.horizon);
      parameters.field("minimum_correlation", o.minimum_correlation);
    }
    parameters.field("disagreement", detail::disagreement_words, o.otherwise);
    parameters.field("clip", o.clip);
    parameters.field("records", shape.records);
    parameters.field("subsets", shape.subsets);
    parameters.field("one_in", shape.one_in);
    parameters.field("complementary", shape.complementary);
    parameters.field("candidate_seed", seed);
  }
};

template <class Description = paczero_description>
[[nodiscard]] recorded_mechanism describe(paczero_options const& options,
                                          candidate_set const& candidates) {
  return detail::described_as(
      "paczero", Description{options, candidates.dimensions(), candidates.public_seed()});
}

/// The inverse of `describe`; `directions` is the record's.
/// @throws std::invalid_argument, std::domain_error naming the parameter that `describe` never writes
template <class Description = paczero_description>
[[nodiscard]] Description paczero_described(recorded_mechanism const& mechanism,
                                            std::size_t directions) {
  constexpr std::string_view who = "paczero";
  Description out;
  detail::read_description(mechanism, who, out);
  out.options.directions = directions;
  out.options.check();
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
struct mezo_description {
  mezo_options options;
  std::size_t records = 0;

  template <class Parameters, class Self>
  static void fields(Parameters& parameters, Self& self) {
    parameters.field("steps", self.options.steps);
    parameters.field("surrogate", detail::surrogate_words, self.options.what);
    parameters.field("clip", self.options.clip);
    parameters.field("records", self.records);
  }
};

template <class Description = mezo_description>
[[nodiscard]] recorded_mechanism describe(mezo_options const& options, std::size_t records) {
  return detail::described_as("mezo", Description{options, records});
}

/// The inverse of `describe`.
/// @throws std::invalid_argument, std::domain_error naming the parameter that `describe` never writes
template <class Description = mezo_description>
[[nodiscard]] Description mezo_described(recorded_mechanism const& mechanism,
                                         std::size_t directions) {
  constexpr std::string_view who = "mezo";
  Description out;
  detail::read_description(mechanism, who, out);
  out.options.directions = directions;
  detail::check_positive(who, "clip", out.options.clip);
  detail::require_domain(out.records >= 1, who, "records", out.records, "at least 1");
  return out;
}

/// What is public of dpzero, dp_aggzo or dp_zo_laplace. (Not who takes part.)
struct noisy_sum_description {
  noisy_sum_options options;
  std::size_t records = 0;

  template <class Parameters, class Self>
  static void fields(Parameters& parameters, Self& self) {
    parameters.field("steps", self.options.steps);
    parameters.field("clip", self.options.clip);
    parameters.field("noise_multiplier", self.options.noise_multiplier);
    parameters.field("rate", self.options.rate);
    parameters.field("expected_records", self.options.expected_records);
    parameters.field("records", self.records);
  }
};

/// `name` is the mechanism's.
template <class Description = noisy_sum_description>
[[nodiscard]] recorded_mechanism describe(std::string name, noisy_sum_options const& options,
                                          std::size_t records) {
  return detail::described_as(std::move(name), Description{options, records});
}

/// The inverse of `describe`, whichever of them it is.
/// @throws std::invalid_argument, std::domain_error naming the parameter that `describe` never writes
template <class Description = noisy_sum_description>
[[nodiscard]] Description noisy_sum_described(recorded_mechanism const& mechanism) {
  std::string const& who = mechanism.name;
  Description out;
  detail::read_description(mechanism, who, out);
  out.options.check(who);
  detail::require_domain(out.options.steps >= 1, who, "steps", out.options.steps, "at least 1");
  detail::require_domain(out.records >= 1, who, "records", out.records, "at least 1");
  return out;
}

}  // namespace tacit
