// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/dp/rays/complex.hpp>
#include <tacit/dp/rays/law.hpp>
#include <tacit/dp/rays/window.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

/// Trapezoid rules in ζ = log g on the line Im ζ = γ, for H and for its part with large losses, at many p at once.
///
/// With p = c + ρe^{i(π/2−φ)} and g = e^{κk+iγ}, e^{pg} = e^{cg}·E(κ(j+k)) where ρ = e^{κj}: the nodes of both rules are
/// multiples of one dyadic κ, exactly, so that one table of E serves every pair. Each entry carries a bound on its
/// relative error in units of u, counted in docs/certificates/rays.md, §5.

namespace tacit::detail::rays {

/// Angles of the lines, and the step of all rules.
struct angles {
  double alpha;  // contour: p = c + e^{u + i(π/2 − α)}
  double gamma;  // losses: g = e^{ζ + iγ}, α < 2α < γ < top
  double top;    // of the strip in ζ
  double step;   // κ, at most 11 bits
};

/// The nodes of one event without what depends on c and on windows; more are computed as they are asked for.
template <class R>
class line_nodes {
 public:
  struct node {
    complex<R> g;
    R size;               // |g|
    complex<R> exponent;  // log(κN(y))
    complex<R> jacobian;  // y′
    complex<R> bare;      // κN(y)y′
    R wrong;              // relative error of `bare`
  };

  line_nodes(sampled_gaussian const& e, angles const& at)
      : line_(e, at.gamma),
        law_(e),
        step_(at.step),
        gamma_(at.gamma),
        factor_wrong_(90 + (at.gamma > at.alpha ? 7 / R(at.gamma - at.alpha) : 0)),
        turn_(polar<R>(1, gamma_)) {
    norm_ = elementary::log(step_ / (law_.deviation * std::sqrt(2 * std::numbers::pi_v<R>)));
    bool const wide = std::numeric_limits<R>::digits > 53;
    double const lowest = log_softplus(line_.mean() - (wide ? 10.4 : 9.3) * line_.deviation());
    first_ = static_cast<long>(std::floor(lowest / at.step));
  }

  [[nodiscard]] long first() const { return first_; }
  /// As many nodes as any table has, for it ends at ζ = 12 at last.
  [[nodiscard]] double most() const { return 12.0 / step() - static_cast<double>(first_) + 2.0; }
  [[nodiscard]] line const& geometry() const { return line_; }
  [[nodiscard]] R angle() const { return gamma_; }
  /// What E or E − 1 and the product with it add to a weight's error.
  [[nodiscard]] R factor_wrong() const { return factor_wrong_; }
  [[nodiscard]] double step() const { return static_cast<double>(step_); }
  [[nodiscard]] R log_size(std::size_t i) const {
    return step_ * static_cast<R>(first_ + static_cast<long>(i));
  }

  [[nodiscard]] node const& operator[](std::size_t i) {
    while (nodes_.size() <= i) nodes_.push_back(make(log_size(nodes_.size())));
    return nodes_[i];
  }

 private:
  [[nodiscard]] node make(R zeta) const {
    node n;
    n.size = elementary::exp(zeta);
    n.g = n.size * turn_;
    complex<R> const fall = one_minus_exp(-n.g);
    // log((e^g − 1)/g)
    complex<R> log_ratio;
    R log_ratio_wrong = 24 * n.size;
    if (n.size < 0.125) {
      complex<R> const q = n.g * n.g;
      log_ratio =
          0.5 * n.g +
          q * (R(1) / 24 +
               q * (-R(1) / 2880 +
                    q * (R(1) / 181440 +
                         q * (-R(1) / 9676800 +
                              q * (R(1) / 479001600 + (-R(691) / R(15692092416000.0)) * q)))));
    } else {
      complex<R> const log_fall = log(fall);
      log_ratio = n.g + log_fall - complex<R>{zeta, gamma_};
      log_ratio_wrong += 48 + 12 * modulus(log_fall) + 2 * std::abs(zeta);
    }
    complex<R> const away = complex<R>{(zeta - law_.mean) - law_.rest, gamma_} + log_ratio;
    complex<R> const x = (1 / law_.deviation) * away;
    n.exponent = -0.5 * (x * x) + norm_;
    n.jacobian = n.g / fall;
    n.bare = exp(n.exponent) * n.jacobian;
    R const size = modulus(x);
    n.wrong = 100 + 8 * size * size +
              size * (log_ratio_wrong + law_.mean_wrong + 2) / law_.deviation +
              10 * std::abs(norm_);
    return n;
  }

