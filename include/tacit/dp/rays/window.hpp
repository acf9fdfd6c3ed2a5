// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/dp/rays/complex.hpp>

#include <algorithm>
#include <limits>

/// A smooth step between small and large losses g = e^ζ,
///
///   lesser(ζ) = 1/(1 + e^{w}),   large(ζ) = 1 − lesser(ζ) = 1/(1 + e^{−w}),   w = 2 sinh(λ(ζ − log a)),
///
/// which falls doubly exponentially on either side of a, on the real line and on every line Im ζ = θ with
/// λθ ≤ 5/4 (docs/certificates/rays.md, Lemma 5): there |1 + e^w| ≥ max(1, e^{Re w})/2.25, so that lesser has no
/// pole, and |1 + e^w| ≥ |e^{Re w} − 1|.

namespace tacit::detail::rays {

/// One smooth step: a as its logarithm, −∞ if everything is large, ∞ if everything is small.
struct window {
  double log_cut = std::numeric_limits<double>::infinity();
  double power = 1.0;  // λ

  static constexpr double largest_angle = 1.25;

  [[nodiscard]] bool all() const { return log_cut == std::numeric_limits<double>::infinity(); }

  static constexpr double most = 2.25;
  static constexpr double log_most = 0.8109302162163289;  // rounded up
};

/// Bounds on a window on the line at one angle.
class window_bound {
 public:
  window_bound(window const& at, double theta)
      : window_(at), cosine_(at.all() ? 1.0 : elementary::cos(at.power * theta)) {}

  /// Logarithms of bounds on |lesser| and |large| over low ≤ log ρ ≤ high.
  [[nodiscard]] double log_small(double low, double high) const {
    if (window_.all()) return 0.0;
    if (low >= window_.log_cut) return decayed(low - window_.log_cut);
    if (high <= window_.log_cut) return whole(window_.log_cut - high);
    return window::log_most;
  }
  [[nodiscard]] double log_large(double low, double high) const {
    if (window_.all()) return -1e9;
    if (high <= window_.log_cut) return decayed(window_.log_cut - high);
    if (low >= window_.log_cut) return whole(low - window_.log_cut);
    return window::log_most;
  }
  /// |Re w| at the distance x ≥ 0 from the cut.
  [[nodiscard]] double exponent(double x) const {
    return 2.0 * elementary::sinh(std::min(window_.power * x, 300.0)) * cosine_;
  }
  /// The logarithm of a bound on 1/|1 + e^{−w}| at Re w = exponent ≥ 0.
  [[nodiscard]] static double whole_from(double exponent) {
    if (exponent > 40.0) return 5e-18;  // −log(1 − e^{−40}) < 4.3e-18
    double const rest = -elementary::expm1(-exponent);
    return rest > 1.0 / window::most ? -elementary::log(rest) : window::log_most;
  }

 private:
  [[nodiscard]] double whole(double x) const {
    // 2 sinh(6)·cos(5/4) > 127
    return window_.power * x > 6.0 ? 5e-18 : whole_from(exponent(x));
  }
  [[nodiscard]] double decayed(double x) const {
    double const e = exponent(x);
    return whole_from(e) - e * (1.0 - 1e-14);
  }

  window window_;
  double cosine_;
};

/// Both values as e^{exponent}·factor, and their relative errors in units of u: an error of 30u|w| in w moves the
/// smaller of the two by as much, the larger by the part that the smaller is of it.
template <class R>
struct window_value {
  struct one {
    complex<R> exponent;
    complex<R> factor;
    R wrong;
    [[nodiscard]] bool kept() const { return exponent.re == 0 && exponent.im == 0; }
    [[nodiscard]] complex<R> value() const { return kept() ? factor : exp(exponent) * factor; }
  };
  one lesser{{}, {1, 0}, 0};
  one large{{-1e5, 0}, {}, 0};
};

/// A window on the line at one angle.
template <class R>
class window_line {
 public:
  window_line(window const& step, R theta)
      : window_(step),
        turn_(step.all() ? complex<R>{1, 0} : polar<R>(1, static_cast<R>(step.power) * theta)) {}

  /// At ζ + iθ.
  [[nodiscard]] window_value<R> at(R zeta) const;

 private:
  window window_;
  complex<R> turn_;
};

template <class R>
window_value<R> window_line<R>::at(R zeta) const {
  if (window_.all()) return {};
  R const x = std::clamp<R>(window_.power * (zeta - window_.log_cut), -40, 40);
  complex<R> const w{2 * elementary::sinh(x) * turn_.re, 2 * elementary::cosh(x) * turn_.im};
  bool const right = w.re >= 0;
  complex<R> const minor = right ? -w : w;  // Re ≤ 0
  complex<R> const e = minor.re < -690 ? complex<R>{} : exp(minor);
  complex<R> const factor = complex<R>{1, 0} / (1 + e);
  typename window_value<R>::one const kept{{}, factor, 60 + 225 * modulus(w) * modulus(e)};
  typename window_value<R>::one const gone{minor, factor, 60 + 100 * modulus(w)};
  return right ? window_value<R>{gone, kept} : window_value<R>{kept, gone};
}

}  // namespace tacit::detail::rays
