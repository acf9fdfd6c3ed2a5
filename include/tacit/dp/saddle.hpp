// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/solve.hpp>

#include <cmath>
#include <concepts>
#include <numbers>
#include <optional>
#include <type_traits>

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

/// Log of the tilt at which the exponent has moved by about one: from here to a saddle point it is not far.
template <std::same_as<double> T = double>
[[nodiscard]] T smallest_log_tilt(T curvature_at_zero) {
  return -0.5 * elementary::log(curvature_at_zero);
}

/// `at(tilt)` where `miss` of it, in units of the exponent, falls through 0: in log tilt from a start on, by strides that
/// grow. A tenth of a unit is near enough. Nothing where no such tilt is found, or `miss` is NaN.
template <std::same_as<double> T = double, class At, class Miss>
[[nodiscard]] std::optional<std::invoke_result_t<At&, T>> find_saddle(T log_tilt, At&& at,
                                                                      Miss&& miss) {
  sign_search<T> search;
  T stride = 0.0;
  for (int step = 0; step < 150 && std::abs(log_tilt) < 400.0; ++step) {
    auto const found = at(elementary::exp(log_tilt));
    T const off = miss(found);
    if (!(off == off)) break;
    search.put(log_tilt, off);
    if (std::abs(off) < 0.1 || (search.closed() && search.ends().width() < 1e-4)) return found;
    stride = stride != 0.0 ? 1.3 * stride : off > 0.0 ? 1.0 : -1.0;
    log_tilt = search.closed() ? search.next() : log_tilt + stride;
  }
  return {};
}

}  // namespace tacit::detail