  line line_;
  law<R> law_;
  R step_;
  R gamma_;
  R factor_wrong_;
  complex<R> turn_;
  R norm_;
  long first_;
  std::vector<node> nodes_;
};

/// Where the rays cross the real axis, and which losses count: those small for `cap` and not for `cut`, if any.
struct crossing {
  double c;
  double reach;  // bounds hold up to c + reach
  window cap;
  window cut;  // no losses are left out if all() == true
  [[nodiscard]] bool cutting() const { return !cut.all(); }
  [[nodiscard]] double tilt() const { return std::max(c + reach, 0.0); }
};

/// One event's weights W = κ N(y) y′ e^{cg} small_cap, and W_large with small_cap − small_cut in the place of small_cap.
template <class R>
struct event_table {
  static constexpr std::size_t moments = std::numeric_limits<R>::digits > 53 ? 9 : 7;
  using series = std::array<complex<R>, moments>;
  /// |pg − cg| below which E − 1 is its first terms: the rest is below 2u·|pg − cg|.
  static constexpr double small_argument = 0.01;

  R count;
  long first;                                     // node i is at κ(first + i)
  std::vector<R> wr, wi, lr, li, vr, vi, mr, mi;  // W, W_large, and both times g
  std::vector<series> prefix, prefix_large;       // Σ_{i<k} W g^m/m!
  std::vector<complex<R>> suffix;                 // Σ_{i≥k} W
  // In units of u: Σ|W g|·wrong below, Σ 2|W|·wrong from there, of all.
  std::vector<R> rough_low, rough_high;
  R rough_all = 0, rough_large = 0, rough_large_slope = 0;
  complex<R> at_c;  // H(c) − 1
  R at_c_wrong{};
  bool direct = false;  // H is summed as such, for it is not near 1
  R left_out{};         // bounds what is beyond the table's ends, in H, H′ and the large part
  R left_out_first{};
  R left_out_large{};
  std::vector<R> wrong, wrong_large;  // of W and W_large, in units of u
  R weight = 0;                       // Σ|W|

  event_table() = default;

  /// The weights and H(c).
  event_table(line_nodes<R>& nodes, R count_, crossing const& at);

  /// Their sums from either end, for the other p.
  void accumulate(line_nodes<R>& nodes);

