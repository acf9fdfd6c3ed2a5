// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Complex numbers with products and quotients as written, so that their rounding can be counted:
/// std::complex checks each product for infinities, its elementary functions promise no accuracy, and
/// <complex> includes the standard library's streams.

namespace tacit::detail {

template <class R>
struct complex {
  R re{};
  R im{};

  constexpr complex& operator+=(complex const& z) {
    re += z.re;
    im += z.im;
    return *this;
  }
  constexpr complex& operator-=(complex const& z) {
    re -= z.re;
    im -= z.im;
    return *this;
  }
  friend constexpr complex operator-(complex const& a) { return {-a.re, -a.im}; }
  friend constexpr complex operator+(complex a, complex const& b) { return a += b; }
  friend constexpr complex operator-(complex a, complex const& b) { return a -= b; }
  /// error ≤ √5·u·|ab| (Brent, Percival & Zimmermann 2007)
  friend constexpr complex operator*(complex const& a, complex const& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  /// error ≤ 7u·|a/b|, while |b|² neither overflows nor underflows
  friend constexpr complex operator/(complex const& a, complex const& b) {
    R const square = norm(b);
    return {(a.re * b.re + a.im * b.im) / square, (a.im * b.re - a.re * b.im) / square};
  }

  friend constexpr complex operator+(complex const& a, R const& b) { return {a.re + b, a.im}; }
  friend constexpr complex operator+(R const& a, complex const& b) { return {a + b.re, b.im}; }
  friend constexpr complex operator-(complex const& a, R const& b) { return {a.re - b, a.im}; }
  friend constexpr complex operator-(R const& a, complex const& b) { return {a - b.re, -b.im}; }
  friend constexpr complex operator*(complex const& a, R const& b) { return {a.re * b, a.im * b}; }
  friend constexpr complex operator*(R const& a, complex const& b) { return {a * b.re, a * b.im}; }
  friend constexpr complex operator/(complex const& a, R const& b) { return {a.re / b, a.im / b}; }

  friend constexpr complex conj(complex const& z) { return {z.re, -z.im}; }
  /// |z|²
  friend constexpr R norm(complex const& z) { return z.re * z.re + z.im * z.im; }
};

}  // namespace tacit::detail
