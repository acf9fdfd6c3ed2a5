// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

/// The profile δ(ε) of N(μ, 1) against N(0, 1), its inverses and its trade-off curve.
///
/// With R the Mills ratio (core/normal.hpp), b = ε/μ − μ/2 and c = ε/μ + μ/2,
///   δ(ε) = Φ(−b) − e^ε Φ(−c) = φ(b)·[R(b) − R(c)].

namespace tacit {

namespace detail {

/// b = ε/μ − μ/2 and c = b + μ, for ε ≥ 0 and μ > 0. b is needed to more digits than it has,
/// wherever ε/μ and μ/2 are in the thousands and b² in the hundreds.
template <real T>
struct gaussian_ends {
  two_part<T> b;
  T c;

  gaussian_ends(T const& mu, T const& epsilon) {
    T const middle = epsilon / mu;
    T const half = mu / 2;
    c = middle + half;
    b = {middle - half, 0};
    if constexpr (std::is_floating_point_v<T>) {
      if (!(c <= std::numeric_limits<T>::max())) return;
      T low;
      T product = mu * half;
      if constexpr (std::is_same_v<T, double>) product = settled(product);
      if (mu > 1 && std::abs(b.high) < half / 4 && product <= std::numeric_limits<T>::max()) {
        // (ε − μ²/2)/μ, whose numerator two doubles hold.
        T const rest = std::fma(mu, half, -product);
        T const difference = epsilon - product;
        T const sum = difference - rest;
        b.high = sum / mu;
        low = (std::fma(-b.high, mu, sum) + ((difference - sum) - rest)) / mu;
      } else {
        T const part = b.high - middle;
        low = (middle - (b.high - part)) - (half + part) + std::fma(-middle, mu, epsilon) / mu;
      }
      T const high = b.high + low;
      b = {high, (b.high - high) + low};
    }
  }
};

/// 1 − δ(ε) for ε ≥ 0 and b ≤ 0: Φ(b) + e^ε Φ(−c), positive terms.
template <real T>
[[nodiscard]] T gaussian_miss(gaussian_ends<T> const& at) {
  if (at.b.high < -tail_limit<T>()) return 0;
  T const density = bell(at.b) / constants::root_two_pi<T>();
  return density * (mills_ratio(-at.b.high) + mills_ratio(at.c));
}

/// δ(ε) and 1 − δ(ε), each without cancellation.
template <real T>
struct profile_value {
  T delta;
  T complement;
};

template <real T>
[[nodiscard]] profile_value<T> gaussian_profile_value(T const& mu, T const& epsilon) {
  using elementary::exp, elementary::expm1;
  if (epsilon < 0) {  // 1 − e^ε + e^ε·δ(−ε): the pair is symmetric
    profile_value<T> const mirrored = gaussian_profile_value(mu, -epsilon);
    T const factor = exp(epsilon);
    return {factor * mirrored.delta - expm1(epsilon), factor * mirrored.complement};
  }
  if (mu == 0) return {0, 1};
  if (mu == std::numeric_limits<T>::infinity()) return {1, 0};
  gaussian_ends<T> const at(mu, epsilon);
  if (!(at.b.high > -1)) {
    T const miss = gaussian_miss(at);
    return {1 - miss, miss};
  }
  if (at.b.high > tail_limit<T>()) return {0, 1};
  auto const [smooth, pole] = difference_of_mills(at.b.high, at.c, mu, epsilon);
  T const density = bell(at.b) / constants::root_two_pi<T>();
  T const delta = density * smooth + pole;
  return {delta, delta > 0.5 ? gaussian_miss(at) : 1 - delta};  // > ½ needs b < 0
}

template <real T>
void check_gaussian(std::string_view function, T const& mu, T const& epsilon) {
  require_domain(mu >= 0, function, "mu", mu, "at least 0");
  check_finite(function, "epsilon", epsilon);
}

}  // namespace detail

/// The profile of μ-Gaussian DP, δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), for every real ε:
/// below 0 it is 1 − e^ε + e^ε δ(−ε), because the pair is symmetric. μ = 0 gives max(0, 1 − e^ε),
/// μ = ∞ gives 1.
/// Guarantee: nearest; relative error ≤ 5e-14 in double where the value is ≥ 1e-290; below 1e-300
/// it runs through the subnormal numbers into 0. `delta` is certified.
/// @throws std::domain_error unless mu ≥ 0 and epsilon is finite
template <real T>
[[nodiscard]] T gaussian_profile(T const& mu, T const& epsilon) {
  detail::check_gaussian("gaussian_profile", mu, epsilon);
  return detail::gaussian_profile_value(mu, epsilon).delta;
}

/// 1 − δ(ε), where `gaussian_profile` is so close to 1 that it says nothing.
/// Guarantee: nearest; relative error ≤ 5e-14 in double where the value is ≥ 1e-290.
/// @throws std::domain_error unless mu ≥ 0 and epsilon is finite
template <real T>
[[nodiscard]] T gaussian_profile_complement(T const& mu, T const& epsilon) {
  detail::check_gaussian("gaussian_profile_complement", mu, epsilon);
  return detail::gaussian_profile_value(mu, epsilon).complement;
}

/// log δ(ε) for ε ≥ 0, also where δ itself underflows.
/// Guarantee: nearest; error ≤ 5e-14 + 9e-16·|log δ| in double (measured a quarter of it).
/// @throws std::domain_error unless mu ≥ 0 and epsilon is finite and at least 0
template <real T>
[[nodiscard]] T log_gaussian_profile(T const& mu, T const& epsilon) {
  using elementary::log, elementary::log1p;
  detail::check_gaussian("log_gaussian_profile", mu, epsilon);
  detail::check_non_negative("log_gaussian_profile", "epsilon", epsilon);
  T const infinity = std::numeric_limits<T>::infinity();
  if (mu == 0) return -infinity;
  if (mu == infinity) return 0;
  detail::gaussian_ends<T> const at(mu, epsilon);
  if (!(at.b.high > -1)) return log1p(-detail::gaussian_miss(at));
  if (!(at.b.high * at.b.high <= std::numeric_limits<T>::max())) return -infinity;
  T const unit = std::numeric_limits<T>::epsilon();
  detail::two_part<T> const exponent = detail::half_square(at.b);
  if (at.b.high > 1 / unit) return exponent.high;  // b²/2, beside which log(R(b) − R(c)) is nothing
  T const root_two_pi = detail::constants::root_two_pi<T>();
  // R(b) − R(c) is proportional to a small μ, and subnormal numbers have too few digits.
  T const least = unit * unit;
  bool const tiny = mu < least;
  auto const [smooth, pole] = detail::difference_of_mills(at.b.high, at.c, tiny ? least : mu,
                                                          tiny ? least * (epsilon / mu) : epsilon);
  // Below the pole's end e^{b²/2} is harmless.
  T const scale = pole > 0 ? smooth + root_two_pi * pole / detail::bell(at.b) : smooth;
  T level = log(scale / root_two_pi);
  if (tiny) level = level + log(mu / least);
  return exponent.high + level + exponent.low;
}

/// The bound on the relative error of `gaussian_profile`, `gaussian_profile_complement` and
/// `normal_tail` in double where the value is at least 1e-290: docs/certificates/gaussian.md. Measured
/// errors are below 1e-14.
inline constexpr double gaussian_error = 5e-14;

namespace detail {

/// By how much log δ, log(1−Φ) and the logarithm of a probability may be off, of the given sizes.
[[nodiscard]] inline double log_slack(double level, double aim) {
  constexpr double rounding = (function_units + 4.0) * unit_roundoff;
  return gaussian_error + rounding * (std::abs(level) + std::abs(aim));
}

/// Below 1e-290 products underflow; the smallest normal number covers what they lose.
[[nodiscard]] inline bound<double> around_gaussian(double value) {
  double const lost = value < 1e-290 ? std::numeric_limits<double>::min() : 0.0;
  return {std::max(0.0, value * (1.0 - gaussian_error) - lost),
          value * (1.0 + gaussian_error) + lost};
}

/// By how much δ(ε) exceeds an aim, as a difference of logarithms of δ, or near 1 of 1 − δ: the
/// form in which both are good to `slack`.
struct profile_excess {
  double value;
  double by_epsilon;  // derivative, negative
  double by_log_mu;   // derivative, positive
  double slack;
};

template <real T>
class profile_aim {
 public:
  explicit profile_aim(double delta)
      : by_complement_(delta > 0.5),
        aim_(by_complement_ ? 1.0 - delta : delta),
        log_aim_(elementary::log(aim_)) {}

