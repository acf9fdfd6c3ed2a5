// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tacit {

/// Real scalars as integers, k = round(clamp(x, −clip, clip) / quantum), quantum = clip·2⁻³⁰, so that
/// sums over records are exact and do not depend on their order.
///
/// The clip is a choice of utility, not of privacy, wherever only the sign of a sum is released: a
/// sign reveals no magnitude, and its price does not depend on the clip.
///
/// Guarantee: |k| ≤ 2³⁰; monotone in x; k = 0 for x = ±0.
/// Accuracy: nearest, ties to even, of 2³⁰·fl(x / clip); for a clip that is a power of two and a
/// quotient that does not underflow, of x / quantum itself. Assumes the default rounding mode.
struct fixed_point {
  double clip = 1024.0;

  /// The value of one unit. Exact unless it underflows.
  [[nodiscard]] double quantum() const noexcept { return clip * 0x1p-30; }

  /// @throws std::domain_error      for a NaN or infinite scalar, naming the record; for a clip that
  ///                                is not positive and finite
  /// @throws std::invalid_argument  unless in and out have the same size
  void quantise(std::span<double const> in, std::span<std::int32_t> out) const {
    if (try_quantise(in, out)) return;
    auto const bad = std::find_if(in.begin(), in.end(), [](double x) { return x - x != 0.0; });
    detail::fail_domain("quantise", "scalar of record " + detail::to_text(bad - in.begin()), *bad,
                        "finite");
  }

  /// The same, but false in place of the error for a NaN or infinite scalar: a caller that holds its
  /// step on such a loss meets it without an exception. Then `out` has no meaning.
  /// @throws as quantise, for the clip and the sizes
  [[nodiscard]] bool try_quantise(std::span<double const> in, std::span<std::int32_t> out) const {
    detail::check_positive("quantise", "clip", clip);
    detail::check_size("quantise", "size of out", out.size(), in.size());
    // Adding 1.5·2⁵² to a number below 2⁵¹ rounds it to an integer in the unit's own rounding mode.
    // Unlike a call to nearbyint, this becomes vector instructions on every target.
    constexpr double round = 0x1.8p52;
    bool finite = true;
    for (std::size_t i = 0; i < in.size(); ++i) {
      double const x = in[i];
      finite &= x - x == 0.0;
      double q = x / clip;  // may overflow to infinity, which saturates like any large quotient
      q = q < 1.0 ? q : 1.0;
      q = q > -1.0 ? q : -1.0;
      out[i] = static_cast<std::int32_t>((q * 0x1p30 + round) - round);
    }
    return finite;
  }
};

}  // namespace tacit
