// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/short_number.hpp>
#include <tacit/core/units.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

/// What a noised sign tells about a bit behind it: U → S → Y = S + N(0, σ²), U a bit, S = ±1.
///
/// With P₊, P₋ the masses of the signs, n₊, n₋ the densities N(±1, σ²), f = P₊n₊ + P₋n₋ that of Y,
/// ν = n/f, and K = P(1,+)P(0,−) − P(1,−)P(0,+):
///   I(U; Y) = Σ_u P(u) ∫ f·ψ(r_u − 1) dy,   r_u = P(+|u)ν₊ + P(−|u)ν₋ = 1 ± (K/P(u))·(ν₊ − ν₋),
/// ψ of core/log.hpp: every term is positive, so that a faint dependence loses no digits. The trapezoid
/// rule on this integrand is right to 10⁻¹², relative, whatever the law of U: Lemma 23 of
/// docs/certificates/pac.md. Nodes and ν depend on the noise and the sign alone, and serve all bits.

namespace tacit {

/// The joint law of a bit and a sign. Masses that sum to another number than 1 stand for their shares.
struct bit_and_sign {
  double one_plus = std::numeric_limits<double>::quiet_NaN();
  double one_minus = std::numeric_limits<double>::quiet_NaN();
  double zero_plus = std::numeric_limits<double>::quiet_NaN();
  double zero_minus = std::numeric_limits<double>::quiet_NaN();
};

/// The share of I(U; S) that survives in Y = S + N(0, σ²), for any U that acts on Y through S alone:
/// I(U;Y) ≤ min(1, 1/σ²)·I(U;S). Given |Y|, the sign of Y is a binary symmetric channel of
/// correlation tanh(|Y|/σ²), which contracts information by the square of that; its mean is
/// 1 − mmse ≤ 1/σ².
/// Guarantee: upper bound. σ = ∞ gives 0.
/// @throws std::domain_error unless sigma ≥ 0
[[nodiscard]] inline double gaussian_contraction(double sigma) {
  detail::require_domain(sigma >= 0.0, "gaussian_contraction", "sigma", sigma, "at least 0");
  if (1.0 / sigma == 0.0) return 0.0;
  double const energy = 1.0 / sigma / sigma * (1.0 + 4.0 * std::numeric_limits<double>::epsilon());
  return std::clamp(energy, std::numeric_limits<double>::min(), 1.0);
}

/// A sign of which Y = S + N(0, σ²) is seen, prepared to price many bits behind it.
class noised_sign {
 public:
  /// `plus` and `minus`: the masses of the two signs, P₊ and P₋.
  /// @throws std::domain_error unless both are in [0, 1], their sum is 1 within 10⁻³, and sigma ≥ 0
  noised_sign(double plus, double minus, double sigma)
      : plus_(plus), minus_(minus), sigma_(sigma), kept_(gaussian_contraction(sigma)) {
    detail::check_probability("noised_sign", "plus", plus);
    detail::check_probability("noised_sign", "minus", minus);
    detail::require_domain(std::abs(plus + minus - 1.0) <= 1e-3, "noised_sign", "plus + minus",
                           plus + minus, "1 within 1e-3");
    if (least_mass() < negligible) return;
    whole_ = {node{plus, 1.0 / plus, 0.0, 1.0 / plus}, node{minus, 0.0, 1.0 / minus, -1.0 / minus}};
    if (1.0 / sigma < clear && kept_ > 0.0) place_nodes(1.0 / sigma);
  }

  [[nodiscard]] double sigma() const noexcept { return sigma_; }

  /// I(U; Y), in nats, where each mass of `law` is known to a relative `error`, and so are those of the
  /// sign.
  /// Guarantee: upper bound, above the truth I by at most 4·10⁻¹²·I + (5·error + 7·10⁻¹³)·√I + 2·10⁻²⁰
  /// for 1/σ < 6.5. With less noise it is I(U; S), which is above by 2·10⁻¹⁰ at most.
  /// @throws std::domain_error unless the masses are at least 0, their sum is positive and finite, and error is in
  ///         [0, 10⁻⁴]
  [[nodiscard]] double information(bit_and_sign law, double error = 0.0) const {
    detail::require_domain(error >= 0.0 && error <= 1e-4, "noised_sign", "error", error,
                           "in [0, 1e-4]");
    for (double const mass : {law.one_plus, law.one_minus, law.zero_plus, law.zero_minus}) {
      detail::check_non_negative("noised_sign", "mass", mass);
    }
    double const total = (law.one_plus + law.one_minus) + (law.zero_plus + law.zero_minus);
    detail::check_positive("noised_sign", "sum of masses", total);
    law = {law.one_plus / total, law.one_minus / total, law.zero_plus / total,
           law.zero_minus / total};
    double const one = law.one_plus + law.one_minus;
    double const zero = law.zero_plus + law.zero_minus;
    // So rare an event tells less than its entropy.
    double const least = kept_ > 0.0 ? 1e-270 : 0.0;
    if (std::min({one, zero, least_mass()}) < negligible) return least;
    double const lean = law.one_plus * law.zero_minus - law.one_minus * law.zero_plus;
    bits const shares{{{one, law.one_plus / one, law.one_minus / one, lean / one},
                       {zero, law.zero_plus / zero, law.zero_minus / zero, -lean / zero}}};
    double const off = 3.1 * error + 4e-13;  // relative, of every r
    auto const raised = [off](double sum) {
      return sum * (1.0 + 2e-12) + 1.04 * off * (sum + std::sqrt(2.0 * sum)) + 53.0 * off * off;
    };
    double const seen = nodes_.empty() ? 1.0 : raised(integral(shares));
    if (seen > 1e-12 && !nodes_.empty()) return seen;
    // Without nodes, or where rounding is all that is left of the integral, the sign itself decides.
    double const whole = raised(sum_of(whole_[0], shares) + sum_of(whole_[1], shares));
    return std::max(std::min(seen, kept_ * whole), least);
  }

