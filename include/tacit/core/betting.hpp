// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/solve.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

/// One-sided confidence bounds on the mean of independent numbers of one bounded law.
///
/// By betting (Waudby-Smith & Ramdas 2024, "Estimating means of bounded random variables by betting").
/// Take x in [0, 1] and a guess m of the mean. A gambler who stakes λ_t ≥ 0 on x_t > m, λ_t chosen
/// before x_t is seen and below 1/m, has K_t = Π(1 + λ_s(x_s − m)) > 0 after t rounds. Where the mean is
/// m or less, K is a supermartingale from 1, so that P(max_t K_t ≥ 1/α) ≤ α (Ville). The guesses that
/// made the gambler rich are refuted. λ_t = min(b_t, 1/(2m)) with b_t free of m makes K fall as m rises
/// (each factor does), so that what is refuted is an interval, and its end is the bound.
///
/// Why not the empirical Bernstein bound of Maurer & Pontil (2009): at large n both lie σ√(2 log(1/α)/n)
/// below the sample mean (theirs with log(2/α)), but betting pays three to five times less for the range.
/// The two are not combined, which would cost a union of failures.
///
/// Rounding: b_t may be any numbers known in time, so only the capital's own arithmetic counts. A factor
/// is at least ½ and at least the size of its product, so that its four roundings and the multiplication
/// are 5u of it: the capital is right to 5nu, and must exceed 1/α by four times as much.

namespace tacit {
namespace detail {

/// b_t = √(2 log(1/α) / (n·v_{t−1})), v the variance as it seemed before x_t (a prior of ¼, worth one
/// observation): what is best for n rounds if v is right.
[[nodiscard]] inline std::vector<double> stakes(std::span<double const> x, double log_odds) {
  std::vector<double> out(x.size());
  double const scale = 2.0 * log_odds / static_cast<double>(x.size());
  double sum = 0.5;
  double squares = 0.25;
  for (std::size_t t = 0; t < x.size(); ++t) {
    double const rounds = static_cast<double>(t + 1);
    out[t] = std::sqrt(scale * rounds / squares);
    sum += x[t];
    double const miss = x[t] - sum / (rounds + 1.0);
    squares += miss * miss;
  }
  return out;
}

/// Whether betting refutes that the mean is m or less. `unit` is 10nu.
[[nodiscard]] inline bool refuted(std::span<double const> x, std::span<double const> stake,
                                  double m, double failure, double unit) {
  double const most = 0.5 / m;
  double const rich = (1.0 + 2.0 * unit) / failure;
  double capital = 1.0;
  for (std::size_t t = 0; t < x.size(); ++t) {
    capital *= 1.0 + std::min(stake[t], most) * (x[t] - m);
    if (capital >= rich) return true;
    if (capital < 1e-100) return false;  // the capital is lost, and the gambler may stop
  }
  return false;
}

/// A number that the mean of x in [0, 1] exceeds, except with probability `failure`.
[[nodiscard]] inline double betting_bound(std::span<double const> x, double failure) {
  double const unit =
      10.0 * static_cast<double>(x.size()) * std::numeric_limits<double>::epsilon() / 2.0;
  auto const stake = stakes(x, -std::log(failure));
  double mean = 0.0;
  for (double const value : x) mean += value / static_cast<double>(x.size());
  // To a thousandth of the distance that chance causes anyway.
  auto const wide = [mean](double low, double high) {
    return high - low > 1e-3 * (mean - low) && high - low > 1e-14;
  };
  auto const below = [&](double m) { return refuted(x, stake, m, failure, unit); };
  return bisect<double>({0.0, 1.0}, wide, below).low;
}

inline void check_bounded_sample(char const* function, std::span<double const> sample, double low,
                                 double high, double failure) {
  require_argument(!sample.empty(), function, "size of sample", sample.size(), "at least 1");
  check_finite(function, "low", low);
  check_finite(function, "high", high);
  require_domain(high - low >= 0.0 && high - low <= std::numeric_limits<double>::max(), function,
                 "high - low", high - low, "finite and at least 0");
  require_domain(failure > 0.0 && failure < 1.0, function, "failure", failure, "in (0, 1)");
  for (double const x : sample) {
    require_domain(x >= low && x <= high, function, "an observation", x, "in [low, high]");
  }
}

}  // namespace detail

/// A number below the mean of the law of `sample`, independent draws in [low, high]. In [low, high].
/// Guarantee: lower bound, except with probability `failure` over the sample. At large n it is
/// σ√(2 log(1/failure)/n) below the sample mean, plus some 2 log(1/failure)/n of the range.
/// @throws std::invalid_argument for an empty sample; std::domain_error unless low ≤ x ≤ high and
///         failure is in (0, 1)
[[nodiscard]] inline double lower_confidence(std::span<double const> sample, double low,
                                             double high, double failure) {
  detail::check_bounded_sample("lower_confidence", sample, low, high, failure);
  double const width = high - low;
  if (width == 0.0) return low;
  std::vector<double> x(sample.begin(), sample.end());
  for (double& value : x) value = (value - low) / width;  // 3 roundings, each relative; at most 1
  double const bound = detail::betting_bound(x, failure) * (1.0 - 1e-15);
  double const slack = 1e-15 * std::max(std::abs(low), std::abs(high));
  return bound > 0.0 ? std::max(low, low + bound * width - slack) : low;
}

/// A number above the mean: `lower_confidence` of the sample with its sign changed.
/// Guarantee: upper bound, except with probability `failure` over the sample.
/// @throws as `lower_confidence`
[[nodiscard]] inline double upper_confidence(std::span<double const> sample, double low,
                                             double high, double failure) {
  detail::check_bounded_sample("upper_confidence", sample, low, high, failure);
  std::vector<double> mirrored(sample.begin(), sample.end());
  for (double& value : mirrored) value = -value;
  return -lower_confidence(mirrored, -high, -low, failure);
}

}  // namespace tacit
