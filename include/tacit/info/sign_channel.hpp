// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/binary_channel.hpp>
#include <tacit/info/certified.hpp>
#include <tacit/info/entropy.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

/// The binary symmetric channel: a secret sign S = ±1 released as Y = S or, with probability e, −S.
/// It is what an observer sees of a Gaussian-noised sign of which only the sign is published, and it
/// carries 2/π of that channel's information at small budgets.

namespace tacit {

/// How a released sign is flipped: P(Y ≠ S) = `probability()` = (1 − `correlation()`)/2.
///
/// Both numbers are kept, because each loses the other's digits at one end: next to a flip probability of ½
/// no double shows a correlation of 1e-20, and next to a correlation of 1 none shows a flip probability of
/// 1e-20. The one that is at most ½ (¼) is exact; formulas and draws use that one.
template <real T = double>
class basic_flip {
 public:
  basic_flip() = default;  // NaN: a forgotten flip fails its check

  /// @throws std::domain_error unless in [0, 1]
  [[nodiscard]] static basic_flip with_correlation(T const& correlation) {
    detail::check_probability("flip", "correlation", correlation);
    return basic_flip(correlation, (1 - correlation) / 2);
  }

  /// @throws std::domain_error unless in [0, ½]
  [[nodiscard]] static basic_flip with_probability(T const& probability) {
    detail::require_domain(probability >= 0 && probability <= 0.5, "flip", "probability",
                           probability, "in [0, 0.5]");
    return basic_flip(1 - 2 * probability, probability);
  }

  [[nodiscard]] T const& correlation() const { return correlation_; }
  [[nodiscard]] T const& probability() const { return probability_; }

  friend bool operator==(basic_flip const&, basic_flip const&) = default;

 private:
  basic_flip(T const& correlation, T const& probability)
      : correlation_(correlation), probability_(probability) {}

