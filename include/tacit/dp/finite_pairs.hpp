// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

/// Dominating pairs of finitely many losses: of randomised response, of (ε, δ) guarantees and of discrete
/// Laplace noise; and what sampling makes of one.

namespace tacit::detail {

/// Randomised response of `categories` answers; with two, also any mechanism that is (ε, δ)-DP.
[[nodiscard]] inline finite_pair response_pair(double epsilon, double categories, double delta) {
  double const other = (1.0 - delta) / (1.0 + (elementary::exp(-epsilon) * (categories - 1.0)));
  double const low = other * elementary::exp(-epsilon);
  finite_pair pair{{{-epsilon, low, other}, {0.0, 0.0, 0.0}, {epsilon, other, low}}, delta, delta};
  if (epsilon == 0.0 || categories == 2.0) {
    pair.atoms.erase(pair.atoms.begin() + 1);
  } else {
    pair.atoms[1] = {0.0, low * (categories - 2.0), low * (categories - 2.0)};
  }
  if (epsilon == 0.0) pair.atoms = {{0.0, 1.0 - delta, 1.0 - delta}};
  return pair;
}

/// @throws std::domain_error unless this shift in units of the noise is finite
inline void check_noise(std::string_view argument, double noise, double shift) {
  require_domain(shift <= std::numeric_limits<double>::max(), "dominate", argument, noise,
                 "so large that losses are finite");
}

[[nodiscard]] inline finite_pair discrete_laplace_pair(double scale, std::uint64_t shift) {
  require_domain(shift <= 1000000, "dominate", "shift of a discrete Laplace", shift,
                 "at most 1e6 grid units");
  double const s = static_cast<double>(shift);
  check_noise("scale", scale, s / scale);
  double const next = elementary::exp(-1.0 / scale);
  double const tail = 1.0 / (1.0 + next);
  double const point = -elementary::expm1(-1.0 / scale) * tail;
  finite_pair pair;
  pair.loss_error = std::numeric_limits<double>::epsilon();
  pair.atoms.reserve(shift + 1);
  for (std::uint64_t k = 0; k <= shift; ++k) {
    double const j = static_cast<double>(k);
    bool const end = k == 0 || k == shift;
    pair.atoms.push_back({(2.0 * j - s) / scale,
                          (end ? tail : point) * elementary::exp(-(s - j) / scale),
                          (end ? tail : point) * elementary::exp(-j / scale)});
  }
  return pair;
}

/// (rate·P + (1−rate)·Q, Q), or the same swapped.
[[nodiscard]] inline finite_pair sampled_pair(finite_pair const& base, double rate,
                                              orientation towards) {
  finite_pair out;
  out.loss_error = base.loss_error + 32.0 * std::numeric_limits<double>::epsilon();
  auto const put = [&](double loss, double p, double q) {
    if (towards == orientation::remove) {
      out.atoms.push_back({loss, p, q});
    } else {
      out.atoms.push_back({-loss, q, p});
    }
  };
  if (base.excluded > 0.0 && rate < 1.0) {
    put(elementary::log1p(-rate), (1.0 - rate) * base.excluded, base.excluded);
  }
  for (finite_pair::atom const& a : base.atoms) {
    put(sampled_loss(a.loss, rate), rate * a.p + (1.0 - rate) * a.q, a.q);
  }
  if (towards == orientation::add) std::reverse(out.atoms.begin(), out.atoms.end());
  double const alone = rate * base.infinite;
  double const lost = rate == 1.0 ? base.excluded : 0.0;
  out.infinite = towards == orientation::remove ? alone : lost;
  out.excluded = towards == orientation::remove ? lost : alone;
  return out;
}

/// A symmetric base of which a batch without replacement takes part: the profile of the sampled pair
/// for ε ≥ 0, and its mirror image for ε < 0 (Zhu, Dong & Wang 2022). The two directions must not be
/// composed apart (Lebeda et al. 2024).
[[nodiscard]] inline finite_pair mirrored_pair(finite_pair const& base, double rate) {
  finite_pair out;
  out.loss_error = base.loss_error + 32.0 * std::numeric_limits<double>::epsilon();
  double rest = (1.0 - rate) * base.infinite;
  for (finite_pair::atom const& a : base.atoms) {
    if (a.loss == 0.0) rest += a.p;
    if (!(a.loss > 0.0)) continue;
    double const loss = sampled_loss(a.loss, rate);
    out.atoms.push_back({loss, rate * a.p + (1.0 - rate) * a.q, a.q});
    rest += (1.0 - rate) * (a.p - a.q);
  }
  std::size_t const above = out.atoms.size();
  for (std::size_t k = 0; k < above; ++k) {
    finite_pair::atom const a = out.atoms[k];
    out.atoms.push_back({-a.loss, a.q, a.p});
  }
  if (rest > 0.0) out.atoms.push_back({0.0, rest, rest});
  std::sort(out.atoms.begin(), out.atoms.end(),
            [](auto const& a, auto const& b) { return a.loss < b.loss; });
  out.infinite = out.excluded = rate * base.infinite;
  return out;
}

}  // namespace tacit::detail
