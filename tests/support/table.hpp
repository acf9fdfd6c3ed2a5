// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/multiprecision/cpp_bin_float.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace support {

/// 50 decimal digits: what the 40-digit tables are read into, and the precision in which the same
/// templates run to judge the double ones. The latter shows what rounding does, and cannot show a wrong
/// formula, which is as wrong in 50 digits. Formulas are judged by tables whose values come from other
/// formulas (tools/reference/, tests/referee/enclosures.py).
using exact = boost::multiprecision::cpp_bin_float_50;

/// |value − truth|/|truth|.
double relative(exact const& value, exact const& truth);

/// A reference table of tests/data: comment lines, a line of column names, rows of numbers.
class table {
 public:
  explicit table(std::string const& name);

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] std::string const& text(std::size_t row, std::string const& column) const;
  [[nodiscard]] double number(std::size_t row, std::string const& column) const;
  [[nodiscard]] exact value(std::size_t row, std::string const& column) const;

 private:
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace support
