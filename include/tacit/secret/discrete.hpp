// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/secret/stream.hpp>

#include <cstdint>
#include <span>

/// Noise that is a whole number, exactly: given ideal bits, each probability below is the stated
/// one. There is no rounding in which an input could show (Mironov 2012), and no function is
/// approximated.

namespace tacit {
namespace detail {

/// Secret bits a few at a time, so that a coin does not cost a word.
template <secret_bits Bits>
class bit_reserve {
 public:
  explicit bit_reserve(Bits& bits) : bits_(&bits) {}

  [[nodiscard]] std::uint64_t word() { return bits_->next(); }

  [[nodiscard]] bool coin() { return take(1) != 0; }

  /// `count` bits, 1 to 32.
  [[nodiscard]] std::uint64_t take(unsigned count) {
    std::uint64_t out = word_;
    if (left_ < count) {
      std::uint64_t const more = bits_->next();
      out |= more << left_;
      word_ = more >> (count - left_);
      left_ += 64 - count;
    } else {
      word_ >>= count;
      left_ -= count;
    }
    return out & ((std::uint64_t{1} << count) - 1);
  }

 private:
  Bits* bits_;
  std::uint64_t word_ = 0;
  unsigned left_ = 0;
};

struct wide_product {
  std::uint64_t high;
  std::uint64_t low;

