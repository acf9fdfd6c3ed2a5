// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <limits>

namespace tacit {

/// The adversary's posterior over the candidates after a release z = y + N(0, Σ_B):
/// p_m ∝ p_m·exp(−½(z−y_m)ᵀΣ_B⁻¹(z−y_m)). Where there is no noise, a candidate that disagrees with z by
/// more than rounding is ruled out. `candidate_outputs::reweigh` takes the result: the noise of the
/// next release has to be calibrated for it, if that release is chosen now.
/// Accuracy: nearest; absolute error some 1e-13·(z−y)ᵀΣ_B⁻¹(z−y) of a probability.
/// @throws std::invalid_argument unless noise and release have the outputs' dimension, or if no candidate
///         could have released this; std::domain_error for a release that is not finite
template <dense_scalar T = double>
[[nodiscard]] vector_of<T> posterior_after(basic_candidate_outputs<T> const& outputs,
                                           basic_gaussian_noise<T> const& noise,
                                           vector_of<T> const& release) {
  detail::check_size("posterior_after", "dimension of the noise", noise.dimension(),
                     outputs.dimension());
  detail::check_size("posterior_after", "dimension of the release",
                     static_cast<std::size_t>(release.size()), outputs.dimension());
  for (double const z : release) detail::check_finite("posterior_after", "release", z);

  constexpr double never = -std::numeric_limits<double>::infinity();
  constexpr double rounded = 1e-12;
  vector_of<T> logs(outputs.probabilities().size());
  for (Eigen::Index m = 0; m < logs.size(); ++m) {
    double const p = outputs.probabilities()(m);
    if (p == 0.0) {
      logs(m) = never;
      continue;
    }
    vector_of<T> const y = outputs.rows().row(m);
    vector_of<T> const away = release - y;
    double const tolerance = rounded * (release.norm() + y.norm());
    vector_of<T> const along =
        noise.along_coordinates() ? away : vector_of<T>(noise.axes().transpose() * away);
    double squared = 0.0;
    bool possible = true;
    for (Eigen::Index i = 0; i < along.size(); ++i) {
      double const v = noise.variances()(i);
      if (v > 0.0) {
        squared += along(i) * along(i) / v;
      } else {
        possible = possible && std::abs(along(i)) <= tolerance;
      }
    }
    if (noise.rest_dimension() > 0) {
      double const across = (away - noise.axes() * along).norm();
      if (noise.rest() > 0.0) {
        squared += across * across / noise.rest();
      } else {
        possible = possible && across <= tolerance;
      }
    }
    logs(m) = possible ? std::log(p) - 0.5 * squared : never;
  }
  double const largest = logs.maxCoeff();
  detail::require_argument(largest > never, "posterior_after", "largest likelihood", 0.0,
                           "positive: some candidate must be able to release it");
  // Not Eigen's exp, which is not 0 at −∞.
  vector_of<T> const weights =
      logs.unaryExpr([largest](double l) { return std::exp(l - largest); });
  return weights / weights.sum();
}

#if defined(TACIT_COMPILED_DENSE)
extern template Eigen::VectorXd posterior_after(candidate_outputs const&, gaussian_noise const&,
                                                Eigen::VectorXd const&);
#endif

}  // namespace tacit
