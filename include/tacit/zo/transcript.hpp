// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/zo/run_record.hpp>
#include <tacit/zo/symbols.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the world saw of a run, and no more: who released (the mechanism and its parameters), how
/// releases move the parameters (`train_options`, with the public seed), which parameters they move,
/// and the released coefficients. With the starting parameters that is the tuned model, bit for bit.
///
/// Charges, posterior masses, unanimity, the reason of a hold: all tell about the records, and have no
/// field here. The format, byte by byte, is in docs/transcript.md.

namespace tacit {

namespace detail {

[[nodiscard]] inline std::string checksum_bytes(std::string_view bytes) {
  std::uint64_t const sum = checksum(bytes);
  std::string text;
  for (unsigned j = 0; j < 64; j += 8) text.push_back(static_cast<char>(sum >> j));
  return text;
}

}  // namespace detail

/// A run as the world saw it. Immutable.
template <std::same_as<run_record> Record = run_record>
class basic_transcript {
 public:
  /// `coefficients` are those of all steps, K a step. A run of held_sign in which nothing was held is
  /// one of signs.
  /// @throws std::domain_error, std::invalid_argument for a record that makes no sense, or a coefficient
  ///         that is not one of its symbols
  basic_transcript(Record run, std::vector<double> coefficients)
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

  [[nodiscard]] Record const& run() const noexcept { return run_; }
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
    std::string bytes = detail::header_of(kind, run_, steps());
    bytes += detail::pack(run_, coefficients_);
    return bytes + detail::checksum_bytes(bytes);
  }

  /// @throws corrupt_state for anything that `sealed` did not write, naming the defect
  [[nodiscard]] static basic_transcript parse(std::string_view bytes) {
    detail::parsed_header const header = detail::read_header(kind, bytes, true);
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
    basic_transcript result(header.run, detail::unpack(kind, header.run, packed, count));
    if (result.run_.symbols != header.run.symbols) {
      detail::fail_record(kind, "nothing is held, and the symbols are not signs");
    }
    return result;
  }

  static constexpr std::string_view kind = "tacit-transcript";

 private:
  Record run_;
  std::vector<double> coefficients_;
};
using transcript = basic_transcript<>;

}  // namespace tacit
