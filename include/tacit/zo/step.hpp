// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/direction_block.hpp>
#include <tacit/zo/moves.hpp>
#include <tacit/zo/storage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// Passes over one parameter tensor, in place. A pass is a functor over the entries, which are
/// independent of each other; the caller owns the loop (`sweep` below, a launcher of zo/launch.hpp, a
/// parallel for, a kernel).
///
/// With S the rounding to storage, through float, and every sum taken in double in the order written:
///   perturb              θ ← S(θ + amount·z)
///   update               θ ← S(θ + Σ_k (step_k·z_k − decay_k·θ))
///   restore_and_update   perturb by μ along the last z_k, then update: both roundings, one pass
///   retrace              a recorded run: for each step +μ, −2μ, +μ along each z_k, then update
/// So after +μ, −2μ, +μ an entry is S(S(S(θ+μz) − 2μz) + μz), up to three roundings from θ. In half
/// and bfloat16 an entry with μ|z| well below half a unit in its last place does not move at all. Where
/// z is a sign, a μ that is a power of two brings every entry back from the third time on; any other may
/// carry it a unit along z each time, without end (docs/low_precision.md).
///
/// Same bits everywhere: products of floats are exact in double, so that each sum is rounded at the
/// same places whether or not the compiler fuses multiplications and additions.

namespace tacit {

/// θ[i] ← S(θ[i] + amount·z[first + i]).
template <parameter_storage T>
struct perturb {
  T* theta;
  direction z;
  float amount;             ///< μ
  std::uint64_t first = 0;  ///< index of theta[0] among all parameters

  /// From θ+μz to θ−μz, and from there back.
  [[nodiscard]] TACIT_HD perturb flip() const noexcept { return {theta, z, -2.0F * amount, first}; }
  [[nodiscard]] TACIT_HD perturb restore() const noexcept { return *this; }

  TACIT_HD void operator()(std::size_t i) const noexcept {
    theta[i] = detail::moved<T>(to_float(theta[i]), amount, z(first + i));
  }

  /// Entries i … i + length − 1 on the host, which lie in one block of the direction.
  void block(std::size_t i, std::size_t length) const noexcept {
    detail::move_block(theta + i, length, z, first + i, detail::chain<1>{{amount}});
  }
};

template <parameter_storage T>
perturb(T*, direction, float, std::uint64_t = 0) -> perturb<T>;

/// θ[i] ← S((1 − Σ_k decay_k)·θ[i] + Σ_k step_k·z_k[first + i]), rounded to storage once. A step all of
/// whose terms are 0 leaves θ alone.
template <parameter_storage T, class Terms = direction_steps>
struct update {
  T* theta;
  Terms terms;
  std::uint64_t first = 0;

  TACIT_HD void operator()(std::size_t i) const noexcept {
    if (detail::moves(terms)) theta[i] = detail::stepped<T>(to_float(theta[i]), terms, first + i);
  }
  void block(std::size_t i, std::size_t length) const noexcept {
    if (!detail::moves(terms)) return;
    if (terms.size() > 1) return detail::sum_block(theta + i, length, terms, first + i);
    detail::move_block(theta + i, length, terms[0].z, first + i,
                       detail::chain<1>{{terms[0].step}, terms[0].decay});
  }
};

template <parameter_storage T, class Terms>
update(T*, Terms, std::uint64_t = 0) -> update<T, Terms>;

/// From θ−μz to the end of the step, where z is the direction of the last term: bit for bit
/// perturb{theta, z, mu} and then update{theta, terms}, in one pass. At least one term.
template <parameter_storage T, class Terms = direction_steps>
struct restore_and_update {
  T* theta;
  float mu;
  Terms terms;
  std::uint64_t first = 0;

