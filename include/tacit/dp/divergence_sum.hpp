// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/count.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/rdp/conversion.hpp>
#include <tacit/dp/renyi.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace tacit {

/// An upper bound on the Rényi divergence of this order, of a curve of upper bounds: D_α rises with α, so that a bound at
/// any higher order holds here. Bounds of the best of several runs fall before they rise.
/// Guarantee: upper bound, at most curve(order).
/// @throws std::domain_error unless order is finite and above 1
template <class Curve>
[[nodiscard]] double least_divergence(double order, Curve const& curve) {
  detail::check_order(order);
  double const excess = order - 1.0;
  double const here = curve(order);
  if (!(curve(order + 1e-3 * excess) < here)) return here;
  auto const above = [&](double other) { return curve(order + (other - 1.0)); };
  double const none = -std::numeric_limits<double>::infinity();
  return std::min(here, detail::least_over_orders(elementary::log(excess), none, above).value);
}

/// A composition of parts that are known by their Rényi divergences alone: accountants, the best of several runs
/// (`best_of::divergence`), or what a paper bounds.
///
/// Each part is a function of the order α > 1: an upper bound, at every order that it is asked for, on the divergence of
/// the worse direction, whatever was released before. Divergences add up, so that the parts may depend on each other's
/// releases.
/// Guarantee: upper bounds, as for `renyi_accountant`; `lower` is 0.
template <std::same_as<double> T = double>
class basic_divergence_sum {
 public:
  using curve = std::function<T(T order)>;

  /// @throws std::domain_error unless count is in [1, 2^53]
  basic_divergence_sum& add(curve of_one, std::uint64_t count = 1) {
    detail::check_count("divergence_sum", "count", count);
    parts_.push_back({std::move(of_one), detail::count_up(count)});
    return *this;
  }

  /// @throws std::domain_error unless order is finite and above 1
  [[nodiscard]] double divergence(double order) const {
    detail::check_order(order);
    double sum = 0.0;
    for (part const& p : parts_)
      sum = detail::add_up(sum, detail::multiply_up(p.count, least_divergence(order, p.of)));
    return sum;
  }

  /// @throws std::domain_error unless δ is in (0, 1)
  [[nodiscard]] bound<double> epsilon(double delta) const {
    detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
    return {0.0, least([&](double order, double divergence) {
              return renyi_epsilon(order, divergence, delta);
            })};
  }

  /// @throws std::domain_error unless ε is finite and at least 0
  [[nodiscard]] bound<double> delta(double epsilon) const {
    detail::check_non_negative("delta", "epsilon", epsilon);
    double const log_delta = least([&](double order, double divergence) {
      return detail::open_log_renyi_delta(order, divergence, epsilon);
    });
    if (log_delta == -std::numeric_limits<double>::infinity()) return {0.0, 0.0};
    return {0.0, std::min(1.0, exp(detail::enclosure(log_delta)).upper)};
  }

 private:
  struct part {
    curve of;
    double count;
  };

  [[nodiscard]] double sum_at(double order) const {
    double sum = 0.0;
    for (part const& p : parts_)
      sum = detail::add_up(sum, detail::multiply_up(p.count, p.of(order)));
    return sum;
  }

  template <class Bound>
  [[nodiscard]] double least(Bound&& of) const {
    double const none = -std::numeric_limits<double>::infinity();
    // A bound is no quasi-convex function of the order where its parts are not convex: the best of a few searches.
    double best = std::numeric_limits<double>::infinity();
    for (double start : {-4.0, 0.0, 4.0, 10.0}) {
      best = std::min(best, detail::least_over_orders(start, none, [&](double order) {
                              return of(order, sum_at(order));
                            }).value);
    }
    return best;
  }

  std::vector<part> parts_;
};

using divergence_sum = basic_divergence_sum<>;

}  // namespace tacit
