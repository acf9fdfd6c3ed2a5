// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/dp/rdp/divergence.hpp>
#include <tacit/dp/rdp/dual_bound.hpp>
#include <tacit/dp/rdp/table.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>

/// From one Rényi divergence to (ε, δ), as tightly as that one number allows, and what sampling without
/// replacement does to a Rényi curve.
///
/// Given D_α(P‖Q) ≤ r, let z = α−1, m = e^{zr}, λ = e^ε and Y = dP/dQ: E Y = 1 and E Y^α ≤ m under Q. The
/// largest δ = E(Y−λ)₊ has a Y of two values t < 1 < s (averaging Y on each side of λ keeps E Y and δ
/// and lowers E Y^α). Its dual is what bounds here: the tangent construction
///   (Y−λ)₊ ≤ a·[Y^α − αt^{z}Y + zt^α],   a = 1/(α(s^z−t^z)),   λ = (z/α)·[s + t^z(s−t)/(s^z−t^z)]
/// holds for every t in [0, 1) and s > t, and its expectation is δ ≤ a·(m − αt^z + zt^α). So every t
/// gives a proven bound, t = 0 gives δ = e^{z(r−ε)}/z·(1−1/α)^α (Balle et al. 2020, Canonne, Kamath &
/// Steinke 2020 and Asoodeh et al. 2021, who write the same bound in three ways), and the best t the
/// optimum, which meets the two-valued Y above. Mironov 2017, δ = e^{z(r−ε)}, is never better.

namespace tacit {

namespace detail {

/// The dual bound for t = e^{−ℓ}; what does not depend on t is computed once.
template <real T>
class renyi_dual {
 public:
  renyi_dual(T const& order, T const& divergence) : order_(order), z_(order - 1) {
    using elementary::exp, elementary::expm1, elementary::log, elementary::log1p;
    log_moment_ = z_ * divergence;
    log_excess_ = log_expm1(log_moment_);
    log_scale_ = log(z_ / order_);
  }

  [[nodiscard]] T const& z() const { return z_; }
  [[nodiscard]] T const& log_moment() const { return log_moment_; }

  /// log(m − αt^z + zt^α), as (m − 1) + t^z·[z(e^{−ℓ}−1+ℓ) + (e^{zℓ}−1−zℓ)], positive terms.
  [[nodiscard]] T log_excess(T const& fall) const {
    using elementary::log;
    T const tilt = z_ * fall;
    T const lift = z_ * scaled_residual(-tilt, -fall) + scaled_residual(-tilt, tilt);
    return lift > 0 ? log_add(log_excess_, log(lift)) : log_excess_;
  }

  struct place {
    T log_s;
    T log_lambda;
  };

  /// log s and log λ where the bound equals δ.
  [[nodiscard]] place from_delta(T const& fall, T const& log_delta) const {
    using elementary::log;
    T const log_gap = log_excess(fall) - log(order_) - log_delta;  // log(s^z − t^z)
    T const log_s = log_add(-z_ * fall, log_gap) / z_;
    return {log_s, log_lambda(fall, log_s, log_gap)};
  }

  /// log s for a λ not above the wanted one, as near to it as rounding lets. λ rises in s, from below
  /// λ at s = λ to above it at s = λα/z.
  [[nodiscard]] T from_epsilon(T const& fall, T const& epsilon) const {
    auto const excess = [&](T const& log_s) {
      return log_lambda(fall, log_s, log_gap(fall, log_s)) - epsilon;
    };
    T const most = epsilon - log_scale_;
    T const at_least = excess(epsilon);
    T const at_most = excess(most);
    if (!(at_least < 0)) return epsilon;
    if (!(at_most > 0)) return most;
    return sign_change<T>({epsilon, most}, at_least, at_most, excess).low;
  }

  [[nodiscard]] T log_delta(T const& fall, T const& log_s) const {
    using elementary::log;
    return log_excess(fall) - log(order_) - log_gap(fall, log_s);
  }

  /// The next t for a bound at (δ, λ/s): that of the two-valued Y with the same s and δ, whose
  /// P(Y = s) is δ/(1−λ/s) under P. Negative where there is none.
  [[nodiscard]] static T next_fall(T const& log_delta, place const& at) {
    using elementary::exp, elementary::expm1, elementary::log1p;
    T const p = exp(log_delta) / -expm1(at.log_lambda - at.log_s);
    if (!(p < 1)) return -1;
    return log1p(-p * exp(-at.log_s)) - log1p(-p);
  }

