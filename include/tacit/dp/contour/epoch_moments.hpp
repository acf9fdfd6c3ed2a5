// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/short_number.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/allocation/discrete_step.hpp>
#include <tacit/dp/allocation/poisson_sums.hpp>
#include <tacit/dp/contour/sums.hpp>
#include <tacit/dp/contour/turns.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/saddle.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

/// E_Q S^w of an epoch of random allocation, S = X/t the likelihood ratio, for w on a vertical line: what the contour needs of
/// it. With N a Poisson variable of mean uS,
///
///   E S^w = ∫ e^{−wv} P(N = n; u = e^v) dv / ∫ e^{−wv} e^{nv − e^v}/n! dv,   Re w < n,
///
/// and P(N = n) is the n-th coefficient of (Σ_j π_j x^j)^t, π_j = E[ρ^j e^{−ρ}/j!], ρ = uU/t: positive terms only. Both
/// integrals, and the one over z, are trapezoid sums. docs/certificates/allocation.md, Lemmas 11 to 16.

namespace tacit::detail::epochs {

/// P(N = n) at u = e^v, v = h·k, and what it is plainly: for S = 1.
template <std::same_as<double> T = double>
class epoch_moments {
 public:
  static constexpr T fine_error = -44.0;
  static constexpr T coarse_error = -20.0;
  /// Errors are counted to first order, with a hundredth of them more, and must be less than this.
  static constexpr T most_error = 0.004;

  /// For M(tilt + it), t ≤ end, and for M at the tilts tilt + right and tilt − left.
  [[nodiscard]] static std::optional<epoch_moments> fine(allocation_pair const& pair, T tilt,
                                                         T left, T right, T end,
                                                         work_budget& work) {
    T const less = std::max(0.0, tilt - left);
    T const more = tilt + right;
    return pair.orientation == orientation::remove
               ? of(pair, {1.0 + less, 1.0 + more, end, fine_error}, work)
               : of(pair, {-more, -less, end, fine_error}, work);
  }

  /// For a search at real tilts.
  [[nodiscard]] static std::optional<epoch_moments> coarse(allocation_pair const& pair,
                                                           work_budget& work) {
    if (!serves(pair)) return std::nullopt;
    T const first = std::clamp(60.0 * pair.noise_multiplier, 20.0, 250.0);
    for (T most = first; most > 1.0; most *= 0.85) {
      auto found = pair.orientation == orientation::remove
                       ? of(pair, {1.0, 1.0 + most, 0.0, coarse_error}, work)
                       : of(pair, {-most, 0.0, 0.0, coarse_error}, work);
      if (found) return found;
    }
    return std::nullopt;
  }

  /// Nothing where the range is too wide, or the work more than there is.
  [[nodiscard]] static std::optional<epoch_moments> of(allocation_pair const& pair,
                                                       moment_range<T> const& range,
                                                       work_budget& work) {
    if (!serves(pair)) return std::nullopt;
    epoch_moments out(pair, range);
    if (!(out.order_ <= poisson_sums<T>::highest_order) || !out.step_.serves() ||
        !out.place_nodes(range)) {
      return std::nullopt;
    }
    poisson_sums<T> const sums(out.step_, out.steps_, out.order_);
    if (!work.take((out.last_ - out.first_ + 1.0) * sums.work()) || !out.fill(sums)) {
      return std::nullopt;
    }
    return out;
  }

  [[nodiscard]] static bool serves(allocation_pair const& pair) {
    return pair.steps >= 2 && pair.steps <= 10'000'000 && pair.noise_multiplier >= 0.05 &&
           pair.noise_multiplier <= 1e4;
  }

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// The work of `along` for so many points.
  [[nodiscard]] T work(T points) const { return (6.0 * static_cast<T>(size()) + 120.0) * points; }

  /// log M(tilt) and its derivatives, nearly; a wall where the table ends, so that no search goes on there.
  [[nodiscard]] cumulants<T> at_tilt(T tilt) const {
    T const last = removes() ? highest_ - 1.0 : -lowest_;
    T const held = std::min(tilt, last);
    moments const own = moments_of(power(held), false);
    moments const one = moments_of(power(held), true);
    T const slope = (removes() ? -1.0 : 1.0) * (own.mean - one.mean);
    T const bend = std::max(own.variance - one.variance, 0.0);
    T const wall = 1e6 * (1.0 + bend);
    T const beyond = tilt - held;
    return {own.log_sum - one.log_sum + beyond * (slope + 0.5 * beyond * wall),
            slope + beyond * wall, beyond > 0.0 ? wall : bend};
  }

