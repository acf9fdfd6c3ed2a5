// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/contour/plan.hpp>
#include <tacit/dp/contour/search.hpp>
#include <tacit/dp/contour/sums.hpp>
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

/// The integral along one vertical line, once e^K is known on it: δ(ε), and ε(δ).

namespace tacit::detail {

/// log δ, with everything that is not sure.
template <std::same_as<double> T = double>
struct certified_profile {
  T log_scale;  // δ = e^{log_scale}·value
  T value;
  T below;         // δ ≥ e^{log_scale}(value − below)
  T above;         // δ ≤ e^{log_scale}(value + above)
  T slope;         // −dδ/dε, in the same scale
  T hidden = 0.0;  // the part of `below` that does not move the value

  [[nodiscard]] T log_upper() const {
    T const log_value = elementary::log(value + above);
    return log_scale + log_value + rounding(log_value);
  }
  [[nodiscard]] T log_lower() const {
    if (!(value > below)) return -std::numeric_limits<T>::infinity();
    T const log_value = elementary::log(value - below);
    return log_scale + log_value - rounding(log_value);
  }

 private:
  [[nodiscard]] T rounding(T log_value) const {
    return unit_roundoff *
           (2.0 * std::abs(log_scale + log_value) + 4.0 * std::abs(log_value) + 4.0);
  }
};

template <std::same_as<double> T>
class atom_line_planner;

/// e^K on one vertical line, and every error that comes with it: what `integrate` returns.
template <std::same_as<double> T = double>
class contour_line {
 public:
  [[nodiscard]] T start() const { return start_; }
  [[nodiscard]] T tilt() const { return tilt_; }
  /// Of one profile, in nanoseconds.
  [[nodiscard]] T work() const { return 40.0 * static_cast<T>(points_.size()); }

  /// log of the δ(ε) that small losses alone make at most (Chernoff), if split; else of nothing.
  [[nodiscard]] T lesser(T epsilon) const {
    return split_ ? sum_above<T>({chernoff(small_tilt_), at_small_, -small_tilt_ * epsilon})
                  : -std::numeric_limits<T>::infinity();
  }

  [[nodiscard]] certified_profile<T> profile(T epsilon) const {
    T const scale = top_ - tilt_ * epsilon;
    // e^scale is exact but for a product and a difference.
    T const slack = 1.01 * unit_roundoff * (std::abs(scale) + std::abs(tilt_ * epsilon));
    compensated_sum<T> value;
    T slope = 0.0;
    for (std::size_t n = 0; n < points_.size(); ++n) {
      point const& p = points_[n];
      T const t = spacing_ * static_cast<T>(n);
      auto const [sine, cosine] = elementary::sin_cos_far(p.turned - t * epsilon);
      value += cosine * p.real - sine * p.imaginary;
      slope += cosine * p.slope_real + sine * p.slope_imaginary;
    }
    T const error = error_ + std::abs(epsilon) * error_by_epsilon_;
    T const points = static_cast<T>(points_.size());
    T const factor = spacing_ / std::numbers::pi;
    T const alias = aliased(epsilon, scale);
    // The sums of positive terms are no longer than the line: what they lose is a part of themselves.
    T const rounded = 1.0 + unit_roundoff * (4.0 * points + 64.0);
    T const rest = elementary::exp(sum_above<T>({log_end_, -top_, slack})) * (1.0 + 1.0 / points) /
                   (std::numbers::pi * end_);
    T lost = dropped_ > 0.0
                 ? elementary::exp(sum_above<T>({elementary::log(dropped_), -scale, slack}))
                 : 0.0;
    lost += elementary::exp(sum_above<T>({lesser(epsilon), -scale, slack}));
    T const sure = (factor * error + rest + slack * factor * std::abs(value.value())) * rounded;
    return {scale,
            factor * value.value(),
            (sure + alias + hidden_) * rounded,
            (sure + lost) * rounded,
            factor * slope,
            hidden_};
  }

