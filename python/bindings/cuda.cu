// SPDX-License-Identifier: Apache-2.0
//
// Passes over parameters in the memory of an NVIDIA device, by the library's own launcher.
#include <tacit/zo/launch_gpu.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/stochastic.hpp>

#include "cuda.hpp"

namespace binding {

using namespace tacit::detail::gpu_runtime;

template <class Pass>
void run_on_device(int device, std::span<tacit::pass_over<Pass> const> parts) {
  on_device const here(device);
  // What others have begun on these parameters, on any stream.
  require(cudaDeviceSynchronize(), "work before a pass");
  tacit::gpu const launch;
  launch(parts);
  launch.wait();
}

void copy_from_device(int device, void* to, void const* from, std::size_t bytes) {
  on_device const here(device);
  require(cudaDeviceSynchronize(), "work before a copy");
  require(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copy to the host");
}

// Those of a trainer and of a replay without an optimiser.
#define TACIT_PASS(Pass) \
  template void run_on_device(int, std::span<tacit::pass_over<tacit::Pass> const>)
#define TACIT_PASSES(T)                         \
  TACIT_PASS(perturb<T>);                       \
  TACIT_PASS(restore_and_update<T>);            \
  TACIT_PASS(retrace<T>);                       \
  TACIT_PASS(restore_and_stochastic_update<T>); \
  TACIT_PASS(stochastic_retrace<T>)
TACIT_PASSES(float);
TACIT_PASSES(tacit::half);
TACIT_PASSES(tacit::bfloat16);
#undef TACIT_PASSES
#undef TACIT_PASS

}  // namespace binding
