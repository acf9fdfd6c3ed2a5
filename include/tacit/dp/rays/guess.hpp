// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/dp/rays/law.hpp>
#include <tacit/dp/rays/plan.hpp>

#include <algorithm>
#include <cmath>

/// Where the search for ε or δ begins. Nothing here is certified, and nothing rests on it but time.

namespace tacit::detail::rays {

/// log δ(ε) of one step that alone reaches beyond ε, about.
[[nodiscard]] inline double log_one_jump(composition const& what, double epsilon, double scale) {
  double sum = 0.0;
  double const G = epsilon + scale, strike = elementary::log(elementary::expm1(G));
  for (sampled_gaussian const& e : what.events) {
    double const mean = law<double>(e).mean, d = (mean - strike) / e.shift;
    sum += e.count * std::max(0.0, e.rate / (1.0 - e.rate) * tail_by_erfc(-d - e.shift) -
                                       elementary::expm1(G) * tail_by_erfc(-d));
  }
  return elementary::log(std::max(sum, 1e-320)) - scale;
}

/// The variance of the loss but for jumps beyond three deviations.
[[nodiscard]] inline double moderate_variance(composition const& what) {
  double variance = what.variance;
  for (sampled_gaussian const& e : what.events) {
    variance += e.count * e.rate * e.rate * elementary::expm1(e.shift * e.shift) *
                tail_by_erfc(2.0 * e.shift - 3.0);
  }
  return variance;
}

/// Where to begin: one jump alone, or the normal law of the variance of jumps up to three deviations.
[[nodiscard]] inline double first_guess(composition const& what, double log_delta) {
  double const scale = static_cast<double>(base(what));
  double jump = 0.0;
  if (log_one_jump(what, 1e-12, scale) >= log_delta) {
    auto const reaches = [&](double epsilon) {
      return log_one_jump(what, epsilon, scale) > log_delta;
    };
    bracket<double> at{0.0, 1.0};
    while (at.high < 1e6 && reaches(at.high)) at.high *= 2.0;
    jump = bisect(
               at, [](double, double) { return true; }, reaches, 30)
               .middle();
  }
  double const variance = moderate_variance(what), mu = std::sqrt(variance);
  double z = 0.0;
  for (int i = 0; i < 20; ++i) {
    z = std::sqrt(std::max(
        0.0, 2.0 * (elementary::log(mu + 1e-300) - log_delta - 0.9 - 2.0 * elementary::log1p(z))));
  }
  return std::max({jump, mu * z + 0.5 * variance, 1e-9});
}

/// The same for log δ at ε.
[[nodiscard]] inline double first_guess_of_delta(composition const& what, double epsilon) {
  double const variance = moderate_variance(what);
  double const z = (epsilon - 0.5 * variance) / std::sqrt(variance);
  double const normal =
      z < 5.0 ? elementary::log(tail_by_erfc(z)) : -0.5 * z * z - elementary::log(2.5 * z);
  return std::min(std::max(log_one_jump(what, epsilon, static_cast<double>(base(what))), normal),
                  -1e-2);
}

}  // namespace tacit::detail::rays
