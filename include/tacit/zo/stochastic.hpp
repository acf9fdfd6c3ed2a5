// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/zo/direction_block.hpp>
#include <tacit/zo/moves.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/storage.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

/// Updates of half and bfloat16 parameters that are rounded at random, by public draws.
///
/// Rounded to the nearest, an entry does not move at all where the update is below half a unit in its last
/// place, however many such updates follow: bfloat16 near 1 loses each below 2^-9. Rounded at random, up with
/// the probability that is the distance from below in units, it moves rarely and is right on average, as far as
/// float goes: to which the sum is rounded first, so that an update below 2^-25 of its entry is lost as ever.
///
/// Only the update is rounded in this way. Of the moves to θ ± μz and back each is rounded to the nearest: the
/// same numbers come back from them as in a run that is rounded to the nearest.
///
/// **Privacy.** The draws are a function of a public seed and the step. The rounded parameters are
/// post-processing of the releases, and who has these repeats a run bit for bit.
/// Source: Gupta, Agrawal, Gopalakrishnan, Narayanan, "Deep learning with limited numerical precision", ICML 2015.

namespace tacit {

/// S_r(x): one of the two neighbours of x that T has, or x itself where T has it. For bits that are uniform on
/// 32 bits the mean is x for all that is no larger than the largest number of T: exactly, but for halves below
/// 2^-14, where it is within 2^-56. Past that number the upper neighbour is infinity, which is taken with a
/// probability however little it was passed; what is infinite or NaN stays so. A float stays as it is.
template <parameter_storage T>
[[nodiscard]] TACIT_HD constexpr T rounded_at_random(float x, std::uint32_t random) noexcept {
  std::uint32_t const bits = __builtin_bit_cast(std::uint32_t, x);
  std::uint32_t const magnitude = bits & 0x7FFFFFFF;
  if constexpr (std::same_as<T, float>) {
    return x;
  } else if constexpr (std::same_as<T, bfloat16>) {
    // What is added carries into the upper half with the probability of the lower.
    if (magnitude >= 255U << 23) return rounded_to<T>(x);
    return {static_cast<std::uint16_t>((bits + (random >> 16)) >> 16)};
  } else {
    if (magnitude >= 143U << 23) return rounded_to<T>(x);  // 2^16 and more
    std::uint32_t const sign = bits >> 16 & 0x8000;
    if (magnitude >= 113U << 23) {
      std::uint32_t const carried = magnitude + (random >> 19) - (112U << 23);
      return {static_cast<std::uint16_t>(carried >> 13 | sign)};
    }
    // Below 2^-14 a unit is 2^-24.
    float const units = __builtin_bit_cast(float, magnitude) * 0x1p24F;
    auto const whole = static_cast<std::uint32_t>(units);
    double const above = (double{units} - static_cast<double>(whole)) * 0x1p32;
    std::uint32_t const up = static_cast<double>(random) < above ? 1 : 0;
    return {static_cast<std::uint16_t>((whole + up) | sign)};
  }
}

/// The draws of step t of a run with this public seed.
[[nodiscard]] TACIT_HD constexpr stream_id rounding_of(std::uint64_t seed,
                                                       std::uint64_t step) noexcept {
  return {seed, step, purpose::rounding};
}

/// θ[i] ← S_r((1 − Σ_k decay_k)·θ[i] + Σ_k step_k·z_k[first + i]): `update` with another last rounding. The sum is
/// rounded to float first, to the nearest, as there; r are 32 bits of the stream, draw first + i. A step all
/// of whose terms are 0 leaves θ alone.
///
/// A stream of its own for every step: `rounding_of(seed, t)`.
template <parameter_storage T, class Terms = direction_steps>
struct stochastic_update {
  T* theta;
  Terms terms;
  stream_id rounding;
  std::uint64_t first = 0;

  TACIT_HD void operator()(std::size_t i) const noexcept {
    if (!detail::moves(terms)) return;
    float const sum = detail::stepped<float>(to_float(theta[i]), terms, first + i);
    theta[i] = rounded_at_random<T>(sum, random_bits32(rounding, first + i));
  }

  /// Entries i … i + length − 1 on the host, which lie in one block of the direction.
  void block(std::size_t i, std::size_t length) const noexcept {
    if constexpr (std::same_as<T, float>)
      return update<T, Terms>{theta, terms, first}.block(i, length);
    if (!detail::moves(terms)) return;
    constexpr std::size_t size = detail::direction_block::size;
    float sum[size];
    for (std::size_t j = 0; j < length; ++j) sum[j] = to_float(theta[i + j]);
    detail::sum_block(sum, length, terms, first + i);
    std::uint32_t draws[size + 4];
    std::uint64_t const begin = (first + i) / 4;
    auto const skipped = static_cast<std::size_t>((first + i) % 4);
    detail::fill_words(rounding, begin, (skipped + length + 3) / 4, draws);
    for (std::size_t j = 0; j < length; ++j) {
      theta[i + j] = rounded_at_random<T>(sum[j], draws[skipped + j]);
    }
  }
};

template <parameter_storage T, class Terms>
stochastic_update(T*, Terms, stream_id, std::uint64_t = 0) -> stochastic_update<T, Terms>;

/// `restore_and_update` whose update is rounded at random: bit for bit perturb{theta, z, mu}, with z the direction
/// of the last term, and then stochastic_update{theta, terms, rounding}. At least one term.
template <parameter_storage T, class Terms = direction_steps>
struct restore_and_stochastic_update {
  T* theta;
  float mu;
  Terms terms;
  stream_id rounding;
  std::uint64_t first = 0;

  TACIT_HD void operator()(std::size_t i) const noexcept {
    perturb<T>{theta, terms[terms.size() - 1].z, mu, first}(i);
    stochastic_update<T, Terms>{theta, terms, rounding, first}(i);
  }
  void block(std::size_t i, std::size_t length) const noexcept {
    perturb<T>{theta, terms[terms.size() - 1].z, mu, first}.block(i, length);
    stochastic_update<T, Terms>{theta, terms, rounding, first}.block(i, length);
  }
};

template <parameter_storage T, class Terms>
restore_and_stochastic_update(T*, float, Terms, stream_id, std::uint64_t = 0)
    -> restore_and_stochastic_update<T, Terms>;

/// `retrace` whose updates are rounded at random; `rounding` is the stream of the first of the steps.
template <parameter_storage T>
struct stochastic_retrace {
  T* theta;
  float mu;
  direction_steps terms;
  std::size_t directions;
  stream_id rounding;
  std::uint64_t first = 0;

  TACIT_HD void operator()(std::size_t i) const noexcept {
    stream_id draws = rounding;
    for (std::size_t t = 0; t < terms.size(); t += directions, ++draws.step) {
      direction_steps const step{terms.data + t, directions};
      theta[i] = detail::there_and_back<T>(theta[i], mu, step, first + i);
      stochastic_update<T>{theta, step, draws, first}(i);
    }
  }
  void block(std::size_t i, std::size_t length) const noexcept {
    stream_id draws = rounding;
    for (std::size_t t = 0; t < terms.size(); t += directions, ++draws.step) {
      direction_steps const step{terms.data + t, directions};
      detail::there_and_back_block(theta + i, length, mu, step, first + i);
      stochastic_update<T>{theta, step, draws, first}.block(i, length);
    }
  }
};

template <parameter_storage T>
stochastic_retrace(T*, float, direction_steps, std::size_t, stream_id, std::uint64_t = 0)
    -> stochastic_retrace<T>;

}  // namespace tacit
