// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace tacit::detail::epochs {

/// log Σ_j weight(j)·e^{exponent(j)} over first ≤ j < last, at most, for exponents that are sums of two doubles, rounded, and
/// weights from 0 to `most_weight` that are right to a few units.
template <std::same_as<double> T, class Exponent, class Weight>
[[nodiscard]] T log_sum_above(std::size_t first, std::size_t last, T most_weight,
                              Exponent&& exponent, Weight&& weight) {
  constexpr T seen = 60.0;  // what is so far below the largest is counted as if it were no farther
  T most = -std::numeric_limits<T>::infinity();
  for (std::size_t j = first; j < last; ++j) most = std::max(most, exponent(j));
  if (!(std::abs(most) < std::numeric_limits<T>::infinity())) return most;
  T sum = 0.0;
  for (std::size_t j = first; j < last; ++j) {
    T const below = exponent(j) - most;
    if (below > -seen) sum += weight(j) * elementary::exp(below);
  }
  T const count = static_cast<T>(last - first);
  sum += count * most_weight * elementary::exp(-seen);
  T const off = unit_roundoff * (count + 4.0 * (std::abs(most) + seen) + 64.0);
  return (most + log(enclosure(sum)) + off).upper;
}

/// log(1 + e^x) at most.
template <std::same_as<double> T>
[[nodiscard]] T log1p_exp_above(T x) {
  enclosure const at(x);
  return (x > 0.0 ? at + log1p(exp(-at)) : log1p(exp(at))).upper;
}

/// A product of many factors, without overflow.
template <std::same_as<double> T = double>
class long_product {
 public:
  void times(T factor) {
    int more = 0;
    size_ = std::frexp(size_ * factor, &more);
    power_ += more;
    factors_ += 1.0;
  }
  [[nodiscard]] enclosure log_value() const {
    T const off = 2.0 * unit_roundoff * factors_;
    return log(size_ * enclosure(1.0 - off, 1.0 + off)) + power_ * log(enclosure(2.0));
  }

 private:
  T size_ = 1.0;
  T power_ = 0.0;
  T factors_ = 1.0;
};

/// Moments of whole orders of S, the mean of t independent U = e^{aZ − a²/2}, from above: every sum has positive terms
/// alone, in logarithms. docs/certificates/allocation.md, Lemma 19. Tables grow with the orders that are asked for.
template <std::same_as<double> T = double>
class whole_moments {
 public:
  whole_moments(T noise_multiplier, T steps)
      : square_(square(enclosure(1.0) / noise_multiplier).upper),
        steps_(steps),
        log_jump_(log_expm1(enclosure(square_)).upper),
        log_steps_(log(enclosure(steps)).lower) {}

  /// log(E S^m − 1) at most, m ≥ 2.
  [[nodiscard]] T log_excess(std::size_t m) {
    grow(m);
    // E S^m − 1 = Σ_k m!/(m−k)!·c_k, c_k = E(S − 1)^k/k!.
    long_product<T> falling;
    std::vector<T> exponent(m + 1);
    for (std::size_t k = 1; k <= m; ++k) {
      falling.times(static_cast<T>(m + 1 - k));
      if (k > 1) exponent[k] = add_up(central_[k], falling.log_value().upper);
    }
    work_ += 12.0 * static_cast<T>(m);
    return log_sum_above(
        2, m + 1, 1.0, [&](std::size_t k) { return exponent[k]; }, one);
  }

  /// log E S^m at most, m ≥ 2.
  [[nodiscard]] T log_moment(std::size_t m) { return log1p_exp_above(log_excess(m)); }

  /// Exponents that have been looked at.
  [[nodiscard]] T work() const { return work_; }

 private:
  static T one(std::size_t) { return 1.0; }

