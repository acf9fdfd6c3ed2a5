// SPDX-License-Identifier: Apache-2.0
//
//     nvcc -std=c++20 -O3 -I include examples/kernels/cuda.cu -o kernels_cuda
//
// A step on a GPU, by tacit's launcher, beside the same step on the host: the same bits. Exits 77 where
// there is no device. Then how fast a pass is, as a share of a copy on the device.

#include <tacit/zo/launch.hpp>
#include <tacit/zo/launch_cuda.hpp>

#include <cstdio>
#include <cstring>
#include <vector>

namespace {

constexpr std::size_t count = std::size_t{1} << 26;

void check(cudaError_t status) { tacit::detail::require_cuda(status, "example"); }

template <class Launcher>
void step_by(Launcher const& launch, float* theta, tacit::direction z) {
  tacit::perturb<float> const there{theta, z, 1e-3F};
  launch(there, count);
  launch(there.flip(), count);
  launch(tacit::restore_and_update<float, tacit::direction_step>{theta, 1e-3F, {z, -0.01F, 1e-4F}},
         count);
}

/// Milliseconds of one call of `work`, the mean of ten after one.
template <class Work>
float milliseconds(Work const& work) {
  work();
  cudaEvent_t start;
  cudaEvent_t stop;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&stop));
  check(cudaEventRecord(start));
  for (int i = 0; i < 10; ++i) work();
  check(cudaEventRecord(stop));
  check(cudaEventSynchronize(stop));
  float total = 0.0F;
  check(cudaEventElapsedTime(&total, start, stop));
  check(cudaEventDestroy(start));
  check(cudaEventDestroy(stop));
  return total / 10.0F;
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
  float* other = nullptr;
  check(cudaMalloc(&device, bytes));
  check(cudaMalloc(&other, bytes));
  float const copy =
      milliseconds([&] { check(cudaMemcpyAsync(other, device, bytes, cudaMemcpyDeviceToDevice)); });
  std::printf("copy on the device: %.2f ms for 2^26 floats\n", static_cast<double>(copy));

  bool all = true;
  for (auto const law : {tacit::direction_law::rademacher, tacit::direction_law::gaussian}) {
    char const* const name = law == tacit::direction_law::gaussian ? "gaussian" : "rademacher";
    tacit::direction const z = tacit::direction_at(law, {7, 3}, count);
    host.assign(count, 0.25F);
    check(cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice));
    step_by(tacit::cuda{}, device, z);
    step_by(tacit::serial{}, host.data(), z);
    check(cudaMemcpy(back.data(), device, bytes, cudaMemcpyDeviceToHost));
    bool const same = std::memcmp(host.data(), back.data(), bytes) == 0;
    all = all && same;
    float const pass = milliseconds([&] {
      tacit::cuda{}(tacit::perturb<float>{device, z, 1e-3F}, count);
    });
    std::printf("%s: %s; a pass %.2f ms, %.0f %% of the copy's speed\n", name,
                same ? "the bits of the host" : "OTHER BITS", static_cast<double>(pass),
                static_cast<double>(100.0F * copy / pass));
  }
  check(cudaFree(device));
  check(cudaFree(other));
  return all ? 0 : 1;
}
