// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/real.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/chosen.hpp>
#include <tacit/pac/congruence.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

/// Upper bounds on the variances of finitely many candidates, along axes that are themselves
/// rounded, and why they certify ½ log det(I + ΣΣ_B⁻¹) ≤ ½ Σ log(1 + r_i/ℓ_i).
///
/// Let Σ_B = Σ v_i u_i u_iᵀ + rest·(I − Σ u_i u_iᵀ), k axes u_i = the columns of U, W an
/// orthonormal basis of what is orthogonal to them all, ε ≥ ‖UᵀU − I‖.
///
/// 1. *Axes that are nearly orthonormal.* I − UUᵀ is I on W and within ε of 0 on the span of U,
///    where v_i ≥ rest; so Σ_B ⪰ (1−4ε)·U diag(v) Uᵀ + rest·WWᵀ, and so is the covariance of what
///    `gaussian_noise::shaped` forms: there T = √v + √rest·((UᵀU)⁻¹ − I) has ‖Tx‖ ≥ (1−1.01ε)‖√v
///    x‖. Noise variances are raised by 1 + 8ε to pay for it.
/// 2. *Hadamard.* With B = [U W], log det(I + ΣB⁻ᵀ diag(v, rest)⁻¹ B⁻¹) ≤ Σ log(1 + t_i/v_i) over
///    the diagonal t of B⁻¹ΣB⁻ᵀ. Rows of B⁻¹ are Wᵀ and (UᵀU)⁻¹Uᵀ, the latter within 1.01ε of Uᵀ
///    times ‖U‖: √t_i ≤ √(u_iᵀΣu_i) + 1.02ε√(tr Σ). No axis has to be an eigenvector: a poor one
///    costs noise, never the certificate.
/// 3. *Across the axes* the t_j sum to at most E‖y − Uα‖² for any coefficients α, and by concavity
///    Σ log(1 + t_j/rest) ≤ (d−k)·log(1 + E‖y − Uα‖²/((d−k)·rest)): d−k directions of equal
///    variance.
/// 4. *Rounding.* Σ ⪯ E(y−c)(y−c)ᵀ for any centre c, so the centre may be rounded. A centred entry
///    is off by at most u(2|y−c| + |a|), a = c − y_0 (two subtractions); a product with an axis by
///    d·u of the lengths of its factors, in any order of summation; a sum over n candidates by n·u
///    of itself. Minkowski's inequality adds these to √r_i. Weights sum to 1 within n·u. Everything
///    is scaled by a power of two to entries near 1, where 1e-150 covers what underflows.

namespace tacit::detail {

/// Candidates that are still possible, centred, and scaled by 2^−exponent.
template <dense_scalar T>
struct centred_candidates {
  matrix_of<T> rows;                    // n×d
  vector_of<T> probabilities;           // n, all positive
  row_of<T> shift;                      // |centre − first row|
  std::vector<Eigen::Index> differing;  // coordinates in which not all agree
  int exponent = 0;
  double root_trace = 0.0;  // nearest √Σ p‖row‖²
  double excess = 1.0;      // a true probability is at most so many times its own

  explicit centred_candidates(basic_candidate_outputs<T> const& outputs)
      : excess(outputs.excess()) {
    vector_of<T> const& p = outputs.probabilities();
    std::vector<Eigen::Index> const possible = outputs.possible();
    rows = chosen_rows(outputs.rows(), possible);
    probabilities = chosen_entries(p, possible);
    for (Eigen::Index j = 0; j < rows.cols(); ++j) {
      double const* const column = rows.col(j).data();
      if (std::any_of(column, column + rows.rows(), [&](double y) { return y != *column; })) {
        differing.push_back(j);
      }
    }
    row_of<T> const base = rows.row(0);
    rows.rowwise() -= base;
    double const size = rows.cwiseAbs().maxCoeff();
    check_finite("candidates", "largest difference of two outputs", size);
    if (size > 0.0) {
      exponent = std::ilogb(size);
      // In two steps: 2^−exponent itself may overflow.
      rows *= std::ldexp(1.0, -exponent / 2);
      rows *= std::ldexp(1.0, -(exponent - exponent / 2));
    }
    shift = probabilities.transpose() * rows;
    rows.rowwise() -= shift;
    shift = shift.cwiseAbs();
    root_trace = std::sqrt(rows.rowwise().squaredNorm().dot(probabilities));
  }

