// SPDX-License-Identifier: Apache-2.0
//
//     nvcc -std=c++20 -O3 -I include examples/kernels/cuda.cu -o kernels_cuda
//
// A step on a GPU, by tacit's launcher, beside the same step on the host: the same bits. Exits 77 where there is no
// device. (hipcc compiles the launcher, too: `tacit::hip` there, with HIP's calls for CUDA's.)

#include <tacit/zo/launch.hpp>
#include <tacit/zo/launch_gpu.hpp>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace {

constexpr std::size_t count = std::size_t{1} << 26;

void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

template <class Launcher>
void step_by(Launcher const& launch, float* theta, tacit::direction z) {
  tacit::perturb<float> const there{theta, z, 1e-3F};
  launch(there, count);
  launch(there.flip(), count);
  launch(tacit::restore_and_update<float, tacit::direction_step>{theta, 1e-3F, {z, -0.01F, 1e-4F}},
         count);
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: there is no CUDA device on this machine");
    return 77;
  }
  std::size_t const bytes = count * sizeof(float);
  std::vector<float> host(count);
  std::vector<float> back(count);
  float* device = nullptr;
  check(cudaMalloc(&device, bytes));

  bool all = true;
  for (auto const law : {tacit::direction_law::rademacher, tacit::direction_law::gaussian}) {
    char const* const name = law == tacit::direction_law::gaussian ? "gaussian" : "rademacher";
    tacit::direction const z = tacit::direction_at(law, {7, 3}, count);
    host.assign(count, 0.25F);
    check(cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice));
    step_by(tacit::cuda{}, device, z);  // in the stream, on which the copy below waits
    step_by(tacit::serial{}, host.data(), z);
    check(cudaMemcpy(back.data(), device, bytes, cudaMemcpyDeviceToHost));
    bool const same = std::memcmp(host.data(), back.data(), bytes) == 0;
    all = all && same;
    std::printf("%s: %s\n", name, same ? "the bits of the host" : "OTHER BITS");
  }
  check(cudaFree(device));
  return all ? 0 : 1;
}
