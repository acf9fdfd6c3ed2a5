// SPDX-License-Identifier: Apache-2.0
#pragma once
// Prototype: certified profiles of compositions of Poisson-sampled Gaussians on a ray. See notes.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

#ifdef NOGRID_DEBUG
#include <cstdio>
#define NOGRID_WHY(...) std::fprintf(stderr, __VA_ARGS__)
#else
#define NOGRID_WHY(...) (void)0
#endif
namespace tacit::nogrid {

using complex = std::complex<double>;
inline constexpr double u = 0x1p-53;
inline constexpr double pi = std::numbers::pi;
template <class R>
inline constexpr R pi_v = std::numbers::pi_v<R>;
template <class R>
inline constexpr R unit = std::numeric_limits<R>::epsilon() / 2;
inline constexpr double infinity = std::numeric_limits<double>::infinity();

struct interval {
  double lower;
  double upper;
};

enum class direction { remove, add };

/// count rounds of ((1-rate) N(0,1) + rate N(shift,1), N(0,1)), 0 < rate < 1.
struct event {
  double rate;
  double shift;
  double count;
};

struct composition {
  std::vector<event> events;
  double variance = 0.0;  // sum of count mu^2 of the unsampled ones

  /// sum of count * -log(1 - rate)
  template <class R = double>
  [[nodiscard]] R base() const {
    R sum = 0.0;
    for (event const& e : events) sum -= R(e.count) * std::log1p(-R(e.rate));
    return sum;
  }
};

namespace detail {

/// e^z - 1, relatively right
template <class R>
[[nodiscard]] inline std::complex<R> expm1(std::complex<R> z) {
  R const e = std::expm1(z.real());
  R const s = std::sin(R(0.5) * z.imag());
  R const c = -R(2.0) * s * s;
  return {e + c + e * c, (R(1.0) + e) * std::sin(z.imag())};
}
/// sum of products, in lanes and blocks: at most 8 + 3 + n/64 additions deep
template <class R>
inline void dot(R const* a, R const* b, R const* x, R const* y, std::size_t n, R& re, R& im) {
  constexpr std::size_t lanes = 8, block = 64;
  R sr = R(0.0), si = R(0.0);
  std::size_t i = 0;
  while (i + lanes <= n) {
    R r[lanes] = {}, m[lanes] = {};
    std::size_t const end = std::min(n, i + block);
    for (; i + lanes <= end; i += lanes)
      for (std::size_t l = 0; l < lanes; ++l) {
        r[l] += a[i + l] * x[i + l] - b[i + l] * y[i + l];
        m[l] += a[i + l] * y[i + l] + b[i + l] * x[i + l];
      }
    sr += ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    si += ((m[0] + m[1]) + (m[2] + m[3])) + ((m[4] + m[5]) + (m[6] + m[7]));
  }
  for (; i < n; ++i) {
    sr += a[i] * x[i] - b[i] * y[i];
    si += a[i] * y[i] + b[i] * x[i];
  }
  re = sr;
  im = si;
}
/// log(1 + z), relatively right, principal
template <class R>
[[nodiscard]] inline std::complex<R> log1p(std::complex<R> z) {
  R const square = R(2.0) * z.real() + std::norm(z);
  return {square > -R(0.5) ? R(0.5) * std::log1p(square)
                           : std::log(std::hypot(R(1.0) + z.real(), z.imag())),
          std::atan2(z.imag(), R(1.0) + z.real())};
}
/// softplus^{-1} on logarithms: log g at the y with g = log(1 + e^y)
[[nodiscard]] inline double log_softplus(double y) {
  return y > 36.0 ? std::log(y) : (y < -36.0 ? y : std::log(std::log1p(std::exp(y))));
}

}  // namespace detail

/// The smooth step between small and large jumps: small(zeta) = erfc(sinh(power (zeta - log cut)))/2, large = 1 - small.
/// On the line Im zeta = theta, Re sinh^2 = (cosh(2 power x) cos(2 power theta) - 1)/2, and for Re z >= 0
/// |erfc z| <= e^{-Re z^2}, for e^{z^2} erfc z = 2/sqrt(pi) int_0^inf e^{-t^2 - 2zt} dt.
namespace window {
/// erfc(z) for Re z >= 0, |arg z| <= pi_v<R>/4 or |z| small (Hunter & Regan's rule, step 1/2; error below e^{-pi_v<R>^2/h^2})
template <class R>
[[nodiscard]] inline std::complex<R> erfc_right(std::complex<R> z) {
  if (std::norm(z) < R(0.36)) {
    std::complex<R> const q = z * z;
    std::complex<R> term = z, sum = z;
    for (int n = 1; n < 24; ++n) {
      term *= -q / static_cast<R>(n);
      sum += term / (R(2.0) * n + R(1.0));
    }
    return R(1.0) - sum * (R(2.0) / std::sqrt(pi_v<R>));
  }
  constexpr R h = R(0.5);
  std::complex<R> const q = z * z;
  if (q.real() > R(700.0)) return R(0.0);
  std::complex<R> sum = R(0.5) / q;
  R weight[13];
  for (int n = 1; n <= 12; ++n) weight[n] = std::exp(-h * h * n * n);
  for (int n = 1; n <= 12; ++n) sum += weight[n] / (q + h * h * n * n);
  std::complex<R> out = (R(2.0) * h / pi_v<R>)*z * std::exp(-q) * sum;
  if (z.real() < R(7.0)) out -= R(2.0) / detail::expm1(R(2.0) * pi_v<R> / h * z);
  return out;
}
template <class R>
struct value {
  std::complex<R> small, large;
};
template <class R>
[[nodiscard]] inline value<R> at(std::complex<R> z) {
  if (z.real() >= R(0.0)) {
    std::complex<R> const s = R(0.5) * erfc_right(z);
    return {s, R(1.0) - s};
  }
  std::complex<R> const l = R(0.5) * erfc_right(-z);
  return {R(1.0) - l, l};
}
/// Re z^2 on the line at angle theta, x = log(rho/cut)
[[nodiscard]] inline double fall(double x, double theta, double power) {
  double const y = 2.0 * power * std::abs(x);
  return y > 600.0 ? 1e250 : 0.5 * (std::cosh(y) * std::cos(2.0 * power * theta) - 1.0);
}
[[nodiscard]] inline double small_most(double x, double theta, double power) {
  double const e = 0.5 * std::exp(-fall(x, theta, power));
  return x >= 0.0 ? e : 1.0 + e;
}
[[nodiscard]] inline double large_most(double x, double theta, double power) {
  return small_most(-x, theta, power);
}
}  // namespace window

/// Angles of the rays, and the step of both trapezoid rules: a dyadic number, so that all nodes are exact.
struct angles {
  double alpha;  // contour: p = c + e^{u + i(pi/2 - alpha)}
  double gamma;  // losses: g = e^{zeta + i gamma}
  double top;    // the upper line that bounds the error of the rule in zeta
  double step;
  double power;  // of the windows: 2*power*top < pi/2
};

/// One event's law on the line Im zeta = gamma.
struct line_table {
  long first = 0;
  std::vector<double> log_modulus;  // of g: k*step, exact
  std::vector<complex> g;
  std::vector<complex> exponent;  // log of the weight without e^{pg}
  std::vector<double> wrong;      // relative error of the weight in units of u, without e^{cg}
};

template <class R>
struct law {
  R m, s;  // m rounded to a multiple of 2^-40: `rest` holds the remainder
  R rest;
  explicit law(event const& e) : s(e.shift) {
    long double const exact =
        std::log(static_cast<long double>(e.rate)) - std::log1p(-static_cast<long double>(e.rate)) -
        0.5L * static_cast<long double>(e.shift) * static_cast<long double>(e.shift);
    m = std::ldexp(std::nearbyint(std::ldexp(static_cast<R>(exact), 40)), -40);
    rest = static_cast<R>(exact - static_cast<long double>(m));
  }
  /// (y - m)/s at log g = zeta + i theta, where zeta is exact: relatively right where g is small
  [[nodiscard]] std::complex<R> standard(R zeta, R theta, std::complex<R> g) const {
    // log((e^g - 1)/g)
    std::complex<R> bump;
    if (std::abs(g) < R(0.5)) {
      std::complex<R> const q = g * g;  // g/2 + g^2/24 - g^4/2880 + g^6/181440 - g^8/9676800 + ...
      bump =
          R(0.5) * g +
          q * (R(1.0) / 24 +
               q * (-R(1.0) / 2880 +
                    q * (R(1.0) / 181440 +
                         q * (-R(1.0) / 9676800 +
                              q * (R(1.0) / 479001600 + q * (-R(691.0) / R(15692092416000.0)))))));
    } else {
      bump = g + std::log(-detail::expm1(-g)) - std::complex<R>(zeta, theta);
    }
    return (std::complex<R>((zeta - m) - rest, theta) + bump) / s;
  }
  [[nodiscard]] std::complex<R> loss_to_y(std::complex<R> g) const {
    return g + std::log(-detail::expm1(-g));
  }
};

/// Upper bounds on  int |N(y) y'| {1, |g|} e^{c Re g} |weight| d tau  over a whole line Im zeta = theta, by the
/// supremum on each cell (Re y, Im y increase along the line).
struct line_bounds {
  double mass = 0.0;    // without e^{c Re g}
  double plain = 0.0;   // with it, and chi_cap
  double first = 0.0;   // and |g|
  double second = 0.0;  // and |g|^2
  double large = 0.0;   // with |1 - chi| e^{c Re g}
  double large_first = 0.0;
  double large_second = 0.0;
  struct cell {
    long at;
    double first, second, large, large_first, large_second;
  };  // [e^{step at}, e^{step (at+1)}]
  std::vector<cell> cells;
};

[[nodiscard]] inline line_bounds bound_line(event const& e, double theta, double c, double cut,
                                            double cap, double power, double step,
                                            bool keep = false) {
  law<double> const l(e);
  line_bounds out;
  double const cosine = std::cos(theta);
  complex const turn = std::polar(1.0, theta);
  double const low = detail::log_softplus(l.m - 11.0 * l.s);
  // left of `low`: mass of a normal tail
  double const rot = std::exp(0.5 * theta * theta / (l.s * l.s));
  out.plain += rot * 1e-27;
  out.mass = rot * 1e-27;
  double tau = std::floor(low / step) * step;
  double rho0 = std::exp(tau);
  complex y0 = l.loss_to_y(rho0 * turn);
  for (;;) {
    double const tau1 = tau + step;
    double const rho1 = std::exp(tau1);
    complex const y1 = l.loss_to_y(rho1 * turn);
    double const near =
        l.m < y0.real() ? y0.real() - l.m : (l.m > y1.real() ? l.m - y1.real() : 0.0);
    double const im = y1.imag();
    double const q =
        -0.5 * (near * near - im * im) / (l.s * l.s) + c * cosine * (c > 0 ? rho1 : rho0);
    auto const tail = [](double x) { return 0.5 * std::erfc(x * 0.70710678118654752440); };
    double const capped =
        cap < infinity ? window::small_most(tau - std::log(cap), theta, power) : 1.0;
    // int |N(y)| |dy| <= normal mass of [Re y0, Re y1] * max |y'|/Re y' * e^{(Im y1)^2/2s^2}
    double const x0 = (y0.real() - l.m) / l.s, x1 = (y1.real() - l.m) / l.s;
    double const mass = (x0 > 0 ? tail(x0) - tail(x1)
                                : (x1 < 0 ? tail(-x1) - tail(-x0) : 1.0 - tail(x1) - tail(-x0)));
    double const slant =
        1.0 / std::cos(std::min(theta + (rho1 * std::sin(theta) > 3.14 ? 0.012 : 0.0),
                                rho1 / (2.0 * cosine)));
    double const log_bare =
        (x0 > 30.0 ? -0.5 * x0 * x0 - std::log(2.5 * x0)
         : x1 < -30.0
             ? -0.5 * x1 * x1 - std::log(-2.5 * x1)
             : std::log(std::max(mass, 0.0) + 1e-15 * tail(std::min(std::abs(x0), std::abs(x1))))) +
        std::log(slant) + 0.5 * im * im / (l.s * l.s) + 1e-9;
    double const grow = c * cosine * (c > 0 ? rho1 : rho0);
    double const size = capped > 0.0 ? std::exp(log_bare + grow + std::log(capped)) : 0.0;
    out.mass += std::exp(log_bare);
    out.plain += size;
    out.first += size * rho1;
    out.second += size * rho1 * rho1;
    double kept = 0.0;
    if (cut > 0.0) {
      // small_cap - small_cut = large_cut - large_cap
      double const lc = std::log(cut);
      double const w = std::min(
          window::large_most(tau1 - lc, theta, power) +
              (cap < infinity ? window::large_most(tau1 - std::log(cap), theta, power) : 0.0),
          window::small_most(tau - lc, theta, power) + capped);
      double const with = w > 0.0 ? std::exp(log_bare + grow + std::log(w)) : 0.0;
      kept = with;
      out.large += with;
      out.large_first += with * rho1;
      out.large_second += with * rho1 * rho1;
    }
    if (keep)
      out.cells.push_back({std::lround(tau / step), size * rho1, size * rho1 * rho1, kept,
                           kept * rho1, kept * rho1 * rho1});
    if (y0.real() > l.m && q + std::log(std::max(capped, 1e-300)) < -80.0 &&
        (capped < 1e-40 ||
         near / (l.s * l.s) * std::max(1.0, rho0 * cosine) * 0.5 > (c > 0 ? c : 0.0) * rho1) &&
        q - c * cosine * (c > 0 ? rho1 : rho0) < -60)
      break;
    if (!(out.plain < 1e300) || tau > 12.0) {
      out.mass = out.plain = out.first = out.large = out.large_first = infinity;
      return out;
    }
    tau = tau1;
    rho0 = rho1;
    y0 = y1;
  }
  return out;
}

/// Everything about the rays that does not depend on epsilon.
template <class R>
struct ray {
  direction towards;
  angles at;
  R base;  // sum T b
  R c;
  R log_scale;  // everything below is over e^{log_scale}, at G = G0
  R G0;
  std::vector<std::complex<R>> point;  // p_j
  std::vector<std::complex<R>>
      value;  // log of kappa/pi_v<R> * e^{i beta} rho * Psi/(p(p-1)) e^{-p G0 - log_scale}
  std::vector<R> wrong;               // its relative error
  R low, low_wrong, rho_low, radius;  // the omitted terms below, at G0
  std::array<R, 7> low_count;
  R log_high, a_high;   // and above: exponent at G: log_high - a_high (G - G0)
  std::vector<R> cell;  // right boundary: logs of bounds at G0
  std::vector<R> cell_a;
  R log_left;    // vertical boundary at G0
  R rounding_G;  // relative error of G
  R absmass = 0;

