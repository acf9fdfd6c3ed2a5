// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

/// Two products with a diagonal between. By function, on plain matrices: an Eigen expression of its own in
/// each place that takes one costs every compilation a second.

namespace tacit::detail {

/// A·diag(v)·Aᵀ.
[[nodiscard]] inline Eigen::MatrixXd congruence(Eigen::MatrixXd const& a,
                                                Eigen::VectorXd const& v) {
  Eigen::MatrixXd const scaled = a * v.asDiagonal();
  return scaled * a.transpose();
}

/// Aᵀ·diag(w)·A, the sum of w_i·a_i·a_iᵀ over the rows of A.
[[nodiscard]] inline Eigen::MatrixXd scatter(Eigen::MatrixXd const& rows,
                                             Eigen::VectorXd const& weights) {
  Eigen::MatrixXd const scaled = rows.transpose() * weights.asDiagonal();
  return scaled * rows;
}

}  // namespace tacit::detail
