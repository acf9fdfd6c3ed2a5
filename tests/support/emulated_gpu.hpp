// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/random/normal.hpp>
#include <tacit/zo/launch.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/two_point.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// As much of CUDA as zo/launch_gpu.hpp needs, on the host: kernels run thread after thread when the stream is waited
/// for, from the arguments that they were launched with. Include this in place of that header. Tests of what the launcher
/// does to entries, memory and errors run anywhere with it; device code itself is tests/device/same_bits.cu's.

#if defined(__CUDACC__) || defined(__HIP__)
#error "for host compilers"
#endif

namespace emulated {

struct place {
  unsigned x = 0;
};
inline place thread, block, threads_of_block, blocks_of_grid;

/// What the device is told, and what it answers.
struct device {
  std::vector<std::function<void()>> stream;  // what is to be done
  std::vector<std::function<void()>> captured;
  std::map<void*, std::size_t> memory;
  int last_error = 0;
  int fail_launch_after = -1;  // so many succeed before one fails; never below 0
  int fail_memory = 0;
  int present = 0;
  unsigned launches = 0;
  std::uint64_t most_blocks = 0;

  void run() {
    std::vector<std::function<void()>> now;
    now.swap(stream);
    for (auto const& work : now) work();
  }
};
inline device gpu_device;

}  // namespace emulated

using cudaStream_t = void*;
using cudaError_t = int;
enum { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorInvalidConfiguration = 9 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDefault };
struct dim3 {
  unsigned x;
  explicit dim3(unsigned n) : x(n) {}
};
struct alignas(16) uint4 {
  std::uint32_t x, y, z, w;
};
struct alignas(8) uint2 {
  std::uint32_t x, y;
};
struct float2 {
  float x, y;
};

inline char const* cudaGetErrorString(int of) {
  return of == cudaErrorMemoryAllocation ? "out of memory" : "invalid configuration";
}
inline int emulated_error(int error) {
  if (error != cudaSuccess) emulated::gpu_device.last_error = error;
  return error;
}
inline int cudaGetLastError() { return std::exchange(emulated::gpu_device.last_error, 0); }
inline int cudaStreamSynchronize(cudaStream_t) {
  emulated::gpu_device.run();
  return cudaSuccess;
}
inline int cudaMallocAsync(void** room, std::size_t bytes, cudaStream_t) {
  auto& at = emulated::gpu_device;
  if (at.fail_memory > 0) {
    --at.fail_memory;
    return emulated_error(cudaErrorMemoryAllocation);
  }
  *room = std::malloc(bytes);
  at.memory[*room] = bytes;
  return cudaSuccess;
}
inline int cudaFreeAsync(void* room, cudaStream_t) {
  emulated::gpu_device.memory.erase(room);
  emulated::gpu_device.stream.emplace_back([room] { std::free(room); });
  return cudaSuccess;
}
inline int cudaGetDevice(int* device) {
  *device = emulated::gpu_device.present;
  return cudaSuccess;
}
inline int cudaSetDevice(int device) {
  emulated::gpu_device.present = device;
  return cudaSuccess;
}

template <class... Arguments>
int cudaLaunchKernel(void (*kernel)(Arguments...), dim3 blocks, dim3 threads, void** arguments,
                     std::size_t, cudaStream_t) {
  auto& at = emulated::gpu_device;
  if (at.fail_launch_after == 0) return emulated_error(cudaErrorInvalidConfiguration);
  if (at.fail_launch_after > 0) --at.fail_launch_after;
  ++at.launches;
  at.most_blocks = std::max<std::uint64_t>(at.most_blocks, blocks.x);
  auto const copied = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::make_tuple(*static_cast<std::remove_cv_t<Arguments> const*>(arguments[I])...);
  }
  (std::index_sequence_for<Arguments...>{});
  at.stream.emplace_back([=] {
    emulated::blocks_of_grid.x = blocks.x;
    // Threads fill memory of their block together, and here one after the other: the first fills all of it.
    bool const shares = (std::is_class_v<Arguments> && ...);  // `over_pieces`
    for (unsigned b = 0; b < blocks.x; ++b) {
      for (unsigned t = 0; t < threads.x; ++t) {
        emulated::block.x = b;
        emulated::thread.x = t;
        emulated::threads_of_block.x = shares ? 1 : threads.x;
        std::apply(kernel, copied);
      }
    }
  });
  return cudaSuccess;
}

#define __CUDACC__
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDA_ARCH_LIST__ 750, 900
#define __device__
#define __host__
#define __global__
#define __shared__ static
#define __launch_bounds__(threads)
#define __grid_constant__
#define __syncthreads()
#define threadIdx emulated::thread
#define blockIdx emulated::block
#define blockDim emulated::threads_of_block
#define gridDim emulated::blocks_of_grid
namespace tacit::detail {
inline constexpr quantile_table const& quantiles_on_device = quantiles;
}
#include <tacit/zo/launch_gpu.hpp>
#undef __CUDACC__
#undef __device__
#undef __host__
#undef __global__
#undef __shared__
#undef __launch_bounds__
#undef __grid_constant__
#undef __syncthreads
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
