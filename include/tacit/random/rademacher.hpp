// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/random/philox.hpp>

#include <cstdint>

namespace tacit {

/// The signs of draws 32n … 32n + 31: bit b set means that draw 32n + b is −1, as in the sign bit of a
/// float. One block serves 128 draws.
[[nodiscard]] TACIT_HD constexpr std::uint32_t rademacher_word(stream_id stream,
                                                               std::uint64_t n) noexcept {
  return random_bits32(stream, n);
}

/// −1 or +1, each with probability ½. A pure function of (stream, index); index < 2^56.
[[nodiscard]] TACIT_HD constexpr float rademacher(stream_id stream, std::uint64_t index) noexcept {
  return (rademacher_word(stream, index / 32) >> (index & 31) & 1) != 0 ? -1.0F : 1.0F;
}

}  // namespace tacit
