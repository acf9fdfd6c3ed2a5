// SPDX-License-Identifier: Apache-2.0
//
// Passes over weights in the memory of a CUDA device, by the library's own launcher. Compiled by nvcc.
#include <tacit/zo/launch_cuda.hpp>
#include <tacit/zo/step.hpp>

#include "passes.hpp"

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
void pass_on_device(int device, void* stream, Pass const& pass, std::size_t count) {
  present const here(device);
  auto const queue = static_cast<cudaStream_t>(stream);
  tacit::cuda{queue}(pass, count);
  tacit::detail::require_cuda(cudaStreamSynchronize(queue), "pass");
}

#define TACIT_PASSES(T)                                                                       \
  template void pass_on_device(int, void*, tacit::perturb<T> const&, std::size_t);            \
  template void pass_on_device(int, void*, tacit::update<T> const&, std::size_t);             \
  template void pass_on_device(int, void*, tacit::restore_and_update<T> const&, std::size_t); \
  template void pass_on_device(int, void*, tacit::retrace<T> const&, std::size_t);
TACIT_PASSES(float)
TACIT_PASSES(tacit::half)
TACIT_PASSES(tacit::bfloat16)
#undef TACIT_PASSES
