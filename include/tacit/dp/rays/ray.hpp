// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rays/complex.hpp>
#include <tacit/dp/rays/law.hpp>
#include <tacit/dp/rays/table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

/// The integrand on a ray. With S = Σg over all steps, V = e^S and B = Σ −count·log(1 − rate),
///
///   remove: δ(ε) = e^ε D(B + ε), c > 1;   add: δ(ε) = D(B − ε), c < 0;
///   D(G) = (1/2πi) ∫_{Re p = c} Ψ(p) e^{−pG}/(p(p − 1)) dp = (1/π) Im ∫ F(p(u)) p′(u) du,
///   Ψ(p) = e^{½variance·p(p−1)} Π H(p)^count,   p(u) = c + e^{u + i(π/2 − α)},
///
/// or Ψ less the same with the losses below a cut alone. Theorems 6 and 7 of docs/certificates/rays.md.

namespace tacit::detail::rays {

/// E(κn) = e^z and e^z − 1, z = e^{κn}·i·e^{iδ}: below `first` a few terms of the series serve, beyond the end 0.
template <class R>
struct exponentials {
  long first;
  std::vector<R> er, ei, dr, di;

  exponentials(R step, R delta, double smallest) {
    first =
        static_cast<long>(std::floor(elementary::log(smallest) / static_cast<double>(step))) - 1;
    long const last =
        static_cast<long>(std::ceil(elementary::log(45 / elementary::sin(delta)) / step)) + 1;
    complex<R> const turn{-elementary::sin(delta), elementary::cos(delta)};
    for (long n = first; n <= last; ++n) {
      complex<R> const z = elementary::exp(step * static_cast<R>(n)) * turn;
      complex<R> const e = exp(z), d = expm1(z);
      er.push_back(e.re);
      ei.push_back(e.im);
      dr.push_back(d.re);
      di.push_back(d.im);
    }
  }
  [[nodiscard]] long end() const { return first + static_cast<long>(er.size()); }
};

/// Σ a·b in blocks of 64: doubles in eight lanes, at most 18 + n/64 additions deep; wider numbers, whose registers are
/// few, one by one, at most 66 + n/64.
template <class R>
[[nodiscard]] inline complex<R> dot(R const* ar, R const* ai, R const* br, R const* bi,
                                    std::size_t n) {
  constexpr std::size_t lanes = std::numeric_limits<R>::digits > 53 ? 1 : 8;
  complex<R> sum{};
  std::size_t i = 0;
  while (i + lanes <= n) {
    R re[lanes] = {}, im[lanes] = {};
    for (std::size_t const end = std::min(n, i + 64); i + lanes <= end; i += lanes) {
      for (std::size_t l = 0; l < lanes; ++l) {
        re[l] += ar[i + l] * br[i + l] - ai[i + l] * bi[i + l];
        im[l] += ar[i + l] * bi[i + l] + ai[i + l] * br[i + l];
      }
    }
    if constexpr (lanes == 1) {
      sum += {re[0], im[0]};
    } else {
      sum += {((re[0] + re[1]) + (re[2] + re[3])) + ((re[4] + re[5]) + (re[6] + re[7])),
              ((im[0] + im[1]) + (im[2] + im[3])) + ((im[4] + im[5]) + (im[6] + im[7]))};
    }
  }
  for (; i < n; ++i) {
    sum += {ar[i] * br[i] - ai[i] * bi[i], ar[i] * bi[i] + ai[i] * br[i]};
  }
  return sum;
}

/// What depends on the events and the angles alone; tables grow as they are used.
template <class R>
struct lines {
  struct one {
    R count;
    line_nodes<R> nodes;
    line_cells<> low, right, middle, top;  // at α, 2α, γ and top
  };
  angles at;
  std::vector<one> events;
  exponentials<R> on_ray;         // for the angle π/2 − α
  exponentials<double> on_right;  // and π/2 − 2α

  lines(composition const& what, angles const& a)
      : at(a),
        on_ray(a.step, R(a.gamma) - a.alpha, event_table<R>::small_argument),
        on_right(a.step, a.gamma - 2.0 * a.alpha, event_table<R>::small_argument) {
    double const cell = stride(a) * a.step;
    for (sampled_gaussian const& e : what.events) {
      // what is bounded on the other lines counts for little, unless the law is narrow
      double const coarse = std::clamp(0.2 * e.shift, cell, 4.0 * cell);
      events.push_back({e.count, line_nodes<R>(e, a), line_cells<>(e, a.alpha, coarse),
                        line_cells<>(e, 2.0 * a.alpha, coarse), line_cells<>(e, a.gamma, cell),
                        line_cells<>(e, a.top, coarse)});
    }
  }
  /// A cell's width in steps.
  [[nodiscard]] static int stride(angles const& a) { return a.step < 0.012 ? 4 : 2; }
};

/// |∫ of F along a stretch of the right boundary| ≤ e^{log_bound − a·(G − G0) + reach·|G − G0|}.
struct stretch {
  double log_bound;
  double a;
  double reach;
};

/// A ray with everything that does not depend on ε. Sizes are over e^{log_scale}, at G = G0.
template <class R>
struct ray {
  struct term {
    complex<R> p;
    complex<R> log_value;  // of (κ/π) F(p) p′
    R wrong;               // its relative error
    complex<R> value{};    // at G0 + centre
    double size = 0.0;     // and its modulus
  };
  orientation towards;
  angles at;
  long double base;
  R c;
  R G0;
  R centre{};
  R log_scale;  // of F(c)
  std::vector<term> terms;
  R low{};                               // the sum of the terms below, F(c) in the place of F
  double low_wrong = 0.0, radius = 0.0;  // its error e^{radius·|G − G0|}·low_wrong
  double log_high = 0.0, a_high = 0.0;   // the terms above
  double log_left = 0.0;                 // ∫ on the vertical line
  std::vector<stretch> right;

  [[nodiscard]] R exponent(double epsilon) const {
    long double const e = static_cast<long double>(epsilon);
    return static_cast<R>(towards == orientation::remove ? base + e : base - e);
  }

  /// Tabulates the terms at an ε, from where integrals near it take a short move.
  void tabulate(double epsilon) {
    centre = exponent(epsilon) - G0;
    for (term& t : terms) {
      complex<R> const e = t.log_value - centre * t.p;
      t.value = e.re < -150 ? complex<R>{} : exp(e);
      t.size = static_cast<double>(modulus(t.value));
    }
  }
};

/// Ψ at one p as its logarithm, e^{k}·(1 − e^{l}) with l = −∞ if nothing is cut off.
template <class R>
struct transform_value {
  complex<R> log;
  R wrong;  // relative error of e^{log}
};

/// Everything about one event that the sums at any p need.
template <class R>
struct tabulated {
  event_table<R> table;
  line_cells<>::bounds low, right, top;
  R alias, alias_large;  // of the rule on the ray, absolute
};

}  // namespace tacit::detail::rays
