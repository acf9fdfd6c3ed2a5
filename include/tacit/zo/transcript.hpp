// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/core/units.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/hash.hpp>
#include <tacit/zo/options.hpp>
#include <tacit/zo/parameters.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/// What the world saw of a run, and no more: who released (the mechanism and its parameters), how
/// releases move the parameters (`train_options`, with the public seed), which parameters they move,
/// and the released coefficients. With the starting parameters that is the tuned model, bit for bit.
///
/// Charges, posterior masses, unanimity, the reason of a hold: all tell about the records, and have no
/// field here. The format, byte by byte, is in docs/transcript.md.

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
[[nodiscard]] inline std::vector<recorded_tensor> tensors_of(parameters const& theta) {
  std::vector<recorded_tensor> result;
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
inline constexpr std::array<std::string_view, 3> law_words{"rademacher", "gaussian", "sphere"};
inline constexpr std::array<std::string_view, 3> type_words{"F32", "F16", "BF16"};

/// What is called so; nothing if nothing is.
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

// ---- symbols as bytes -----------------------------------------------------------------------------

/// How many symbols this many bytes may hold.
[[nodiscard]] constexpr std::uint64_t symbols_within(symbol_kind kind,
                                                     std::uint64_t bytes) noexcept {
  return kind == symbol_kind::sign        ? 8 * bytes
         : kind == symbol_kind::held_sign ? 5 * bytes
                                          : bytes / 8;
}

[[nodiscard]] constexpr std::uint64_t bytes_of(symbol_kind kind, std::uint64_t symbols) noexcept {
  return kind == symbol_kind::sign        ? symbols / 8 + (symbols % 8 != 0)
         : kind == symbol_kind::held_sign ? symbols / 5 + (symbols % 5 != 0)
                                          : symbols * 8;
}

/// −1, 0 or +1 for a coefficient −c, +0 or +c; nothing for any other.
[[nodiscard]] inline std::optional<int> symbol_of(double coefficient, double magnitude) noexcept {
  auto const bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  if (bits(coefficient) == bits(magnitude)) return 1;
  if (bits(coefficient) == bits(-magnitude)) return -1;
  if (bits(coefficient) == bits(0.0)) return 0;
  return std::nullopt;
}

inline void check_coefficient(std::string_view who, run_record const& run, double coefficient) {
  if (run.symbols == symbol_kind::scalar) {
    check_finite(who, "coefficient", coefficient);
    return;
  }
  auto const symbol = symbol_of(coefficient, run.magnitude);
  require_domain(symbol && (*symbol != 0 || run.symbols == symbol_kind::held_sign), who,
                 "coefficient", coefficient,
                 (run.symbols == symbol_kind::sign ? "+-" : "0 or +-") + to_text(run.magnitude));
}

/// sign: bit j of byte i is symbol 8i + j, set for +; held_sign: byte i is Σ_j d_j·3^j for the symbols
/// 5i + j, d = 0 for −, 1 for held, 2 for +; scalar: the double, least significant byte first. What
/// is left of the last byte is 0.
[[nodiscard]] inline std::string pack(run_record const& run, std::span<double const> values) {
  std::string bytes(bytes_of(run.symbols, values.size()), '\0');
  auto const at = [&](std::size_t i) -> char& { return bytes[i]; };
  unsigned power = 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (run.symbols == symbol_kind::scalar) {
      auto const bits = std::bit_cast<std::uint64_t>(values[i]);
      for (std::size_t j = 0; j < 8; ++j) at(8 * i + j) = static_cast<char>(bits >> (8 * j));
      continue;
    }
    int const symbol = symbol_of(values[i], run.magnitude).value();
    std::size_t const base = run.symbols == symbol_kind::sign ? 8 : 5;
    if (i % base == 0) power = 1;
    unsigned const digit =
        static_cast<unsigned>(run.symbols == symbol_kind::sign ? (symbol + 1) / 2 : symbol + 1);
    char& byte = at(i / base);
    byte = static_cast<char>(static_cast<unsigned char>(byte) + digit * power);
    power *= run.symbols == symbol_kind::sign ? 2 : 3;
  }
  return bytes;
}

