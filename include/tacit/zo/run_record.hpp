// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/bit_cast.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/core/units.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/hash.hpp>
#include <tacit/zo/optimiser_state.hpp>
#include <tacit/zo/options.hpp>
#include <tacit/zo/parameters.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/// What a transcript and a journal say before their first step, and the text that says it. The
/// format, byte by byte, is in docs/transcript.md.

namespace tacit {

/// What a mechanism may release in one direction of a step.
enum class symbol_kind {
  sign,       ///< ±c: a bit
  held_sign,  ///< −c, 0 (held) or +c: five a byte
  scalar,     ///< any finite double: eight bytes
};

struct recorded_tensor {
  std::string name;
  element_type type = element_type::f32;
  std::vector<std::uint64_t> shape;  ///< one number a dimension; none for a single number

  friend bool operator==(recorded_tensor const&, recorded_tensor const&) = default;
};

struct recorded_mechanism {
  using value = std::variant<double, std::uint64_t, std::string>;
  std::string name;
  std::vector<std::pair<std::string, value>> parameters;  ///< in the mechanism's own order

  friend bool operator==(recorded_mechanism const&, recorded_mechanism const&) = default;
};

/// All of a run that is fixed before its first step.
struct run_record {
  recorded_mechanism mechanism;
  train_options training;
  std::size_t directions = 1;  ///< K, coefficients a step
  symbol_kind symbols = symbol_kind::scalar;
  double magnitude = 0.0;                ///< c of the signs; 0 for scalars
  std::vector<recorded_tensor> tensors;  ///< in the order of their entries among all parameters
  parameter_hash start;                  ///< `hash_of` the parameters before the first step
};

/// These tensors as they are recorded, each of one dimension.
/// @throws std::invalid_argument for a part of a model, or tensors in another order than their entries
template <std::same_as<recorded_tensor> Recorded = recorded_tensor>
[[nodiscard]] std::vector<Recorded> tensors_of(parameters const& theta) {
  std::vector<Recorded> result;
  std::uint64_t next = 0;
  for (tensor const& one : theta.all()) {
    detail::require_argument(one.first == next, "tensors_of", "first index of tensor " + one.name,
                             one.first.value_or(next),
                             detail::to_text(next) + ", of a whole model");
    next += one.size();
    result.push_back({one.name, element_type_of(one), {std::uint64_t{one.size()}}});
  }
  detail::require_argument(theta.dimension() == next, "tensors_of", "number of parameters", next,
                           detail::to_text(theta.dimension()) + ", those of a whole model");
  return result;
}

namespace detail {

[[noreturn]] inline void fail_record(std::string_view who, std::string_view what) {
  throw corrupt_state(std::string(who).append(": ").append(what));
}

/// Free text as one word: in quotation marks, everything but visible ASCII as %XX.
[[nodiscard]] inline std::string to_word(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string word = "\"";
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte < 0x7F && c != '"' && c != '%') {
      word.push_back(c);
    } else {
      word.push_back('%');
      word.push_back(digits[byte >> 4]);
      word.push_back(digits[byte & 15]);
    }
  }
  word.push_back('"');
  return word;
}

[[nodiscard]] inline std::string from_word(std::string_view who, std::string_view word) {
  if (word.size() < 2 || word.front() != '"' || word.back() != '"') {
    fail_record(who, "a text is not in quotation marks");
  }
  word = word.substr(1, word.size() - 2);
  std::string text;
  while (!word.empty()) {
    if (word.front() != '%') {
      text.push_back(word.front());
      word.remove_prefix(1);
      continue;
    }
    unsigned byte = 0;
    auto const end = word.data() + std::min<std::size_t>(word.size(), 3);
    auto const [stop, error] = std::from_chars(word.data() + 1, end, byte, 16);
    if (word.size() < 3 || error != std::errc{} || stop != end) {
      fail_record(who, "a text has a % without two digits");
    }
    text.push_back(static_cast<char>(byte));
    word.remove_prefix(3);
  }
  return text;
}