  TACIT_HD void operator()(std::size_t i) const noexcept {
    direction const& z = terms[terms.size() - 1].z;
    T const restored = detail::moved<T>(to_float(theta[i]), mu, z(first + i));
    theta[i] =
        detail::moves(terms) ? detail::stepped<T>(to_float(restored), terms, first + i) : restored;
  }
  void block(std::size_t i, std::size_t length) const noexcept {
    direction_step const& last = terms[terms.size() - 1];
    if (terms.size() == 1 && detail::moves(terms)) {
      detail::move_block(theta + i, length, last.z, first + i,
                         detail::chain<2>{{mu, last.step}, last.decay});
      return;
    }
    detail::move_block(theta + i, length, last.z, first + i, detail::chain<1>{{mu}});
    if (detail::moves(terms)) detail::sum_block(theta + i, length, terms, first + i);
  }
};

template <parameter_storage T, class Terms>
restore_and_update(T*, float, Terms, std::uint64_t = 0) -> restore_and_update<T, Terms>;

namespace detail {

/// +μ, −2μ, +μ along each z_k of a step, as its losses were measured.
template <parameter_storage T>
[[nodiscard]] TACIT_HD T there_and_back(T x, float mu, direction_steps step,
                                        std::uint64_t index) noexcept {
  for (std::size_t k = 0; k < step.size(); ++k) {
    float const z = step[k].z(index);
    x = moved<T>(to_float(x), mu, z);
    x = moved<T>(to_float(x), -2.0F * mu, z);
    x = moved<T>(to_float(x), mu, z);
  }
  return x;
}

template <parameter_storage T>
void there_and_back_block(T* theta, std::size_t length, float mu, direction_steps step,
                          std::uint64_t index) noexcept {
  for (std::size_t k = 0; k < step.size(); ++k) {
    move_block(theta, length, step[k].z, index, chain<3>{{mu, -2.0F * mu, mu}});
  }
}

}  // namespace detail

/// A run of recorded steps of `directions` terms each, one after the other: an entry stays in the
/// cache until all are done.
template <parameter_storage T>
struct retrace {
  T* theta;
  float mu;
  direction_steps terms;
  std::size_t directions;
  std::uint64_t first = 0;

  TACIT_HD void operator()(std::size_t i) const noexcept {
    T x = theta[i];
    for (std::size_t t = 0; t < terms.size(); t += directions) {
      direction_steps const step{terms.data + t, directions};
      x = detail::there_and_back<T>(x, mu, step, first + i);
      if (detail::moves(step)) x = detail::stepped<T>(to_float(x), step, first + i);
    }
    theta[i] = x;
  }
  void block(std::size_t i, std::size_t length) const noexcept {
    for (std::size_t t = 0; t < terms.size(); t += directions) {
      direction_steps const step{terms.data + t, directions};
      bool const moves = detail::moves(step);
      if (directions == 1 && moves) {
        detail::move_block(theta + i, length, step[0].z, first + i,
                           detail::chain<4>{{mu, -2.0F * mu, mu, step[0].step}, step[0].decay});
        continue;
      }
      detail::there_and_back_block(theta + i, length, mu, step, first + i);
      if (moves) detail::sum_block(theta + i, length, step, first + i);
    }
  }
};

template <parameter_storage T>
retrace(T*, float, direction_steps, std::size_t, std::uint64_t = 0) -> retrace<T>;

/// The plain loop over entries begin … end − 1 of a tensor on the host: what the functor does entry by
/// entry, bit for bit, with the directions made a block at a time.
template <class Pass>
void sweep(Pass const& pass, std::size_t begin, std::size_t end) noexcept {
  constexpr std::size_t block = detail::direction_block::size;
  while (begin < end) {
    auto const skipped = static_cast<std::size_t>((pass.first + begin) % block);
    std::size_t const length = std::min(block - skipped, end - begin);
    pass.block(begin, length);
    begin += length;
  }
}

template <class Pass>
void sweep(Pass const& pass, std::size_t count) noexcept {
  sweep(pass, 0, count);
}

}  // namespace tacit
