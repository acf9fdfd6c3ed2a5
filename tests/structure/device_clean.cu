// SPDX-License-Identifier: Apache-2.0
// Kernels that use the device-clean headers, so that code for the device is really made of them.
#include <tacit/random.hpp>

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