  T correlation_ = std::numeric_limits<T>::quiet_NaN();
  T probability_ = std::numeric_limits<T>::quiet_NaN();
};
using flip = basic_flip<double>;

template <real T = double>
struct basic_sign_channel {
  T prior = std::numeric_limits<T>::quiet_NaN();  // q = P(S = +1); by symmetry 1 − q serves as well
  basic_flip<T> noise{};
};
using sign_channel = basic_sign_channel<double>;

/// The flip that remains if only the sign of S + N(0, σ²) is shown: ρ = 2Φ(1/σ) − 1.
/// Guarantee: nearest; the correlation, or the probability from ρ = ½ on, is right to 20u and to 20u·(1 + 1/σ²).
/// σ = 0 gives ρ = 1, σ = ∞ gives ρ = 0.
/// @throws std::domain_error unless sigma ≥ 0
[[nodiscard]] inline flip flip_of_gaussian(double sigma) {
  detail::require_domain(sigma >= 0.0, "flip_of_gaussian", "sigma", sigma, "at least 0");
  double const x = 1.0 / sigma;
  double const correlation = x < 0.7 ? detail::normal_centre(x) : 1.0;
  return correlation <= 0.5 ? flip::with_correlation(correlation)
                            : flip::with_probability(detail::tail_by_erfc(x));
}

namespace detail {

/// Whether a Gaussian of this σ > 0 certainly flips a sign at least as often as `noise`.
[[nodiscard]] inline bool surely_flips_as_often(double sigma, flip const& noise) {
  double const x = divide_up(1.0, sigma);
  if (noise.correlation() <= 0.5) {
    return x < 1.0 &&
           normal_centre(x) * (1.0 + 20.0 * unit_roundoff) + 0x1p-1070 <= noise.correlation();
  }
  double const least = elementary::erfc(multiply_up(x, 0x1.6a09e667f3bcdp-1));  // above √½
  return 0.5 * least * (1.0 - 20.0 * unit_roundoff) - 0x1p-1073 >= noise.probability();
}

}  // namespace detail

/// The σ whose Gaussian flips a sign at least as often: the inverse of `flip_of_gaussian`.
/// Guarantee: feasible end (the implied correlation is at most the given one), within 1e-13 relative for flips of a
/// correlation and a probability of at least 1e-290; ρ = 0 gives ∞, ρ = 1 gives 0.
/// @throws std::domain_error if the flip was never set
[[nodiscard]] inline double gaussian_sigma(flip const& noise) {
  detail::check_probability("gaussian_sigma", "correlation", noise.correlation());
  if (noise.correlation() == 0.0) return std::numeric_limits<double>::infinity();
  if (noise.probability() == 0.0) return 0.0;
  // 2Φ(1/σ) − 1 = ρ, 1 − Φ(1/σ) = the flip's probability.
  double const rho = noise.correlation();
  double x =
      rho <= 0.5 ? detail::normal_centre_inverse(rho) : normal_tail_inverse(noise.probability());
  if (rho > 0.5 &&
      noise.probability() > 1e-3) {  // below, the logarithm that was solved for is as good
    x += (detail::tail_by_erfc(x) - noise.probability()) *
         detail::constants::root_two_pi<double>() * elementary::exp(0.5 * x * x);
  }
  // Some tens of ulp for the errors of the inverse and the division, and more where a flip is subnormal.
  for (double excess = 5e-15; excess < 1.0; excess *= 2.0) {
    double const sigma = 1.0 / x * (1.0 + excess);
    if (detail::surely_flips_as_often(sigma, noise)) return sigma;
  }
  return std::numeric_limits<double>::infinity();
}

namespace detail {

template <real T>
[[nodiscard]] T sign_information(T const& q, basic_flip<T> const& noise) {
  using elementary::log;
  T const p = 1 - q;
  T const e = noise.probability();
  T const kept = 1 - e;
  T const rho = noise.correlation();
  T const rare = e * p + kept * q;  // P(Y = the minority's sign)
  T const common = kept * p + e * q;
  // Σ_s P(s) Σ_y P(y)·ψ(P(y|s)/P(y) − 1): every term is positive, and each ratio is a quotient of
  // sums of positive terms.
  // Where kept/rare times its logarithm might overflow, the logarithm itself does not.
  T const likely = kept / rare;
  T const revealed = likely <= std::numeric_limits<T>::max() / T(4294967296.0)
                         ? rare * entropy_residual(p * rho / rare, likely)
                         : kept * (log(kept) - log(rare)) - p * rho;
  T const minority = revealed + common * entropy_residual(-p * rho / common, e / common);
  T const majority = rare * entropy_residual(-q * rho / rare, e / rare) +
                     common * entropy_residual(q * rho / common, kept / common);
  return q * minority + p * majority;
}

/// dI/dρ = atanh ρ − m·atanh(mρ), m = 1 − 2q, as a sum of positive terms.
[[nodiscard]] inline double sign_information_slope(double q, flip const& noise) {
  double const e = noise.probability();
  double const rho = noise.correlation();
  return q * elementary::log1p(rho / e) +
         (0.5 - q) * elementary::log1p(q * rho / (e * (1.0 - e - q * rho)));
}

}  // namespace detail

/// I(S;Y) of a released sign, in nats: 0 at ρ = 0, the entropy h(q) at ρ = 1.
/// Guarantee: nearest; relative error ≤ 1e-14 in double wherever the value is ≥ 1e-290.
/// @throws std::domain_error unless prior is in [0, 1] and the flip is set
template <real T>
[[nodiscard]] T mutual_information(basic_sign_channel<T> const& channel) {
  detail::check_probability("mutual_information", "prior", channel.prior);
  detail::check_probability("mutual_information", "correlation", channel.noise.correlation());
  T const q = detail::minority(channel.prior);
  if (q == 0 || channel.noise.correlation() == 0) return 0;
  return channel.noise.probability() == 0 ? binary_entropy(q)
                                          : detail::sign_information(q, channel.noise);
}

/// What a ledger is charged for releasing Y: an upper bound of I(S;Y), in nats.
/// Guarantee: upper bound, 1e-13 relative above the truth at most where that is ≥ 1e-290.
/// @throws std::domain_error unless prior is in [0, 1] and the flip is set
[[nodiscard]] inline nats information_charge(sign_channel const& channel) {
  double const information = mutual_information(channel);
  bool const independent =
      detail::minority(channel.prior) == 0.0 || channel.noise.correlation() == 0.0;
  return nats(independent ? 0.0 : detail::raised(information));
}

/// The least flip that keeps I(S;Y) within the budget, for a channel whose noise is not yet chosen:
///   flip const noise = noise_for(sign_channel{.prior = 0.5}, 0.33_nats);
///
/// Guarantee: feasible end. I(S;Y) ≤ budget in exact arithmetic (a flip is accepted only if the
/// computed I, raised by its proven error bound, fits) and I ≥ budget·(1 − 1e-12) for budgets from
/// 1e-290 up to the entropy. There the charge fits as well: information_charge ≤ budget.
///   budget 0: ρ = 0 (a fair coin).   budget ≥ entropy: ρ = 1 (the sign itself).
/// @throws std::domain_error unless prior is in [0, 1] and budget ≥ 0; std::invalid_argument if the
///         channel already has a flip
[[nodiscard]] inline flip noise_for(sign_channel const& channel, nats budget) {
  double const given = channel.noise.correlation();
  detail::check_noise_request(channel.prior, budget, given != given, "flip");
  double const q = detail::minority(channel.prior);
  double const beta = budget.value;
  if (beta == 0.0) return flip::with_correlation(0.0);
  if (q == 0.0 || beta >= detail::raised(binary_entropy(q))) return flip::with_correlation(1.0);

  double const at_half = detail::sign_information(q, flip::with_correlation(0.5));
  // I/ρ² increases with ρ, so that I(ρ) ≤ 4ρ²·I(½) for ρ ≤ ½.
  double const start = 0.5 * std::sqrt(beta / at_half);
  if (beta < 1e-290) {
    // I(½) may have lost digits as well: its upper bound gives a smaller ρ.
    double const safe = 0.5 * std::sqrt(beta / detail::raised(at_half));
    return flip::with_correlation(std::min(safe, 0.5) * (1.0 - 1e-12));
  }
  if (beta <= at_half) {
    return flip::with_correlation(
        detail::spend_nearly(beta, start, true, [&](double rho, double aim) {
          flip const noise = flip::with_correlation(rho);
          double const information = detail::sign_information(q, noise);
          double const slope = rho * detail::sign_information_slope(q, noise) / information;
          return detail::spending_step{
              information, rho * elementary::exp(elementary::log(aim / information) / slope)};
        }));
  }
  double const entropy = binary_entropy(q);
  return flip::with_probability(detail::spend_nearly(beta, 0.25, false, [&](double e, double aim) {
    flip const noise = flip::with_probability(e);
    double const information = detail::sign_information(q, noise);
    double const fall = 2.0 * e * detail::sign_information_slope(q, noise);  // −dI/dlog e
    // I falls linearly in log e until the flips outnumber the minority; before that it is the
    // gap h − I that grows like a power of e.
    double const gap = entropy - information;
    double const move = information < gap ? (information - aim) / fall
                                          : elementary::log((entropy - aim) / gap) * gap / fall;
    return detail::spending_step{information, std::min(e * elementary::exp(move), 0.25)};
  }));
}

}  // namespace tacit