  /// log M(tilt) at most.
  [[nodiscard]] T above(T tilt) const {
    T const p = power(tilt);
    if (!(p >= lowest_ && p <= highest_)) return std::numeric_limits<T>::infinity();
    side const own = side_of(p, 0.0, false);
    side const one = side_of(p, 0.0, true);
    T const value = own.log_sum - one.log_sum;
    T const wrong = (own.wrong + one.wrong) / (1.0 - one.wrong) + outer_error(p, 0.0);
    if (!(one.wrong < most_error) || !(wrong < most_error))
      return std::numeric_limits<T>::infinity();
    return value + elementary::log1p(1.01 * wrong) +
           8.0 * unit_roundoff * (std::abs(own.log_sum) + std::abs(one.log_sum) + 1.0);
  }

  /// A bound on |M(tilt + it)| for all t ≥ end, relative to e^value: with Z̄ the mean of the Z_i, S is e^{aZ̄} times something
  /// independent of it.
  [[nodiscard]] T beyond(T tilt, T end, T value) const {
    T const turned = step_.shift() * end;
    return elementary::exp(above(tilt) - value - 0.5 * turned * turned / steps_ * (1.0 - 1e-12)) *
           (1.0 + 1e-12);
  }

  /// log M along a line, in steps of `spacing`: put(n, value, M/e^value, error of that).
  template <class Put>
  [[nodiscard]] bool along(T tilt, T spacing, std::size_t points, Put&& put) const {
    T const p = power(tilt);
    T const end = spacing * static_cast<T>(points);
    if (!(p >= lowest_ && p <= highest_ && end <= end_)) return false;
    side const own = side_of(p, end, false);
    side const one = side_of(p, end, true);
    if (!(own.wrong < most_error && one.wrong < most_error && outer_error(p, 0.0) < most_error))
      return false;
    turning_terms<T> above(terms_of(own, p, false), spacing);
    turning_terms<T> below(terms_of(one, p, true), spacing);
    T const value = own.log_sum - one.log_sum;
    for (std::size_t n = 0; n < points; ++n) {
      T const t = spacing * static_cast<T>(n);
      above.move_to(n);
      below.move_to(n);
      complex<T> const high = above.sum_from(0);
      complex<T> const low = below.sum_from(0);
      T const modulus = modulus_of(low);
      T const wrong_high = own.wrong + 1.01 * unit_roundoff * (above.units(n) + t * own.swing);
      T const wrong_low = one.wrong + 1.01 * unit_roundoff * (below.units(n) + t * one.swing);
      complex<T> const moment = high / low;
      T const size = modulus_of(moment);
      T const left = modulus - wrong_low;
      T const wrong = 1.01 * (wrong_high + size * wrong_low) / left + 8.0 * unit_roundoff * size +
                      outer_error(p, t);
      // Where nothing is known but |M| ≤ M(tilt).
      bool const known = left > 0.0 && wrong < 1.0;
      put(n, value, known ? moment : complex<T>{1.0, 0.0}, known ? wrong : 2.02);
    }
    return true;
  }

 private:
  struct node {
    poisson_mass<T> mass;
    T log_one;  // of the mass for S = 1
    T one_units;
  };
  struct moments {
    T log_sum;
    T mean;  // of v
    T variance;
  };
  // Of one of the two integrals, relative to its size on the real line.
  struct side {
    T log_sum;
    T wrong;  // all errors but those that grow along a line
    T swing;  // which are t·swing in units
  };

  epoch_moments(allocation_pair const& pair, moment_range<T> const& range)
      : steps_(static_cast<T>(pair.steps)),
        removes_(pair.orientation == orientation::remove),
        lowest_(range.lowest),
        highest_(range.highest),
        end_(range.end),
        step_(pair.noise_multiplier, static_cast<T>(pair.steps), range) {
    // Γ falls along the line as e^{−t²/2σ}, σ = n − p, until it falls as e^{−πt/2}.
    T const apart = range.end * range.end / 36.0;
    order_ = std::ceil(std::max({range.highest + apart, range.highest + 8.0, 12.0}));
    T const need = std::numbers::ln2 - range.log_error;
    T const most = order_ - range.lowest;
    for (T psi = 0.05; psi < 1.5; psi += 0.05) {
      T const h = 2.0 * std::numbers::pi * psi /
                  (need - most * elementary::log(elementary::cos(psi)) + range.end * psi);
      if (h > spacing_) {
        spacing_ = h;
        height_ = psi;
      }
    }
    spacing_ = short_number(spacing_, 22);
    moments_of_sums();
  }

