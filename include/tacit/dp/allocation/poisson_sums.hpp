// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/allocation/discrete_step.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

namespace tacit::detail::epochs {

/// (Σ_j b_j x^j)^t to the degree that b has; b_0 = 1 if t + 1 is no less than that. Errors of b_j ≥ 0: `power_units`.
template <class R, std::same_as<double> T>
[[nodiscard]] std::vector<R> power_of(std::vector<R> b, T t) {
  std::size_t const n = b.size() - 1;
  std::vector<R> c(n + 1);
  c[0] = R{1.0};
  if (t + 1.0 >= static_cast<T>(n)) {
    // c_k = Σ_j (j(t+1) − k)·b_j·c_{k−j}/k, with factors that are positive here.
    for (std::size_t k = 1; k <= n; ++k) {
      R const sum = sum_in_lanes<R>(k, [&](std::size_t i) {
        T const factor = static_cast<T>(i + 1) * (t + 1.0) - static_cast<T>(k);
        return factor * b[i + 1] * c[k - i - 1];
      });
      c[k] = sum / static_cast<T>(k);
    }
    return c;
  }
  auto const times = [n](std::vector<R> const& x, std::vector<R> const& y) {
    std::vector<R> out(n + 1);
    for (std::size_t i = 0; i <= n; ++i) {
      for (std::size_t j = 0; i + j <= n; ++j) out[i + j] += x[i] * y[j];
    }
    return out;
  };
  for (auto left = static_cast<std::size_t>(t);;) {
    if (left % 2 == 1) c = times(c, b);
    left /= 2;
    if (left == 0) return c;
    b = times(b, b);
  }
}

/// What rounding adds to the relative error of the coefficient of degree n, in units.
template <std::same_as<double> T>
[[nodiscard]] T power_units(T n, T t) {
  return t + 1.0 >= n ? n * (n + 1.0) / 16.0 + 14.0 * n : t * (n + 2.0);
}
/// The work, in additions.
template <std::same_as<double> T>
[[nodiscard]] T power_work(T n, T t) {
  return n * n * (t + 1.0 >= n ? 0.5 : 1.5 * elementary::log(t) + 1.0);
}

/// P(N = n), N a Poisson variable of mean uS, S the mean of t steps.
template <std::same_as<double> T = double>
struct poisson_mass {
  T log_value;
  T units;      // its relative error, in units of rounding
  T log_extra;  // and the logarithm of an absolute one
};

/// The nodes of one step, and what sums over them leave out.
template <std::same_as<double> T = double>
class step_nodes {
 protected:
  step_nodes(discrete_step<T> const& step, T steps, T order)
      : steps_(steps),
        order_(order),
        location_(step.size()),
        base_(step.size()),
        bent_(step.size()) {
    for (std::size_t i = 0; i < step.size(); ++i) {
      T const z = step.point(i);
      location_[i] = step.location(z);
      base_[i] = step.mass(z);
      bent_[i] = 0.5 * z * z;
    }
  }

  // z²/2 + Re ρ of what is left out, for its masses would underflow. What underflow does to the answer.
  static constexpr T farthest = 690.0;
  static constexpr T least = -680.0;

  // That no more than n come of so many, at most (Chernoff).
  [[nodiscard]] T few_of(T mean) const {
    if (!(mean > order_)) return 1.0;
    return elementary::exp(
        std::max(-700.0, order_ - mean + order_ * elementary::log(mean / order_)));
  }

  T steps_;
  T order_;
  std::vector<T> location_;
  std::vector<T> base_;
  std::vector<T> bent_;  // z²/2
};

/// P(N = n) as the n-th coefficient of (Σ_j π_j x^j)^t, π_j = E[ρ^j e^{−ρ}/j!], ρ = uU/t: docs/certificates/allocation.md,
/// Lemma 15.
template <std::same_as<double> T = double>
class poisson_sums : step_nodes<T> {
  using nodes = step_nodes<T>;
  using nodes::base_;
  using nodes::bent_;
  using nodes::farthest;
  using nodes::least;
  using nodes::location_;
  using nodes::order_;
  using nodes::steps_;

