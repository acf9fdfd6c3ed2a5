// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/pac/dense.hpp>

#include <Eigen/Core>

#include <cstddef>

namespace tacit::detail {

/// e^x of each entry, by the library's own exponential: Eigen's has no proven error, and certificates need one.
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> exponentials(matrix_of<T> x) {
  elementary::exp_each(x.data(), static_cast<std::size_t>(x.size()));
  return x;
}

}  // namespace tacit::detail
