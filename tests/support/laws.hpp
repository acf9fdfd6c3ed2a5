// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace support {

/// Σ max(0, p_i − e^ε·q_i) of two laws on the same outcomes.
template <class T>
T hockey_stick(std::vector<T> const& p, std::vector<T> const& q, double epsilon) {
  T const scale = std::exp(static_cast<T>(epsilon));
  T sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) sum += std::max(T(0), p[i] - scale * q[i]);
  return sum;
}

}  // namespace support
