// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/coupled_profile.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/finite_pairs.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <concepts>
#include <limits>
#include <utility>
#include <vector>

/// Finite pairs above those of continuous noise: the largest profile through some points of theirs
/// (docs/certificates/events.md, Lemma 2). Between two points it is above the noise's own by some 1e-4, relatively, and by
/// the square of `coarse` times that: of several that are put together each may have fewer points.

namespace tacit::detail {

/// Points of a falling profile, of which `point(x)` is one further down the larger x: from x = `first` on, and then from
/// `bulk` on, as far apart as `step` at first, and at most a tenth of `scale` times `coarse`.
template <class Point>
[[nodiscard]] std::vector<approx_dp> points_of(Point&& point, double first, double bulk,
                                               double step, double scale, double coarse) {
  constexpr double least_log = -650.0;
  std::vector<approx_dp> points;
  double x = first;
  double last = 0.0;
  while (points.size() < dp_profile::most_points) {
    points.push_back(point(x));
    if (!(points.back().epsilon < std::numeric_limits<double>::infinity())) {
      points.back() = {0.0, 1.0};
      break;
    }
    double const log_d = elementary::log(points.back().delta);
    if (!(log_d > least_log)) break;
    if (points.size() == 1 && bulk > first) {
      x = bulk;
      continue;
    }
    // Steps of .04 in log δ, and longer ones far out.
    double const aim = coarse * std::max(0.04, 0.02 * (-log_d - 40.0));
    double const made = points.size() > 1 ? last - log_d : aim;
    if (made > 0.0) step *= std::clamp(aim / made, 0.2, 2.0);
    step = std::min(step, 0.1 * coarse * scale);
    if (-log_d > 40.0) step = std::max(step, 0.1 * scale);
    last = log_d;
    x += step;
  }
  return points;
}

/// δ(ε) of normal noise of deviation 1, or of Laplace noise of scale 1, on a change of `shift`; rounded up.
[[nodiscard]] inline double noise_delta(amplified_pair::noise kind, double shift, double epsilon) {
  if (kind == amplified_pair::noise::normal) {
    return tacit::delta(gaussian_dp{shift}, epsilon).upper;
  }
  return std::clamp((-expm1(0.5 * (enclosure(epsilon) - enclosure(shift)))).upper, 0.0, 1.0);
}

/// Above N(shift, 1) against N(0, 1).
template <std::same_as<finite_pair> Pair = finite_pair>
[[nodiscard]] Pair normal_points(double shift, double coarse = 1.0) {
  require_domain(shift <= 1e150, "dominate", "change over noise", shift,
                 "so small that losses are finite");
  double const bulk = 0.5 * shift * shift - 9.0 * shift;  // before that δ is nearly 1
  auto const point = [&](double e) {
    return approx_dp{e, tacit::delta(gaussian_dp{shift}, e).upper};
  };
  return profile_pair(points_of(point, 0.0, bulk, 0.05 * shift, shift, coarse));
}

/// Above Laplace noise of scale 1 on a change of `shift`, whose profile is 1 − e^{(ε − shift)/2}.
template <std::same_as<finite_pair> Pair = finite_pair>
[[nodiscard]] Pair laplace_points(double shift, double coarse = 1.0) {
  int const count = static_cast<int>(std::max(32.0, 512.0 / coarse));
  std::vector<approx_dp> points;
  for (int k = 0; k < count; ++k) {
    double const e = shift * k / count;
    points.push_back({e, noise_delta(amplified_pair::noise::laplace, shift, e)});
  }
  points.push_back({shift, 0.0});
  return profile_pair(std::move(points));
}

/// The points of normal noise from the threshold `first` on, of which `above` has those above a profile; those of which δ is
/// nearly 1, up to `last`, say nothing.
template <class Above>
[[nodiscard]] std::vector<approx_dp> normal_thresholds(Above&& above, double first, double last,
                                                       double scale) {
  double bulk = first;
  double beyond = last;
  for (int round = 0; round < 60 && beyond - bulk > 0.1; ++round) {
    double const middle = bulk + 0.5 * (beyond - bulk);
    (above(middle).delta > 0.999 ? bulk : beyond) = middle;
  }
  return points_of(above, first, bulk, 0.02, std::max(1.0, scale), 1.0);
}

/// Above two mixtures of normal noise that are each other's mirror image about 0.
template <std::same_as<coupled_pair> Pair>
[[nodiscard]] finite_pair exchanged_points(Pair const& pair) {
  double const last = pair.parts.back().p;
  require_domain(last <= 1e150, "dominate", "change over noise", last,
                 "so small that losses are finite");
  coupled_profile<> const exact(pair);
  return profile_pair(
      normal_thresholds([&](double t) { return exact.above(t); }, 0.0, last, pair.parts.front().p));
}

/// Above sums to which a draw adds `shift` times the noise at most, where j draws are exchanged for others with the weight
/// that `mixed` has for j: the less of two profiles for ε ≥ 0 (docs/certificates/sampling.md, Lemmas 5 and 11). `drawn` has all
/// of them, `mixed` fewer that count as more.
template <std::same_as<finite_pair> Pair = finite_pair>
[[nodiscard]] Pair exchanged_points(amplified_pair::noise kind, binomial_mixture const& mixed,
                                    std::vector<mixture_pair::part> const& drawn, double shift) {
  double const last = 2.0 * shift * drawn.back().shift;
  require_domain(last <= 1e150, "dominate", "change over noise", last,
                 "so small that losses are finite");
  coupled_pair pair{kind, {}, false, mixed.rest, mixed.error};
  enclosure weight = 0.0;
  std::vector<mixture_pair::part> counted =
      drawn.size() <= 1000 ? drawn : mixed.parts;  // at every point
  std::stable_sort(counted.begin(), counted.end(),
                   [](auto const& one, auto const& other) { return one.weight > other.weight; });
  for (auto const& part : counted) weight += part.weight;
  for (auto const& part : mixed.parts) {
    pair.parts.push_back(
        {part.weight, 2.0 * part.shift * shift, -2.0 * (part.shift - 1.0) * shift});
  }
  constexpr double infinite = std::numeric_limits<double>::infinity();
  coupled_profile<> const together(pair);
  double const share = std::min(1.0, weight.upper);
  // As if j were told: δ at ε′ ≤ ε of 1 + share·(e^{ε′} − 1) = e^ε.
  auto const told = [&](double e) {
    double const before = e < 700.0 ? log1p(expm1(enclosure(e)) / share).lower : e;
    double const most = noise_delta(kind, last, before);
    double sum = 0.0;
    for (auto const& part : counted) {
      double const at_most = multiply_up(part.weight, most);
      sum = add_up(
          sum, at_most < 1e-26 * sum
                   ? at_most
                   : multiply_up(part.weight, noise_delta(kind, 2.0 * part.shift * shift, before)));
    }
    return sum;
  };
  auto const point = [&](double t) {
    approx_dp out = together.above(t);
    if (out.epsilon < infinite) out.delta = std::min(out.delta, told(out.epsilon));
    return out;
  };
  if (kind == amplified_pair::noise::normal) {
    return profile_pair(normal_thresholds(point, shift, last, shift));
  }
  constexpr int count = 512;
  std::vector<approx_dp> points;
  for (int k = 0; k < count; ++k) points.push_back(point(shift + (last - shift) * k / count));
  points.push_back({together.above(last).epsilon, 0.0});  // the largest loss
  std::erase_if(points, [](approx_dp const& one) { return !(one.epsilon < infinite); });
  if (points.empty()) points.push_back({0.0, 1.0});
  return profile_pair(std::move(points));
}

}  // namespace tacit::detail
