// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/real.hpp>
#include <tacit/pac/all_finite.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/public_normal.hpp>

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace tacit {
namespace detail {

template <dense_scalar T = double>
void check_rows(char const* function, matrix_of<T> const& rows, std::size_t dimension) {
  require_argument(rows.rows() > 0, function, "number of rows", rows.rows(), "positive");
  check_size(function, "number of columns", static_cast<std::size_t>(rows.cols()), dimension);
  require_domain(all_finite(rows), function, "an entry", std::numeric_limits<double>::quiet_NaN(),
                 "finite");
}

}  // namespace detail

/// Z = M(X) + B, row by row: outputs with public noise on them, for estimates and certificates. Nothing
/// that is to be released may be drawn here.
/// @throws std::invalid_argument unless the noise has the outputs' dimension
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> with_public_noise(matrix_of<T> const& outputs,
                                             basic_gaussian_noise<T> const& noise,
                                             public_stream stream) {
  detail::check_rows("with_public_noise", outputs, noise.dimension());
  matrix_of<T> const normals = public_normals(stream, outputs.rows(), outputs.cols());
  if (noise.along_coordinates()) {
    return outputs + normals * noise.variances().cwiseSqrt().asDiagonal();
  }
  double const across = std::sqrt(noise.rest());
  vector_of<T> const extra = (noise.variances().cwiseSqrt().array() - across).matrix();
  matrix_of<T> along = normals * noise.axes();
  along = along * extra.asDiagonal();
  matrix_of<T> out = outputs + across * normals;
  out.noalias() += along * noise.axes().transpose();
  return out;
}

/// A normal law Q to hold the law of Z against: t = A(z − m) is standard normal under it, exactly, for
/// the numbers in A and m as they are. So the coordinates of t are independent under Q whatever rounding
/// went into A, and only the evaluation of t has an error.
template <dense_scalar T = double>
class basic_normal_surrogate {
 public:
  /// @throws std::invalid_argument unless A is square and m of its size; std::domain_error unless all is
  ///         finite
  basic_normal_surrogate(vector_of<T> mean, matrix_of<T> whitener)
      : mean_(std::move(mean)), whitener_(std::move(whitener)) {
    detail::check_rows("normal_surrogate", whitener_, static_cast<std::size_t>(mean_.size()));
    detail::check_size("normal_surrogate", "number of rows",
                       static_cast<std::size_t>(whitener_.rows()), dimension());
    detail::check_finite("normal_surrogate", "sum of the mean", mean_.sum());
    longest_row_ = whitener_.rowwise().norm().maxCoeff();
  }

  /// The sample's mean and covariance. The coordinates of t are the principal components.
  /// @throws std::domain_error unless all is finite; infeasible if the covariance is singular to
  ///         working precision, as it is from d rows or fewer
  [[nodiscard]] static basic_normal_surrogate fit(matrix_of<T> const& rows) {
    detail::check_rows("normal_surrogate", rows, static_cast<std::size_t>(rows.cols()));
    detail::require_argument(rows.rows() >= 2, "normal_surrogate", "number of rows", rows.rows(),
                             "at least 2");
    vector_of<T> const mean = rows.colwise().mean();
    matrix_of<T> const centred = rows.rowwise() - mean.transpose();
    matrix_of<T> const covariance =
        centred.transpose() * centred / static_cast<double>(rows.rows() - 1);
    auto const solved = detail::principal_axes_of<T>(covariance);
    double const least = solved.variances(0);
    double const largest = solved.variances(rows.cols() - 1);
    if (!(least > 1e-12 * largest) || rows.rows() <= rows.cols()) {
      throw infeasible(detail::complaint(
          "normal_surrogate", "least variance of any direction", detail::to_text(least),
          "positive: take more rows than there are columns, and noise in every direction"));
    }
    return {mean,
            solved.variances.cwiseSqrt().cwiseInverse().asDiagonal() * solved.axes.transpose()};
  }

  [[nodiscard]] std::size_t dimension() const noexcept {
    return static_cast<std::size_t>(mean_.size());
  }
  [[nodiscard]] vector_of<T> const& mean() const noexcept { return mean_; }
  [[nodiscard]] matrix_of<T> const& whitener() const noexcept { return whitener_; }

  /// t of every row, n×d.
  [[nodiscard]] matrix_of<T> whitened(matrix_of<T> const& rows) const {
    detail::check_rows("whitened", rows, dimension());
    matrix_of<T> const centred = rows.rowwise() - mean_.transpose();
    return centred * whitener_.transpose();
  }

  /// How far a coordinate of the computed t may be from the exact one, row by row: an inner product of
  /// d terms in any order, and the subtraction before, are (d + 2)u·‖A_i‖‖z − m‖ off at most; twice it. And
  /// z itself is the double nearest to a sum of noise and a row that may lie far from 0.
  [[nodiscard]] vector_of<T> rounding(matrix_of<T> const& rows) const {
    double const unit = static_cast<double>(dimension() + 4) *
                        std::numeric_limits<double>::epsilon() * longest_row_;
    double const nearest = 1.01 * detail::unit_roundoff * longest_row_;
    return unit * (rows.rowwise() - mean_.transpose()).rowwise().norm() +
           nearest * rows.rowwise().norm();
  }

  /// The coordinates of t turned to new axes, the orthonormal columns of a d×d matrix. Up to rounding it
  /// is the same law; a certificate belongs to the one that it was computed for.
  /// @throws std::invalid_argument for another shape
  [[nodiscard]] basic_normal_surrogate rotated(matrix_of<T> const& axes) const {
    detail::check_rows("rotated", axes, dimension());
    return {mean_, axes.transpose() * whitener_};
  }

 private:
  vector_of<T> mean_;
  matrix_of<T> whitener_;
  double longest_row_;
};

using normal_surrogate = basic_normal_surrogate<>;

#if defined(TACIT_COMPILED_DENSE)
extern template Eigen::MatrixXd with_public_noise(Eigen::MatrixXd const&, gaussian_noise const&,
                                                  public_stream);
#endif

}  // namespace tacit
