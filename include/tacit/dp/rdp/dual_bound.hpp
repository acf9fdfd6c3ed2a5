// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>

#include <algorithm>

namespace tacit::detail {

/// The bounds of conversion.hpp for given t = e^{−fall} and s, rounded to the safe side; fall = ∞ is t = 0.
/// Which t and s are good is for others to find: every choice gives a bound.
/// Guarantee: upper bounds. docs/certificates/renyi.md, Lemma 1.
class dual_bound {
 public:
  dual_bound(double order, double divergence)
      : order_(order),
        z_(enclosure(order) - 1.0),
        log_order_(log(order_)),
        log_share_(log(z_ / order_)),
        log_moment_(z_ * divergence) {}

  /// An ε for which the bound is at most δ.
  [[nodiscard]] double epsilon(double fall, double delta) const {
    double const log_gap = (log_excess(fall) - log_order_ - log(enclosure(delta))).upper;
    double const log_power = fall < infinite_double ? (-z_ * fall).upper : -infinite_double;
    return log_lambda(fall, (log_add_up(log_power, log_gap) / z_).upper);
  }

  /// log δ at ε. `log_s` is nearly the best.
  [[nodiscard]] double log_delta(double fall, double log_s, double epsilon) const {
    if (fall < infinite_double) {
      // A secant, as log λ is known here better than where log s is from.
      double const excess = log_lambda(fall, log_s) - epsilon;
      double const change = log_lambda(fall, log_s - excess) - epsilon - excess;
      double const nearer = log_s + excess * excess / change;
      if (excess != 0.0 && is_finite(nearer)) log_s = nearer;
    } else {
      log_s = (enclosure(epsilon) - log_share_).lower;
    }
    double step = 0.0;
    for (int k = 0; k < 60; ++k) {
      double const excess = log_lambda(fall, log_s) - epsilon;
      if (excess <= 0.0) return log_delta_at(fall, log_s);
      step = std::max(2.0 * step, 2.0 * excess);
      log_s = std::min(next_down(log_s), log_s - step);
    }
    return infinite_double;
  }

 private:
  /// log(e^a + e^b), rounded up.
  [[nodiscard]] static enclosure log_add_up(double a, double b) {
    double const high = std::max(a, b);
    double const low = std::min(a, b);
    if (low == -infinite_double || high == infinite_double) return high;
    return enclosure(high) + log1p(exp(enclosure(low) - high));
  }

  /// log(m − αt^z + zt^α), as (m − 1) + e^{−w}·[z(e^{−fall}−1+fall) + (e^w−1−w)] with w = z·fall.
  [[nodiscard]] enclosure log_excess(double fall) const {
    if (!(fall < infinite_double)) return log_moment_;
    enclosure const w = z_ * fall;
    enclosure const power = exp(-w);
    enclosure const rest = w.lower > 1.0 ? 1.0 - (1.0 + w) * power : power * exp_residual(w);
    enclosure const lift = z_ * power * exp_residual(-enclosure(fall)) + rest;
    return log_add_up(log_expm1(log_moment_).upper, log(lift).upper);
  }

  // log λ = log s + log(z/α) + log(1 + (1−e^{−L})/(e^{zL}−1)), L = log(s/t), or, where that cancels,
  // log s + log(1−h) with h = [(e^{zL}−1−zL) + z(e^{−L}−1+L)]/[α(e^{zL}−1)]. Rounded up.
  [[nodiscard]] double log_lambda(double fall, double log_s) const {
    if (!(fall < infinite_double)) return (log_s + log_share_).upper;
    enclosure const ratio = enclosure(log_s) + fall;
    enclosure const tilt = z_ * ratio;
    if (!(tilt.lower > 0.0)) return infinite_double;
    enclosure const power = expm1(tilt);
    double const plain = (log_share_ + log_s + log1p(-expm1(-ratio) / power)).upper;
    enclosure const bend = tilt.lower > 1.0 ? 1.0 - tilt / power : exp_residual(tilt) / power;
    enclosure const h = (bend + z_ * exp_residual(-ratio) / power) / order_;
    return std::min(plain, (log_s + log1p(-h)).upper);
  }

  [[nodiscard]] double log_delta_at(double fall, double log_s) const {
    if (!(fall < infinite_double)) return (log_moment_ - log_order_ - z_ * log_s).upper;
    enclosure const tilt = z_ * (enclosure(log_s) + fall);
    if (!(tilt.lower > 0.0)) return infinite_double;
    enclosure const log_gap =
        tilt.lower > 1.0 ? z_ * log_s + log1p(-exp(-tilt)) : log_expm1(tilt) - z_ * fall;
    return (log_excess(fall) - log_order_ - log_gap).upper;
  }

  enclosure order_;
  enclosure z_;
  enclosure log_order_;
  enclosure log_share_;
  enclosure log_moment_;
};

/// ε ≤ D + log(1−δ), and log δ ≤ log(1−e^{ε−D}), by the tangent at Y = e^D, which bounds where αδ ≥ 1 and
/// ε ≤ D + log(z/α) (Lemma 2 there); ∞ elsewhere.
[[nodiscard]] inline double tangent_epsilon(double order, double divergence, double delta) {
  if (!(multiply_down(order, delta) >= 1.0)) return infinite_double;
  return (divergence + log1p(-enclosure(delta))).upper;
}
[[nodiscard]] inline double tangent_log_delta(double order, double divergence, double epsilon) {
  enclosure const share = (enclosure(order) - 1.0) / order;
  if (!(epsilon <= (divergence + log(share)).lower)) return infinite_double;
  return log(-expm1(enclosure(epsilon) - divergence)).upper;
}

}  // namespace tacit::detail
