// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary/parts.hpp>

#include <cstddef>

/// e^x and e^x − 1 in double with a proven error: docs/certificates/elementary.md, theorems 1 to 3.

namespace tacit {

namespace detail {

/// x = k·log 2 + high + low, |high| ≤ 0.34658; `bits` is k in two's complement.
struct reduced_exponent {
  double high;
  double low;
  bit_pattern bits;
};

/// For −746 ≤ x ≤ 710.
[[nodiscard]] inline reduced_exponent reduce_exponent(double y) {
  constexpr double per_ln2 = 0x1.71547652b82fep+0;
  constexpr double ln2_high = 0x1.62e42fefa38p-1;  // 42 bits: times k it is exact
  constexpr double ln2_low = 0x1.ef35793c768p-45;  // the next 42
  constexpr double to_integer = 0x1.8p52;
  double const shifted = product(y, per_ln2) + to_integer;
  double const k = shifted - to_integer;
  double const left = y - k * ln2_high;
  double const lower = k * ln2_low;
  double const r = left - lower;
  return {r, (left - r) - lower, bits_of(shifted) - bits_of(to_integer)};
}

/// For low ≤ x ≤ high, else for the end of this range that is nearer to x or, with NaN, has its sign.
[[nodiscard]] inline reduced_exponent reduce_exponent(double x, double low, double high) {
  bit_pattern const size = bits_of(x) & ~sign_bit;
  double const end = select(mask_of_top(bits_of(x)), low, high);
  return reduce_exponent(select(mask_below(bits_of(end) & ~sign_bit, size), end, x));
}

/// e^(high + low) − 1 − high, up to high·low.
[[nodiscard]] inline double exp_tail(reduced_exponent const& x) {
  double const r = x.high;
  double const z = product(r, r);
  double const zz = product(z, z);
  double const p2 = 0x1p-1 + product(r, 0x1.5555555555557p-3);
  double const p4 = 0x1.5555555555557p-5 + product(r, 0x1.1111111110051p-7);
  double const p6 = 0x1.6c16c16c156a5p-10 + product(r, 0x1.a01a01ac1dc6cp-13);
  double const p8 = 0x1.a01a01ab9879dp-16 + product(r, 0x1.71de01adc10d6p-19);
  double const p10 = 0x1.27e4cfaf3f1e1p-22 + product(r, 0x1.af4ec8740b0b4p-26);
  double const s10 = p10 + product(z, 0x1.1f86f02e50c02p-29);
  double const s6 = p6 + product(z, p8);
  double const s2 = p2 + product(z, p4);
  double const p = s2 + product(zz, s6 + product(zz, s10));
  return x.low + product(z, p);
}

/// y·2^k for k from −1080 to 1030, rounded once: below the normal numbers, or to +∞.
[[nodiscard]] inline double scale(double y, bit_pattern k) {
  bit_pattern const biased = k + 2046;
  bit_pattern const half = biased >> 1;
  return y * from_bits(half << 52) * from_bits((biased - half) << 52);
}

/// `value`, or x where that is NaN.
[[nodiscard]] inline double unless_nan(double x, double value) {
  return select(mask_below(infinity_bits, bits_of(x) & ~sign_bit), x, value);
}

/// e^x without a branch, for every x.
[[nodiscard]] inline double exp_everywhere(double x) {
  auto const t = reduce_exponent(x, -746.0, 710.0);
  double const sum = 1.0 + t.high;
  double const lost = (1.0 - sum) + t.high;
  return unless_nan(x, scale(sum + (lost + exp_tail(t)), t.bits));
}

}  // namespace detail

namespace elementary {

/// e^x; +∞ from where that rounds to it, NaN for NaN.
/// Guarantee: nearest; |error| ≤ 1.51·2⁻⁵³·e^x, and 2⁻¹⁰⁷⁵ more where the result is subnormal.
[[nodiscard]] inline double exp(double x) {
  if (x >= -700.0 && x <= 700.0) {  // the result is normal
    auto const t = detail::reduce_exponent(x);
    double const sum = 1.0 + t.high;
    double const lost = (1.0 - sum) + t.high;
    return (sum + (lost + detail::exp_tail(t))) * detail::from_bits((t.bits + 1023) << 52);
  }
  return detail::exp_everywhere(x);
}

/// e^x in the place of each x: the bits of `exp`, by a loop that compilers vectorise.
inline void exp_each(double* x, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) x[k] = detail::exp_everywhere(x[k]);
}

/// e^x − 1, also near 0, and with the sign of a zero; NaN for NaN.
/// Guarantee: nearest; |error| ≤ 2.76·2⁻⁵³·|e^x − 1|.
[[nodiscard]] inline double expm1(double x) {
  if (x >= -36.0 && x <= 36.0 && x != 0.0) {
    auto const t = detail::reduce_exponent(x);
    double const inverse = detail::from_bits((1023 - t.bits) << 52);
    double const one = 1.0 - inverse;
    double const one_low = (1.0 - one) - inverse;
    double const sum = one + t.high;
    double const lost = (one - sum) + t.high;
    return (sum + (lost + (one_low + detail::exp_tail(t)))) *
           detail::from_bits((t.bits + 1023) << 52);
  }
  auto const t = detail::reduce_exponent(x, -40.0, 710.0);
  // 2^k·((1 − 2^−k) + (e^t − 1)), where 2^−k is nothing from k = 100 on.
  detail::bit_pattern const least = detail::select(detail::mask_below(100 + 1023, t.bits + 1023),
                                                   detail::bit_pattern{100}, t.bits);
  double const inverse = detail::from_bits((1023 - least) << 52);
  double const one = 1.0 - inverse;
  double const one_low = (1.0 - one) - inverse;
  double const sum = one + t.high;
  double const lost = (one - sum) + t.high;
  double const y = detail::scale(sum + (lost + (one_low + detail::exp_tail(t))), t.bits);
  // The sign of a zero is x's.
  return detail::unless_nan(
      x, detail::from_bits(detail::bits_of(y) | (detail::bits_of(x) & detail::sign_bit)));
}

/// tanh x, also near 0, and with the sign of a zero; NaN for NaN.
/// Guarantee: nearest; |error| ≤ 4.9·2⁻⁵³·|tanh x|, and 2⁻¹⁰⁷⁵ more where the result is subnormal.
[[nodiscard]] inline double tanh(double x) {
  using namespace detail;
  bit_pattern const sign = bits_of(x) & sign_bit;
  bit_pattern const size = bits_of(x) ^ sign;
  double const within = from_bits(select(mask_below(size, bits_of(20.0)), size, bits_of(20.0)));
  double const e = expm1(2.0 * within);
  return unless_nan(x, from_bits(bits_of(e / (2.0 + e)) | sign));
}

}  // namespace elementary
}  // namespace tacit
