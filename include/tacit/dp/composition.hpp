// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>

#include <boost/math/tools/toms748_solve.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <span>
#include <string_view>
#include <vector>

/// Composition of (ε, δ) guarantees about which nothing else is known.
///
/// For k equal ones the optimum is known in closed form (Kairouz, Oh & Viswanath 2015): the worst
/// mechanism is randomised response, with a probability δ of telling all. For different ones the
/// optimum is #P-hard (Murtagh & Vadhan 2016), so there is no such function here: `best_composition`
/// bounds it, and a certified accountant that composes the same events comes closer.

namespace tacit {

namespace detail {

// The binomial probabilities below depend on k·q to an absolute error that double cannot give at
// k = 1e12. Where long double is no wider than double, the stated error grows and the result is as
// certain as before.
using extended = long double;
inline constexpr extended extended_epsilon = std::numeric_limits<extended>::epsilon();

/// The 16-point Gauss rule of the uniform distribution on `size` equally spaced points of (−1, 1),
/// x_i = (2i+1−size)/size: exact up to degree 31. Its Jacobi matrix has the squared off-diagonals
/// n²(1−n²/size²)/(4n²−1) (Gram's polynomials; Legendre's as size → ∞).
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
[[nodiscard]] inline lattice_rule const& lattice_rule_of_level(std::size_t level) {
  static std::vector<lattice_rule> const rules = [] {
    std::vector<lattice_rule> made;
    for (int k = 5; k <= 44; ++k) made.emplace_back(std::ldexp(1.0L, k));
    return made;
  }();
  return rules.at(level - 5);
}

/// log l! − (l log l − l), for integers and for any real l ≥ 16; 0 at 0.
[[nodiscard]] inline extended stirling_rest(extended l) {
  constexpr std::array<extended, 16> factorial = [] {
    std::array<extended, 16> f{1.0L};
    for (std::size_t n = 1; n < f.size(); ++n) f[n] = f[n - 1] * static_cast<extended>(n);
    return f;
  }();
  if (l == 0.0L) return 0.0L;
  if (l < 16.0L) {
    return std::log(factorial[static_cast<std::size_t>(l)]) - l * std::log(l) + l;
  }
  extended const x = 1.0L / (l * l);
  extended const series =
      1.0L / 12 -
      x * (1.0L / 360 -
           x * (1.0L / 1260 -
                x * (1.0L / 1680 - x * (1.0L / 1188 - x * (691.0L / 360360 - x * (1.0L / 156))))));
  return 0.5L * std::log(2.0L * std::numbers::pi_v<extended> * l) + series / l;
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
/// 1e-20 (Bernstein ellipse of parameter 5.8).
class response_profile {
 public:
  response_profile(double epsilon, std::uint64_t count)
      : epsilon_(epsilon),
        count_(count),
        k_(static_cast<extended>(count)),
        e_(static_cast<extended>(epsilon)) {
    extended const fall = std::exp(-e_);
    q_ = fall / (1.0L + fall);
    p_ = 1.0L / (1.0L + fall);
    lean_ = std::tanh(0.5L * e_);
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
      return std::exp(log_weight(terms, s) - scale) * -std::expm1(-loss);
    };
    tally sum;
    walk(terms, 0.0L, -1, term, sum);
    if (peak < last) walk(terms, 1.0L, +1, term, sum);
    if (!(sum.total > 0.0L)) return {nothing, 0.0L};
    // What the weights' centre k·q is known to, times the steepest slope; the deviance and the
    // Stirling parts; the sum.
    extended const centre = 8.0L * extended_epsilon * k_ * std::min(lean_, 2.0L * q_);
    extended const rounding =
        centre * sum.slope + extended_epsilon * (64.0L * sum.deviance + 4096.0L);
    return {scale + std::log(sum.total), rounding + sum.left / sum.total + 1e-18L};
  }

 private:
  struct range {
    extended peak;       // l of the largest weight
    extended last;       // how far beyond it the last term is
    extended deviation;  // peak − k·q
  };

  struct tally {
    extended total = 0.0L;
    extended left = 0.0L;      // bounds what was not summed
    extended slope = 0.0L;     // |log ratio| of neighbouring weights, the largest
    extended deviance = 0.0L;  // the largest
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

  /// log C(k, l) p^{k−l} q^l by its saddle point (Loader 2000), for real l as well.
  [[nodiscard]] extended log_weight(range const& terms, extended s) const {
    extended const l = terms.peak + s;
    return stirling_rest(k_) - stirling_rest(l) - stirling_rest(k_ - l) - deviance(terms, s);
  }

  /// log of a weight over its upper neighbour's, w(l−1)/w(l).
  [[nodiscard]] extended log_ratio(extended l) const { return std::log(l / (k_ - l + 1.0L)) + e_; }

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
      // Terms are log-concave: the ratio of neighbours only falls on the way out.
      extended rest = std::numeric_limits<extended>::infinity();
      if (t < before) rest = t / before * t / (1.0L - t / before);
      if (t == 0.0L && sum.total > 0.0L) rest = 0.0L;
      bool const negligible = rest <= 1e-21L * sum.total;
      if (room == 0.0L || negligible) {
        if (room > 0.0L) sum.left += rest;
        sum.slope = std::max(sum.slope, std::abs(ratio));
        sum.deviance = std::max(sum.deviance, deviance(terms, t > 0.0L ? s : s - sign));
        return;
      }
      before = t;
      s += sign;
      extended const width = std::sqrt((l + sign) * (k_ - l - sign) / k_);
      extended const from_kink = towards > 0 ? 0.5L * (terms.last - s) : terms.last - s;
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

/// A bracket, a few ulp extended, of the point where a decreasing `height` passes 0: height(lower) ≥ 0 ≥
/// height(upper).
template <class Height>
[[nodiscard]] bound<double> passing(double low, double at_low, double high, double at_high,
                                    Height&& height) {
  if (at_low == 0.0) return {low, low};
  if (at_high == 0.0) return {high, high};
  std::uintmax_t steps = 300;
  auto const close = [](double a, double b) {
    return std::abs(b - a) <= 2.0 * std::numeric_limits<double>::epsilon() * std::max(a, b);
  };
  auto const [a, b] =
      boost::math::tools::toms748_solve(height, low, high, at_low, at_high, close, steps);
  return {std::min(a, b), std::max(a, b)};
}

}  // namespace detail

/// The optimal composition of `count` mechanisms of which each is (ε₀, δ₀)-differentially private,
/// chosen adaptively, with (ε₀, δ₀) fixed before the run:
///   δ(ε) = 1 − (1−δ₀)^k·(1 − Σ_l C(k, l) p^{k−l} q^l (1 − e^{ε−(k−2l)ε₀})⁺), p = 1/(1+e^{−ε₀}) = 1−q.
/// No better bound holds for all such mechanisms.
///
/// Guarantee: lower ≤ the optimum ≤ upper, at every real ε ≥ 0 and not only at multiples of ε₀.
/// Accuracy: the interval's relative width is 4e-15 to 3e-14 for k ≤ 1e8; then it grows with √k, as
/// k·q is known to 64 bits only: below 3e-11 at 1e12. Some thousand elementary functions for any k.
/// Source: Kairouz, Oh & Viswanath 2015, Theorem 3.3; Murtagh & Vadhan 2016.
class optimal_composition {
 public:
  /// @throws std::domain_error unless ε₀ is finite and at least 0, δ₀ in [0, 1], count ≤ 1e15
  optimal_composition(approx_dp each, std::uint64_t count)
      : each_(each), count_(count), responses_(checked(each, count).epsilon, count) {
    double const k = static_cast<double>(count);
    double const told = count == 0 ? 0.0 : -std::expm1(k * std::log1p(-each.delta));
    constexpr double slack = 8.0 * std::numeric_limits<double>::epsilon();
    all_ = {std::max(0.0, told * (1.0 - slack)), std::min(1.0, told * (1.0 + slack))};
    if (each.delta == 1.0 && count > 0) all_ = {1.0, 1.0};
  }

  /// The smallest δ.
  /// @throws std::domain_error unless ε is finite and at least 0
  [[nodiscard]] bound<double> delta(double epsilon) const {
    detail::check_non_negative("optimal_composition::delta", "epsilon", epsilon);
    if (count_ == 0) return {0.0, 0.0};
    detail::log_bound const part = responses_.log_delta(epsilon);
    double low = static_cast<double>(std::exp(part.value) * (1.0L - part.error));
    double high = static_cast<double>(std::exp(part.value) * (1.0L + part.error));
    // Below the normal numbers a relative bound says nothing.
    if (part.value > -std::numeric_limits<double>::infinity() &&
        !(low >= std::numeric_limits<double>::min())) {
      low = 0.0;
      high = std::max(high, std::numeric_limits<double>::min());
    }
    constexpr double slack = 6.0 * std::numeric_limits<double>::epsilon();
    low = std::clamp(low, 0.0, 1.0);
    high = std::clamp(high, 0.0, 1.0);
    return {std::max(0.0, (low + (1.0 - low) * all_.lower) * (1.0 - slack)),
            std::min(1.0, (high + (1.0 - high) * all_.upper) * (1.0 + slack))};
  }

  /// The smallest ε ≥ 0; ∞ where the δ₀ alone exceed δ.
  /// @throws std::domain_error unless δ is in [0, 1]
  [[nodiscard]] bound<double> epsilon(double delta) const {
    detail::check_probability("optimal_composition::epsilon", "delta", delta);
    constexpr double never = std::numeric_limits<double>::infinity();
    if (count_ == 0 || this->delta(0.0).upper <= delta) return {0.0, 0.0};
    // Beyond the largest loss nothing but the δ₀ is left.
    constexpr double slack = 2.0 * std::numeric_limits<double>::epsilon();
    double const loss = static_cast<double>(count_) * each_.epsilon;
    double const most = loss * (1.0 + slack);
    if (delta == 0.0 && each_.delta == 0.0) return {loss * (1.0 - slack), most};
    double const upper = all_.upper <= delta ? last_below(most, delta, true) : never;
    double lower = 0.0;
    if (all_.lower > delta) {
      lower = never;
    } else if (this->delta(0.0).lower > delta) {
      lower = last_below(std::min(upper, most), delta, false);
    }
    return {lower, upper};
  }

 private:
  static approx_dp checked(approx_dp each, std::uint64_t count) {
    detail::check_non_negative("optimal_composition", "epsilon", each.epsilon);
    detail::check_probability("optimal_composition", "delta", each.delta);
    detail::require_domain(count <= 1000000000000000U, "optimal_composition", "count", count,
                           "at most 1e15");
    return each;
  }

  /// `from_above`: an ε at which the upper bound on δ(ε) is at most δ. Else one at which the lower
  /// bound is at least δ.
  [[nodiscard]] double last_below(double most, double delta, bool from_above) const {
    double const told = from_above ? all_.upper : all_.lower;
    // The logarithm of the part that moves, for speed; all that is relied on is its sign.
    auto const height = [&](double x) {
      bound<double> const at = this->delta(x);
      double const d = from_above ? at.upper : at.lower;
      if (d == delta) return 0.0;
      double const h = std::log((d - told) / (delta - told));
      // Written so that what is not a number becomes the far end.
      return d > delta ? std::max(1e-20, std::min(1e4, h)) : -std::max(1e-20, std::min(1e4, -h));
    };
    // The loss has the mean k·ε₀·tanh(ε₀/2), and Hoeffding's inequality says how far it strays. Only
    // where to look follows from that.
    double const spread = std::sqrt(static_cast<double>(count_)) * each_.epsilon;
    double const mean =
        static_cast<double>(count_) * each_.epsilon * std::tanh(0.5 * each_.epsilon);
    double high = std::min(most, mean + spread * std::sqrt(2.0 * -std::log(delta - told)) * 1.01);
    double low = std::max(0.0, mean - 4.0 * spread);
    double at_high = high > low ? height(high) : 1.0;
    if (!(at_high <= 0.0)) {
      high = most;
      at_high = height(most);
      if (at_high > 0.0) return most;
    }
    double at_low = low < high ? height(low) : -1.0;
    if (!(at_low >= 0.0)) {
      low = 0.0;
      at_low = height(low);
    }
    bound<double> const at = detail::passing(low, at_low, high, at_high, height);
    return from_above ? at.upper : at.lower;
  }

  approx_dp each_;
  std::uint64_t count_;
  detail::response_profile responses_;
  bound<double> all_{};  // 1 − (1−δ₀)^k
};

namespace detail {

inline void check_guarantees(std::string_view who, std::span<approx_dp const> each, double slack) {
  for (approx_dp const& one : each) {
    check_non_negative(who, "epsilon", one.epsilon);
    check_probability(who, "delta", one.delta);
  }
  check_probability(who, "slack", slack);
}

/// Above every sum of that many terms that was rounded on the way.
[[nodiscard]] inline double raised_sum(double sum, std::size_t terms) {
  return sum * (1.0 + (static_cast<double>(terms) + 32.0) * std::numeric_limits<double>::epsilon());
}

/// 1 − (1−slack)·Π(1−δ_i).
[[nodiscard]] inline double union_delta(std::span<approx_dp const> each, double slack) {
  double kept = std::log1p(-slack);
  for (approx_dp const& one : each) kept += std::log1p(-one.delta);
  return std::min(1.0, raised_sum(-std::expm1(kept), each.size()));
}

}  // namespace detail

/// (Σ ε_i, 1 − Π(1−δ_i)): the ε add up, also where the mechanisms are chosen on the way.
/// Guarantee: upper bound.
/// Source: Kairouz, Oh & Viswanath 2015 (Dwork et al. 2006 for Σ δ_i).
/// @throws std::domain_error unless every ε_i is finite and at least 0 and every δ_i in [0, 1]
[[nodiscard]] inline approx_dp basic_composition(std::span<approx_dp const> each) {
  detail::check_guarantees("basic_composition", each, 0.0);
  double epsilon = 0.0;
  for (approx_dp const& one : each) epsilon += one.epsilon;
  return {detail::raised_sum(epsilon, each.size()), detail::union_delta(each, 0.0)};
}

/// With δ = 1 − (1−slack)·Π(1−δ_i), the smallest of
///   Σ ε_i,
///   Σ ε_i tanh(ε_i/2) + √(2 Σ ε_i²·log(1/slack)),
///   Σ ε_i tanh(ε_i/2) + √(2 Σ ε_i²·log(e + √(Σ ε_i²)/slack)).
/// The (ε_i, δ_i) are fixed before the run; the mechanisms may be chosen on the way. The first such
/// bound had e^ε−1 in place of tanh(ε/2) and Σ δ_i (Dwork, Rothblum & Vadhan 2010): it is never
/// smaller.
/// Guarantee: upper bound.
/// Source: Kairouz, Oh & Viswanath 2015, Theorem 3.5.
/// @throws std::domain_error unless every ε_i is finite and at least 0, every δ_i and slack in [0, 1]
[[nodiscard]] inline approx_dp advanced_composition(std::span<approx_dp const> each, double slack) {
  detail::check_guarantees("advanced_composition", each, slack);
  double sum = 0.0;
  double mean = 0.0;
  double norm = 0.0;  // √Σ ε_i²: the squares themselves may overflow
  for (approx_dp const& one : each) {
    sum += one.epsilon;
    mean += one.epsilon * std::tanh(0.5 * one.epsilon);
    norm = std::hypot(norm, one.epsilon);
  }
  double const tail = std::min(-std::log(slack), std::log(std::numbers::e + norm / slack));
  // slack = 0 leaves the sum alone, and 0·∞ is not a number.
  double const spread =
      slack > 0.0 ? mean + norm * std::sqrt(2.0 * tail) : std::numeric_limits<double>::infinity();
  return {detail::raised_sum(std::min(sum, spread), each.size()), detail::union_delta(each, slack)};
}

/// The smallest ε of the bounds above at δ = 1 − (1−slack)·Π(1−δ_i); where all guarantees are equal,
/// the optimum. (The optimum of different ones is #P-hard to compute: there is no function for it.)
/// Guarantee: upper bound.
/// @throws std::domain_error unless every ε_i is finite and at least 0, every δ_i and slack in [0, 1]
[[nodiscard]] inline approx_dp best_composition(std::span<approx_dp const> each, double slack) {
  detail::check_guarantees("best_composition", each, slack);
  approx_dp best = advanced_composition(each, slack);
  bool const equal = std::all_of(each.begin(), each.end(),
                                 [&](approx_dp const& one) { return one == each.front(); });
  if (equal && !each.empty()) {
    // The δ_i are in union_delta already: what is asked here is what slack buys for the rest.
    optimal_composition const optimum({each.front().epsilon, 0.0}, each.size());
    best.epsilon = std::min(best.epsilon, optimum.epsilon(slack).upper);
  }
  return best;
}

}  // namespace tacit
