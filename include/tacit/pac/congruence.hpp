// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/real.hpp>
#include <tacit/pac/dense.hpp>

#include <Eigen/Core>

#include <cmath>

/// Products of matrices, as functions of plain matrices: a separate Eigen expression at each place of use would
/// cost every compilation a second.

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

/// At least ‖UᵀU − I‖ in Frobenius' norm: as computed, from its lower half, and what rounding may have hidden. By
/// Hypothesis E of docs/certificates/pac.md an entry is a sum of d + 1 products, right to 1.01·(d+2)u, or to twice that on the
/// diagonal.
template <dense_scalar T = double>
[[nodiscard]] double distance_from_orthonormal(matrix_of<T> const& u) {
  Eigen::Index const k = u.cols();
  if (k == 0) return 0.0;
  matrix_of<T> products = -matrix_of<T>::Identity(k, k);
  products.template selfadjointView<Eigen::Lower>().rankUpdate(u.transpose());
  return std::sqrt(2.0) * products.norm() +
         1.01 * static_cast<double>(k + 2) * static_cast<double>(u.rows() + 2) * unit_roundoff;
}

}  // namespace tacit::detail
