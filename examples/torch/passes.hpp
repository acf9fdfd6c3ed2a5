// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/hash.hpp>
#include <tacit/zo/launch.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/step.hpp>

#include <cstddef>
#include <stdexcept>

/// Passes over weights where they lie, and the weights of a run. Knows no engine.

/// On a stream of a CUDA device; returns when it is done. passes.cu has the body, which is there where
/// TACIT_TORCH_CUDA is.
/// @throws std::runtime_error with CUDA's own words
template <class Pass>
void pass_on_device(int device, void* stream, Pass const& pass, std::size_t count);

/// The passes that a run makes without an optimiser.
template <class Pass>
inline constexpr bool runs_on_devices = false;
template <class T>
inline constexpr bool runs_on_devices<tacit::perturb<T>> = true;
template <class T>
inline constexpr bool runs_on_devices<tacit::update<T>> = true;
template <class T>
inline constexpr bool runs_on_devices<tacit::restore_and_update<T>> = true;
template <class T>
inline constexpr bool runs_on_devices<tacit::retrace<T>> = true;

/// A launcher: the host's threads, or a CUDA device, in whose memory the weights lie then. The same bits.
struct passes {
  static constexpr bool elsewhere = true;  // an optimiser's numbers would be the host's
  int device = -1;                         ///< the host's threads below 0
  void* stream = nullptr;

  template <class Pass>
  void operator()(Pass const& pass, std::size_t count) const {
    if (device < 0) return tacit::openmp{}(pass, count);
#if defined(TACIT_TORCH_CUDA)
    if constexpr (runs_on_devices<Pass>) return pass_on_device(device, stream, pass, count);
#endif
    throw std::logic_error("this pass is not one for a device");
  }
};

/// The weights of a run: where they are moved, by whom, and the hash of the model that they are.
struct placed {
  tacit::parameters theta;
  passes by = {};
  tacit::parameter_hash start;

  placed(tacit::parameters at, passes launcher, tacit::parameter_hash const& hash)
      : theta(std::move(at)), by(launcher), start(hash) {}
  /// Those in the host's memory.
  placed(tacit::parameters at) : theta(std::move(at)), start(tacit::hash_of(theta)) {}
};
