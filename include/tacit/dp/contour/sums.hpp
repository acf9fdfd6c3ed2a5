// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <vector>

/// log M summed over the events of a composition along a line, with its rounding.

namespace tacit::detail {

/// |z| and arg z, with the errors of elementary::hypot and atan2.
template <std::same_as<double> T>
[[nodiscard]] T modulus_of(complex<T> const& z) {
  return elementary::hypot(z.re, z.im);
}
template <std::same_as<double> T>
[[nodiscard]] T angle_of(complex<T> const& z) {
  return elementary::atan2(z.im, z.re);
}
template <std::same_as<double> T>
[[nodiscard]] complex<T> polar_of(T size, T angle) {
  auto const [sine, cosine] = elementary::sin_cos_far(angle);
  return {size * cosine, size * sine};
}

/// Adds count·log_size from above: a product with a count, and a sum over all laws, round by `lost` of it.
template <std::same_as<double> T>
void add_counted(T& to, T count, T log_size, T lost) {
  to += count * log_size + lost * std::abs(count * log_size);
}

template <std::same_as<double> T = double>
struct complex_sum {
  compensated_sum<T> real;
  compensated_sum<T> imaginary;
  complex_sum& operator+=(complex<T> const& x) {
    real += x.re;
    imaginary += x.im;
    return *this;
  }
  [[nodiscard]] complex<T> value() const { return {real.value(), imaginary.value()}; }
};

/// The trapezoid rule's error in M(θ + it), what the table leaves out included.
template <std::same_as<double> T = double>
struct moment_alias {
  T whole = 0.0;     // relative to M(θ)
  T large = 0.0;     // of the part with large losses, if the nodes are split, relative to M(θ) too
  T constant = 0.0;  // with |z|·slope what 1 + zL adds to it where M − 1 is summed
  T slope = 0.0;
};

/// Σ over the events of a composition at t = 0, η, 2η, …
template <std::same_as<double> T = double>
struct line_sums {
  std::vector<compensated_sum<T>> real;       // Σ count·Re log M
  std::vector<compensated_sum<T>> imaginary;  // Σ count·Im log M
  std::vector<T> error;                       // log of (1 + the relative error of e^Σ)
  std::vector<complex<T>> ratio;              // R = Σ count·log(M/M_small), if split
  std::vector<T> ratio_error;                 // of R, absolute
  std::vector<T> ratio_size;                  // log|e^{−R}| at most

  T addition;  // units of rounding of a product, and of a sum if there is one

  line_sums(std::size_t size, bool single)
      : real(size), imaginary(size), error(size), addition(single ? 1.0 : 4.0) {}

  void split() {
    ratio.resize(real.size());
    ratio_error.resize(real.size());
    ratio_size.resize(real.size());
  }

  void add(std::size_t n, T real_part, T imaginary_part, T wrong) {
    real[n] += real_part;
    imaginary[n] += imaginary_part;
    error[n] += wrong + unit_roundoff * addition * (std::abs(real_part) + std::abs(imaginary_part));
  }

  /// Turns e^Σ into e^Σ − e^{Σ−R} = e^Σ(1 − e^{−R}).
  void subtract_small() {
    for (std::size_t n = 0; n < real.size(); ++n) {
      T const fall = -ratio[n].re;
      T const angle = -ratio[n].im;
      T const grown = elementary::expm1(fall);
      T const half = elementary::sin_cos_far(0.5 * angle).sin;
      T const sine = elementary::sin_cos_far(angle).sin;
      T const e = 1.0 + grown;
      // −expm1(fall + i·angle)
      complex<T> const w{2.0 * half * half * e - grown, -sine * e};
      T const wrong =
          std::min(e + elementary::exp(ratio_size[n]),
                   1.01 * e * elementary::expm1(ratio_error[n])) +
          unit_roundoff * (8.0 * std::abs(grown) + e * (16.0 * half * half + 8.0 * std::abs(sine)));
      T const modulus = modulus_of(w);
      // Below its own error it counts as that error.
      T const size = std::max({modulus, wrong, std::numeric_limits<T>::min()});
      T const log_size = elementary::log(size);
      T const turned = angle_of(w);
      add(n, log_size, turned,
          (modulus >= wrong ? elementary::log1p(1.01 * wrong / size) : 2.0) +
              unit_roundoff * (2.0 * std::abs(log_size) + 7.0 * std::abs(turned)));
    }
  }
};

}  // namespace tacit::detail
