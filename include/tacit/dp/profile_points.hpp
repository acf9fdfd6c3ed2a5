// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/finite_pairs.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <concepts>
#include <utility>
#include <vector>

/// Finite pairs above those of continuous noise: the largest profile through some points of theirs
/// (docs/certificates/events.md, Lemma 2). Between two points it is above the noise's own by some 1e-4, relatively, and by
/// the square of `coarse` times that: of several that are put together each may have fewer points.

namespace tacit::detail {

/// Above N(shift, 1) against N(0, 1).
template <std::same_as<finite_pair> Pair = finite_pair>
[[nodiscard]] Pair normal_points(double shift, double coarse = 1.0) {
  constexpr double least_log = -650.0;
  require_domain(shift <= 1e150, "dominate", "change over noise", shift,
                 "so small that losses are finite");
  std::vector<approx_dp> points;
  double e = 0.0;
  double step = 0.05 * shift;
  // Before that δ is nearly 1.
  double const bulk = 0.5 * shift * shift - 9.0 * shift;
  double last = 0.0;
  while (points.size() < dp_profile::most_points) {
    double const d = tacit::delta(gaussian_dp{shift}, e).upper;
    points.push_back({e, d});
    double const log_d = elementary::log(d);
    if (!(log_d > least_log)) break;
    if (points.size() == 1 && bulk > 0.0) {
      e = bulk;
      continue;
    }
    // Steps of .04 in log δ, and longer ones far out.
    double const aim = coarse * std::max(0.04, 0.02 * (-log_d - 40.0));
    double const made = points.size() > 1 ? last - log_d : aim;
    if (made > 0.0) step *= std::clamp(aim / made, 0.2, 2.0);
    step = std::min(step, 0.1 * coarse * shift);
    if (-log_d > 40.0) step = std::max(step, 0.1 * shift);
    last = log_d;
    e += step;
  }
  return profile_pair(std::move(points));
}

/// Above Laplace noise of scale 1 on a change of `shift`, whose profile is 1 − e^{(ε − shift)/2}.
template <std::same_as<finite_pair> Pair = finite_pair>
[[nodiscard]] Pair laplace_points(double shift, double coarse = 1.0) {
  int const count = static_cast<int>(std::max(32.0, 512.0 / coarse));
  std::vector<approx_dp> points;
  for (int k = 0; k < count; ++k) {
    double const e = shift * k / count;
    double const d = (-expm1(0.5 * (enclosure(e) - enclosure(shift)))).upper;
    points.push_back({e, std::clamp(d, 0.0, 1.0)});
  }
  points.push_back({shift, 0.0});
  return profile_pair(std::move(points));
}

}  // namespace tacit::detail
