// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/solve.hpp>
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

/// The ε ≥ least at which a falling profile, of certified values `profile(ε)`, is `delta`; `least` where it never is above.
/// Guarantee: lower ≤ ε ≤ upper; both ends were asked.
template <std::same_as<double> T, class Profile>
[[nodiscard]] bound<T> inverse_profile(T delta, Profile&& profile, T least = 0.0) {
  if (profile(least).upper <= delta) return {least, least};
  T start = least + 1.0;
  while (profile(start).upper > delta) {
    start *= 2.0;
    // δ underflows to the smallest normal number: below that nothing can be said.
    if (!(start < 1e300)) return {least, std::numeric_limits<T>::infinity()};
  }
  constexpr T smallest = 1e-308;  // of what is told from 0
  T const wanted = elementary::log(std::max(delta, smallest));
  auto const miss = [&](T e) {
    bound<T> const found = profile(e);
    return elementary::log(std::max(0.5 * (found.lower + found.upper), smallest)) - wanted;
  };
  T const at_least = miss(least);
  T const at_start = miss(start);
  bracket<T> root{least, least};
  if (at_least > 0.0) root = {start, start};
  if (at_least > 0.0 && at_start < 0.0) {
    root = sign_change({least, start}, at_least, at_start, miss);
  }
  auto const [low, high] = root;
  T lower = low;
  T upper = high;
  T const step = std::max(1e-16 * high, std::numeric_limits<T>::min());  // it doubles: not 0
  for (T move = step; profile(lower).lower < delta; move *= 2.0) {
    lower = std::max(least, low - move);
    if (lower == least) break;
  }
  for (T move = step; profile(upper).upper > delta; move *= 2.0) {
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
    enclosure const left = left_by(pair.parts).value();
    rest_ = max(left, 0.0);
    over_ = max(-left, 0.0);
    exact_sum mixed;
    enclosure most = 0.0;
    for (mixture_pair::part const& p : pair.parts) {
      mixed.add(p.weight);
      parts_.push_back({elementary::log(p.weight), p.shift});
      most += p.weight * enclosure(tacit::delta(gaussian_dp{p.shift}, 0.0).upper);
    }
    mixed_ = mixed.value();
    mixed_nearly_ = mixed.nearly<T>();
    most_ = left.lower >= 0.0 ? std::min(1.0, most.upper) : 1.0;  // 1 for a NaN, too
  }

  /// δ(ε) for ε ≥ 0.
  /// Guarantee: lower ≤ δ(ε) ≤ upper, about 1e-12 relative apart where δ ≥ 1e-290; more in the direction `add` where e^{−ε}
  /// is next to rest.
  [[nodiscard]] bound<T> delta(T epsilon) const;

  /// The ε ≥ 0 with δ(ε) = delta; 0 where δ(0) is no more than that.
  /// Guarantee: lower ≤ ε ≤ upper, about 1e-12 relative apart; the ends were asked.
  [[nodiscard]] bound<T> epsilon(T delta) const;

 private:
  [[nodiscard]] static T exponent(mixture_pair::part const& p, T x) {
    return p.shift * (x - 0.5 * p.shift);
  }

  // Where log Σ w_j e^{t_j(x)} is `wanted`: convex in x, so that Newton's method falls from the right.
  [[nodiscard]] T end_of_event(T wanted, T grown) const {
    T x = std::numeric_limits<T>::infinity();
    for (mixture_pair::part const& p : pair_->parts) {  // one part alone would do
      T const others = (grown + (mixed_nearly_ - p.weight)) / p.weight;
      T const t = others > -0.5 && others < 1e300 && std::abs(wanted) < 700.0
                      ? elementary::log1p(others)
                      : wanted - elementary::log(p.weight);
      x = std::min(x, t / p.shift + 0.5 * p.shift);
    }
    for (int step = 0; step < 200 && pair_->parts.size() > 1; ++step) {
      auto const [miss, slope] = miss_at(x, wanted, grown);
      x -= miss / slope;
      T const scale = exponents(x) < 1.0 ? exponents(x) : exponents(x) + std::abs(wanted);
      if (!(std::abs(miss) > 2.0 * unit_roundoff * scale)) break;
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
      T const all = grown + mixed_nearly_;
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

  // A = Σ w_j e^{t_j} at the end of the best event, e^{±ε} − rest.
  struct level {
    enclosure log_of;
    enclosure grown;  // A − Σw there
  };

  // A(x)/A − 1. Where exponents are small, rest and 1 are not added to be taken off again.
  [[nodiscard]] enclosure excess(T x, level const& wanted) const {
    T largest = 0.0;
    for (mixture_pair::part const& p : pair_->parts) {
      largest = std::max(largest, std::abs(exponent(p, x)));
    }
    enclosure sum = 0.0;
    if (largest < 1.0 && wanted.log_of.lower < 700.0) {
      for (mixture_pair::part const& p : pair_->parts) sum += p.weight * expm1(enclosed(p, x));
      return (sum - wanted.grown) * exp(-wanted.log_of);
    }
    for (mixture_pair::part const& p : pair_->parts) {
      sum += exp(log(enclosure(p.weight)) + enclosed(p, x) - wanted.log_of);
    }
    return sum - 1.0;
  }
  [[nodiscard]] static enclosure enclosed(mixture_pair::part const& p, T x) {
    return p.shift * (x - enclosure(0.5) * p.shift);
  }

  // δ(ε) from an event that ends near the best one's: docs/certificates/gaussian.md, Lemma 6.
  [[nodiscard]] bound<T> at(T x, T epsilon, level const& wanted) const {
    // On the side where the event's own terms are no less than δ.
    enclosure off = excess(x, wanted);
    auto const too_far = [&] { return remove_ ? off.upper : -off.lower; };
    T move = std::max(std::abs(x), 1e-300) * unit_roundoff;
    for (int attempt = 0; !(too_far() <= 0.0); ++attempt) {  // NaN, too
      if (attempt == 60) return {0.0, most_};
      T const slope = miss_at(x, 0.5 * (wanted.log_of.lower + wanted.log_of.upper),
                              0.5 * (wanted.grown.lower + wanted.grown.upper))
                          .slope;
      move = std::max(2.0 * move, std::min(1.25 * too_far(), 1.0) / slope);
      x = remove_ ? x - move : x + move;
      off = excess(x, wanted);
    }
    if (!std::isfinite(x)) return {0.0, most_};
    enclosure sum = 0.0;
    T blur = 0.0;
    for (std::size_t j = 0; j < parts_.size(); ++j) {
      mixture_pair::part const& p = pair_->parts[j];
      enclosure const t = enclosed(p, x);
      T const middle = exponent(p, x);
      blur = std::max({blur, t.upper - middle, middle - t.lower});
      bound<T> const each = tacit::delta(gaussian_dp{p.shift}, remove_ ? middle : -middle);
      enclosure const share =
          remove_ ? enclosure(p.weight) : exp(log(enclosure(p.weight)) + epsilon + t);
      sum += share * enclosure(each.lower, each.upper);
    }
    // e^{±ε} times the chance of the event without the record's part.
    T const log_chance =
        wanted.log_of.upper + (remove_ ? log_normal_tail(x) : epsilon + log_normal_tail(-x));
    T const chance = 1.01 * elementary::exp(std::min(log_chance, 700.0));
    T const short_of = chance * (remove_ ? -off.lower : off.upper);
    T const blurred = chance * blur * (1.0 + std::max(std::abs(off.lower), std::abs(off.upper)));
    T const least = std::numeric_limits<T>::min();
    enclosure const all = sum + enclosure(-1.01 * (blurred + short_of), 1.01 * blurred + least);
    T const upper = std::min(most_, all.upper);  // most_ for a NaN
    return {all.lower > 0.0 ? std::min(all.lower, upper) : 0.0, upper};
  }

  mixture_pair const* pair_;
  bool remove_;
  std::vector<log_part> parts_;
  enclosure rest_ = 0.0;
  enclosure over_ = 0.0;   // Σw − 1, where weights that were rounded up make more than 1
  enclosure mixed_ = 0.0;  // Σw
  T mixed_nearly_ = 0.0;
  T most_ = 1.0;  // Σ w_j·δ_{s_j}(0), by joint convexity
};

template <std::same_as<double> T>
bound<T> mixture_profile<T>::delta(T epsilon) const {
  T const least = std::numeric_limits<T>::min();
  T const signed_epsilon = remove_ ? epsilon : -epsilon;
  if (!(rest_.upper <= 1.0)) return {0.0, 1.0};  // weights that are no numbers
  enclosure grown = expm1(enclosure(std::min(signed_epsilon, 700.0)));
  if (over_.upper > 0.0) grown -= over_;
  // C/e^{±ε}, C = e^{±ε} − rest.
  enclosure share = 1.0 - (rest_.upper > 0.0 ? exp(log(rest_) - signed_epsilon) : enclosure(0.0));
  if (std::abs(signed_epsilon) < 700.0) {
    enclosure const same = (grown + mixed_) * exp(enclosure(-signed_epsilon));
    share = {std::max(share.lower, same.lower), std::min(share.upper, same.upper)};
  }
  // Where e^{−ε} is no more than rest, `add` has no event at all; it never has more than e^ε·C.
  if (!(share.lower > 0.0)) {
    return {0.0, share.upper > 0.0 ? std::min(most_, share.upper + least) : least};
  }
  level const wanted{signed_epsilon + log(share), grown};
  T const middle = 0.5 * (wanted.log_of.lower + wanted.log_of.upper);
  return at(end_of_event(middle, 0.5 * (grown.lower + grown.upper)), epsilon, wanted);
}

template <std::same_as<double> T>
bound<T> mixture_profile<T>::epsilon(T delta) const {
  return inverse_profile(delta, [this](T e) { return this->delta(e); });
}

#if defined(TACIT_COMPILED)
extern template class mixture_profile<double>;
#endif

}  // namespace tacit::detail
