// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

/// What was released, said apart from any accountant: a mechanism, how its records were sampled, and
/// how many records one person holds. Which inputs count as neighbours belongs to the accountant.
///
/// One record's *contribution* is what it adds to the released sum, clipped to norm C. `C` is therefore
/// the sensitivity under add_remove and zero_out, and 2C is the sensitivity under replace_one, where one
/// contribution leaves and another one comes. Noise multipliers are relative to C whatever the adjacency.

namespace tacit {

/// Which inputs are neighbours.
enum class adjacency {
  add_remove,   // one has a record more
  replace_one,  // same size, one record differs
  zero_out      // same size, one record is replaced by a null record that contributes nothing
};

/// Contributions summed, plus N(0, (noise_multiplier·C)²) in every coordinate; C bounds the L2 norm of
/// a record's whole contribution. Covers scalars (DPZero), vectors (DP-SGD) and the K coefficients of
/// one step clipped together (DP-AggZO); for groups clipped apart see `joint_gaussian`.
struct gaussian {
  double noise_multiplier = required;
  friend bool operator==(gaussian const&, gaussian const&) = default;
};

/// Contributions summed, plus Laplace noise of scale noise_multiplier·C in every coordinate; C bounds
/// the L1 norm of a record's contribution.
struct laplace {
  double noise_multiplier = required;
  friend bool operator==(laplace const&, laplace const&) = default;
};

/// An integer sum plus discrete Gaussian noise, P(k) ∝ e^{−k²/2σ²}. A scalar; `sensitivity` bounds the
/// integer |contribution|, so records are rounded *before* they are clipped.
struct discrete_gaussian {
  double sigma = required;
  std::uint64_t sensitivity = 1;
  friend bool operator==(discrete_gaussian const&, discrete_gaussian const&) = default;
};

/// An integer sum plus discrete Laplace noise, P(k) ∝ e^{−|k|/scale}.
struct discrete_laplace {
  double scale = required;
  std::uint64_t sensitivity = 1;
  friend bool operator==(discrete_laplace const&, discrete_laplace const&) = default;
};

/// Each record answers one of k categories: the true one with probability e^ε/(e^ε+k−1), each other
/// one with 1/(e^ε+k−1).
struct randomised_response {
  double epsilon = required;
  std::uint64_t categories = 2;
  friend bool operator==(randomised_response const&, randomised_response const&) = default;
};

/// The exponential mechanism: ε-bounded range, log P(y)/Q(y) − log P(y′)/Q(y′) ≤ ε for all outcomes
/// (Dong, Durfee & Rogers 2020). For weights e^{ε·score/(2Δ)}, or e^{ε·score/Δ} if a record moves all
/// scores one way.
struct exponential_mechanism {
  double epsilon = required;
  friend bool operator==(exponential_mechanism const&, exponential_mechanism const&) = default;
};

/// Anything ε-differentially private under the accountant's adjacency. (ε, δ): use `approx_dp`.
struct pure {
  double epsilon = required;
  friend bool operator==(pure const&, pure const&) = default;
};

/// A matrix or tree mechanism: B(Cx + noise). `sensitivity` is what one record's whole participation
/// moves Cx by (L2) for contributions of norm 1; the noise is N(0, noise_multiplier²) a coordinate in
/// the same unit. The event is the entire run, so its count is 1. See `matrix_sensitivity`,
/// `tree_sensitivity`.
struct matrix_gaussian {
  double noise_multiplier = required;
  double sensitivity = required;
  friend bool operator==(matrix_gaussian const&, matrix_gaussian const&) = default;
};

using mechanism_event =
    std::variant<gaussian, laplace, discrete_gaussian, discrete_laplace, randomised_response,
                 exponential_mechanism, pure, approx_dp, matrix_gaussian>;

/// Every record takes part.
struct unsampled {
  friend bool operator==(unsampled const&, unsampled const&) = default;
};

/// Every record takes part with probability `rate`, independently, secretly. The sum is not divided by
/// the realised batch size, which would leak it.
struct poisson {
  double rate = required;
  friend bool operator==(poisson const&, poisson const&) = default;
};

/// A uniform batch without replacement, drawn afresh and secretly for each release.
struct fixed_size {
  std::uint64_t batch = 0;
  std::uint64_t records = 0;
  [[nodiscard]] double rate() const {
    return static_cast<double>(batch) / static_cast<double>(records);
  }
  friend bool operator==(fixed_size const&, fixed_size const&) = default;
};

/// Each record in exactly one of the batches of an epoch. The event is a whole epoch.
struct shuffled {
  friend bool operator==(shuffled const&, shuffled const&) = default;
};

using sampling = std::variant<unsampled, poisson, fixed_size, shuffled>;

/// One release. A mechanism by itself is an event without sampling.
struct event {
  template <class Mechanism>
  requires std::constructible_from<mechanism_event, Mechanism> event(
      Mechanism const& mechanism, sampling scheme = unsampled{})  // NOLINT: a mechanism is an event
      : what(mechanism), how(scheme) {}

