// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/bit_cast.hpp>

#include <cstdint>
#include <span>

namespace tacit {

/// A name for a row of a table, to notice when it comes back: rows of equal numbers have the same, and 0 and
/// −0 are equal. No defence against someone who wants a row to go unnoticed.
[[nodiscard]] inline std::uint64_t row_digest(std::span<double const> row) noexcept {
  std::uint64_t hash = row.size();
  for (double const y : row) {
    hash = (hash ^ detail::bit_cast<std::uint64_t>(y + 0.0)) * 0x9e3779b97f4a7c15U;
    hash ^= hash >> 29;
  }
  return hash * 0xbf58476d1ce4e5b9U;
}

}  // namespace tacit
