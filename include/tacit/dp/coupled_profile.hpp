// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/coupled_ratio.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/mixture_profile.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <variant>
#include <vector>

/// One release, exactly: the profile of a coupled pair in closed form.
///
/// Let P = Σ w_i·D(a_i), Q = Σ w_j·D(b_j), and let ε be the loss at t. The best event is X > t, and with δ_s the profile of
/// D(s) and D(0), ℓ_ij = log(D(t − a_i)/D(t − b_j)), and v_j the share of part j in Q(t),
///   δ(ε) = Σ_ij w_i·v_j·δ_{a_i−b_j}(ℓ_ij):
/// nothing cancels but in a mirrored pair, where δ_{−s}(ℓ) = −e^ℓ·δ_s(−ℓ). It falls as t rises, so that an ε is enclosed by
/// two outputs whose losses enclose it.

namespace tacit::detail {

template <std::same_as<double> T = double>
class coupled_profile {
 public:
  explicit coupled_profile(coupled_pair const& pair) : ratio_(pair) {
    enclosure const rest = rest_of(pair);
    if (rest.upper > 0.0) parts_.push_back({rest, 0.0, 0.0});
    for (coupled_pair::part const& one : pair.parts) {
      parts_.push_back({weight_of(pair, one.weight), one.p, one.q});
      first_ = std::min({first_, one.p, one.q});
      last_p_ = std::max(last_p_, one.p);
      last_q_ = std::max(last_q_, one.q);
    }
    last_ = std::max(last_p_, last_q_);
    auto const moved = parts_.begin() + (rest.upper > 0.0 ? 1 : 0);
    std::stable_sort(moved, parts_.end(), [](part const& one, part const& other) {
      return one.weight.upper > other.weight.upper;
    });
    for (part& one : parts_) {
      one.log_weight = one.weight.upper > 0.0 ? elementary::log(one.weight.upper) : -1e4;
      if (one.p != 0.0 || one.q != 0.0) most_log_ = std::max(most_log_, one.log_weight);
    }
    negligible_ = enclosure(-1.0, 1.0) * enclosure(negligible_share) * exp(most_log_);
  }

  /// δ(ε) for ε ≥ 0.
  /// Guarantee: lower ≤ δ(ε) ≤ upper, about 1e-12 relative apart where δ ≥ 1e-290.
  [[nodiscard]] bound<T> delta(T epsilon) const;

  /// A point above the profile, by the half-line X > t: ε is no less than the loss of t, and δ = P(X > t) − e^ε·Q(X > t) as far
  /// as 1e-14 of the first probability lets it be known. In a time of one sum for each side.
  [[nodiscard]] approx_dp above(T t) const;

  /// The ε ≥ 0 with δ(ε) = delta; 0 where δ(0) is no more than that.
  /// Guarantee: lower ≤ ε ≤ upper, about 1e-12 relative apart; the ends were asked.
  [[nodiscard]] bound<T> epsilon(T delta) const {
    return inverse_profile(delta, [this](T e) { return this->delta(e); });
  }

 private:
  struct part {
    enclosure weight;
    double p;
    double q;
    double log_weight = 0.0;  // of its upper end
  };
  // What is this many e-folds below another term of its sum is not worth looking at. e^-59 bounds it with its rounding.
  static constexpr double negligible = 60.0;
  static constexpr double negligible_share = 2.4e-26;

  [[nodiscard]] bool normal() const { return ratio_.normal(); }
  [[nodiscard]] static enclosure distance(double x, double y) {
    enclosure const away = enclosure(x) - y;
    return away.upper < 0.0 ? -away : max(away, 0.0);
  }
  /// log(D(t − a)/D(t − b))
  [[nodiscard]] enclosure log_ratio(double a, double b, double t) const {
    if (a == b) return 0.0;
    if (normal()) return (enclosure(a) - b) * (t - 0.5 * (enclosure(a) + b));
    return distance(t, b) - distance(t, a);
  }

  /// log(D(t − a)/D(t)), in a few operations: each of them is wrong by 2⁻⁵³ of its result at most.
  [[nodiscard]] enclosure log_ratio(double a, double t) const {
    constexpr double step = 4.0 * 0x1p-53;
    double const value = normal() ? a * (t - 0.5 * a) : std::abs(t) - std::abs(t - a);
    double const error = step * (normal() ? std::abs(value) : std::abs(t) + std::abs(t - a));
    double const least = a != 0.0 ? 1e-300 : 0.0;  // where a product is too small for that
    return {value - error - least, value + error + least};
  }