  [[nodiscard]] bool removes() const { return removes_; }
  // Re w
  [[nodiscard]] T power(T tilt) const { return removes_ ? 1.0 + tilt : -tilt; }
  [[nodiscard]] T place(std::size_t k) const { return spacing_ * (first_ + static_cast<T>(k)); }

  // log Γ(x), x ≥ 1, at least: Stirling's series from below.
  [[nodiscard]] static T log_gamma_below(T x) {
    return (x - 0.5) * elementary::log(x) - x + 0.9189385332046727;
  }

  // log E S^m, m = 0, 1, …, at most: m! times the coefficients of (Σ_j E U^j (x/t)^j/j!)^t.
  void moments_of_sums() {
    T const a = step_.shift();
    std::size_t const most =
        static_cast<std::size_t>(std::min({order_, 64.0, std::floor(34.0 / a) + 1.0}));
    std::vector<T> one(most + 1);
    T size = 1.0;
    for (std::size_t j = 0; j <= most; ++j) {
      T const m = static_cast<T>(j);
      if (j > 0) size /= m * steps_;
      one[j] = elementary::exp(0.5 * a * a * (m * m - m)) * size;
    }
    one = power_of(std::move(one), steps_);
    T factorial = 0.0;
    for (std::size_t j = 0; j <= most; ++j) {
      if (j > 0) factorial += elementary::log(static_cast<T>(j));
      log_moment_.push_back(elementary::log(one[j]) + factorial + 1e-6);
    }
  }

  // What lies beyond the nodes on the right, relative to the integral: Lemma 14.
  [[nodiscard]] T log_right(T p, T v, bool plain) const {
    T const a = plain ? 0.0 : step_.shift();
    T const n = order_;
    T best = std::numeric_limits<T>::infinity();
    for (T m = std::max(1.0, std::ceil(2.0 - p)); m < 4000.0; m = std::ceil(1.3 * m)) {
      T const fall = (p + m) * spacing_;
      best = std::min(best, (n + m) * (elementary::log(n + m) - 1.0) + 0.5 * m * a * a +
                                0.5 * m * m * a * a / steps_ - (p + m) * v +
                                elementary::log(spacing_ / elementary::expm1(fall)));
    }
    return best - log_gamma_below(n - p) - (plain ? 0.0 : step_.log_least(p)) + 1e-6;
  }
  // And on the left.
  [[nodiscard]] T log_left(T p, T v, bool plain) const {
    T const n = order_;
    T best = std::numeric_limits<T>::infinity();
    std::size_t const most = plain ? static_cast<std::size_t>(n) : log_moment_.size() - 1;
    for (std::size_t j = 0; j <= most; ++j) {
      T const m = static_cast<T>(j);
      if (!(m > p)) continue;
      T const rest = n - m;
      T const rise = (m - p) * spacing_;
      best = std::min(best, (rest > 0.0 ? rest * (elementary::log(rest) - 1.0) : 0.0) +
                                (plain ? 0.0 : log_moment_[j]) + (m - p) * v +
                                elementary::log(spacing_ / elementary::expm1(rise)));
    }
    return best - log_gamma_below(n - p) - (plain ? 0.0 : step_.log_least(p)) + 1e-6;
  }

  [[nodiscard]] bool place_nodes(moment_range<T> const& range) {
    T const middle = std::floor(elementary::log(order_) / spacing_);
    auto const reach = [&](T way, auto&& beyond) {
      T k = middle;
      for (T const stride = std::ceil(0.5 / spacing_); std::abs(k - middle) * spacing_ < 80.0;
           k += way * stride) {
        if (beyond(spacing_ * k) <= range.log_error) return k;
      }
      return std::numeric_limits<T>::quiet_NaN();
    };
    auto const widest = [&](auto&& of) {
      return std::max({of(range.lowest, false), of(range.highest, false), of(range.lowest, true),
                       of(range.highest, true)});
    };
    last_ = reach(
        1.0, [&](T v) { return widest([&](T p, bool plain) { return log_right(p, v, plain); }); });
    first_ = reach(
        -1.0, [&](T v) { return widest([&](T p, bool plain) { return log_left(p, v, plain); }); });
    return last_ == last_ && first_ == first_;
  }

