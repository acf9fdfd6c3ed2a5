// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/allocation/discrete_step.hpp>
#include <tacit/dp/allocation/poisson_sums.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace tacit::detail::epochs {

/// What the sums over v = kη of e^{−wv}P(N = n; u = e^v) leave out on either side, relative to the integral for w = p. With
/// `plain` S = 1. docs/certificates/allocation.md, Lemma 14.
template <std::same_as<double> T = double>
class moment_cuts {
 public:
  moment_cuts(discrete_step<T> const& step, T steps, T order)
      : step_(step), steps_(steps), order_(order) {
    moments_of_sums();
  }

  /// log of it beyond the last node, v.
  [[nodiscard]] T log_right(T p, T v, T spacing, bool plain) const {
    return least(rights(p, spacing, plain), v);
  }
  /// And before the first one.
  [[nodiscard]] T log_left(T p, T v, T spacing, bool plain) const {
    return least(lefts(p, spacing, plain), v);
  }

  /// log E S^m at most, for the m that there are.
  [[nodiscard]] T log_moment(std::size_t m) const { return log_moment_.at(m); }

  /// log P(N = n; u = e^v) at most.
  [[nodiscard]] T log_most(T v) const {
    T best = std::numeric_limits<T>::infinity();
    for (T m = 1.0; m < 4000.0; m = std::ceil(1.3 * m)) {
      best = std::min(best, right_of(m, step_.shift()) - m * v);
    }
    for (std::size_t j = 0; j < log_moment_.size(); ++j) {
      best = std::min(best, left_of(j, false) + static_cast<T>(j) * v);
    }
    return best - log_gamma_below(order_ + 1.0) + 1e-6;
  }

  /// The first node, or the last one, from which on no more than e^{log_error} is left out for Re w from `lowest` to
  /// `highest`; the nodes are moved by `shift`. Not a number where there is none.
  [[nodiscard]] std::pair<T, T> ends(T lowest, T highest, T spacing, T shift, T log_error) const {
    T const middle = std::floor(elementary::log(order_) / spacing);
    auto const reach = [&](T way, auto&& of) {
      std::array const all{of(lowest, false), of(highest, false), of(lowest, true),
                           of(highest, true)};
      T k = middle;
      for (T const stride = std::ceil(0.5 / spacing); std::abs(k - middle) * spacing < 80.0;
           k += way * stride) {
        bool const little = std::all_of(all.begin(), all.end(), [&](bounds const& one) {
          return least(one, spacing * k + shift) <= log_error;
        });
        if (little) return k;
      }
      return std::numeric_limits<T>::quiet_NaN();
    };
    return {reach(-1.0, [&](T p, bool plain) { return lefts(p, spacing, plain); }),
            reach(1.0, [&](T p, bool plain) { return rights(p, spacing, plain); })};
  }

 private:
  // Each e^{size + slope·v}.
  struct bound_at {
    T size;
    T slope;
  };
  using bounds = std::vector<bound_at>;

  [[nodiscard]] static T least(bounds const& all, T v) {
    T best = std::numeric_limits<T>::infinity();
    for (bound_at const& one : all) best = std::min(best, one.size + one.slope * v);
    return best;
  }

  // log of n!·u^m·P(N = n) and of n!·u^{−m}·P(N = n) at most.
  [[nodiscard]] T right_of(T m, T a) const {
    T const n = order_;
    return (n + m) * (elementary::log(n + m) - 1.0) + 0.5 * m * a * a +
           0.5 * m * m * a * a / steps_;
  }
  [[nodiscard]] T left_of(std::size_t m, bool plain) const {
    T const rest = order_ - static_cast<T>(m);
    return (rest > 0.0 ? rest * (elementary::log(rest) - 1.0) : 0.0) +
           (plain ? 0.0 : log_moment_[m]);
  }

  [[nodiscard]] bounds rights(T p, T spacing, bool plain) const {
    T const a = plain ? 0.0 : step_.shift();
    T const whole = log_whole(p, plain);
    bounds out;
    for (T m = std::max(1.0, std::ceil(2.0 - p)); m < 4000.0; m = std::ceil(1.3 * m)) {
      out.push_back(
          {right_of(m, a) + elementary::log(spacing / elementary::expm1((p + m) * spacing)) - whole,
           -(p + m)});
    }
    return out;
  }
  [[nodiscard]] bounds lefts(T p, T spacing, bool plain) const {
    T const whole = log_whole(p, plain);
    std::size_t const most = plain ? static_cast<std::size_t>(order_) : log_moment_.size() - 1;
    bounds out;
    for (std::size_t j = 0; j <= most; ++j) {
      T const m = static_cast<T>(j);
      if (!(m > p)) continue;
      out.push_back({left_of(j, plain) +
                         elementary::log(spacing / elementary::expm1((m - p) * spacing)) - whole,
                     m - p});
    }
    return out;
  }
  // The integral at w = p, at least.
  [[nodiscard]] T log_whole(T p, bool plain) const {
    return log_gamma_below(order_ - p) + (plain ? 0.0 : step_.log_least(p)) - 1e-6;
  }

  // log Γ(x), x ≥ 1, at least: Stirling's series from below.
  [[nodiscard]] static T log_gamma_below(T x) {
    return (x - 0.5) * elementary::log(x) - x + 0.9189385332046727;
  }

  // log E S^m, m = 0, 1, …, at most: m! times the coefficients of (Σ_j E U^j (x/t)^j/j!)^t.
  void moments_of_sums() {
    T const a = step_.shift();
    auto const most =
        static_cast<std::size_t>(std::min({order_, 150.0, std::floor(34.0 / a) + 1.0}));
    std::vector<T> one(most + 1);
    T log_size = 0.0;  // of 1/(j!·t^j), which may be no number
    for (std::size_t j = 0; j <= most; ++j) {
      T const m = static_cast<T>(j);
      if (j > 0) log_size -= elementary::log(m * steps_);
      one[j] = elementary::exp(0.5 * a * a * (m * m - m) + log_size);
    }
    one = power_of(std::move(one), steps_);
    T factorial = 0.0;
    for (std::size_t j = 0; j <= most; ++j) {
      if (j > 0) factorial += elementary::log(static_cast<T>(j));
      log_moment_.push_back(elementary::log(one[j]) + factorial + 1e-6);
    }
  }

  discrete_step<T> step_;  // of which only what its nodes do not matter for
  T steps_;
  T order_;
  std::vector<T> log_moment_;
};

}  // namespace tacit::detail::epochs
