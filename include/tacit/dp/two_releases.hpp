// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/quadrature.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <utility>

/// Two releases of sampled Gaussians, by one integral: the profile of the second, which has a closed form, over the
/// outcomes of the first. The proofs are in docs/certificates/two_releases.md.

namespace tacit::detail {

/// A Gaussian whose μ > 0 is in `shift`, sampled at `rate` in (0, 1].
struct sampled_normal {
  double rate;
  enclosure shift;
};

/// With R_j(x) = 1 − q_j + q_j e^{s_j x − s_j²/2}, D the profile of N(s₂, 1) against N(0, 1) and
/// e^t = (c/R₁(x) − 1 + q₂)/q₂, the profile is ∫ φ(x)·F(x) dx, where
///   remove:  c = e^ε,     F = q₂·R₁·D(t), or R₁ − c where c/R₁ ≤ 1 − q₂;
///   add:     c = e^{−ε},  F = q₂·(R₁/c)·e^t·D(−t), or 0 there.
/// F is monotone and analytic. Panels of 20 Gauss–Legendre nodes go out from where φ·F is largest for as long as they
/// add anything, and F at the ends bounds what is beyond.
template <std::same_as<double> T = double>
class two_releases {
 public:
  two_releases(sampled_normal one, sampled_normal other, orientation towards)
      : remove_(towards == orientation::remove), first_(one), second_(other) {
    // The profile of the larger loss is the flatter one.
    if (size(other) < size(one)) std::swap(first_, second_);
  }

  /// Whether panels converge soon.
  [[nodiscard]] bool serves() const {
    return first_.shift.upper <= 0.3 && second_.shift.upper <= 0.3;
  }

  /// Guarantee: lower ≤ δ(ε) ≤ upper for ε ≥ 0; where both μ are at most .3 mostly some 2e-13 apart, relatively, and
  /// [0, 1] at worst.
  [[nodiscard]] bound<T> delta(T epsilon) const {
    T const log_c = remove_ ? epsilon : -epsilon;
    T const peak = largest(log_c);
    enclosure sum = 0.0;
    for (T const sign : {1.0, -1.0}) add(peak, sign, log_c, sum);
    return {std::max(0.0, sum.lower), std::min(1.0, sum.upper)};
  }

  /// The ε ≥ 0 with δ(ε) = delta < δ(0), looked for from `start` on. Nothing where the profile is not narrow.
  /// Guarantee: lower ≤ ε ≤ upper; both ends were asked.
  [[nodiscard]] std::optional<bound<T>> epsilon(T delta, T start) const {
    T const goal = elementary::log(delta);
    auto const miss = [&](T e) -> std::optional<T> {
      bound<T> const found = this->delta(e);
      if (!(found.upper <= found.lower * (1.0 + narrow))) return std::nullopt;
      return elementary::log(0.5 * (found.lower + found.upper)) - goal;
    };
    // Secants: log δ is concave.
    T before = 0.99 * start;
    T at = start;
    T slope = 0.0;
    std::optional<T> last = miss(before);
    for (int step = 0; step < most_secants; ++step) {
      std::optional<T> const here = last ? miss(at) : std::nullopt;
      if (!here) return std::nullopt;
      slope = (*here - *last) / (at - before);
      if (!(slope < 0.0)) return std::nullopt;
      before = at;
      last = here;
      at = std::clamp(at - *here / slope, 0.5 * at, 2.0 * at);
      if (std::abs(*here) <= 1e-9) break;
    }
    // What is asked once more is at the solution, for either end.
    bound<T> out{at, at};
    bound<T> const there = this->delta(at);
    T const least = std::max(1e-15 * at - 4e-13 / slope, std::numeric_limits<T>::min());
    bool enough = there.lower >= delta;
    for (T move = least; !enough; move *= 4.0) {
      out.lower = at - move;
      if (!(out.lower > 0.0)) return std::nullopt;
      enough = this->delta(out.lower).lower >= delta;
    }
    enough = there.upper <= delta;
    for (T move = least; !enough; move *= 4.0) {
      out.upper = at + move;
      if (!(out.upper < 2.0 * at)) return std::nullopt;
      enough = this->delta(out.upper).upper <= delta;
    }
    return out;
  }

