// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/pac/dense.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>

/// Decompositions as functions of plain matrices: they are the largest part of what a file that uses this
/// floor compiles, and tacit::compiled has each of them once.

namespace tacit::detail {

/// Eigenvalues, in ascending order, and eigenvectors of a symmetric matrix, of which the lower half is read.
template <dense_scalar T = double>
[[nodiscard]] Eigen::SelfAdjointEigenSolver<matrix_of<T>> eigen_of(matrix_of<T> const& symmetric) {
  return Eigen::SelfAdjointEigenSolver<matrix_of<T>>(symmetric);
}

template <dense_scalar T = double>
[[nodiscard]] vector_of<T> eigenvalues_of(matrix_of<T> const& symmetric) {
  return Eigen::SelfAdjointEigenSolver<matrix_of<T>>(symmetric, Eigen::EigenvaluesOnly)
      .eigenvalues();
}

/// LLᵀ of a positive definite matrix, of which the lower half is read.
template <dense_scalar T = double>
[[nodiscard]] Eigen::LLT<matrix_of<T>> cholesky_of(matrix_of<T> const& positive) {
  return Eigen::LLT<matrix_of<T>>(positive);
}

template <dense_scalar T = double>
[[nodiscard]] Eigen::HouseholderQR<matrix_of<T>> qr_of(matrix_of<T> const& m) {
  return Eigen::HouseholderQR<matrix_of<T>>(m);
}

/// The square Q of QR.
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> rotation_of(Eigen::HouseholderQR<matrix_of<T>> const& qr) {
  return qr.householderQ();
}

#if defined(TACIT_COMPILED_DENSE)
extern template Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen_of<double>(
    Eigen::MatrixXd const&);
extern template Eigen::VectorXd eigenvalues_of<double>(Eigen::MatrixXd const&);
extern template Eigen::LLT<Eigen::MatrixXd> cholesky_of<double>(Eigen::MatrixXd const&);
extern template Eigen::HouseholderQR<Eigen::MatrixXd> qr_of<double>(Eigen::MatrixXd const&);
extern template Eigen::MatrixXd rotation_of<double>(Eigen::HouseholderQR<Eigen::MatrixXd> const&);
#endif

}  // namespace tacit::detail
