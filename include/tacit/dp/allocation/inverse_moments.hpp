// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/short_number.hpp>
#include <tacit/core/sum.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

namespace tacit::detail::epochs {

/// E S^{−q}, q > 0, S the mean of t ≥ 2 independent U = e^{aZ − a²/2}, from above:
///   Γ(q)·E S^{−q} = ∫e^{qv}·E e^{−uS} dv, u = e^v,   E e^{−uS} = λ(u/t)^t, λ(r) = E e^{−rU},
/// by the trapezoid rule in v and in z. docs/certificates/allocation.md, Lemma 21.
template <std::same_as<double> T = double>
class inverse_moment {
 public:
  inverse_moment(T noise_multiplier, T steps, T q)
      : a_(1.0 / noise_multiplier), steps_(steps), q_(q) {
    if (!(a_ > 0.0 && a_ <= most_shift)) return;
    if (nodes_of_step() && nodes_of_line()) sum();
  }

  /// log E S^{−q} at most; ∞ where there is no answer.
  [[nodiscard]] T log_most() const { return log_most_; }
  /// Terms of sums.
  [[nodiscard]] T work() const { return work_; }

 private:
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static constexpr T most_shift = 25.0;
  static constexpr T most_size = 20'000.0;
  static constexpr T most_work = 4e6;
  static constexpr T farthest = 37.0;  // masses beyond are no normal numbers
  static constexpr T log_error = 42.0;
  static constexpr T left_over = 1e-298;  // masses beyond `farthest`, and what underflows

  // z = kh from −37 to a + 11: U is cut there, which makes S^{−q} larger.
  [[nodiscard]] bool nodes_of_step() {
    T const need = elementary::log(2.6 * steps_) + log_error;
    T h = 0.0;
    for (T d = std::min(4.0, 1.5 / a_); d > 1e-4; d /= 1.15) {
      T const swell = 0.5 * d * d - q_ * elementary::log(elementary::cos(a_ * d));
      h = std::max(h, 2.0 * std::numbers::pi * d / (need + swell));
    }
    h = short_number(std::min(h, 0.5), 22);
    T const first = -std::floor(farthest / h);
    T const last = std::ceil(std::min(a_ + 11.0, farthest) / h);
    if (!((last - first) < most_size)) return false;
    for (T k = first; k <= last; k += 1.0) {
      T const z = k * h;
      location_.push_back(elementary::exp(a_ * (z - 0.5 * a_)));
      mass_.push_back(h * elementary::exp(-0.5 * z * z) * std::numbers::inv_sqrtpi_v<T> /
                      std::numbers::sqrt2_v<T>);
      bent_.push_back(0.5 * z * z);
    }
    // All nodes beyond, at the last one.
    enclosure const end = last * h;
    T const beyond = normal_tail(end).upper;
    mass_.back() += beyond;
    for (T const u : location_) excess_.push_back(u - 1.0);
    location_error_ = unit_roundoff * (4.0 * a_ * (farthest + a_) + 8.0);
    too_much_ = beyond + 1e-29;
    missing_ = 1.02 * (too_much_ + normal_tail(end - a_).upper + location_error_);
    square_ = (1.0 + elementary::expm1(a_ * a_) / steps_) * (1.0 + 1e-10);
    return true;
  }

  // v = kη, at the angle where |E e^{−uS}| ≤ E e^{−cos(ψ)|u|S} makes η largest.
  [[nodiscard]] bool nodes_of_line() {
    for (T psi = 1.5; psi > 1e-4; psi /= 1.1) {
      T const swell = -q_ * elementary::log(elementary::cos(psi));
      spacing_ = std::max(spacing_, 2.0 * std::numbers::pi * psi / (log_error + 1.0 + swell));
    }
    spacing_ = short_number(spacing_, 22);
    return spacing_ > 0.0;
  }

  // log E e^{−uS}, and what it is more than −u, at most.
  struct transform {
    T log_value;
    T more;
  };
  [[nodiscard]] transform at(T u) {
    T const r = u / steps_;
    std::size_t const n = location_.size();
    work_ += static_cast<T>(n);
    T const summed = static_cast<T>(n) / 8.0 + 11.0;
    T wrong = 0.0;  // in units
    if (r <= 1.0) {
      // λ(r)·e^r − 1 is E(e^w − 1 − w), w = −r(U − 1), but for r(1 − EU).
      T const m = sum_in_lanes<T>(n, [&](std::size_t i) {
        T const part = mass_[i] * exp_residual(-r * excess_[i]);
        wrong += part * bent_[i];
        return part;
      });
      T const all = m + unit_roundoff * (1.01 * wrong + m * (summed + 64.0)) + r * missing_ +
                    3.0 * too_much_ + left_over;
      T const more = steps_ * elementary::log1p(all) * (1.0 + 8.0 * unit_roundoff);
      return {more - u + 4.0 * unit_roundoff * (u + more), more};
    }
    T const left = sum_in_lanes<T>(n, [&](std::size_t i) {
      T const rho = r * location_[i];
      T const part = bent_[i] + rho < 690.0 ? mass_[i] * elementary::exp(-rho) : 0.0;
      wrong += part * (bent_[i] + 8.0 * rho);
      return part;
    });
    T const all = left + unit_roundoff * (1.01 * wrong + left * (summed + 24.0)) +
                  left_over * static_cast<T>(n);
    T const plain = steps_ * elementary::log(all);
    T const size = plain + 8.0 * unit_roundoff * (std::abs(plain) + steps_);
    return {size, size + u + 4.0 * unit_roundoff * (std::abs(size) + u)};
  }