  /// The loss at t.
  [[nodiscard]] enclosure loss(double t) const {
    if (std::optional<enclosure> const p = near_noise(&part::p, t)) {
      if (std::optional<enclosure> const q = near_noise(&part::q, t)) {
        return log1p((*p - *q) / (1.0 + *q));
      }
    }
    return log_mixture(&part::p, t) - log_mixture(&part::q, t);
  }
  /// Σ w_i·(D(t − a_i)/D(t) − 1), where that is small.
  [[nodiscard]] std::optional<enclosure> near_noise(double part::*shift, double t) const {
    enclosure sum = 0.0;
    for (part const& one : parts_) {
      if (one.*shift == 0.0) continue;
      enclosure const x = log_ratio(one.*shift, t);
      double const reach = std::max(x.upper, 0.0);
      if (one.log_weight + reach < most_log_ - negligible) {  // between −w and w·e^reach
        sum += negligible_;
        continue;
      }
      sum += one.weight * expm1(x);
      if (!(sum.upper < 1e3)) return std::nullopt;
    }
    if (sum.lower > -0.5 && sum.upper < 0.5) return sum;
    return std::nullopt;
  }
  /// log Σ w_i·D(t − a_i)/D(t)
  [[nodiscard]] enclosure log_mixture(double part::*shift, double t) const {
    part const* heaviest = nullptr;
    enclosure top = 0.0;
    double most = -std::numeric_limits<double>::infinity();
    for (part const& one : parts_) {
      if (!(one.weight.lower > 0.0)) continue;
      enclosure const x = log_ratio(one.*shift, t);
      if (heaviest != nullptr && !(one.log_weight + x.lower > most)) continue;
      heaviest = &one;
      top = x;
      most = one.log_weight + x.lower;
    }
    enclosure sum = 0.0;
    for (part const& one : parts_) {
      enclosure const x = log_ratio(one.*shift, t);
      sum += one.log_weight + x.upper < most - negligible
                 ? enclosure(0.0, negligible_share * heaviest->weight.upper)
                 : one.weight * exp(x - top.lower);
    }
    return top.lower + log(sum);
  }

  /// δ_s(ℓ) of the noise.
  [[nodiscard]] enclosure noise_profile(enclosure shift, enclosure l) const {
    constexpr double most = std::numeric_limits<double>::max();
    if (!normal()) return max(-expm1(0.5 * (l - shift)), 0.0);
    double const s_low = std::max(0.0, shift.lower);
    double const lower =
        l.upper <= most ? tacit::delta(gaussian_dp{s_low}, std::max(l.upper, -most)).lower : 0.0;
    double const upper = l.lower >= -most
                             ? tacit::delta(gaussian_dp{shift.upper}, std::min(l.lower, most)).upper
                             : 1.0;
    return {lower, upper};
  }

  /// δ at the loss of t.
  [[nodiscard]] enclosure at(double t) const {
    double top = -std::numeric_limits<double>::infinity();
    for (part const& one : parts_) {
      if (one.weight.lower > 0.0) top = std::max(top, log_ratio(one.q, t).lower);
    }
    enclosure whole = 0.0;
    enclosure sum = 0.0;
    for (part const& under : parts_) {
      enclosure const mass = under.weight * exp(log_ratio(under.q, t) - top);
      whole += mass;
      for (part const& over : parts_) {
        if (over.p == under.q) continue;
        enclosure const shift = enclosure(over.p) - under.q;
        enclosure const l = log_ratio(over.p, under.q, t);
        enclosure const gap =
            over.p > under.q ? noise_profile(shift, l) : -exp(l) * noise_profile(-shift, -l);
        sum += mass * over.weight * gap;
      }
    }
    return max(sum / whole, 0.0);
  }

  /// Of a mirrored pair, which has nothing below.
  [[nodiscard]] double delta_at_zero() const {
    part const& one = parts_.back();
    return (one.weight * noise_profile(enclosure(one.p) - one.q, 0.0)).upper;
  }

