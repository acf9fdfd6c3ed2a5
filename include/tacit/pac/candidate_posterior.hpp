// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/real.hpp>
#include <tacit/pac/candidate_distances.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/whitened_candidates.hpp>

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace tacit {

/// The adversary's posterior over the candidates after a release z = y + N(0, Σ_B):
/// p_m ∝ p_m·exp(−½(z−y_m)ᵀΣ_B⁻¹(z−y_m)). Where there is no noise, a candidate other than z is ruled out.
/// `candidate_outputs::reweigh` takes the result: the noise of the next release has to be calibrated for it, if
/// that release is chosen now.
/// Guarantee: each logarithm is right to the error beside it, up to a constant common to all; what is
/// calibrated at this belief is charged for those errors.
/// Accuracy: some (d + 20)·2⁻⁵³·(z−y)ᵀΣ_B⁻¹(z−y), and twice what `whitened_candidates` says about positions.
/// @throws std::invalid_argument unless noise and release have the outputs' dimension, if no candidate
///         could have released this, or if directions without noise are not made of whole coordinates (or
///         distances overflow): rounding cannot tell then who could have; std::domain_error for a release
///         that is not finite, or is −0 where there is no noise
template <dense_scalar T = double>
[[nodiscard]] basic_candidate_belief<T> posterior_after(basic_candidate_outputs<T> const& outputs,
                                                        basic_gaussian_noise<T> const& noise,
                                                        vector_of<T> const& release) {
  detail::check_size("posterior_after", "dimension of the noise", noise.dimension(),
                     outputs.dimension());
  detail::check_size("posterior_after", "dimension of the release",
                     static_cast<std::size_t>(release.size()), outputs.dimension());
  for (double const z : release) detail::check_finite("posterior_after", "release", z);
  for (Eigen::Index const j : detail::noiseless_directions<T>(noise).coordinates) {
    detail::require_domain(release(j) != 0.0 || !std::signbit(release(j)), "posterior_after",
                           "release without noise", release(j), "0 with no sign");
  }

  // The release is one more candidate, next to which the others are measured.
  Eigen::Index const count = outputs.rows().rows();
  matrix_of<T> rows(count + 1, release.size());
  rows << outputs.rows(), release.transpose();
  vector_of<T> weights(count + 1);
  weights << outputs.probabilities(), 1.0;
  auto const white =
      detail::whiten(basic_candidate_outputs<T>(std::move(rows), std::move(weights)), noise);
  detail::require_argument(
      white.certain, "posterior_after", "number of directions without noise",
      noise.dimension() - detail::noiseless_directions<T>(noise).noisy_axes.size(),
      "made of whole coordinates, and distances moderate");
  Eigen::Index const here = white.column_of.back();

  basic_candidate_belief<T> belief = outputs.belief();
  bool possible = false;
  for (Eigen::Index m = 0; m < count; ++m) {
    Eigen::Index const column = white.column_of[static_cast<std::size_t>(m)];
    if (column < 0 || !white.together(column, here)) {
      belief.log_weights(m) = -std::numeric_limits<double>::infinity();
      belief.error(m) = 0.0;
      continue;
    }
    possible = true;
    if (column == here) continue;
    auto const squared = detail::squared_between(white, column, here);
    belief.log_weights(m) -= 0.25 * (squared.lower + squared.upper);
    belief.error(m) += 0.25 * (squared.upper - squared.lower) +
                       4.0 * detail::unit_roundoff *
                           (std::abs(belief.log_weights(m)) + belief.error(m) + squared.upper);
  }
  detail::require_argument(possible, "posterior_after", "largest likelihood", 0.0,
                           "positive: some candidate must be able to release it");
  // What is common to all carries no information, and would grow from release to release.
  double const top = belief.log_weights.maxCoeff();
  for (Eigen::Index m = 0; m < count; ++m) {
    belief.error(m) += detail::unit_roundoff * std::abs(belief.log_weights(m));
    belief.log_weights(m) -= top;
    if (belief.log_weights(m) == -std::numeric_limits<double>::infinity()) belief.error(m) = 0.0;
  }
  return belief;
}

#if defined(TACIT_COMPILED_DENSE)
extern template candidate_belief posterior_after(candidate_outputs const&, gaussian_noise const&,
                                                 Eigen::VectorXd const&);
#endif

}  // namespace tacit
