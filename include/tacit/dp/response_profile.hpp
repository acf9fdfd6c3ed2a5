// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/solve.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <vector>

/// The hockey-stick divergence of many binary randomised responses, for any number of them.

namespace tacit::detail {

// The binomial probabilities below depend on k·q to an absolute error that double cannot give at
// k = 1e12. Where long double is no wider than double, the stated error grows and the result is as
// certain as before.
using extended = long double;
inline constexpr extended extended_epsilon = std::numeric_limits<extended>::epsilon();

/// The 16-point Gauss rule of the uniform distribution on `size` equally spaced points of (−1, 1),
/// x_i = (2i+1−size)/size: exact up to degree 31. Its Jacobi matrix has the squared off-diagonals
/// n²(1−n²/size²)/(4n²−1) (Gram's polynomials; Legendre's as size → ∞).
template <std::same_as<extended> Extended = extended>
class lattice_rule {
 public:
  static constexpr std::size_t order = 16;

  explicit lattice_rule(extended size) {
    std::array<extended, order + 1> beta{};
    for (std::size_t n = 1; n <= order; ++n) {
      extended const square = static_cast<extended>(n * n);
      beta[n] = std::sqrt(square * (1.0L - square / (size * size)) / (4.0L * square - 1.0L));
    }
    for (std::size_t k = 0; k < order / 2; ++k) {
      // Sturm counts isolate the node, Newton's method on the orthonormal recurrence polishes it.
      auto const nodes_below = [&](extended x) {
        std::size_t count = 0;
        extended pivot = -x;
        for (std::size_t n = 1;; ++n) {
          if (pivot < 0.0L) ++count;
          if (n == order) return count;
          extended const safe = std::abs(pivot) < 1e-300L ? 1e-300L : pivot;
          pivot = -x - beta[n] * beta[n] / safe;
        }
      };
      auto const wide = [](extended low, extended high) { return high - low > 1e-6L; };
      auto const left = [&](extended x) { return nodes_below(x) <= order / 2 + k; };
      extended x = bisect<extended>({0.0L, 1.0L}, wide, left).middle();
      extended norm = 0.0L;
      for (int step = 0; step < 4; ++step) {
        extended before = 0.0L;
        extended last = 1.0L;
        extended slope_before = 0.0L;
        extended slope = 0.0L;
        norm = 1.0L;
        for (std::size_t n = 1; n <= order; ++n) {
          extended const scale =
              n == order ? 1.0L : beta[n];  // the last one need not be normalised
          extended const next = (x * last - (n == 1 ? 0.0L : beta[n - 1] * before)) / scale;
          extended const next_slope =
              (last + x * slope - (n == 1 ? 0.0L : beta[n - 1] * slope_before)) / scale;
          before = last;
          last = next;
          slope_before = slope;
          slope = next_slope;
          if (n < order) norm += next * next;
        }
        x -= last / slope;
      }
      node_[k] = x;
      weight_[k] = 1.0L / norm;  // Christoffel: 1/Σ p_n(x)²
    }
  }

  /// Σ f(middle + offset) over the `size` integers around `middle`.
  template <class Function>
  [[nodiscard]] extended sum(extended middle, extended size, Function&& f) const {
    extended total = 0.0L;
    for (std::size_t k = 0; k < order / 2; ++k) {
      extended const offset = 0.5L * size * node_[k];
      total += weight_[k] * (f(middle - offset) + f(middle + offset));
    }
    return total * size;
  }

