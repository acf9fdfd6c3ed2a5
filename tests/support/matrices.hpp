// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

/// Eigen's decompositions, compiled once: each takes seconds to instantiate, in every test that names it.
namespace support {

using wide_matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

[[nodiscard]] Eigen::MatrixXd inverse(Eigen::MatrixXd const& m);
[[nodiscard]] double determinant(Eigen::MatrixXd const& m);
[[nodiscard]] long double absolute_determinant(wide_matrix const& m);

/// The lower factor of a positive matrix.
[[nodiscard]] Eigen::MatrixXd cholesky_root(Eigen::MatrixXd const& m);

/// Q of the columns of m, of which there are no more than rows.
[[nodiscard]] Eigen::MatrixXd orthonormal(Eigen::MatrixXd const& m);

struct eigen_pairs {
  Eigen::VectorXd values;  // ascending
  Eigen::MatrixXd vectors;
};
[[nodiscard]] eigen_pairs eigen_pairs_of(Eigen::MatrixXd const& symmetric);
[[nodiscard]] long double least_eigenvalue(wide_matrix const& symmetric);

}  // namespace support