 private:
  struct node {
    double weight;  // step·f, or the mass of a tail
    double plus;    // ν₊
    double minus;   // ν₋
    double tilt;    // ν₊ − ν₋
  };
  /// P(u), P(+|u), P(−|u) and ±K/P(u).
  struct bit {
    double mass, plus, minus, lean;
  };
  using bits = std::array<bit, 2>;

  static constexpr double negligible = 1e-280;
  static constexpr double clear =
      6.5;  // 1/σ from which the sign is as good as seen: H(S|Y) < 2·10⁻¹⁰
  static constexpr double widest_strip = 7.75;
  static constexpr std::size_t powers = 20;
  static constexpr double series_limit = 0.25;

  [[nodiscard]] double least_mass() const noexcept { return std::min(plus_, minus_); }

  [[nodiscard]] static double residual(bit const& u, node const& at) {
    double const d = u.lean * at.tilt;
    if (std::abs(d) < series_limit) return entropy_residual(d);
    double const ratio = u.plus * at.plus + u.minus * at.minus;
    return entropy_residual(ratio - 1.0, ratio);
  }

  [[nodiscard]] static double sum_of(node const& at, bits const& u) {
    return at.weight * (u[0].mass * residual(u[0], at) + u[1].mass * residual(u[1], at));
  }

  /// Nodes s = k·step in units of σ, from −(a + reach) to a + reach, a = 1/σ. All logarithms have
  /// their branch points at |Im s| = π/(2a); the strip used is nine tenths of that at most.
  void place_nodes(double a) {
    double const strip = std::min(0.9 * detail::constants::pi<double>() / (2.0 * a), widest_strip);
    double const square = strip * strip;
    double const step =
        detail::short_number(detail::constants::two_pi<double>() * strip /
                                 (33.0 + elementary::log(2.0 + square) + square / 2.0),
                             20);                // k·step is exact
    double const reach = a < 2.0 ? 9.25 : 7.75;  // further where the tails' bound is loose
    int const last = static_cast<int>((a + reach) / step) + 1;
    nodes_.reserve(2 * static_cast<std::size_t>(last) + 1);
    double const scale = step / detail::constants::root_two_pi<double>();
    for (int k = 0; k <= last; ++k) {
      double const s = step * k;
      double const bell = scale * elementary::exp(-0.5 * (s - a) * (s - a));
      double const fall = elementary::expm1(-2.0 * a * s);  // of the other sign's density
      add_node(bell, plus_, minus_, fall, false);
      if (k > 0) add_node(bell, minus_, plus_, fall, true);
    }
    // Beyond the last nodes f falls and ν is nearer to its limit: what lies there is charged at that.
    double const toward = normal_tail(step * last - a) * (1.0 + 1e-13);
    double const away = normal_tail(step * last + a) * (1.0 + 1e-13);
    tails_ = whole_;
    tails_[0].weight = plus_ * toward + minus_ * away;
    tails_[1].weight = minus_ * toward + plus_ * away;
    for (node const& at : nodes_) widest_ = std::max(widest_, std::abs(at.tilt));
    // Powers of a tilt may overflow, those of its share of the next power of two do not.
    std::frexp(widest_, &exponent_);
    for (node const& at : nodes_) {
      double const tilt = std::ldexp(at.tilt, -exponent_);
      double power = at.weight * tilt;
      for (double& moment : moments_) moment += power *= tilt;
    }
    for (std::size_t j = 0; j < powers; ++j) {
      auto const n = static_cast<double>(j + 2);
      moments_[j] *= (j % 2 == 0 ? 1.0 : -1.0) / (n * (n - 1.0));
    }
  }

  /// The node on the side of one sign, of mass `own`; `fall` = n_other/n_own − 1.
  void add_node(double bell, double own, double other, double fall, bool mirrored) {
    double const ratio = 1.0 + fall;
    double const mix = own + other * ratio;  // f/n_own
    node at{bell * mix, 1.0 / mix, ratio / mix, -fall / mix};
    if (mirrored) {
      std::swap(at.plus, at.minus);
      at.tilt = -at.tilt;
    }
    nodes_.push_back(at);
  }

  /// Σ_u P(u) ∫ f·ψ(r_u − 1): node by node, or by ψ(d) = Σ (−d)^j/(j(j−1)) and the moments of the tilt.
  [[nodiscard]] double integral(bits const& u) const {
    double sum = 0.0;
    if (std::max(std::abs(u[0].lean), std::abs(u[1].lean)) * widest_ < series_limit) {
      for (bit const& of : u) {
        double const lean = std::ldexp(of.lean, exponent_);
        double series = 0.0;
        for (std::size_t j = powers; j-- > 0;) series = series * lean + moments_[j];
        sum += of.mass * lean * lean * series;
      }
    } else {
      for (node const& at : nodes_) sum += sum_of(at, u);
    }
    return sum + sum_of(tails_[0], u) + sum_of(tails_[1], u);
  }

  double plus_;
  double minus_;
  double sigma_;
  double kept_;
  std::vector<node> nodes_;
  std::array<node, 2> whole_{};  // of the sign itself
  std::array<node, 2> tails_{};
  double widest_ = 0.0;                   // |tilt| of all nodes is at most that
  int exponent_ = 0;                      // and below 2^exponent_
  std::array<double, powers> moments_{};  // Σ weight·(−tilt/2^exponent_)^j/(j(j−1)), j = 2, 3, …
};

}  // namespace tacit
