// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/zo/direction_block.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// Whole units at random, one by one and a block of 32 at a time, bit for bit the same: how quantised parameters move
/// (zo/quantised_blocks.hpp). The functions of a block are loops without branches, of which g++ and clang++ make vectors
/// of any width.

namespace tacit {

/// Entries of a block.
inline constexpr std::size_t block_entries = 32;

/// R(x): ⌊x⌋ or ⌈x⌉ for |x| < 2^31. For bits that are uniform on 32 bits its mean is x, but for less than 2^-32 away
/// from 0; −x gives −R(x).
[[nodiscard]] TACIT_HD constexpr int integer_at_random(double x, std::uint32_t random) noexcept {
  double const size = x < 0.0 ? -x : x;
  int const whole = static_cast<int>(size);
  int const up = static_cast<double>(random) < (size - whole) * 0x1p32 ? 1 : 0;
  return x < 0.0 ? -(whole + up) : whole + up;
}

namespace detail {

/// Room for the draws of a part.
class draw_block {
 public:
  /// Draws first … first + length − 1 of a stream, of at most a block of a direction.
  [[nodiscard]] std::uint32_t const* load(stream_id stream, std::uint64_t first,
                                          std::size_t length) noexcept {
    auto const skipped = static_cast<std::size_t>(first % group);
    std::size_t const whole = (skipped + length + group - 1) / group * group;
    fill_words(stream, (first - skipped) / 4, whole / 4, words_);
    return words_ + skipped;
  }

 private:
  static constexpr std::size_t group =
      32;  // eight blocks of Philox, as many as a vector has room for
  std::uint32_t words_[direction_block::size + group];
};

/// Blocks of a part, at most.
inline constexpr std::size_t most_blocks = direction_block::size / block_entries;

/// Calls at(b, n) for parts b … b + n − 1 of the blocks begin … begin + count − 1, entry 0 of block 0 being number `first`.
/// The entries of a part fit into one block of a direction, and but for the first part they begin where it does, or
/// as near to that as blocks do.
template <class At>
void by_parts(std::uint64_t first, std::size_t begin, std::size_t count, At const& at) noexcept {
  while (count > 0) {
    auto const skipped =
        static_cast<std::size_t>((first + block_entries * begin) % direction_block::size);
    std::size_t const room = (direction_block::size - skipped) / block_entries;
    std::size_t const n = std::min(count, std::max<std::size_t>(room, 1));
    at(begin, n);
    begin += n;
    count -= n;
  }
}

/// R(x) and R(−x) for |x| < 2^31: `whole`, or one more for draws below a limit, and its sign.
struct one_size {
  int whole;
  std::uint32_t limit;
  std::uint32_t sign;  ///< that of x, where a float has it

  one_size() = default;
  explicit one_size(double x) noexcept {
    double const size = __builtin_fabs(x);
    whole = static_cast<int>(size);
    // A draw is below a bound if and only if it is below the next integer, which 32 bits hold but for 2^32.
    double const bound = (size - whole) * 0x1p32;
    auto below = static_cast<std::int64_t>(bound);
    if (static_cast<double>(below) < bound) ++below;
    whole += static_cast<int>(below >> 32);
    limit = static_cast<std::uint32_t>(below);
    sign = x < 0.0 ? 0x80000000U : 0U;
  }
};

/// R(z_j·x) for the signs z_j of a block.
inline void units_of_signs(one_size const x, float const* z, std::uint32_t const* random,
                           int* unit) noexcept {
  for (std::size_t j = 0; j < block_entries; ++j) {
    int const size = x.whole + (random[j] < x.limit ? 1 : 0);
    int const sign =
        static_cast<std::int32_t>(__builtin_bit_cast(std::uint32_t, z[j]) ^ x.sign) >> 31;
    unit[j] = (size ^ sign) - sign;
  }
}

/// R(x_j) for the numbers of a block, |x_j| < 2^31.
inline void units_of(double const* x, std::uint32_t const* random, int* unit) noexcept {
  for (std::size_t j = 0; j < block_entries; ++j) {
    double const size = __builtin_fabs(x[j]);
    double const whole = static_cast<double>(static_cast<std::int32_t>(size));
    // Processors convert integers with a sign; what the draw loses by it is added back.
    double const draw =
        static_cast<double>(static_cast<std::int32_t>(random[j] ^ 0x80000000U)) + 0x1p31;
    double const up = whole + (draw < (size - whole) * 0x1p32 ? 1.0 : 0.0);
    unit[j] = static_cast<std::int32_t>(__builtin_copysign(up, x[j]));
  }
}

}  // namespace detail

}  // namespace tacit
