// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gap/sort.hpp>
#include <tacit/pac/gap/surrogate.hpp>

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <numbers>

/// How far below the log-det the information seems to be: plug-in figures, from a sample of Z whitened
/// by its own normal (`normal_surrogate`). In whitened coordinates, for every orthonormal basis,
///   gap = KL(P‖N(0,I)) ≥ Σ_i KL(P_i‖N(0,1)) ≥ Σ_i ½W₂²(P_i, N(0,1))
/// (the chain rule with a product on the right; Talagrand 1996). A sample is never quite normal, so that
/// each of these is biased upward, by some d/n times a few: none is a bound.

namespace tacit {

/// What the gap seems to be. Nothing is certified, and it never becomes a certificate.
struct gap_estimate {
  nats value;
};

namespace detail {

/// ∫Φ⁻¹ from k/n to (k+1)/n for k = 0 … n−1, which is φ(Φ⁻¹(k/n)) − φ(Φ⁻¹((k+1)/n)).
template <dense_scalar T = double>
[[nodiscard]] vector_of<T> quantile_integrals(Eigen::Index n) {
  vector_of<T> density = vector_of<T>::Zero(n + 1);
  auto const at = [](T x) { return elementary::exp(-0.5 * x * x) / constants::root_two_pi<T>(); };
  T const share = 1.0 / static_cast<T>(n);
  T x = normal_tail_inverse(share);
  for (Eigen::Index k = 1; 2 * k <= n; ++k) {
    // Halley's method, from where Taylor's series about the quantile before leads. A step of 1e-5 leaves 1e-15.
    if (k > 1) {
      T const h = share / density(k - 1);
      x -= h * (1.0 - h * (0.5 * x - h * ((1.0 + 2.0 * x * x) / 6.0)));
    }
    for (T step = 1.0; std::abs(step) > 1e-5; x += step) {
      T const miss = mills_ratio(x) - static_cast<T>(k) * share / at(x);
      step = miss / (1.0 - 0.5 * x * miss);
    }
    density(k) = at(x);
    density(n - k) = density(k);
  }
  return density.head(n) - density.tail(n);
}

/// 1 + ½ + … + 1/n
[[nodiscard]] inline double harmonic_number(Eigen::Index n) {
  double sum = 0.0;
  for (Eigen::Index k = n; k >= 1; --k) sum += 1.0 / static_cast<double>(k);
  return sum;
}

/// ½W₂² summed over the columns.
template <dense_scalar T = double>
[[nodiscard]] double half_squared_distances(matrix_of<T> columns) {
  vector_of<T> const integrals = quantile_integrals(columns.rows());
  column_sorter<T> sort;
  double sum = 0.0;
  for (Eigen::Index i = 0; i < columns.cols(); ++i) {
    auto column = columns.col(i);
    sort({column.data(), static_cast<std::size_t>(column.size())});
    // W₂² of a sorted sample x, exactly: ∫(F⁻¹ − Φ⁻¹)².
    double const squares = column.squaredNorm() / static_cast<double>(column.size());
    sum += 0.5 * (squares + 1.0 - 2.0 * column.dot(integrals));
  }
  return sum;
}

template <dense_scalar T = double>
void check_axes(char const* function, matrix_of<T> const& whitened, matrix_of<T> const& axes) {
  check_rows(function, whitened, static_cast<std::size_t>(whitened.cols()));
  check_rows(function, axes, static_cast<std::size_t>(axes.cols()));
  check_size(function, "number of rows of axes", static_cast<std::size_t>(axes.rows()),
             static_cast<std::size_t>(whitened.cols()));
}

}  // namespace detail

/// The published correction (Residual-PAC, Theorem 4 and Algorithm 5): the mean of ½W₂² over uniformly
/// random directions, a d-th of what a basis gives.
/// @throws std::invalid_argument for no rows or no directions
template <dense_scalar T = double>
[[nodiscard]] gap_estimate sliced_wasserstein_gap(matrix_of<T> const& whitened,
                                                  std::size_t directions, public_stream stream) {
  detail::check_rows("sliced_wasserstein_gap", whitened, static_cast<std::size_t>(whitened.cols()));
  detail::require_argument(directions > 0, "sliced_wasserstein_gap", "directions", directions,
                           "positive");
  auto const count = static_cast<Eigen::Index>(directions);
  matrix_of<T> slices = public_normals(stream, whitened.cols(), count);
  slices.colwise().normalize();
  return {nats(detail::half_squared_distances(whitened * slices) / static_cast<double>(count))};
}

/// Σ ½W₂² over orthonormal axes: for random ones d times `sliced_wasserstein_gap` on average.
/// @throws std::invalid_argument for no rows, or axes of another dimension
template <dense_scalar T = double>
[[nodiscard]] gap_estimate wasserstein_gap(matrix_of<T> const& whitened, matrix_of<T> const& axes) {
  detail::check_axes("wasserstein_gap", whitened, axes);
  return {nats(detail::half_squared_distances(whitened * axes))};
}

/// Σ KL(P_i‖N(0,1)) over orthonormal axes, with each entropy from its spacings (Vasicek 1976), m = n^⅓
/// wide, less the bias that they have for a uniform law.
/// @throws std::invalid_argument for fewer than 8 rows, or axes of another dimension;
///         std::domain_error if more than m observations agree: Z has a density, and its sample no ties
template <dense_scalar T = double>
[[nodiscard]] gap_estimate marginal_gap(matrix_of<T> const& whitened, matrix_of<T> const& axes) {
  detail::check_axes("marginal_gap", whitened, axes);
  Eigen::Index const n = whitened.rows();
  detail::require_argument(n >= 8, "marginal_gap", "number of rows", n, "at least 8");
  auto const count = static_cast<double>(n);
  auto const m = static_cast<Eigen::Index>(std::cbrt(count));
  auto const width = static_cast<double>(m);
  // ψ(k+1) = H_k − γ, and the γ cancel.
  double bias = elementary::log(count / (2.0 * width)) - detail::harmonic_number(n) +
                (1.0 - 2.0 * width / count) * detail::harmonic_number(2 * m - 1);
  for (Eigen::Index i = m - 1; i <= 2 * m - 2; ++i) {
    bias += 2.0 / count * detail::harmonic_number(i);
  }
  detail::column_sorter<T> sort;
  double sum = 0.0;
  array_of<T> spacings(n);
  matrix_of<T> columns = whitened * axes;
  for (Eigen::Index i = 0; i < columns.cols(); ++i) {
    auto column = columns.col(i);
    sort({column.data(), static_cast<std::size_t>(n)});
    spacings.head(m) = column.segment(m, m).array() - column(0);
    spacings.segment(m, n - 2 * m) = (column.tail(n - 2 * m) - column.head(n - 2 * m)).array();
    spacings.tail(m) = column(n - 1) - column.segment(n - 2 * m, m).array();
    detail::check_positive("marginal_gap", "a spacing",
                           spacings.template minCoeff<Eigen::PropagateNaN>());
    double const logs = spacings.log().sum();
    double const entropy = logs / count + elementary::log(count / (2.0 * width)) - bias;
    double const cross =
        0.5 * (elementary::log(2.0 * std::numbers::pi) + column.squaredNorm() / count);
    sum += cross - entropy;
  }
  return {nats(sum)};
}

#if defined(TACIT_COMPILED_DENSE)
extern template gap_estimate sliced_wasserstein_gap<double>(Eigen::MatrixXd const&, std::size_t,
                                                            public_stream);
extern template gap_estimate wasserstein_gap<double>(Eigen::MatrixXd const&,
                                                     Eigen::MatrixXd const&);
extern template gap_estimate marginal_gap<double>(Eigen::MatrixXd const&, Eigen::MatrixXd const&);
#endif

}  // namespace tacit