 private:
  [[nodiscard]] T log_gap(T const& fall, T const& log_s) const {  // log(s^z − t^z)
    return z_ * log_s + log1m_exp(-(z_ * (fall + log_s)));
  }
  [[nodiscard]] T log_lambda(T const& fall, T const& log_s, T const& log_gap) const {
    using elementary::exp, elementary::expm1, elementary::log1p;
    T const other = exp(-z_ * fall - log_gap) * -expm1(-fall - log_s);
    return log_scale_ + log_s + log1p(other);
  }

  T order_;
  T z_;
  T log_moment_;
  T log_excess_;
  T log_scale_;
};

/// Where next(fall) = fall, starting near there. `next` is −1 where the wanted t is beyond all, and
/// log next − log fall falls; it records the bounds that it meets.
template <real T, class Next>
void settle_fall(T const& start, Next&& next) {
  using elementary::exp, elementary::log;
  double const tolerance = 1e-7;
  sign_search<T> search;
  T x = log(start);
  for (int round = 0; round < 80; ++round) {
    T const wanted = next(exp(x));
    T const excess = wanted > 0 ? log(wanted) - x : std::numeric_limits<T>::infinity();
    if (excess < tolerance && excess > -tolerance) return;
    search.put(x, excess);
    if (search.closed()) {
      if (!(search.ends().width() > tolerance)) return;
      x = search.next();
    } else {
      x = excess < 3 ? x + excess : x + T(1.5);
      if (x > 6 || x < -700) return;
    }
  }
}

template <real T>
void check_renyi(std::string_view function, T const& order, T const& divergence) {
  require_domain(order > 1 && order <= std::numeric_limits<T>::max(), function, "order", order,
                 "finite and above 1");
  require_domain(divergence >= 0, function, "divergence", divergence, "at least 0");
}

}  // namespace detail

/// The smallest ε ≥ 0 for which D_α(P‖Q) ≤ `divergence` alone implies δ(ε) ≤ δ.
/// Guarantee: upper bound, in double (dual_bound.hpp); above the optimum by less than 1e-9 relative (measured
/// 1e-12) and what rounding may have lost, about 1e-15·(divergence + log(1/δ)/(α−1)). ∞ for an infinite
/// divergence.
/// @throws std::domain_error unless order is finite and above 1, divergence ≥ 0 and δ in (0, 1)
template <real T>
[[nodiscard]] T renyi_epsilon(T const& order, T const& divergence, T const& delta) {
  using elementary::log, elementary::log1p;
  detail::check_renyi("renyi_epsilon", order, divergence);
  detail::require_domain(delta > 0 && delta < 1, "renyi_epsilon", "delta", delta, "in (0, 1)");
  if (divergence == 0) return 0;
  if (!(divergence <= std::numeric_limits<T>::max())) return divergence;
  detail::renyi_dual<T> const dual(order, divergence);
  T const log_delta = log(delta);
  T const log_share = log(order) + log_delta;  // αδ

  // t = 0.
  typename detail::renyi_dual<T>::place at{};
  at.log_s = (dual.log_moment() - log_share) / dual.z();
  at.log_lambda = at.log_s + log(dual.z() / order);
  T best = at.log_lambda;
  // All of P at Y = s, s^z = m: the optimum wherever t = 0 would ask for more than all.
  if (log_share >= 0) {
    T const whole = divergence + log1p(-delta);
    if (whole < best) best = whole;
  }
  T const share = log_share < -1 ? order * delta : T(0.4);
  T best_fall = std::numeric_limits<T>::infinity();
  detail::settle_fall(-log1p(-share), [&](T const& fall) {
    at = dual.from_delta(fall, log_delta);
    if (at.log_lambda <= best) {  // the later one, where rounding hides which
      best = at.log_lambda;
      best_fall = fall;
    }
    return detail::renyi_dual<T>::next_fall(log_delta, at);
  });
  if constexpr (std::is_same_v<T, double>) {
    detail::dual_bound const certified(order, divergence);
    return std::max(0.0, std::min({certified.epsilon(detail::infinite_double, delta),
                                   certified.epsilon(best_fall, delta),
                                   detail::tangent_epsilon(order, divergence, delta)}));
  }
  T const rounding = std::numeric_limits<T>::epsilon() *
                     (4 * divergence + (16 + 4 * detail::magnitude(log_share)) / dual.z() + 8);
  // Nothing to pay for where the bound is below 0 even so.
  T const raised = best + rounding;
  return raised > 0 ? raised : 0;
}

namespace detail {

/// log of the smallest δ that D_α(P‖Q) ≤ r implies at ε, not cut off at log 1 = 0: a search over the orders needs
/// the slope beyond it.
template <real T>
[[nodiscard]] T open_log_renyi_delta(T const& order, T const& divergence, T const& epsilon) {
  using elementary::exp, elementary::expm1, elementary::log, elementary::log1p;
  check_renyi("renyi_delta", order, divergence);
  check_non_negative("renyi_delta", "epsilon", epsilon);
  if (divergence == 0) return -std::numeric_limits<T>::infinity();
  if (!(divergence <= std::numeric_limits<T>::max())) return divergence;
  renyi_dual<T> const dual(order, divergence);
  T const& z = dual.z();
  T const log_scale = log(z / order);
  T best = dual.log_moment() - z * epsilon + z * log_scale - log(order);
  if (epsilon < divergence + log_scale) {
    T const whole = log(-expm1(epsilon - divergence));
    if (whole < best) best = whole;
  }
  T const share = best < 0 ? order * exp(best) : 1;
  T best_fall = std::numeric_limits<T>::infinity();
  T best_log_s = 0;
  settle_fall(-log1p(-(share < 0.4 ? share : T(0.4))), [&](T const& fall) {
    T const log_s = dual.from_epsilon(fall, epsilon);
    T const bound = dual.log_delta(fall, log_s);
    if (bound <= best) {
      best = bound;
      best_fall = fall;
      best_log_s = log_s;
    }
    return renyi_dual<T>::next_fall(bound, {log_s, epsilon});
  });
  if constexpr (std::is_same_v<T, double>) {
    dual_bound const certified(order, divergence);
    double const plain = certified.log_delta(infinite_double, 0.0, epsilon);
    double const found = std::min({plain, certified.log_delta(best_fall, best_log_s, epsilon),
                                   tangent_log_delta(order, divergence, epsilon)});
    // No δ is above 1: a slope for the search, where there is nothing else.
    return found < -unit_roundoff ? found : std::max(found, plain);
  }
  return best + std::numeric_limits<T>::epsilon() *
                    (8 * (dual.log_moment() + z * epsilon) + 8 * magnitude(best) + 32);
}

}  // namespace detail

/// log of the smallest δ that D_α(P‖Q) ≤ `divergence` alone implies at ε, at most 0; −∞ for none.
/// Guarantee: upper bound, as `renyi_epsilon`.
/// @throws std::domain_error unless order is finite and above 1, divergence ≥ 0, ε finite and ≥ 0
template <real T>
[[nodiscard]] T log_renyi_delta(T const& order, T const& divergence, T const& epsilon) {
  T const level = detail::open_log_renyi_delta(order, divergence, epsilon);
  return level < 0 ? level : 0;
}

/// The smallest δ that D_α(P‖Q) ≤ `divergence` alone implies at ε; at ε = 0 a bound on the total
/// variation distance.
/// Guarantee: upper bound, as `renyi_epsilon`; never 0 unless the divergence is.
/// @throws std::domain_error unless order is finite and above 1, divergence ≥ 0, ε finite and ≥ 0
template <std::same_as<double> T = double>
[[nodiscard]] double renyi_delta(double order, double divergence, double epsilon) {
  T const level = log_renyi_delta<T>(order, divergence, epsilon);
  if (level == -std::numeric_limits<double>::infinity()) return 0.0;
  return std::min(1.0, exp(detail::enclosure(level)).upper);
}

/// The largest order that `wang_balle_kasiviswanathan` takes: its cost grows with the order.
inline constexpr double largest_without_replacement_order = 10000.0;

/// The Rényi divergence of a mechanism on a uniform batch without replacement, γ = batch/records, under
/// replace_one: for integers α
///   (α−1)·D ≤ log(1 + γ²C(α,2)·min{4(e^{ε(2)}−1), e^{ε(2)}·min{2, (e^{ε(∞)}−1)²}}
///                   + Σ_{j=3}^α γ^j C(α,j)·e^{(j−1)ε(j)}·min{2, (e^{ε(∞)}−1)^j}),
/// ε(j) the divergence of the mechanism itself under replace_one, ε(∞) its largest loss. Between the
/// integers (α−1)·D lies below the chord, because it is convex, and is 0 at 1.
/// Guarantee: upper bound. `divergence(j)` must be one.
/// Source: Wang, Balle & Kasiviswanathan 2019, Theorem 9.
/// @throws std::domain_error unless rate is in [0, 1], largest_loss ≥ 0, order in (1, 1e4]
template <class Divergence>
[[nodiscard]] double wang_balle_kasiviswanathan(
    double rate, double order, Divergence&& divergence,
    double largest_loss = std::numeric_limits<double>::infinity()) {
  char const* const me = "wang_balle_kasiviswanathan";
  detail::check_probability(me, "rate", rate);
  detail::require_domain(order > 1.0 && order <= largest_without_replacement_order, me, "order",
                         order, "above 1 and at most 1e4");
  detail::require_domain(largest_loss >= 0.0, me, "largest_loss", largest_loss, "at least 0");
  if (rate == 0.0 || largest_loss == 0.0) return 0.0;
  double const infinity = std::numeric_limits<double>::infinity();
  double const log_two = elementary::log(2.0);
  double const log_jump = log_expm1(largest_loss);  // e^{ε(∞)} − 1

  // The logarithms of e^{(j−1)ε(j)}·min{…}, each computed once.
  auto const weight = [&](std::uint64_t index) {
    double const j = static_cast<double>(index);
    double const level = divergence(j);
    if (!(level < infinity)) return infinity;
    double const capped = (j - 1.0) * level + std::min(log_two, j * log_jump);
    if (index > 2) return capped;
    return std::min(2.0 * log_two + log_expm1(level), capped);
  };

  // log M for the two integers around the order, from one pass over j.
  auto const below = static_cast<std::uint64_t>(std::floor(order));
  bool const whole = static_cast<double>(below) == order;
  std::uint64_t const above = whole ? below : below + 1;
  double const log_rate = elementary::log(rate);
  double log_upper = -infinity;  // log(M − 1)
  double log_lower = -infinity;
  double choose_upper = elementary::log(static_cast<double>(above));  // log C(above, 1)
  double choose_lower = elementary::log(static_cast<double>(below));
  for (std::uint64_t j = 2; j <= above; ++j) {
    double const k = static_cast<double>(j);
    double const common = k * log_rate + weight(j);
    choose_upper += elementary::log(static_cast<double>(above - j + 1) / k);
    log_upper = log_add(log_upper, common + choose_upper);
    if (!whole && j <= below) {
      choose_lower += elementary::log(static_cast<double>(below - j + 1) / k);
      log_lower = log_add(log_lower, common + choose_lower);
    }
  }
  // Each logarithm is off by some ulp of its largest partial sum, the sums by one ulp a term.
  double const unit = std::numeric_limits<double>::epsilon();
  auto const moment = [&](double log_excess, double integer) {
    double const lost =
        unit * (8.0 * std::abs(log_excess) + 8.0 * integer * (2.0 + std::abs(log_rate)) + 64.0);
    return log1p_exp(log_excess + lost) * (1.0 + 4.0 * unit);
  };
  double const at_upper = moment(log_upper, static_cast<double>(above));
  if (whole) return at_upper / (order - 1.0);
  double const at_lower = below == 1 ? 0.0 : moment(log_lower, static_cast<double>(below));
  double const part = order - static_cast<double>(below);
  return (at_lower + part * (at_upper - at_lower)) / (order - 1.0) * (1.0 + 4.0 * unit);
}

#if defined(TACIT_COMPILED)
extern template double renyi_epsilon<double>(double const&, double const&, double const&);
extern template double detail::open_log_renyi_delta<double>(double const&, double const&,
                                                            double const&);
#endif

}  // namespace tacit
