// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/quadrature.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/certified.hpp>
#include <tacit/info/entropy.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <type_traits>

/// The binary-input Gaussian channel: a secret sign S = ±1 with P(S = +1) = q, seen as
/// Y = S + N(0, σ²). All information is in nats.
///
/// Two evaluations, each a trapezoid sum of positive terms (docs/accuracy.md has the derivation and
/// the error bound). Throughout, a = 1/σ, p = 1 − q, q the minority mass.
///
/// *Direct.* Fold y and −y together; with L = 2as and E = expm1(−L),
///   I = ∫₀^∞ N(s; a, 1)·[q|E|L − (1+pE)·φ(qE/(1+pE)) − ψ(qE)] ds,
/// φ and ψ of core/log.hpp. The bracket is ψ(E) − ψ(qE) − ψ(pE), arranged so that it loses at most a
/// factor 3, for any q down to the smallest double and any σ up to 1e150.
///
/// *By equivocation*, where the channel reveals most of the sign and h − I would cancel:
///   H(S|Y) = p·e^{−b²/2}·(σ/√(8π))·∫ e^{−κu − σ²u²/8}·2cosh(u/2)·h(sigmoid u) du,
/// u = log-odds of the posterior, λ = log(q/p), b = a + |λ|σ/2, κ = |λ|σ²/4. The exponent b²/2 is
/// carried in two doubles, so that H keeps its relative accuracy where it is 1e-290.

