// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/short_number.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/allocation/discrete_step.hpp>
#include <tacit/dp/allocation/moment_cuts.hpp>
#include <tacit/dp/allocation/poisson_sums.hpp>
#include <tacit/dp/contour/epoch_ray.hpp>
#include <tacit/dp/contour/sums.hpp>
#include <tacit/dp/contour/turns.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/saddle.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

/// E_Q S^w of an epoch of random allocation, S = X/t the likelihood ratio, for w on a vertical line: what the contour needs of
/// it. With N a Poisson variable of mean uS,
///
///   E S^w = ∫ e^{−wv} P(N = n; u = e^v) dv / ∫ e^{−wv} e^{nv − e^v}/n! dv,   Re w < n,
///
/// and P(N = n) is the n-th coefficient of (Σ_j π_j x^j)^t, π_j = E[ρ^j e^{−ρ}/j!], ρ = uU/t: positive terms only. Both
/// integrals, and the one over z, are trapezoid sums. docs/certificates/allocation.md, Lemmas 11 to 18.

namespace tacit::detail::epochs {

/// P(N = n) at u = e^v, v = h·k, and what it is plainly: for S = 1.
template <std::same_as<double> T = double>
class epoch_moments {
 public:
  static constexpr T fine_error = -44.0;
  static constexpr T coarse_error = -20.0;
  /// Errors are counted to first order, with a hundredth of them more, and must be less than this.
  static constexpr T most_error = 0.004;
  /// Of one table of very many steps, which a grid answers as well. More is worth it where ratios are so large that it does not.
  static constexpr T most_to_fill = 3e8;
  static constexpr std::uint64_t many_steps = 5000;
  static constexpr T little_noise = 0.8;

  /// For M(tilt + it), t ≤ end, and for M at the tilts tilt + right and tilt − left.
  [[nodiscard]] static std::optional<epoch_moments> fine(allocation_pair const& pair, T tilt,
                                                         T left, T right, T end,
                                                         work_budget& work) {
    T const less = std::max(0.0, tilt - left);
    T const more = tilt + right;
    return pair.orientation == orientation::remove
               ? of(pair, {1.0 + less, 1.0 + more, end, fine_error}, 1.0 + tilt, work)
               : of(pair, {-more, -less, end, fine_error}, -tilt, work);
  }

  /// For a search at real tilts.
  [[nodiscard]] static std::optional<epoch_moments> coarse(allocation_pair const& pair,
                                                           work_budget& work) {
    if (!serves(pair)) return std::nullopt;
    bool const removes = pair.orientation == orientation::remove;
    T const first = std::clamp(150.0 * pair.noise_multiplier, 20.0, removes ? 140.0 : 1e3);
    for (T most = first; most > 1.0; most *= 0.75) {
      auto found = removes ? of(pair, {1.0, 1.0 + most, 0.0, coarse_error}, 1.0, work)
                           : of(pair, {-most, 0.0, 0.0, coarse_error}, 0.0, work);
      if (found && found->says_all()) return found;
    }
    return std::nullopt;
  }

  /// Nothing where the range is too wide, or the work more than there is. `line` is the Re w where Im w is not 0.
  [[nodiscard]] static std::optional<epoch_moments> of(allocation_pair const& pair,
                                                       moment_range<T> const& range, T line,
                                                       work_budget& work) {
    if (!serves(pair)) return std::nullopt;
    // Of the ways that the line may be split, the one of the least work.
    std::optional<epoch_moments> best;
    bool const on_grid = pair.steps > many_steps && pair.noise_multiplier >= little_noise;
    T least = on_grid ? std::min(work.left(), most_to_fill) : work.left();
    auto const consider = [&](T apart, T real_end) {
      epoch_moments one(pair, range, apart, real_end);
      if (!(one.order_ <= poisson_sums<T>::highest_order) || !one.place(range, line)) return;
      if (T const needed = one.work_to_fill(); needed <= least) {
        least = needed;
        best.emplace(std::move(one));
      }
    };
    // Γ falls along the line as e^{−t²/2σ}, σ = n − p, until it falls as e^{−πt/2}: to e^{−18} without rays.
    consider(range.end * range.end / 36.0, range.end);
    for (T const apart : {40.0, 80.0, 160.0}) {
      T const real_end = std::sqrt(2.0 * epoch_ray<T>::most_lost * apart);
      if (range.end > real_end) consider(apart, real_end);
    }
    if (!best || !work.take(least)) return std::nullopt;
    best->fill();
    return best;
  }

