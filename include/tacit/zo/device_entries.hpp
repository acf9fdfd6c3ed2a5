// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/config.hpp>
#include <tacit/random/normal.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/moves.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/storage.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// Nothing here unless a compiler for devices reads it.
#if defined(__CUDACC__) || defined(__HIP__)

#if !defined(__CUDACC__)
#include <hip/hip_runtime.h>
#endif

/// The passes of zo/step.hpp on a device, on many entries of a thread at once: bit for bit what their functors do
/// entry by entry. (A NaN stays a NaN, but which one it is the device decides.)

namespace tacit::detail {

#if defined(__CUDA_ARCH__)
extern "C" __device__ int __nvvm_reflect(char const*);  // NVVM's own: how this is compiled
#endif

/// Stops a kernel that was compiled to take numbers below 2^-126 for 0: no macro tells of -use_fast_math or -ftz=true.
__device__ inline void need_subnormals() noexcept {
#if defined(__CUDA_ARCH__)
  if (__nvvm_reflect("__CUDA_FTZ") != 0) __trap();
#endif
}

/// Two entries side by side in a word, by the processor's own conversions where we know its words for them.
template <parameter_storage T>
struct stored_pair {
  __device__ static float2 floats(std::uint32_t bits) noexcept {
    T const low{static_cast<std::uint16_t>(bits)};
    T const high{static_cast<std::uint16_t>(bits >> 16)};
#if defined(__CUDA_ARCH__)
    if constexpr (std::same_as<T, half>) {
      float2 pair;
      asm("cvt.f32.f16 %0, %1;" : "=f"(pair.x) : "h"(low.bits));
      asm("cvt.f32.f16 %0, %1;" : "=f"(pair.y) : "h"(high.bits));
      return pair;
    }
#endif
    return {to_float(low), to_float(high)};
  }

  __device__ static std::uint32_t nearest(float low, float high) noexcept {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint32_t pair = 0;
    if constexpr (std::same_as<T, half>) {
      asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    } else {
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    }
    return pair;
#else
    return rounded_to<T>(low).bits | std::uint32_t{rounded_to<T>(high).bits} << 16;
#endif
  }
};

/// What one thread moves: four entries of each of the four words of signs that a block of Philox has for 128 entries.
/// Seven neighbours have the others, so that a warp reads and writes whole lines.
template <parameter_storage T>
class device_entries {
 public:
  static constexpr unsigned per_block = 128;  ///< signs of a block of Philox
  static constexpr unsigned words = 4;        ///< of that block, with 32 signs each
  static constexpr unsigned lanes = 4;        ///< entries of one word; of a block of normals, too
  static constexpr unsigned threads = 32 / lanes;                   ///< that share a block
  static constexpr unsigned entries = words * lanes;                ///< of a thread
  static constexpr unsigned reach = 32 * (words - 1) + lanes;       ///< from its first to its last
  using vector = std::conditional_t<sizeof(T) == 4, uint4, uint2>;  ///< four entries

  /// Entry e of word w is parameter index + 32w + e; the index is a multiple of `lanes`. Normals are looked up in
  /// this copy of `quantiles`.
  __device__ device_entries(std::uint64_t index, quantile_table const& table) noexcept
      : index_(index), table_(&table) {}

  /// From and to memory, where entry 0 lies at this address, aligned as a vector is.
  __device__ void load(T const* from) noexcept {
#pragma unroll
    for (unsigned w = 0; w < words; ++w) {
      stored_[w] = *reinterpret_cast<vector const*>(from + 32 * w);
    }
  }
  __device__ void store(T* to) const noexcept {
#pragma unroll
    for (unsigned w = 0; w < words; ++w) *reinterpret_cast<vector*>(to + 32 * w) = stored_[w];
  }

  /// x ← S(x + amount·z), for each amount in turn; the last may decay.
  template <std::size_t Moves>
  __device__ void move(direction const& z, chain<Moves> const& moves) noexcept {
    if (moves.decay == 0.0F) {
      moved<false>(z, moves);
    } else {
      moved<true>(z, moves);
    }
  }

  /// x ← S(x + Σ_k (step_k·z_k − decay_k·x)).
  template <class Terms>
  __device__ void sum(Terms const& terms) noexcept {
    double total[words][lanes];
    each([&](unsigned w, unsigned e, float x) { total[w][e] = double{x}; });
    for (std::size_t k = 0; k < terms.size(); ++k) {
      double const step{terms[k].step};
      double const decay{terms[k].decay};
      along(
          terms[k].z,
          [&](unsigned w, unsigned e, bool minus) { total[w][e] += minus ? -step : step; },
          [&](unsigned w, unsigned e, float z) { total[w][e] += step * double{z}; });
      if (decay != 0.0) {
        each([&](unsigned w, unsigned e, float x) { total[w][e] -= decay * double{x}; });
      }
    }
    put([&](unsigned w, unsigned e) { return static_cast<float>(total[w][e]); });
  }