 private:
  template <std::same_as<double> U>
  friend std::optional<contour_line<U>> integrate(contour_pairs<U> const&, contour_plan<U> const&,
                                                  work_budget&);
  template <std::same_as<double> U, class Law>
  friend bool add_law(U, Law const&, contour_plan<U> const&, U, contour_line<U>&, line_sums<U>&,
                      work_budget&);

  friend class atom_line_planner<T>;

  explicit contour_line(contour_plan<T> const& plan)
      : tilt_(plan.tilt),
        start_(plan.epsilon),
        spacing_(plan.spacing),
        period_(2.0 * std::numbers::pi / plan.spacing),
        end_(plan.end()),
        right_(plan.right),
        left_(plan.left),
        small_tilt_(plan.small_tilt) {}

  // Of a node of the line, all but e^{−itε}: e^{K − K₀}/(z(z+1)) and e^{K − K₀}/(z+1), less the turn of e^K.
  struct point {
    T turned;
    T real;
    T imaginary;
    T slope_real;
    T slope_imaginary;
  };

  // Once all laws are summed.
  void finish(line_sums<T> const& sums) {
    top_ = sums.real[0].value();
    points_.reserve(sums.real.size());
    for (std::size_t n = 0; n < sums.real.size(); ++n) {
      T const t = spacing_ * static_cast<T>(n);
      T const fall = sums.real[n].value() - top_;
      T const turned = sums.imaginary[n].value();
      T const size = elementary::exp(fall) * (n == 0 ? 0.5 : 1.0);
      // 1/(z(z+1)) and 1/(z+1) at z = θ + it.
      T const norm = tilt_ * tilt_ + t * t;
      T const next = (1.0 + tilt_) * (1.0 + tilt_) + t * t;
      T const a = 1.0 + tilt_;
      T const kernel_real = (tilt_ * a - t * t) / (norm * next);
      T const kernel_imaginary = -t * (tilt_ + a) / (norm * next);
      points_.push_back(
          {turned, size * kernel_real, size * kernel_imaginary, size * a / next, size * t / next});
      // Lemma 13
      T const modulus = size / std::sqrt(norm * next);
      T const units = 26.0 + 2.0 * std::abs(fall) + std::abs(turned);
      error_ += modulus * (elementary::expm1(sums.error[n]) + unit_roundoff * units);
      error_by_epsilon_ += modulus * unit_roundoff * 2.0 * t;
    }
  }

  // What normal pairs of this variance contribute to the line, and to all that bounds it.
  void add_normals(T v, contour_plan<T> const& plan, line_sums<T>& sums) {
    auto const normal = [&](T z) { return 0.5 * z * (z + 1.0) * v; };
    log_end_ = sum_above<T>({log_end_, normal(tilt_), -0.5 * v * end_ * end_});
    at_right_ = sum_above<T>({at_right_, normal(tilt_ + right_)});
    at_left_ = sum_above<T>({at_left_, normal(tilt_ - left_)});
    at_small_ = sum_above<T>({at_small_, normal(small_tilt_)});
    if (!(v > 0.0)) return;
    for (std::size_t n = 0; n < plan.points; ++n) {
      T const t = plan.spacing * static_cast<T>(n);
      T const here = tilt_ * (tilt_ + 1.0);
      sums.add(n, 0.5 * v * (here - t * t), v * t * (tilt_ + 0.5),
               unit_roundoff * 8.0 * v * (here + t * t + t * (tilt_ + 0.5)));
    }
  }

  [[nodiscard]] static T chernoff(T tilt) { return contour_search<T>::chernoff_constant(tilt); }