  [[nodiscard]] profile_excess operator()(double mu, double epsilon) const {
    gaussian_ends<T> const at(mu, epsilon);
    double const b = at.b.high;
    double const tail = mills_ratio(at.c);
    double level;
    double ratio;  // δ/φ(b), or (1−δ)/φ(b): R(b) ∓ R(c)
    if (by_complement_) {
      // δ > ½ needs b < 0. Elsewhere the sign alone matters.
      ratio = mills_ratio(std::max(0.0, -b)) + tail;
      level =
          half_square(at.b).high + elementary::log(ratio / root_two_pi()) + half_square(at.b).low;
      if (!(b < 0.0)) level = elementary::log(gaussian_profile_complement(mu, epsilon));
    } else {
      level = log_gaussian_profile(mu, epsilon);
      ratio = elementary::exp(level - half_square(at.b).high) * root_two_pi();
    }
    double value = by_complement_ ? log_aim_ - level : level - log_aim_;
    double slack = log_slack(level, log_aim_);
    if (!by_complement_ && aim_ >= 2e-290 && std::abs(value) < 0.5) {
      // δ itself, without the rounding of two large logarithms.
      value = elementary::log1p((gaussian_profile(mu, epsilon) - aim_) / aim_);
      slack = gaussian_error + 8.0 * unit_roundoff;
    }
    return {value, -tail / ratio, mu / ratio, slack};
  }