  void grow(std::size_t m) {
    if (m < central_.size()) return;
    m = std::max<std::size_t>({m, 32, std::min<std::size_t>(3 * central_.size() / 2, 4096)});
    of_one_step(m);
    // Of one step, over t^k: E((U − 1)/t)^k/k!.
    std::vector<T> part(m + 1);
    for (std::size_t k = 0; k <= m; ++k) {
      part[k] = (one_[k] - static_cast<T>(k) * enclosure(log_steps_)).upper;
    }
    if (static_cast<T>(m) > 2.0 * (steps_ + 1.0)) {
      central_ = power(std::move(part));
      return;
    }
    // k·c_k = Σ_{j ≥ 2} (j(t+1) − k)·part_j·c_{k−j}: factors that are not negative here.
    T const next = steps_ + 1.0;
    for (std::size_t k = central_.size(); k <= m; ++k) {
      T const place = static_cast<T>(k);
      if (k < 2) {
        central_.push_back(k == 0 ? 0.0 : none);
        continue;
      }
      T const sum = log_sum_above(
          2, k + 1, place, [&](std::size_t j) { return part[j] + central_[k - j]; },
          [&](std::size_t j) { return (static_cast<T>(j) * next - place) / next; });
      central_.push_back((sum + log(enclosure(next) / place)).upper);
      work_ += place;
    }
  }

  // κ_k/k!, κ_k = E(U − 1)^k, by κ_{k+1} = E'(U′ − 1)^k − κ_k, where U′ = e^{a²}·U: (k+1)·κ_{k+1}/(k+1)! is
  // Σ_{j<k} e^{a²j}·κ_j/j!·(e^{a²} − 1)^{k−j}/(k−j)! + (e^{a²k} − 1)·κ_k/k!.
  void of_one_step(std::size_t m) {
    for (std::size_t i = power_.size(); i <= m; ++i) {
      if (i > 0) factorial_.times(static_cast<T>(i));
      power_.push_back(
          i == 0 ? 0.0 : (static_cast<T>(i) * enclosure(log_jump_) - factorial_.log_value()).upper);
    }
    while (one_.size() <= m) {
      std::size_t const next = one_.size();
      if (next < 2) {
        one_.push_back(next == 0 ? 0.0 : none);
      } else {
        std::size_t const k = next - 1;
        T const sum = log_sum_above(
            0, k, 1.0, [&](std::size_t j) { return lifted_[j] + power_[k - j]; }, one);
        T const own = (log_expm1(enclosure(square_) * static_cast<T>(k)) + one_[k]).upper;
        T const both = log_sum_above(
            0, 2, 1.0, [&](std::size_t j) { return j == 0 ? sum : own; }, one);
        one_.push_back((both - log(enclosure(static_cast<T>(next)))).upper);
        work_ += static_cast<T>(k);
      }
      lifted_.push_back((one_.back() + enclosure(square_) * static_cast<T>(next)).upper);
    }
  }

  // (Σ_k e^{x_k} u^k)^t to the degree that x has.
  [[nodiscard]] std::vector<T> power(std::vector<T> x) {
    auto const times = [this](std::vector<T> const& p, std::vector<T> const& q) {
      std::vector<T> out(p.size());
      for (std::size_t k = 0; k < p.size(); ++k) {
        out[k] = log_sum_above(
            0, k + 1, 1.0, [&](std::size_t j) { return p[j] + q[k - j]; }, one);
      }
      work_ += 0.5 * static_cast<T>(p.size() * p.size());
      return out;
    };
    std::vector<T> out(x.size(), none);
    out[0] = 0.0;
    for (auto left = static_cast<std::size_t>(steps_);;) {
      if (left % 2 == 1) out = times(out, x);
      left /= 2;
      if (left == 0) return out;
      x = times(x, x);
    }
  }

  static constexpr T none = -std::numeric_limits<T>::infinity();

  T square_;  // a², rounded up: moments rise with it
  T steps_;
  T log_jump_;  // log(e^{a²} − 1)
  T log_steps_;
  T work_ = 0.0;
  std::vector<T> power_;   // log((e^{a²} − 1)^i/i!)
  std::vector<T> one_;     // log(κ_k/k!)
  std::vector<T> lifted_;  // and of e^{a²k} times that
  std::vector<T> central_;
  long_product<T> factorial_;
};

}  // namespace tacit::detail::epochs
