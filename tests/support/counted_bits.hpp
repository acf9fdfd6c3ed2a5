// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>

/// Secret bits from a source that a test can repeat; counts what was drawn.
struct counted_bits {
  std::mt19937_64* source;
  std::uint64_t* drawn;
  std::uint64_t next() {
    ++*drawn;
    return (*source)();
  }
};
