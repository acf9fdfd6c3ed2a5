// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/dp/rays/complex.hpp>
#include <tacit/dp/rays/ray.hpp>
#include <tacit/dp/rays/table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

/// Ψ on the rays from the tables.

namespace tacit::detail::rays {

/// Sums over one table at p = c + d, |d| = e^{κj}.
template <class R>
struct sums {
  complex<R> change;  // H(p) − 1
  complex<R> large;   // its part with large losses
  complex<R> slope;   // H′(p)
  complex<R> large_slope;
};

/// The range of nodes for which E is tabulated, and of the others what the series gives.
template <class R>
[[nodiscard]] sums<R> sum_at(event_table<R> const& t, exponentials<R> const& e, long j,
                             complex<R> const& d, bool cutting, bool slopes) {
  std::size_t const n = t.size();
  auto const index = [&](long at) {
    return static_cast<std::size_t>(std::clamp(at - j - t.first, 0L, static_cast<long>(n)));
  };
  std::size_t const k0 = index(e.first + 1), k1 = std::max(k0, index(e.end()));
  std::size_t const m = k1 - k0;
  // the entry of E that belongs to node k0
  std::size_t const at =
      m == 0 ? 0 : static_cast<std::size_t>(j + t.first + static_cast<long>(k0) - e.first);
  auto const series = [&](typename event_table<R>::series const& f, std::size_t from) {
    complex<R> sum = f.back();
    for (std::size_t i = f.size() - 1; i-- > from;) sum = sum * d + f[i];
    return sum;
  };
  auto const slope_of = [&](typename event_table<R>::series const& f) {
    complex<R> sum = static_cast<R>(f.size() - 1) * f.back();
    for (std::size_t i = f.size() - 1; i-- > 1;) sum = sum * d + static_cast<R>(i) * f[i];
    return sum;
  };
  auto const over = [&](std::vector<R> const& re, std::vector<R> const& im,
                        std::vector<R> const& xr, std::vector<R> const& xi) {
    return m == 0 ? complex<R>{}
                  : dot(re.data() + k0, im.data() + k0, xr.data() + at, xi.data() + at, m);
  };
  sums<R> out;
  complex<R> const low = series(t.prefix[k0], 1) * d;
  if (t.direct) {
    out.change = over(t.wr, t.wi, e.er, e.ei) + low + (t.prefix[k0][0] - 1);
  } else {
    out.change = t.at_c + (over(t.wr, t.wi, e.dr, e.di) + low - t.suffix[k1]);
  }
  if (cutting) out.large = over(t.lr, t.li, e.er, e.ei) + series(t.prefix_large[k0], 0);
  if (slopes) {
    out.slope = over(t.vr, t.vi, e.er, e.ei) + slope_of(t.prefix[k0]);
    if (cutting) out.large_slope = over(t.mr, t.mi, e.er, e.ei) + slope_of(t.prefix_large[k0]);
  }
  return out;
}

template <class R>
[[nodiscard]] sums<R> sum_at_c(event_table<R> const& t, bool cutting) {
  sums<R> out{t.at_c, {}, t.prefix.back()[1], {}};
  if (cutting) {
    out.large = t.prefix_large.back()[0];
    out.large_slope = t.prefix_large.back()[1];
  }
  return out;
}

/// log Ψ(p) and its error, at the node j of the ray or, without, at c.
template <class R>
[[nodiscard]] transform_value<R> transform(lines<R> const& on,
                                           std::vector<tabulated<R>> const& events, double variance,
                                           bool cutting, complex<R> const& p, complex<R> const& d,
                                           std::optional<long> j) {
  R const u = unit<R>;
  R const rho = j ? elementary::exp(on.at.step * static_cast<R>(*j)) : 0;
  R const added = u * static_cast<R>(events.size());  // what a term loses to the sum, relatively
  complex<R> log_psi = (0.5 * variance) * (p * (p - 1));
  R wrong =
      (24 * u + added) *
      modulus(log_psi);  // of the exponent; an unknown phase counts as log 3, e^{log 3} − 1 = 2
  constexpr double any_phase = 1.1;
  complex<R> rest{};  // Σ count·log(1 − large/H)
  R rest_wrong = 0;
  bool rest_lost = false;
  for (tabulated<R> const& e : events) {
    event_table<R> const& t = e.table;
    sums<R> const s = j ? sum_at(t, on.on_ray, *j, d, cutting, false) : sum_at_c(t, cutting);
    std::size_t const one =
        j ? static_cast<std::size_t>(std::clamp(-*j - t.first, 0L, static_cast<long>(t.size())))
          : t.size();
    complex<R> const h = 1 + s.change;
    R const size = modulus(h);
    R const h_wrong = u * (rho * t.rough_low[one] + t.rough_high[one] +
                           (t.direct ? t.rough_all : 0) + 4 * modulus(s.change)) +
                      t.at_c_wrong + e.alias + t.left_out;
    if (h_wrong < 0.5 * size) {
      complex<R> const l = log1p(s.change);
      log_psi += t.count * l;
      wrong += t.count * (2 * h_wrong / size + (24 * u + added) * modulus(l));
    } else {  // it counts as its own error, with any phase
      R const l = elementary::log(size + h_wrong);
      log_psi += complex<R>{t.count * l, 0};
      wrong += any_phase + t.count * added * std::abs(l);
    }
    if (!cutting) continue;
    complex<R> const x = s.large / h;
    R const x_wrong =
        2 * (u * t.rough_large + e.alias_large + t.left_out_large + modulus(x) * h_wrong) / size +
        8 * u * modulus(x);
    complex<R> const left = 1 - x;
    R const left_size = modulus(left);
    if (h_wrong < 0.5 * size && x_wrong < 0.5 * left_size) {
      complex<R> const l = log1p(-x);
      rest += t.count * l;
      rest_wrong += t.count * (2 * x_wrong / left_size + (24 * u + added) * modulus(l));
    } else {
      rest += complex<R>{t.count * elementary::log(left_size + x_wrong), 0};
      rest_lost = true;
    }
  }
  R relative = elementary::expm1(std::min(wrong, R(50)));
  if (!cutting) return {log_psi, relative};
  if (rest_lost) {  // |1 − e^{l}| ≤ 1 + |e^{l}|
    R const most = elementary::log1p(elementary::exp(std::min(rest.re, R(600))));
    return {log_psi + most, 2 + 3 * relative};
  }
  complex<R> const f = -expm1(rest);
  R const size = std::max(modulus(f), R(1e-300));
  R const f_wrong =
      (modulus(f) + 1) * elementary::expm1(std::min(rest_wrong, R(30))) / size + 80 * u;
  return {log_psi + log(size > 1e-300 ? f : complex<R>{size, 0}),
          relative + f_wrong + relative * f_wrong};
}

/// A bound on log max |F(c + z)| over |z| = radius: |Ψ(p)| ≤ Ψ(Re p), and Ψ(x)e^{−xG} is convex on the real axis,
/// so that its ends c ± radius bound it; |1 − Π(1 − x_i)^{n_i}| ≤ Σ n_i x_i.
template <class R>
[[nodiscard]] double log_circle(lines<R>& on, std::vector<tabulated<R>> const& events,
                                double variance, crossing const& q, R G, double radius) {
  double most = -std::numeric_limits<double>::infinity();
  for (double const side : {-radius, radius}) {
    double const at = q.c + side;
    double log_psi = 0.5 * variance * at * (at - 1.0) * (1.0 + 1e-12);
    double share = 0.0;
    for (std::size_t k = 0; k < events.size(); ++k) {
      event_table<R> const& t = events[k].table;
      double h = 1.0 + static_cast<double>(t.at_c.re), wrong = 0.0, large = 0.0, large_wrong = 0.0;
      for (std::size_t i = 0; i < t.size(); ++i) {
        auto const& node = on.events[k].nodes[i];
        complex<R> const& g = node.g;
        complex<double> const z{side * static_cast<double>(g.re), side * static_cast<double>(g.im)};
        complex<double> const w{static_cast<double>(t.wr[i]), static_cast<double>(t.wi[i])};
        if (at < 0.0 && z.re > 300.0) {  // |W e^{z}| ≤ |W e^{−cg}|, small out here
          wrong += 2.0 * static_cast<double>(modulus(node.bare));
          continue;
        }
        complex<double> const e = expm1(z);
        double const rough =
            unit<double> * (static_cast<double>(t.wrong[i]) + 100.0 + static_cast<double>(i));
        h += (w * e).re;
        wrong += rough * modulus(w) * modulus(e);
        if (!q.cutting()) continue;
        complex<double> const l{static_cast<double>(t.lr[i]), static_cast<double>(t.li[i])};
        large += (l * (1.0 + e)).re;
        large_wrong += rough * modulus(l) * (1.0 + modulus(e));
      }
      wrong += static_cast<double>(t.at_c_wrong + events[k].alias + t.left_out);
      if (!(wrong < 0.5 * h)) return std::numeric_limits<double>::infinity();
      log_psi += static_cast<double>(t.count) * (elementary::log(h + wrong) + 1e-14);
      large_wrong +=
          static_cast<double>(events[k].alias_large + t.left_out_large + unit<R> * t.rough_large);
      share += static_cast<double>(t.count) * (std::max(large, 0.0) + large_wrong) / (h - wrong);
    }
    if (q.cutting()) log_psi += elementary::log(std::min(share, 1.0));
    most = std::max(most, log_psi - at * static_cast<double>(G));
  }
  double const poles = (std::abs(q.c) - radius) * (std::abs(q.c - 1.0) - radius);
  if (!(std::abs(q.c * static_cast<double>(G)) < most_exponent)) {
    return std::numeric_limits<double>::infinity();
  }
  return most - elementary::log(poles) + 1e-6;
}

}  // namespace tacit::detail::rays
