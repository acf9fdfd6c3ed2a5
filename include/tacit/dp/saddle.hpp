// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>

#include <cmath>
#include <concepts>
#include <numbers>

/// The saddle point of e^{K(z)−zε}/(z(z+1)), from which δ(ε) is found: on a contour through it, or on a
/// grid of masses tilted by it. An estimate: it steers, and never bounds.

namespace tacit::detail {

/// K = log E_P[e^{zL}] and its first two derivatives, at a real tilt.
template <std::same_as<double> T = double>
struct cumulants {
  T value;
  T slope;
  T curvature;
};

template <std::same_as<double> T = double>
struct saddle {
  T tilt = 1.0;
  T epsilon = 0.0;
  T log_delta = 0.0;
  T deviation = 0.0;  // of the tilted loss
};

/// The ε for which this tilt is the saddle point, and the estimate of log δ there.
template <std::same_as<double> T = double>
[[nodiscard]] saddle<T> saddle_at(T tilt, cumulants<T> const& k) {
  T const epsilon = k.slope - 1.0 / tilt - 1.0 / (1.0 + tilt);
  T const curvature = k.curvature + 1.0 / (tilt * tilt) + 1.0 / ((1.0 + tilt) * (1.0 + tilt));
  T const log_delta = k.value - tilt * epsilon - elementary::log(tilt) - elementary::log1p(tilt) -
                      0.5 * elementary::log(2.0 * std::numbers::pi * curvature);
  return {tilt, epsilon, log_delta, std::sqrt(k.curvature)};
}

}  // namespace tacit::detail