  // Sums over v of e^{qv}(E e^{−uS} − e^{−u}), above, and of e^{qv − u}, below, both over e^{most}: with what they are off by,
  // in units.
  struct sums {
    T most;
    T more = 0.0;
    T plain = 0.0;
    T more_wrong = 0.0;
    T plain_wrong = 0.0;
    T nodes = 0.0;
  };

  // The exponent of e^{qv}·E e^{−uS}.
  T add(sums& into, T v) {
    T const u = elementary::exp(v);
    transform const f = at(u);
    T const moved = q_ * v - into.most;
    T const exponent = moved + f.log_value;
    T const weight = add_plain(into, v, u);
    bool const both = weight > 1e-290 && f.more < 700.0;
    T const here =
        both ? weight * elementary::expm1(f.more) : elementary::exp(std::min(700.0, exponent));
    into.more += here;
    into.more_wrong +=
        here * (both
                    ? units_at(into, v, u)
                    : 4.0 * (std::abs(q_ * v) + std::abs(into.most) + std::abs(f.log_value) + 8.0));
    return exponent;
  }
  T add_plain(sums& into, T v, T u) const {
    T const weight = elementary::exp(std::max(-745.0, q_ * v - into.most - u));
    into.plain += weight;
    into.plain_wrong += weight * units_at(into, v, u);
    into.nodes += 1.0;
    return weight;
  }
  [[nodiscard]] T units_at(sums const& of, T v, T u) const {
    return 4.0 * (std::abs(q_ * v) + std::abs(of.most)) + 10.0 * u + 32.0;
  }

  void sum() {
    sums all{q_ * elementary::log(q_) - q_};
    T const middle = std::floor(elementary::log(q_) / spacing_);
    // To the right, where E e^{−uS} falls: what is small there is counted in blocks.
    T const log_ratio = elementary::log(-elementary::expm1(-q_ * spacing_));
    for (T k = middle;; k += 1.0) {
      T const exponent = add(all, k * spacing_);
      if (!(exponent < 690.0) || work_ > most_work) return;
      T const negligible = elementary::log(all.more) - 45.0;
      if (k < middle + 3.0) continue;
      if (log_beyond(k * spacing_) - all.most < negligible) break;
      // Σ e^{qv} over a block, times what E e^{−uS} is before it.
      T const length = std::min((negligible + log_ratio - exponent) / q_ - 1e-9, 2.0);
      T const block = std::floor(length / spacing_);
      if (block >= 2.0) {
        all.more += elementary::exp(negligible) * (1.0 + 1e-6);
        k += block;
      }
    }
    all.more *= 1.0 + 1e-19;
    all.more += elementary::exp(elementary::log(all.more) - 45.0);
    // And to the left, where E e^{−uS} − e^{−u} ≤ u²·E S²/2 + u(1 − ES), but for masses whose sum is not 1.
    T k = middle - 1.0;
    for (bool goes_on = true; goes_on; k -= 1.0) {
      T const v = k * spacing_;
      if (!(add(all, v) < 690.0) || work_ > most_work) return;
      auto const before = [&](T p, T factor) {  // of factor·e^{pv}
        return factor * elementary::exp(p * v - all.most) / elementary::expm1(p * spacing_);
      };
      T const rest = before(q_ + 2.0, 0.5 * square_) + before(q_ + 1.0, missing_) +
                     before(q_, 4.0 * too_much_ * steps_);
      goes_on = rest > 1e-12 * all.more && rest > 1e-18 * all.plain;
      if (!goes_on) all.more += rest * (1.0 + 1e-6);
    }
    for (;; k -= 1.0) {
      T const v = k * spacing_;
      T const u = elementary::exp(v);
      (void)add_plain(all, v, u);
      if (q_ * v - all.most < -60.0) break;
      if (u > 1e-9) continue;
      // e^{−u} ≥ 1 − u for the rest.
      T const rest =
          elementary::exp(q_ * v - all.most) *
          (1.0 / elementary::expm1(q_ * spacing_) - u / elementary::expm1((q_ + 1.0) * spacing_));
      all.plain += rest;
      all.plain_wrong += rest * units_at(all, v, u);
      break;
    }
    T const off =
        1.01 * unit_roundoff *
        (all.more_wrong / all.more + all.plain_wrong / all.plain + 2.0 * all.nodes + 64.0);
    if (!(off < 1e-3)) return;
    T const found = elementary::log1p(all.more / all.plain * (1.0 + 1.01 * off));
    // The nodes of v err by 2e^{−43} of each integral, those of z by e^{−42}.
    T const moved = 1.01 * q_ * location_error_;
    log_most_ = (found + moved + 2e-17) * (1.0 + 8.0 * unit_roundoff);
  }

  // log Σ_{j ≥ 1} e^{q(v + jη)}·E e^{−uS} at most: E e^{−uS} ≤ (m/eu)^m·E S^{−m}, m > q, and the geometric mean of the U is
  // no more than S.
  [[nodiscard]] T log_beyond(T v) const {
    T best = infinity;
    for (T more = 1.0; more < 4000.0 + 4.0 * q_; more *= 1.3) {
      T const m = q_ + more;
      best =
          std::min(best, m * (elementary::log(m) - 1.0) + 0.5 * m * a_ * a_ * (1.0 + m / steps_) -
                             more * v - log_expm1(more * spacing_));
    }
    return best + 1.0;
  }

  T a_;
  T steps_;
  T q_;
  T spacing_ = 0.0;
  T square_ = 0.0;  // E S², above
  T location_error_ = 0.0;
  T too_much_ = 0.0;  // masses less 1, and …
  T missing_ = 0.0;   // … 1 − EU, at most
  T log_most_ = infinity;
  T work_ = 0.0;
  std::vector<T> location_;
  std::vector<T> excess_;  // U − 1
  std::vector<T> mass_;
  std::vector<T> bent_;  // z²/2
};

}  // namespace tacit::detail::epochs