 private:
  template <bool Decays, std::size_t Moves>
  __device__ void moved(direction const& z, chain<Moves> const& moves) noexcept {
    along_words(z, [&](unsigned w, auto const& z_of) {
      float x[lanes];
      unpack(w, x);
#pragma unroll
      for (std::size_t m = 0; m < Moves; ++m) {
        if (m > 0) {
          pack(w, x);
          unpack(w, x);
        }
#pragma unroll
        for (unsigned e = 0; e < lanes; ++e) {
          x[e] = Decays && m + 1 == Moves ? z_of.decayed(x[e], moves.amount[m], e, moves.decay)
                                          : z_of.moved(x[e], moves.amount[m], e);
        }
      }
      pack(w, x);
    });
  }

  // Where the numbers of one word's entries come from.
  struct signs {
    std::uint32_t word;  // bit e is entry e's

    __device__ bool minus(unsigned e) const noexcept { return (word >> e & 1) != 0; }
    // amount·z is exact in float, and to round a sum of two floats to double and then to float is to round it once.
    __device__ float moved(float x, float amount, unsigned e) const noexcept {
      return x + __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, amount) ^
                                               (word << (31 - e) & 0x80000000));
    }
    __device__ float decayed(float x, float amount, unsigned e, float decay) const noexcept {
      return detail::decayed<float>(x, amount, minus(e) ? -1.0F : 1.0F, decay);
    }
  };
  struct numbers {
    float z[lanes];

    __device__ float moved(float x, float amount, unsigned e) const noexcept {
      return detail::moved<float>(x, amount, z[e]);
    }
    __device__ float decayed(float x, float amount, unsigned e, float decay) const noexcept {
      return detail::decayed<float>(x, amount, z[e], decay);
    }
  };

  // use(w, where word w's numbers come from), for each word.
  template <class Use>
  __device__ void along_words(direction const& z, Use const& use) const noexcept {
    if (z.law == direction_law::rademacher) {
      philox_block const block = random_block(z.stream, index_ / per_block);
      auto const skipped = static_cast<unsigned>(index_ % 32);
#pragma unroll
      for (unsigned w = 0; w < words; ++w) use(w, signs{block.word[w] >> skipped});
      return;
    }
#pragma unroll
    for (unsigned w = 0; w < words; ++w) {
      numbers of_word;
      philox_block const block = random_block(z.stream, (index_ + 32 * w) / 4);
#pragma unroll
      for (unsigned e = 0; e < lanes; ++e) {
        of_word.z[e] = z.scale * normal_from(block.word[e], *table_);
      }
      use(w, of_word);
    }
  }

  // The same entry by entry: by_sign(w, e, whether z is −1), or by_number(w, e, z).
  template <class BySign, class ByNumber>
  __device__ void along(direction const& z, BySign const& by_sign,
                        ByNumber const& by_number) const noexcept {
    struct uses {
      BySign const& by_sign;
      ByNumber const& by_number;
      __device__ void operator()(unsigned w, signs const& of) const noexcept {
#pragma unroll
        for (unsigned e = 0; e < lanes; ++e) by_sign(w, e, of.minus(e));
      }
      __device__ void operator()(unsigned w, numbers const& of) const noexcept {
#pragma unroll
        for (unsigned e = 0; e < lanes; ++e) by_number(w, e, of.z[e]);
      }
    };
    along_words(z, uses{by_sign, by_number});
  }

  template <class Use>
  __device__ void each(Use const& use) const noexcept {
#pragma unroll
    for (unsigned w = 0; w < words; ++w) {
      float x[lanes];
      unpack(w, x);
#pragma unroll
      for (unsigned e = 0; e < lanes; ++e) use(w, e, x[e]);
    }
  }
  template <class Of>
  __device__ void put(Of const& of) noexcept {
#pragma unroll
    for (unsigned w = 0; w < words; ++w) {
      float x[lanes];
#pragma unroll
      for (unsigned e = 0; e < lanes; ++e) x[e] = of(w, e);
      pack(w, x);
    }
  }

  __device__ void unpack(unsigned w, float (&x)[lanes]) const noexcept {
    if constexpr (sizeof(T) == 4) {
      std::uint32_t const bits[] = {stored_[w].x, stored_[w].y, stored_[w].z, stored_[w].w};
#pragma unroll
      for (unsigned e = 0; e < lanes; ++e) x[e] = __builtin_bit_cast(float, bits[e]);
    } else {
      float2 const low = stored_pair<T>::floats(stored_[w].x);
      float2 const high = stored_pair<T>::floats(stored_[w].y);
      x[0] = low.x, x[1] = low.y, x[2] = high.x, x[3] = high.y;
    }
  }
  __device__ void pack(unsigned w, float const (&x)[lanes]) noexcept {
    if constexpr (sizeof(T) == 4) {
      stored_[w] = {
          __builtin_bit_cast(std::uint32_t, x[0]), __builtin_bit_cast(std::uint32_t, x[1]),
          __builtin_bit_cast(std::uint32_t, x[2]), __builtin_bit_cast(std::uint32_t, x[3])};
    } else {
      stored_[w] = {stored_pair<T>::nearest(x[0], x[1]), stored_pair<T>::nearest(x[2], x[3])};
    }
  }

  vector stored_[words];
  std::uint64_t index_;
  quantile_table const* table_;
};

