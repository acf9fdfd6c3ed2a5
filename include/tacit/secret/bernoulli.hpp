// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/secret/stream.hpp>

#include <cmath>
#include <cstdint>

/// Exact draws: given ideal bits, each probability below is the stated one, without rounding. (A
/// comparison of a rounded uniform with a rounded p is off by up to 2^-53 whatever p is, which a privacy
/// loss turns into an event of unbounded cost.)

namespace tacit {

/// Uniform on {0, …, n − 1}: words that would favour the small residues are rejected.
/// @throws std::domain_error  for n = 0
[[nodiscard]] std::uint64_t uniform_below(secret_bits auto& bits, std::uint64_t n) {
  detail::require_domain(n > 0, "uniform_below", "n", n, "at least 1");
  std::uint64_t const surplus = -n % n;  // 2^64 mod n
  std::uint64_t word = bits.next();
  while (word < surplus) word = bits.next();
  return word % n;
}

/// True with probability p exactly: U < p for a uniform U whose bits, 64 a word and the most
/// significant first, are drawn until they differ from those of p. One word nearly always decides.
/// @throws std::domain_error  unless p is in [0, 1]
[[nodiscard]] bool bernoulli(secret_bits auto& bits, double p) {
  detail::check_probability("bernoulli", "p", p);
  if (p == 1.0) return true;
  for (;;) {
    p *= 0x1p64;  // exact, as is everything below: the bits of p move 64 places up
    auto const head = static_cast<std::uint64_t>(p);
    std::uint64_t const word = bits.next();
    if (word != head) return word < head;
    p -= static_cast<double>(head);
    if (p == 0.0) return false;
  }
}

/// True with probability numerator/denominator exactly.
/// @throws std::domain_error  unless 0 ≤ numerator ≤ denominator and denominator ≥ 1
[[nodiscard]] bool bernoulli(secret_bits auto& bits, std::uint64_t numerator,
                             std::uint64_t denominator) {
  detail::require_domain(denominator > 0, "bernoulli", "denominator", denominator, "at least 1");
  detail::require_domain(numerator <= denominator, "bernoulli", "numerator", numerator,
                         "at most the denominator");
  return uniform_below(bits, denominator) < numerator;
}

namespace detail {

/// True with probability e^-x, given a draw of Bernoulli(x), 0 ≤ x ≤ 1: the first k for which
/// Bernoulli(x/k) = Bernoulli(x) ∧ Bernoulli(1/k) fails is odd with probability 1 − x + x²/2! − … .
template <class Bernoulli>
[[nodiscard]] bool exp_minus_fraction(secret_bits auto& bits, Bernoulli&& draw) {
  std::uint64_t k = 1;
  while (draw() && uniform_below(bits, k) == 0) ++k;
  return k % 2 == 1;
}

}  // namespace detail

/// True with probability e^-x exactly, for every double x ≥ 0 (a dyadic rational). Whole units of x
/// are draws of e^-1; the first that fails ends it, so that the cost is bounded in the mean for any x.
/// Source: Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020,
/// algorithm 1; there for rationals.
/// @throws std::domain_error  unless x is finite and at least 0
[[nodiscard]] bool bernoulli_exp_minus(secret_bits auto& bits, double x) {
  detail::check_non_negative("bernoulli_exp_minus", "x", x);
  double const whole = std::floor(x);
  for (double unit = 0.0; unit < whole; ++unit) {
    if (!detail::exp_minus_fraction(bits, [] { return true; })) return false;
  }
  return detail::exp_minus_fraction(bits, [&] { return bernoulli(bits, x - whole); });
}

/// The same for x = numerator/denominator.
/// @throws std::domain_error  for denominator = 0
[[nodiscard]] bool bernoulli_exp_minus(secret_bits auto& bits, std::uint64_t numerator,
                                       std::uint64_t denominator) {
  detail::require_domain(denominator > 0, "bernoulli_exp_minus", "denominator", denominator,
                         "at least 1");
  for (std::uint64_t unit = 0; unit < numerator / denominator; ++unit) {
    if (!detail::exp_minus_fraction(bits, [] { return true; })) return false;
  }
  return detail::exp_minus_fraction(
      bits, [&] { return bernoulli(bits, numerator % denominator, denominator); });
}

}  // namespace tacit
