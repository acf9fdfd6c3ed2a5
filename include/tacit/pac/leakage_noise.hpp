// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/leakage.hpp>
#include <tacit/pac/mi_bound.hpp>
#include <tacit/pac/scalar_noise.hpp>
#include <tacit/pac/whitened_candidates.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace tacit {

/// The best success in any guess about the secret that succeeds with `prior` before a release that tells `told`: the largest s
/// with D(s‖prior) ≤ told, D of the same measure between two bits: Rényi's of order α, log(s/prior) at ∞, or s − prior.
/// Guarantee: upper bound.
/// @throws std::domain_error unless told is at least 0 and prior is in (0, 1]; for the order
[[nodiscard]] inline double attack_success(leakage_measure const& measure, double told,
                                           double prior) {
  constexpr char const* who = "attack_success";
  detail::check_measure(who, measure);
  detail::require_domain(told >= 0.0, who, "told", told, "at least 0");
  detail::require_domain(prior > 0.0 && prior <= 1.0, who, "prior", prior, "in (0, 1]");
  if (prior == 1.0) return 1.0;
  if (std::holds_alternative<shannon_measure>(measure)) return attack_success(nats(told), prior);
  if (std::holds_alternative<variation_measure>(measure)) {
    return std::min(1.0, detail::add_up(prior, told));
  }
  double const order = std::get<renyi_measure>(measure).order;
  if (std::isinf(order)) {
    return std::min(1.0, prior * elementary::exp(told) * (1.0 + 8.0 * detail::unit_roundoff));
  }
  // log(s^α·prior^(1−α) + …) is above (α−1)·told beyond the answer for α > 1, and below it for α < 1.
  double const last = detail::subtract_down(1.0, prior);
  double const miss = last_holding(0.0, last, [&](double x) {
    double const hit = 1.0 - x;
    // The larger of the two terms is factored out: it may leave the range of doubles.
    double const first = order * elementary::log(hit) + (1.0 - order) * elementary::log(prior);
    double const second =
        x > 0.0 ? order * elementary::log(x) + (1.0 - order) * elementary::log1p(-prior)
                : -std::numeric_limits<double>::infinity();
    double const log_sum =
        std::max(first, second) + elementary::log1p(elementary::exp(-std::abs(first - second)));
    double const off =
        4.0 * detail::unit_roundoff *
        (8.0 + order * (1.0 - elementary::log(prior) + std::abs(elementary::log(hit)) +
                        (x > 0.0 ? -elementary::log(x) : 0.0)));
    double const divergence = (log_sum + (order > 1.0 ? -off : off)) / (order - 1.0);
    return divergence > told;  // not where it is NaN
  });
  return detail::add_up(1.0, -miss);
}

/// I(X; Z) for outputs of d numbers, each with noise of its own: the sum of what each tells by itself (given X they are
/// independent), or the entropy, whichever is less.
/// Guarantee: upper bound, within `tolerance` of the truth where d = 1.
/// @throws std::invalid_argument unless there is a noise for each coordinate; as `leakage`
template <dense_scalar T = double>
[[nodiscard]] mi_bound information_bound(basic_candidate_outputs<T> const& outputs,
                                         std::span<scalar_noise const> noise,
                                         leakage_effort const& effort = {}) {
  detail::check_size("information_bound", "number of noises", noise.size(), outputs.dimension());
  detail::whitened_candidates<T> law;
  law.excess = outputs.excess();
  std::span<double const> const p(outputs.probabilities().data(), outputs.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < noise.size(); ++i) {
    vector_of<T> const column = outputs.rows().col(static_cast<Eigen::Index>(i));
    double const told =
        leakage({column.data(), outputs.size()}, p, noise[i], shannon_measure{}, effort).upper;
    sum = detail::add_up(sum, told);
  }
  return {nats(std::min(law.above(sum), detail::distinct_rows<T>(outputs).raised_entropy())), 1.0};
}

struct scaled_noise {
  scalar_noise noise;
  double scale;
  bound<double> leakage;  ///< of this noise
};

/// The least scale found at which `make(scale)`, such as `[](double b) { return laplace_noise{b}; }`, tells `budget` or less; not
/// below a millionth of the outputs' range over their number, where the budget is for all that they tell.
/// Guarantee: feasible end, since the leakage is that of the noise returned. The least one up to a factor of 1 + 1e-9 for Laplace
/// noise, which tells less the larger its scale; for other laws a smaller one may do.
/// @throws std::domain_error unless the budget is positive and finite; std::invalid_argument unless two outputs differ; infeasible
///         if no scale up to 2^40 times their range is enough; as `leakage`
template <class Make>
[[nodiscard]] scaled_noise least_scale(std::span<double const> outputs,
                                       std::span<double const> probabilities, Make&& make,
                                       leakage_measure const& measure, double budget,
                                       leakage_effort const& effort = {}) {
  detail::check_positive("least_scale", "budget", budget);
  auto const [least, largest] = std::minmax_element(outputs.begin(), outputs.end());
  detail::require_argument(!outputs.empty() && *least < *largest, "least_scale",
                           "number of outputs", outputs.size(), "at least 2 that differ");
  double const range = *largest - *least;
  detail::check_finite("least_scale", "range of the outputs", range);
  auto const tried = [&](double scale) {
    scalar_noise noise = make(scale);
    bound<double> const told = leakage(outputs, probabilities, noise, measure, effort);
    return scaled_noise{std::move(noise), scale, told};
  };
  double const none = 1e-6 * range / static_cast<double>(outputs.size());
  scaled_noise best = tried(range);
  double enough = range;
  while (!(best.leakage.upper <= budget)) {
    enough *= 4.0;
    if (!(enough <= 0x1p40 * range)) throw infeasible("least_scale: no scale is enough");
    best = tried(enough);
  }
  double too_little = enough;
  while (too_little == enough) {
    if (enough <= none) return best;
    scaled_noise smaller = tried(0.25 * enough);
    if (smaller.leakage.upper <= budget) {
      best = std::move(smaller);
      too_little = enough = 0.25 * enough;
    } else {
      too_little = 0.25 * enough;
    }
  }
  while (enough > too_little * (1.0 + 1e-9)) {
    scaled_noise between = tried(std::sqrt(enough) * std::sqrt(too_little));
    bool const fits = between.leakage.upper <= budget;
    if (between.scale >= enough || between.scale <= too_little) break;
    (fits ? enough : too_little) = between.scale;
    if (fits) best = std::move(between);
  }
  return best;
}

}  // namespace tacit