 private:
  static double root_two_pi() { return constants::root_two_pi<double>(); }

  bool by_complement_;
  double aim_;
  double log_aim_;
};

}  // namespace detail

/// The profile of μ-Gaussian DP, certified. ε may be negative.
/// Guarantee: lower ≤ δ(ε) ≤ upper, 1e-13 relative apart where δ ≥ 1e-290, and relative to 1 − δ
/// where that is smaller. Where δ underflows, upper is the smallest normal number (2.2e-308), never
/// 0.
/// @throws std::domain_error unless mu ≥ 0 and epsilon is finite
template <real T = double>
[[nodiscard]] bound<double> delta(gaussian_dp guarantee, double epsilon) {
  detail::check_gaussian("delta", guarantee.mu, epsilon);
  auto const [value, complement] = detail::gaussian_profile_value<T>(guarantee.mu, epsilon);
  if (value == 0.0 && guarantee.mu == 0.0) return {0.0, 0.0};
  if (value <= 0.5) return detail::around_gaussian(value);
  if (guarantee.mu == std::numeric_limits<double>::infinity()) return {1.0, 1.0};
  bound<double> const rest = detail::around_gaussian(complement);
  return {detail::subtract_down(1.0, rest.upper), detail::add_up(1.0, -rest.lower)};
}

/// The ε ≥ 0 with δ(ε) = delta; 0 where δ(0) = 2Φ(μ/2) − 1 is no more than delta.
/// Guarantee: lower ≤ ε ≤ upper, 1e-12 relative apart, but for δ next to δ(0): there the last
/// digits of δ decide about ε, and the bounds lie up to 1e-12·δ/|δ′(ε)| apart. upper is ∞ where
/// μ²/2 overflows or is next to that.
/// Newton's method on log δ (or log(1−δ) near 1), which is concave in ε; the ends are then
/// evaluated.
/// @throws std::domain_error unless mu ≥ 0 and delta is in (0, 1)
template <real T = double>
[[nodiscard]] bound<double> epsilon(gaussian_dp guarantee, double delta) {
  double const mu = guarantee.mu;
  detail::require_domain(mu >= 0.0, "epsilon", "mu", mu, "at least 0");
  detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
  if (mu == 0.0) return {0.0, 0.0};
  // δ(ε) ≤ Φ(−b).
  double const most = mu * (0.5 * mu + normal_tail_inverse(delta)) * (1.0 + 1e-13);
  if (!(most <= 0.25 * std::numeric_limits<double>::max())) {  // so that steps are finite, too
    return {0.0, std::numeric_limits<double>::infinity()};
  }
  detail::profile_aim<T> const excess(delta);
  auto const fits = [&](double at) {
    detail::profile_excess const e = excess(mu, at);
    return e.value <= -e.slack;
  };
  if (fits(0.0)) return {0.0, 0.0};
  double const value =
      most > 0.0 ? detail::newton_between({0.0, most}, most, false,
                                          [&](double at) {
                                            detail::profile_excess const e = excess(mu, at);
                                            return std::pair(e.value, e.by_epsilon);
                                          })
                 : 0.0;
  detail::profile_excess const there = excess(mu, value);
  double step =
      -1.5 * there.slack / there.by_epsilon + 1e-15 * value + std::numeric_limits<double>::min();
  bound<double> result{value - step, value + step};
  while (result.upper < std::numeric_limits<double>::infinity() && !fits(result.upper)) {
    result.upper = value + (step *= 2.0);
  }
  for (step = value - result.lower; result.lower > 0.0; result.lower = value - (step *= 2.0)) {
    detail::profile_excess const e = excess(mu, result.lower);
    if (e.value >= e.slack) break;
  }
  result.lower = std::max(0.0, result.lower);
  return result;
}

/// The largest μ whose μ-Gaussian DP implies (ε, δ)-DP: what a run of unsampled Gaussians may
/// spend.
/// Guarantee: feasible end; δ(ε) ≤ delta in exact arithmetic, within 1e-12 relative of the best μ.
/// δ = 0 leaves no Gaussian (μ = 0); δ = 1 allows all (μ = ∞).
/// @throws std::domain_error unless epsilon is finite and at least 0, and delta in [0, 1]
template <real T = double>
[[nodiscard]] gaussian_dp gaussian_dp_for(approx_dp target) {
  detail::check_non_negative("gaussian_dp_for", "epsilon", target.epsilon);
  detail::check_probability("gaussian_dp_for", "delta", target.delta);
  if (target.delta == 0.0) return {0.0};
  if (target.delta == 1.0) return {std::numeric_limits<double>::infinity()};
  // Two that surely fit: δ ≤ Φ(−b), and δ(ε) ≤ δ(0) ≤ μ/√2π.
  double const z = normal_tail_inverse(target.delta);
  double const root = elementary::hypot(z, std::sqrt(2.0) * std::sqrt(target.epsilon));
  double const by_tail = z > 0.0 ? 2.0 * (target.epsilon / (z + root)) : root - z;
  double const low = std::max(by_tail, 2.5 * target.delta) * (1.0 - 1e-13);
  detail::profile_aim<T> const excess(target.delta);
  double high = low;
  do {
    high *= 2.0;
  } while (excess(high, target.epsilon).value <= 0.0);
  double const log_mu = detail::newton_between(
      {0.0, elementary::log(high / low)}, elementary::log(high / low), true, [&](double log_share) {
        detail::profile_excess const e = excess(low * elementary::exp(log_share), target.epsilon);
        return std::pair(e.value, e.by_log_mu);
      });
  double const best = low * elementary::exp(log_mu);
  detail::profile_excess const there = excess(best, target.epsilon);
  for (double step = 1.5 * there.slack / there.by_log_mu + 1e-15; step < 1.0; step *= 2.0) {
    double const mu = best * (1.0 - step);
    detail::profile_excess const e = excess(mu, target.epsilon);
    if (e.value <= -e.slack) return {mu};
  }
  return {low};
}

/// What several μ-Gaussian DP releases make together: √Σμ², also where each depends on earlier
/// outputs.
/// Guarantee: upper bound, 4e-15 relative above the truth at most.
/// @throws std::domain_error unless every mu is at least 0
[[nodiscard]] inline gaussian_dp composition_of(std::span<gaussian_dp const> guarantees) {
  double largest = 0.0;
  for (gaussian_dp const each : guarantees) {
    detail::require_domain(each.mu >= 0.0, "composition_of", "mu", each.mu, "at least 0");
    largest = std::max(largest, each.mu);
  }
  if (guarantees.size() == 1 || largest == 0.0 ||
      largest == std::numeric_limits<double>::infinity()) {
    return {largest};
  }
  compensated_sum<double> squares;
  for (gaussian_dp const each : guarantees) squares += (each.mu / largest) * (each.mu / largest);
  return {largest * std::sqrt(squares.value()) * (1.0 + 2e-15) +
          std::numeric_limits<double>::denorm_min()};
}

/// The trade-off curve Φ(Φ⁻¹(1−α) − μ): no test of N(0, 1) against N(μ, 1) with false positive rate
/// α has a smaller false negative rate.
/// Guarantee: nearest; relative error ≤ 1e-12 in double where α, 1−α and the value are ≥ 1e-300.
/// `false_negative_rate` is certified.
/// @throws std::domain_error unless mu ≥ 0 and the rate is in [0, 1]
template <real T>
[[nodiscard]] T gaussian_trade_off(T const& mu, T const& false_positive_rate) {
  detail::require_domain(mu >= 0, "gaussian_trade_off", "mu", mu, "at least 0");
  detail::check_probability("gaussian_trade_off", "false_positive_rate", false_positive_rate);
  if (false_positive_rate == 0) return mu < std::numeric_limits<T>::infinity() ? 1 : 0;
  if (mu == 0) return 1 - false_positive_rate;
  return normal_tail(mu - normal_tail_inverse(false_positive_rate));
}

/// The least false negative rate of any attack with at most this false positive rate, against a
/// μ-Gaussian DP release.
/// Guarantee: lower bound (no attack does better): Φ(z − μ) at a z with 1 − Φ(z) ≥ α. About 1e-12
/// relative under the curve where that is ≥ 1e-290, and more by what z·|z − μ| exceeds 10.
/// @throws std::domain_error unless mu ≥ 0 and the rate is in [0, 1]
template <real T = double>
[[nodiscard]] double false_negative_rate(gaussian_dp guarantee, double false_positive_rate) {
  double const mu = guarantee.mu;
  double const alpha = false_positive_rate;
  double const value = gaussian_trade_off(mu, alpha);
  if (mu == 0.0) return detail::subtract_down(1.0, alpha);
  if (alpha == 0.0 || alpha == 1.0) return value;
  // log(1 − Φ(z)) against log α, or above ½ log Φ(z) against log(1 − α), which is exact.
  bool const above = alpha > 0.5;
  double const aim = elementary::log(above ? 1.0 - alpha : alpha);
  double const start = normal_tail_inverse(alpha);
  double z = start;
  for (double step = 1e-15 * (1.0 + std::abs(start)); z > -40.0; step *= 2.0) {
    z = start - step;
    double const level = log_normal_tail(above ? -z : z);
    double const slack = detail::log_slack(level, aim);
    if (above ? level <= aim - slack : level >= aim + slack) break;
  }
  double const rate = normal_tail(detail::subtract_up(mu, z));
  double const lost = rate < 1e-290 ? std::numeric_limits<double>::min() : 0.0;
  return std::max(0.0, rate * (1.0 - gaussian_error) - lost);
}

#if defined(TACIT_COMPILED)
extern template bound<double> delta<double>(gaussian_dp, double);
extern template bound<double> epsilon<double>(gaussian_dp, double);
extern template gaussian_dp gaussian_dp_for<double>(approx_dp);
#endif

}  // namespace tacit
