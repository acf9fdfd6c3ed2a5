// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/rays/solve.hpp>

/// Certified ε(δ) and δ(ε) of compositions of sampled Gaussians, without a grid, where few steps, small noise or
/// rare jumps rule: the larger of the two directions. docs/certificates/rays.md has the proofs.

namespace tacit::detail::rays {

/// Whether Chernoff's bound alone shows that δ(ε) ≤ e^{log_delta} in the direction `add`.
template <std::same_as<double> T = double>
[[nodiscard]] bool add_is_below(composition const& what, double epsilon, double log_delta) {
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

constexpr double whole_budget = 1e8;  // about a tenth of a second
constexpr std::size_t most_events = 16;

/// ε at δ.
/// Guarantee: lower ≤ ε ≤ upper. No value where nothing could be certified within the budget.
template <std::same_as<double> T = double>
[[nodiscard]] std::optional<bound<double>> epsilon(composition const& what, T delta) {
  double variation = std::erf(std::sqrt(0.125 * what.variance));
  for (sampled_gaussian const& e : what.events)
    variation += e.count * e.rate * std::erf(e.shift / std::sqrt(8.0));
  if (variation * (1.0 + 1e-12) <= delta) return bound<double>{0.0, 0.0};
  if (what.events.size() > most_events) return std::nullopt;
  double const log_delta = std::log(delta);
  budget work{whole_budget};
  auto const removed =
      solver<T>(what, orientation::remove, work).epsilon(log_delta, first_guess(what, log_delta));
  if (!removed || removed->upper == 0.0 || add_is_below<T>(what, removed->lower, log_delta))
    return removed;
  auto const added = solver<T>(what, orientation::add, work).epsilon(log_delta, removed->lower);
  if (!added) return std::nullopt;
  return bound<double>{std::max(removed->lower, added->lower),
                       std::max(removed->upper, added->upper)};
}

/// log δ at ε in one direction.
/// Guarantee: lower ≤ log δ ≤ upper.
template <std::same_as<double> T = double>
[[nodiscard]] std::optional<bound<double>> log_delta(composition const& what, orientation towards,
                                                     T epsilon) {
  if (what.events.size() > most_events) return std::nullopt;
  budget work{whole_budget};
  return solver<T>(what, towards, work).log_delta(epsilon);
}

/// δ at ε.
/// Guarantee: lower ≤ δ ≤ upper; below the least normal double the upper end is that.
template <std::same_as<double> T = double>
[[nodiscard]] std::optional<bound<double>> delta(composition const& what, T epsilon) {
  auto found = log_delta(what, orientation::remove, epsilon);
  if (!found) return std::nullopt;
  if (!add_is_below<T>(what, epsilon, found->lower)) {
    auto const added = log_delta(what, orientation::add, epsilon);
    if (!added) return std::nullopt;
    found = {std::max(found->lower, added->lower), std::max(found->upper, added->upper)};
  }
  constexpr double least = std::numeric_limits<double>::min();
  double const lower = std::exp(found->lower) * (1.0 - 1e-15),
               upper = std::exp(found->upper) * (1.0 + 1e-15);
  return bound<double>{lower < least ? 0.0 : lower, std::min(1.0, std::max(upper, least))};
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
extern template std::optional<bound<double>> epsilon(composition const&, double);
extern template std::optional<bound<double>> delta(composition const&, double);
extern template std::optional<bound<double>> log_delta(composition const&, orientation, double);
#endif

}  // namespace tacit::detail::rays
