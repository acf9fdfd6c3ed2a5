// SPDX-License-Identifier: Apache-2.0
// Kernels that use the device-clean headers, so that code for the device is really made of them.
#include <tacit/random.hpp>
#include <tacit/zo/launch_cuda.hpp>
#include <tacit/zo/optimise.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/stochastic.hpp>

#include <cstddef>

struct draws {
  tacit::stream_id stream;
  float scale;
  double* out;

  TACIT_HD void operator()(std::size_t i) const {
    out[i] = tacit::uniform(stream, i) + tacit::normal(stream, i) + tacit::rademacher(stream, i) +
             tacit::sphere_scale(stream, 8);
  }
};

template <class Functor>
__global__ void over(Functor functor, std::size_t count) {
  std::size_t const i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < count) functor(i);
}

template __global__ void over(draws, std::size_t);

// The library's launcher, over every functor and storage.
template <class T>
void all_passes(T* theta, tacit::direction z, tacit::direction_steps terms, std::size_t count) {
  tacit::cuda const launch;
  launch(tacit::perturb{theta, z, 1e-3F}, count);
  launch(tacit::update{theta, terms}, count);
  launch(tacit::restore_and_update{theta, 1e-3F, terms}, count);
  launch(tacit::retrace{theta, 1e-3F, terms, 1}, count);
  launch(tacit::stochastic_update{theta, terms, tacit::stream_id{}}, count);
  launch(tacit::optimise{theta, tacit::moments{}, terms, tacit::optimiser_step{}}, count);
}

template void all_passes(float*, tacit::direction, tacit::direction_steps, std::size_t);
template void all_passes(tacit::half*, tacit::direction, tacit::direction_steps, std::size_t);
template void all_passes(tacit::bfloat16*, tacit::direction, tacit::direction_steps, std::size_t);
