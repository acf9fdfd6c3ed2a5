// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace calculator {

/// The private records: a text with a record a line, and perhaps a first line that names the columns.
class record_table {
 public:
  /// @throws bad_input if it cannot be read, or is no such text
  record_table(std::string const& file, bool header);

  [[nodiscard]] std::size_t records() const noexcept { return lines_.size(); }
  [[nodiscard]] std::string_view header() const noexcept {
    return header_;
  }  // with the end of its line
  [[nodiscard]] std::string_view record(std::size_t i) const { return lines_[i]; }
  [[nodiscard]] std::string const& text() const noexcept { return text_; }

  /// Whether a first line could be names: none of its fields is a number.
  static bool may_have_header(std::string const& file);

 private:
  std::string text_;
  std::string_view header_;
  std::vector<std::string_view> lines_;
};

/// A program that nobody looked into, and what it runs on.
struct black_box {
  std::string command;   // for the shell; {} is the name of a file with the subset's records
  std::string universe;  // a file
  bool header = false;
  std::size_t subsets = 0;
  std::uint64_t seed = 0;  // which records each subset has
  std::string folder;      // its own
  std::size_t jobs = 1;
  double seconds = std::numeric_limits<double>::infinity();  // a subset
  bool progress = false;
};

/// Names all that the outputs depend on, but for the program behind the command.
std::string digest_of(black_box const& box, record_table const& records);

struct black_box_outputs {
  Eigen::MatrixXd rows;  // a subset a row
  std::size_t kept = 0;  // that were there from before
  bool repeats = false;  // the first subset had the same output when it was run again
};

/// What the program returns on each subset. Each output is kept in the folder as soon as it is known, and found there
/// again, unless all are to be run afresh; at the end the first subset is run once more. The caller keeps others from the folder.
/// @throws bad_input naming the subsets whose output is of no use; std::system_error where the machine fails;
///         std::runtime_error where this program was asked to end
black_box_outputs outputs_of(black_box const& box, record_table const& records, bool afresh);

}  // namespace calculator
