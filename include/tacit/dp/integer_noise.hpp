// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/count.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/rdp/guarantee.hpp>

#include <cstdint>
#include <limits>

/// Noise on the integers under other names, and on vectors whose change is known by its L2 norm. Each is the event that
/// stands for it. docs/certificates/integers.md.

namespace tacit {

/// The two-sided geometric mechanism (Ghosh, Roughgarden & Sundararajan 2012), P(k) ∝ ratio^|k|: discrete Laplace noise of
/// scale 1/log(1/ratio).
/// Guarantee: lower bound of the scale (less noise, never more).
/// @throws std::domain_error unless ratio is in (0, 1), and sensitivity in [1, 1e9]
[[nodiscard]] inline discrete_laplace two_sided_geometric(double ratio,
                                                          std::uint64_t sensitivity = 1) {
  detail::require_domain(ratio > 0.0 && ratio < 1.0, "two_sided_geometric", "ratio", ratio,
                         "in (0, 1)");
  detail::check_count("two_sided_geometric", "sensitivity", sensitivity, 1, 1'000'000'000);
  return {(1.0 / -log(detail::enclosure(ratio))).lower, sensitivity};
}

/// Integer vectors whose values for neighbours differ by at most `l2` in L2 norm, plus discrete Gaussian noise in every
/// coordinate: ρ-zCDP with ρ = l2²/2σ². (Of an L1 norm the scalar event knows more: it has a pair.) The norm is of the
/// change under the accountant's adjacency: under replace_one, of a difference of two contributions.
/// Guarantee: upper bound.
/// Source: Canonne, Kamath & Steinke 2020, Theorem 14.
/// @throws std::domain_error unless sigma is positive and l2 at least 0
[[nodiscard]] inline zcdp vector_discrete_gaussian(double sigma, double l2) {
  detail::check_positive("vector_discrete_gaussian", "sigma", sigma);
  detail::check_non_negative("vector_discrete_gaussian", "l2", l2);
  detail::enclosure const shift = detail::enclosure(l2) / sigma;
  double const rho = (0.5 * (shift * shift)).upper;
  detail::require_domain(rho <= std::numeric_limits<double>::max(), "vector_discrete_gaussian",
                         "sigma", sigma, "so large that losses are finite");
  return {rho};
}

/// Integer vectors whose values for neighbours differ by at most `l1` in L1 norm and `l2` in L2 norm, plus Skellam noise
/// of this variance in every coordinate: its Rényi divergences at whole orders. l1 ≤ l2² for integer vectors.
/// Guarantee: upper bounds.
/// Source: Agarwal, Kairouz & Liu 2021.
/// @throws std::domain_error unless variance is positive and norms are at least 0; or where bounds overflow
[[nodiscard]] inline renyi_dp vector_skellam(double variance, double l1, double l2) {
  detail::check_positive("vector_skellam", "variance", variance);
  detail::check_non_negative("vector_skellam", "l1", l1);
  detail::check_non_negative("vector_skellam", "l2", l2);
  renyi_dp out = detail::skellam_divergences(variance, l1,
                                             (detail::enclosure(l2) * detail::enclosure(l2)).upper);
  detail::require_domain(!out.points.empty(), "vector_skellam", "variance", variance,
                         "so large that losses are finite");
  return out;
}

}  // namespace tacit
