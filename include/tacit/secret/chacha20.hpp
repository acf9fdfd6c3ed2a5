// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tacit {

using chacha20_key = std::array<std::uint32_t, 8>;
using chacha20_block = std::array<std::uint32_t, 16>;

/// One block of ChaCha20's key stream: 16 words, which the RFC serialises little-endian. A pure
/// function, in constant time.
/// Source: RFC 8439, section 2.3. `nonce[0]` = high half of a 64-bit counter and the rest 0 gives
/// Bernstein's original layout.
[[nodiscard]] constexpr chacha20_block chacha20(
    chacha20_key const& key, std::uint32_t counter,
    std::array<std::uint32_t, 3> const& nonce) noexcept {
  chacha20_block const start = {
      0x61707865, 0x3320646E, 0x79622D32, 0x6B206574,  // "expand 32-byte k"
      key[0],     key[1],     key[2],     key[3],      //
      key[4],     key[5],     key[6],     key[7],      //
      counter,    nonce[0],   nonce[1],   nonce[2]};
  chacha20_block x = start;
  auto const quarter_round = [&x](std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
    x[d] = std::rotl(x[d] ^ (x[a] += x[b]), 16);
    x[b] = std::rotl(x[b] ^ (x[c] += x[d]), 12);
    x[d] = std::rotl(x[d] ^ (x[a] += x[b]), 8);
    x[b] = std::rotl(x[b] ^ (x[c] += x[d]), 7);
  };
  for (int double_round = 0; double_round < 10; ++double_round) {
    quarter_round(0, 4, 8, 12);
    quarter_round(1, 5, 9, 13);
    quarter_round(2, 6, 10, 14);
    quarter_round(3, 7, 11, 15);
    quarter_round(0, 5, 10, 15);
    quarter_round(1, 6, 11, 12);
    quarter_round(2, 7, 8, 13);
    quarter_round(3, 4, 9, 14);
  }
  for (std::size_t k = 0; k < 16; ++k) x[k] += start[k];
  return x;
}

}  // namespace tacit
