// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <vector>

/// One release, exactly: the profile of a Gaussian mixture's pair in closed form.
///
/// The likelihood ratio R(x) = rest + Σ w_j e^{t_j(x)}, t_j = s_j x − s_j²/2, rises, so the best event is
/// a half-line that ends where R is e^ε (e^{−ε} in the direction `add`). There, with δ_s the profile of
/// N(s, 1) and N(0, 1), everything that cancels is inside of δ_s:
///   remove: δ(ε) = Σ w_j δ_{s_j}(t_j),          add: δ(ε) = e^ε Σ w_j e^{t_j} δ_{s_j}(−t_j).

namespace tacit::detail {

/// The ε ≥ 0 at which a falling profile, of certified values `profile(ε)`, is `delta`; 0 where it never is above.
/// Guarantee: lower ≤ ε ≤ upper; both ends were asked.
template <std::same_as<double> T, class Profile>
[[nodiscard]] bound<T> inverse_profile(T delta, Profile&& profile) {
  if (profile(0.0).upper <= delta) return {0.0, 0.0};
  T start = 1.0;
  while (profile(start).upper > delta) {
    start *= 2.0;
    // δ underflows to the smallest normal number: below that nothing can be said.
    if (!(start < 1e300)) return {0.0, std::numeric_limits<T>::infinity()};
  }
  T const wanted = elementary::log(delta);
  auto const miss = [&](T e) {
    bound<T> const found = profile(e);
    return elementary::log(std::max(0.5 * (found.lower + found.upper), 1e-308)) - wanted;
  };
  T const at_zero = miss(0.0);
  bracket<T> const root =
      at_zero > 0.0 ? sign_change({0.0, start}, at_zero, miss(start), miss) : bracket<T>{0.0, 0.0};
  auto const [low, high] = root;
  T lower = low;
  T upper = high;
  T const least = std::max(1e-16 * high, std::numeric_limits<T>::min());  // it doubles: not 0
  for (T move = least; profile(lower).lower < delta; move *= 2.0) {
    lower = std::max(0.0, low - move);
    if (lower == 0.0) break;
  }
  for (T move = least; profile(upper).upper > delta; move *= 2.0) {
    upper = high + move;
    if (!(upper < start + 1.0)) upper = start;  // asked above
  }
  return {lower, upper};
}

template <std::same_as<double> T = double>
class mixture_profile {
 public:
  explicit mixture_profile(mixture_pair const& pair)
      : pair_(&pair), remove_(pair.orientation == orientation::remove) {
    compensated_sum<T> sum;
    for (mixture_pair::part const& p : pair.parts) {
      sum += p.weight;
      parts_.push_back({elementary::log(p.weight), p.shift});
    }
    mixed_ = std::min(1.0, sum.value());
  }

  /// δ(ε) for ε ≥ 0.
  /// Guarantee: lower ≤ δ(ε) ≤ upper, about 1e-12 relative apart where δ ≥ 1e-290.
  [[nodiscard]] bound<T> delta(T epsilon) const;

  /// The ε ≥ 0 with δ(ε) = delta; 0 where δ(0) is no more than that.
  /// Guarantee: lower ≤ ε ≤ upper, about 1e-12 relative apart; the ends were asked.
  [[nodiscard]] bound<T> epsilon(T delta) const;

 private:
  // No rest that a T could tell from none.
  [[nodiscard]] bool whole() const { return mixed_ == 1.0; }

  [[nodiscard]] static T exponent(mixture_pair::part const& p, T x) {
    return p.shift * (x - 0.5 * p.shift);
  }

  // Where log Σ w_j e^{t_j(x)} is `wanted`: convex in x, so that Newton's method falls from the right.
  [[nodiscard]] T end_of_event(T wanted, T grown) const {
    T x = std::numeric_limits<T>::infinity();
    for (mixture_pair::part const& p : pair_->parts) {  // one part alone would do
      T const others = (grown + (mixed_ - p.weight)) / p.weight;
      T const t = others > -0.5 && others < 1e300 && std::abs(wanted) < 700.0
                      ? elementary::log1p(others)
                      : wanted - elementary::log(p.weight);
      x = std::min(x, t / p.shift + 0.5 * p.shift);
    }
    for (int step = 0; step < 200 && pair_->parts.size() > 1; ++step) {
      auto const [miss, slope] = miss_at(x, wanted, grown);
      x -= miss / slope;
      if (!(std::abs(miss) > 2.0 * unit_roundoff * (exponents(x) + std::abs(wanted)))) break;
    }
    return x;
  }

  struct missed {
    T miss;
    T slope;
  };
  [[nodiscard]] missed miss_at(T x, T wanted, T grown) const {
    T largest = 0.0;
    for (mixture_pair::part const& p : pair_->parts) {
      largest = std::max(largest, std::abs(exponent(p, x)));
    }
    if (largest < 1.0) {
      T sum = 0.0;
      T slope = 0.0;
      for (mixture_pair::part const& p : pair_->parts) {
        T const term = elementary::expm1(exponent(p, x));
        sum += p.weight * term;
        slope += p.weight * p.shift * (1.0 + term);
      }
      T const all = grown + mixed_;
      T const off = (sum - grown) / all;
      return {elementary::log1p(off), slope / (all * (1.0 + off))};
    }
    log_mixture_value const sum = log_mixture({parts_.data(), parts_.size()}, x);
    return {sum.value - wanted, sum.slope};
  }

