// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/random/normal.hpp>
#include <tacit/random/philox.hpp>

#include <cmath>
#include <cstdint>

namespace tacit {

/// Σ z² over draws of `normal`, exactly, as a 128-bit integer: such a z is a multiple of 2^-28 below 8.
/// The order of the terms does not matter, so that threads and shards add up their parts and all agree.
class normal_square_sum {
 public:
  constexpr normal_square_sum() = default;

  friend constexpr bool operator==(normal_square_sum, normal_square_sum) = default;

  TACIT_HD constexpr void add(float z) noexcept {
    auto const units = static_cast<std::int64_t>(z * 0x1p28F);
    auto const square = static_cast<std::uint64_t>(units * units);
    add({0, square});
  }

  TACIT_HD constexpr void add(normal_square_sum other) noexcept {
    low_ += other.low_;
    high_ += other.high_ + (low_ < other.low_ ? 1 : 0);
  }

  /// The nearest double, up to two roundings.
  [[nodiscard]] TACIT_HD constexpr double value() const noexcept {
    return (static_cast<double>(high_) * 0x1p64 + static_cast<double>(low_)) * 0x1p-56;
  }

 private:
  TACIT_HD constexpr normal_square_sum(std::uint64_t high, std::uint64_t low) noexcept
      : high_(high), low_(low) {}

  std::uint64_t high_ = 0;
  std::uint64_t low_ = 0;
};

/// √d/‖x‖ for x = the first d draws of `normal`: scale·x is uniform on the sphere of radius √d in d
/// dimensions. 0 if d = 0 or x = 0. Costs d draws; computed once a step.
/// The same float everywhere: the sum is exact, division and square root are correctly rounded.
[[nodiscard]] TACIT_HD inline float sphere_scale(normal_square_sum sum, std::uint64_t d) noexcept {
  double const square = sum.value();
  return square > 0.0 ? static_cast<float>(std::sqrt(static_cast<double>(d) / square)) : 0.0F;
}

[[nodiscard]] TACIT_HD inline float sphere_scale(stream_id stream, std::uint64_t d) noexcept {
  normal_square_sum sum;
  for (std::uint64_t n = 0; n < d / 4; ++n) {
    four_normals const z = normals(stream, n);
    for (int k = 0; k < 4; ++k) sum.add(z.value[k]);
  }
  for (std::uint64_t index = d - d % 4; index < d; ++index) sum.add(normal(stream, index));
  return sphere_scale(sum, d);
}

}  // namespace tacit