  [[nodiscard]] std::size_t size() const { return wr.size(); }
};

template <class R>
event_table<R>::event_table(line_nodes<R>& nodes, R count_, crossing const& q)
    : count(count_), first(nodes.first()) {
  R const u = unit<R>;
  R const c = q.c;
  double const tilt = q.tilt();
  bool const cutting = q.cutting();
  bool const wide = std::numeric_limits<R>::digits > 53;
  R const least = wide ? -56 : -46;  // logarithm of weights that are left out
  complex<R> sum{};
  R sum_wrong = 0, largest = -1e4;
  R first_moment = 0, above = 0;  // Σ|W g|, Σ|W_large|
  window_line<R> const cap_line(q.cap, nodes.angle()), cut_line(q.cut, nodes.angle());
  for (std::size_t i = 0;; ++i) {
    auto const& n = nodes[i];
    R const zeta = nodes.log_size(i);
    window_value<R> const cap = cap_line.at(zeta);
    complex<R> const cg = c * n.g;
    R const tilt_size = modulus(cg);
    complex<R> const exponent = n.exponent + cg;
    auto const weight_of = [&](auto const& part) {
      complex<R> const log_size = exponent + part.exponent;
      return log_size.re < -1e4 ? complex<R>{} : exp(log_size) * (part.factor * n.jacobian);
    };
    complex<R> const w = weight_of(cap.lesser);
    R const rel = n.wrong + 24 * tilt_size + 8;
    R const rel_capped = rel + cap.lesser.wrong;
    R const bare = modulus(n.bare), all = modulus(w);
    // W − κN(y)y′ without cancellation
    bool const is_close = tilt_size < 1;
    complex<R> change;
    R change_wrong;
    if (is_close) {
      complex<R> const lesser = cap.lesser.value(), large = cap.large.value();
      change = n.bare * (expm1(cg) * lesser - large);
      change_wrong = bare * (2 * tilt_size * modulus(lesser) * (rel_capped + 30) +
                             modulus(large) * (rel + cap.large.wrong));
    } else {
      change = w - n.bare;
      change_wrong = bare * rel + all * rel_capped;
    }
    sum += change;
    sum_wrong += change_wrong + std::min(modulus(sum), modulus(change) / u);
    complex<R> large{};
    R rel_large = rel;
    if (cutting) {
      window_value<R> const cut = cut_line.at(zeta);
      bool const below = q.cap.all() || 2 * zeta < R(q.cut.log_cut) + q.cap.log_cut;
      auto const& more = below ? cut.large : cap.lesser;
      auto const& less = below ? cap.large : cut.lesser;
      complex<R> const a = weight_of(more), b = weight_of(less);
      large = a - b;
      R const parts = modulus(a) * (rel + more.wrong) + modulus(b) * (rel + less.wrong);
      R const whole = modulus(large);
      rel_large = whole > 0 ? std::min(parts / whole, 1 / u) : 0;
    }
    auto const put = [](std::vector<R>& re, std::vector<R>& im, complex<R> const& z) {
      re.push_back(z.re);
      im.push_back(z.im);
    };
    complex<R> const v = w * n.g;
    put(wr, wi, w);
    put(vr, vi, v);
    first_moment += modulus(v);
    if (cutting) {
      above += modulus(large);
      put(lr, li, large);
      put(mr, mi, large * n.g);
    }
    wrong.push_back(rel_capped + nodes.factor_wrong());
    wrong_large.push_back(rel_large + nodes.factor_wrong());
    R const log_bare = n.exponent.re, log_all = all > 0 ? elementary::log(all) : -1e4;
    largest = std::max({largest, log_bare, log_all});
    if (zeta > 12) {
      left_out = left_out_first = left_out_large = std::numeric_limits<R>::infinity();
      break;
    }
    R const bar = std::min(least, least + largest);
    if (!(log_bare < bar && log_all < bar)) continue;
    line const& geometry = nodes.geometry();
    line::edge const end = geometry.at(static_cast<double>(zeta));
    double const kappa = nodes.step();
    double const bare_fall = geometry.decline(end, 0.0, {}),
                 fall = geometry.decline(end, tilt, q.cap);
    if (!(bare_fall > 1.0 && fall > 2.0)) continue;
    double const cosine = geometry.cosine();
    window_bound const cap_on_line(q.cap, geometry.angle());
    double const capped = cap_on_line.log_small(end.log_rho, end.log_rho);
    double const height =
        kappa * elementary::exp(end.log_height + tilt * cosine * end.rho + capped);
    double const right = height / elementary::expm1(fall * kappa);
    double const right_bare =
        kappa * elementary::exp(end.log_height) / elementary::expm1(bare_fall * kappa);
    // about what these sums' own rounding is
    double const fine = 100.0 * static_cast<double>(u);
    if (right + right_bare >
        fine * std::min(1.0, std::abs(q.c) * static_cast<double>(first_moment)))
      continue;
    if (cutting && 2.0 * window::most * right > fine * static_cast<double>(above)) continue;
    line::edge const begin = geometry.at(static_cast<double>(nodes.log_size(0)));
    double const left = geometry.left_sum(begin),
                 left_tilted = left * elementary::exp(tilt * begin.rho);
    double const low = begin.log_rho;
    left_out = left + left_tilted * elementary::exp(cap_on_line.log_small(-1e300, low)) + right +
               right_bare;
    left_out_first =
        left_tilted * begin.rho + height * end.rho / elementary::expm1((fall - 1.0) * kappa);
    left_out_large =
        2.0 * window::most * right +
        (cutting
             ? left_tilted *
                   (elementary::exp(window_bound(q.cut, geometry.angle()).log_large(-1e300, low)) +
                    elementary::exp(cap_on_line.log_large(-1e300, low)))
             : 0.0);
    break;
  }
  at_c = sum;
  at_c_wrong = u * sum_wrong;
  direct = sum.re < -0.5 || sum.re > 1;
}

template <class R>
void event_table<R>::accumulate(line_nodes<R>& nodes) {
  R const u = unit<R>;
  bool const cutting = !lr.empty();
  // Sums of weights from either end; the rounding of a sum is at most the term that is added.
  std::size_t const n = wr.size();
  prefix.resize(n + 1);
  rough_low.resize(n + 1);
  suffix.resize(n + 1);
  rough_high.resize(n + 1);
  if (cutting) prefix_large.resize(n + 1);
  R first_moment = 0, mass_large = 0, moment_large = 0;
  R const depth = (std::numeric_limits<R>::digits > 53 ? 72 : 20) + static_cast<R>(n) / 64;
  for (std::size_t k = 0; k < n; ++k) {
    complex<R> t{wr[k], wi[k]};
    R const all = modulus(t), moment = all * nodes[k].size;
    weight += all;
    first_moment += moment;
    rough_low[k + 1] =
        rough_low[k] + moment * (wrong[k] + depth) + std::min(2 * first_moment, moment / u);
    rough_all += all * (wrong[k] + depth) + std::min(2 * weight, all / u);
    complex<R> const g = nodes[k].g;
    for (std::size_t m = 0; m < moments; ++m) {
      prefix[k + 1][m] = prefix[k][m] + t;
      t = (1 / static_cast<R>(m + 1)) * (t * g);
    }
    if (!cutting) continue;
    complex<R> l{lr[k], li[k]};
    R const part = modulus(l);
    mass_large += part;
    rough_large += part * (wrong_large[k] + depth) + std::min(2 * mass_large, part / u);
    moment_large += part * nodes[k].size;
    rough_large_slope += part * nodes[k].size * (wrong_large[k] + depth) +
                         std::min(2 * moment_large, part * nodes[k].size / u);
    for (std::size_t m = 0; m < moments; ++m) {
      prefix_large[k + 1][m] = prefix_large[k][m] + l;
      l = (1 / static_cast<R>(m + 1)) * (l * g);
    }
  }
  R mass = 0;
  for (std::size_t k = n; k-- > 0;) {
    complex<R> const t{wr[k], wi[k]};
    R const all = modulus(t);
    mass += all;
    suffix[k] = suffix[k + 1] + t;
    rough_high[k] = rough_high[k + 1] + 2 * all * (wrong[k] + depth) + std::min(2 * mass, all / u);
  }
}

}  // namespace tacit::detail::rays
