// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/betting.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/congruence.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gap/certificate.hpp>
#include <tacit/pac/gap/estimate.hpp>
#include <tacit/pac/gap/surrogate.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/mi_bound.hpp>

#include <Eigen/Core>
#include <Eigen/LU>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

/// Upper bounds on I(X; Z), Z = M(X) + N(0, Σ_B), from sampled outputs. For any law Q that was fixed
/// before the scoring rows were seen,
///   I(X; Z) = E KL(P_{Z|X}‖Q) − KL(P_Z‖Q),
/// and with Q = N(m, (AᵀA)⁻¹), Σ_B = TTᵀ and C = AT,
///   KL(P_{Z|X=x}‖Q) = ½[‖C‖_F² − d − log det CCᵀ + ‖A(y − m)‖²],  y = M(x).
/// ½log det(SΣ_B⁻¹) with a fitted S is no bound: the expectation of the last term over outputs that the
/// fit has not seen is what makes it one.

namespace tacit {
namespace detail {

/// T with TTᵀ = Σ_B, as drawn by `shaped`.
template <dense_scalar T>
struct noise_root {
  matrix_of<T> matrix;
  double error;  // of the length of any column
};

template <dense_scalar T = double>
[[nodiscard]] noise_root<T> root_of(basic_gaussian_noise<T> const& noise) {
  if (noise.along_coordinates()) {
    vector_of<T> const deviations = noise.variances().cwiseSqrt();
    return {deviations.asDiagonal(), unit_roundoff * deviations.maxCoeff()};
  }
  double const across = std::sqrt(noise.rest());
  matrix_of<T> const& axes = noise.axes();
  vector_of<T> const extra = (noise.variances().cwiseSqrt().array() - across).matrix();
  matrix_of<T> out = congruence(axes, extra);
  out.diagonal().array() += across;
  double largest = across;
  if (axes.cols() > 0) {
    vector_of<T> const terms =
        (noise.variances().cwiseSqrt().array() + across).matrix();  // what extra was rounded from
    largest += congruence(axes.cwiseAbs(), terms).colwise().norm().maxCoeff();
  }
  return {std::move(out), 4.0 * static_cast<double>(axes.cols() + 4) * unit_roundoff * largest};
}

/// Σ log|C_ii| of a factor is no proof until its error is known. LU of the computed C is exact for
/// C + E, |E| ≤ γ|L||U| row by row, to which the rounding of C itself adds; and with X = (C + E)⁻¹E,
/// |log|det(I − X)|| ≤ √d‖X‖_F/(1 − ‖X‖_F).
struct log_determinant {
  double value;  // log|det C|
  double error;
};

template <dense_scalar T = double>
[[nodiscard]] log_determinant log_determinant_of(matrix_of<T> const& c, double entry_error,
                                                 char const* function) {
  auto const d = static_cast<double>(c.rows());
  Eigen::PartialPivLU<matrix_of<T>> const lu(c);
  matrix_of<T> const& factors = lu.matrixLU();
  double value = 0.0;
  double size = 0.0;
  for (Eigen::Index i = 0; i < factors.rows(); ++i) {
    double const log = elementary::log(std::abs(factors(i, i)));
    value += log;
    size += std::abs(log);
  }
  double lower = d;  // squares of L, whose diagonal is 1
  double upper = 0.0;
  for (Eigen::Index j = 0; j < factors.cols(); ++j) {
    for (Eigen::Index i = 0; i < factors.rows(); ++i) {
      (i > j ? lower : upper) += factors(i, j) * factors(i, j);
    }
  }
  double const backward =
      2.0 * d * unit_roundoff * std::sqrt(lower) * std::sqrt(upper) + entry_error * d;
  double const relative = 2.0 * backward * lu.inverse().norm();
  require_domain(relative < 0.1, function, "relative error of the log-determinant", relative,
                 "below 0.1: the noise is too small in some direction");
  return {value,
          std::sqrt(d) * relative / (1.0 - relative) + 2.0 * (d + 2.0) * unit_roundoff * size};
}

/// KL(N(y, Σ_B)‖Q) = fixed + ½‖A(y − m)‖².
struct conditional_divergence {
  double fixed;         // rounded up
  double largest_gain;  // ‖A‖₂ from above
};

template <dense_scalar T = double>
[[nodiscard]] conditional_divergence divergence_from(basic_normal_surrogate<T> const& surrogate,
                                                     basic_gaussian_noise<T> const& noise,
                                                     char const* function) {
  check_size(function, "dimension of the noise", noise.dimension(), surrogate.dimension());
  require_domain(noise.least_variance() > 0.0, function, "least variance of the noise",
                 noise.least_variance(), "positive in every direction");
  auto const d = static_cast<double>(surrogate.dimension());
  matrix_of<T> const& a = surrogate.whitener();
  auto const [t, t_error] = root_of(noise);
  matrix_of<T> const c = a * t;
  double const entry_error =
      a.rowwise().norm().maxCoeff() *
      (t_error + 4.0 * (d + 4.0) * unit_roundoff * t.colwise().norm().maxCoeff());
  log_determinant const determinant = log_determinant_of(c, entry_error, function);
  double const squares = c.squaredNorm();
  double const fixed = 0.5 * (squares - d) - determinant.value;
  double const error = determinant.error +
                       d * entry_error * (std::sqrt(squares) + d * entry_error) +
                       4.0 * d * d * unit_roundoff * squares +
                       8.0 * unit_roundoff * (std::abs(determinant.value) + squares + d);
  matrix_of<T> const gram = a * a.transpose();
  double const spectral = eigenvalues_of(gram)(a.rows() - 1);
  return {fixed + error, std::sqrt(spectral + 100.0 * d * d * unit_roundoff * a.squaredNorm())};
}

/// ½‖A(y − m)‖² of every row, rounded up.
template <dense_scalar T = double>
[[nodiscard]] vector_of<T> half_energies(basic_normal_surrogate<T> const& surrogate,
                                         matrix_of<T> const& outputs) {
  auto const d = static_cast<double>(surrogate.dimension());
  array_of<T> const lengths = surrogate.whitened(outputs).rowwise().norm().array() +
                              std::sqrt(d) * surrogate.rounding(outputs).array();
  return (0.5 * lengths.square() * (1.0 + 4.0 * (d + 4.0) * unit_roundoff)).matrix();
}

/// A bound of ½‖A(y − m)‖² for ‖y‖ ≤ radius.
template <dense_scalar T = double>
[[nodiscard]] double largest_half_energy(basic_normal_surrogate<T> const& surrogate,
                                         double largest_gain, double radius) {
  double const length = largest_gain * (radius + surrogate.mean().norm()) * (1.0 + 1e-12);
  return 0.5 * length * length;
}

template <dense_scalar T = double>
void check_radius(char const* function, matrix_of<T> const& outputs, double radius) {
  check_non_negative(function, "radius", radius);
  double const longest = outputs.rowwise().norm().maxCoeff();
  require_domain(longest <= radius * (1.0 + 1e-12), function, "length of an output", longest,
                 "at most the radius");
}

[[nodiscard]] inline double both_confidences(double one, double failure) noexcept {
  return confidence_of((1.0 - one) * (1.0 + 1e-15) + failure * (1.0 + 1e-15));
}

}  // namespace detail

struct held_out_options {
  double radius = required;  // ‖M(x)‖ ≤ radius for every x: known, as from clipping, not observed
  double failure = required;  // of the confidence bound made here
};

/// I(X; Z) from above, by a certificate of the gap: what the normal surrogate charges, less how far Z's
/// law is from it at least.
/// Guarantee: upper bound with confidence 1 − failure − (the certificate's own failure), over the rows
/// of both. They may be the same rows; neither may have been used to fit the surrogate.
/// @param outputs noiseless, one M(x) a row, x drawn from its law
/// @throws std::invalid_argument for shapes that do not match; std::domain_error for an output beyond the
///         radius, noise that is 0 in some direction, or too small to certify its determinant
template <dense_scalar T = double>
[[nodiscard]] mi_bound certified_information(basic_gap_certificate<T> const& gap,
                                             basic_gaussian_noise<T> const& noise,
                                             matrix_of<T> const& outputs,
                                             held_out_options options) {
  detail::check_failure("certified_information", options.failure);
  basic_normal_surrogate<T> const& surrogate = gap.surrogate();
  detail::check_rows("certified_information", outputs, surrogate.dimension());
  detail::check_radius("certified_information", outputs, options.radius);
  auto const [fixed, gain] = detail::divergence_from(surrogate, noise, "certified_information");
  vector_of<T> const energies = detail::half_energies(surrogate, outputs);
  double const largest =
      std::max(detail::largest_half_energy(surrogate, gain, options.radius) *
                   (1.0 + 8.0 * (static_cast<double>(surrogate.dimension()) + 4.0) * 1e-12),
               std::numeric_limits<double>::min());
  double const energy = upper_confidence(detail::span_of(energies), 0.0, largest, options.failure);
  double const charged = fixed + energy - gap.value().value;
  double const rounding = 4.0 * detail::unit_roundoff * (std::abs(fixed) + energy);
  detail::check_finite("certified_information", "the bound", charged);
  return {nats(std::max(0.0, charged + rounding)),
          detail::both_confidences(gap.confidence(), options.failure)};
}

/// The same without a certificate: −log|det C|, which is ½log det(SΣ_B⁻¹), less an estimate.
/// Guarantee: estimate.
/// @throws as above
template <dense_scalar T = double>
[[nodiscard]] mi_estimate estimated_information(basic_normal_surrogate<T> const& surrogate,
                                                gap_estimate gap,
                                                basic_gaussian_noise<T> const& noise) {
  detail::check_size("estimated_information", "dimension of the noise", noise.dimension(),
                     surrogate.dimension());
  matrix_of<T> const c = surrogate.whitener() * detail::root_of(noise).matrix;
  auto const determinant = detail::log_determinant_of(c, 0.0, "estimated_information");
  double const information = -determinant.value - gap.value.value;
  detail::check_finite("estimated_information", "log-det less the gap", information);
  return {nats(std::max(0.0, information))};
}

#if defined(TACIT_COMPILED_DENSE)
extern template mi_bound certified_information(gap_certificate const&, gaussian_noise const&,
                                               Eigen::MatrixXd const&, held_out_options);
extern template mi_estimate estimated_information(normal_surrogate const&, gap_estimate,
                                                  gaussian_noise const&);
#endif

}  // namespace tacit
