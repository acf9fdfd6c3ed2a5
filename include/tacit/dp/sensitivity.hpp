// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>

#include <cmath>
#include <span>

/// How far one record can move groups of coordinates that have their own clips and noises. Matrix mechanisms:
/// matrix/sensitivity.hpp.

namespace tacit {

/// A group of coordinates with its own clip and its own noise.
struct clipped_group {
  double clip = required;   // the L2 norm of a record's contribution to this group is at most this
  double sigma = required;  // standard deviation of the noise in each of its coordinates
};

/// Several groups released together are one Gaussian release of multiplier 1/√(Σ clip²/sigma²): n
/// equal groups of multiplier m make m/√n, not m.
/// Guarantee: lower bound (less noise, never more).
/// @throws std::domain_error unless clips are at least 0 and sigmas positive, or if the joint clip over
///         sigma is outside [1e-290, 1e290]; invalid_argument if no group has a positive clip
[[nodiscard]] inline gaussian joint_gaussian(std::span<clipped_group const> groups) {
  double norm = 0.0;
  int positive = 0;
  for (clipped_group const& group : groups) {
    detail::check_non_negative("joint_gaussian", "clip", group.clip);
    detail::check_positive("joint_gaussian", "sigma", group.sigma);
    if (group.clip > 0.0) positive = 1;
    norm = elementary::hypot(norm, group.clip / group.sigma);
  }
  detail::require_argument(positive > 0, "joint_gaussian", "number of groups with a positive clip",
                           positive, "at least 1");
  // Outside, a quotient or its inverse would overflow, or lose digits.
  detail::require_domain(norm >= 1e-290 && norm <= 1e290, "joint_gaussian", "joint clip over sigma",
                         norm, "in [1e-290, 1e290]");
  double const accumulated = static_cast<double>(groups.size()) * 3e-16;
  return {.noise_multiplier = 1.0 / norm * (detail::a_little_less - accumulated)};
}

/// Adaptive clipping (Andrew, Thakkar, McMahan & Ramaswamy 2021) also releases, at each step, how many contributions were
/// within the clip: a sum of indicators less ½ each, plus N(0, count_noise²), to which a record that is absent, not
/// sampled or zeroed adds 0. Updates of this multiplier and the count are one Gaussian release of multiplier
/// (z^{−2} + (2·count_noise)^{−2})^{−½}. Under replace_one, too, where either moves by twice as much. For a sum of
/// indicators 0 and 1 give half of its noise.
/// Guarantee: lower bound (less noise, never more).
/// @throws std::domain_error unless both are positive
[[nodiscard]] inline gaussian with_clip_count(gaussian updates, double count_noise) {
  detail::check_positive("with_clip_count", "noise_multiplier", updates.noise_multiplier);
  detail::check_positive("with_clip_count", "count_noise", count_noise);
  clipped_group const both[]{{1.0, updates.noise_multiplier}, {0.5, count_noise}};
  return joint_gaussian(both);
}

/// The multiplier for the updates that leaves `together` for both, (z^{−2} − (2·count_noise)^{−2})^{−½}.
/// Guarantee: feasible end: `with_clip_count` of it is at least `together`.
/// @throws std::domain_error unless both are positive, and 2·count_noise above together's multiplier by a relative 1e-12
[[nodiscard]] inline gaussian beside_clip_count(gaussian together, double count_noise) {
  double const z = together.noise_multiplier;
  detail::check_positive("beside_clip_count", "noise_multiplier", z);
  detail::check_positive("beside_clip_count", "count_noise", count_noise);
  double const share = z / (2.0 * count_noise);
  detail::require_domain(share <= 1.0 - 1e-12, "beside_clip_count", "count_noise", count_noise,
                         "above half the noise_multiplier");
  double updates = z / std::sqrt((1.0 - share) * (1.0 + share));
  for (double more = 0x1p-52; !(with_clip_count({updates}, count_noise).noise_multiplier >= z);
       more *= 2.0) {
    updates *= 1.0 + more;
  }
  return {updates};
}

}  // namespace tacit
