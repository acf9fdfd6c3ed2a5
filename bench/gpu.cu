// SPDX-License-Identifier: Apache-2.0
//
//     nvcc -std=c++20 -O3 -arch=native -I include bench/gpu.cu -o bench_gpu && ./bench_gpu gpu.json
//
// Passes over parameters on a device, beside a copy on the device of as many bytes; and the steps of models as
// large as OPT's, tensor by tensor. Exits 77 where there is no device. Built and run by tools/gpu.sh.

#include <tacit/zo/launch_gpu.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/two_point.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace tacit;

void check(cudaError_t status) { detail::gpu_runtime::require(status, "benchmark"); }

template <class Work>
double milliseconds_of(Work const& work) {
  gpu{}.wait();
  auto const start = std::chrono::steady_clock::now();
  work();
  gpu{}.wait();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

/// Milliseconds of one call, of `calls` in a row: the median of nine such times, after one that does not count.
template <class Work>
double median_of(int calls, Work const& work) {
  std::vector<double> times;
  for (int i = 0; i < 10; ++i) {
    double const all = milliseconds_of([&] {
      for (int n = 0; n < calls; ++n) work();
    });
    if (i > 0) times.push_back(all / calls);
  }
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  return times[4];
}

/// The device's memory that is in use, in MB.
double used_megabytes() {
  std::size_t unused = 0;
  std::size_t all = 0;
  check(cudaMemGetInfo(&unused, &all));
  return static_cast<double>(all - unused) * 1e-6;
}

class report {
 public:
  explicit report(char const* path) : out_(std::fopen(path, "w")) {
    if (out_ == nullptr) throw std::runtime_error(std::string("cannot write ") + path);
    cudaDeviceProp card{};
    check(cudaGetDeviceProperties(&card, 0));
    std::fprintf(out_, "{\"card\": \"%s\", \"toolkit\": \"%d.%d\"", card.name,
                 CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  }
  report(report const&) = delete;
  report& operator=(report const&) = delete;
  ~report() {
    std::fputs("}\n", out_);
    std::fclose(out_);
  }

  void add(std::string const& name, double value) const {
    std::fprintf(out_, ",\n \"%s\": %.6g", name.c_str(), value);
    std::fflush(out_);
    std::printf("%-60s %.6g\n", name.c_str(), value);
  }

 private:
  std::FILE* out_;
};

constexpr std::size_t bytes = std::size_t{1} << 30;  // of the parameters

/// A pass of as many bytes, with next to no arithmetic.
__global__ void xor_all(uint4* data, std::size_t count) {
  std::size_t const i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  uint4 x = data[i];
  x.x ^= 1, x.y ^= 1, x.z ^= 1, x.w ^= 1;
  data[i] = x;
}

template <class T>
void passes(report const& to, T* theta, std::string const& storage) {
  constexpr std::size_t count = bytes / sizeof(T);
  gpu const launch;
  for (auto const& [law, name] : {std::pair{direction_law::rademacher, "rademacher"},
                                  {direction_law::gaussian, "gaussian"}}) {
    std::string const of = std::string("/") + name + "/" + storage;
    auto const z = [law = law](std::uint64_t step) {
      return direction{law, {.seed = 1, .step = step}};
    };
    std::vector<direction_step> terms;
    for (std::uint64_t k = 0; k < 32; ++k) terms.push_back({z(k), k % 2 == 0 ? 1e-3F : -1e-3F});
    direction_step const decaying{z(1), 1e-3F, 1e-6F};
    auto const timed = [&](std::string const& what, int calls, auto const& pass) {
      to.add(what + of, median_of(calls, [&] { launch(pass, count); }));
    };
    timed("perturb", 10, perturb{theta, z(0), 1e-3F});
    timed("restore_and_update", 10,
          restore_and_update{theta, 1e-3F, direction_steps{terms.data(), 1}});
    timed("restore_and_update_decaying", 10,
          restore_and_update{theta, 1e-3F, direction_steps{&decaying, 1}});
    timed("update_by_4", 5, update{theta, direction_steps{terms.data(), 4}});
    timed("replay_32_steps", 1, retrace{theta, 1e-3F, direction_steps{terms.data(), 32}, 1});
  }
}

/// OPT's tensors: how many parameters each has.
std::vector<std::size_t> shapes_of_opt(std::size_t layers, std::size_t width) {
  std::vector<std::size_t> sizes{50272 * width, 2050 * width};
  for (std::size_t l = 0; l < layers; ++l) {
    for (int n = 0; n < 4; ++n) sizes.insert(sizes.end(), {width * width, width});
    sizes.insert(sizes.end(), {width, width, width, width});  // two norms
    sizes.insert(sizes.end(), {4 * width * width, 4 * width, 4 * width * width, width});
  }
  sizes.insert(sizes.end(), {width, width});
  return sizes;
}

void step_of(report const& to, std::string const& model, std::size_t layers, std::size_t width) {
  std::vector<std::size_t> const sizes = shapes_of_opt(layers, width);
  std::vector<tensor> tensors;
  std::vector<void*> memory;
  std::size_t all = 0;
  for (std::size_t const size : sizes) {
    void* room = nullptr;
    check(cudaMalloc(&room, size * sizeof(bfloat16)));
    check(cudaMemset(room, 0, size * sizeof(bfloat16)));
    memory.push_back(room);
    tensors.push_back({.entries = std::span<bfloat16>(static_cast<bfloat16*>(room), size)});
    all += size;
  }
  parameters const theta(std::move(tensors));
  double const before = used_megabytes();
  gpu const launch;
  for (auto const& [law, name] : {std::pair{direction_law::rademacher, "rademacher"},
                                  {direction_law::gaussian, "gaussian"}}) {
    for (std::size_t const directions : {1, 4}) {
      std::vector<direction_step> terms;
      for (std::uint64_t k = 0; k < directions; ++k) {
        terms.push_back({{law, {.seed = 1, .step = k}}, 1e-3F});
      }
      to.add("step/" + std::string(name) + "/" + model + "/" + std::to_string(directions),
             median_of(1, [&] {
               for (std::size_t k = 0; k < directions; ++k) {
                 if (k > 0) perturb_all(theta, terms[k - 1].z, 1e-2F, launch);
                 perturb_all(theta, terms[k].z, 1e-2F, launch);
                 perturb_all(theta, terms[k].z, -2e-2F, launch);
               }
               restore_and_update_all(theta, 1e-2F, {terms.data(), directions}, launch);
             }));
    }
  }
  to.add("memory_over_parameters/" + model, used_megabytes() - before);
  to.add("tensors/" + model, static_cast<double>(sizes.size()));
  to.add("parameters/" + model, static_cast<double>(all));
  for (void* room : memory) check(cudaFree(room));
}

}  // namespace

int main(int count, char const* const* arguments) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: there is no CUDA device on this machine");
    return 77;
  }
  if (count != 2) {
    std::fputs("usage: bench_gpu OUTPUT.json\n", stderr);
    return 2;
  }
  try {
    report const to(arguments[1]);
    void* theta = nullptr;
    void* other = nullptr;
    check(cudaMalloc(&theta, bytes));
    check(cudaMalloc(&other, bytes));
    check(cudaMemset(theta, 0, bytes));
    to.add("copy", median_of(10, [&] {
             check(cudaMemcpyAsync(other, theta, bytes, cudaMemcpyDeviceToDevice));
           }));
    to.add("read_modify_write", median_of(10, [&] {
             constexpr std::size_t vectors = bytes / sizeof(uint4);
             xor_all<<<vectors / 256, 256>>>(static_cast<uint4*>(theta), vectors);
           }));
    check(cudaMemset(theta, 0, bytes));
    to.add("bytes", static_cast<double>(bytes));
    passes(to, static_cast<float*>(theta), "float");
    passes(to, static_cast<half*>(theta), "half");
    passes(to, static_cast<bfloat16*>(theta), "bfloat16");
    direction const z{direction_law::rademacher, {.seed = 1}};
    to.add("launch", median_of(100, [&] {
             gpu{}(perturb{static_cast<float*>(theta), z, 1e-3F}, 1);
           }));
    check(cudaFree(theta));
    check(cudaFree(other));
    step_of(to, "opt-1.3b", 24, 2048);
    step_of(to, "opt-13b", 40, 5120);
    return 0;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
