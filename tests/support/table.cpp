// SPDX-License-Identifier: Apache-2.0
#include "support/table.hpp"

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace support {

double relative(exact const& value, exact const& truth) {
  return static_cast<double>(abs(exact((value - truth) / truth)));
}

table::table(std::string const& name) {
  std::ifstream file(std::filesystem::path(TACIT_TEST_DATA_DIR) / name);
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

std::string const& table::text(std::size_t row, std::string const& column) const {
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c] == column) return rows_.at(row).at(c);
  }
  throw std::runtime_error("no column " + column);
}

// strtod reads subnormal and underflowing values, too.
double table::number(std::size_t row, std::string const& column) const {
  return std::strtod(text(row, column).c_str(), nullptr);
}

exact table::value(std::size_t row, std::string const& column) const {
  return exact(text(row, column));
}

}  // namespace support
