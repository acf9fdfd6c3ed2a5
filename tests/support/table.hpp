// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/multiprecision/cpp_bin_float.hpp>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace support {

/// 50 decimal digits: what the 40-digit tables are read into, and the precision in which the same
/// templates run to judge the double ones.
using exact = boost::multiprecision::cpp_bin_float_50;

/// |value − truth|/|truth|.
inline double relative(exact const& value, exact const& truth) {
  return static_cast<double>(abs(exact((value - truth) / truth)));
}

/// A reference table of tests/data: comment lines, a line of column names, rows of numbers.
class table {
 public:
  explicit table(std::string const& name) {
    std::ifstream file(std::string(TACIT_TEST_DATA_DIR) + "/" + name);
    if (!file) throw std::runtime_error("no reference table " + name);
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.front() == '#') continue;
      std::vector<std::string> cells;
      std::istringstream stream(line);
      for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
      (columns_.empty() ? columns_ : rows_.emplace_back()) = cells;
    }
    if (rows_.empty()) throw std::runtime_error("empty reference table " + name);
  }

  [[nodiscard]] std::size_t size() const { return rows_.size(); }

  [[nodiscard]] std::string const& text(std::size_t row, std::string const& column) const {
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c] == column) return rows_.at(row).at(c);
    }
    throw std::runtime_error("no column " + column);
  }
  [[nodiscard]] double number(std::size_t row, std::string const& column) const {
    return std::strtod(text(row, column).c_str(),
                       nullptr);  // subnormal and underflowing values too
  }
  [[nodiscard]] exact value(std::size_t row, std::string const& column) const {
    return exact(text(row, column));
  }

 private:
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace support