  /// A variance of the scaled problem, in output units squared; never less, and never 0.
  [[nodiscard]] double unscaled(double variance) const {
    return std::max(std::ldexp(variance, 2 * exponent), std::numeric_limits<double>::min());
  }
};

/// Directions, and upper bounds on the candidates' variances in them. The last entry stands for
/// each of the directions across the axes where there are any.
template <dense_scalar T>
struct candidate_spectrum {
  matrix_of<T> axes;       // d×k; empty along the coordinates
  vector_of<T> variances;  // r
  double repeats = 1.0;    // how many directions the last one stands for
  double excess = 1.0;     // 1 + 8ε
  bool solved = false;     // the axes are a solver's
};

/// Σ over candidates, per axis, and what rounding may have hidden: (√r̂ + hidden)², raised.
[[nodiscard]] inline double raised_variance(double sum, double hidden, Eigen::Index candidates) {
  double const u = unit_roundoff * static_cast<double>(candidates + 16);
  double const root = (std::sqrt(sum) + hidden + 1e-150) * (1.0 + u);
  return root * root * (1.0 + 4.0 * unit_roundoff);
}

/// Along the coordinates in which candidates differ; nothing is rotated, so the errors are each
/// coordinate's own.
template <dense_scalar T = double>
[[nodiscard]] candidate_spectrum<T> spectrum_along_coordinates(centred_candidates<T> const& all) {
  candidate_spectrum<T> out;
  auto const k = static_cast<Eigen::Index>(all.differing.size());
  out.variances.resize(k);
  for (Eigen::Index i = 0; i < k; ++i) {
    Eigen::Index const j = all.differing[static_cast<std::size_t>(i)];
    double const sum = all.rows.col(j).cwiseAbs2().dot(all.probabilities);
    double const hidden = 1.01 * unit_roundoff * (2.0 * std::sqrt(sum) + all.shift(j));
    out.variances(i) = raised_variance(sum, hidden, all.rows.rows());
  }
  return out;
}

/// Along given axes, orthonormal up to rounding, and across them if `across` is positive: the
/// number of directions there.
template <dense_scalar T = double>
[[nodiscard]] candidate_spectrum<T> spectrum_along(centred_candidates<T> const& all,
                                                   matrix_of<T> axes, Eigen::Index across) {
  matrix_of<T> const& u = axes;
  Eigen::Index const n = all.rows.rows();
  Eigen::Index const k = u.cols();
  auto const d = static_cast<double>(u.rows());
  auto const columns = static_cast<double>(k);

  double const epsilon = distance_from_orthonormal(u);
  require_argument(epsilon <= 1e-6, "spectrum_along", "distance of the axes from orthonormal ones",
                   epsilon, "at most 1e-6");

  double const trace = all.root_trace * 1.01;
  double const centring = 1.02 * unit_roundoff * (2.0 * trace + all.shift.norm());
  double const hidden = centring + 1.02 * (unit_roundoff * (d + 4.0) + epsilon) * trace;

  candidate_spectrum<T> out;
  out.excess = 1.0 + 8.0 * epsilon;
  matrix_of<T> const along = all.rows * u;
  Eigen::Index const entries = across > 0 ? k + 1 : k;
  out.variances.resize(entries);
  for (Eigen::Index i = 0; i < k; ++i) {
    out.variances(i) = raised_variance(along.col(i).cwiseAbs2().dot(all.probabilities), hidden, n);
  }
  if (across > 0) {
    matrix_of<T> left = all.rows;
    left.noalias() -= along * u.transpose();
    double const sum = left.rowwise().squaredNorm().dot(all.probabilities) *
                       (1.0 + 1.01 * unit_roundoff * (d + 4.0));
    double const products_lost =
        1.03 * unit_roundoff * (columns + 4.0) * (1.0 + std::sqrt(columns)) * trace;
    auto const count = static_cast<double>(across);
    out.variances(k) =
        raised_variance(sum, centring + products_lost, n) / count * (1.0 + 4.0 * unit_roundoff);
    out.repeats = count;
  }
  out.axes = std::move(axes);
  return out;
}

/// Along (nearly) the principal axes: those of the d×d covariance where there are more candidates
/// than differing coordinates, else through the n×n Gram matrix, and no d×d matrix is formed.
template <dense_scalar T = double>
[[nodiscard]] candidate_spectrum<T> principal_spectrum(centred_candidates<T> const& all) {
  Eigen::Index const n = all.rows.rows();
  Eigen::Index const d = all.rows.cols();
  auto const differing = static_cast<Eigen::Index>(all.differing.size());
  matrix_of<T> const weighted =
      all.probabilities.cwiseSqrt().asDiagonal() * chosen_columns(all.rows, all.differing);

  if (n > differing) {
    // All axes within the differing coordinates: the others get no noise, exactly.
    matrix_of<T> covariance = matrix_of<T>::Zero(differing, differing);
    covariance.template selfadjointView<Eigen::Lower>().rankUpdate(weighted.transpose());
    matrix_of<T> axes = principal_axes_of<T>(covariance).axes;
    if (differing != d) axes = placed_rows(axes, all.differing, d);
    candidate_spectrum<T> out = spectrum_along(all, std::move(axes), 0);
    out.solved = true;
    return out;
  }

  matrix_of<T> gram = matrix_of<T>::Zero(n, n);
  gram.template selfadjointView<Eigen::Lower>().rankUpdate(weighted);
  auto const solved = principal_axes_of<T>(gram);
  // Largest first. Lengths below rounding carry no direction: what they stood for is left to the
  // rest.
  matrix_of<T> const falling = solved.axes.rowwise().reverse();
  matrix_of<T> spanning = weighted.transpose() * falling;
  row_of<T> const lengths = spanning.colwise().norm();
  double const least = 16.0 * unit_roundoff * static_cast<double>(n) * all.root_trace;
  Eigen::Index const k = std::min<Eigen::Index>(n - 1, (lengths.array() > least).count());
  // The Gram matrix squares lengths, so that small axes lose their orthogonality: made orthonormal again.
  auto const triangular = qr_of(spanning.leftCols(k));
  matrix_of<T> axes = matrix_of<T>::Zero(d, k);
  if (k > 0) {
    matrix_of<T> const thin = triangular.householderQ() * matrix_of<T>::Identity(differing, k);
    axes = placed_rows(thin, all.differing, d);
  }
  candidate_spectrum<T> out = spectrum_along(all, std::move(axes), d - k);
  out.solved = true;
  return out;
}

#if defined(TACIT_COMPILED_DENSE)
extern template candidate_spectrum<double> spectrum_along(centred_candidates<double> const&,
                                                          Eigen::MatrixXd, Eigen::Index);
extern template candidate_spectrum<double> principal_spectrum(centred_candidates<double> const&);
#endif

}  // namespace tacit::detail
