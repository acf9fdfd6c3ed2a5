// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/secret/bernoulli.hpp>
#include <tacit/secret/stream.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tacit {
namespace detail {

/// A uniform real in (0, 1), of which only as many 64-bit digits exist as were asked for.
class lazy_uniform {
 public:
  explicit lazy_uniform(secret_bits auto& bits) : first_(bits.next()) {}

  [[nodiscard]] std::uint64_t digit(secret_bits auto& bits, std::size_t k) {
    if (k == 0) return first_;
    while (rest_.size() < k) rest_.push_back(bits.next());
    return rest_[k - 1];
  }

  [[nodiscard]] bool less(secret_bits auto& bits, lazy_uniform& other) {
    for (std::size_t k = 0;; ++k) {
      std::uint64_t const mine = digit(bits, k);
      std::uint64_t const theirs = other.digit(bits, k);
      if (mine != theirs) return mine < theirs;
    }
  }

 private:
  std::uint64_t first_;
  std::vector<std::uint64_t> rest_;  // empty except with probability 2^-64
};

/// The double nearest to k + x. The 64 leading bits decide it: those that follow are not all 0 (but
/// with probability 0), and so stand as one set bit at the end, which also rules out a tie.
[[nodiscard]] double nearest_sum(secret_bits auto& bits, std::uint64_t k, lazy_uniform& x) {
  std::size_t place = 0;  // of the digit of x that follows `leading`
  std::uint64_t leading = k;
  while (leading == 0) leading = x.digit(bits, place++);
  int const room = std::countl_zero(leading);
  std::uint64_t window = leading << room;
  if (room > 0) window |= x.digit(bits, place) >> (64 - room);
  return std::ldexp(static_cast<double>(window | 1), -room - 64 * static_cast<int>(place));
}

}  // namespace detail

/// N(0, 1): the double nearest to an exact normal deviate, given ideal bits. No function is
/// approximated: an integer part k ∝ e^(−k/2) and a fraction x, of which only the bits that matter are
/// drawn, are accepted with probability e^(−k(k−1)/2 − kx − x²/2), by exact Bernoullis.
/// Source: Karney, "Sampling exactly from the normal distribution", ACM TOMS 42 (2016), algorithm N;
/// the last acceptance is split into k factors e^−x and one e^(−x²/2).
[[nodiscard]] double standard_normal(secret_bits auto& bits) {
  for (;;) {
    std::uint64_t k = 0;
    while (bernoulli_exp_minus(bits, 0.5)) ++k;
    if (k > 1 && !bernoulli_exp_minus(bits, k * (k - 1) / 2, 1)) continue;

    detail::lazy_uniform x(bits);
    auto const below_x = [&] { return detail::lazy_uniform(bits).less(bits, x); };
    auto const half_square = [&] { return bernoulli(bits, 0.5) && below_x() && below_x(); };
    bool accepted = detail::exp_minus_fraction(bits, half_square);
    for (std::uint64_t i = 0; i < k && accepted; ++i) {
      accepted = detail::exp_minus_fraction(bits, below_x);
    }
    if (!accepted) continue;

    bool const negative = bernoulli(bits, 0.5);
    double const magnitude = detail::nearest_sum(bits, k, x);
    return negative ? -magnitude : magnitude;
  }
}

}  // namespace tacit