 private:
  static constexpr T narrow = 1e-9;
  static constexpr int most_secants = 30;
  static constexpr T widest = 0.75;  // half of a panel
  static constexpr T narrowest = widest / 64.0;
  static constexpr T reach = 2.5;         // of the disc in which F is bounded, in halves of a panel
  static constexpr T rho = 4.79;          // of an ellipse in the disc: (ρ + 1/ρ)/2 < reach
  static constexpr T farthest = 38.0;     // φ is hardly a number there
  static constexpr T negligible = 1e-14;  // of the integral
  static constexpr T converged = 1e-12;

  [[nodiscard]] static T size(sampled_normal const& of) { return of.rate * of.shift.upper; }

  // R₁ at a point. In what follows y is x in the direction `remove`, −x in the direction `add`: F rises in y.
  struct ratio {
    enclosure grown;  // q₁·e^{s₁x − s₁²/2}
    enclosure value;
    enclosure log;
  };
  [[nodiscard]] ratio ratio_at(enclosure y) const {
    enclosure const q = first_.rate;
    enclosure const s = first_.shift;
    enclosure const tau = s * ((remove_ ? y : -y) - 0.5 * s);
    if (first_.rate == 1.0) return {exp(tau), exp(tau), tau};
    enclosure const more = q * expm1(tau);
    return {q * exp(tau), 1.0 + more, log1p(more)};
  }
  // t, or nothing where c/R₁ may be no more than 1 − q₂.
  [[nodiscard]] std::optional<enclosure> end_of_event(ratio const& r, T log_c) const {
    enclosure const left = log_c - r.log;
    enclosure const q = second_.rate;
    if (second_.rate == 1.0) return left;
    if (left.lower > 1.0) return left - log(q) + log1p((q - 1.0) * exp(-left));
    enclosure const grown = expm1(left) / q;
    if (!(grown.lower > -1.0)) return std::nullopt;
    return log1p(grown);
  }
  [[nodiscard]] enclosure profile(enclosure t) const {
    constexpr T most = std::numeric_limits<T>::max();
    if (!(-most <= t.lower && t.upper <= most)) return {0.0, 1.0};
    return {around_gaussian(gaussian_profile(second_.shift.lower, t.upper)).lower,
            around_gaussian(gaussian_profile(second_.shift.upper, t.lower)).upper};
  }
  // F where t is a number.
  [[nodiscard]] enclosure value(ratio const& r, enclosure t, T log_c) const {
    enclosure const each = r.value * second_.rate;
    return remove_ ? each * profile(t) : each * exp(t - log_c) * profile(-t);
  }
  [[nodiscard]] std::optional<enclosure> value_at(enclosure y, T log_c) const {
    ratio const r = ratio_at(y);
    std::optional<enclosure> const t = end_of_event(r, log_c);
    return t ? std::optional(value(r, *t, log_c)) : std::nullopt;
  }
  [[nodiscard]] static enclosure root_two_pi() {
    return within_steps(constants::root_two_pi<T>(), 1);
  }

  // Near the largest φ·F; where to begin is a matter of time alone.
  [[nodiscard]] T largest(T log_c) const {
    T best = 0.0;
    T most = 0.0;
    for (T y = 0.0; y < farthest; y += widest) {
      std::optional<enclosure> const f = value_at(y, log_c);
      T const here = f ? elementary::exp(-0.5 * y * y) * f->lower : 0.0;
      if (here < most) break;
      most = here;
      best = y;
    }
    return best;
  }

  // ∫φF from y on, upwards or downwards: panel by panel, until what is beyond is as good as known.
  void add(T y, T sign, T log_c, enclosure& sum) const {
    T half = widest;
    enclosure rest = beyond(y, sign, log_c);
    while (std::abs(y) < farthest && rest.width() > negligible * sum.lower) {
      std::optional<enclosure> const part = panel(y, sign * half, log_c);
      if (part && part->width() <= converged * (sum + *part).lower) {
        sum += *part;
        y += sign * 2.0 * half;
        rest = beyond(y, sign, log_c);
        half = std::min(widest, 2.0 * half);
      } else if (half > narrowest) {
        half *= 0.5;
      } else {
        break;
      }
    }
    sum += rest;
  }

