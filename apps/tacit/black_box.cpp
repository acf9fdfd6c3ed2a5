// SPDX-License-Identifier: Apache-2.0
//
// Runs a program on the subsets of private records, and keeps what it returned.

#include "black_box.hpp"

#include <tacit/core/check.hpp>
#include <tacit/core/private_file.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/pac/candidates.hpp>
#include <tacit/zo/hash.hpp>

#include "arguments.hpp"
#include "children.hpp"
#include "matrix.hpp"
#include "output/format.hpp"
#include "output/progress.hpp"
#include "output/text_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace calculator {

namespace {

std::string read_universe(std::string const& file) {
  try {
    return tacit::read_file(file, apps::most_bytes);
  } catch (std::system_error const& error) {
    throw bad_input("--universe is " + file +
                    ", but must be a text, with a record a line: " + error.what());
  }
}

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_number(std::string_view text) {
  double value = 0.0;
  char const* const end = text.data() + text.size();
  return std::from_chars(text.data(), end, value).ptr == end && !text.empty();
}

}  // namespace

record_table::record_table(std::string const& file, bool header) : text_(read_universe(file)) {
  if (!text_.empty() && text_.back() != '\n') text_ += '\n';
  std::size_t empty = 0;
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text_.size(); ++number) {
    std::size_t const end = text_.find('\n', begin) + 1;
    std::string_view const line = std::string_view(text_).substr(begin, end - begin);
    begin = end;
    if (without_end(line).empty()) {
      if (empty == 0) empty = number;
      continue;
    }
    if (empty != 0) refuse_line(file, empty, "is empty, but must be a record");
    if (std::count(line.begin(), line.end(), '"') % 2 != 0) {
      refuse_line(
          file, number,
          "has an odd number of quotation marks, but must be a whole record: none may go on "
          "in the next line");
    }
    if (header && number == 1) {
      header_ = line;
    } else {
      lines_.push_back(line);
    }
  }
  if (lines_.size() < 2) {
    throw bad_input(file + ": " + has(lines_.size(), "record") + ", but must have at least 2");
  }
}

bool record_table::may_have_header(std::string const& file) {
  std::string const text = read_universe(file);
  std::string_view line = without_end(std::string_view(text).substr(0, text.find('\n')));
  for (;;) {
    std::size_t const end = line.find_first_of(",;\t ");
    if (is_number(line.substr(0, end))) return false;
    if (end == std::string_view::npos) return true;
    line.remove_prefix(end + 1);
  }
}

std::string digest_of(black_box const& box, record_table const& records) {
  tacit::detail::blake2b hash;
  tacit::detail::hash_text(hash, "tacit calibrate --run, 1");
  tacit::detail::hash_text(hash, box.command);
  tacit::detail::hash_text(hash, std::filesystem::current_path().string());
  tacit::detail::hash_text(hash, records.text());
  for (std::uint64_t const x : {std::uint64_t{box.header}, std::uint64_t{box.subsets}, box.seed}) {
    tacit::detail::hash_number(hash, x);
  }
  return to_hex(tacit::parameter_hash{hash.finish()});
}

