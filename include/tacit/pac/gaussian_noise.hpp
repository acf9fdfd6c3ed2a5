// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/pac/congruence.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace tacit {

/// The shapes of a noise: any covariance, or one variance a coordinate.
enum class noise_shape { full, diagonal };

namespace detail {

template <dense_scalar T>
struct solved_axes;

}  // namespace detail

/// N(0, Σ_B) in d dimensions, Σ_B = Σ_i v_i u_i u_iᵀ + rest·(I − Σ_i u_i u_iᵀ) for k ≤ d
/// orthonormal axes u_i. Variances are in the output's own units, squared. It describes the law;
/// drawing belongs to `mechanism`, which holds the secret stream.
///
/// Memory: d·k numbers along given axes, d along the coordinates' own, so d = 10⁵ needs no d×d
/// matrix.
template <dense_scalar T>
class basic_gaussian_noise {
 public:
  /// The same variance in every direction.
  /// @throws std::invalid_argument if the dimension is 0; std::domain_error unless the variance is
  ///         finite and at least 0
  [[nodiscard]] static basic_gaussian_noise isotropic(std::size_t dimension, double variance) {
    detail::require_argument(dimension > 0, "isotropic", "dimension", dimension, "positive");
    check_variance("isotropic", "variance", variance);
    auto const d = static_cast<Eigen::Index>(dimension);
    return basic_gaussian_noise(matrix_of<T>(d, 0), vector_of<T>(0), variance);
  }

  /// One variance a coordinate.
  [[nodiscard]] static basic_gaussian_noise diagonal(vector_of<T> variances) {
    detail::require_argument(variances.size() > 0, "diagonal", "number of variances",
                             variances.size(), "positive");
    for (double const v : variances) check_variance("diagonal", "variance", v);
    basic_gaussian_noise out(matrix_of<T>(), std::move(variances), 0.0);
    out.along_coordinates_ = true;
    return out;
  }

  /// `axes` is d×k with orthonormal columns; `rest` is the variance across them.
  /// @throws std::invalid_argument unless k ≤ d, there is one variance an axis, and the axes are
  ///         orthonormal to 1e-10; std::domain_error for a variance
  [[nodiscard]] static basic_gaussian_noise along(matrix_of<T> axes, vector_of<T> variances,
                                                  double rest = 0.0) {
    basic_gaussian_noise out = checked(std::move(axes), std::move(variances), rest);
    Eigen::Index const k = out.axes_.cols();
    matrix_of<T> products = -matrix_of<T>::Identity(k, k);
    products.template selfadjointView<Eigen::Lower>().rankUpdate(out.axes_.transpose());
    double const off = k == 0 ? 0.0 : products.cwiseAbs().template maxCoeff<Eigen::PropagateNaN>();
    detail::require_argument(off <= 1e-10, "along", "distance of the axes from orthonormal ones",
                             off, "at most 1e-10");
    return out;
  }

  /// Any covariance matrix. Eigenvalues that rounding has left below 0 become 0.
  /// @throws std::invalid_argument unless it is square, symmetric to 1e-10 and positive
  ///         semidefinite
  [[nodiscard]] static basic_gaussian_noise with_covariance(matrix_of<T> const& covariance) {
    detail::require_argument(covariance.rows() > 0 && covariance.rows() == covariance.cols(),
                             "with_covariance", "number of columns", covariance.cols(),
                             "that of the rows, and positive");
    double const size = covariance.cwiseAbs().template maxCoeff<Eigen::PropagateNaN>();
    detail::check_finite("with_covariance", "largest entry", size);
    double const skew =
        (covariance - covariance.transpose()).cwiseAbs().template maxCoeff<Eigen::PropagateNaN>();
    detail::require_argument(skew <= 1e-10 * size, "with_covariance", "asymmetry", skew,
                             "at most 1e-10 of the largest entry");
    auto solved = detail::principal_axes_of<T>(covariance);
    double const least = solved.variances(0);
    detail::require_argument(least >= -1e-10 * size, "with_covariance", "least eigenvalue", least,
                             "at least 0");
    return along(std::move(solved.axes), solved.variances.cwiseMax(0.0));
  }

  [[nodiscard]] std::size_t dimension() const noexcept {
    return static_cast<std::size_t>(along_coordinates_ ? variances_.size() : axes_.rows());
  }

  /// Whether the axes are the coordinates themselves; then `axes()` is empty.
  [[nodiscard]] bool along_coordinates() const noexcept { return along_coordinates_; }

  /// d×k, orthonormal columns.
  [[nodiscard]] matrix_of<T> const& axes() const noexcept { return axes_; }

  /// v: one an axis.
  [[nodiscard]] vector_of<T> const& variances() const noexcept { return variances_; }

  /// The variance across the axes; nothing is across d axes.
  [[nodiscard]] double rest() const noexcept { return rest_; }

