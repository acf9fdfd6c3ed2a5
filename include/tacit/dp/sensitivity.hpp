// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>

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

}  // namespace tacit
