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
    double last = 0.0;
    for (coupled_pair::part const& one : pair.parts) {
      parts_.push_back({weight_of(pair, one.weight), one.p, one.q});
      last = std::max({last, one.p, one.q});
      first_ = std::min({first_, one.p, one.q});
    }
    enclosure const rest = rest_of(pair);
    if (rest.upper > 0.0) parts_.push_back({rest, 0.0, 0.0});
    last_ = last;
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
  };

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

  /// The loss at t.
  [[nodiscard]] enclosure loss(double t) const {
    enclosure p = 0.0;
    enclosure q = 0.0;
    for (part const& one : parts_) {
      enclosure const at_p = log_ratio(one.p, 0.0, t);
      enclosure const at_q = log_ratio(one.q, 0.0, t);
      p += one.weight * expm1(at_p);
      q += one.weight * expm1(at_q);
    }
    auto const near_zero = [](enclosure const& y) { return y.lower > -0.5 && y.upper < 0.5; };
    if (near_zero(p) && near_zero(q)) return log1p((p - q) / (1.0 + q));
    auto const log_mixture = [&](double part::*shift) {
      double top = -std::numeric_limits<double>::infinity();
      for (part const& one : parts_) {
        if (one.weight.lower > 0.0) top = std::max(top, log_ratio(one.*shift, 0.0, t).lower);
      }
      enclosure sum = 0.0;
      for (part const& one : parts_) {
        sum += one.weight * exp(log_ratio(one.*shift, 0.0, t) - top);
      }
      return top + log(sum);
    };
    return log_mixture(&part::p) - log_mixture(&part::q);
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
      if (one.weight.lower > 0.0) top = std::max(top, log_ratio(one.q, 0.0, t).lower);
    }
    enclosure whole = 0.0;
    enclosure sum = 0.0;
    for (part const& under : parts_) {
      enclosure const mass = under.weight * exp(log_ratio(under.q, 0.0, t) - top);
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
    part const& one = parts_.front();
    return (one.weight * noise_profile(enclosure(one.p) - one.q, 0.0)).upper;
  }

  coupled_ratio<T> ratio_;
  std::vector<part> parts_;
  double first_ = 0.0;  // of all shifts
  double last_ = 0.0;
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
  enclosure p = 0.0;
  enclosure q = 0.0;
  auto const beyond = [&](double shift) {
    enclosure const x = enclosure(t) - shift;
    if (normal()) return normal_tail(x);
    return x.lower >= 0.0 ? 0.5 * exp(-x) : 1.0 - 0.5 * exp(min(x, 0.0));
  };
  for (part const& one : parts_) {
    p += one.weight * beyond(one.p);
    q += one.weight * beyond(one.q);
  }
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
