// SPDX-License-Identifier: Apache-2.0
#include "support/matrices.hpp"

#include <Eigen/Dense>

#include <cmath>

namespace support {

Eigen::MatrixXd inverse(Eigen::MatrixXd const& m) { return m.inverse(); }
double determinant(Eigen::MatrixXd const& m) { return m.determinant(); }
long double absolute_determinant(wide_matrix const& m) {
  return std::abs(m.fullPivLu().determinant());
}

Eigen::MatrixXd cholesky_root(Eigen::MatrixXd const& m) { return m.llt().matrixL(); }

Eigen::MatrixXd orthonormal(Eigen::MatrixXd const& m) {
  return Eigen::HouseholderQR<Eigen::MatrixXd>(m).householderQ() *
         Eigen::MatrixXd::Identity(m.rows(), m.cols());
}

eigen_pairs eigen_pairs_of(Eigen::MatrixXd const& symmetric) {
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> const solved(symmetric);
  return {solved.eigenvalues(), solved.eigenvectors()};
}

long double least_eigenvalue(wide_matrix const& symmetric) {
  return Eigen::SelfAdjointEigenSolver<wide_matrix>(symmetric, Eigen::EigenvaluesOnly)
      .eigenvalues()(0);
}

}  // namespace support
