// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/matrix.hpp>

#include <cstddef>
#include <vector>

/// Strategies as they are defined: row by row.
using strategy_rows = std::vector<std::vector<double>>;

inline strategy_rows written_out(tacit::toeplitz_strategy const& c) {
  strategy_rows rows(c.steps, std::vector<double>(c.steps, 0.0));
  for (std::size_t r = 0; r < c.steps; ++r) {
    for (std::size_t t = 0; t < c.coefficients.size() && t <= r; ++t) {
      rows[r][r - t] = c.coefficients[t];
    }
  }
  return rows;
}

inline tacit::dense_strategy as_dense(strategy_rows const& rows) {
  tacit::dense_strategy out{{}, rows.front().size()};
  for (std::vector<double> const& row : rows) {
    out.entries.insert(out.entries.end(), row.begin(), row.end());
  }
  return out;
}
