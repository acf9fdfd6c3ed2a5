// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/step.hpp>

#include <cstddef>
#include <cstdint>

// Nothing here unless nvcc compiles it.
#if defined(__CUDACC__)

#include <stdexcept>
#include <string>

namespace tacit {

namespace detail {

inline void require_cuda(cudaError_t status, char const* what) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string("cuda: ") + what + ": " + cudaGetErrorString(status));
  }
}

/// Four entries a thread, whose indices share a Philox block: the compiler finds that they do.
template <class Pass>
__global__ void over_entries(Pass const pass, std::uint64_t groups, std::size_t count) {
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t group = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; group < groups; group += stride) {
    std::uint64_t const index = (pass.first / 4 + group) * 4;
#pragma unroll
    for (std::uint64_t lane = 0; lane < 4; ++lane) {
      std::uint64_t const i = (index | lane) - pass.first;  // before the first entry it wraps
      if (i < count) pass(static_cast<std::size_t>(i));
    }
  }
}

/// A step of one term goes into the kernel by value.
template <parameter_storage T>
[[nodiscard]] update<T, direction_step> by_value(update<T> const& pass) {
  return {pass.theta, pass.terms[0], pass.first};
}
template <parameter_storage T>
[[nodiscard]] restore_and_update<T, direction_step> by_value(restore_and_update<T> const& pass) {
  return {pass.theta, pass.mu, pass.terms[0], pass.first};
}

}  // namespace detail

/// A CUDA stream of the present device. The tensor lies in memory that the device reads and writes;
/// the terms of a step are copied there. Returns when the pass is done. With `optimise` m and v lie there too:
/// a program keeps them by itself, for an `optimiser_state` is the host's.
/// @throws std::runtime_error with CUDA's own words if a call fails
struct cuda {
  static constexpr bool elsewhere = true;  // what it reads is not the host's
  cudaStream_t stream = nullptr;

  template <class Pass>
  void operator()(Pass const& pass, std::size_t count) const {
    if constexpr (requires { detail::by_value(pass); }) {
      if (pass.terms.count == 1) return run(detail::by_value(pass), count);
    }
    if constexpr (requires { pass.terms.data; }) {
      with_terms(pass, count);
    } else {
      run(pass, count);
    }
  }

 private:
  template <class Pass>
  void with_terms(Pass pass, std::size_t count) const {
    std::size_t const bytes = pass.terms.count * sizeof(direction_step);
    if (bytes == 0) return;
    void* room = nullptr;
    detail::require_cuda(cudaMalloc(&room, bytes), "memory for the terms of a step");
    try {
      detail::require_cuda(
          cudaMemcpyAsync(room, pass.terms.data, bytes, cudaMemcpyHostToDevice, stream),
          "copy of the terms");
      pass.terms.data = static_cast<direction_step const*>(room);
      run(pass, count);
    } catch (...) {
      cudaFree(room);
      throw;
    }
    detail::require_cuda(cudaFree(room), "release of memory");
  }

  template <class Pass>
  void run(Pass const& pass, std::size_t count) const {
    constexpr std::uint64_t threads = 256;
    std::uint64_t const groups = (pass.first % 4 + count + 3) / 4;
    std::uint64_t const blocks = (groups + threads - 1) / threads;
    if (blocks == 0) return;
    detail::over_entries<<<static_cast<unsigned>(blocks < 65535 ? blocks : 65535),
                           static_cast<unsigned>(threads), 0, stream>>>(pass, groups, count);
    detail::require_cuda(cudaGetLastError(), "launch");
    detail::require_cuda(cudaStreamSynchronize(stream), "pass");
  }
};

}  // namespace tacit

#endif
