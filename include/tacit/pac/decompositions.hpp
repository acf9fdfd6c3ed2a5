// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/pac/all_finite.hpp>
#include <tacit/pac/dense.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>

/// Decompositions as functions of plain matrices: they are the largest part of what a file that uses this
/// floor compiles, and tacit::compiled has each of them once.

#if defined(TACIT_LAPACKE)
// As lapacke.h declares it, where lapack_int is int: that header brings complex.h of C and its macros along.
extern "C" int LAPACKE_dsyevd(int layout, char vectors, char half, int n, double* matrix,
                              int stride, double* values);
#endif

namespace tacit::detail {

#if defined(TACIT_LAPACKE)
/// Below so many rows Eigen is as fast.
inline constexpr Eigen::Index least_for_lapack = 128;
#endif

/// Eigenvalues, in ascending order, and eigenvectors of a symmetric matrix, of which the lower half is read.
template <dense_scalar T = double>
[[nodiscard]] Eigen::SelfAdjointEigenSolver<matrix_of<T>> eigen_of(matrix_of<T> const& symmetric) {
  return Eigen::SelfAdjointEigenSolver<matrix_of<T>>(symmetric);
}

/// Orthonormal axes, a column each, along which a symmetric matrix is diagonal, and what it has there, in
/// ascending order: up to rounding.
template <dense_scalar T>
struct principal_axes {
  matrix_of<T> axes;
  vector_of<T> variances;
};

/// The same as `eigen_of`; in a program that links tacit::lapacke large matrices are left to LAPACK, whose
/// dsyevd divides and conquers. (The hook of Eigen, EIGEN_USE_LAPACKE, calls dsyev, which is QL as Eigen's own is.)
/// Guarantee: none. What rests on the axes has to hold for any axes, and to measure them.
template <dense_scalar T = double>
[[nodiscard]] principal_axes<T> principal_axes_of(matrix_of<T> const& symmetric) {
#if defined(TACIT_LAPACKE)
  Eigen::Index const n = symmetric.rows();
  // Numbers that are not finite could keep LAPACK busy for ever.
  if (n >= least_for_lapack && n <= 20'000 && all_finite(symmetric)) {
    principal_axes<T> out{symmetric, vector_of<T>(n)};
    constexpr int column_major = 102;
    int const size = static_cast<int>(n);
    int const failed =
        LAPACKE_dsyevd(column_major, 'V', 'L', size, out.axes.data(), size, out.variances.data());
    if (failed == 0) return out;
  }
#endif
  auto const solved = eigen_of(symmetric);
  return {solved.eigenvectors(), solved.eigenvalues()};
}

/// By Eigen alone: of these some are certified with a bound of its error (`divergence_from`).
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
extern template principal_axes<double> principal_axes_of<double>(Eigen::MatrixXd const&);
extern template Eigen::VectorXd eigenvalues_of<double>(Eigen::MatrixXd const&);
extern template Eigen::LLT<Eigen::MatrixXd> cholesky_of<double>(Eigen::MatrixXd const&);
extern template Eigen::HouseholderQR<Eigen::MatrixXd> qr_of<double>(Eigen::MatrixXd const&);
extern template Eigen::MatrixXd rotation_of<double>(Eigen::HouseholderQR<Eigen::MatrixXd> const&);
#endif

}  // namespace tacit::detail