  [[nodiscard]] R G(R epsilon) const {
    return towards == direction::remove ? base + epsilon : base - epsilon;
  }
};

struct profile {
  double log_scale;                    // of D or delta
  double value, below, above, slope;   // slope = -d delta / d epsilon in the same scale
  double alias, ends, rounding, rest;  // parts of the error
};

/// Quantities for the search only (not certified): the laws on the real line and on the line at angle gamma, coarsely.
struct search_table {
  struct node {
    double g, lg, logw, w, re, log_turned, cap, log_cap, log_part_turned, re_top, log_top,
        part_top = 0;
  };
  struct one {
    double count;
    std::vector<node> nodes;
  };
  std::vector<one> events;
  double variance, power, gamma, top, decay;
  bool cutting = false, capping = false;
  search_table(composition const& what, angles const& a, double noise_unit = 1.6e-13)
      : variance(what.variance),
        power(a.power),
        gamma(a.gamma),
        top(a.top),
        decay(2 * pi * (a.top - a.gamma) / a.step + std::log(noise_unit)) {
    for (event const& e : what.events) {
      law<double> const l(e);
      one o;
      o.count = e.count;
      double const step = std::min(0.4 * l.s, 0.5 / power * 2.0);
      double const lo = l.m - 8.5 * l.s;
      double const hi = l.m + 22.0 * l.s;
      complex const turn = std::polar(1.0, gamma), up = std::polar(1.0, top);
      double const norm = std::log(step / (l.s * std::sqrt(2 * pi)));
      for (double y = lo; y < hi; y += step) {
        double const x = (y - l.m) / l.s;
        double const g = y > 36 ? y : std::log1p(std::exp(y));
        complex const z = (l.loss_to_y(g * turn) - l.m) / l.s;
        complex const zt = (l.loss_to_y(g * up) - l.m) / l.s;
        o.nodes.push_back({g, std::log(g), -0.5 * x * x + norm, std::exp(-0.5 * x * x + norm),
                           g * turn.real(), -0.5 * (z * z).real() + norm, 1.0, 0.0, 0.0,
                           g * up.real(), -0.5 * (zt * zt).real() + norm});
      }
      events.push_back(std::move(o));
    }
  }
  void set_window(double cut, double cap) {
    cutting = cut > 0.0;
    capping = cap < infinity;
    double const lc = std::log(std::max(cut, 1e-300)), lh = std::log(cap);
    for (one& o : events)
      for (node& n : o.nodes) {
        n.cap = capping ? 0.5 * std::erfc(std::sinh(std::clamp(power * (n.lg - lh), -200.0, 200.0)))
                        : 1.0;
        n.log_cap = n.cap > 0 ? std::log(n.cap) : -1e9;
        if (capping) {
          double const b = window::small_most(n.lg - lh, top, power);
          n.part_top = b > 0 ? std::log(b) : -1e9;
        } else
          n.part_top = 0;
        double const bound = std::min(cutting ? window::large_most(n.lg - lc, gamma, power) : 1.0,
                                      capping ? window::small_most(n.lg - lh, gamma, power) : 1.0);
        n.log_part_turned = bound > 0 ? std::log(bound) : -1e9;
      }
  }
  /// log of K-part times the absolute sum that rounding goes with, at tilt a
  [[nodiscard]] double noise(double a) const {
    double k = 0.5 * variance * a * (a - 1), rough = cutting ? 0.0 : 1.0;
    for (one const& o : events) {
      double h = 0.0, abs = 0.0;
      for (node const& n : o.nodes) {
        double const z = a * n.g;
        double const e = n.logw + z + n.log_cap;
        if (e > 600) return infinity;
        h += z < 1.0 ? n.w * (std::expm1(z) * n.cap - (1.0 - n.cap))
                     : (e > -60 ? std::exp(e) : 0.0) - n.w;
        double const t = n.log_turned + a * n.re + n.log_part_turned;
        if (t > 600) return infinity;
        double const tt = n.log_top + a * n.re_top + n.part_top - decay;
        if (tt > 600) return infinity;
        if (tt > -60) abs += std::exp(tt);
        if (t > -60) abs += (cutting ? 1.0 : std::min(1.0, std::abs(z))) * std::exp(t);
      }
      if (!(h > -1)) return infinity;
      k += o.count * std::log1p(h);
      rough += o.count * abs / (1 + h);
    }
    return k + std::log(rough);
  }
  /// log of the small part's moment at a, after set_window(., cut)
  [[nodiscard]] double log_small(double a) const {
    double k = 0.5 * variance * a * (a - 1);
    for (one const& o : events) {
      double h = 0;
      for (node const& n : o.nodes) {
        double const z = a * n.g, e = n.logw + z + n.log_cap;
        h += z < 1.0 ? n.w * (std::expm1(z) * n.cap - (1.0 - n.cap))
                     : (e > -60 ? std::exp(e) : 0.0) - n.w;
      }
      k += o.count * std::log1p(h);
    }
    return k;
  }
};

/// What the search proposes: where to cross the real axis, at which angles, and where to cut.
struct ray_parameters {
  angles at;
  double c;
  double cut;  // of losses; 0: none
  double cap = infinity;
};

namespace detail {

template <class R>
struct event_sums {
  R count;
  bool direct;  // H as a sum of exponentials; else 1 + a sum of differences
  long first;
  std::vector<R> wr, wi, rr, ri, gr, gi;                         // W e^{cg}, and times (1 - chi); g
  std::vector<std::array<std::complex<R>, 7>> prefix, prefix_r;  // sums of W' g^m/m!
  std::vector<std::complex<R>> suffix, suffix_r;                 // sums of W'
  std::vector<R> rough_low, rough_high, rough_r;  // sums of |W'| wrong |g|, |W'| wrong
  std::complex<R> hc;                             // H(c) - 1
  R hc_wrong;
  R alias, alias_r;      // of the rule in zeta, absolute
  R cutoff, cutoff_top;  // of the table's ends
  line_bounds low, right, top, middle;
};

}  // namespace detail

template <class R>
[[nodiscard]] inline std::optional<ray<R>> build(composition const& what, direction towards,
                                                 double epsilon_, ray_parameters const& q,
                                                 double log_tolerance_) {
  using event_sums = detail::event_sums<R>;
  R const epsilon = epsilon_, log_tolerance = log_tolerance_;
  struct {
    R alpha, gamma, top, step, power;
  } const a{R(q.at.alpha), R(q.at.gamma), R(q.at.top), R(q.at.step), R(q.at.power)};
  bool const wide = std::numeric_limits<R>::digits > 53;
  R const kappa = a.step;
  R const beta = R(0.5) * pi_v<R> - a.alpha;
  R const c = q.c;
  bool const cut = q.cut > R(0.0);
  ray<R> out;
  out.towards = towards;
  out.at = q.at;
  out.base = what.template base<R>();
  out.c = c;
  R const G = out.G(epsilon);
  if (!(G > R(0.0))) {
    NOGRID_WHY("null 1\n");
    return std::nullopt;
  }
  out.G0 = G;
  out.rounding_G =
      unit<R> * (R(4.0) + (R(3.0) * what.events.size() + 2) * (out.base + std::abs(epsilon)) / G);
  R const poles = towards == direction::remove ? c - R(1.0) : -c;
  if (!(poles > R(0.0))) {
    NOGRID_WHY("null 2\n");
    return std::nullopt;
  }

  // tables
  std::vector<event_sums> sums;
  long k_min = 1L << 40, k_max = -(1L << 40);
  std::complex<R> const turn = std::polar(R(1.0), a.gamma);
  R trivial = R(0.0), trivial_right = R(0.0);
  for (event const& e : what.events) {
    law<R> const l(e);
    event_sums s;
    s.count = e.count;
    R const cp = std::max(c, R(0.0));
    R const coarse = kappa * (kappa < R(0.012) ? 4 : 2);
    s.low = bound_line(e, q.at.alpha, double(cp), q.cut, q.cap, q.at.power, double(coarse));
    s.right = bound_line(e, 2.0 * q.at.alpha, double(cp), q.cut, q.cap, q.at.power, double(coarse));
    s.middle =
        bound_line(e, q.at.gamma, double(cp), q.cut, q.cap, q.at.power, double(coarse), true);
    s.top = bound_line(e, q.at.top, double(cp), q.cut, q.cap, q.at.power, double(coarse));
    if (!(s.top.plain < R(1e200))) {
      NOGRID_WHY("null 3\n");
      return std::nullopt;
    }
    trivial += e.count * std::log(s.low.plain);
    trivial_right += e.count * std::log(s.right.plain);
    R const below = std::expm1(2 * pi_v<R> * (a.gamma - a.alpha) / kappa);
    R const above = std::expm1(2 * pi_v<R> * (a.top - a.gamma) / kappa);
    s.alias = (s.low.plain + s.low.mass) / below + (s.top.plain + s.top.mass) / above;
    s.alias_r = s.low.large / below + s.top.large / above;

    R const lowest =
        detail::log_softplus(static_cast<double>(l.m - (wide ? R(10.4) : R(9.3)) * l.s));
    s.first = static_cast<long>(std::floor(lowest / kappa));
    std::vector<std::complex<R>> gs;
    std::vector<R> wrong, modulus;
    std::vector<std::complex<R>> wp, wq;
    R top = -infinity;
    std::complex<R> hc = R(0.0);
    R hc_wrong = R(0.0);
    R const norm = std::log(kappa / (l.s * std::sqrt(R(2.0) * pi_v<R>)));
    for (long k = s.first;; ++k) {
      std::complex<R> const g = std::exp(kappa * static_cast<R>(k)) * turn;
      std::complex<R> const fall = -detail::expm1(-g);
      std::complex<R> const logfall = std::log(fall);
      std::complex<R> const x = l.standard(kappa * static_cast<R>(k), a.gamma, g);
      std::complex<R> const ex = -R(0.5) * x * x + norm;
      std::complex<R> const jac = g / fall;
      std::complex<R> const plain = std::exp(ex) * jac;
      R const log_rho = kappa * static_cast<R>(k);
      window::value<R> cap{R(1.0), R(0.0)}, low{R(1.0), R(0.0)};
      R lost = R(0.0);
      if (q.cap < infinity) {
        std::complex<R> const z =
            std::sinh(a.power * std::min(std::abs(log_rho - std::log(q.cap)), R(300.0) / a.power) *
                          (log_rho < std::log(q.cap) ? -R(1.0) : R(1.0)) +
                      std::complex<R>(R(0.0), a.power * a.gamma));
        cap = window::at(z);
        lost = std::min(std::norm(z), R(700.0));
      }
      if (cut) {
        std::complex<R> const z =
            std::sinh(a.power * std::min(std::abs(log_rho - std::log(q.cut)), R(300.0) / a.power) *
                          (log_rho < std::log(q.cut) ? -R(1.0) : R(1.0)) +
                      std::complex<R>(R(0.0), a.power * a.gamma));
        low = window::at(z);
        lost = std::max(lost, std::min(std::norm(z), R(700.0)));
      }
      R const cap_size = std::abs(cap.small);
      bool const gone = !(cap_size > R(1e-300));
      std::complex<R> const log_cap = gone ? std::complex<R>(-R(690.0)) : std::log(cap.small);
      std::complex<R> const tilted =
          gone ? std::complex<R>(R(0.0)) : std::exp(ex + c * g + log_cap) * jac;
      R const size =
          std::max(ex.real(), ex.real() + (c * g + log_cap).real()) + std::log(std::abs(jac));
      top = std::max(top, size);
      R const ax = std::abs(x);
      R const rel = R(40.0) + R(5.0) * ax * ax +
                    ax * R(6.0) *
                        (std::abs(g) +
                         (std::abs(g) < R(0.5)
                              ? R(0.0)
                              : std::abs(logfall) + std::abs(kappa * static_cast<R>(k)) + R(1.0))) /
                        l.s +
                    R(4.0) * std::abs(c * g) + R(8.0) * lost + R(40.0) * (q.cap < infinity || cut) +
                    std::abs(norm);
      std::complex<R> const cg = c * g;
      std::complex<R> const diff = std::abs(cg) < R(1.0)
                                       ? plain * (detail::expm1(cg) * cap.small - cap.large)
                                       : tilted - plain;
      hc += diff;
      hc_wrong +=
          std::min(std::abs(plain) * std::abs(cg) * R(2.0), std::abs(plain) + std::abs(tilted)) *
          rel;
      gs.push_back(g);
      wrong.push_back(rel);
      modulus.push_back(std::abs(g));
      wp.push_back(tilted);
      std::complex<R> part = R(1.0);
      if (cut) {
        bool const below =
            q.cap == infinity || R(2.0) * log_rho < std::log(q.cut) + std::log(q.cap);
        part = below ? low.large - cap.large : cap.small - low.small;
      }
      wq.push_back(cut ? std::exp(ex + c * g) * jac * part : tilted);
      if (x.real() > R(3.0) && size < top - (wide ? R(56.0) : R(46.0)) &&
          size < (wide ? -R(56.0) : -R(46.0)))
        break;
      if (gs.size() > 60000) {
        NOGRID_WHY("null 4\n");
        return std::nullopt;
      }
    }
    std::size_t const n = gs.size();
    s.hc = hc;
    s.hc_wrong = unit<R> * hc_wrong;
    s.direct = hc.real() < -R(0.5) || hc.real() > R(1.0);
    s.prefix.resize(n + 1);
    s.prefix_r.resize(n + 1);
    s.suffix.resize(n + 1);
    s.suffix_r.resize(n + 1);
    s.rough_low.resize(n + 1);
    s.rough_high.resize(n + 1);
    s.rough_r.resize(n + 1);
    s.wr.resize(n);
    s.wi.resize(n);
    s.rr.resize(n);
    s.ri.resize(n);
    s.gr.resize(n);
    s.gi.resize(n);
    for (std::size_t k = 0; k < n; ++k) {
      s.wr[k] = wp[k].real();
      s.wi[k] = wp[k].imag();
      s.gr[k] = gs[k].real();
      s.gi[k] = gs[k].imag();
      s.rr[k] = wq[k].real();
      s.ri[k] = wq[k].imag();
      std::complex<R> t = wp[k], r = wq[k];
      for (std::size_t m = 0; m < 7; ++m) {
        s.prefix[k + 1][m] = s.prefix[k][m] + t;
        s.prefix_r[k + 1][m] = s.prefix_r[k][m] + r;
        t *= gs[k] / static_cast<R>(m + 1);
        r *= gs[k] / static_cast<R>(m + 1);
      }
      s.rough_low[k + 1] = s.rough_low[k] + std::abs(wp[k]) * modulus[k] * (wrong[k] + R(8.0));
    }
    for (std::size_t k = n; k-- > 0;) {
      s.suffix[k] = s.suffix[k + 1] + wp[k];
      s.suffix_r[k] = s.suffix_r[k + 1] + wq[k];
      s.rough_high[k] = s.rough_high[k + 1] + R(2.0) * std::abs(wp[k]) * (wrong[k] + R(8.0));
      s.rough_r[k] = s.rough_r[k + 1] + std::abs(wq[k]) * (wrong[k] + R(20.0));
    }
    s.cutoff_top = R(2.0) * std::exp(wide ? R(-56.0) : R(-46.0)) / kappa;
    s.cutoff = s.cutoff_top + R(2.0) * std::exp(R(0.5) * a.gamma * a.gamma / (l.s * l.s)) *
                                  (wide ? R(1.3e-25) : R(7.1e-21));
    k_min = std::min(k_min, s.first);
    k_max = std::max(k_max, s.first + static_cast<long>(n));
    sums.push_back(std::move(s));
  }

  // K(p) etc. at p = c + rho e^{i beta}, rho = e^{kappa j}; rho = 0 for the scale
  R const z_low = std::log(R(0.01));
  R const z_high = std::log(R(45.0) / std::sin(a.gamma - a.alpha));
  struct point_value {
    std::complex<R> k;
    std::complex<R> log_factor;
    R wrong_k;
    R wrong_factor;
    R log_abs;
  };
  std::vector<R> er, ei, dr, di;  // E and E - 1 by index j + k
  long const n_low = static_cast<long>(std::floor(z_low / kappa)) - 1;
  long const n_high = static_cast<long>(std::ceil(z_high / kappa)) + 1;
  for (long n = n_low; n <= n_high; ++n) {
    std::complex<R> const z =
        std::exp(kappa * static_cast<R>(n)) *
        std::complex<R>(-std::sin(a.gamma - a.alpha), std::cos(a.gamma - a.alpha));
    std::complex<R> const d = detail::expm1(z), e = std::exp(z);
    er.push_back(e.real());
    ei.push_back(e.imag());
    dr.push_back(d.real());
    di.push_back(d.imag());
  }
  auto const evaluate = [&](std::optional<long> j) {
    R const rho = j ? std::exp(kappa * static_cast<R>(*j)) : R(0.0);
    std::complex<R> const d = std::polar(rho, beta);
    std::complex<R> const p = c + d;
    std::complex<R> k = R(0.5) * what.variance * p * (p - R(1.0));
    R wrong_k = unit<R> * R(6.0) * std::abs(k);
    std::complex<R> lr = R(0.0);
    R wrong_r = R(0.0);
    bool lost_r = false;
    for (event_sums const& s : sums) {
      std::size_t const n = s.wr.size();
      std::size_t k0 = n, k1 = n, kz = n;
      if (j) {
        auto const clamp = [&](long x) {
          return static_cast<std::size_t>(std::clamp(x, 0L, static_cast<long>(n)));
        };
        k0 = clamp(n_low + 1 - *j - s.first);
        k1 = clamp(n_high - *j - s.first);
        kz = clamp(-*j - s.first);
      }
      R sr = 0, si = 0, qr = 0, qi = 0;
      long const shift = (j ? *j : 0) + s.first - n_low;
      if (k0 < k1) {
        R const* const tr = (s.direct ? er.data() : dr.data()) + shift;
        R const* const ti = (s.direct ? ei.data() : di.data()) + shift;
        detail::dot(s.wr.data() + k0, s.wi.data() + k0, tr + k0, ti + k0, k1 - k0, sr, si);
        if (cut) {
          R const* const xr = er.data() + shift;
          R const* const xi = ei.data() + shift;
          detail::dot(s.rr.data() + k0, s.ri.data() + k0, xr + k0, xi + k0, k1 - k0, qr, qi);
        }
      }
      std::complex<R> h(sr, si), r(qr, qi);
      auto const& pre = s.prefix[k0];
      std::complex<R> low = pre[6];
      for (std::size_t m = 6; m-- > 1;) low = low * d + pre[m];
      low *= d;
      std::complex<R> H1;  // H - 1
      if (s.direct) {
        H1 = h + low + pre[0] - R(1.0);
      } else {
        H1 = s.hc + h + low - s.suffix[k1];
      }
      R const modulus = std::abs(R(1.0) + H1);
      R const wrong_h = unit<R> * (rho * s.rough_low[kz] + s.rough_high[kz] +
                                   (s.direct ? s.rough_high[0] : R(0.0))) +
                        s.hc_wrong + s.alias + s.cutoff + 4 * unit<R> * std::abs(H1);
      bool const lost = !(wrong_h < R(0.5) * modulus);
      // below its own error it counts as that error, with any phase
      k += lost ? std::complex<R>(s.count * std::log(modulus + wrong_h), R(0.0))
                : s.count * detail::log1p(H1);
      wrong_k += lost ? R(2.0)
                      : s.count * (R(2.0) * wrong_h / modulus +
                                   R(4.0) * unit<R> * std::abs(detail::log1p(H1)));
      if (cut) {
        auto const& pr = s.prefix_r[k0];
        std::complex<R> lowr = pr[6];
        for (std::size_t m = 6; m-- > 0;) lowr = lowr * d + pr[m];
        r += lowr;
        std::complex<R> const x = r / (R(1.0) + H1);
        R const wr = unit<R> * s.rough_r[0] + s.alias_r + s.cutoff_top;
        R const rel = (wr + std::abs(x) * wrong_h) / modulus * R(2.0);
        R const left = std::abs(R(1.0) - x);
        if (rel < R(0.5) * left) {
          lr += s.count * detail::log1p(-x);
          wrong_r += s.count * (R(2.0) * rel / left + 4 * unit<R> * std::abs(x));
        } else {
          lr += s.count * std::log(left + rel);
          lost_r = true;
        }
      }
    }
    point_value v;
    v.k = k;
    v.wrong_k = wrong_k;
    v.log_factor = R(0.0);
    v.wrong_factor = R(0.0);
    if (cut) {
      std::complex<R> const f = -detail::expm1(lr);
      R const absolute = (std::abs(f) + R(1.0)) * std::expm1(std::min(wrong_r, R(30.0))) +
                         8 * unit<R> * std::abs(f);
      if (lost_r) {  // |1 - (1-r)^T| <= 1 + |1-r|^T
        v.log_factor = std::log(R(1.0) + std::exp(std::min(lr.real(), R(600.0))));
        v.wrong_factor = R(2.0);
        return v;
      }
      R const size = std::max(std::abs(f), R(1e-300));
      v.log_factor = std::abs(f) > 0 ? std::log(f) : std::complex<R>(-R(700.0));
      v.wrong_factor = absolute / size;
    }
    return v;
  };

  point_value const at_c = evaluate(std::nullopt);
  R const left_error = at_c.wrong_k + at_c.wrong_factor;

  if (!(left_error < R(1.0))) {
    NOGRID_WHY("null 5: k %g factor %g; alias %g low %g top %g hc %g c %g cap %g\n",
               (double)at_c.wrong_k, (double)at_c.wrong_factor, (double)sums[0].alias,
               sums[0].low.plain, sums[0].top.plain, (double)sums[0].hc_wrong, (double)c, q.cap);
    return std::nullopt;
  }
  R const log_psi = at_c.k.real() + at_c.log_factor.real() + 2 * left_error;
  out.log_left =
      log_psi - c * G + std::log(R(0.5) * pi_v<R>) - R(0.5) * std::log(std::abs(c * (c - R(1.0))));
  out.log_scale = log_psi - c * G - std::log(std::abs(c * (c - R(1.0))));

  // Taylor series of F(c + z) e^{-log_scale} at c
  constexpr std::size_t order = 7;
  using series = std::array<R, order>;
  auto const times = [](series const& x, series const& y) {
    series o{};
    for (std::size_t i = 0; i < order; ++i)
      for (std::size_t k = 0; i + k < order; ++k) o[i + k] += x[i] * y[k];
    return o;
  };
  auto const logarithm = [](series const& x, R zeroth) {  // of x, x[0] > 0, log x[0] given
    series o{};
    o[0] = zeroth;
    for (std::size_t n = 1; n < order; ++n) {
      R v = static_cast<R>(n) * x[n];
      for (std::size_t k = 1; k < n; ++k) v -= static_cast<R>(k) * o[k] * x[n - k];
      o[n] = v / (static_cast<R>(n) * x[0]);
    }
    return o;
  };
  auto const exponential = [](series const& x, R zeroth) {
    series o{};
    o[0] = zeroth;
    for (std::size_t n = 1; n < order; ++n) {
      R v = 0;
      for (std::size_t k = 1; k <= n; ++k) v += static_cast<R>(k) * x[k] * o[n - k];
      o[n] = v / static_cast<R>(n);
    }
    return o;
  };
  series big{}, small{};  // log H^T..., log of (H - R)^T... relative
  big[0] = R(0.0);
  big[1] = R(0.5) * what.variance * (2 * c - 1) - G;
  big[2] = R(0.5) * what.variance;
  small = big;
  for (event_sums const& e : sums) {
    series h{}, r{};
    auto const& ph = e.prefix.back();
    auto const& pr = e.prefix_r.back();
    h[0] = R(1.0) + e.hc.real();
    r[0] = pr[0].real();
    for (std::size_t m = 1; m < order; ++m) {
      h[m] = ph[m].real();
      r[m] = pr[m].real();
    }
    series const lh = logarithm(h, R(0.0));
    for (std::size_t m = 1; m < order; ++m) big[m] += e.count * lh[m];
    if (cut) {
      series s = h;
      for (std::size_t m = 0; m < order; ++m) s[m] -= r[m];
      series const ls = logarithm(s, R(0.0));
      for (std::size_t m = 1; m < order; ++m) small[m] += e.count * ls[m];
      small[0] += e.count * std::log1p(-r[0] / h[0]);
    }
  }
  series f = exponential(big, R(1.0));
  if (cut) {
    series const g = exponential(small, std::exp(small[0]));
    R const top = -std::expm1(small[0]);
    for (std::size_t m = 1; m < order; ++m) f[m] = (f[m] - g[m]) / top;
  }
  {
    // times c(c-1)/(p(p-1))
    series d0{}, d1{};
    for (std::size_t m = 0; m < order; ++m) {
      d0[m] = std::pow(R(-R(1.0)) / c, static_cast<R>(m));
      d1[m] = std::pow(R(-R(1.0)) / (c - (R(1.0))), static_cast<R>(m));
    }
    f = times(times(f, d0), d1);
  }
  R const curvature = std::abs(2 * f[2]);
  R radius = std::min(R(0.5) * poles, R(1.5) / std::sqrt(curvature));
  R const scale = std::min(poles, R(1.0) / std::sqrt(curvature));
  // sup of |F| on the circle: |Psi(p)| <= Psi(Re p), largest at an end
  R log_circle = -infinity;
  for (int attempt = 0; attempt < 12; ++attempt, radius *= R(0.5)) {
    log_circle = -infinity;
    bool sane = true;
    for (R const side : {-R(1.0), R(1.0)}) {
      R const at_re = c + side * radius;
      R k = R(0.5) * what.variance * at_re * (at_re - R(1.0)), ratio = R(0.0);
      for (event_sums const& e : sums) {
        std::complex<R> h = e.hc, r = R(0.0);
        for (std::size_t i = 0; i < e.wr.size(); ++i) {
          std::complex<R> const z =
              side * radius *
              std::polar(std::exp(kappa * static_cast<R>(e.first + static_cast<long>(i))), a.gamma);
          std::complex<R> const d = detail::expm1(z);
          h += std::complex<R>(e.wr[i], e.wi[i]) * d;
          if (i + 1 == e.wr.size() &&
              std::abs(std::complex<R>(e.wr[i], e.wi[i]) * (R(1.0) + d)) > R(1e-12))
            sane = false;
          if (cut) r += std::complex<R>(e.rr[i], e.ri[i]) * (R(1.0) + d);
        }
        k += e.count * std::log1p(h.real());
        ratio += e.count * std::log1p(-r.real() / (R(1.0) + h.real()));
      }
      if (cut) k += std::log(-std::expm1(ratio));
      if (!(k < R(1e300))) sane = false;
      log_circle = std::max(log_circle, k);
    }
    log_circle += -(c - radius) * G - out.log_scale -
                  std::log((std::abs(c) - radius) * (std::abs(c - R(1.0)) - radius)) + R(0.1);
    if (sane && log_circle < R(4.0)) break;
    if (attempt == 11) {
      NOGRID_WHY("null 8\n");
      return std::nullopt;
    }
  }
  R const log_q = std::min(
      -R(2.0), (log_tolerance - R(3.0) - std::max(R(0.0), log_circle)) / static_cast<R>(order + 1));
  long const j_low = static_cast<long>(std::floor((std::log(radius) + log_q) / kappa));
  R const log_factor0 = std::log(kappa / pi_v<R>);
  R const sine = std::sin(a.alpha);
  for (long j = j_low;; ++j) {
    R const rho = std::exp(kappa * static_cast<R>(j));
    std::complex<R> const p = c + std::polar(rho, beta);
    point_value const v = evaluate(j);
    std::complex<R> const val = v.k + v.log_factor - p * G - out.log_scale - std::log(p) -
                                std::log(p - R(1.0)) +
                                std::complex<R>(log_factor0 + kappa * static_cast<R>(j), beta);
    R const w = v.wrong_k + v.wrong_factor + unit<R> * (R(4.0) * std::abs(v.k) + R(12.0)) +
                6 * unit<R> * std::abs(p) * G + 3 * unit<R> * std::abs(val);
    out.point.push_back(p);
    out.value.push_back(val);
    out.wrong.push_back(w);
    // what is beyond is at most
    R const beyond = std::log(R(2.0)) + trivial - (c + rho * sine) * G - out.log_scale -
                     R(2.0) * std::log(rho) + std::log(rho) - std::log(1 - std::exp(-kappa)) +
                     std::log(kappa / pi_v<R>) + R(0.5) * what.variance * std::abs(c * (c - 1)) +
                     R(0.7);
    if (rho > R(4.0) * std::abs(c) + R(4.0) * scale && beyond < log_tolerance) {
      out.log_high = beyond;
      out.a_high = c + rho * sine;
      break;
    }
    if (out.point.size() > 40000) {
      NOGRID_WHY("null 6\n");
      return std::nullopt;
    }
  }
  {
    // the omitted nodes below sum up: kappa/pi_v<R> sum_{j<j_low} Im e^{i beta} rho_j F = kappa/pi_v<R> sum_m f_m Im e^{i(m+1)beta} rho^{m+1}/(e^{(m+1)kappa}-1)
    R const rho = std::exp(kappa * static_cast<R>(j_low));
    R sum = R(0.0), slope_sum = R(0.0), absolute = R(0.0);
    (void)slope_sum;
    for (std::size_t m = 0; m < order; ++m) {
      R const k = static_cast<R>(m + 1);
      R const geometric = std::pow(rho, k) / std::expm1(k * kappa) * kappa / pi_v<R>;
      sum += f[m] * std::sin(k * beta) * geometric;
      absolute += std::abs(f[m]) * geometric;
    }
    R const q = rho / radius;
    R const remainder = std::exp(log_circle) * std::pow(q, static_cast<R>(order)) / (1 - q) * rho /
                        std::expm1((order + R(1.0)) * kappa) * kappa / pi_v<R>;
    out.low = sum;
    out.low_wrong = remainder + absolute * R(8.0) * (left_error + 40 * u);
    out.low_count = f;
    out.rho_low = rho;
    out.radius = radius;
  }
  // the right boundary, angle pi_v<R>/2 - 2 alpha
  {
    R const phi = R(0.5) * pi_v<R> - R(2.0) * a.alpha;
    R const du = R(4.0) * kappa;
    R first_h = R(0.0);
    (void)first_h;
    std::vector<R> zr, zi;
    // coarse nodes of the same tables, every one (the rule's error is bounded by the line 2 alpha)
    R const sine2 = std::sin(R(2.0) * a.alpha);
    long const jl = static_cast<long>(std::floor((std::log(scale) - R(3.0)) / (4 * kappa))) * 4;
    std::vector<R> tr, ti;
    R const zh = std::log(R(45.0) / std::sin(a.gamma - 2 * a.alpha));
    long const nh = static_cast<long>(std::ceil(zh / kappa)) + 1;
    for (long n = n_low; n <= nh; ++n) {
      std::complex<R> const d = detail::expm1(
          std::exp(kappa * static_cast<R>(n)) *
          std::complex<R>(-std::sin(a.gamma - 2 * a.alpha), std::cos(a.gamma - 2 * a.alpha)));
      tr.push_back(d.real());
      ti.push_back(d.imag());
    }
    R rho0 = R(0.0);
    // e^{-rho |g| sin(gamma - 2 alpha)}: how the bounds on the line gamma fall along the ray, by index
    int const stride = kappa < R(0.012) ? 4 : 2;
    double const sine_gap = std::sin(q.at.gamma - 2.0 * q.at.alpha);
    struct bounds {
      double first = 0, second = 0, large = 0, large_first = 0, large_second = 0;
    };
    auto const bounds_at = [&](event_sums const& s, double rho_low) {
      bounds b;
      double const unit_step = static_cast<double>(kappa) * stride;
      double const x = rho_low > 0.0 ? std::log(rho_low) : -1e9;
      double const fall_step = std::exp(unit_step);
      double z =
          s.middle.cells.empty()
              ? 0.0
              : std::exp(x + unit_step * static_cast<double>(s.middle.cells.front().at)) * sine_gap;
      for (auto const& one : s.middle.cells) {
        double const e = z < 1e-4 ? 1.0 : (z > 60.0 ? 0.0 : std::exp(-z));
        b.first += one.first * e;
        b.second += one.second * e;
        b.large += one.large * e;
        b.large_first += one.large_first * e;
        b.large_second += one.large_second * e;
        z *= fall_step;
      }
      double const more = 1.0 + 1e-9;
      b.first *= more;
      b.second *= more;
      b.large *= more;
      b.large_first *= more;
      b.large_second *= more;
      return b;
    };
    for (long j = jl;; j += 4) {
      R const rho1 = std::exp(kappa * static_cast<R>(j + 2));
      R const mid = j == jl ? R(0.0) : std::exp(kappa * static_cast<R>(j));
      R const reach = std::max(rho1 - mid, mid - rho0);
      std::complex<R> const d = std::polar(mid, phi);
      // |H(p)^T e^{-pG}| by the second-order Taylor formula of its logarithm about the cell's middle
      std::complex<R> drift = -G, drift_small = -G;
      R bend = R(0.0), bend_small = R(0.0), log_h = R(0.0), log_s = R(0.0), ratio = R(0.0);
      {
        std::complex<R> const pm = c + d;
        std::complex<R> const half = R(0.5) * what.variance * pm * (pm - R(1.0));
        log_h += half.real();
        log_s += half.real();
        drift += R(what.variance) * (pm - R(0.5));
        drift_small += R(what.variance) * (pm - R(0.5));
        bend += what.variance;
        bend_small += what.variance;
      }
      for (event_sums const& s : sums) {
        std::size_t const n = s.wr.size();
        std::complex<R> H1, jump, H1p, Rp;
        auto const clamp = [&](long x) {
          return static_cast<std::size_t>(std::clamp(x, 0L, static_cast<long>(n)));
        };
        if (mid == R(0.0)) {
          H1 = s.hc;
          jump = s.suffix_r[0];
          H1p = s.prefix[n][1];
          Rp = s.prefix_r[n][1];
        } else {
          std::size_t const k0 = clamp(n_low + 1 - j - s.first), k1 = clamp(nh - j - s.first);
          long const shift = j + s.first - n_low;
          std::complex<R> h = R(0.0), r = R(0.0), hp = R(0.0), rp = R(0.0);
          for (std::size_t i = k0; i < k1; ++i) {
            std::complex<R> const e(tr[i + shift], ti[i + shift]), w(s.wr[i], s.wi[i]);
            std::complex<R> const g(s.gr[i], s.gi[i]);
            h += w * e;
            hp += w * g * (R(1.0) + e);
            if (cut) {
              std::complex<R> const v = std::complex<R>(s.rr[i], s.ri[i]) * (R(1.0) + e);
              r += v;
              rp += v * g;
            }
          }
          auto const& pre = s.prefix[k0];
          auto const& prr = s.prefix_r[k0];
          std::complex<R> lo = pre[6], lor = prr[6], dlo = R(6.0) * pre[6], dlor = R(6.0) * prr[6];
          for (std::size_t m = 6; m-- > 1;) {
            lo = lo * d + pre[m];
            dlo = dlo * d + static_cast<R>(m) * pre[m];
          }
          for (std::size_t m = 6; m-- > 0;) lor = lor * d + prr[m];
          for (std::size_t m = 6; m-- > 1;) dlor = dlor * d + static_cast<R>(m) * prr[m];
          H1 = s.hc + h + lo * d - s.suffix[k1];
          jump = r + lor;
          H1p = hp + dlo;
          Rp = rp + dlor;
        }
        bounds const at_most = bounds_at(s, static_cast<double>(rho0));
        R const below = std::expm1(2 * pi_v<R> * (a.gamma - 2 * a.alpha) / kappa);
        R const above = std::expm1(2 * pi_v<R> * (a.top - a.gamma) / kappa);
        R const noise = unit<R> * (R(20.0) * s.rough_high[0]) + s.hc_wrong + s.cutoff +
                        (s.right.plain + s.right.mass) / below + (s.top.plain + s.top.mass) / above;
        R const noise_p = unit<R> * R(20.0) * s.rough_low[n] + s.cutoff + s.right.first / below +
                          s.top.first / above;
        auto const bound = [&](std::complex<R> value, std::complex<R> slope, R extra, R second,
                               R first, std::complex<R>& dr, R& bd, R& lg) {
          R const size = std::abs(value), least = size - extra - reach * first;
          if (least > R(0.3) * size) {
            lg += s.count * std::log(size + extra);
            dr += s.count * slope / value;
            bd += s.count * (second / least + (first / least) * (first / least)) +
                  s.count * R(2.0) * (noise_p + first * extra / least) / least /
                      std::max(reach, R(1e-300));
          } else {
            lg += s.count * std::log(std::min(size + extra + reach * first,
                                              R(s.right.plain + s.right.large)));
          }
        };
        bound(R(1.0) + H1, H1p, noise, at_most.second, at_most.first, drift, bend, log_h);
        if (cut) {
          R const extra = s.right.large / below + s.top.large / above +
                          20 * unit<R> * s.rough_r[0] + s.cutoff_top;
          bound((R(1.0)) + H1 - jump, H1p - Rp, noise + extra,
                at_most.second + at_most.large_second, at_most.first + at_most.large_first,
                drift_small, bend_small, log_s);
          R const r =
              std::min(std::abs(jump) + extra + reach * at_most.large_first, R(at_most.large));
          R const least = std::abs(R(1.0) + H1) - noise - reach * at_most.first;
          ratio += least > R(0.0) ? s.count * std::log1p(r / least) : infinity;
        }
      }
      std::complex<R> const way = std::polar(R(1.0), phi);
      // over the cell |Re e^{i phi} t drift| with t in [-reach, reach]; G is in drift
      log_h += std::abs((way * drift).real()) * reach + R(0.5) * reach * reach * bend + c * R(0.0);
      log_s += std::abs((way * drift_small).real()) * reach + R(0.5) * reach * reach * bend_small;
      if (cut) {
        R const by_ratio = log_h + (ratio > R(30.0) ? ratio : std::log(std::expm1(ratio)));
        R const by_sum = std::max(log_h, log_s) + std::log1p(std::exp(-std::abs(log_h - log_s)));
        log_h = std::min(by_ratio, by_sum);
      }
      std::complex<R> const pm = c + d;
      R const near = std::max(R(1e-300), std::min(std::abs(pm), std::abs(pm - R(1.0))) - reach);
      R const n0 = std::max(near, std::abs(pm) - reach),
              n1 = std::max(near, std::abs(pm - R(1.0)) - reach);
      R const alow = c + mid * sine2;
      R const logcell =
          log_h - alow * G - out.log_scale - std::log(n0) - std::log(n1) + std::log(rho1 - rho0);
      out.cell.push_back(logcell);
      out.cell_a.push_back(alow);
      R const beyond = std::log(R(2.0)) + trivial_right - (c + rho1 * sine2) * G - out.log_scale -
                       std::log(rho1) + R(0.7) + R(0.5) * what.variance * std::abs(c * (c - 1));
      if (rho1 > R(4.0) * std::abs(c) + R(4.0) && beyond < R(0.0)) {
        out.cell.push_back(beyond);
        out.cell_a.push_back(c + rho1 * sine2);
        break;
      }
      if (out.cell.size() > 20000) {
        NOGRID_WHY("null 7\n");
        return std::nullopt;
      }
      rho0 = rho1;
      (void)du;
    }
  }
  return out;
}

/// log of a bound on what jumps under the cut alone contribute to D(G): sup (1-e^{-x})e^{-(t-1)x} S(t) e^{-tG}, any t > 1.
[[nodiscard]] inline double log_rest(composition const& what, double G, double cut, double t,
                                     double kappa, double power) {
  double k = 0.5 * what.variance * t * (t - 1);
  for (event const& e : what.events) {
    // S(t) - 1 = int N ((1+v)^t chi - 1), on the real line zeta, the rule's error by the lines +-theta
    law<double> const l(e);
    double const theta = std::min(0.3, 0.7 / power);
    double sum = 0.0, rough = 0.0;
    double const lowest = detail::log_softplus(l.m - 9.3 * l.s);
    double const norm = kappa / (l.s * std::sqrt(2 * pi));
    for (long i = static_cast<long>(std::floor(lowest / kappa));; ++i) {
      double const g = std::exp(kappa * static_cast<double>(i));
      double const fall = -std::expm1(-g);
      double const x = (g + std::log(fall) - l.m) / l.s;
      double const w = std::exp(-0.5 * x * x) * norm * g / fall;
      double const zeta = kappa * static_cast<double>(i) - std::log(cut);
      double const sh = std::sinh(std::clamp(power * zeta, -200.0, 200.0));
      double const small = 0.5 * std::erfc(sh), large = 0.5 * std::erfc(-sh);
      double const z = t * g;
      double const term = z < 1.0 ? std::expm1(z) * small - large
                                  : (small > 0.0 ? std::exp(z + std::log(small)) : 0.0) - 1.0;
      sum += w * term;
      rough += w * std::abs(term) *
               (20.0 + 3 * x * x + std::abs(x) * (4 * g + 4 * std::abs(l.m)) / l.s +
                4 * std::abs(z) + 8 * std::min(sh * sh, 700.0));
      if (x > 9.3 && term < 0.0) break;
      if (x > 60.0) return infinity;
    }
    // error: supremum of |e^{z}| on the lines: crude cells
    double bound = 0.0;
    complex const turn2 = std::polar(1.0, theta);
    double const st = 2 * kappa;
    double tau = std::floor(lowest / st) * st;
    double r0 = std::exp(tau);
    complex y0 = l.loss_to_y(r0 * turn2);
    for (;;) {
      double const r1 = std::exp(tau + st);
      complex const y1 = l.loss_to_y(r1 * turn2);
      double const near =
          l.m < y0.real() ? y0.real() - l.m : (l.m > y1.real() ? l.m - y1.real() : 0.0);
      double const most = window::small_most(tau - std::log(cut), theta, power);
      double const ex = most > 0.0 ? t * r1 * std::cos(theta) + std::log(most) : -1e4;
      double const qq = -0.5 * (near * near - y1.imag() * y1.imag()) / (l.s * l.s) + ex;
      bound += st / (l.s * std::sqrt(2 * pi)) * (1 + r1) * (std::exp(qq) + std::exp(qq - ex));
      if (y0.real() > l.m && qq < -80 && ex < -100 && qq - ex < -80) break;
      if (tau > 12 || !(bound < 1e300)) {
        bound = infinity;
        break;
      }
      tau += st;
      r0 = r1;
      y0 = y1;
    }
    double const wrong = u * rough + 2 * bound / std::expm1(2 * pi * theta / kappa) + 2e-20;
    k += e.count * std::log1p(sum + wrong);
  }
  double const constant = -(t - 1) * std::log1p(1.0 / (t - 1)) - std::log(t);
  return k - t * G + constant + 1e-3;
}

/// log of a bound on what compositions with a jump labelled large (over the cap) contribute to D: e^{-eps} sum T e^{-b} E[(1+v) large(g)],
/// by the supremum on each cell; the part beyond the last cell is a normal tail.
[[nodiscard]] inline double log_far(composition const& what, direction towards, double epsilon,
                                    double cap, double power) {
  if (cap == infinity) return -infinity;
  double total = 0.0;
  for (event const& e : what.events) {
    law<double> const l(e);
    double const step = 0.05;  // in x
    double sum = 0.0;
    // (1-rate) E[large] + rate E[large under the shift]; in remove the second has e^{..}
    for (double x = -9.0; x < 40.0; x += step) {
      double const y1 = l.m + (x + step) * l.s;
      double const lg = detail::log_softplus(y1) + 1e-12;
      double const w = std::min(1.0, window::large_most(lg - std::log(cap), 0.0, power));
      double const near = x > 0 ? x : (x + step < 0 ? x + step : 0.0);
      double const away = x > l.s ? x - l.s : (x + step < l.s ? x + step - l.s : 0.0);
      sum += step / std::sqrt(2 * pi) * w *
             ((1 - e.rate) * std::exp(-0.5 * near * near) + e.rate * std::exp(-0.5 * away * away));
    }
    total += e.count * (sum + std::exp(-500.0));
  }
  return std::log(total) - (towards == direction::remove ? epsilon : 0.0) + 1e-6;
}

/// D(G) with all its errors; for remove times e^epsilon.
template <class R>
[[nodiscard]] inline profile integrate(ray<R> const& r, double epsilon) {
  R const G = r.G(epsilon);
  R const move = G - r.G0;
  std::complex<R> sum = R(0.0), slope = R(0.0);
  R rounding = R(0.0), size = R(0.0);
  for (std::size_t j = 0; j < r.point.size(); ++j) {
    std::complex<R> const e = r.value[j] - r.point[j] * move;
    if (e.real() < R(-150.0)) {
      rounding += R(1e-65);
      continue;
    }
    std::complex<R> const t = std::exp(e);
    sum += t;
    slope += r.point[j] * t;
    R const a = std::abs(t);
    size += a;
    rounding += a * (r.wrong[j] + 4 * unit<R> * std::abs(r.point[j] * move));
  }
  rounding += size * unit<R> * R(40.0);
  R plus = R(0.0);
  for (std::size_t i = 0; i < r.cell.size(); ++i) plus += std::exp(r.cell[i] - r.cell_a[i] * move);
  R const scale_move = std::exp(-r.c * move);
  R const left = std::exp(r.log_left - r.log_scale) * scale_move;
  R const alias = (left + plus) / pi_v<R> / std::expm1(2 * pi_v<R> * r.at.alpha / r.at.step);
  // the series times e^{-z move}
  R low = R(0.0), low_abs = R(0.0), low_slope = R(0.0);
  {
    R const kappa = r.at.step, beta = R(0.5) * pi_v<R> - r.at.alpha;
    std::array<R, 8> f{};
    R coefficient = R(1.0);
    std::array<R, 7> ex{};
    for (std::size_t m = 0; m < 7; ++m) {
      ex[m] = coefficient;
      coefficient *= -move / static_cast<R>(m + 1);
    }
    for (std::size_t i = 0; i < 7; ++i)
      for (std::size_t k = 0; i + k < 7; ++k) f[i + k] += r.low_count[i] * ex[k];
    for (std::size_t m = 0; m < 7; ++m) {
      R const k = static_cast<R>(m + 1);
      R const geometric =
          std::pow(r.rho_low, k) / std::expm1(k * kappa) * kappa / pi_v<R> * std::sin(k * beta);
      low += f[m] * geometric;
      low_abs += std::abs(f[m] * geometric);
      low_slope += (r.c * f[m] + (m > 0 ? f[m - 1] : R(0.0))) * geometric;
    }
    low *= scale_move;
    low_abs *= scale_move;
    low_slope *= scale_move;
  }
  R const ends = r.low_wrong * scale_move * std::exp(r.radius * std::abs(move)) +
                 std::exp(r.log_high - r.a_high * move);
  R const rest = R(0.0);
  R const value = sum.imag() + low;
  slope += std::complex<R>(R(0.0), low_slope);
  (void)low_abs;
  R const wrong = alias + ends + rounding + std::abs(value) * 4 * unit<R>;
  profile out;
  out.log_scale = r.log_scale + (r.towards == direction::remove ? epsilon : R(0.0));
  out.value = value;
  out.below = wrong;
  out.above = wrong + rest;
  // remove: delta = e^eps D(G), G = base + eps; D' = -sum p t.   add: delta = D(base - eps)
  out.slope = r.towards == direction::remove ? slope.imag() - value : slope.imag() * -R(1.0);
  out.alias = alias;
  out.ends = ends;
  out.rounding = rounding;
  out.rest = rest;
  return out;
}

}  // namespace tacit::nogrid
