// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/grid/coupled.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <variant>
#include <vector>

/// The smooth parts of a dominating pair's law: curves along which the loss and P's density are smooth functions
/// of a parameter.

namespace tacit::detail {

// Each curve: parameter in [low, high], loss ascending. `roughness` is the D of docs/certificates/grid.md,
// Lemma 7, on a stretch of parameters: over it the k-th derivatives of the densities are at most D^k times
// their values, up to the order that the quadrature uses. `cost` is that of a quadrature node, in nanoseconds.

/// Mixture pairs, and normal ones as a mixture without rest. The parameter is x in the direction
/// `remove`, −x in the direction `add`.
template <std::same_as<double> T = double>
struct mixture_curve {
  std::vector<mixture_pair::part> parts;
  T rest = 0.0;
  T sign = 1.0;
  T low = 0.0;
  T high = 0.0;

  [[nodiscard]] T ratio_log(T x) const { return mixture_ratio(parts, rest, x).log; }
  [[nodiscard]] T loss(T t) const { return sign * ratio_log(sign * t); }
  [[nodiscard]] T log_density(T t, T at_loss) const {
    T const normal = -0.5 * t * t - constants::log_root_two_pi<T>();
    return sign > 0.0 ? at_loss + normal : normal;
  }
  [[nodiscard]] T cost() const { return 150.0 + 100.0 * static_cast<T>(parts.size()); }
  [[nodiscard]] T cell_cost() const {
    return parts.size() == 1 ? 0.0 : 60.0 * (10.0 + 12.0 * static_cast<T>(parts.size()));
  }
  [[nodiscard]] T roughness(T from, T to) const {
    T const shift = parts.back().shift;
    T const farthest = std::max(
        {std::abs(from), std::abs(to), std::abs(sign * from - shift), std::abs(sign * to - shift)});
    return farthest + 0.5 * shift + 2.2;
  }
  [[nodiscard]] T parameter(T at_loss, T hint) const {
    T const target = sign * at_loss;
    T const s = parts.back().shift;
    if (parts.size() == 1) {
      return sign * (unsampled_loss<T>(target, parts[0].weight, rest) / s + 0.5 * s);
    }
    // Bisection in what is left of [low, high]; an error here moves mass by no more loss than it spans.
    return bisect(
               bracket<T>{std::max(low, hint), high},
               [](T a, T b) { return b - a > 1e-15 * (std::abs(a) + std::abs(b)); },
               [&](T middle) { return loss(middle) <= at_loss; }, 60)
        .middle();
  }
};

/// The density between the atoms of a bounded pair. The parameter is the loss before sampling, or
/// minus it in the direction `add`.
template <std::same_as<double> T = double>
struct bounded_curve {
  T epsilon = 0.0;
  T log_height = 0.0;
  T rate = 1.0;
  T sign = 1.0;
  T low = 0.0;
  T high = 0.0;

  [[nodiscard]] T loss(T t) const { return sign * sampled_loss<T>(sign * t, rate, 1.0 - rate); }
  [[nodiscard]] T log_density(T t, T at_loss) const {
    T const base = log_height - 0.5 * (sign * t + epsilon);
    return sign > 0.0 ? at_loss + base : base;
  }
  static constexpr T cost() { return 170.0; }
  static constexpr T cell_cost() { return 0.0; }
  [[nodiscard]] T roughness(T, T) const { return 2.0; }
  [[nodiscard]] T parameter(T at_loss, T) const {
    return sign * unsampled_loss<T>(sign * at_loss, rate, 1.0 - rate);
  }
};

/// The profile of one noise pair and what follows from it, with x = e^ε. Nothing here overflows, nor
/// underflows where it counts: the losses of a small noise are in the thousands.
template <std::same_as<double> T = double>
struct noise_profile {
  amplified_pair::noise kind;
  T shift;

  [[nodiscard]] bool normal() const { return kind == amplified_pair::noise::normal; }
  /// P(L > ε)
  [[nodiscard]] T tail_p(T e) const {
    if (normal()) return tail_by_erfc(e / shift - 0.5 * shift);
    return e < shift ? 1.0 - 0.5 * elementary::exp(0.5 * (e - shift)) : 0.0;
  }
  /// P(L ≤ ε)
  [[nodiscard]] T rest_p(T e) const {
    if (normal()) return tail_by_erfc(0.5 * shift - e / shift);
    return e < shift ? 0.5 * elementary::exp(0.5 * (e - shift)) : 1.0;
  }
  /// x·Q(L > ε), or x·Q(L ≥ ε)
  [[nodiscard]] T raised_tail_q(T e, bool closed) const {
    if (normal()) {
      T const y = e / shift - 0.5 * shift;
      return elementary::exp(-0.5 * y * y - constants::log_root_two_pi<T>()) *
             mills_ratio(e / shift + 0.5 * shift);
    }
    return e < shift || (closed && e == shift) ? 0.5 * elementary::exp(0.5 * (e - shift)) : 0.0;
  }
  [[nodiscard]] T delta(T e) const {
    if (normal()) return gaussian_profile(shift, e);
    return e < shift ? -elementary::expm1(0.5 * (e - shift)) : 0.0;
  }
  /// x²·δ″(x), away from a kink
  [[nodiscard]] T curvature(T e) const {
    if (normal()) {
      T const y = e / shift - 0.5 * shift;
      return elementary::exp(-0.5 * y * y - constants::log_root_two_pi<T>()) / shift;
    }
    return e < shift ? 0.25 * elementary::exp(0.5 * (e - shift)) : 0.0;
  }
};

/// P(L > ε) of one pair less that of another, without cancelling near 1.
template <std::same_as<double> T = double>
[[nodiscard]] T tail_difference(noise_profile<T> const& a, noise_profile<T> const& b, T e) {
  T const rest_a = a.rest_p(e);
  T const rest_b = b.rest_p(e);
  return rest_a + rest_b < 1.0 ? rest_b - rest_a : a.tail_p(e) - b.tail_p(e);
}

/// One side of an amplified pair. The parameter is the noise's own ε, or minus it on the negative side,
/// where P's density is e^{−loss} times that at the mirrored loss.
///
/// With x = e^ε and x′ = 1+rate·(x−1) the profile is D = rate·G, G(x) = (1−rate)(1−1/x)δ_a +
/// (rate+(1−rate)/x)δ_c. Q's mass above x′ is −dD/dx′ = −dG/dx, and P's density of ε is x′·x·G″(x).
template <std::same_as<double> T = double>
struct amplified_curve {
  noise_profile<T> absent;
  noise_profile<T> changed;
  T rate = 1.0;
  T sign = 1.0;
  T low = 0.0;
  T high = 0.0;

