// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/pac/congruence.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gap/surrogate.hpp>

#include <Eigen/Core>
#include <Eigen/QR>

#include <cstddef>
#include <numbers>

/// Orthonormal axes in whitened coordinates: the columns of a d×d matrix. Any of them give a valid
/// correction, Σ_i KL(P_i‖N(0,1)) ≤ KL(P‖N(0,I)), and the right ones give all of it. The coordinates of
/// `normal_surrogate::fit` are the principal axes themselves.

namespace tacit {

/// Uniformly random ones.
/// @throws std::invalid_argument if the dimension is 0
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> random_axes(std::size_t dimension, public_stream stream) {
  detail::require_argument(dimension > 0, "random_axes", "dimension", dimension, "positive");
  auto const d = static_cast<Eigen::Index>(dimension);
  auto const qr = detail::qr_of(public_normals(stream, d, d));
  // With R's diagonal made positive the law is Haar's.
  matrix_of<T> axes = detail::rotation_of(qr);
  for (Eigen::Index i = 0; i < d; ++i) {
    if (qr.matrixQR()(i, i) < 0.0) axes.col(i) *= -1.0;
  }
  return axes;
}

/// The axes that show given directions of the output space, such as its coordinates (the identity): axis
/// i is the i-th direction, less its components along the earlier ones.
/// @throws std::invalid_argument unless `directions` is d×d
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> axes_along(basic_normal_surrogate<T> const& surrogate,
                                      matrix_of<T> const& directions) {
  detail::check_rows("axes_along", directions, surrogate.dimension());
  detail::check_size("axes_along", "number of rows", static_cast<std::size_t>(directions.rows()),
                     surrogate.dimension());
  Eigen::ColPivHouseholderQR<matrix_of<T>> const inverse(surrogate.whitener().transpose());
  matrix_of<T> const seen = inverse.solve(directions);
  return detail::rotation_of(detail::qr_of(seen));
}

/// Axes along which the whitened sample is as far from normal as can be: independent components by
/// symmetric FastICA (Hyvärinen 1999). The distance is his approximation of the marginal gap itself, with
/// a bounded function in the place of the kurtosis,
///   J = (E u³)²/12 + (128/3)·(E e^{−u²/2} − 1/√2)²,
/// so that both skewed and symmetric components are found. A normal sample has none, and then the answer
/// is some orthonormal basis.
/// @param whitened n×d, with about unit covariance
/// @throws std::invalid_argument for an empty sample; std::domain_error unless it is finite
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> independent_axes(matrix_of<T> const& whitened, public_stream stream,
                                            int iterations = 60) {
  auto const d = whitened.cols();
  detail::check_rows("independent_axes", whitened, static_cast<std::size_t>(d));
  auto const n = static_cast<double>(whitened.rows());
  matrix_of<T> axes = random_axes(static_cast<std::size_t>(d), stream);
  matrix_of<T> u(whitened.rows(), d);
  array_of<T> square(whitened.rows());
  array_of<T> bell(whitened.rows());
  vector_of<T> pull(d);
  matrix_of<T> next(d, d);
  for (int step = 0; step < iterations; ++step) {
    u.noalias() = whitened * axes;
    for (Eigen::Index i = 0; i < d; ++i) {
      auto column = u.col(i).array();
      square = column.square();
      bell = (-0.5 * square).exp();
      double const skewness = (column * square).mean();
      double const excess = 256.0 / 3.0 * (std::numbers::sqrt2 / 2.0 - bell.mean());
      pull(i) = excess * ((1.0 - square) * bell).mean();
      column = excess * column * bell + 0.5 * skewness * square;  // dJ/du
    }
    next.noalias() = whitened.transpose() * u / n;
    next -= axes * pull.asDiagonal();
    // For a component that is nearly normal this length is noise.
    next.colwise().normalize();
    matrix_of<T> const gram = next.transpose() * next;
    auto const solved = detail::eigen_of(gram);
    double const least = 1e-14 * solved.eigenvalues()(d - 1);
    next =
        next * detail::congruence(solved.eigenvectors(),
                                  solved.eigenvalues().cwiseMax(least).cwiseSqrt().cwiseInverse());
    double const least_cosine = next.cwiseProduct(axes).colwise().sum().cwiseAbs().minCoeff();
    axes = next;
    if (least_cosine > 1.0 - 1e-8) break;
  }
  return detail::rotation_of(detail::qr_of(axes));
}

#if defined(TACIT_COMPILED_DENSE)
extern template Eigen::MatrixXd random_axes<double>(std::size_t, public_stream);
extern template Eigen::MatrixXd axes_along(normal_surrogate const&, Eigen::MatrixXd const&);
extern template Eigen::MatrixXd independent_axes<double>(Eigen::MatrixXd const&, public_stream,
                                                         int);
#endif

}  // namespace tacit
