// SPDX-License-Identifier: Apache-2.0
//
// Passes over parameters in the memory of an NVIDIA device, by the library's own launcher.
#include "cuda.hpp"

#include <tacit/zo/launch_cuda.hpp>
#include <tacit/zo/step.hpp>

namespace binding {

namespace {

/// Makes a device the present one, and the one before it present again.
class present {
 public:
  explicit present(int device) {
    tacit::detail::require_cuda(cudaGetDevice(&before_), "present device");
    tacit::detail::require_cuda(cudaSetDevice(device), "choice of the device");
  }
  present(present const&) = delete;
  present& operator=(present const&) = delete;
  ~present() { cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

}  // namespace

template <class Pass>
void run_on_device(int device, Pass const& pass, std::size_t count) {
  present const here(device);
  // What others have begun on these parameters, on any stream.
  tacit::detail::require_cuda(cudaDeviceSynchronize(), "work before a pass");
  tacit::cuda{}(pass, count);
}

void copy_from_device(int device, void* to, void const* from, std::size_t bytes) {
  present const here(device);
  tacit::detail::require_cuda(cudaDeviceSynchronize(), "work before a copy");
  tacit::detail::require_cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copy to the host");
}

// Those of a trainer and of a replay without an optimiser.
#define TACIT_PASSES(T)                                                               \
  template void run_on_device(int, tacit::perturb<T> const&, std::size_t);            \
  template void run_on_device(int, tacit::restore_and_update<T> const&, std::size_t); \
  template void run_on_device(int, tacit::retrace<T> const&, std::size_t);
TACIT_PASSES(float)
TACIT_PASSES(tacit::half)
TACIT_PASSES(tacit::bfloat16)
#undef TACIT_PASSES

}  // namespace binding
