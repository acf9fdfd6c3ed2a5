// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/public_normal.hpp>

#include <Eigen/Core>
#include <Eigen/Eigenvalues>

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace tacit {
namespace detail {

inline void check_rows(char const* function, Eigen::MatrixXd const& rows, std::size_t dimension) {
  require_argument(rows.rows() > 0, function, "number of rows", rows.rows(), "positive");
  check_size(function, "number of columns", static_cast<std::size_t>(rows.cols()), dimension);
  require_domain(rows.allFinite(), function, "an entry", std::numeric_limits<double>::quiet_NaN(),
                 "finite");
}

}  // namespace detail

/// Z = M(X) + B, row by row: outputs with public noise on them, for estimates and certificates. Nothing
/// that is to be released may be drawn here.
/// @throws std::invalid_argument unless the noise has the outputs' dimension
[[nodiscard]] inline Eigen::MatrixXd with_public_noise(Eigen::MatrixXd const& outputs,
                                                       gaussian_noise const& noise,
                                                       public_stream stream) {
  detail::check_rows("with_public_noise", outputs, noise.dimension());
  Eigen::MatrixXd const normals = public_normals(stream, outputs.rows(), outputs.cols());
  if (noise.along_coordinates()) {
    return outputs + normals * noise.variances().cwiseSqrt().asDiagonal();
  }
  double const across = std::sqrt(noise.rest());
  Eigen::VectorXd const extra = (noise.variances().cwiseSqrt().array() - across).matrix();
  Eigen::MatrixXd along = normals * noise.axes();
  along = along * extra.asDiagonal();
  Eigen::MatrixXd out = outputs + across * normals;
  out.noalias() += along * noise.axes().transpose();
  return out;
}

/// A normal law Q to hold the law of Z against: t = A(z − m) is standard normal under it, exactly, for
/// the numbers in A and m as they are. So the coordinates of t are independent under Q whatever rounding
/// went into A, and only the evaluation of t has an error.
class normal_surrogate {
 public:
  /// @throws std::invalid_argument unless A is square and m of its size; std::domain_error unless all is
  ///         finite
  normal_surrogate(Eigen::VectorXd mean, Eigen::MatrixXd whitener)
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
  [[nodiscard]] static normal_surrogate fit(Eigen::MatrixXd const& rows) {
    detail::check_rows("normal_surrogate", rows, static_cast<std::size_t>(rows.cols()));
    detail::require_argument(rows.rows() >= 2, "normal_surrogate", "number of rows", rows.rows(),
                             "at least 2");
    Eigen::VectorXd const mean = rows.colwise().mean();
    Eigen::MatrixXd const centred = rows.rowwise() - mean.transpose();
    Eigen::MatrixXd const covariance =
        centred.transpose() * centred / static_cast<double>(rows.rows() - 1);
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> const solved(covariance);
    double const least = solved.eigenvalues()(0);
    double const largest = solved.eigenvalues()(rows.cols() - 1);
    if (!(least > 1e-12 * largest) || rows.rows() <= rows.cols()) {
      throw infeasible(detail::complaint(
          "normal_surrogate", "least variance of any direction", detail::to_text(least),
          "positive: take more rows than there are columns, and noise in every direction"));
    }
    return {mean, solved.eigenvalues().cwiseSqrt().cwiseInverse().asDiagonal() *
                      solved.eigenvectors().transpose()};
  }

  [[nodiscard]] std::size_t dimension() const noexcept {
    return static_cast<std::size_t>(mean_.size());
  }
  [[nodiscard]] Eigen::VectorXd const& mean() const noexcept { return mean_; }
  [[nodiscard]] Eigen::MatrixXd const& whitener() const noexcept { return whitener_; }

  /// t of every row, n×d.
  [[nodiscard]] Eigen::MatrixXd whitened(Eigen::MatrixXd const& rows) const {
    detail::check_rows("whitened", rows, dimension());
    Eigen::MatrixXd const centred = rows.rowwise() - mean_.transpose();
    return centred * whitener_.transpose();
  }

  /// How far a coordinate of the computed t may be from the exact one, row by row: an inner product of
  /// d terms in any order, and the subtraction before, are (d + 2)u·‖A_i‖‖z − m‖ off at most; twice it.
  [[nodiscard]] Eigen::VectorXd rounding(Eigen::MatrixXd const& rows) const {
    double const unit = static_cast<double>(dimension() + 4) *
                        std::numeric_limits<double>::epsilon() * longest_row_;
    return unit * (rows.rowwise() - mean_.transpose()).rowwise().norm();
  }

  /// The coordinates of t turned to new axes, the orthonormal columns of a d×d matrix. Up to rounding it
  /// is the same law; a certificate belongs to the one that it was computed for.
  /// @throws std::invalid_argument for another shape
  [[nodiscard]] normal_surrogate rotated(Eigen::MatrixXd const& axes) const {
    detail::check_rows("rotated", axes, dimension());
    return {mean_, axes.transpose() * whitener_};
  }

 private:
  Eigen::VectorXd mean_;
  Eigen::MatrixXd whitener_;
  double longest_row_;
};

}  // namespace tacit
