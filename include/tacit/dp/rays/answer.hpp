// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/rays/solve.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>

/// Certified ε(δ) and δ(ε) of compositions of sampled Gaussians, without a grid, where few steps, small noise or
/// rare jumps rule, in one direction. docs/certificates/rays.md has the proofs.

namespace tacit::detail::rays {

/// Whether Chernoff's bound alone shows that δ(ε) ≤ e^{log_delta} in the direction `add`.
template <std::same_as<double> T = double>
[[nodiscard]] bool add_is_below(composition const& what, double epsilon, double log_delta) {
  double const blur = shifts_of(what).blur(log_delta);
  epsilon -= blur + 2.0 * unit_roundoff * std::abs(epsilon);
  log_delta -= blur;
  double const scale = static_cast<double>(base(what));
  double const G = scale * (1.0 + 1e-14) - epsilon;
  if (!(G > 0.0)) return true;  // no loss exceeds `scale`
  real_line<T> moments(what);
  double best = std::numeric_limits<double>::infinity(), at = 1.0 / G;
  auto const improves = [&](double a) {
    double const value = moments.log_chernoff(-a, G, {});
    if (!(value < best)) return false;
    best = value;
    at = a;
    return true;
  };
  improves(at);
  for (double const factor : {3.0, 1.0 / 3.0, 1.5}) {
    while (best > log_delta && at < 1e12 && at > 1e-6 && improves(at * factor)) {
    }
  }
  return best <= log_delta;
}

constexpr std::size_t most_events = 300;

/// Of one question in one direction: about a tenth of a second, and as much for every 32 events more.
[[nodiscard]] inline double whole_budget(composition const& what) {
  return 1e8 * std::max(1.0, static_cast<double>(what.events.size()) / 32.0);
}

/// ε at δ in one direction, from about where to begin: 0 if that is not known.
/// Guarantee: lower ≤ ε ≤ upper. No value where nothing could be certified within the budget.
template <std::same_as<double> T = double>
[[nodiscard]] std::optional<bound<double>> epsilon(composition const& what, orientation towards,
                                                   T log_delta, T start) {
  if (what.events.size() > most_events) return std::nullopt;
  budget work{whole_budget(what)};
  return solver<T>(what, towards, work)
      .epsilon(log_delta, start > 0.0 ? start : first_guess(what, log_delta));
}

/// log δ at ε in one direction.
/// Guarantee: lower ≤ log δ ≤ upper.
template <std::same_as<double> T = double>
[[nodiscard]] std::optional<bound<double>> log_delta(composition const& what, orientation towards,
                                                     T epsilon) {
  if (what.events.size() > most_events) return std::nullopt;
  budget work{whole_budget(what)};
  return solver<T>(what, towards, work).log_delta(epsilon);
}

/// Whether this way should be tried before the vertical line: few steps, or rare jumps of a lognormal size. Many small
/// losses are all but normal, which suits the line.
[[nodiscard]] inline bool rules(composition const& what) {
  double jumps = 0.0, shift = 0.0;
  for (sampled_gaussian const& e : what.events) {
    if (e.rate > 0.3 && e.shift < 0.5) return false;
    jumps += e.count * e.rate;
    shift = std::max(shift, e.shift);
  }
  return what.events.size() <= 4 && shift > 0.2 && jumps < (shift > 0.4 ? 10.0 : 1.0);
}

#if defined(TACIT_COMPILED)
extern template std::optional<bound<double>> epsilon(composition const&, orientation, double,
                                                     double);
extern template std::optional<bound<double>> log_delta(composition const&, orientation, double);
#endif

}  // namespace tacit::detail::rays