  mechanism_event what;
  sampling how;
  std::uint64_t records_per_person = 1;

  friend bool operator==(event const&, event const&) = default;
};

[[nodiscard]] inline event sampled(mechanism_event mechanism, sampling scheme) {
  return event(mechanism, scheme);
}

/// The same release, protecting a person with up to `records` records: neighbours then differ in all
/// of them.
[[nodiscard]] inline event by_person(event release, std::uint64_t records) {
  release.records_per_person = records;
  return release;
}

namespace detail {

inline void check_mechanism(std::string_view who, mechanism_event const& mechanism) {
  auto const noise = [who](double multiplier) {
    check_positive(who, "noise_multiplier", multiplier);
  };
  auto const loss = [who](double epsilon) { check_non_negative(who, "epsilon", epsilon); };
  auto const whole = [who](std::uint64_t sensitivity) {
    require_domain(sensitivity >= 1 && sensitivity <= 1000000000, who, "sensitivity", sensitivity,
                   "in [1, 1e9]");
  };
  struct visitor {
    decltype(noise) const& check_noise;
    decltype(loss) const& check_loss;
    decltype(whole) const& check_whole;
    std::string_view who;
    void operator()(gaussian const& m) const { check_noise(m.noise_multiplier); }
    void operator()(laplace const& m) const { check_noise(m.noise_multiplier); }
    void operator()(discrete_gaussian const& m) const {
      check_positive(who, "sigma", m.sigma);
      check_whole(m.sensitivity);
    }
    void operator()(discrete_laplace const& m) const {
      check_positive(who, "scale", m.scale);
      check_whole(m.sensitivity);
    }
    void operator()(randomised_response const& m) const {
      check_loss(m.epsilon);
      require_domain(m.categories >= 2 && m.categories <= (std::uint64_t{1} << 53), who,
                     "categories", m.categories, "in [2, 2^53]");
    }
    void operator()(exponential_mechanism const& m) const { check_loss(m.epsilon); }
    void operator()(pure const& m) const { check_loss(m.epsilon); }
    void operator()(approx_dp const& m) const {
      check_loss(m.epsilon);
      check_probability(who, "delta", m.delta);
    }
    void operator()(matrix_gaussian const& m) const {
      check_noise(m.noise_multiplier);
      check_non_negative(who, "sensitivity", m.sensitivity);
    }
  };
  std::visit(visitor{noise, loss, whole, who}, mechanism);
}

/// Refuses values out of range. Which combinations have a bound is for `dominate` to say.
inline void check_event(std::string_view who, event const& release) {
  check_mechanism(who, release.what);
  if (auto const* scheme = std::get_if<poisson>(&release.how)) {
    check_probability(who, "rate", scheme->rate);
  } else if (auto const* batch = std::get_if<fixed_size>(&release.how)) {
    require_domain(batch->records >= 1 && batch->records <= (std::uint64_t{1} << 53), who,
                   "records", batch->records, "in [1, 2^53]");
    require_domain(batch->batch >= 1 && batch->batch <= batch->records, who, "batch", batch->batch,
                   "in [1, records]");
  }
  require_domain(release.records_per_person >= 1 && release.records_per_person <= 1000000, who,
                 "records_per_person", release.records_per_person, "in [1, 1e6]");
}

// A noise multiplier may only be rounded towards less noise.
inline constexpr double a_little_less = 1.0 - 8.0 * std::numeric_limits<double>::epsilon();

}  // namespace detail

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
    norm = std::hypot(norm, group.clip / group.sigma);
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
      norm = std::hypot(norm, entries[k]);
    }
    largest = norm > largest ? norm : largest;
  }
  double const rows = static_cast<double>(entries.size() / columns);
  return largest * static_cast<double>(participations) * (1.0 + 4e-16 * (rows + 2.0));
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