/// The inverse; `bytes` must have the size of `count` symbols.
/// @throws corrupt_state for bytes that `pack` never makes
[[nodiscard]] inline std::vector<double> unpack(std::string_view who, run_record const& run,
                                                std::string_view bytes, std::size_t count) {
  std::vector<double> values;
  values.reserve(count);
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (run.symbols == symbol_kind::scalar) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t bits = 0;
      for (std::size_t j = 0; j < 8; ++j) bits |= std::uint64_t{byte(8 * i + j)} << (8 * j);
      auto const value = std::bit_cast<double>(bits);
      if (!std::isfinite(value)) fail_record(who, "a scalar is not finite");
      values.push_back(value);
    }
    return values;
  }
  bool const bit = run.symbols == symbol_kind::sign;
  unsigned const base = bit ? 2 : 3;
  std::size_t const each = bit ? 8 : 5;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned rest = byte(i);
    std::size_t const here = std::min(each, count - each * i);
    for (std::size_t j = 0; j < here; ++j) {
      unsigned const digit = rest % base;
      rest /= base;
      values.push_back(digit + 1 == base ? run.magnitude : digit == 0 ? -run.magnitude : 0.0);
    }
    if (rest != 0) fail_record(who, "a byte of symbols is none that symbols make");
  }
  return values;
}

// ---- the header -----------------------------------------------------------------------------------

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

inline void check_run(std::string_view who, run_record const& run) {
  require_argument(!run.mechanism.name.empty(), who, "name of the mechanism", std::string("empty"),
                   "a word");
  std::set<std::string_view> names;
  for (auto const& [name, value] : run.mechanism.parameters) {
    if (auto const* x = std::get_if<double>(&value)) check_finite(who, name, *x);
    require_argument(names.insert(name).second, who, "parameter " + to_word(name),
                     std::string("given twice"), "given once");
  }
  check_positive(who, "smoothing", run.training.smoothing);
  check_positive(who, "learning_rate", run.training.learning_rate);
  check_non_negative(who, "weight_decay", run.training.weight_decay);
  require_argument(run.directions >= 1, who, "directions", run.directions, "at least 1");
  if (run.symbols == symbol_kind::scalar) {
    require_domain(std::bit_cast<std::uint64_t>(run.magnitude) == 0, who, "magnitude",
                   run.magnitude, "0 for scalars");
  } else {
    check_positive(who, "magnitude", run.magnitude);
  }
  std::uint64_t all = 0;
  for (recorded_tensor const& one : run.tensors) {
    std::uint64_t const entries = entries_of(who, one);
    require_argument(entries <= std::numeric_limits<std::uint64_t>::max() - all, who,
                     "number of parameters with tensor " + to_word(one.name), entries,
                     "so small that 64 bits count all");
    all += entries;
  }
  require_argument(all > 0, who, "number of parameters", all, "at least 1");
}

/// The lines of a transcript (with the number of steps) or of a journal (without).
[[nodiscard]] inline std::string header_of(std::string_view kind, unsigned version,
                                           run_record const& run,
                                           std::optional<std::uint64_t> steps = std::nullopt) {
  archive_writer out(kind, version);
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
      .field("schedule", word_of(kind, "schedule", schedule_words, t.decay), t.steps)
      .field("law", word_of(kind, "law", law_words, t.law))
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
[[nodiscard]] T number_of(std::string_view who, std::string_view word) {
  T value{};
  auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc{} || end != word.data() + word.size()) {
    fail_record(who, "a number is not one in range");
  }
  return value;
}

/// Reads what `header_of` wrote from the beginning of `bytes`, and nothing else: a text that says the
/// same in other characters is refused.
[[nodiscard]] inline parsed_header read_header(std::string_view kind, unsigned version,
                                               std::string_view bytes, bool with_steps) {
  constexpr std::string_view last = "\nchecksum ";
  std::size_t const mark = bytes.find(last);
  std::size_t const end = mark == std::string_view::npos ? mark : bytes.find('\n', mark + 1);
  if (end == std::string_view::npos) fail_record(kind, "the header is truncated, or none");
  std::string_view const header = bytes.substr(0, end + 1);
  archive_reader in(std::string(header), kind, version);

  parsed_header out;
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
      value = number_of<double>(kind, text);
    } else if (type == "whole") {
      value = number_of<std::uint64_t>(kind, text);
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
  if (header_of(kind, version, run, with_steps ? std::optional(out.steps) : std::nullopt) !=
      header) {
    fail_record(kind, "the header is not in the one form that it has");
  }
  out.symbols = bytes.substr(end + 1);
  return out;
}