  [[nodiscard]] bool fill(poisson_sums<T> const& sums) {
    compensated_sum<T> log_factorial;
    for (T j = 2.0; j <= order_; j += 1.0) log_factorial += elementary::log(j);
    for (T k = first_; k <= last_; k += 1.0) {
      T const v = spacing_ * k;
      std::optional<poisson_mass<T>> const mass = sums.at(v);
      if (!mass) return false;
      T const u = elementary::exp(v);
      T const one = order_ * v - u - log_factorial.value();
      T const units = 4.0 * (order_ * std::abs(v) + 2.0 * u + 2.0 * log_factorial.value());
      nodes_.push_back({*mass, one, units});
    }
    return true;
  }

  [[nodiscard]] T log_of(node const& at, bool plain) const {
    return plain ? at.log_one : at.mass.log_value;
  }

  [[nodiscard]] moments moments_of(T p, bool plain) const {
    T top = -std::numeric_limits<T>::infinity();
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      top = std::max(top, log_of(nodes_[k], plain) - p * place(k));
    }
    T sum = 0.0;
    T first = 0.0;
    T second = 0.0;
    T const middle = elementary::log(order_);
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      T const mass = elementary::exp(log_of(nodes_[k], plain) - p * place(k) - top);
      T const v = place(k) - middle;
      sum += mass;
      first += mass * v;
      second += mass * v * v;
    }
    T const mean = first / sum;
    return {top + elementary::log(sum), mean, second / sum - mean * mean};
  }

  [[nodiscard]] side side_of(T p, T end, bool plain) const {
    T const log_sum = moments_of(p, plain).log_sum;
    T const count = static_cast<T>(nodes_.size());  // of additions
    T inexact = 0.0;
    T extra = 0.0;
    T swing = 0.0;
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      T const v = place(k);
      T const log_mass = log_of(nodes_[k], plain);
      T const mass = elementary::exp(log_mass - p * v - log_sum);
      T const units = (plain ? nodes_[k].one_units : nodes_[k].mass.units) +
                      3.0 * std::abs(log_mass) + 4.0 * std::abs(p * v) + 4.0 * std::abs(log_sum) +
                      count + 16.0;
      inexact += mass * units;
      swing += 3.0 * mass * std::abs(v - middle());
      if (!plain) extra += elementary::exp(nodes_[k].mass.log_extra - p * v - log_sum);
    }
    T const sigma = order_ - p;
    T const alias =
        2.02 * elementary::exp(end * height_ - sigma * elementary::log(elementary::cos(height_))) /
        elementary::expm1(2.0 * std::numbers::pi * height_ / spacing_);
    T const cut = elementary::exp(log_left(p, place(0), plain)) +
                  elementary::exp(log_right(p, place(nodes_.size() - 1), plain));
    return {log_sum,
            1.01 * (unit_roundoff * inexact + extra + alias + 2.0 * (cut + step_.mass_error())),
            swing};
  }

  [[nodiscard]] T middle() const {
    return spacing_ * std::floor(elementary::log(order_) / spacing_);
  }

  [[nodiscard]] std::vector<turning_term<T>> terms_of(side const& of, T p, bool plain) const {
    std::vector<turning_term<T>> out;
    out.reserve(nodes_.size());
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      T const v = place(k);
      T const away = v - middle();  // a phase that both sums share
      out.push_back({{elementary::exp(log_of(nodes_[k], plain) - p * v - of.log_sum), 0.0},
                     {removes() ? -away : away, 0.0}});
    }
    return out;
  }

  // Of E S^w: what the discrete law and its rounded locations make of it.
  [[nodiscard]] T outer_error(T p, T t) const {
    T const size = elementary::hypot(p, t);
    return step_.error(p, t) + elementary::expm1(1.01 * size * step_.location_error());
  }

  T steps_;
  bool removes_;
  T lowest_;
  T highest_;
  T end_;
  discrete_step<T> step_;
  T order_ = 0.0;  // n
  T spacing_ = 0.0;
  T height_ = 0.0;
  T first_ = 0.0;
  T last_ = 0.0;
  std::vector<T> log_moment_;
  std::vector<node> nodes_;
};

}  // namespace tacit::detail::epochs
