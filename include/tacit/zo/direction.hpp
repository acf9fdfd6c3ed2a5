// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>
#include <tacit/random/normal.hpp>
#include <tacit/random/rademacher.hpp>
#include <tacit/random/sphere.hpp>

#include <cstdint>

namespace tacit {

/// The law of a random direction z in R^d. All have E[zzᵀ] = I, so that E[z·(zᵀg)] = g.
enum class direction_law {
  rademacher,  ///< independent fair ±1: the cheapest, and ‖z‖² = d exactly
  gaussian,    ///< independent standard normals
  sphere,      ///< uniform on the sphere of radius √d
};

/// A public direction that is never stored: each entry is computed from the stream and its index
/// whenever it is needed, the same on any worker and any device. Trivially copyable.
/// `direction_at` makes one.
struct direction {
  direction_law law = direction_law::rademacher;
  stream_id stream{};
  float scale = 1.0F;  ///< sphere: √d/‖x‖ for the normals x of the stream; otherwise 1

  /// z[index].
  [[nodiscard]] TACIT_HD float operator()(std::uint64_t index) const noexcept {
    return law == direction_law::rademacher ? rademacher(stream, index)
                                            : scale * normal(stream, index);
  }
};

/// The direction of this law and stream in R^dimension. Takes one pass over the normals for
/// `sphere`, no time otherwise.
[[nodiscard]] TACIT_HD inline direction direction_at(direction_law law, stream_id stream,
                                                     std::uint64_t dimension) noexcept {
  return {
      law, stream,
      law == direction_law::sphere ? static_cast<float>(sphere_scale(stream, dimension)) : 1.0F};
}

}  // namespace tacit
