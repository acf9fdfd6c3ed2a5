// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/quadrature.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/allocation/lattice.hpp>
#include <tacit/dp/contour/turns.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

namespace tacit::detail::epochs {

/// E e^{gs(V − 1)} − 1 for Re s = θ: Σ_k series[k]·s^k, of values so near 1 that |s(v − 1)| ≤ 3, and of the others
/// Σ start·e^{i·Im s·loss} − plain − mean·s. By how much that is off.
template <std::same_as<double> T = double>
struct ratio_terms {
  static constexpr std::size_t degree = 32;

  std::array<T, degree + 1> series{};
  std::vector<turning_term<T>> term;
  T plain = 0.0;
  T mean = 0.0;
  T sum = 0.0;    // of all starts
  T wrong = 0.0;  // at most, at s = θ, …
  T swing = 0.0;  // … so much more for each unit of |s|, …
  T bend = 0.0;   // … and for each of |s|²

  /// But for the turning terms.
  [[nodiscard]] complex<T> rest(complex<T> const& s) const {
    complex<T> of_series{0.0, 0.0};
    for (std::size_t k = degree; k >= 2; --k) of_series = (of_series + series[k]) * s;
    return of_series * s - mean * s - plain;
  }
  [[nodiscard]] T off(T modulus) const { return wrong + modulus * (swing + modulus * bend); }
};

/// V = min(U, top), U = e^{aZ − a²/2}, top = e^{az − a²/2} for a given z; g = 1 of calls and −1 of puts.
/// docs/certificates/allocation.md, Lemmas 26 and 27.
template <std::same_as<double> T = double>
class cut_ratio {
 public:
  cut_ratio(T shift, T last, side way)
      : a_(shift), last_(last), sign_(way == side::call ? 1.0 : -1.0), top_(value(last)) {}

  [[nodiscard]] T sign() const { return sign_; }
  [[nodiscard]] T last() const { return last_; }
  [[nodiscard]] T top() const { return top_; }
  /// How far U is off, relatively, a being rounded, for all |z| ≤ 50.
  [[nodiscard]] T location_error() const {
    return unit_roundoff * 4.0 * (50.0 * a_ + a_ * a_ + 1.0);
  }
  /// E(U − top)₊.
  [[nodiscard]] enclosure excess() const {
    enclosure const a = within_steps(a_, 1);
    enclosure const z = last_;
    enclosure const cut = exp(a * z - 0.5 * square(a));
    return max(normal_tail(z - a) - cut * normal_tail(z), 0.0);
  }

  /// By panels each of which errs by no more than `allowed` where |s| ≤ `most`. Nothing where those are too many.
  [[nodiscard]] std::optional<ratio_terms<T>> at(T tilt, T most, T allowed) const {
    gathered out;
    T const log_allowed = elementary::log(allowed);
    T quadrature = 0.0;
    T half = 0.5;
    // Farther out a panel's masses are subnormal.
    T const first = -std::min(37.0, std::sqrt(196.0 + 2.0 * std::max(0.0, -sign_ * tilt)));
    for (T z = first; z < last_;) {
      half = std::min(1.6 * half, 1.0);
      T error = 0.0;
      T next = 0.0;
      for (;; half *= 0.8) {
        next = std::min(last_, z + 2.0 * half);
        error = log_error(0.5 * (z + next), 0.5 * (next - z), tilt, most);
        if (error <= log_allowed || half < 1e-5) break;
      }
      if (!(error <= log_allowed) || out.terms.term.size() > most_nodes) return std::nullopt;
      quadrature += elementary::exp(error);
      put_panel(out, z, next, tilt, most);
      z = next;
    }
    put(out, last_, normal_tail(enclosure(last_)).upper, 64.0 + 8.0 * last_ * last_, tilt, most);
    // EV is 1 − E(U − top)₊. Left of the first panel |ψ| ≤ e^{max(0, −gθ)} + 1 + |s|.
    enclosure const lost = excess();
    out.mean += sign_ * 0.5 * (lost.lower + lost.upper);
    T const left_out = normal_tail(enclosure(-first)).upper;
    ratio_terms<T>& found = out.terms;
    T const u = unit_roundoff;
    found.wrong =
        1.01 * (quadrature + left_out * (1.0 + elementary::exp(std::max(0.0, -sign_ * tilt))) +
                u * found.wrong);
    found.swing = 1.01 * (left_out + lost.width() + u * (found.swing + 4.0 * lost.upper));
    found.bend *= 1.01 * u;
    found.plain = out.plain.value();
    found.mean = out.mean.value();
    T factorial = 1.0;
    for (std::size_t k = 2; k <= ratio_terms<T>::degree; ++k) {
      factorial *= static_cast<T>(k);
      found.series[k] = out.series[k].value() / factorial;
    }
    return std::move(found);
  }