  coupled_ratio<T> ratio_;
  std::vector<part> parts_;  // what is not moved, and then the heaviest first
  double first_ = 0.0;       // of all shifts
  double last_ = 0.0;
  double last_p_ = 0.0;
  double last_q_ = 0.0;
  double most_log_ = -std::numeric_limits<double>::infinity();  // of the parts that are moved
  enclosure negligible_ = 0.0;                                  // beside the heaviest of them
};

template <std::same_as<double> T>
bound<T> coupled_profile<T>::delta(T epsilon) const {
  constexpr T infinity = std::numeric_limits<T>::infinity();
  if (!normal() && epsilon >= loss(last_).upper) return {0.0, 0.0};
  T low = ratio_.mirrored() ? ratio_.middle() : first_;
  T high = last_;
  if (normal()) {
    // Beyond these the loss is at least ε, and at most 0.
    T reach = 1.0 + epsilon / (last_ - first_);
    while (reach < 1e300 && !(ratio_.loss(high) >= epsilon)) {
      high = last_ + reach;
      reach *= 2.0;
    }
    reach = 1.0;
    while (!ratio_.mirrored() && reach < 1e300 && !(ratio_.loss(low) <= 0.0)) {
      low = first_ - reach;
      reach *= 2.0;
    }
  }
  T const t = ratio_.output(epsilon, low, high);
  T const least = std::max(0x1p-52 * std::abs(t), 0x1p-60 * (last_ - first_));
  T upper = 1.0;
  T move = least;
  for (int step = 0; step < 64; ++step, move *= 2.0) {
    T const x = t - move;
    if (ratio_.mirrored() && !(x > ratio_.middle())) {
      upper = delta_at_zero();
      break;
    }
    if (loss(x).upper <= epsilon) {
      upper = at(x).upper;
      break;
    }
  }
  T lower = 0.0;
  move = least;
  for (int step = 0; step < 64; ++step, move *= 2.0) {
    T const x = t + move;
    if (!normal() && !(x < last_)) break;
    if (loss(x).lower >= epsilon) {
      lower = at(x).lower;
      break;
    }
  }
  upper = std::min(upper, 1.0);
  return {std::min(lower, upper), upper < infinity ? upper : 1.0};
}

template <std::same_as<double> T>
approx_dp coupled_profile<T>::above(T t) const {
  auto const beyond = [&](double shift) {
    enclosure const x = enclosure(t) - shift;
    if (normal()) return normal_tail(x);
    return x.lower >= 0.0 ? 0.5 * exp(-x) : 1.0 - 0.5 * exp(min(x, 0.0));
  };
  // No tail is more than that of the largest shift.
  auto const mixed = [&](double part::*shift, double last) {
    enclosure const most = beyond(last);
    enclosure sum = 0.0;
    for (part const& one : parts_) {
      double const at_most = (one.weight * most).upper;
      sum += at_most < negligible_share * sum.lower ? enclosure(0.0, at_most)
                                                    : one.weight * beyond(one.*shift);
    }
    return sum;
  };
  enclosure const p = mixed(&part::p, last_p_);
  enclosure const q = mixed(&part::q, last_q_);
  enclosure const at_t = loss(t);
  double const most = (p - exp(at_t) * q).upper;
  return {std::max(at_t.upper, 0.0), most <= 1.0 ? std::max(most, 0.0) : 1.0};
}

/// One release in both directions, whose profiles are equal where it is symmetric.
struct coupled_release {
  coupled_pair remove;
  coupled_pair add;
  bool symmetric;
};

/// A domination as coupled pairs, or nothing. (1 − q)·L(0) + q·L(s) against L(0), L(m) being Laplace noise about m, is one of one
/// part (q, p = s, q = 0); turned over it is (q, p = 0, q = −s).
[[nodiscard]] inline std::optional<coupled_release> as_coupled(domination const& pairs) {
  if (auto const* coupled = std::get_if<coupled_pair>(&pairs.remove)) {
    return coupled_release{*coupled, std::get<coupled_pair>(pairs.add), pairs.symmetric};
  }
  auto const* bounded = std::get_if<bounded_pair>(&pairs.remove);
  if (bounded == nullptr || bounded->atom != 0.5) return std::nullopt;
  auto const of_one = [&](double p, double q) {
    return coupled_pair{coupled_pair::noise::laplace, {{bounded->rate, p, q}}};
  };
  return coupled_release{of_one(bounded->epsilon, 0.0), of_one(0.0, -bounded->epsilon),
                         pairs.symmetric};
}

#if defined(TACIT_COMPILED)
extern template class coupled_profile<double>;
#endif

}  // namespace tacit::detail