/// The words of an enumeration, in its order.
inline constexpr std::array<std::string_view, 3> symbol_words{"sign", "held_sign", "scalar"};
inline constexpr std::array<std::string_view, 2> schedule_words{"constant", "linear"};
inline constexpr std::array<std::string_view, 2> rounding_words{"nearest", "stochastic"};
inline constexpr std::array<std::string_view, 3> law_words{"rademacher", "gaussian", "sphere"};
inline constexpr std::array<std::string_view, 5> type_words{"F32", "F16", "BF16", "Q8_0", "Q4_0"};

/// The enumerator with this word, if there is one.
template <class Enum, std::size_t N>
[[nodiscard]] std::optional<Enum> choice_called(std::array<std::string_view, N> const& words,
                                                std::string_view word) {
  auto const found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

template <class Enum, std::size_t N>
[[nodiscard]] Enum choice_of(std::string_view who, std::array<std::string_view, N> const& words,
                             std::string_view word) {
  auto const choice = choice_called<Enum>(words, word);
  if (!choice) fail_record(who, "a choice is none of those there are");
  return *choice;
}

template <class Enum, std::size_t N>
[[nodiscard]] std::string word_of(std::string_view who, char const* argument,
                                  std::array<std::string_view, N> const& words, Enum choice) {
  auto const index = static_cast<std::size_t>(choice);
  require_argument(index < N, who, argument, index, "one of those there are");
  return std::string(words[index]);
}

[[nodiscard]] inline std::uint64_t entries_of(std::string_view who, recorded_tensor const& one) {
  std::uint64_t entries = 1;
  for (std::uint64_t const size : one.shape) {
    require_argument(size == 0 || entries <= std::numeric_limits<std::uint64_t>::max() / size, who,
                     "size of tensor " + to_word(one.name), size,
                     "so small that 64 bits count all");
    entries *= size;
  }
  return entries;
}

[[nodiscard]] constexpr bool is_quantised(element_type type) noexcept {
  return type == element_type::q8_0 || type == element_type::q4_0;
}

/// Whether some tensor is of blocks, whose moves and updates are drawn.
[[nodiscard]] inline bool has_blocks(run_record const& run) noexcept {
  return std::any_of(run.tensors.begin(), run.tensors.end(),
                     [](recorded_tensor const& one) { return is_quantised(one.type); });
}

template <std::same_as<run_record> Record>
void check_run(std::string_view who, Record const& run) {
  require_argument(!run.mechanism.name.empty(), who, "name of the mechanism",
                   std::string_view("empty"), "a word");
  auto const& all_named = run.mechanism.parameters;
  for (std::size_t i = 0; i < all_named.size(); ++i) {
    auto const& [name, value] = all_named[i];
    if (auto const* x = std::get_if<double>(&value)) check_finite(who, name, *x);
    for (std::size_t j = 0; j < i; ++j) {
      require_argument(all_named[j].first != name, who, "parameter " + to_word(name),
                       std::string_view("given twice"), "given once");
    }
  }
  check_positive(who, "smoothing", run.training.smoothing);
  check_positive(who, "learning_rate", run.training.learning_rate);
  check_non_negative(who, "weight_decay", run.training.weight_decay);
  check_optimiser(who, run.training);
  check_rounding(who, run.training);
  require_argument(run.directions >= 1, who, "directions", run.directions, "at least 1");
  if (run.symbols == symbol_kind::scalar) {
    require_domain(bit_cast<std::uint64_t>(run.magnitude) == 0, who, "magnitude", run.magnitude,
                   "0 for scalars");
  } else {
    check_positive(who, "magnitude", run.magnitude);
  }
  std::uint64_t all = 0;
  for (recorded_tensor const& one : run.tensors) {
    std::uint64_t const entries = entries_of(who, one);
    require_argument(entries <= std::numeric_limits<std::uint64_t>::max() - all, who,
                     "number of parameters with tensor " + to_word(one.name), entries,
                     "so small that 64 bits count all");
    require_argument(!is_quantised(one.type) || entries % 32 == 0, who,
                     "number of entries of tensor " + to_word(one.name), entries,
                     "a multiple of 32, which are a block");
    all += entries;
  }
  if (has_blocks(run)) {
    require_argument(run.training.rounding == rounding_mode::stochastic, who, "rounding",
                     std::string_view("nearest"), "stochastic for tensors of blocks");
    require_argument(run.training.law != direction_law::sphere, who, "law",
                     std::string_view("sphere"), "rademacher or gaussian for tensors of blocks");
  }
  require_argument(all > 0, who, "number of parameters", all, "at least 1");
  check_rounding(
      who, run.training,
      std::all_of(run.tensors.begin(), run.tensors.end(),
                  [](recorded_tensor const& one) { return one.type == element_type::f32; }));
}

/// Version 2 names an optimiser, version 3 a rounding, version 4 a rounding and tensors of blocks. A run of sgd and to the nearest has the form that it had
/// before there was another.
[[nodiscard]] inline unsigned version_of(run_record const& run) noexcept {
  if (run.training.rounding != rounding_mode::nearest) return has_blocks(run) ? 4 : 3;
  return run.training.optimiser.rule == optimiser_rule::sgd ? 1 : 2;
}

/// The lines of a transcript (with the number of steps) or of a journal (without).
template <std::same_as<run_record> Record>
[[nodiscard]] std::string header_of(std::string_view kind, Record const& run,
                                    std::optional<std::uint64_t> steps = std::nullopt) {
  archive_writer out(kind, version_of(run));
  out.field("mechanism", to_word(run.mechanism.name))
      .field("parameters", run.mechanism.parameters.size());
  for (auto const& [name, value] : run.mechanism.parameters) {
    std::visit(
        [&, key = to_word(name)]<class T>(T const& x) {
          if constexpr (std::is_same_v<T, std::string>) {
            out.field("parameter", key, "text", to_word(x));
          } else {
            out.field("parameter", key, std::is_same_v<T, double> ? "real" : "whole", x);
          }
        },
        value);
  }
  train_options const& t = run.training;
  out.field("smoothing", t.smoothing)
      .field("learning_rate", t.learning_rate)
      .field("weight_decay", t.weight_decay)
      .field("schedule", word_of(kind, "schedule", schedule_words, t.decay), t.steps);
  if (optimiser_options const& o = t.optimiser; o.rule != optimiser_rule::sgd) {
    out.field("optimiser", word_of(kind, "optimiser", optimiser_words, o.rule));
    if (o.rule == optimiser_rule::momentum) {
      out.field("momentum", o.momentum);
    } else {
      out.field("betas", o.beta1, o.beta2).field("epsilon", o.epsilon);
    }
  }
  if (t.rounding != rounding_mode::nearest) {
    out.field("rounding", word_of(kind, "rounding", rounding_words, t.rounding));
  }
  out.field("law", word_of(kind, "law", law_words, t.law))
      .field("seed", t.seed)
      .field("directions", run.directions)
      .field("symbols", word_of(kind, "symbols", symbol_words, run.symbols), run.magnitude)
      .field("tensors", run.tensors.size());
  for (recorded_tensor const& one : run.tensors) {
    out.field("tensor", to_word(one.name), word_of(kind, "type", type_words, one.type));
    out.list("shape", one.shape);
  }
  out.field("start", to_hex(run.start));
  if (steps) out.field("released", *steps);
  return std::move(out).finish();
}

struct parsed_header {
  run_record run;
  std::uint64_t steps = 0;     // of a transcript
  std::string_view symbols{};  // the bytes after the header
};

template <class T>
[[nodiscard]] T parameter_from(std::string_view who, std::string_view word) {
  auto const value = from_text<T>(word);
  if (!value) fail_record(who, "a number is not one in range");
  return *value;
}

/// The version that a header's first line names.
[[nodiscard]] inline unsigned version_named(std::string_view kind, std::string_view header) {
  std::string_view first = header.substr(0, header.find('\n'));
  if (!first.starts_with(kind) || first.substr(kind.size(), 1) != " ")
    return 1;  // read and refused
  first.remove_prefix(kind.size() + 1);
  auto const version = from_text<unsigned>(first);
  if (version && *version > 4) {
    fail_record(kind, "version is " + to_text(*version) + ", but must be 1, 2, 3 or 4");
  }
  return version && *version >= 2 ? *version : 1;
}

/// Reads what `header_of` wrote from the beginning of `bytes`, and nothing else: a text that says the
/// same in other characters is refused.
template <std::same_as<parsed_header> Header = parsed_header>
[[nodiscard]] Header read_header(std::string_view kind, std::string_view bytes, bool with_steps) {
  constexpr std::string_view last = "\nchecksum ";
  std::size_t const mark = bytes.find(last);
  std::size_t const end = mark == std::string_view::npos ? mark : bytes.find('\n', mark + 1);
  if (end == std::string_view::npos) fail_record(kind, "the header is truncated, or none");
  std::string_view const header = bytes.substr(0, end + 1);
  unsigned const version = version_named(kind, header);
  archive_reader in(std::string(header), kind, version);

  Header out;
  run_record& run = out.run;
  std::string word;
  std::string type;
  std::string text;
  std::size_t count = 0;
  in.field("mechanism", word);
  run.mechanism.name = from_word(kind, word);
  in.field("parameters", count);
  for (; count > 0; --count) {  // a line each: a number too large ends at the line that is missing
    in.field("parameter", word, type, text);
    recorded_mechanism::value value;
    if (type == "real") {
      value = parameter_from<double>(kind, text);
    } else if (type == "whole") {
      value = parameter_from<std::uint64_t>(kind, text);
    } else if (type == "text") {
      value = from_word(kind, text);
    } else {
      fail_record(kind, "a parameter is of an unknown type");
    }
    run.mechanism.parameters.emplace_back(from_word(kind, word), std::move(value));
  }
  train_options& t = run.training;
  in.field("smoothing", t.smoothing);
  in.field("learning_rate", t.learning_rate);
  in.field("weight_decay", t.weight_decay);
  in.field("schedule", word, t.steps);
  t.decay = choice_of<schedule>(kind, schedule_words, word);
  if (version == 2) {
    optimiser_options& o = t.optimiser;
    in.field("optimiser", word);
    o.rule = choice_of<optimiser_rule>(kind, optimiser_words, word);
    if (o.rule == optimiser_rule::momentum) {
      in.field("momentum", o.momentum);
    } else if (is_adam(o.rule)) {
      in.field("betas", o.beta1, o.beta2);
      in.field("epsilon", o.epsilon);
    }
  }
  if (version >= 3) {
    in.field("rounding", word);
    t.rounding = choice_of<rounding_mode>(kind, rounding_words, word);
  }
  in.field("law", word);
  t.law = choice_of<direction_law>(kind, law_words, word);
  in.field("seed", t.seed);
  in.field("directions", run.directions);
  in.field("symbols", word, run.magnitude);
  run.symbols = choice_of<symbol_kind>(kind, symbol_words, word);
  in.field("tensors", count);
  for (; count > 0; --count) {
    recorded_tensor one;
    in.field("tensor", word, type);
    one.name = from_word(kind, word);
    one.type = choice_of<element_type>(kind, type_words, type);
    in.list("shape", one.shape);
    run.tensors.push_back(std::move(one));
  }
  in.field("start", word);
  auto const start = hash_from_hex(word);
  if (!start) fail_record(kind, "the hash of the start is none");
  run.start = *start;
  if (with_steps) in.field("released", out.steps);
  in.finish();
  try {
    check_run(kind, run);
  } catch (std::logic_error const& error) {
    throw corrupt_state(error.what());
  }
  if (header_of(kind, run, with_steps ? std::optional(out.steps) : std::nullopt) != header) {
    fail_record(kind, "the header is not in the one form that it has");
  }
  out.symbols = bytes.substr(end + 1);
  return out;
}

}  // namespace detail
}  // namespace tacit