 private:
  std::array<extended, order / 2> node_{};
  std::array<extended, order / 2> weight_{};
};

/// The rule for 2^level points, 5 ≤ level ≤ 44.
template <std::same_as<extended> Extended = extended>
[[nodiscard]] lattice_rule<Extended> const& lattice_rule_of_level(std::size_t level) {
  static std::vector<lattice_rule<Extended>> const rules = [] {
    std::vector<lattice_rule<Extended>> made;
    for (int k = 5; k <= 44; ++k) made.emplace_back(std::ldexp(1.0L, k));
    return made;
  }();
  return rules.at(level - 5);
}

/// log l! − (l log l − l), for integers and for any real l ≥ 16; 0 at 0.
template <std::same_as<extended> Extended = extended>
[[nodiscard]] Extended stirling_rest(Extended l) {
  constexpr std::array<extended, 16> factorial = [] {
    std::array<extended, 16> f{1.0L};
    for (std::size_t n = 1; n < f.size(); ++n) f[n] = f[n - 1] * static_cast<extended>(n);
    return f;
  }();
  if (l == 0.0L) return 0.0L;
  if (l < 16.0L) {
    return elementary::log(factorial[static_cast<std::size_t>(l)]) - l * elementary::log(l) + l;
  }
  extended const x = 1.0L / (l * l);
  extended const series =
      1.0L / 12 -
      x * (1.0L / 360 -
           x * (1.0L / 1260 -
                x * (1.0L / 1680 - x * (1.0L / 1188 - x * (691.0L / 360360 - x * (1.0L / 156))))));
  return 0.5L * elementary::log(2.0L * std::numbers::pi_v<extended> * l) + series / l;
}

struct log_bound {
  extended value;  // −∞ is the logarithm of 0
  extended error;  // absolute: the relative error of what it is the logarithm of
};

/// The hockey-stick divergence of k binary randomised responses: the loss is (k−2l)ε₀ with the
/// probability C(k, l) p^{k−l} q^l, p = 1/(1+e^{−ε₀}), and with those above ε numbered l < m
///   δ(ε) = Σ_{l<m} C(k, l) p^{k−l} q^l (1 − e^{ε−(k−2l)ε₀}),
/// a sum of positive, log-concave terms. It is taken outwards from the largest one until what is left
/// is negligible by the last ratio. Where terms change slowly, whole blocks of 2^n of them are summed
/// by their own 16-point Gauss rule; a block's length is at most the weights' width, their e-folding
/// length times 4, and its distance from the kink at ε, which bounds that rule's relative error by
/// 7e-19 (Bernstein ellipse of parameter 5.8). docs/certificates/responses.md has the proofs.
template <real T>
class response_profile {
 public:
  response_profile(double epsilon, std::uint64_t count)
      : epsilon_(epsilon),
        count_(count),
        k_(static_cast<extended>(count)),
        e_(static_cast<extended>(epsilon)) {
    extended const fall = elementary::exp(-e_);
    q_ = fall / (1.0L + fall);
    p_ = 1.0L / (1.0L + fall);
    lean_ = -elementary::expm1(-e_) / (1.0L + fall);
  }

  [[nodiscard]] log_bound log_delta(double epsilon) const {
    constexpr extended nothing = -std::numeric_limits<extended>::infinity();
    std::uint64_t const above = losses_above(epsilon);
    if (above == 0) return {nothing, 0.0L};
    extended const kink = gap(above - 1, epsilon);
    extended const last = static_cast<extended>(above - 1);
    extended const peak = std::min(last, std::floor((k_ + 1.0L) * q_));
    // Terms are numbered from the peak: a number near k·q leaves its fraction no digits.
    range const terms{peak, last - peak, deviation(peak)};
    extended const scale = log_weight(terms, 0.0L);
    auto const term = [&](extended s) {
      extended const below = terms.last - s;
      extended const loss = below == 0.0L ? kink : kink + 2.0L * below * e_;
      return elementary::exp(log_weight(terms, s) - scale) * -elementary::expm1(-loss);
    };
    tally sum;
    walk(terms, 0.0L, -1, term, sum);
    if (peak < last) walk(terms, 1.0L, +1, term, sum);
    // Where k·q is no normal number terms are not numbers: nothing is known of them.
    if (!(sum.total <= std::numeric_limits<extended>::max())) {
      return {0.0L, std::numeric_limits<extended>::infinity()};
    }
    if (!(sum.total > 0.0L)) return {nothing, 0.0L};
    // What the weights' centre k·q is known to, times the steepest slope; the wear and the
    // Stirling parts; the sum.
    extended const centre = 8.0L * extended_epsilon * k_ * std::min(lean_, 2.0L * q_);
    extended const rounding = centre * sum.slope + extended_epsilon * (64.0L * sum.wear + 4096.0L);
    return {scale + elementary::log(sum.total), rounding + sum.left / sum.total + 1e-18L};
  }

 private:
  struct range {
    extended peak;       // l of the largest weight
    extended last;       // how far beyond it the last term is
    extended deviation;  // peak − k·q
  };

  struct tally {
    extended total = 0.0L;
    extended left = 0.0L;   // bounds what was not summed
    extended slope = 0.0L;  // |log ratio| of neighbouring weights, the largest
    extended wear = 0.0L;   // the largest
  };

  /// (k−2l)ε₀ − ε, its sign exact: the product is split into a double and its rounding error.
  [[nodiscard]] extended gap(std::uint64_t l, double epsilon) const {
    double const factor = l > count_ / 2
                              ? -static_cast<double>(2 * l - count_)
                              : static_cast<double>(count_ - 2 * l);  // exact: count ≤ 2^53
    double const product = factor * epsilon_;
    if (!std::isfinite(product)) return static_cast<extended>(product);
    extended const low = static_cast<extended>(std::fma(factor, epsilon_, -product));
    return (static_cast<extended>(product) - static_cast<extended>(epsilon)) + low;
  }

