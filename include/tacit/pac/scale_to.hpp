// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/calibrated.hpp>
#include <tacit/pac/candidate_bounds.hpp>
#include <tacit/pac/candidate_information.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

/// A given shape of noise for listed candidates, scaled to the budget by the least of all bounds.

namespace tacit {

namespace detail {

/// The largest s with f(s) ≤ budget, for f that rises from 0: the feasible end, with
/// f(s) ≥ budget·(1 − tolerance) or the next s within `tolerance`. Searched in logarithms, in which
/// information is nearly linear.
template <class Information>
[[nodiscard]] double largest_shrink(Information&& f, double budget, double tolerance,
                                    double start = 1.0) {
  double const aim = elementary::log(budget * (1.0 - 0.5 * tolerance));
  double fits = std::numeric_limits<double>::quiet_NaN();  // the largest s known to
  sign_search<double> search;
  double s = elementary::log(start);
  double last = 0.0;  // move
  for (int step = 0; step < 400; ++step) {
    double const value = f(elementary::exp(s));
    double const miss = std::max(elementary::log(value), -1e4) - aim;
    if (value <= budget) {
      if (value >= budget * (1.0 - tolerance)) return elementary::exp(s);
      fits = s;
    }
    search.put(s, miss);
    if (search.closed()) {
      if (search.ends().width() < tolerance) break;
      s = search.next();
    } else if (!(s > -690.0 && s < 690.0)) {
      break;
    } else {
      // Information is proportional to s where it is small, and slower elsewhere: there strides grow.
      last = std::min(std::max({std::abs(miss) * 1.2, 0.05, 1.5 * last}), 30.0);
      s += miss < 0.0 ? last : -last;
    }
  }
  if (fits == fits) return elementary::exp(fits);
  throw convergence_error("scale_to: found no noise that fits the budget", 0.0, elementary::exp(s));
}

inline void check_candidate_budget(char const* function, nats budget) {
  check_positive(function, "budget", budget.value);
}

/// No noise, where the budget covers the entropy of the outputs.
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> no_noise(basic_candidate_outputs<T> const& outputs,
                                               double information) {
  return {basic_gaussian_noise<T>::isotropic(outputs.dimension(), 0.0), {nats(information), 1.0}};
}

template <dense_scalar T = double>
void require_reachable(char const* function, candidate_bounds<T> const& bounds, nats budget) {
  if (bounds.white().groups > 1 && !(bounds.least() < budget.value)) {
    throw infeasible(
        complaint(function, "budget", to_text(budget.value),
                  "above the information in directions without noise, " + to_text(bounds.least())));
  }
}

/// The shape times a power of 4 that brings its least noise to the size of the outputs' differences, where these are so
/// many times as large, or as small, that their squares in units of the noise would overflow or vanish.
template <dense_scalar T = double>
[[nodiscard]] basic_gaussian_noise<T> of_like_size(basic_candidate_outputs<T> const& outputs,
                                                   basic_gaussian_noise<T> const& shape) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double spread = 0.0;
  for (auto const& column : outputs.rows().colwise()) {
    spread = std::max(spread, column.maxCoeff() - column.minCoeff());
  }
  double least = shape.rest_dimension() > 0 && shape.rest() > 0.0 ? shape.rest() : infinity;
  for (double const v : shape.variances()) {
    if (v > 0.0) least = std::min(least, v);
  }
  if (!(spread > 0.0 && spread < infinity && least < infinity)) return shape;
  int const off = std::ilogb(spread) - std::ilogb(least) / 2;
  if (std::abs(off) <= 100) return shape;
  double const root = std::ldexp(1.0, std::clamp(off, -1000, 1000));  // its square may overflow
  basic_gaussian_noise<T> out = shape.scaled(root).scaled(root);
  check_finite("scale_to", "variance of the noise", out.trace());
  return out;
}

/// The smallest multiple of a shape that its bounds allow.
/// @throws infeasible, convergence_error
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> shrunk_to(basic_candidate_outputs<T> const& outputs,
                                                basic_gaussian_noise<T> const& shape,
                                                candidate_bounds<T> const& bounds, nats budget) {
  require_reachable("scale_to", bounds, budget);
  double const shrink =
      largest_shrink([&](double s) { return bounds.best(s); }, budget.value, 1e-12);
  // Scaling rounds, so that the certificate is that of the noise itself.
  for (double more = 0.0;; more = std::max(2.0 * more, 1e-13)) {
    basic_gaussian_noise<T> noise = shape.scaled((1.0 + more) / shrink);
    mi_bound const certificate = information_bound(outputs, noise);
    if (certificate.value <= budget) return {std::move(noise), certificate};
    if (!(more < 1.0)) {
      throw convergence_error("scale_to: rounding hides the candidates", budget.value,
                              certificate.value.value);
    }
  }
}

/// What `find` returns, or nothing where rounding leaves no certificate for the shape that it scales.
template <class Find>
[[nodiscard]] auto if_feasible(Find&& find) -> std::optional<decltype(find())> {
  try {
    return find();
  } catch (infeasible const&) {
  } catch (convergence_error const&) {
  }
  return std::nullopt;
}

template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> of_lower_trace(calibrated<mi_bound, T> a,
                                                     calibrated<mi_bound, T> b) {
  return b.noise.trace() < a.noise.trace() ? std::move(b) : std::move(a);
}

}  // namespace detail

/// The smallest multiple of a noise shape for which `information_bound` is at most β.
/// Guarantee: feasible end; at most 1e-11 of β unspent where the bound can be followed that far. Zero
/// noise if the entropy of the distinct outputs is at most β.
/// @throws std::domain_error unless β is positive and finite, or if the noise overflows; infeasible if directions
///         without noise give away β or more; else as `information_bound`
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> scale_to(basic_candidate_outputs<T> const& outputs,
                                               basic_gaussian_noise<T> const& of_shape,
                                               nats budget) {
  detail::check_candidate_budget("scale_to", budget);
  detail::check_size("scale_to", "dimension of the noise", of_shape.dimension(),
                     outputs.dimension());
  double const entropy = detail::distinct_rows<T>(outputs).raised_entropy();
  if (entropy <= budget.value) return detail::no_noise(outputs, entropy);
  basic_gaussian_noise<T> const shape = detail::of_like_size(outputs, of_shape);
  return detail::shrunk_to(outputs, shape, detail::candidate_bounds<T>(outputs, shape), budget);
}

#if defined(TACIT_COMPILED_DENSE)
extern template calibrated<mi_bound> scale_to(candidate_outputs const&, gaussian_noise const&,
                                              nats);
#endif

}  // namespace tacit