namespace {

// ---- what a command wrote -------------------------------------------------------------------------

std::string shown(std::string_view word) {
  std::string text(word.substr(0, 40));
  return "'" + text + (word.size() > 40 ? "...'" : "'");
}

// Numbers between commas, blanks and ends of lines. Returns what is wrong, or nothing.
std::string read_output(std::string_view text, std::vector<double>& numbers) {
  numbers.clear();
  constexpr char const* blank = " \t\r\n\f\v";
  bool expected = false;  // behind a comma
  for (;;) {
    std::size_t const begin = text.find_first_not_of(blank);
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    std::string_view const word = text.substr(0, text.find_first_of(" \t\r\n\f\v,"));
    text.remove_prefix(word.size());
    std::string const which = "number " + std::to_string(numbers.size() + 1);
    double value = 0.0;
    char const* const from = word.data() + (word.size() > 1 && word[0] == '+' && word[1] != '-');
    auto const [stop, error] = std::from_chars(from, word.data() + word.size(), value);
    if (error != std::errc() || stop != word.data() + word.size() || !std::isfinite(value)) {
      return which + " of its output is " + shown(word) + ", but must be a finite number";
    }
    numbers.push_back(value + 0.0);
    std::size_t const next = text.find_first_not_of(blank);
    expected = next != std::string_view::npos && text[next] == ',';
    if (expected) text.remove_prefix(next + 1);
  }
  if (numbers.empty()) return "its output is empty, but must be numbers";
  if (expected) return "its output ends with a comma, but must end with a number";
  return {};
}

// ---- what is kept -----------------------------------------------------------------------------------

constexpr char const* kind = "tacit-output";
constexpr std::string_view subset_file = "subset-";

std::string output_file_of(black_box const& box, std::string const& digest, std::size_t subset) {
  return box.folder + "/output-" + digest.substr(0, 16) + "-" + std::to_string(subset);
}

// One that is damaged, or of something else, is as good as none.
std::optional<std::vector<double>> kept_output(std::string const& file, std::string const& digest,
                                               std::size_t subset) {
  std::error_code none;
  if (!std::filesystem::exists(file, none)) return std::nullopt;
  try {
    tacit::archive_reader in(tacit::read_file(file), kind, 1);
    std::string of;
    std::size_t which = 0;
    std::vector<double> numbers;
    in.field("of", of, which);
    in.list("numbers", numbers);
    in.finish();
    bool const good =
        of == digest && which == subset && !numbers.empty() &&
        std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
    return good ? std::optional(std::move(numbers)) : std::nullopt;
  } catch (tacit::corrupt_state const&) {
    return std::nullopt;
  }
}

void keep(std::string const& file, std::string const& digest, std::size_t subset,
          std::vector<double> const& numbers) {
  tacit::archive_writer out(kind, 1);
  out.field("of", digest, subset).list("numbers", numbers);
  tacit::remove_unfinished(file);
  tacit::write_private_file(file, std::move(out).finish());
}

// ---- the subsets ------------------------------------------------------------------------------------

// The files that commands read, which go with this object.
class subset_files {
 public:
  subset_files(black_box const& box, record_table const& records)
      : box_(box),
        records_(records),
        members_(tacit::candidate_set::balanced(
            {.records = records.records(), .subsets = box.subsets}, box.seed)) {
    std::string const ending = std::filesystem::path(box.universe).extension().string();
    bool const plain = ending.size() <= 8 && std::all_of(ending.begin(), ending.end(), [](char c) {
                         return c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                                (c >= 'A' && c <= 'Z');
                       });
    ending_ = plain ? ending : "";
    remove_all();
  }
  subset_files(subset_files const&) = delete;
  subset_files& operator=(subset_files const&) = delete;
  ~subset_files() { remove_all(); }

  std::string make(std::size_t subset) {
    std::string const file = name(subset);
    tacit::detail::files::remove(file);
    tacit::detail::open_file out(tacit::detail::files::create(file, true), "calibrate",
                                 "cannot create", file);
    std::string part(records_.header());
    for (std::size_t i = 0; i < records_.records(); ++i) {
      if (members_.contains(subset, i)) part += records_.record(i);
    }
    out.write(part, "calibrate", file);
    return file;
  }
  void remove(std::size_t subset) { tacit::detail::files::remove(name(subset)); }

 private:
  [[nodiscard]] std::string name(std::size_t subset) const {
    return box_.folder + "/" + std::string(subset_file) + std::to_string(subset) + ending_;
  }