/// A copy of `quantiles` that a block of threads shares, if one of these directions has normals.
class shared_quantiles {
 public:
  template <class Pass>
  __device__ static quantile_table const& of(Pass const& pass) noexcept {
    __shared__ quantile_table table;
    if (has_normals(pass)) {
      constexpr unsigned words = sizeof(quantile_table) / sizeof(std::int32_t);
      auto const* const from = reinterpret_cast<std::int32_t const*>(&quantiles_on_device);
      auto* const to = reinterpret_cast<std::int32_t*>(&table);
      for (unsigned i = threadIdx.x; i < words; i += blockDim.x) to[i] = from[i];
      __syncthreads();
    }
    return table;
  }

 private:
  template <class Pass>
  __device__ static bool has_normals(Pass const& pass) noexcept {
    if constexpr (requires { pass.z; }) {
      return pass.z.law != direction_law::rademacher;
    } else {
      for (std::size_t k = 0; k < pass.terms.size(); ++k) {
        if (pass.terms[k].z.law != direction_law::rademacher) return true;
      }
      return false;
    }
  }
};

// The passes, as their members `block` have them for blocks on the host; `moves_groups` says of which there are.
template <class Pass>
inline constexpr bool moves_groups = false;
template <class T>
inline constexpr bool moves_groups<perturb<T>> = true;
template <class T, class Terms>
inline constexpr bool moves_groups<update<T, Terms>> = true;
template <class T, class Terms>
inline constexpr bool moves_groups<restore_and_update<T, Terms>> = true;
template <class T>
inline constexpr bool moves_groups<retrace<T>> = true;

template <parameter_storage T>
__device__ void apply(perturb<T> const& pass, device_entries<T>& x) noexcept {
  x.move(pass.z, chain<1>{{pass.amount}});
}

template <parameter_storage T, class Terms>
__device__ void apply_terms(Terms const& terms, device_entries<T>& x) noexcept {
  if (!moves(terms)) return;
  if constexpr (std::same_as<Terms, direction_step>) {
    x.move(terms.z, chain<1>{{terms.step}, terms.decay});
  } else {
    x.sum(terms);
  }
}

template <parameter_storage T, class Terms>
__device__ void apply(update<T, Terms> const& pass, device_entries<T>& x) noexcept {
  apply_terms(pass.terms, x);
}

template <parameter_storage T, class Terms>
__device__ void apply(restore_and_update<T, Terms> const& pass, device_entries<T>& x) noexcept {
  if constexpr (std::same_as<Terms, direction_step>) {
    if (moves(pass.terms)) {
      x.move(pass.terms.z, chain<2>{{pass.mu, pass.terms.step}, pass.terms.decay});
      return;
    }
  }
  x.move(pass.terms[pass.terms.size() - 1].z, chain<1>{{pass.mu}});
  apply_terms(pass.terms, x);
}

template <parameter_storage T>
__device__ void apply(retrace<T> const& pass, device_entries<T>& x) noexcept {
  for (std::size_t t = 0; t < pass.terms.size(); t += pass.directions) {
    direction_steps const step{pass.terms.data + t, pass.directions};
    if (pass.directions == 1 && moves(step)) {
      x.move(step[0].z, chain<4>{{pass.mu, -2.0F * pass.mu, pass.mu, step[0].step}, step[0].decay});
      continue;
    }
    for (std::size_t k = 0; k < pass.directions; ++k) {
      x.move(step[k].z, chain<3>{{pass.mu, -2.0F * pass.mu, pass.mu}});
    }
    apply_terms(step, x);
  }
}

}  // namespace tacit::detail

#endif
