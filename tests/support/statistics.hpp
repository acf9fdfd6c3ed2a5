// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

/// Statistical tests. Each limit below is passed by a right sampler but with probability 1e-6; seeds are
/// fixed, so that a passing test keeps passing.
namespace statistics {

/// |z| of a standard normal stays below this but with probability 1e-6.
inline constexpr double normal_limit = 4.892;

/// √n times the Kolmogorov–Smirnov distance stays below this but with probability 1e-6
/// (2 exp(−2x²) = 1e-6).
inline constexpr double kolmogorov_limit = 2.694;

/// √n sup |F_n − F|. Sorts the sample.
template <class T, class Cdf>
double kolmogorov(std::vector<T>& sample, Cdf cdf) {
  std::sort(sample.begin(), sample.end());
  auto const n = static_cast<double>(sample.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    double const f = cdf(static_cast<double>(sample[i]));
    auto const below = static_cast<double>(i);
    distance = std::max({distance, f - below / n, (below + 1.0) / n - f});
  }
  return std::sqrt(n) * distance;
}

inline double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// How many standard deviations `hits` of n draws of probability p lie from n·p.
inline double binomial_score(double hits, double n, double p) {
  return (hits - n * p) / std::sqrt(n * p * (1.0 - p));
}

}  // namespace statistics
