// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/random/philox.hpp>

#include <cstdint>

namespace support {

/// A secret that anybody can draw again: for the same run twice.
class known_secret {
 public:
  explicit known_secret(std::uint64_t seed) : seed_(seed) {}
  std::uint64_t next() {
    tacit::philox_block const block = tacit::random_block({.seed = seed_, .step = 0}, drawn_++);
    return std::uint64_t{block.word[1]} << 32 | block.word[0];
  }

 private:
  std::uint64_t seed_;
  std::uint64_t drawn_ = 0;
};

}  // namespace support