  // At least |t_j|, and what its two terms round from.
  [[nodiscard]] T exponents(T x) const {
    T const largest = pair_->parts.back().shift;
    return largest * (std::abs(x) + largest);
  }

  // δ at the ε that has its event end at x. What x is off counts: with A = Σ w_j e^{t_j} the sum changes
  // by A·(1−Φ(x)) per unit of log A, by e^ε·A·Φ(x) in the direction `add`.
  [[nodiscard]] bound<T> at(T x, T epsilon, T wanted, T grown) const {
    T lower = 0.0;
    T upper = 0.0;
    T largest = 0.0;
    T grown_terms = 0.0;
    T logs = 0.0;  // Σ (w_j e^{t_j}/A)·|log w_j|
    for (std::size_t j = 0; j < parts_.size(); ++j) {
      mixture_pair::part const& p = pair_->parts[j];
      T const t = exponent(p, x);
      T const log_weight = parts_[j].log_weight;
      logs += std::min(1.0, elementary::exp(log_weight + t - wanted)) * std::abs(log_weight);
      bound<T> const each = tacit::delta(gaussian_dp{p.shift}, remove_ ? t : -t);
      T const share = remove_ ? p.weight : elementary::exp(elementary::log(p.weight) + epsilon + t);
      lower += share * each.lower;
      upper += share * each.upper;
      largest = std::max(largest, std::abs(t));
      grown_terms += p.weight * std::abs(elementary::expm1(std::min(t, 700.0)));
    }
    // What A is the difference of, over A; nothing is subtracted where there is no rest.
    T cancelled = 1.0;
    if (largest < 1.0) {
      cancelled = (std::abs(grown) + grown_terms) * elementary::exp(-wanted);
    } else if (!whole()) {
      cancelled = std::min((std::abs(grown) + mixed_) * elementary::exp(-wanted), 1e300);
    }
    // Of several parts a sum is solved for, as it is or, where exponents are large, by its logarithm: a term errs by 4 of
    // |log w_j|, the sum by one for each part, its logarithm and the one wanted by 3 together.
    bool const several = parts_.size() > 1;
    T const terms = several ? static_cast<T>(parts_.size()) : 0.0;
    T const by_logs = several && !(largest < 1.0) ? 4.0 * logs + 3.0 * std::abs(wanted) : 0.0;
    T const inexact =
        unit_roundoff *
        (8.0 * exponents(x) + (largest < 1.0 ? 4.0 + terms : 4.0) * cancelled + terms + by_logs);
    T const log_outside =
        remove_ ? wanted + log_normal_tail(x) : epsilon + wanted + log_normal_tail(-x);
    T const slack = inexact * elementary::exp(log_outside);
    T const shares = remove_ ? 0.0 : epsilon + exponents(x) - elementary::log(least_weight());
    T const lost = unit_roundoff * (8.0 + static_cast<T>(pair_->parts.size()) + 4.0 * shares);
    if (!(lost < 0.1)) return {0.0, 1.0};  // an exponent of 1e15 has no digits after the point
    T const sure = 1.0 - lost;
    T const least = std::numeric_limits<T>::min();
    return {std::max(0.0, lower * sure - slack), std::min(1.0, upper / sure + slack + least)};
  }

  [[nodiscard]] T least_weight() const {
    T least = 1.0;
    for (mixture_pair::part const& p : pair_->parts) least = std::min(least, p.weight);
    return least;
  }

  mixture_pair const* pair_;
  bool remove_;
  std::vector<log_part> parts_;
  T mixed_;  // 1 − rest
};

template <std::same_as<double> T>
bound<T> mixture_profile<T>::delta(T epsilon) const {
  // Σ w_j e^{t_j} = e^{±ε} − rest, or without rest: Σ w_j (e^{t_j} − 1) = e^{±ε} − 1.
  T const least = std::numeric_limits<T>::min();
  T const grown = elementary::expm1(remove_ ? std::min(epsilon, 700.0) : -epsilon);
  T const signed_epsilon = remove_ ? epsilon : -epsilon;
  if (whole() || signed_epsilon > 700.0) {
    return at(end_of_event(signed_epsilon, grown), epsilon, signed_epsilon, grown);
  }
  // Where e^{−ε} is no more than rest, `add` has no event at all; it never has more than e^ε·left.
  T const left = grown + mixed_;
  if (!(left > 0.0)) {
    T const rounded = 4.0 * unit_roundoff * std::abs(grown);
    T const most = left < -rounded ? 0.0 : elementary::exp(std::min(epsilon, 700.0)) * rounded;
    return {0.0, std::min(1.0, least + most)};
  }
  return at(end_of_event(elementary::log(left), grown), epsilon, elementary::log(left), grown);
}

template <std::same_as<double> T>
bound<T> mixture_profile<T>::epsilon(T delta) const {
  return inverse_profile(delta, [this](T e) { return this->delta(e); });
}

#if defined(TACIT_COMPILED)
extern template class mixture_profile<double>;
#endif

}  // namespace tacit::detail
