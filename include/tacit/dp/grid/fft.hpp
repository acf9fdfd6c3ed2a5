// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/real.hpp>

#include <concepts>
#include <cstddef>
#include <numbers>
#include <utility>
#include <vector>

/// The discrete Fourier transform of real sequences, with a proved bound on its rounding.
///
/// X_k = Σ_j x_j·w^{jk}, w = e^{−2πi/N}, N = 2^m or 3·2^m. Neighbours are packed into M = N/2 complex
/// numbers x_{2j} + i·x_{2j+1}; Stockham's self-sorting passes transform those, radix 4 as long as that
/// divides, then 2, then 3; a last pass takes the even and the odd samples' transforms apart.
///
/// **Theorem.** Let u = 2⁻⁵³, P the number of passes of radix 4, and η = `real_fft::error(N)` =
/// u·(1.42·(9P + c) + 11), where c = 0, 1, 6 or 14 if M/4^P is 1, 2, 3 or 6. In IEEE double, to nearest,
/// contracted to fused multiply-adds or not, without overflow, and if underflow is less than u² of the
/// norms below, the computed transform X̂ of x and the computed inverse x̂ of X have
///   (1) max_k |X̂_k − X_k| ≤ η·Σ|x_j|      (2) ‖X̂ − X‖₂ ≤ η·√N·‖x‖₂
///   (3) ‖x̂ − x‖₂ ≤ η·‖X‖₂/√N, hence Σ|x̂_j − x_j| ≤ η·‖X‖₂.
///
/// **Proof.** Roots. For 0 ≤ j ≤ N/8 the angle is y = r·c with r = 2j/2^m exact and c = π or π/3 rounded,
/// so ŷ = fl(r·c) is off by at most u·y + u/2 + u² ≤ 1.3u, y ≤ π/4. With z = fl(ŷ²), sin ŷ is computed as
/// ŷ + ŷ·g, g = z·p(z) of size ŷ²/6 ≤ 0.103; z, p's first coefficient, its last addition, and the product
/// each add at most u of g, all of the higher terms together 0.5u: ŷ·g is off by at most 5.5u·0.081 < 0.45u.
/// Adding it, with a sum below 1, costs u/2, in all less than u. cos ŷ = 1 + z·q(z), of size below 0.309 and
/// relative error below 3.5u (q's first coefficient is exact): 1.1u, and u/2 for the addition. The Taylor
/// polynomials' remainders, ŷ¹⁹/19! and ŷ¹⁸/18!, are below 1e-3·u and 2e-2·u. So |ŵ − w| ≤ 1.3u +
/// √(1 + 1.61²)·u < 3.3u; other octants only swap and negate. We use |ŵ − w| ≤ 4u; w⁰ is exact.
///
/// Operations. A complex addition has |fl(a+b) − (a+b)| ≤ u·|a+b| (by components). A complex product has
/// |fl(ab) − ab| ≤ 2√2·u(1+u)·|ab|: either component is a sum of two products, off by at most
/// 2u(1+u)(|a₁b₁| + |a₂b₂|) ≤ 2u(1+u)|a||b|; a fused operation only leaves out a rounding. So one by a
/// computed root is off by at most (4 + 2√2 + 20u)·u times its factor's modulus.
///
/// Passes. A pass is a linear map √r·(a permutation of unitary r×r blocks times roots of modulus 1), whose
/// outputs are combinations Σ c_i a_i of r inputs with |c_i| = 1. Radix 4: two levels of additions and one
/// product by a root, all of them relative to what they return: each output is off by at most
/// (1+u)²(1 + 6.83u + 20u²) − 1 < 9u of Σ|a_i|, and, the intermediate maps being √2·unitary too, the
/// pass's outputs by at most 9u of their norm. Radix 2: one addition and one root, 8u, and u where it comes last and
/// all roots are 1. Radix 3 comes last and has no roots: with
/// t = a₁+a₂, m = a₀−t/2, s = fl(√3/2)·i(a₁−a₂) the outputs are a₀+t and m∓s, where t is off by u|t|, m by
/// u|m| + u|t|/2, s by 3u|s| to first order: at most 4.7u·Σ|a_i| in an output, and 5.7u of the norm √3·‖a‖₂;
/// 6u with what is of second order. Errors made before a pass are carried on by it: in the 1-norm of a
/// block's inputs at most added, in the 2-norm scaled with the outputs. By induction over the passes the
/// relative bounds combine to Π(1+η_p) − 1, for (1) relative to Σ|x_j| (whoever enters an output enters it
/// with modulus 1), for (2) to √M·‖x‖₂.
///
/// Taking apart. X_k = ½(Z_k + conj Z_{M−k}) + w^k·(Z_k − conj Z_{M−k})/2i: two additions, a root, one
/// addition: as above less than 9u of ½|Z_k + …| + ½|Z_k − …|, which is at most Σ|x_j|; in the 2-norm over all
/// N bins the halves are √N·‖even‖₂ and √N·‖odd‖₂, and (u·e + 7.84u·o)² ≤ (7.9u)²(e² + o²), plus u for the
/// last addition, is below 9u again. An error d of every Z_k becomes at most √2·d, as |1−iw|+|1+iw| ≤ 2√2; in
/// the 2-norm the map is √2·isometric, which is the √N. The inverse does the same in reverse order, then
/// multiplies by the rounded 1/N: 2u more. Terms of second order are below 1e-11 of the sum: 1.42 > √2 has
/// room for them. ∎

