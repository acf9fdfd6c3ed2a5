// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/dp/rays/boundary.hpp>
#include <tacit/dp/rays/transform.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

/// Tables and terms of one ray.

namespace tacit::detail::rays {

/// What is asked of a ray.
struct request {
  crossing at;
  double log_tolerance;  // what its ends may leave out, over F(c), at least
  double log_goal;       // what may be wrong, of D
  bool certified;        // a draft has no bounds, and a step that is chosen for speed
};

/// What a node of a table costs, in nanoseconds, about; and how many nodes may be kept at once, for the sake of memory.
template <class R>
inline constexpr double node_cost = std::numeric_limits<R>::digits > 53 ? 2000.0 : 700.0;
template <class R>
inline constexpr double most_nodes = std::numeric_limits<R>::digits > 53 ? 2e5 : 5e5;

/// Of a table of each event; infinite where that is more than may be kept.
template <class R>
[[nodiscard]] double cost_of_nodes(lines<R> const& on) {
  double nodes = 0.0;
  for (auto const& e : on.events) nodes += e.nodes.most();
  return nodes <= most_nodes<R> ? node_cost<R> * nodes : std::numeric_limits<double>::infinity();
}

template <class R>
[[nodiscard]] std::optional<ray<R>> build(composition const& what, orientation towards,
                                          double epsilon, lines<R>& on, request const& asked,
                                          work_budget& work) {
  constexpr double pi = std::numbers::pi;
  crossing const& q = asked.at;
  double const kappa = on.at.step, alpha = on.at.alpha, c = q.c;
  bool const cutting = q.cutting(), certified = asked.certified;
  ray<R> out;
  out.towards = towards;
  out.at = on.at;
  out.base = base(what);
  out.c = c;
  R const G = out.G0 = out.exponent(epsilon);
  double const poles = towards == orientation::remove ? c - 1.0 : -c;
  if (!(G > 0 && poles > 0.0)) return std::nullopt;

  std::vector<tabulated<R>> events;
  std::vector<falling_cells<>> falling;
  double trivial = 0.0;
  std::vector<line_cells<>::cell> cells;
  if (!work.allows(cost_of_nodes(on))) return std::nullopt;
  for (auto& e : on.events) {
    tabulated<R> t{event_table<R>(e.nodes, e.count, q), {}, {}, {}, 0, 0};
    bool const allowed = work.spend(node_cost<R> * static_cast<double>(t.table.size()));
    if (!allowed || !(t.table.left_out < 1)) return std::nullopt;
    t.table.accumulate(e.nodes);
    if (certified) {
      window const* const cut = cutting ? &q.cut : nullptr;
      double const tilt = q.tilt();
      t.low = e.low.along(tilt, q.cap, cut);
      t.right = e.right.along(tilt, q.cap, cut);
      t.top = e.top.along(tilt, q.cap, cut);
      // the mean of the tilted law, about
      double const mean = static_cast<double>(t.table.prefix.back()[1].re / (1 + t.table.at_c.re));
      double const centre = mean > 0.0 && mean < most_exponent ? mean : 0.0;
      (void)e.middle.along(tilt, q.cap, cut, &cells, centre);
      if (!(t.top.plain < 1e200 && t.right.plain < 1e200 && t.low.plain < 1e200))
        return std::nullopt;
      falling.emplace_back(cells, centre, e.middle.first(), lines<R>::stride(on.at), kappa,
                           elementary::sin(on.at.gamma - 2.0 * alpha));
      trivial +=
          static_cast<double>(e.count) * elementary::log(std::max(t.low.plain, t.low.lesser));
      double const below =
          elementary::expm1(2.0 * pi * (on.at.gamma - alpha) / kappa) * (1.0 - 1e-9);
      double const above =
          elementary::expm1(2.0 * pi * (on.at.top - on.at.gamma) / kappa) * (1.0 - 1e-9);
      t.alias = (t.low.plain + t.low.mass) / below + (t.top.plain + t.top.mass) / above;
      t.alias_large = t.low.large / below + t.top.large / above;
    }
    events.push_back(std::move(t));
  }

  auto const at_c =
      transform(on, events, what.variance, cutting, complex<R>{c, 0}, {}, std::nullopt);
  if (!(at_c.wrong < 0.5)) return std::nullopt;
  R const log_poles = elementary::log(std::abs(out.c * (out.c - 1)));
  out.log_scale = at_c.log.re - c * G - log_poles;
  double const largest_exponent =
      std::max({std::abs(c * static_cast<double>(G)), std::abs(static_cast<double>(out.log_scale)),
                std::abs(trivial), what.variance * std::abs(c * (c - 1.0))});
  if (certified && !(largest_exponent < most_exponent)) return std::nullopt;
  double const at_c_wrong = static_cast<double>(at_c.wrong) + 1e-13;
  double log_tolerance = asked.log_tolerance;
  if (certified) {
    log_tolerance = std::max(
        log_tolerance, std::min(-12.0, asked.log_goal - static_cast<double>(out.log_scale) - 3.0));
  }

  // Below: F(c) stands for F, |F(p) − F(c)| ≤ M(ρ/r)/(1 − ρ/r) by Cauchy's estimates.
  out.radius = q.reach;
  double log_round = 0.0;
  if (certified) {
    log_round = log_circle(on, events, what.variance, q, G, out.radius) -
                static_cast<double>(out.log_scale);
    if (!(log_round < 40.0)) return std::nullopt;
    log_round = std::max(log_round, 0.0);
  } else {
    log_round = 3.0;
  }
  double const log_share = std::min(
      -3.0, 0.5 * (log_tolerance - log_round - elementary::log(std::max(1.0, out.radius))));
  long const first =
      static_cast<long>(std::floor((elementary::log(out.radius) + log_share) / kappa));
  R const beta = std::numbers::pi_v<R> / 2 - alpha;
  {
    R const rho = elementary::exp(kappa * static_cast<R>(first));
    R const sum =
        kappa / std::numbers::pi_v<R> * elementary::sin(beta) * rho / elementary::expm1(R(kappa));
    double const share = static_cast<double>(rho) / out.radius;
    out.low = sum;
    out.low_wrong = kappa / pi * elementary::exp(log_round) * share * static_cast<double>(rho) /
                        ((1.0 - share) * elementary::expm1(2.0 * kappa)) +
                    static_cast<double>(sum) * (at_c_wrong + 40.0 * static_cast<double>(unit<R>));
    out.low_wrong *= 1.0 + 1e-9;
  }

  // The terms, until the trivial bound on the rest is small enough.
  double const sine = elementary::sin(alpha);
  R const log_factor = elementary::log(kappa / std::numbers::pi_v<R>);
  R const u = unit<R>;
  double largest = -1e300;
  for (long j = first;; ++j) {
    R const log_rho = kappa * static_cast<R>(j);
    complex<R> const d = polar(elementary::exp(log_rho), beta);
    complex<R> const p = c + d;
    auto const psi = transform(on, events, what.variance, cutting, p, d, j);
    complex<R> const log_p = log(p), log_p1 = log(p - 1);
    complex<R> const value =
        psi.log - G * p - (log_p + log_p1) + complex<R>{log_factor + log_rho - out.log_scale, beta};
    R const exponents = modulus(psi.log) + G * modulus(p) + modulus(log_p) + modulus(log_p1) +
                        std::abs(out.log_scale) + std::abs(log_rho) + 4;
    // The poles and what is normal are those of p as it is rounded.
    R const by_place = what.variance * modulus(p - R(0.5)) + 1 / modulus(p - 1);
    out.terms.push_back(
        {p, value, psi.wrong + u * (24 * exponents + 20 * G * modulus(d) + by_place * modulus(p))});
    double const rho = static_cast<double>(modulus(d));
    largest = std::max(largest, static_cast<double>(value.re));
    if (!certified) {
      if (rho > out.radius && value.re < largest - 16.0) break;
    } else if (rho > 4.0 * std::abs(c) || what.variance == 0.0) {
      double const a = c + rho * sine;
      out.log_high = std::numbers::ln2 + trivial - a * static_cast<double>(G) -
                     static_cast<double>(out.log_scale) - elementary::log(rho) -
                     elementary::log(-elementary::expm1(-kappa)) + elementary::log(kappa / pi) +
                     0.5 * what.variance * std::abs(c * (c - 1.0)) + 0.1;
      out.a_high = a;
      if (out.log_high < log_tolerance) break;
    }
    double const cost =
        static_cast<double>(events.size()) * (100.0 + 13.0 / kappa * (cutting ? 2.0 : 1.0));
    if (!(value.re == value.re) ||
        !work.spend(std::numeric_limits<R>::digits > 53 ? 4.0 * cost : cost))
      return std::nullopt;
  }
  if (!certified) return out;

  out.log_left = elementary::log1p(at_c_wrong) + elementary::log(0.5 * pi) +
                 0.5 * static_cast<double>(log_poles) + 1e-9;  // over |F(c)|
  double const begin = std::min(out.radius, poles) * 0.05;
  auto const bounded = [&](std::vector<tabulated<double>> const& in) {
    return right_boundary(on.at, on.on_right, in, falling, what.variance, q, static_cast<double>(G),
                          static_cast<double>(out.log_scale), begin, work);
  };
  if constexpr (std::same_as<R, double>) {
    out.right = bounded(events);
  } else {
    std::vector<tabulated<double>> narrow;
    for (tabulated<R> const& e : events) narrow.push_back(in_double(e));
    out.right = bounded(narrow);
  }
  if (out.right.empty()) return std::nullopt;
  return out;
}

}  // namespace tacit::detail::rays
