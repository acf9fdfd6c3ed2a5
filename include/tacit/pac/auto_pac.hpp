// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/calibrated.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/moments.hpp>
#include <tacit/pac/noise_rules.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tacit {

/// The parameters of Algorithm 1 of PAC privacy. The total it claims is v + β′.
struct auto_pac_request {
  double output_norm = required;  // r: no output is longer
  double c = required;            // how far an eigenvalue of the sample may be off
  nats v;                         // for the noise on the estimated covariance
  nats slack;                     // β′: for what the estimate misses
};

namespace detail {

inline void check_auto_pac(auto_pac_request const& asked) {
  check_positive("auto_pac", "output_norm", asked.output_norm);
  check_positive("auto_pac", "c", asked.c);
  check_positive("auto_pac", "v", asked.v.value);
  check_positive("auto_pac", "slack", asked.slack.value);
}

}  // namespace detail

/// Noise variances of Algorithm 1 (Xiao & Devadas 2023, as printed) for eigenvalues λ of the
/// sample's covariance, in any order: with s_j = √(λ_j + 10cv/β′),
///   s_j·Σs/(2v)     if each eigenvalue above c is farther than r√(dc) + 2c from every other,
///   (Σλ + dc)/(2v)  everywhere otherwise: then an estimate of the axes cannot be trusted.
/// @throws std::invalid_argument if there is none; std::domain_error unless eigenvalues are finite
///         and at least 0 and all that is asked for is positive and finite
template <dense_scalar T = double>
[[nodiscard]] vector_of<T> auto_pac_variances(vector_of<T> const& eigenvalues,
                                              auto_pac_request const& asked) {
  detail::check_auto_pac(asked);
  detail::check_noise_rule("auto_pac", eigenvalues, asked.v);
  double const c = asked.c;
  double const v = asked.v.value;
  auto const d = static_cast<double>(eigenvalues.size());
  vector_of<T> sorted = eigenvalues;
  std::sort(sorted.begin(), sorted.end());
  double gap = std::numeric_limits<double>::infinity();  // neighbours are the closest
  for (Eigen::Index j = 1; j < sorted.size(); ++j) {
    if (sorted(j) > c) gap = std::min(gap, sorted(j) - sorted(j - 1));
  }
  if (!(gap > asked.output_norm * std::sqrt(d * c) + 2.0 * c)) {
    return vector_of<T>::Constant(eigenvalues.size(), (eigenvalues.sum() + d * c) / (2.0 * v));
  }
  vector_of<T> const roots =
      (eigenvalues.array() + 10.0 * c * v / asked.slack.value).sqrt().matrix();
  return roots * (roots.sum() / (2.0 * v));
}

/// Algorithm 1 of PAC privacy: noise for a claim of I(X; Z) ≤ v + β′.
///
/// The paper states this with confidence 1 − γ for enough sampled datasets. How many, for a given c
/// and γ, depends on a universal constant that it does not specify, so that no γ can be computed from
/// c, nor c from γ: what comes back is an estimate, v + β′, whatever c is.
/// Guarantee: none: an estimate.
/// @throws std::domain_error unless all that is asked for is positive and finite; as
///         output_moments::covariance
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_estimate, T> auto_pac(basic_moments<matrix_of<T>> const& moments,
                                                  auto_pac_request const& asked) {
  detail::check_auto_pac(asked);
  auto solved = detail::principal_axes_of<T>(moments.covariance());
  vector_of<T> variances = auto_pac_variances(solved.variances.cwiseMax(0.0), asked);
  mi_estimate const claim{asked.v + asked.slack};
  bool const isotropic = variances.minCoeff() == variances.maxCoeff();
  if (isotropic)
    return {basic_gaussian_noise<T>::isotropic(moments.dimension(), variances(0)), claim};
  return {basic_gaussian_noise<T>::along(std::move(solved.axes), std::move(variances)), claim};
}

#if defined(TACIT_COMPILED_DENSE)
extern template Eigen::VectorXd auto_pac_variances<double>(Eigen::VectorXd const&,
                                                           auto_pac_request const&);
extern template calibrated<mi_estimate> auto_pac<double>(output_moments const&,
                                                         auto_pac_request const&);
#endif

}  // namespace tacit
