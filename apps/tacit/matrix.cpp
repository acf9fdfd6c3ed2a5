// SPDX-License-Identifier: Apache-2.0
#include "matrix.hpp"

#include "arguments.hpp"
#include "output/text_file.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <istream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace calculator {

namespace {

std::string_view trimmed(std::string_view text) {
  std::size_t const first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

enum class reading { a_number, not_finite, no_number };

// What a double cannot hold is as bad as what is not finite.
reading read_number(std::string_view text, double& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  char const* const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return reading::no_number;
  bool const held = error == std::errc() && std::isfinite(value);
  return held ? reading::a_number : reading::not_finite;
}

void split(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  for (std::size_t begin = 0;;) {
    std::size_t const comma = line.find(',', begin);
    fields.push_back(trimmed(line.substr(begin, comma - begin)));
    if (comma == std::string_view::npos) return;
    begin = comma + 1;
  }
}

std::string quoted(std::string_view field) {
  std::string out = "'";
  if (field.size() <= 40) {
    out.append(field).append("'");
  } else {
    std::size_t end = 37;
    while (end > 0 && (field[end] & '\xc0') == '\x80') --end;  // between two characters
    out.append(field.substr(0, end)).append("...'");
  }
  std::replace(out.begin(), out.end(), '\0', ' ');  // it would end the message
  return out;
}

std::string standard_input() {
  try {
    return apps::read_text("-");
  } catch (std::runtime_error const& error) {
    throw bad_input(std::string("-: ") + error.what());
  }
}

}  // namespace

std::string has(std::size_t count, std::string const& noun) {
  return "has " + std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void refuse_line(std::string const& file, std::size_t line, std::string const& what) {
  throw bad_input(file + ":" + std::to_string(line) + ": " + what);
}

void visit_rows(std::string const& file, row_visitor const& visit, names_visitor const& names) {
  if (file == "-") {  // (A std::cin that cannot be read looks as if it had ended.)
    std::istringstream in(standard_input());
    return visit_rows(file, in, visit, names);
  }
  std::optional<apps::file_buffer> bytes;
  try {
    bytes.emplace(file);
  } catch (std::system_error const&) {
    throw bad_input(file + ": cannot be read, but must be a table of comma-separated numbers");
  }
  std::istream in(&*bytes);
  visit_rows(file, in, visit, names);
}

void visit_rows(std::string const& file, std::istream& in, row_visitor const& visit,
                names_visitor const& names) {
  std::string text;
  std::vector<std::string_view> fields;
  std::vector<double> row;
  std::size_t columns = 0;
  std::size_t rows = 0;
  std::size_t empty = 0;  // the line, if there was one
  for (std::size_t number = 1; std::getline(in, text); ++number) {
    std::string_view line = text;
    if (number == 1 && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    line = trimmed(line);
    if (line.starts_with('#')) continue;
    if (line.empty()) {
      if (empty == 0) empty = number;
      continue;
    }
    if (empty != 0) refuse_line(file, empty, "is empty, but must be a row of numbers");

    split(line, fields);
    bool const first = columns == 0;
    if (first) columns = fields.size();
    if (fields.size() != columns) {
      refuse_line(file, number,
                  has(fields.size(), "column") + ", but must have " + std::to_string(columns) +
                      ", as the first line has");
    }
    row.resize(columns);
    std::size_t bad = columns;
    bool named = first;
    for (std::size_t i = 0; i < columns; ++i) {
      reading const is = read_number(fields[i], row[i]);
      if (is != reading::no_number) named = false;
      if (is != reading::a_number) bad = std::min(bad, i);
    }
    if (named) {
      if (names) names(number, fields);
      continue;
    }
    if (bad < columns) {
      refuse_line(file, number,
                  "column " + std::to_string(bad + 1) + " is " + quoted(fields[bad]) +
                      ", but must be a finite number");
    }
    visit(number, row);
    ++rows;
  }
  if (in.bad()) throw bad_input(file + ": cannot be read to its end");
  if (rows == 0) throw bad_input(file + ": has no rows, but must have at least one");
}

namespace {

// `visit` goes over the rows.
template <class Visit>
Eigen::MatrixXd matrix_of(Visit&& visit) {
  std::vector<double> entries;
  std::size_t rows = 0;
  visit([&](std::size_t, std::span<double const> row) {
    entries.insert(entries.end(), row.begin(), row.end());
    ++rows;
  });
  auto const n = static_cast<Eigen::Index>(rows);
  using by_row = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<by_row const>(entries.data(), n, std::ssize(entries) / n);
}

}  // namespace

Eigen::MatrixXd read_matrix(std::string const& file) {
  return matrix_of([&](row_visitor const& visit) { visit_rows(file, visit); });
}

Eigen::MatrixXd read_matrix(std::string const& file, std::istream& in) {
  return matrix_of([&](row_visitor const& visit) { visit_rows(file, in, visit); });
}

Eigen::VectorXd read_weights(std::string const& file) {
  std::vector<double> weights;
  visit_rows(file, [&](std::size_t line, std::span<double const> row) {
    if (row.size() != 1) {
      refuse_line(file, line, has(row.size(), "column") + ", but must have 1: a weight a line");
    }
    if (!(row[0] >= 0.0)) {
      refuse_line(file, line, "the weight is " + exactly(row[0]) + ", but must be at least 0");
    }
    weights.push_back(row[0]);
  });
  if (std::all_of(weights.begin(), weights.end(), [](double w) { return w == 0.0; })) {
    throw bad_input(file + ": all weights are 0, but one must be positive");
  }
  return Eigen::Map<Eigen::VectorXd const>(weights.data(), std::ssize(weights));
}

std::vector<std::string> digest_texts(std::vector<std::uint64_t> digests) {
  std::sort(digests.begin(), digests.end());
  digests.erase(std::unique(digests.begin(), digests.end()), digests.end());
  std::vector<std::string> out;
  for (std::uint64_t const digest : digests) {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
    out.emplace_back(text);
  }
  return out;
}

std::optional<std::uint64_t> read_digest(std::string_view text) {
  std::uint64_t digest = 0;
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), digest, 16);
  bool const whole = error == std::errc() && stop == text.data() + text.size() && text.size() == 16;
  return whole ? std::optional(digest) : std::nullopt;
}

}  // namespace calculator