  [[nodiscard]] static bool serves(allocation_pair const& pair) {
    return pair.steps >= 2 && pair.steps <= 10'000'000 && pair.noise_multiplier >= 0.05 &&
           pair.noise_multiplier <= 1e4;
  }

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// The largest tilt that there is a moment for.
  [[nodiscard]] T farthest_tilt() const { return removes() ? highest_ - 1.0 : -lowest_; }
  /// The work of `along` for so many points.
  [[nodiscard]] T work(T points) const { return (6.0 * static_cast<T>(size()) + 120.0) * points; }

  /// log M(tilt) and its derivatives, nearly; a wall where the table ends, so that no search goes on there.
  [[nodiscard]] cumulants<T> at_tilt(T tilt) const {
    T const held = std::min(tilt, farthest_tilt());
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
    T const wrong = (own.wrong + one.wrong) / (1.0 - one.wrong) + step_.whole_error(p, 0.0);
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
    if (!(p >= lowest_ && p <= highest_ && spacing * static_cast<T>(points) <= end_)) return false;
    std::size_t const straight = until(real_end_, spacing, points);
    T const end = spacing * static_cast<T>(straight);
    side const own = side_of(p, end, false);
    side const one = side_of(p, end, true);
    if (!(own.wrong < most_error && one.wrong < most_error &&
          step_.whole_error(p, 0.0) < most_error))
      return false;
    turning_terms<T> above(terms_of(own, p, false), spacing);
    turning_terms<T> below(terms_of(one, p, true), spacing);
    T const value = own.log_sum - one.log_sum;
    for (std::size_t n = 0; n < straight; ++n) {
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
                      step_.whole_error(p, t);
      // Where nothing is known but |M| ≤ M(tilt).
      bool const known = left > 0.0 && wrong < 1.0;
      put(n, value, known ? moment : complex<T>{1.0, 0.0}, known ? wrong : 2.02);
    }
    std::size_t next = straight;
    for (epoch_ray<T> const& ray : rays_) {
      std::size_t const last = until(ray.until(), spacing, points);
      if (last <= next) continue;
      ray.along(cuts_, p, own.log_sum, one.log_sum, spacing_, spacing, next, last,
                [&](std::size_t n, complex<T> const& moment, T wrong) {
                  put(n, value, removes() ? conj(moment) : moment, wrong);
                });
      next = last;
    }
    return next == points;
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

  // With the real line up to `real_end`, and rays beyond.
  epoch_moments(allocation_pair const& pair, moment_range<T> const& range, T apart, T real_end)
      : steps_(static_cast<T>(pair.steps)),
        removes_(pair.orientation == orientation::remove),
        lowest_(range.lowest),
        highest_(range.highest),
        end_(range.end),
        real_end_(real_end),
        noise_(pair.noise_multiplier),
        step_(noise_, steps_, {range.lowest, range.highest, real_end, range.log_error}),
        order_(std::ceil(std::max({range.highest + apart, range.highest + 8.0, 12.0}))),
        cuts_(step_, steps_, order_) {
    T const need = std::numbers::ln2 - range.log_error;
    T const most = order_ - range.lowest;
    for (T psi = 0.05; psi < 1.5; psi += 0.05) {
      T const h = 2.0 * std::numbers::pi * psi /
                  (need - most * elementary::log(elementary::cos(psi)) + real_end * psi);
      if (h > spacing_) {
        spacing_ = h;
        height_ = psi;
      }
    }
    spacing_ = short_number(spacing_, 22);
  }

  // Where nodes lie; whether there is an answer.
  [[nodiscard]] bool place(moment_range<T> const& range, T line) {
    std::tie(first_, last_) =
        cuts_.ends(range.lowest, range.highest, spacing_, 0.0, range.log_error);
    if (!step_.serves() || !(first_ < last_)) return false;
    if (!(range.end > real_end_)) return true;
    for (ray_place<T> const& one : epoch_ray<T>::places(order_ - line, real_end_, range.end)) {
      rays_.emplace_back(one, noise_, steps_, order_, line, range.log_error, cuts_);
      if (!rays_.back().serves()) return false;
    }
    return !rays_.empty();
  }

  [[nodiscard]] T work_to_fill() const {
    T sum = (last_ - first_ + 1.0) * poisson_sums<T>::work(step_.size(), steps_, order_);
    for (epoch_ray<T> const& ray : rays_) sum += ray.work_to_fill();
    return sum;
  }

  // How many points of a line lie up to t.
  [[nodiscard]] static std::size_t until(T t, T spacing, std::size_t points) {
    T const most = std::floor(t / spacing) + 1.0;
    std::size_t n = most < static_cast<T>(points) ? static_cast<std::size_t>(most) : points;
    while (n > 0 && spacing * static_cast<T>(n - 1) > t) --n;
    return n;
  }

  // Whether there are bounds at all tilts, and not at both ends alone.
  [[nodiscard]] bool says_all() const {
    for (T part = 0.0; part <= 1.0; part += 0.125) {
      if (!(above(part * farthest_tilt()) < std::numeric_limits<T>::infinity())) return false;
    }
    return true;
  }

  [[nodiscard]] bool removes() const { return removes_; }
  // Re w
  [[nodiscard]] T power(T tilt) const { return removes_ ? 1.0 + tilt : -tilt; }
  [[nodiscard]] T place_of(std::size_t k) const { return spacing_ * (first_ + static_cast<T>(k)); }

  void fill() {
    poisson_sums<T> const sums(step_, steps_, order_);
    compensated_sum<T> log_factorial;
    for (T j = 2.0; j <= order_; j += 1.0) log_factorial += elementary::log(j);
    for (T k = first_; k <= last_; k += 1.0) {
      T const v = spacing_ * k;
      // Far out rounding hides how small it is, or there are no numbers for it.
      T const most = cuts_.log_most(v);
      poisson_mass<T> mass = sums.at(v).value_or(poisson_mass<T>{most, 0.0, most});
      mass.log_value = std::min(mass.log_value, most);
      mass.log_extra = std::min(mass.log_extra, most);
      T const u = elementary::exp(v);
      T const one = order_ * v - u - log_factorial.value();
      T const units = 4.0 * (order_ * std::abs(v) + 2.0 * u + 2.0 * log_factorial.value());
      nodes_.push_back({mass, one, units});
    }
    for (epoch_ray<T>& ray : rays_) ray.fill(cuts_);
  }

  [[nodiscard]] T log_of(node const& at, bool plain) const {
    return plain ? at.log_one : at.mass.log_value;
  }

  [[nodiscard]] moments moments_of(T p, bool plain) const {
    T top = -std::numeric_limits<T>::infinity();
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      top = std::max(top, log_of(nodes_[k], plain) - p * place_of(k));
    }
    T sum = 0.0;
    T first = 0.0;
    T second = 0.0;
    T const middle = elementary::log(order_);
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      T const mass = elementary::exp(log_of(nodes_[k], plain) - p * place_of(k) - top);
      T const v = place_of(k) - middle;
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
      T const v = place_of(k);
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
    T const cut = elementary::exp(cuts_.log_left(p, place_of(0), spacing_, plain)) +
                  elementary::exp(cuts_.log_right(p, place_of(nodes_.size() - 1), spacing_, plain));
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
      T const v = place_of(k);
      T const away = v - middle();  // a phase that both sums share
      out.push_back({{elementary::exp(log_of(nodes_[k], plain) - p * v - of.log_sum), 0.0},
                     {removes() ? -away : away, 0.0}});
    }
    return out;
  }

  T steps_;
  bool removes_;
  T lowest_;
  T highest_;
  T end_;
  T real_end_;
  T noise_;
  discrete_step<T> step_;
  T order_;  // n
  moment_cuts<T> cuts_;
  T spacing_ = 0.0;
  T height_ = 0.0;
  T first_ = 0.0;
  T last_ = 0.0;
  std::vector<node> nodes_;
  std::vector<epoch_ray<T>> rays_;  // for Im w from real_end_ on
};

}  // namespace tacit::detail::epochs