  [[nodiscard]] std::uint64_t losses_above(double epsilon) const {
    if (!(gap(0, epsilon) > 0.0L)) return 0;
    extended const estimate = std::ceil(0.5L * (k_ - static_cast<extended>(epsilon) / e_));
    auto m = static_cast<std::uint64_t>(std::max(estimate, 1.0L));
    while (m <= count_ && gap(m, epsilon) > 0.0L) ++m;
    while (m > 1 && !(gap(m - 1, epsilon) > 0.0L)) --m;
    return m;
  }

  /// l − k·q, from the nearer of k/2 and 0.
  [[nodiscard]] extended deviation(extended l) const {
    return e_ < 1.0L ? (l - 0.5L * k_) + 0.5L * k_ * lean_ : l - k_ * q_;
  }

  /// k·KL of the frequency l/k from q, l = peak + s.
  [[nodiscard]] extended deviance(range const& terms, extended s) const {
    extended const l = terms.peak + s;
    extended const d = terms.deviation + s;
    extended const low = k_ * q_;
    extended const high = k_ * p_;
    extended const rare = low > 0.0L ? low * entropy_residual(d / low, l / low)
                          : l > 0.0L ? std::numeric_limits<extended>::infinity()
                                     : 0.0L;
    return rare + high * entropy_residual(-d / high, (k_ - l) / high);
  }

  /// The deviance, and .15 of k·q and k·p where l is so far from them that their logarithms are taken.
  [[nodiscard]] extended wear(range const& terms, extended s) const {
    extended const far_off = std::abs(terms.deviation + s) / 0.28L;
    extended sum = deviance(terms, s);
    for (extended const centre : {k_ * q_, k_ * p_}) {
      if (far_off > centre) sum += 0.15L * centre;
    }
    return sum;
  }

  /// log C(k, l) p^{k−l} q^l by its saddle point (Loader 2000), for real l as well.
  [[nodiscard]] extended log_weight(range const& terms, extended s) const {
    extended const l = terms.peak + s;
    return stirling_rest(k_) - stirling_rest(l) - stirling_rest(k_ - l) - deviance(terms, s);
  }

  /// log of a weight over its upper neighbour's, w(l−1)/w(l).
  [[nodiscard]] extended log_ratio(extended l) const {
    return elementary::log(l / (k_ - l + 1.0L)) + e_;
  }

  /// Adds the terms from peak + s on, downwards (−1) to l = 0 or upwards (+1) to the last.
  template <class Term>
  void walk(range const& terms, extended s, int towards, Term const& term, tally& sum) const {
    extended const sign = static_cast<extended>(towards);
    extended before = 0.0L;  // the term next to this one, once it is known
    for (;;) {
      extended const l = terms.peak + s;
      extended const room = towards > 0 ? terms.last - s : l;  // terms beyond this one
      extended const ratio = towards > 0 ? -log_ratio(l) : log_ratio(l + 1.0L);
      extended const t = term(s);
      sum.total += t;
      if (!(sum.total <= std::numeric_limits<extended>::max())) return;
      // Terms are log-concave: the ratio of neighbours only falls on the way out.
      extended rest = std::numeric_limits<extended>::infinity();
      if (t < before) rest = t / before * t / (1.0L - t / before);
      if (t == 0.0L && sum.total > 0.0L) rest = 0.0L;
      bool const negligible = rest <= 1e-21L * sum.total;
      if (room == 0.0L || negligible) {
        if (room > 0.0L) sum.left += rest;
        sum.slope = std::max(sum.slope, std::abs(ratio));
        sum.wear = std::max(sum.wear, wear(terms, t > 0.0L ? s : s - sign));
        return;
      }
      before = t;
      s += sign;
      extended const width = std::sqrt((l + sign) * (k_ - l - sign) / k_);
      extended const from_kink = towards > 0 ? 0.5L * (terms.last - s - 1.0L) : terms.last - s;
      extended const length = std::min({width, 4.0L / std::abs(ratio), from_kink, room - 1.0L});
      if (length >= 32.0L) {
        int const level = std::min(std::ilogb(length), 44);
        extended const size = std::ldexp(1.0L, level);
        sum.total += lattice_rule_of_level(static_cast<std::size_t>(level))
                         .sum(s + sign * 0.5L * (size - 1.0L), size, term);
        s += sign * size;
        before = term(s - sign);
      }
    }
  }

  double epsilon_;
  std::uint64_t count_;
  extended k_;
  extended e_;
  extended p_;
  extended q_;
  extended lean_;  // p − q
};

}  // namespace tacit::detail
