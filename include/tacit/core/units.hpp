// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>

#include <compare>
#include <limits>
#include <numbers>

namespace tacit {

/// The default of every field of a parameter set: a forgotten field is NaN and fails its check.
inline constexpr double required = std::numeric_limits<double>::quiet_NaN();

/// An amount of information in nats (natural logarithm). The library's one unit: bits exist only as a
/// named conversion, and a plain number never becomes nats by itself.
struct nats {
  double value = required;

  constexpr nats() = default;
  constexpr explicit nats(double amount) : value(amount) {}

  [[nodiscard]] static constexpr nats from_bits(double bits) {
    return nats(bits * std::numbers::ln2);
  }
  [[nodiscard]] constexpr double in_bits() const { return value / std::numbers::ln2; }

  friend constexpr auto operator<=>(nats, nats) = default;
  friend constexpr nats operator+(nats a, nats b) { return nats(a.value + b.value); }
  friend constexpr nats operator-(nats a, nats b) { return nats(a.value - b.value); }
};

/// (ε, δ): for all events E and neighbouring inputs, P(E) ≤ e^ε Q(E) + δ.
struct approx_dp {
  double epsilon = required;
  double delta = required;
  friend bool operator==(approx_dp const&, approx_dp const&) = default;
};

/// ρ-zCDP (Bun & Steinke 2016): D_α(P‖Q) ≤ ρα for all neighbours and every order α > 1.
struct zcdp {
  double rho = required;
  friend bool operator==(zcdp const&, zcdp const&) = default;
};

/// μ-Gaussian DP (Dong, Roth & Su 2022): neighbours are no easier to tell apart than N(0, 1) and N(μ, 1).
struct gaussian_dp {
  double mu = required;
  friend bool operator==(gaussian_dp const&, gaussian_dp const&) = default;
};

/// Certified on both sides: lower ≤ truth ≤ upper.
template <class T>
struct bound {
  T lower;
  T upper;
};

/// A figure without a certificate. Never converts to a `bound`.
template <class T>
struct estimate {
  T value;
  T standard_error;
};

namespace literals {

consteval nats operator""_nats(long double amount) { return nats(static_cast<double>(amount)); }
consteval nats operator""_bits(long double amount) {
  return nats::from_bits(static_cast<double>(amount));
}

}  // namespace literals
}  // namespace tacit