  /// log |E e^{gs(V − 1)}| at most where Re s = `tilt` and Im s ≥ `from`, z turned by φ/a; `laplace(r)` is at least log E e^{−r(U−1)}.
  template <class Laplace>
  [[nodiscard]] T log_beyond(T tilt, T from, T phi, Laplace&& laplace) const {
    auto const [sine, cosine] = elementary::sin_cos(phi);
    T const r = from * sine - sign_ * tilt * cosine;
    T const height = phi / a_;
    T const swell = 0.5 * height * height;
    T const rest = sign_ * tilt;
    T const of_top = (sign_ > 0.0 ? tilt : -tilt * cosine) * top_;
    T const along = r > 0.0 ? elementary::exp(swell + laplace(r) - r - rest) : 1e300;
    T const across = std::min(height, 0.5 * std::numbers::pi / (a_ * from * top_)) *
                     elementary::exp(swell + of_top - rest - 0.5 * last_ * last_) *
                     inv_root_two_pi<T>;
    T const at_top =
        normal_tail(enclosure(last_)).upper * elementary::exp(sign_ * tilt * (top_ - 1.0));
    return elementary::log((along + across + at_top) * (1.0 + 1e-12 + 1e-15 * (from + tilt)));
  }

 private:
  static constexpr std::size_t most_nodes = 40'000;

  struct gathered {
    ratio_terms<T> terms;
    std::array<compensated_sum<T>, ratio_terms<T>::degree + 1> series{};
    compensated_sum<T> plain;
    compensated_sum<T> mean;
  };

  [[nodiscard]] T value(T z) const { return elementary::exp(a_ * (z - 0.5 * a_)); }

  // Of the rule with 20 nodes for φ(z)·e^{gs(u(z) − 1)} around z, by Bernstein's ellipses of ρ = 3, 6 and 10: half their axes,
  // and 8ρ^{−39}/(ρ − 1) at least.
  [[nodiscard]] T log_error(T z, T half, T tilt, T most) const {
    struct ellipse {
      T wide;
      T high;
      T log_factor;
    };
    static constexpr std::array<ellipse, 3> ellipses{
        {{1.6667, 1.3334, -41.45}, {3.0834, 2.9167, -69.4}, {5.0501, 4.9501, -89.9}}};
    T const u = value(z);
    T best = 1e300;
    for (auto const& [wide, high, log_factor] : ellipses) {
      T const nearest = std::max(0.0, std::abs(z) - wide * half);
      T const swell = 0.5 * (high * high * half * half - nearest * nearest);
      T const reach = most * u * elementary::expm1(a_ * wide * half);
      // |e^w| and 1 + |w|, w = gs(u(z) − 1).
      T const power = sign_ * tilt * (u - 1.0) + reach;
      T const size = std::max(0.0, power) + elementary::log(3.0 + most * (u + 1.0) + reach);
      best = std::min(best, log_factor + swell + size);
    }
    return best + elementary::log(half);
  }

  void put_panel(gathered& out, T from, T to, T tilt, T most) const {
    T const half = 0.5 * (to - from);
    T const middle = 0.5 * (from + to);
    for (auto const& [node, weight] : gauss_legendre<T>()) {
      for (T const x : {-node, node}) {
        T const z = middle + half * x;
        T const mass = half * weight * inv_root_two_pi<T> * elementary::exp(-0.5 * z * z);
        put(out, z, mass, 16.0 + 5.0 * z * z, tilt, most);
      }
    }
  }

  void put(gathered& out, T z, T mass, T units, T tilt, T most) const {
    T const u = value(z);
    T const loss = sign_ * (u - 1.0);
    T const size = std::abs(loss);
    // Of the loss, in units, and of a product with it, which is an exponent or an angle.
    T const moved = u * (4.0 * a_ * (std::abs(z) + 1.0) + a_ * a_ + 4.0) + 2.0 * size;
    if (most * size <= 3.0) {
      T power = mass * loss;
      for (std::size_t k = 2; k <= ratio_terms<T>::degree; ++k) {
        power *= loss;
        out.series[k] += power;
      }
      out.terms.bend += mass * size * (1.8 * size * (units + 16.0) + 6.4 * (moved + 8.0 * size));
      return;
    }
    T const start = mass * elementary::exp(tilt * loss);
    out.terms.term.push_back({{start, 0.0}, {loss, 0.0}});
    out.terms.sum += start;
    out.plain += mass;
    out.mean += mass * loss;
    out.terms.wrong += start * (units + tilt * moved + 8.0) + mass * (units + 4.0);
    out.terms.swing += start * moved + mass * (size * (units + 4.0) + moved);
  }

  T a_;
  T last_;
  T sign_;
  T top_;
};

}  // namespace tacit::detail::epochs