[[nodiscard]] inline std::string checksum_bytes(std::string_view bytes) {
  std::uint64_t const sum = checksum(bytes);
  std::string text;
  for (unsigned j = 0; j < 64; j += 8) text.push_back(static_cast<char>(sum >> j));
  return text;
}

}  // namespace detail

/// A run as the world saw it. Immutable.
class transcript {
 public:
  /// `coefficients` are those of all steps, K a step. A run of held_sign in which nothing was held is
  /// one of signs.
  /// @throws std::domain_error, std::invalid_argument for a record that makes no sense, or a coefficient
  ///         that is not one of its symbols
  transcript(run_record run, std::vector<double> coefficients)
      : run_(std::move(run)), coefficients_(std::move(coefficients)) {
    detail::check_run("transcript", run_);
    detail::require_argument(coefficients_.size() % run_.directions == 0, "transcript",
                             "number of coefficients", coefficients_.size(),
                             "a multiple of the number of directions");
    for (double const y : coefficients_) detail::check_coefficient("transcript", run_, y);
    bool const held =
        std::any_of(coefficients_.begin(), coefficients_.end(), [](double y) { return y == 0.0; });
    if (run_.symbols == symbol_kind::held_sign && !held) run_.symbols = symbol_kind::sign;
  }

  [[nodiscard]] run_record const& run() const noexcept { return run_; }
  [[nodiscard]] std::size_t steps() const noexcept {
    return coefficients_.size() / run_.directions;
  }

  /// The K coefficients of a step.
  /// @throws std::invalid_argument unless t < steps()
  [[nodiscard]] std::span<double const> step(std::size_t t) const {
    detail::require_argument(t < steps(), "transcript", "step", t, "below the number of steps");
    return std::span(coefficients_).subspan(t * run_.directions, run_.directions);
  }

  /// The compact form: a header in lines of text, then a bit, a fifth of a byte or eight bytes a
  /// coefficient, then a checksum. One transcript has one such form.
  [[nodiscard]] std::string sealed() const {
    std::string bytes = detail::header_of(kind, format, run_, steps());
    bytes += detail::pack(run_, coefficients_);
    return bytes + detail::checksum_bytes(bytes);
  }

  /// @throws corrupt_state for anything that `sealed` did not write, naming the defect
  [[nodiscard]] static transcript parse(std::string_view bytes) {
    detail::parsed_header const header = detail::read_header(kind, format, bytes, true);
    constexpr std::size_t check = 8;
    std::size_t const size = header.symbols.size();
    std::size_t const directions = header.run.directions;
    if (size < check) detail::fail_record(kind, "the symbols are truncated");
    std::uint64_t const room = detail::symbols_within(header.run.symbols, size - check);
    if (header.steps > room / directions) detail::fail_record(kind, "the symbols are truncated");
    std::uint64_t const count = header.steps * directions;
    std::uint64_t const expected = detail::bytes_of(header.run.symbols, count);
    if (size - check != expected) detail::fail_record(kind, "something follows the symbols");
    std::string_view const packed = header.symbols.substr(0, size - check);
    if (detail::checksum_bytes(bytes.substr(0, bytes.size() - check)) !=
        header.symbols.substr(size - check)) {
      detail::fail_record(kind, "the checksum is wrong: the symbols are damaged");
    }
    transcript result(header.run, detail::unpack(kind, header.run, packed, count));
    if (result.run_.symbols != header.run.symbols) {
      detail::fail_record(kind, "nothing is held, and the symbols are not signs");
    }
    return result;
  }

  static constexpr std::string_view kind = "tacit-transcript";
  static constexpr unsigned format = 1;

 private:
  run_record run_;
  std::vector<double> coefficients_;
};

}  // namespace tacit
