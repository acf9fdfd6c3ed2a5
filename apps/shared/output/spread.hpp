// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace apps {

struct spread {
  double mean;
  double deviation;  // of one run; 0 where there is only one
  std::size_t runs;
};

inline spread spread_of(std::vector<double> const& values) {
  double const n = static_cast<double>(values.size());
  if (values.empty()) return {0.0, 0.0, 0};
  double const mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0.0;
  for (double const v : values) squares += (v - mean) * (v - mean);
  return {mean, values.size() > 1 ? std::sqrt(squares / (n - 1.0)) : 0.0, values.size()};
}

}  // namespace apps