namespace tacit::detail {

template <std::same_as<double> T = double>
class basic_real_fft {
 public:
  using complex = detail::complex<T>;

  /// @pre size = 2^m or 3·2^m, at least 16 (48)
  explicit basic_real_fft(std::size_t size) : size_(size), roots_(size / 4 + 1) {
    std::size_t const eighth = size / 8;
    bool const thirds = size % 3 == 0;
    T const unit = T(2.0) / static_cast<T>(thirds ? size / 3 : size);
    T const circle = thirds ? T(1.0471975511965977462) : std::numbers::pi_v<T>;
    for (std::size_t j = 0; j <= eighth; ++j) {
      auto const [cosine, sine] = cos_sin(static_cast<T>(j) * unit * circle);
      roots_[j] = {cosine, -sine};
      roots_[size / 4 - j] = {sine, -cosine};
    }
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  /// η of the theorem.
  [[nodiscard]] static T error(std::size_t size) {
    T passes = 0;
    std::size_t left = size / 2;
    for (; left % 4 == 0; left /= 4) passes += 9;
    passes += left == 2 ? 1 : left == 3 ? 6 : left == 6 ? 14 : 0;
    return unit_roundoff * (T(1.42) * passes + 11);
  }

  /// X_0, …, X_{N/2}; the rest are their conjugates.
  [[nodiscard]] std::vector<complex> forward(std::vector<T> const& values) {
    std::size_t const half = size_ / 2;
    std::vector<complex> z(half);
    for (std::size_t j = 0; j < half; ++j) z[j] = {values[2 * j], values[2 * j + 1]};
    transform(z);
    z.push_back(z.front());
    for (std::size_t k = 0; k <= half / 2; ++k) {
      complex const mirrored = conj(z[half - k]);
      complex const even = z[k] + mirrored;
      complex const odd = roots_[k] * (z[k] - mirrored);
      complex const turned{odd.im, -odd.re};
      z[k] = T(0.5) * (even + turned);
      z[half - k] = T(0.5) * conj(even - turned);
    }
    return z;
  }

  /// The N real x with these X_0, …, X_{N/2}, of which the first and the last are real.
  [[nodiscard]] std::vector<T> inverse(std::vector<complex> const& bins) {
    std::size_t const half = size_ / 2;
    std::vector<complex> z(half + 1);
    for (std::size_t k = 0; k <= half / 2; ++k) {
      complex const mirrored = conj(bins[half - k]);
      complex const even = bins[k] + mirrored;
      complex const odd = conj(roots_[k]) * (bins[k] - mirrored);
      complex const turned{-odd.im, odd.re};
      z[k] = conj(even + turned);  // a forward transform of conjugates
      z[half - k] = even - turned;
    }
    z.pop_back();
    transform(z);
    T const scale = T(1) / static_cast<T>(size_);
    std::vector<T> out(size_);
    for (std::size_t j = 0; j < half; ++j) {
      out[2 * j] = scale * z[j].re;
      out[2 * j + 1] = -scale * z[j].im;
    }
    return out;
  }

 private:
  // For 0 ≤ x ≤ π/4: Taylor to x¹⁷ and x¹⁶, next to nothing is left.
  [[nodiscard]] static std::pair<T, T> cos_sin(T x) {
    T const z = x * x;
    T p = T(1.0 / 355687428096000.0);
    for (T const c : {T(-1.0 / 1307674368000.0), T(1.0 / 6227020800.0), T(-1.0 / 39916800.0),
                      T(1.0 / 362880.0), T(-1.0 / 5040.0), T(1.0 / 120.0), T(-1.0 / 6.0)}) {
      p = c + z * p;
    }
    T q = T(1.0 / 20922789888000.0);
    for (T const c : {T(-1.0 / 87178291200.0), T(1.0 / 479001600.0), T(-1.0 / 3628800.0),
                      T(1.0 / 40320.0), T(-1.0 / 720.0), T(1.0 / 24.0), T(-0.5)}) {
      q = c + z * q;
    }
    return {1 + z * q, x + x * (z * p)};
  }

  // w^j for j < 3N/4.
  [[nodiscard]] complex root(std::size_t j) const {
    std::size_t const quarter = size_ / 4;
    if (j < quarter) return roots_[j];
    if (j < 2 * quarter) return {roots_[j - quarter].im, -roots_[j - quarter].re};
    return -roots_[j - 2 * quarter];
  }

  // The transform of N/2 complex numbers.
  void transform(std::vector<complex>& x) {
    work_.resize(x.size());
    std::size_t length = x.size();
    std::size_t stride = 1;
    for (; length % 4 == 0; length /= 4, stride *= 4) {
      std::size_t const quarter = length / 4;
      for (std::size_t p = 0; p < quarter; ++p) {
        complex const w1 = root(2 * p * stride);
        complex const w2 = root(4 * p * stride);
        complex const w3 = root(6 * p * stride);
        complex const* const from = x.data() + p * stride;
        complex* const to = work_.data() + 4 * p * stride;
        for (std::size_t q = 0; q < stride; ++q) {
          complex const a = from[q];
          complex const b = from[q + quarter * stride];
          complex const c = from[q + 2 * quarter * stride];
          complex const d = from[q + 3 * quarter * stride];
          complex const sum = a + c;
          complex const difference = a - c;
          complex const others = b + d;
          complex const turned{b.im - d.im, d.re - b.re};  // −i(b−d)
          to[q] = sum + others;
          to[q + stride] = w1 * (difference + turned);
          to[q + 2 * stride] = w2 * (sum - others);
          to[q + 3 * stride] = w3 * (difference - turned);
        }
      }
      x.swap(work_);
    }
    if (length % 2 == 0) {
      std::size_t const half = length / 2;
      for (std::size_t p = 0; p < half; ++p) {
        complex const w = root(2 * p * stride);
        for (std::size_t q = p * stride; q < (p + 1) * stride; ++q) {
          complex const a = x[q];
          complex const b = x[q + half * stride];
          work_[q + p * stride] = a + b;
          work_[q + (p + 1) * stride] = w * (a - b);
        }
      }
      x.swap(work_);
      length = half;
      stride *= 2;
    }
    if (length == 3) {
      T const height = T(0.86602540378443864676);  // √3/2
      for (std::size_t q = 0; q < stride; ++q) {
        complex const sum = x[q + stride] + x[q + 2 * stride];
        complex const difference = x[q + stride] - x[q + 2 * stride];
        complex const middle = x[q] - T(0.5) * sum;
        complex const side{height * difference.im, -height * difference.re};
        x[q] += sum;
        x[q + stride] = middle + side;
        x[q + 2 * stride] = middle - side;
      }
    }
  }

  std::size_t size_;
  std::vector<complex> roots_;  // w^j, j ≤ N/4
  std::vector<complex> work_;
};

using real_fft = basic_real_fft<double>;

}  // namespace tacit::detail