  // Everything is relative to e^{scale}. Lemma 12.
  [[nodiscard]] T aliased(T epsilon, T scale) const {
    // What is between the tilts as they are: their sums round.
    T const right = tilt_ + right_;
    T const rise = (right - tilt_) * period_;
    T const up =
        sum_above<T>({chernoff(right), at_right_, -right * epsilon, -rise, -scale,
                      unit_roundoff * 4.0 * (std::abs(scale) + std::abs(tilt_ * epsilon))});
    T const left = tilt_ - left_;
    T const fall = (tilt_ - left) * period_;
    T const log_left =
        left > 0.0 ? sum_above<T>({chernoff(left), at_left_, -left * epsilon}) : log_mass_;
    T const down =
        sum_above<T>({log_left, -fall, -scale,
                      unit_roundoff * 4.0 * (std::abs(scale) + std::abs(tilt_ * epsilon))});
    return elementary::exp(up) / -elementary::expm1(-rise) +
           elementary::exp(down) / -elementary::expm1(-fall);
  }

  bool split_ = false;
  T tilt_ = 0.0;
  T start_ = 0.0;
  T spacing_ = 0.0;
  T period_ = 0.0;
  T end_ = 0.0;
  T right_ = 0.0;
  T left_ = 0.0;
  T small_tilt_ = 0.0;
  T log_end_ = 0.0;   // log|e^K| from `end_` on at most
  T at_right_ = 0.0;  // K at real tilts at most
  T at_left_ = 0.0;
  T at_small_ = 0.0;
  T dropped_ = 0.0;
  T log_mass_ = 0.0;  // of all of the measure, at most
  T hidden_ = 0.0;    // what a Gaussian that is no release adds to δ at most, relative to e^scale
  T top_ = 0.0;       // Re K at the tilt
  T error_ = 0.0;     // of the sum over the points, at most, and by |ε|
  T error_by_epsilon_ = 0.0;
  std::vector<point> points_;
};

/// The ε of log δ(ε), nearly. δ(ε) ≥ 1 − e^ε gives a lower end; an ε at which this line gives no bound is too large, since δ
/// decreases.
template <std::same_as<double> T>
[[nodiscard]] std::optional<T> root_on(contour_line<T> const& at, T log_delta,
                                       work_budget& budget) {
  T const low = elementary::log1p(-elementary::exp(log_delta));
  T const epsilon = newton_between(
      {low, std::numeric_limits<T>::infinity()}, std::max(at.start(), low), false, [&](T e) {
        if (!budget.spend(at.work())) return std::pair(0.0, -1.0);  // no matter where
        certified_profile<T> const p = at.profile(e);
        if (!(p.value > p.below - p.hidden && p.slope > 0.0)) return std::pair(-1.0, 0.0);
        return std::pair(p.log_scale + elementary::log(p.value) - log_delta, -p.slope / p.value);
      });
  if (budget.ended()) return {};
  return epsilon;
}

/// An end of the interval for ε: the certificate itself holds there, of a log δ that is as wrong as the logarithm and, as ε
/// is, by `blur` (rounded_shifts).
template <std::same_as<double> T>
[[nodiscard]] std::optional<T> end_on(contour_line<T> const& at, T epsilon, T log_delta, T blur,
                                      bool upper, work_budget& budget) {
  certified_profile<T> const p = at.profile(epsilon);
  T const goal = log_delta * (upper ? 1.0 + 4.0 * unit_roundoff : 1.0 - 4.0 * unit_roundoff) +
                 (upper ? -blur : blur);
  T const wrong = (std::abs(log_delta) * 4.0 * unit_roundoff + blur) * p.value;
  for (T factor = 1.0; factor < 1e6 && budget.spend(at.work()); factor *= 2.0) {
    T const width = ((upper ? p.above : p.below) + wrong) * factor / p.slope;
    T const step = std::max(width, 4.0 * unit_roundoff * std::abs(epsilon) * factor);
    T const candidate = upper ? epsilon + step : epsilon - step;
    certified_profile<T> const there = at.profile(candidate);
    if (upper ? there.log_upper() <= goal : there.log_lower() >= goal) {
      return candidate + (upper ? 1.0 : -1.0) * (blur + 2.0 * unit_roundoff * std::abs(candidate));
    }
  }
  return {};
}

}  // namespace tacit::detail
