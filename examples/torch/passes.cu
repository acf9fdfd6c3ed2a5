// SPDX-License-Identifier: Apache-2.0
//
// Passes over weights in the memory of a CUDA device, by the library's own launcher. Compiled by nvcc.
#include <tacit/zo/launch_gpu.hpp>
#include <tacit/zo/step.hpp>

#include "passes.hpp"

template <class Pass>
void pass_on_device(int device, void* stream, Pass const& pass, std::size_t count) {
  tacit::cuda const launch{static_cast<cudaStream_t>(stream), device};
  launch(pass, count);
  launch.wait();
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
