// SPDX-License-Identifier: Apache-2.0
#include "device.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

#if defined(TACIT_TORCH_CUDA)
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#endif

place place::named(std::string_view name) {
  place out;
  if (name == "cpu") return out;
  if (name == "cuda") name = "cuda:0";
  constexpr std::string_view before = "cuda:";
  std::string_view const digits = name.substr(name.starts_with(before) ? before.size() : 0);
  auto const [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), out.device);
  bool const whole = error == std::errc{} && end == digits.data() + digits.size();
  if (!name.starts_with(before) || !whole || out.device < 0 || out.device > 127) {
    throw std::invalid_argument("device is " + std::string(name) +
                                ", but must be cpu, cuda or cuda:NUMBER");
  }
  return out;
}

#if defined(TACIT_TORCH_CUDA)

namespace {

void require(cudaError_t status, char const* what) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string("cuda: ") + what + ": " + cudaGetErrorString(status));
  }
}

c10::DeviceIndex index_of(place const& where) {
  return static_cast<c10::DeviceIndex>(where.device);
}

}  // namespace

void prepare(place const& where, double bytes) {
  at::set_num_threads(where.threads);
  if (!where.is_cuda()) return;
  // cuBLAS reads it when it is first used: without it its products may differ from run to run.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 1);
  int count = 0;
  require(cudaGetDeviceCount(&count), "devices");
  if (where.device >= count) {
    throw std::runtime_error("there are " + std::to_string(count) + " CUDA devices: number " +
                             std::to_string(where.device) + " is none");
  }
  c10::cuda::set_device(index_of(where));
  std::size_t free = 0;
  std::size_t all = 0;
  require(cudaMemGetInfo(&free, &all), "memory of the device");
  if (bytes > static_cast<double>(free)) {
    throw std::runtime_error("the model is too large for the memory of the CUDA device: " +
                             std::to_string(std::llround(bytes / 1e6)) + " MB, where " +
                             std::to_string(free / 1'000'000) + " are free");
  }
  at::Context& torch = at::globalContext();
  torch.lazyInitDevice(c10::DeviceType::CUDA);
  torch.setDeterministicAlgorithms(true, false);
  torch.setDeterministicFillUninitializedMemory(false);
  torch.setFloat32MatmulPrecision(where.tf32 ? "high" : "highest");
  torch.setSDPUseCuDNN(false);
}

void finish(place const& where) {
  if (where.is_cuda()) c10::cuda::getCurrentCUDAStream(index_of(where)).synchronize();
}

void* stream_of(place const& where) {
  return where.is_cuda() ? c10::cuda::getCurrentCUDAStream(index_of(where)).stream() : nullptr;
}

double peak_device_megabytes(place const& where) {
  if (!where.is_cuda()) return 0.0;
  auto const stats = c10::cuda::CUDACachingAllocator::getDeviceStats(index_of(where));
  return static_cast<double>(stats.allocated_bytes[0].peak) / 1048576.0;  // 0: of all pools
}

#else

void prepare(place const& where, double) {
  at::set_num_threads(where.threads);
  if (where.is_cuda()) {
    throw std::runtime_error("built without CUDA: CMake's -DCUDA=ON builds with it");
  }
}
void finish(place const&) {}
void* stream_of(place const&) { return nullptr; }
double peak_device_megabytes(place const&) { return 0.0; }

#endif
