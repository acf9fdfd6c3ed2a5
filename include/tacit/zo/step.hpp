// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>
#include <tacit/zo/direction.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// Sweeps over one parameter tensor, in place. A sweep is a functor over the entries; the caller
/// owns the loop (`sweep` below, a parallel for, a kernel launch). Entries are independent of each
/// other.
///
/// Same bits everywhere: products of floats are exact in double, so that each sum is rounded at the
/// same places whether or not the compiler fuses multiplications and additions.

namespace tacit {

/// θ[i] ← fl(θ[i] + amount·z[first + i]). With amount +μ, then −2μ, then +μ, the parameters visit
/// θ+μz and θ−μz and come back to θ up to three roundings (at most 2 ulp of the largest of the
/// three).
struct perturb {
  float* theta;
  direction z;
  float amount;
  std::uint64_t first = 0;  ///< index of theta[0] among all parameters

  TACIT_HD void apply(std::size_t i, float z_i) const noexcept {
    theta[i] = static_cast<float>(double{theta[i]} + double{amount} * double{z_i});
  }
  TACIT_HD void operator()(std::size_t i) const noexcept { apply(i, z(first + i)); }
};

/// θ[i] ← fl((1 − decay)·θ[i] + step·z[first + i]), with decay = ηλ and step = −η·y.
struct update {
  float* theta;
  direction z;
  float step;
  float decay = 0.0F;
  std::uint64_t first = 0;

  TACIT_HD void apply(std::size_t i, float z_i) const noexcept {
    double const moved = double{theta[i]} + double{step} * double{z_i};
    theta[i] = static_cast<float>(moved - double{decay} * double{theta[i]});
  }
  TACIT_HD void operator()(std::size_t i) const noexcept { apply(i, z(first + i)); }
};

namespace detail {

inline constexpr std::size_t direction_block = 128;

/// z[128n] … z[128n + 127], bit for bit as the direction gives them one by one, from 1 Philox block
/// (Rademacher) or 32 (the others) instead of 128.
inline void fill_block(direction const& z, std::uint64_t n,
                       float (&out)[direction_block]) noexcept {
  if (z.law == direction_law::rademacher) {
    philox_block const block = random_block(z.stream, n);
    for (std::size_t j = 0; j < direction_block; ++j) {
      // 1 − 2·bit: no branch on a random bit.
      std::uint32_t const bit = block.word[j / 32] >> (j % 32) & 1;
      out[j] = static_cast<float>(1 - 2 * static_cast<std::int32_t>(bit));
    }
    return;
  }
  for (std::size_t j = 0; j < direction_block; j += 4) {
    four_normals const x = normals(z.stream, n * (direction_block / 4) + j / 4);
    for (std::size_t k = 0; k < 4; ++k) out[j + k] = z.scale * x.value[k];
  }
}

}  // namespace detail

/// The plain loop over a tensor on the host: what the functor does, bit for bit, with the direction
/// made 128 entries at a time.
template <class Sweep>
void sweep(Sweep each, std::size_t count) noexcept {
  constexpr std::size_t block = detail::direction_block;
  float z[block];
  for (std::size_t i = 0; i < count;) {
    std::uint64_t const index = each.first + i;
    auto const begin = static_cast<std::size_t>(index % block);
    std::size_t const length = std::min(block - begin, count - i);
    detail::fill_block(each.z, index / block, z);
    for (std::size_t j = 0; j < length; ++j) each.apply(i + j, z[begin + j]);
    i += length;
  }
}

}  // namespace tacit