  /// How many directions the rest has.
  [[nodiscard]] std::size_t rest_dimension() const noexcept {
    return along_coordinates_ ? 0 : static_cast<std::size_t>(axes_.rows() - axes_.cols());
  }

  /// E‖B‖², the expected squared length: what the noise costs.
  [[nodiscard]] double trace() const {
    return variances_.sum() + rest_ * static_cast<double>(rest_dimension());
  }

  /// The least variance of any direction.
  [[nodiscard]] double least_variance() const {
    double least = std::numeric_limits<double>::infinity();
    if (variances_.size() > 0) least = variances_.minCoeff();
    return rest_dimension() > 0 && rest_ < least ? rest_ : least;
  }

  /// Σ_B as a d×d matrix.
  [[nodiscard]] matrix_of<T> covariance() const {
    if (along_coordinates_) return variances_.asDiagonal();
    matrix_of<T> out = detail::congruence(axes_, (variances_.array() - rest_).matrix());
    out.diagonal().array() += rest_;
    return 0.5 * (out + out.transpose());
  }

  /// A d×d matrix of doubles to draw from in place of Σ_B: it is at least Σ_B in every direction, and more
  /// noise in every direction reveals no more. Along k axes each entry of `covariance()` has an error of at
  /// most (k + 5)u·Σ v|u_i||u_j|, a matrix of norm (k + 5)u·Σv: so much variance is added to each coordinate.
  /// One without any noise stays at an exact 0.
  /// Guarantee: upper bound
  [[nodiscard]] matrix_of<T> covariance_from_above() const {
    constexpr double ulp = std::numeric_limits<double>::epsilon();
    matrix_of<T> out = covariance();
    auto const axes = static_cast<double>(axes_.cols());
    double const more = (axes + 8.0) * ulp * (variances_.sum() + (axes + 1.0) * rest_);
    for (T& v : out.diagonal()) {
      if (v > 0.0 && axes > 0.0) v += more + v * ulp;
    }
    return out;
  }

  /// Σ_B·factor: the same shape.
  /// @throws std::domain_error unless the factor is positive and finite
  [[nodiscard]] basic_gaussian_noise scaled(double factor) const {
    detail::check_positive("scaled", "factor", factor);
    basic_gaussian_noise out = *this;
    out.variances_ *= factor;
    out.rest_ *= factor;
    return out;
  }

  /// Σ_B^{1/2}·g: a draw, if g is a vector of d independent standard normals. Never −0: a sum of it and
  /// an output is not −0 either, and so does not show the sign of a zero where there is no noise.
  [[nodiscard]] vector_of<T> shaped(vector_of<T> const& normals) const {
    detail::require_argument(normals.size() == static_cast<Eigen::Index>(dimension()), "shaped",
                             "number of normals", normals.size(), "the dimension");
    if (along_coordinates_) {
      return (variances_.cwiseSqrt().cwiseProduct(normals).array() + 0.0).matrix();
    }
    double const across = std::sqrt(rest_);
    vector_of<T> along = axes_.transpose() * normals;
    along.array() *= variances_.cwiseSqrt().array() - across;
    vector_of<T> out = across * normals;
    out.noalias() += axes_ * along;
    return (out.array() + 0.0).matrix();
  }

 private:
  friend struct detail::solved_axes<T>;

  basic_gaussian_noise(matrix_of<T> axes, vector_of<T> variances, double rest)
      : axes_(std::move(axes)), variances_(std::move(variances)), rest_(rest) {}

  /// Whatever the axes are but for their number.
  [[nodiscard]] static basic_gaussian_noise checked(matrix_of<T> axes, vector_of<T> variances,
                                                    double rest) {
    detail::require_argument(axes.rows() > 0 && axes.cols() <= axes.rows(), "along",
                             "number of axes", axes.cols(), "at most the dimension");
    detail::require_argument(variances.size() == axes.cols(), "along", "number of variances",
                             variances.size(), "one an axis");
    for (double const v : variances) check_variance("along", "variance", v);
    check_variance("along", "rest", rest);
    return basic_gaussian_noise(std::move(axes), std::move(variances), rest);
  }

  static void check_variance(char const* function, char const* name, double variance) {
    detail::check_non_negative(function, name, variance);
  }

  matrix_of<T> axes_;
  vector_of<T> variances_;
  double rest_;
  bool along_coordinates_ = false;
};

namespace detail {

/// Noise along the axes that a solver found: orthonormal as far as it can be had, which `along` would only find out by a
/// product of d³ operations. What is certified measures how far.
template <dense_scalar T>
struct solved_axes {
  [[nodiscard]] static basic_gaussian_noise<T> noise(matrix_of<T> axes, vector_of<T> variances,
                                                     double rest = 0.0) {
    return basic_gaussian_noise<T>::checked(std::move(axes), std::move(variances), rest);
  }
};

}  // namespace detail
}  // namespace tacit
