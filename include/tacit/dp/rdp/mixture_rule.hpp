// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>

/// What the trapezoid rule errs on the moment of a mixture of normals: docs/certificates/renyi.md, Lemma 7.

namespace tacit::detail {

/// The rule of step h for M − 1 = ∫ D·G(u), D = N(0, 1), u = Σ w_i(e^{s_i·x − s_i²/2} − 1) and G(u) = (1+u)^p − 1 − pu, where p = α
/// in the direction `remove` and 1 − α in `add`. Errors are shares of M; whatever the step and the ends, they are bounds.
template <std::same_as<double> D = double>
class mixture_rule {
 public:
  /// `weight` is Σ w_i, `rest` what it leaves of 1, `largest` is max s_i; `folds` are those of the precision.
  mixture_rule(bool remove, D weight, D rest, D largest, D folds)
      : remove_(remove), weight_(weight), rest_(rest), largest_(largest) {
    D const widest = std::min(0.999 * std::numbers::pi / largest, std::sqrt(2.0 * folds));
    D a = widest;
    for (strip& s : strips_) {
      s = {a, 0.5 * a * a, -elementary::log(elementary::cos(0.5 * a * largest))};
      a *= 0.8;
    }
  }

  /// The largest step of which the error is below e^{−folds}, but for factors that are no powers. `add`: `lead` is about
  /// log(w_0^{−α}/M).
  [[nodiscard]] D step(D alpha, D folds, D lead) const {
    D best = 0.0;
    for (strip const& s : strips_) {
      D growth = turns_near_one(alpha) * s.turn;
      if (is_narrow(s)) growth = std::min(growth, lead);
      best = std::max(best, 2.0 * std::numbers::pi * s.width / (folds + s.square + growth));
    }
    return best;
  }

  /// Of the rule over all x.
  [[nodiscard]] D of_step(D alpha, D step, D log_moment) const {
    D const z = alpha - 1.0;
    D const inverse = elementary::exp(-log_moment);
    D const gain = -elementary::expm1(-log_moment);
    D const square = weight_ * weight_;
    D const in_rest = 1.0 / (rest_ * rest_);
    D const constant = !remove_       ? alpha * z * (inverse / 3.0 + in_rest / 6.0)
                       : alpha >= 2.0 ? 0.5 * alpha * z * (1.0 + inverse)
                                      : z * inverse;
    D const near_one = elementary::log(2.0 * gain + 8.0 * square * constant);
    D const anywhere = elementary::log(1.0 + (alpha + z) * inverse);
    D flat = infinity;  // `add`, where P has a positive real part
    if (!remove_ && rest_ > 0.0) {
      D const spread = 2.0 * square * elementary::expm1(largest_ * largest_) + 8.0 * square;
      D const log_rest = elementary::log(rest_);
      flat = std::min(elementary::log(0.5 * alpha * z * spread) - (alpha + 1.0) * log_rest,
                      log_add(-z * log_rest, elementary::log(1.0 + 2.0 * z * weight_))) -
             log_moment + unit * (log_moment - (alpha + 1.0) * log_rest);
    }
    D least = infinity;
    for (strip const& s : strips_) {
      D const turns = 2.0 * std::numbers::pi * s.width / step;
      D growth = std::min(turns_near_one(alpha) * s.turn + near_one,
                          (remove_ ? 0.0 : z) * s.turn + anywhere);
      if (is_narrow(s)) growth = std::min(growth, flat);
      if (!(turns > 1e-3)) continue;
      D const rule = elementary::log1p(-elementary::exp(-turns));
      least = std::min(least, s.square + growth + std::numbers::ln2 - turns - rule);
    }
    return least < 0.0 ? elementary::exp(least) : infinity;
  }