  friend constexpr bool operator==(wide_product, wide_product) = default;
};

/// a·b in 128 bits, which not every processor's compiler has as a type.
[[nodiscard]] constexpr wide_product wide_multiply(std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t mask = 0xFFFFFFFF;
  std::uint64_t const lowest = (a & mask) * (b & mask);
  std::uint64_t const left = (a >> 32) * (b & mask) + (lowest >> 32);
  std::uint64_t const right = (a & mask) * (b >> 32) + (left & mask);
  return {(a >> 32) * (b >> 32) + (left >> 32) + (right >> 32), right << 32 | (lowest & mask)};
}

static_assert(wide_multiply(~std::uint64_t{0}, ~std::uint64_t{0}) ==
              wide_product{~std::uint64_t{1}, 1});
static_assert(wide_multiply(0x123456789ABCDEF0, 0xFEDCBA9876543210) ==
              wide_product{0x121FA00AD77D7422, 0x236D88FE5618CF00});

/// Uniform on {0, …, n − 1}: of the product of n and a random number, the high half; products whose
/// low half would favour some are rejected. (Lemire 2019.)
template <class Bits>
[[nodiscard]] std::uint64_t whole_below(bit_reserve<Bits>& bits, std::uint64_t n) {
  if (n <= 0x1000000) {  // 32 bits do
    for (;;) {
      std::uint64_t const product = bits.take(32) * n;
      std::uint64_t const low = product & 0xFFFFFFFF;
      if (low >= n || low >= 0x100000000 % n) return product >> 32;
    }
  }
  for (;;) {
    auto const [high, low] = wide_multiply(bits.word(), n);
    if (low >= n || low >= -n % n) return high;
  }
}

/// True with probability 1/k, k ≥ 1.
template <class Bits>
[[nodiscard]] bool one_in(bit_reserve<Bits>& bits, std::uint64_t k) {
  if (k == 1) return true;
  if (k > 0x7F) return whole_below(bits, k) == 0;
  for (;;) {  // as above, with 8 bits
    std::uint64_t const product = bits.take(8) * k;
    std::uint64_t const low = product & 0xFF;
    if (low >= k || low >= 0x100 % k) return product >> 8 == 0;
  }
}

/// True with probability part/whole, part ≤ whole ≤ 2^46: a uniform U < part/whole, of which 8 bits
/// are drawn at a time, until they decide. If U = (r + U′)/2^8, then U′ < (part·2^8 − r·whole)/whole.
template <class Bits>
[[nodiscard]] bool fraction(bit_reserve<Bits>& bits, std::int64_t part, std::int64_t whole) {
  while (part > 0 && part < whole) {
    part = part * 0x100 - static_cast<std::int64_t>(bits.take(8)) * whole;
  }
  return part > 0;
}

/// True with probability e^−x, given a draw of Bernoulli(x), 0 ≤ x ≤ 1 (von Neumann 1951; see
/// secret/bernoulli.hpp).
template <class Bits, class Draw>
[[nodiscard]] bool exp_minus(bit_reserve<Bits>& bits, Draw const& draw) {
  std::uint64_t k = 1;
  while (draw() && one_in(bits, k)) ++k;
  return k % 2 == 1;
}

template <class Bits>
[[nodiscard]] bool exp_minus_one(bit_reserve<Bits>& bits) {
  return exp_minus(bits, [] { return true; });
}

template <class Bits>
[[nodiscard]] bool exp_minus_half(bit_reserve<Bits>& bits) {
  return exp_minus(bits, [&] { return bits.coin(); });
}

/// With n = kσ + j, x = j/σ: k ≥ 0 has the weight e^(−k/2)·e^(−k(k−1)/2) = e^(−k²/2), j is uniform
/// on {0, …, σ − 1}, and e^(−kx)·e^(−x²/2) makes it e^(−n²/2σ²). The sign of 0 counts once.
template <class Bits>
[[nodiscard]] std::int64_t discrete_gaussian_from(bit_reserve<Bits>& bits, std::int64_t sigma) {
  for (;;) {
    std::int64_t k = 0;
    while (exp_minus_half(bits)) ++k;
    bool accepted = true;
    for (std::int64_t i = k * (k - 1) / 2; i > 0 && accepted; --i) accepted = exp_minus_one(bits);
    if (!accepted) continue;

    bool const negative = bits.coin();
    auto const j = static_cast<std::int64_t>(whole_below(bits, static_cast<std::uint64_t>(sigma)));
    if (negative && k == 0 && j == 0) continue;
    auto const below_x = [&] { return fraction(bits, j, sigma); };
    for (std::int64_t i = k; i > 0 && accepted; --i) accepted = exp_minus(bits, below_x);
    if (!accepted) continue;
    if (!exp_minus(bits, [&] { return bits.coin() && below_x() && below_x(); })) continue;

    std::int64_t const n = k * sigma + j;
    return negative ? -n : n;
  }
}

inline void check_discrete_scale(char const* who, char const* what, std::uint64_t scale) {
  require_domain(scale >= 1 && scale <= (std::uint64_t{1} << 46), who, what, scale, "in [1, 2^46]");
}

}  // namespace detail

/// A whole number n with P(n) ∝ e^(−n²/2σ²), for a whole σ.
/// Source: Karney, "Sampling exactly from the normal distribution", ACM TOMS 42 (2016), algorithm D
/// at mean 0. For the noise: Canonne, Kamath, Steinke, "The discrete Gaussian for differential
/// privacy", NeurIPS 2020.
/// @throws std::domain_error  unless sigma is in [1, 2^46]
[[nodiscard]] std::int64_t draw_discrete_gaussian(secret_bits auto& bits, std::uint64_t sigma) {
  detail::check_discrete_scale("draw_discrete_gaussian", "sigma", sigma);
  detail::bit_reserve reserve(bits);
  return detail::discrete_gaussian_from(reserve, static_cast<std::int64_t>(sigma));
}

/// Adds a draw of its own to each entry; faster, since no bits are left over in between.
/// @throws as above, and then nothing was added
void add_discrete_gaussian(secret_bits auto& bits, std::uint64_t sigma,
                           std::span<std::int64_t> to) {
  detail::check_discrete_scale("add_discrete_gaussian", "sigma", sigma);
  detail::bit_reserve reserve(bits);
  for (std::int64_t& entry : to) {
    entry += detail::discrete_gaussian_from(reserve, static_cast<std::int64_t>(sigma));
  }
}

/// A whole number n with P(n) ∝ e^(−|n|/scale), for a whole scale: n = ±(v·scale + u), with v
/// geometric of ratio e^−1 and u of weight e^(−u/scale); the sign of 0 counts once.
/// Source: Canonne, Kamath, Steinke (as above), algorithm 2.
/// @throws std::domain_error  unless scale is in [1, 2^46]
[[nodiscard]] std::int64_t draw_discrete_laplace(secret_bits auto& bits, std::uint64_t scale) {
  detail::check_discrete_scale("draw_discrete_laplace", "scale", scale);
  detail::bit_reserve reserve(bits);
  auto const whole = static_cast<std::int64_t>(scale);
  for (;;) {
    auto const u = static_cast<std::int64_t>(detail::whole_below(reserve, scale));
    auto const below = [&] { return detail::fraction(reserve, u, whole); };
    if (!detail::exp_minus(reserve, below)) continue;
    std::int64_t v = 0;
    while (detail::exp_minus_one(reserve)) ++v;
    bool const negative = reserve.coin();
    std::int64_t const n = v * whole + u;
    if (negative && n == 0) continue;
    return negative ? -n : n;
  }
}

}  // namespace tacit