  // ∫φF between y and y + 2·half. Nothing where it would not converge.
  [[nodiscard]] std::optional<enclosure> panel(T y, T half, T log_c) const {
    T const size = std::abs(half);
    T const middle = y + half;
    std::optional<enclosure> const off = error(middle, size, log_c);
    if (!off) return std::nullopt;
    enclosure sum = *off;
    for (auto const& [node, weight] : gauss_legendre<T>()) {
      for (T const side : {-1.0, 1.0}) {
        enclosure const at = middle + side * size * within_steps(node, 1);
        std::optional<enclosure> const f = value_at(at, log_c);
        if (!f) return std::nullopt;
        enclosure const density = exp(-0.5 * square(at)) / root_two_pi();
        sum += size * within_steps(weight, 1) * density * *f;
      }
    }
    return enclosure{std::max(0.0, sum.lower), sum.upper};
  }

  // ±4.4·half·M·ρ^{−40}/(1 − ρ^{−2}), M a bound on |φF| in the disc.
  [[nodiscard]] std::optional<enclosure> error(T middle, T half, T log_c) const {
    enclosure const radius = reach * enclosure(half);
    enclosure const s = second_.shift;
    ratio const r = ratio_at(middle);
    std::optional<enclosure> const t = end_of_event(r, log_c);
    if (!t) return std::nullopt;
    // In the disc R₁ is off by no more than `moved`, e^t relatively by `share`, t by `turned`.
    enclosure const moved = r.grown * expm1(first_.shift * radius);
    enclosure const least = r.value - moved;
    if (!(least.lower > 0.0)) return std::nullopt;
    enclosure const share = exp(log_c - r.log - *t) / second_.rate * moved / least;
    if (!(share.upper < 0.7)) return std::nullopt;
    enclosure const turned = -log1p(-share);
    enclosure const end = remove_ ? (*t - turned) / s - 0.5 * s : -((*t + turned) / s + 0.5 * s);
    enclosure const weight = remove_ ? enclosure(1.0) : exp(*t + turned - log_c);
    enclosure const event = 2.0 * weight * exp(0.5 * square(turned / s)) * normal_tail(end);
    enclosure const bell =
        exp(0.5 * square(radius) + std::abs(middle) * radius - 0.5 * square(enclosure(middle))) /
        root_two_pi();
    enclosure const most = bell * (r.value + moved) * second_.rate * event;
    enclosure power = 1.0;
    for (int k = 0; k < 40; ++k) power /= rho;
    T const off = (4.4 * half * most * power / (1.0 - 1.0 / square(enclosure(rho)))).upper;
    return enclosure{-off, off};
  }

  // ∫φF beyond y.
  [[nodiscard]] enclosure beyond(T y, T sign, T log_c) const {
    ratio const r = ratio_at(y);
    std::optional<enclosure> const t = end_of_event(r, log_c);
    enclosure const mass = normal_tail(sign * y);
    enclosure const least = t ? mass * value(r, *t, log_c) : enclosure(0.0);
    if (sign < 0.0) {
      // D(−t) ≤ 1 in the direction `add`, also where e^t is too near 0 for t to have a value.
      enclosure const left = log_c - r.log;
      enclosure const share = (expm1(left) + second_.rate) * exp(-left);
      return {0.0, t ? least.upper : remove_ ? mass.upper : (mass * max(share, 0.0)).upper};
    }
    if (!remove_) return {std::max(0.0, least.lower), (mass * limit(log_c)).upper};
    // P₁'s mass less c times Q₁'s where all outcomes of the second release count, and a little more where most do.
    enclosure const q = first_.rate;
    enclosure const s = second_.shift;
    enclosure const p = (1.0 - q) * mass + q * normal_tail(y - first_.shift);
    enclosure const c = exp(enclosure(log_c));
    enclosure const all = p - c * mass;
    if (!t) return {std::max(0.0, all.lower), p.upper};
    enclosure const others = c * mass * normal_tail(-(*t / s + 0.5 * s));
    return {std::max({0.0, all.lower, least.lower}), std::min(p.upper, (all + others).upper)};
  }
  // The supremum of F in the direction `add`, where R₁ is 1 − q₁.
  [[nodiscard]] enclosure limit(T log_c) const {
    if (first_.rate == 1.0) return {0.0, 1.0};
    enclosure const q = first_.rate;
    ratio const r{0.0, 1.0 - q, log1p(-q)};
    std::optional<enclosure> const t = end_of_event(r, log_c);
    return t ? min(value(r, *t, log_c), 1.0) : enclosure{0.0, 1.0};
  }

  bool remove_;
  sampled_normal first_;
  sampled_normal second_;
};

}  // namespace tacit::detail
