// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

namespace tacit::detail {

/// Whether every entry is finite: x − x is 0 for those and NaN for the others.
template <class Derived>
[[nodiscard]] bool all_finite(Eigen::MatrixBase<Derived> const& x) {
  return x.size() == 0 || (x.array() - x.array()).sum() == 0.0;
}

}  // namespace tacit::detail
