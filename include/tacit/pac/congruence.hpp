// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/pac/dense.hpp>

#include <Eigen/Core>

/// Two products with a diagonal in between, as functions of plain matrices: a separate Eigen expression at
/// each place of use would cost every compilation a second.

namespace tacit::detail {

/// A·diag(v)·Aᵀ.
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> congruence(matrix_of<T> const& a, vector_of<T> const& v) {
  matrix_of<T> const scaled = a * v.asDiagonal();
  return scaled * a.transpose();
}

/// Aᵀ·diag(w)·A, the sum of w_i·a_i·a_iᵀ over the rows of A.
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> scatter(matrix_of<T> const& rows, vector_of<T> const& weights) {
  matrix_of<T> const scaled = rows.transpose() * weights.asDiagonal();
  return scaled * rows;
}

}  // namespace tacit::detail
