// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/step.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// Launchers: who runs a pass over the entries of a tensor. A launcher is called with the functor and
/// the number of entries, and returns when all are done, or when they will be before anything else that reads them
/// (a stream of a device, zo/launch_gpu.hpp); the result is the same, bit for bit, with any of
/// them. Anything that can be called in this way is a launcher. One that can also be called with a span of
/// `pass_over` gets the tensors of a model that are stored alike in one call. Functor and terms are valid during the
/// call alone.

namespace tacit {

/// A pass and its number of entries. Passes of one span differ in where they lie and begin alone.
template <class Pass>
struct pass_over {
  Pass pass;
  std::size_t count;
};

/// A launcher that moves memory which the host may not be able to read says so by a member of that name.
template <class Launcher>
concept moves_elsewhere = requires {
  Launcher::elsewhere;
};

namespace detail {

/// Entries that one thread takes at a time: 64 KiB of floats.
inline constexpr std::size_t launch_piece = std::size_t{1} << 14;

[[nodiscard]] inline std::size_t pieces_of(std::size_t count) noexcept {
  return count / launch_piece + (count % launch_piece != 0 ? 1 : 0);
}

template <class Pass>
void sweep_piece(Pass const& pass, std::size_t piece, std::size_t count) noexcept {
  std::size_t const begin = piece * launch_piece;
  sweep(pass, begin, std::min(begin + launch_piece, count));
}

}  // namespace detail

/// The calling thread.
struct serial {
  template <class Pass>
  void operator()(Pass const& pass, std::size_t count) const noexcept {
    sweep(pass, count);
  }
};

/// OpenMP's threads, each with a contiguous part of the tensor. Compiled without OpenMP (-fopenmp) it
/// is `serial`.
struct openmp {
  template <class Pass>
  void operator()(Pass const& pass, std::size_t count) const noexcept {
#if defined(_OPENMP)
    auto const pieces = static_cast<std::int64_t>(detail::pieces_of(count));
#pragma omp parallel for schedule(static) if (pieces > 1)
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      detail::sweep_piece(pass, static_cast<std::size_t>(piece), count);
    }
#else
    sweep(pass, count);
#endif
  }
};

}  // namespace tacit
