// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/private_file.hpp>
#include <tacit/zo/transcript.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A transcript in the making, on disk after every step.
///
/// The order of a step is charge, draw, journal, apply: a mechanism stores its charge with its release
/// (mechanism/saved_run.hpp), the journal appends that release, and only then do the parameters move.
/// A crash
///   - before the mechanism has stored: nothing happened; the step is taken anew;
///   - between mechanism and journal: the mechanism's file has the release, and appends it here when
///     the run goes on (`journaled` in train/recorded.hpp). The same release, never a new one: it is
///     charged once;
///   - while the journal appends: a torn record. It is cut off, and that is the case above;
///   - between journal and parameters: the parameters are rebuilt from the journal.

namespace tacit {

namespace detail {

/// What a journal file says. Each record is the symbols of one step and a checksum of them and of all
/// that stands before.
struct parsed_journal {
  run_record run;
  std::vector<double> coefficients;
  std::string last_checksum;
  std::uint64_t size = 0;  // valid bytes; what follows was torn by a crash
};

inline constexpr std::string_view journal_kind = "tacit-journal";

template <std::same_as<parsed_journal> Journal = parsed_journal>
[[nodiscard]] Journal parse_journal(std::string_view bytes) {
  constexpr std::string_view who = journal_kind;
  parsed_header header = read_header(who, bytes, false);
  std::string_view rest = header.symbols;
  Journal out;
  out.run = std::move(header.run);
  out.size = bytes.size() - rest.size();
  out.last_checksum = checksum_bytes(bytes.substr(0, out.size));
  std::size_t const directions = out.run.directions;
  if (symbols_within(out.run.symbols, rest.size()) < directions) return out;  // not one record
  auto const symbols = static_cast<std::size_t>(bytes_of(out.run.symbols, directions));
  constexpr std::size_t check = 8;
  while (rest.size() >= symbols + check) {
    std::string_view const packed = rest.substr(0, symbols);
    std::string_view const sum = rest.substr(symbols, check);
    rest.remove_prefix(symbols + check);
    // A file may have grown before its bytes came: a last record whose checksum was never written.
    if (rest.empty() && sum == std::string_view("\0\0\0\0\0\0\0\0", check)) return out;
    std::string expected = checksum_bytes(out.last_checksum + std::string(packed));
    if (sum != expected) {
      fail_record(who, "the record of step " + to_text(out.coefficients.size() / directions) +
                           " is damaged");
    }
    std::vector<double> const values = unpack(who, out.run, packed, directions);
    out.coefficients.insert(out.coefficients.end(), values.begin(), values.end());
    out.last_checksum = std::move(expected);
    out.size += symbols + check;
  }
  return out;
}

}  // namespace detail

/// Appends the releases of a run to a file. One owner at a time, by a lock that ends with the process.
template <std::same_as<run_record> Record = run_record>
class basic_journal {
 public:
  /// Starts a new file.
  /// @throws std::domain_error, std::invalid_argument for a record that makes no sense;
  ///         std::system_error if the file exists, another run writes it, or it cannot be written
  [[nodiscard]] static basic_journal create(file_path const& file, Record run) {
    detail::check_run("journal", run);
    file_path const path = detail::files::canonical(file);
    file_lock mine(path);
    remove_unfinished(path);
    std::string const header = detail::header_of(detail::journal_kind, run);
    create_private_file(path, header);
    return basic_journal(std::move(mine), append_file(path, header.size()), std::move(run), {},
                         detail::checksum_bytes(header));
  }

  /// Goes on with a file of the same run. A torn record at its end is cut off.
  /// @throws corrupt_state for any other damage; std::invalid_argument for the journal of another run;
  ///         std::system_error if there is no such file, or another run writes it
  [[nodiscard]] static basic_journal resume(file_path const& file, Record const& run) {
    detail::check_run("journal", run);
    file_path const path = detail::files::canonical(file);
    file_lock mine(path);
    detail::parsed_journal found = detail::parse_journal(read_file(path));
    auto const header = [](Record const& of) {
      return detail::header_of(detail::journal_kind, of);
    };
    if (header(found.run) != header(run)) {
      throw std::invalid_argument("journal: file is " + detail::files::text(path) +
                                  ", but must be the journal of this run");
    }
    return basic_journal(std::move(mine), append_file(path, found.size), std::move(found.run),
                         std::move(found.coefficients), std::move(found.last_checksum));
  }

  [[nodiscard]] Record const& run() const noexcept { return run_; }
  [[nodiscard]] std::size_t steps() const noexcept {
    return coefficients_.size() / run_.directions;
  }

  /// The K coefficients of a step.
  /// @throws std::invalid_argument unless t < steps()
  [[nodiscard]] std::span<double const> step(std::size_t t) const {
    detail::require_argument(t < steps(), "journal", "step", t, "below the number of steps");
    return std::span(coefficients_).subspan(t * run_.directions, run_.directions);
  }

  /// Appends what one step released; it is on disk when this returns.
  /// @throws std::invalid_argument unless there are K coefficients; std::domain_error for one that is
  ///         no symbol of this run; nothing is written then
  /// @throws std::system_error if it cannot be written: this object is of no further use; or if its lock was
  ///         removed, so that another run may append; std::logic_error if it was moved from, or in a forked process
  void append(std::span<double const> coefficients) {
    detail::check_size("journal", "number of coefficients", coefficients.size(), run_.directions);
    for (double const y : coefficients) detail::check_coefficient("journal", run_, y);
    mine_.check("journal");
    std::string record = detail::pack(run_, coefficients);
    std::string sum = detail::checksum_bytes(last_checksum_ + record);
    // What is on disk is not to be missing here for want of memory.
    if (coefficients.size() > coefficients_.capacity() - coefficients_.size()) {
      coefficients_.reserve(2 * (coefficients_.size() + coefficients.size()));
    }
    file_.append(record + sum);
    coefficients_.insert(coefficients_.end(), coefficients.begin(), coefficients.end());
    last_checksum_ = std::move(sum);
  }

  /// The transcript of what was released so far.
  [[nodiscard]] transcript seal() const { return {run_, coefficients_}; }

 private:
  basic_journal(file_lock&& mine, append_file&& file, Record run, std::vector<double> coefficients,
                std::string last_checksum)
      : mine_(std::move(mine)),
        file_(std::move(file)),
        run_(std::move(run)),
        coefficients_(std::move(coefficients)),
        last_checksum_(std::move(last_checksum)) {}

  file_lock mine_;
  append_file file_;
  Record run_;
  std::vector<double> coefficients_;
  std::string last_checksum_;
};
using journal = basic_journal<>;

/// The transcript in a file: sealed, or the journal of a run that has ended or was left. Changes
/// nothing; a torn record at the end of a journal is passed over.
/// @throws corrupt_state naming the defect; std::system_error naming the file
template <std::same_as<transcript> Transcript = transcript>
[[nodiscard]] Transcript read_transcript(file_path const& file) {
  std::string const bytes = read_file(file);
  if (!bytes.starts_with(detail::journal_kind)) return Transcript::parse(bytes);
  detail::parsed_journal found = detail::parse_journal(bytes);
  return {std::move(found.run), std::move(found.coefficients)};
}

}  // namespace tacit