  // Also those that a killed run left.
  void remove_all() const {
    for (std::string const& entry : tacit::detail::files::names_in(box_.folder)) {
      bool const ours = entry.starts_with(subset_file) && entry.ends_with(ending_) &&
                        entry.find_first_not_of("0123456789", subset_file.size()) ==
                            (ending_.empty() ? std::string::npos : entry.size() - ending_.size());
      if (ours) tacit::detail::files::remove(box_.folder + "/" + entry);
    }
  }

  black_box const& box_;
  record_table const& records_;
  tacit::candidate_set members_;
  std::string ending_;
};

std::string with_file(std::string command, std::string const& file) {
  std::string const word = apps::shell_word(file);
  for (std::size_t at = 0; (at = command.find("{}", at)) != std::string::npos; at += word.size()) {
    command.replace(at, 2, word);
  }
  return command;
}

[[noreturn]] void refuse(std::map<std::size_t, std::string> const& complaints) {
  auto at = complaints.begin();
  std::string text = "--run: on subset " + std::to_string(at->first) + " the command " + at->second;
  if (complaints.size() > 1) {
    text += "; as bad were subsets";
    for (char const* mark = " "; ++at != complaints.end(); mark = ", ") {
      text += mark + std::to_string(at->first);
    }
  }
  throw bad_input(text + ". Nothing was charged or released");
}

}  // namespace

black_box_outputs outputs_of(black_box const& box, record_table const& records, bool afresh) {
  std::string const digest = digest_of(box, records);
  std::vector<std::vector<double>> outputs(box.subsets);
  std::vector<std::size_t> left;
  for (std::size_t m = 0; m < box.subsets; ++m) {
    auto kept = afresh ? std::nullopt : kept_output(output_file_of(box, digest, m), digest, m);
    if (kept) {
      outputs[m] = *std::move(kept);
    } else {
      left.push_back(m);
    }
  }
  black_box_outputs out;
  out.kept = box.subsets - left.size();

  subset_files files(box, records);
  std::optional<apps::progress_bar> bar;
  if (box.progress) bar.emplace(left.size() + 1);
  children running({.seconds = box.seconds});
  std::map<std::size_t, std::string> complaints;
  std::vector<double> numbers;
  // After the first bad output no more are begun.
  auto const run = [&](std::vector<std::size_t> const& subsets, auto&& take) {
    for (std::size_t next = 0;;) {
      while (complaints.empty() && next < subsets.size() && running.running() < box.jobs) {
        std::string const file = files.make(subsets[next]);
        running.start(subsets[next], with_file(box.command, file), file);
        ++next;
      }
      if (running.running() == 0) break;
      child_result const found = running.next();
      files.remove(found.name);
      std::string complaint = found.complaint;
      if (complaint.empty()) {
        complaint = read_output(found.output, numbers);
        if (!complaint.empty()) complaint = "ended well, but " + complaint;
      }
      if (complaint.empty()) {
        take(found.name);
      } else {
        complaints[found.name] = complaint;
      }
      if (bar) bar->advance(1);
    }
    if (!complaints.empty()) refuse(complaints);
  };

  run(left, [&](std::size_t m) {
    keep(output_file_of(box, digest, m), digest, m, numbers);
    outputs[m] = numbers;
  });
  std::size_t const columns = outputs.front().size();
  for (std::size_t m = 1; m < box.subsets; ++m) {
    if (outputs[m].size() == columns) continue;
    complaints[m] = "returned " + std::to_string(outputs[m].size()) + " numbers, but " +
                    std::to_string(columns) + " on subset 0";
  }
  if (!complaints.empty()) refuse(complaints);
  run({0}, [&](std::size_t) { out.repeats = numbers == outputs.front(); });

  out.rows.resize(static_cast<Eigen::Index>(box.subsets), static_cast<Eigen::Index>(columns));
  for (std::size_t m = 0; m < box.subsets; ++m) {
    out.rows.row(static_cast<Eigen::Index>(m)) =
        Eigen::Map<Eigen::RowVectorXd const>(outputs[m].data(), std::ssize(outputs[m]));
  }
  return out;
}

}  // namespace calculator
