// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <type_traits>

// Nothing here unless a compiler for devices reads it.
#if defined(__CUDACC__) || defined(__HIP__)

#if !defined(__CUDACC__)
#include <hip/hip_runtime.h>
#endif

/// What zo/launch_gpu.hpp calls of CUDA's runtime, or HIP's.

namespace tacit {

namespace detail::gpu_runtime {

// The same calls by two names.
#if defined(__CUDACC__)
#define TACIT_RUNTIME(name) cuda##name
#else
#define TACIT_RUNTIME(name) hip##name
#endif

using stream = TACIT_RUNTIME(Stream_t);
using status = TACIT_RUNTIME(Error_t);
inline constexpr status success = TACIT_RUNTIME(Success);
inline char const* text(status of) { return TACIT_RUNTIME(GetErrorString)(of); }
inline status last() { return TACIT_RUNTIME(GetLastError)(); }
inline status wait(stream on) { return TACIT_RUNTIME(StreamSynchronize)(on); }
inline status take(void** room, std::size_t bytes, stream on) {
  return TACIT_RUNTIME(MallocAsync)(room, bytes, on);
}
inline status give_back(void* room, stream on) { return TACIT_RUNTIME(FreeAsync)(room, on); }
inline status present(int* device) { return TACIT_RUNTIME(GetDevice)(device); }
inline status make_present(int device) { return TACIT_RUNTIME(SetDevice)(device); }

#undef TACIT_RUNTIME

// By its own status, for what `last` says may be another's, of earlier.
template <class Kernel>
status start(Kernel* kernel, unsigned blocks, unsigned threads, void** arguments, stream on) {
#if defined(__CUDACC__)
  return cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), arguments, 0, on);
#else
  return hipLaunchKernel(reinterpret_cast<void const*>(kernel), dim3(blocks), dim3(threads),
                         arguments, 0, on);
#endif
}

#if defined(__CUDACC__)
#define TACIT_KERNEL_ARGUMENT __grid_constant__ const
#else
#define TACIT_KERNEL_ARGUMENT const
#endif
// 32,764 from CUDA 12.1 on, but on devices before 7.0, of which nvcc's list of targets may have some; else 4096.
#if defined(__CUDA_ARCH_LIST__) && \
    (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 1))
inline constexpr std::size_t argument_bytes =
    std::min({__CUDA_ARCH_LIST__}) >= 700 ? 32'000 : 4'000;
#else
inline constexpr std::size_t argument_bytes = 4'000;
#endif

inline void require(status of, char const* what) {
  if (of == success) return;
  (void)last();  // it has been said: nobody else finds it
  throw std::runtime_error(std::string("gpu: ") + what + ": " + text(of));
}

/// Runs a kernel with these arguments, which are copied.
template <class... Arguments>
void launch(void (*kernel)(Arguments...), unsigned blocks, unsigned threads, stream on,
            std::type_identity_t<Arguments> const&... given) {
  void* arguments[] = {const_cast<void*>(static_cast<void const*>(&given))...};
  require(start(kernel, blocks, threads, arguments, on), "launch");
}

/// Makes a device the present one for as long as this lives; no device below 0.
class on_device {
 public:
  explicit on_device(int device) : device_(device) {
    if (device_ < 0) return;
    require(present(&before_), "present device");
    require(make_present(device_), "choice of the device");
  }
  on_device(on_device const&) = delete;
  on_device& operator=(on_device const&) = delete;
  ~on_device() {
    if (device_ >= 0) (void)make_present(before_);
  }

 private:
  int device_;
  int before_ = 0;
};

}  // namespace detail::gpu_runtime

}  // namespace tacit

#endif
