// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

/// Where a model lies and computes. Knows no engine; without CUDA (CMake's option) there is the processor alone.

struct place {
  int device = -1;    ///< number of a CUDA device; the processor below 0
  int threads = 1;    ///< of the processor
  bool tf32 = false;  ///< products of float32 by the tensor cores, with 10 bits of each factor

  [[nodiscard]] bool is_cuda() const noexcept { return device >= 0; }

  /// "cpu", "cuda" (device 0) or "cuda:1".
  /// @throws std::invalid_argument for anything else
  static place named(std::string_view name);
};

/// Makes libtorch compute there, with the same bits whenever the shapes are the same. Before its first use.
/// @throws std::runtime_error where there is no such device, or its free memory has not this many bytes
void prepare(place const& where, double bytes);

/// Waits for what the device has been told to do. Nothing on the processor.
void finish(place const& where);

/// The stream on which libtorch computes there, a cudaStream_t.
[[nodiscard]] void* stream_of(place const& where);

/// The most memory of the device that libtorch's tensors have taken together, in megabytes; 0 on the processor.
[[nodiscard]] double peak_device_megabytes(place const& where);
