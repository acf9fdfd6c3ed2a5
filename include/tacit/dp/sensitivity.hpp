// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

/// How far one record can move what is released: groups with their own clips and noises, matrix and
/// tree mechanisms.

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

/// How far one record can move Cx, for contributions of norm 1 in at most `participations` of the
/// steps: participations times the largest column norm of C (the triangle inequality: exact for one).
/// `entries` is C row by row.
/// Guarantee: upper bound.
/// @throws std::invalid_argument unless entries fill whole rows; domain_error unless they are finite and
///         participations at least 1
[[nodiscard]] inline double matrix_sensitivity(std::span<double const> entries, std::size_t columns,
                                               std::uint64_t participations = 1) {
  detail::require_argument(columns >= 1 && !entries.empty() && entries.size() % columns == 0,
                           "matrix_sensitivity", "number of entries", entries.size(),
                           "a positive multiple of the number of columns");
  detail::require_domain(participations >= 1, "matrix_sensitivity", "participations",
                         participations, "at least 1");
  double largest = 0.0;
  for (std::size_t column = 0; column < columns; ++column) {
    double norm = 0.0;
    for (std::size_t k = column; k < entries.size(); k += columns) {
      detail::check_finite("matrix_sensitivity", "entry", entries[k]);
      norm = elementary::hypot(norm, entries[k]);
    }
    largest = norm > largest ? norm : largest;
  }
  std::size_t const rows = entries.size() / columns;
  return largest * static_cast<double>(participations) *
         (1.0 + 4e-16 * (static_cast<double>(rows) + 2.0));
}

/// The binary tree over `steps` leaves, every node released: a leaf is in 1+⌈log₂ steps⌉ nodes.
/// Guarantee: upper bound, as `matrix_sensitivity`.
[[nodiscard]] inline double tree_sensitivity(std::uint64_t steps,
                                             std::uint64_t participations = 1) {
  detail::require_argument(steps >= 1, "tree_sensitivity", "steps", steps, "at least 1");
  detail::require_domain(participations >= 1, "tree_sensitivity", "participations", participations,
                         "at least 1");
  std::uint64_t depth = 1;
  for (std::uint64_t rest = steps - 1; rest > 0; rest /= 2) ++depth;
  return std::sqrt(static_cast<double>(depth)) * static_cast<double>(participations) *
         (1.0 + 4.0 * std::numeric_limits<double>::epsilon());
}

}  // namespace tacit