  /// The logarithm of that of the nodes below x ≤ 0. `add`: `log_ratio` is ℓ = log(1+u) at x, and `pull` its slope.
  [[nodiscard]] D log_below(D alpha, D x, D log_moment, D log_ratio, D pull) const {
    D const z = alpha - 1.0;
    D const log_square = 2.0 * elementary::log(weight_);
    if (remove_) {
      return log_square + elementary::log(0.5 * std::max(0.5 * alpha, 1.0) * z) - 0.5 * x * x -
             log_moment;
    }
    D const falls = -(x + z * pull);
    if (!(falls > 0.0)) return infinity;
    D const share =
        std::min(0.0, elementary::log(0.5 * alpha * z) + log_square - 2.0 * elementary::log(rest_));
    return share - elementary::log(falls) + log_add_mass(x, z, log_ratio, log_moment);
  }

  /// That of the nodes above x ≥ max s_i, where `moved` is log Σ w_i·e^{s_i·x − s_i²/2}, and `ratio` that with w_0.
  [[nodiscard]] D log_above(D alpha, D x, D step, D log_moment, D moved, D ratio) const {
    if (!(x >= largest_)) return infinity;
    D const z = alpha - 1.0;
    D const rounding =
        unit * (x * x + log_moment + (alpha + 2.0) * (largest_ * x + std::abs(moved)));
    auto const sum = [&](D log_bound, D slope) {
      D const falls = x - slope * largest_;
      return falls > 0.0 ? elementary::log(step + 1.0 / falls) + log_normal(x) + log_bound +
                               rounding - log_moment
                         : infinity;
    };
    D const square = elementary::log(0.5 * alpha * z) + 2.0 * moved;
    if (!remove_) return std::min(sum(square, 2.0), sum(elementary::log(z) + moved, 1.0));
    D least = std::min(sum(square + std::max(0.0, alpha - 2.0) * ratio, std::max(2.0, alpha)),
                       sum(alpha * ratio, alpha));
    if (ratio > 0.0) {
      least = std::min(least, sum(alpha * ratio + elementary::log(z * ratio), alpha + 1.0 / ratio));
    }
    return least;
  }

  /// `add`: that of the nodes above an x beyond the integrand's summit.
  [[nodiscard]] D log_beyond_summit(D alpha, D x, D step, D log_moment, D log_ratio, D pull) const {
    D const z = alpha - 1.0;
    D const falls = x + z * pull;
    if (!(falls > 0.0)) return infinity;
    return log_add(elementary::log(step + 1.0 / falls) + log_add_mass(x, z, log_ratio, log_moment),
                   elementary::log(z * weight_ * (1.0 + step)) - log_moment);
  }

 private:
  static constexpr D infinity = std::numeric_limits<D>::infinity();
  static constexpr D unit = 8.0 * std::numeric_limits<D>::epsilon();  // of exponents that cancel

  // |Im x| ≤ width; `turn` is −log cos(width·s/2).
  struct strip {
    D width;
    D square;
    D turn;
  };
  // There all of P's terms have a real part of at least 0.
  [[nodiscard]] bool is_narrow(strip const& s) const {
    return !remove_ && s.width * largest_ <= 0.5 * std::numbers::pi;
  }
  // How often |1+tu| may be smaller than on the axis by the cosine.
  [[nodiscard]] D turns_near_one(D alpha) const {
    return remove_ ? std::max(0.0, 2.0 - alpha) : alpha + 1.0;
  }

  // log(D·(1+u)^{−z}/M)
  [[nodiscard]] static D log_add_mass(D x, D z, D log_ratio, D log_moment) {
    return log_normal(x) - z * log_ratio - log_moment +
           unit * (x * x + z * std::abs(log_ratio) + log_moment);
  }

  [[nodiscard]] static D log_normal(D x) {
    return -0.5 * x * x - 0.5 * elementary::log(2.0 * std::numbers::pi);
  }

  bool remove_;
  D weight_;
  D rest_;
  D largest_;
  std::array<strip, 28> strips_{};
};

}  // namespace tacit::detail