 public:
  static constexpr T highest_order = 400.0;

  poisson_sums(discrete_step<T> const& step, T steps, T order)
      : step_nodes<T>(step, steps, order) {}

  /// Of one value, in additions; `size` is that of the discrete step.
  [[nodiscard]] static T work(std::size_t size, T steps, T order) {
    return (2.0 * order + 40.0) * static_cast<T>(size) + power_work(order, steps);
  }

  /// At u = e^v. Nothing where numbers would be too small.
  [[nodiscard]] std::optional<poisson_mass<T>> at(T v) const {
    std::size_t const size = location_.size();
    T const r = elementary::exp(v) / steps_;
    std::vector<T> rho(size);
    std::vector<T> mass(size);
    std::vector<T> some(size);
    std::vector<T> off(size);  // of a mass, in units, less 11 for each j and 14
    T lost = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      rho[i] = r * location_[i];
      off[i] = bent_[i] + 8.0 * rho[i];
      if (bent_[i] + rho[i] > farthest) {
        lost += base_[i] * this->few_of(rho[i]);
        rho[i] = mass[i] = off[i] = 0.0;
        some[i] = base_[i];
      } else {
        mass[i] = base_[i] * elementary::exp(-rho[i]);
        some[i] = base_[i] * -elementary::expm1(-rho[i]);
      }
    }
    auto const sum = [size](auto&& term) { return sum_in_lanes<T>(size, term); };
    T const summed = static_cast<T>(size) / 8.0 + 11.0;
    T const hit = sum([&](std::size_t i) { return some[i]; });  // 1 − π_0
    T const missed = sum([&](std::size_t i) { return mass[i]; });
    bool const rare = hit < 0.5;
    // In units, relatively: of 1 − π_0 and of π_0.
    T const off_hit = sum([&](std::size_t i) { return some[i] * bent_[i]; }) / hit + 24.0 + summed;
    T const off_missed =
        rare ? hit / (1.0 - hit) * off_hit
             : sum([&](std::size_t i) { return mass[i] * off[i]; }) / missed + 14.0 + summed;
    T const none = rare ? 1.0 - hit : missed;
    T const all_missed = steps_ * (rare ? elementary::log1p(-hit) : elementary::log(missed));
    // b_j = π_j/π_0·s^j, so that nothing overflows: Σ_k c_k ≤ π_0^{−ts}.
    T const scale = std::min(1.0, 500.0 / std::max(1.0, -all_missed));
    T const log_scale = elementary::log(scale);
    if (!(-log_scale * order_ < 340.0)) return std::nullopt;
    std::vector<T> b(static_cast<std::size_t>(order_) + 1);
    b[0] = 1.0;
    T shrunk = 1.0 / none;
    T worst = 0.0;  // a coefficient's error, in units, over its degree
    for (std::size_t j = 1; j < b.size(); ++j) {
      T const part = 1.0 / static_cast<T>(j);
      for (std::size_t i = 0; i < size; ++i) mass[i] *= rho[i] * part;
      T const own = sum([&](std::size_t i) { return mass[i]; });
      T const wrong = sum([&](std::size_t i) { return mass[i] * off[i]; });
      shrunk *= scale;
      b[j] = own * shrunk;
      if (own > 0.0) worst = std::max(worst, part * (wrong / own + summed + off_missed + 19.0));
    }
    T const coefficient = std::max(power_of(std::move(b), steps_).back(), 1e-300);
    T const log_coefficient = elementary::log(coefficient);
    T const units =
        steps_ * off_missed + order_ * (worst + 14.0) + power_units(order_, steps_) +
        8.0 * (std::abs(all_missed) + std::abs(log_coefficient) + order_ * std::abs(log_scale));
    T const log_lost =
        lost > 0.0 ? elementary::log(steps_ * lost) : -std::numeric_limits<T>::infinity();
    return poisson_mass<T>{all_missed + log_coefficient - order_ * log_scale, units,
                           log_add(log_lost, least - order_ * log_scale) + 0.1};
  }
};

}  // namespace tacit::detail::epochs
