// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/candidate_bounds.hpp>
#include <tacit/pac/candidate_distances.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/mi_bound.hpp>
#include <tacit/pac/whitened_candidates.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>

/// I(X; Z) for Z = y_X + N(0, Σ_B), X one of M listed candidates with probabilities p.
///
///   log-det    ≤ ½ log det(I + ΣΣ_B⁻¹): tight where the noise drowns the candidates.
///   pairwise   ≤ −Σ p_m log Σ_k p_k e^{−d²_mk/2}, d² = (y_m−y_k)ᵀΣ_B⁻¹(y_m−y_k), and ≥ the same with
///              d²/8 (Kolchinsky & Tracey 2017): tight where the candidates stand apart; at most the
///              entropy of the distinct outputs; twice the truth where the noise drowns them.
///   line       exact, where all candidates lie on a line in units of the noise (d = 1, or M = 2).
///   Monte Carlo  in between, with a confidence.
///
/// Rounding: `whitened_candidates` bounds the errors of positions and distances, which are then taken
/// as far apart (or as near) as they may be; after that all sums have positive terms, whose
/// relative errors are counted in units of 2⁻⁵³ and charged.

namespace tacit {

/// ½ log det(I + ΣΣ_B⁻¹) ≥ I(X; Z), Σ the covariance of the candidates' outputs: by Hadamard's inequality
/// along the noise's axes, Σ log(1 + r_i/v_i), or by a determinant, whichever is less.
/// Guarantee: upper bound. ∞ if candidates differ where there is no noise.
/// Accuracy: above the determinant by a few M·u relative where the axes are principal, by a few m²u,
/// m = min(M, d), elsewhere; and by what rounding moves candidates in units of the quietest noise, 2e-4
/// relative for 128 candidates in d = 1000 with 1e-12 of the noise across their span. O(Md·min(M, d)).
/// @throws std::invalid_argument unless the noise has the outputs' dimension; std::domain_error if two
///         outputs are more than the largest double apart
template <dense_scalar T = double>
[[nodiscard]] mi_bound log_det_information(basic_candidate_outputs<T> const& outputs,
                                           basic_gaussian_noise<T> const& noise) {
  return {nats(detail::candidate_bounds<T>(outputs, noise).log_det(1.0)), 1.0};
}

/// −Σ p_m log Σ_k p_k e^{−d²_mk/2} above I(X; Z), and the same with d²/8 below it.
/// Guarantee: bounds on both sides. O(M²d), no d×d matrix.
/// @throws as `log_det_information`
/// Source: Kolchinsky & Tracey 2017, "Estimating mixture entropy with pairwise distances".
template <dense_scalar T = double>
[[nodiscard]] bound<nats> pairwise_information(basic_candidate_outputs<T> const& outputs,
                                               basic_gaussian_noise<T> const& noise) {
  auto const white = detail::whiten(outputs, noise);
  auto const squared = detail::distances(white);
  return {nats(white.below(detail::pairwise_lower(white, squared, 1.0))),
          nats(white.above(detail::pairwise_upper(white, squared, 1.0)))};
}

/// The pairwise upper bound and how it moves with the noise.
template <dense_scalar T = double>
struct basic_pairwise_slope {
  nats value;
  vector_of<T> variances;  // its derivative by each variance of the noise, 0 where that is 0
  double rest = 0.0;       // by the variance across the axes
};

using pairwise_slope = basic_pairwise_slope<>;

/// Guarantee: nearest. O(M²d).
/// @throws as `log_det_information`; std::invalid_argument if a direction without noise is not made of
///         whole coordinates
template <dense_scalar T = double>
[[nodiscard]] basic_pairwise_slope<T> pairwise_gradient(basic_candidate_outputs<T> const& outputs,
                                                        basic_gaussian_noise<T> const& noise) {
  auto const white = detail::whiten(outputs, noise);
  detail::require_argument(white.certain, "pairwise_gradient", "number of groups", white.groups,
                           "certain");
  auto const squared = detail::distances(white).upper;
  matrix_of<T> const& w = white.columns;
  // The diagonal of W L Wᵀ, from half of L: each pair counts twice.
  matrix_of<T> half = detail::pairwise_laplacian(squared, white.weights);
  half.diagonal() *= 0.5;
  vector_of<T> energy(w.rows());
  // In parts that stay in the cache: a product of all coordinates would be fresh memory from the system at every call.
  constexpr Eigen::Index height = 256;
  matrix_of<T> product;
  for (Eigen::Index first = 0; first < w.rows(); first += height) {
    auto const part = w.middleRows(first, std::min(height, w.rows() - first));
    product.noalias() = part * half.template triangularView<Eigen::Lower>();
    energy.segment(first, part.rows()) = 2.0 * product.cwiseProduct(part).rowwise().sum();
  }

  basic_pairwise_slope<T> out{nats(detail::pairwise_sum(squared, 0.5, white.weights)),
                              vector_of<T>::Zero(noise.variances().size()), 0.0};
  detail::noiseless_directions<T> const noiseless(noise);
  auto const k = std::ssize(noiseless.noisy_axes);
  for (Eigen::Index i = 0; i < k; ++i) {
    Eigen::Index const axis = noiseless.noisy_axes[static_cast<std::size_t>(i)];
    out.variances(axis) = -energy(i) / noise.variances()(axis);
  }
  if (noise.rest() > 0.0) out.rest = -energy.tail(energy.size() - k).sum() / noise.rest();
  return out;
}

/// Its derivative by Σ_B as a whole, d×d and symmetric: d(bound) = tr(G·dΣ_B).
/// Guarantee: nearest. @throws as `pairwise_gradient`; std::invalid_argument unless there is noise in
/// every direction
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> pairwise_gradient_matrix(basic_candidate_outputs<T> const& outputs,
                                                    basic_gaussian_noise<T> const& noise) {
  detail::require_argument(noise.least_variance() > 0.0, "pairwise_gradient_matrix",
                           "least variance", noise.least_variance(), "positive");
  auto const white = detail::whiten(outputs, noise);
  detail::require_argument(white.certain, "pairwise_gradient_matrix", "number of groups",
                           white.groups, "certain");
  matrix_of<T> const laplacian =
      detail::pairwise_laplacian(detail::distances(white).upper, white.weights);
  // Σ_B⁻¹(y − mean): the whitened columns, whitened once more.
  auto const d = static_cast<Eigen::Index>(outputs.dimension());
  vector_of<T> const sharp = noise.variances().cwiseSqrt().cwiseInverse();
  matrix_of<T> twice;
  if (noise.along_coordinates()) {
    twice = sharp.asDiagonal() * white.columns;
  } else {
    twice = matrix_of<T>::Zero(d, white.size());
    if (sharp.size() > 0) {
      matrix_of<T> const along = sharp.asDiagonal() * white.columns.topRows(sharp.size());
      twice += noise.axes() * along;
    }
    if (noise.rest_dimension() > 0) twice += white.columns.bottomRows(d) / std::sqrt(noise.rest());
  }
  matrix_of<T> const pulled = twice * laplacian.template selfadjointView<Eigen::Lower>();
  return -(pulled * twice.transpose());
}

/// The least of the bounds that need no draws: log-det, pairwise, the entropy of the distinct outputs, and
/// on a line the exact value.
/// Guarantee: upper bound, confidence 1; never above `log_det_information`.
/// @throws as `log_det_information`
template <dense_scalar T = double>
[[nodiscard]] mi_bound information_bound(basic_candidate_outputs<T> const& outputs,
                                         basic_gaussian_noise<T> const& noise) {
  detail::candidate_bounds<T> const bounds(outputs, noise);
  return {nats(bounds.best(1.0, detail::most_for_an_answer)), 1.0};
}

/// I(X; Z) where the candidates lie on a line in units of the noise: d = 1, or two candidates.
/// Guarantee: bounds on both sides, a few 1e-14 apart (more for weights of very different size).
/// @throws std::invalid_argument if they do not, or stand so far apart that it would take too long;
///         else as `log_det_information`
template <dense_scalar T = double>
[[nodiscard]] bound<nats> line_information(basic_candidate_outputs<T> const& outputs,
                                           basic_gaussian_noise<T> const& noise) {
  detail::candidate_bounds<T> const bounds(outputs, noise);
  if (bounds.one_output()) return {nats(0.0), nats(0.0)};
  auto const exact = bounds.line(1.0, detail::most_for_an_answer);
  if (!exact) {
    detail::fail_argument(
        "line_information", "number of distinct candidates", bounds.white().size(),
        "that of candidates on a line, of a moderate length in units of the noise");
  }
  return *exact;
}

#if defined(TACIT_COMPILED_DENSE)
extern template mi_bound log_det_information(candidate_outputs const&, gaussian_noise const&);
extern template bound<nats> pairwise_information(candidate_outputs const&, gaussian_noise const&);
extern template pairwise_slope pairwise_gradient(candidate_outputs const&, gaussian_noise const&);
extern template Eigen::MatrixXd pairwise_gradient_matrix(candidate_outputs const&,
                                                         gaussian_noise const&);
extern template mi_bound information_bound(candidate_outputs const&, gaussian_noise const&);
extern template bound<nats> line_information(candidate_outputs const&, gaussian_noise const&);
#endif

}  // namespace tacit
