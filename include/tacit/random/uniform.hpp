// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/random/philox.hpp>

#include <cstdint>

namespace tacit {

/// U(0, 1): an odd multiple of 2^-53, so never 0, never 1 and never ½, symmetric about ½, every value
/// equally likely. A pure function of (stream, index); index < 2^56. The same bits everywhere: the
/// conversion and the scaling are both exact.
[[nodiscard]] TACIT_HD constexpr double uniform(stream_id stream, std::uint64_t index) noexcept {
  return static_cast<double>(random_bits64(stream, index) >> 11 | 1) * 0x1p-53;
}

}  // namespace tacit