  [[nodiscard]] T loss(T t) const { return sign * sampled_loss<T>(sign * t, rate, 1.0 - rate); }
  /// G
  [[nodiscard]] T profile(T e) const {
    T const out = 1.0 - rate;
    return out * -elementary::expm1(-e) * absent.delta(e) +
           (rate + out * elementary::exp(-e)) * changed.delta(e);
  }
  /// x·G′, from the right or from the left
  [[nodiscard]] T slope(T e, bool from_left) const {
    T const out = 1.0 - rate;
    T const less = elementary::exp(-e);
    return out * (less * (absent.delta(e) - changed.delta(e)) +
                  elementary::expm1(-e) * absent.raised_tail_q(e, from_left)) -
           (rate + out * less) * changed.raised_tail_q(e, from_left);
  }
  /// x²·G″
  [[nodiscard]] T curvature(T e) const {
    T const out = 1.0 - rate;
    T const less = elementary::exp(-e);
    return out * -elementary::expm1(-e) * absent.curvature(e) +
           (rate + out * less) * changed.curvature(e) +
           2.0 * out * less * tail_difference(changed, absent, e);
  }
  [[nodiscard]] T log_density(T t, T at_loss) const {
    T const value = curvature(sign * t);
    T const e = sign * t;
    return value > 0.0 ? (sign > 0.0 ? at_loss - e : -e) + elementary::log(value)
                       : -std::numeric_limits<T>::infinity();
  }
  static constexpr T cost() { return 450.0; }
  static constexpr T cell_cost() { return 0.0; }
  /// @pre absent ≤ changed
  [[nodiscard]] T roughness(T from, T to) const {
    if (!absent.normal()) return 5.0;
    T const least = std::min(std::abs(from), std::abs(to));
    T const most = std::max(std::abs(from), std::abs(to));
    T const a = absent.shift;
    T const c = changed.shift;
    T const normals = most / (a * a) + 0.5 + 2.2 / a;
    // N_a over N_c, at most, and N_a over P_c(L > e) − P_a(L > e)
    T const ratio = elementary::exp((c - a) * (c + a) / 8.0);
    T const beyond = std::min(0.5 * (c - a), 1.0 / (most / a + 0.5 * a + 1.0));
    T const rising = std::min({1.0 / least, ratio * c / a, 2.25 / (a * beyond)});
    T const between = std::min(2.0 * (c / a - 1.0) * ratio, 1.0 / (least + 0.5 * a * a));
    return normals + 2.0 + rising + between;
  }
  [[nodiscard]] T parameter(T at_loss, T) const {
    return sign * unsampled_loss<T>(sign * at_loss, rate, 1.0 - rate);
  }
};

/// Where a profile between `ends` touches its lower convex hull, of samples of it. The polygon through these
/// is at least the hull: how well the samples find that is a matter of tightness alone.
template <std::same_as<double> T = double>
[[nodiscard]] std::vector<T> hull_of(amplified_curve<T> const& curve, std::vector<T> const& ends) {
  constexpr int samples = 4096;
  struct point {
    T e;
    T value;
  };
  std::vector<point> hull;
  for (std::size_t part = 0; part + 1 < ends.size(); ++part) {
    for (int k = part == 0 ? 0 : 1; k <= samples; ++k) {
      T const e =
          k == samples ? ends[part + 1] : ends[part] + (ends[part + 1] - ends[part]) * k / samples;
      point const next{e, curve.profile(e)};
      while (hull.size() >= 2) {
        point const& last = hull.back();
        point const& before = hull[hull.size() - 2];
        // Slopes in x, times x at the last.
        T const from_left = (before.value - last.value) / elementary::expm1(before.e - last.e);
        T const to_right = (next.value - last.value) / elementary::expm1(next.e - last.e);
        if (from_left < to_right) break;
        hull.pop_back();
      }
      hull.push_back(next);
    }
  }
  std::vector<T> out;
  for (point const& p : hull) out.push_back(p.e);
  return out;
}

template <std::same_as<double> T = double>
using loss_curve =
    std::variant<mixture_curve<T>, bounded_curve<T>, amplified_curve<T>, coupled_curve<T>>;

}  // namespace tacit::detail