namespace tacit {

template <real T = double>
struct basic_binary_channel {
  T prior = std::numeric_limits<T>::quiet_NaN();  // q = P(S = +1); by symmetry 1 − q serves as well
  T sigma = std::numeric_limits<T>::quiet_NaN();  // absolute standard deviation; the signal is ±1
};
using binary_channel = basic_binary_channel<double>;

namespace detail {

template <real T>
struct channel_sums {
  T information;
  T mmse;
};

template <real T>
[[nodiscard]] T minority(T const& prior) {
  T const rest = 1 - prior;
  return prior < rest ? prior : rest;
}

/// log((1 − q)/q), also for a subnormal q, where the quotient overflows.
template <real T>
[[nodiscard]] T log_odds(T const& q) {
  using elementary::log;
  T const odds = (1 - q) / q;
  return odds <= std::numeric_limits<T>::max() ? log(odds) : -log(q);
}

/// I(S;Y) and the minimum mean square error, by the direct formula.
template <real T>
[[nodiscard]] channel_sums<T> direct_sums(T const& q, T const& sigma,
                                          double range = quadrature_range<T>) {
  using elementary::exp, elementary::expm1, elementary::log, std::sqrt;
  T const pi = constants::pi<T>();
  T const reach = T(std::sqrt(2.0 * range));  // standard deviations until N is below e^−range
  T const p = 1 - q;
  T const a = 1 / sigma;
  // The bracket is analytic up to |Im s| = πσ/2, where its logarithms have their branch points; the
  // normal density grows by e^{d²/2} on the way.
  T const widest = pi * sigma / 2;
  T const d = widest < reach ? widest : reach;
  T const step = 2 * pi * d / (T(range) + d * d / 2);

  T information = 0;
  T mmse = 0;
  int k = a > reach ? static_cast<int>((a - reach) / step) : 0;
  if (k == 0) {
    mmse = exp(-a * a / 2);  // half the node at s = 0, where the bracket vanishes
    k = 1;
  }
  T const slope = -2 * (a * step);
  T const ratio = expm1(slope);  // E at s = step
  T power = expm1(slope * T(static_cast<double>(k - 1)));
  T const end = a + reach;
  for (;; ++k) {
    T const s = step * T(static_cast<double>(k));
    if (!(s <= end)) break;
    T const x = s - a;
    T const weight = exp(-x * x / 2);
    T const L = 2 * (a * s);
    // 1 + E and 1 + pE = q + p(1 + E) as sums of positive terms: for small q both may be tiny. Near
    // the centre 1 + E is a power, and E grows by terms of one sign: half an ulp a node, 14 at most.
    bool const near_centre = L < 0.69;
    if (near_centre) power = power + ratio * (1 + power);
    T const rest = near_centre ? 1 + power : exp(-L);
    T const E = near_centre ? power : rest - 1;
    T const qE = q * E;
    T const plus = rest - qE;  // 1 + pE, the density of Y at s over N(s; a, 1)
    T const minus = 1 + qE;    // and at −s
    // (1 + pE)·φ(qE/(1 + pE))
    T const bend = -qE < plus / 2 ? log1p_residual(qE, plus) : qE + plus * (L + log(plus));
    information = information + weight * (-qE * L - bend - entropy_residual(qE, minus));
    mmse = mmse + weight * rest * (1 + rest) / (plus * minus);
  }
  T const measure = step / constants::root_two_pi<T>();
  return {measure * information, measure * mmse * (4 * (q * p))};
}

/// e^{−b²/2}, b = 1/σ + |log(q/p)|·σ/2, with an exponent good to the last place even where it is in
/// the hundreds and a plain one would cost e^{−b²/2} two or three digits.
template <real T>
[[nodiscard]] T saturated_scale(T const& q, T const& sigma) {
  using elementary::exp, elementary::log, elementary::log1p;
  if constexpr (std::is_floating_point_v<T>) {
    struct pair {
      T high;
      T low;
    };
    auto const add = [](pair x, pair y) {
      T const sum = x.high + y.high;
      T const part = sum - x.high;
      return pair{sum, (x.high - (sum - part)) + (y.high - part) + x.low + y.low};
    };
    auto const multiply = [](pair x, pair y) {
      T const product = x.high * y.high;
      return pair{product, std::fma(x.high, y.high, -product) + (x.high * y.low + x.low * y.high)};
    };
    // |λ| = log(p/q): the exponent of q times log 2 in two parts, and a remainder below 1.4.
    constexpr T log2_low = std::is_same_v<T, double> ? T(2.3190468138462996e-17) : T(0);
    int exponent = 0;
    T const mantissa = std::frexp(q, &exponent);
    pair const odds =
        add(multiply({static_cast<T>(-exponent), 0}, {constants::ln_two<T>(), log2_low}),
            {log1p(-q) - log(mantissa), 0});
    pair const square = multiply({sigma, 0}, {sigma, 0});
    T const inverse = 1 / square.high;
    pair const energy{inverse,
                      (std::fma(-inverse, square.high, T(1)) - inverse * square.low) * inverse};
    pair const shift = multiply(multiply(odds, odds), {square.high / 4, square.low / 4});
    pair const exponent_pair = add(add(energy, odds), shift);
    return exp(-exponent_pair.high / 2) * (1 - exponent_pair.low / 2);
  } else {
    T const odds = log_odds(q);
    T const b = 1 / sigma + odds * sigma / 2;
    return exp(-b * b / 2);
  }
}

/// H(S|Y) and the minimum mean square error, by the equivocation formula; needs σ²|λ| < 2.
template <real T>
[[nodiscard]] channel_sums<T> saturated_sums(T const& q, T const& sigma,
                                             double range = quadrature_range<T>) {
  using elementary::exp, elementary::log, elementary::log1p, std::sqrt;
  if (!(sigma > T(1e-6))) return {0, 0};  // e^{−5e11}: below every exponent range
  T const pi = constants::pi<T>();
  T const p = 1 - q;
  T const odds = log_odds(q);
  T const curvature = sigma * sigma / 8;
  T const lean = 2 * odds * curvature;  // κ
  T const slow = T(0.5) - lean;
  // h(sigmoid u) has its branch points at ±iπ.
  T const step = 2 * pi * pi / (T(range) + pi * pi * curvature);
  T const end = 2 * T(range) / (slow + sqrt(slow * slow + T(4 * range) * curvature));
  T equivocation = 2 * constants::ln_two<T>();  // the node at u = 0
  T mmse = 2;
  // e^{−v} and e^{−2κv} are powers of their first: they lose an ulp a node while the terms vanish.
  T const tail_ratio = exp(-step);
  T const lean_ratio = exp(-2 * lean * step);
  T tail = 1;
  T mirror = 1;
  for (std::size_t k = 1;; ++k) {
    T const v = step * T(static_cast<double>(k));
    if (!(v <= end)) break;
    tail = tail * tail_ratio;
    mirror = mirror * lean_ratio;
    T const weight = exp(-slow * v - curvature * v * v) * (1 + mirror);
    T const rest = 1 + tail;
    T const ratio = tail > 0 ? log1p(tail) / tail : 1;
    equivocation = equivocation + weight * (rest * ratio + v);
    mmse = mmse + weight * (4 / rest);
  }
  T const measure = step * sigma / sqrt(8 * pi);
  T const scale = measure * p * saturated_scale(q, sigma);
  return {scale * equivocation, scale * mmse};
}

/// Whether the channel reveals about half of the entropy or more, where the two evaluations change
/// over: σ²·max(|log(q/p)|, 2.09) < 2.
template <real T>
[[nodiscard]] bool saturated(T const& q, T const& sigma) {
  T const square = sigma * sigma;
  if (!(square < 0.9585)) return false;
  return square * log_odds(q) < 2;
}

template <real T>
void check_channel(std::string_view function, basic_binary_channel<T> const& channel) {
  check_probability(function, "prior", channel.prior);
  require_domain(channel.sigma >= 0, function, "sigma", channel.sigma, "at least 0");
}

/// No noise, or no signal, or nothing to tell: the cases that need no quadrature.
template <real T>
[[nodiscard]] bool degenerate(T const& q, T const& sigma) {
  return q == 0 || sigma == 0 || 1 / sigma == 0;
}

}  // namespace detail

/// I(S;Y), in nats.
/// σ = 0 gives the entropy h(q), σ = ∞ gives 0.
/// Guarantee: nearest; relative error ≤ 1e-14 in double wherever the value is ≥ 1e-290. A σ so small that
/// H(S|Y) is below all doubles gives the entropy. `information_charge` is the upper bound.
/// @throws std::domain_error unless prior is in [0, 1] and sigma ≥ 0
template <real T>
[[nodiscard]] T mutual_information(basic_binary_channel<T> const& channel) {
  detail::check_channel("mutual_information", channel);
  T const q = detail::minority(channel.prior);
  if (detail::degenerate(q, channel.sigma)) {
    return channel.sigma == 0 ? binary_entropy(q) : 0;
  }
  return detail::saturated(q, channel.sigma)
             ? binary_entropy(q) - detail::saturated_sums(q, channel.sigma).information
             : detail::direct_sums(q, channel.sigma).information;
}

/// H(S|Y) = h(q) − I(S;Y), in nats: what an observer of Y still does not know.
/// Guarantee: nearest; relative error in double ≤ 1e-14 wherever H is ≥ 1e-290 and the noise is below the change-over
/// of the two formulas, also where H is a tiny part of h; above it H is h − I, at first some 2 % of h where q is
/// 1e-250, and ≤ 3e-12 (docs/accuracy.md; measured 2e-13).
/// @throws std::domain_error unless prior is in [0, 1] and sigma ≥ 0
template <real T>
[[nodiscard]] T equivocation(basic_binary_channel<T> const& channel) {
  detail::check_channel("equivocation", channel);
  T const q = detail::minority(channel.prior);
  if (detail::degenerate(q, channel.sigma)) {
    return channel.sigma == 0 ? 0 : binary_entropy(q);
  }
  return detail::saturated(q, channel.sigma)
             ? detail::saturated_sums(q, channel.sigma).information
             : binary_entropy(q) - detail::direct_sums(q, channel.sigma).information;
}

/// E[(S − E[S|Y])²], the error of the best estimate of the sign: 4q(1−q) for σ = ∞, 0 for σ = 0. The slope
/// of the information is dI/dσ = −mmse/σ³ (Guo, Shamai & Verdú 2005).
/// Guarantee: nearest; the accuracy of `mutual_information`.
/// @throws std::domain_error unless prior is in [0, 1] and sigma ≥ 0
template <real T>
[[nodiscard]] T mmse(basic_binary_channel<T> const& channel) {
  detail::check_channel("mmse", channel);
  T const q = detail::minority(channel.prior);
  if (detail::degenerate(q, channel.sigma)) {
    return channel.sigma == 0 ? 0 : 4 * q * (1 - q);
  }
  return detail::saturated(q, channel.sigma) ? detail::saturated_sums(q, channel.sigma).mmse
                                             : detail::direct_sums(q, channel.sigma).mmse;
}

namespace detail {

/// One evaluation, at an energy 1/σ², in search of the energy where I = aim. `next` is a step of
/// Newton's method, on log I or near saturation on log H(S|Y): each is nearly straight there.
struct energy_trial {
  double energy = std::numeric_limits<double>::quiet_NaN();
  double information = 0.0;
  double mmse = 0.0;
  double next = 0.0;
};

[[nodiscard]] inline energy_trial try_energy(double q, double entropy, double energy, double aim,
                                             double range) {
  double const sigma = 1.0 / std::sqrt(energy);
  if (saturated(q, sigma)) {
    auto const [left, error] = saturated_sums(q, sigma, range);
    double const move = elementary::log(left / (entropy - aim)) * 2.0 * left / error;
    return {energy, entropy - left, error, energy + move};
  }
  auto const [information, error] = direct_sums(q, sigma, range);
  double const slope = 0.5 * error * energy / information;
  return {energy, information, error,
          energy * elementary::exp(elementary::log(aim / information) / slope)};
}

/// The energy where I = aim, to about 1e-7 and with no certificate: on half of the nodes, each worth
/// half as much to Newton's method as to the certificate that follows.
[[nodiscard]] inline double rough_energy(double q, double entropy, double aim) {
  // From I = c(1 − e^{−v/(2cσ²)}), v = 4q(1−q): right to second order in 1/σ² for c = ½, and with its
  // true limit for c = h.
  double const variance = 4.0 * q * (1.0 - q);
  double const c = std::max(entropy, 0.5);
  double energy = -2.0 * c / variance * elementary::log1p(-aim / c);
  for (int step = 0; step < 8; ++step) {
    double const next = try_energy(q, entropy, energy, aim, 20.0).next;
    if (!(next > 0.0 && next < std::numeric_limits<double>::max())) break;
    bool const settled = std::abs(next - energy) < 1e-3 * energy;
    energy = next;
    if (settled) break;
  }
  return energy;
}

}  // namespace detail

/// What a ledger is charged for showing Y: an upper bound of I(S;Y), in nats.
/// Guarantee: upper bound, 1e-13 relative above the truth at most where that is ≥ 1e-290.
/// @throws std::domain_error unless prior is in [0, 1] and sigma ≥ 0
[[nodiscard]] inline nats information_charge(binary_channel const& channel) {
  double const information = mutual_information(channel);
  return nats(detail::degenerate(detail::minority(channel.prior), channel.sigma) &&
                      information == 0.0
                  ? 0.0
                  : detail::raised(information));
}

/// The smallest σ that keeps I(S;Y) within the budget, for a channel whose noise is not yet chosen:
///   double const sigma = noise_for(binary_channel{.prior = 0.5}, 0.33_nats);
///
/// Guarantee: feasible end. I(S;Y) ≤ budget in exact arithmetic, because a σ is accepted only if the
/// computed I, or a tangent that lies above I, fits when raised by its proven error bound; and
/// I ≥ budget·(1 − 1e-12) for budgets from 1e-290 up to the entropy. There the charge fits as well:
/// information_charge ≤ budget.
///   budget 0: +∞ (no signal at all).   budget ≥ entropy: 0 (no noise is needed).
///
/// Small budgets have a closed form: mmse ≤ 4qp gives I ≤ 2qp/σ², and d mmse/d(1/σ²) ≥ −mmse gives
/// I ≥ 2qp/σ²·(1 − 1/(2σ²)). Elsewhere Newton's method on few nodes, one evaluation on all of them,
/// and one last step along the tangent: I is concave in the energy e = 1/σ² (its slope mmse/2 falls),
/// and I″ ≥ −mmse/2, so that the tangent lies above I by mmse·Δe²/4 at most.
/// @throws std::domain_error unless prior is in [0, 1] and budget ≥ 0; std::invalid_argument if the
///         channel already has a sigma
[[nodiscard]] inline double noise_for(binary_channel const& channel, nats budget) {
  detail::check_noise_request(channel.prior, budget, channel.sigma != channel.sigma, "sigma");
  double const q = detail::minority(channel.prior);
  double const beta = budget.value;
  if (beta == 0.0) return std::numeric_limits<double>::infinity();
  double const entropy = binary_entropy(q);
  if (q == 0.0 || beta >= detail::raised(entropy)) return 0.0;

  double const variance = 4.0 * q * (1.0 - q);
  double const least_energy = 2.0 * beta / variance;  // of 1/σ²: I ≤ variance/(2σ²)
  if (least_energy <= 1e-12 || beta < 1e-290) {
    double const square = variance / 2.0 / beta;
    double const sigma = square <= std::numeric_limits<double>::max()
                             ? std::sqrt(square)
                             : std::sqrt(variance / 2.0) / std::sqrt(beta);
    return sigma * (1.0 + 2.0 * information_error);
  }
  double const start = detail::rough_energy(q, entropy, beta * (1.0 - 3.0 * information_error));
  detail::energy_trial last;
  double const energy = detail::spend_nearly(beta, start, true, [&](double trial, double aim) {
    double const move = trial - last.energy;
    if (std::abs(move) < 0.01 * std::min(trial, 1.0) &&
        last.mmse * move * move < 3.9e-13 * last.information) {
      double const tangent = last.information + 0.5 * last.mmse * move;
      return detail::spending_step{tangent, trial + 2.0 * (aim - tangent) / last.mmse};
    }
    last = detail::try_energy(q, entropy, trial, aim, detail::quadrature_range<double>);
    return detail::spending_step{last.information, last.next};
  });
  return 1.0 / std::sqrt(energy);
}

#if defined(TACIT_COMPILED)
namespace detail {
extern template channel_sums<double> direct_sums(double const&, double const&, double);
extern template channel_sums<double> saturated_sums(double const&, double const&, double);
}  // namespace detail
extern template double mutual_information(binary_channel const&);
extern template double equivocation(binary_channel const&);
extern template double mmse(binary_channel const&);
#endif

}  // namespace tacit
