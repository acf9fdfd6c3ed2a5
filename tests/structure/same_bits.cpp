// SPDX-License-Identifier: Apache-2.0
// Prints a hash of every kernel's output, and fails unless it is the known one. same_bits.py builds it
// by several compilers with several flags; nvcc's build runs the kernels on the device.
#include <tacit/zo/launch.hpp>
#include <tacit/zo/launch_gpu.hpp>
#include <tacit/zo/optimise.hpp>
#include <tacit/zo/optimiser_state.hpp>
#include <tacit/zo/quantised_blocks.hpp>
#include <tacit/zo/stochastic.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <vector>

using namespace tacit;

namespace {

constexpr std::uint64_t known = 0xE0700E3C375D482B;
constexpr std::uint64_t known_optimisers = 0x49DD0F9F43B2E2A8;
constexpr std::uint64_t known_roundings = 0xAF9D5AAA2F7B8516;
constexpr std::uint64_t known_rounded_runs = 0xDD057536BD5F8BCD;
constexpr std::uint64_t known_blocks = 0x738C21D84CA900B9;
constexpr std::uint64_t known_numbers = 0x7C41ED78D4D718FD;

constexpr direction_law laws[] = {direction_law::rademacher, direction_law::gaussian,
                                  direction_law::sphere};
constexpr std::size_t count = 20'000;  // two pieces of a launcher
constexpr std::uint64_t first = 77;

// FNV-1a over 32-bit words.
struct digest {
  std::uint64_t value = 0xCBF29CE484222325;

  void add(std::uint32_t word) { value = (value ^ word) * 0x100000001B3; }
  void add(float x) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    add(bits);
  }
  void add(half x) { add(std::uint32_t{x.bits}); }
  void add(bfloat16 x) { add(std::uint32_t{x.bits}); }
  template <class T>
  void add(std::vector<T> const& all) {
    for (T const& x : all) add(x);
  }
  // A NaN stays a NaN; which one is the processor's affair.
  template <class T>
  void add_numbers(std::vector<T> const& all) {
    for (T const& x : all) {
      if (to_float(x) == to_float(x)) {
        add(x);
      } else {
        add(0x7FC00000U);
      }
    }
  }
};

#if defined(__CUDACC__)
// A vector's entries on the device, until they are taken back.
template <class T>
T* on_device(std::vector<T> const& from) {
  T* device = nullptr;
  detail::gpu_runtime::require(cudaMalloc(&device, from.size() * sizeof(T)), "memory");
  detail::gpu_runtime::require(
      cudaMemcpy(device, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  return device;
}
template <class T>
void take_back(std::vector<T>& to, T* device) {
  detail::gpu_runtime::require(
      cudaMemcpy(to.data(), device, to.size() * sizeof(T), cudaMemcpyDeviceToHost), "copy");
  detail::gpu_runtime::require(cudaFree(device), "free");
}
#endif

template <class T, class Make>
void run(std::vector<T>& theta, Make const& make) {
#if defined(__CUDACC__)
  T* const device = on_device(theta);
  gpu{}(make(device), theta.size());
  take_back(theta, device);
#else
  openmp{}(make(theta.data()), theta.size());
#endif
}

// Magnitudes from 2^-17 to 2, of both signs.
template <class T>
std::vector<T> start() {
  std::vector<T> theta(count);
  std::uint32_t word = 1;
  for (T& x : theta) {
    word = word * 1664525 + 1013904223;
    float const magnitude = static_cast<float>(word >> 8) * 0x1p-23F;
    float const scale = 1.0F / static_cast<float>(1U << (word >> 4 & 15));
    x = rounded_to<T>((word & 1) != 0 ? -magnitude * scale : magnitude * scale);
  }
  return theta;
}

template <class T>
void add_passes(digest& all, direction_law law) {
  float const mu = 1e-2F;
  std::vector<T> theta = start<T>();
  std::vector<direction_step> terms;
  for (float const step : {0.03F, 0.02F, -0.01F, -0.02F, 0.05F, 0.04F}) {
    std::uint64_t const k = terms.size();
    terms.push_back(
        {direction_at(law, {0x123456789ABCDEF, k}, 1000), step, k % 3 == 0 ? 1e-3F : 0.0F});
  }
  direction_steps const three{terms.data(), 3};
  direction const z = terms[2].z;
  auto const step = [&](auto const& make) {
    run(theta, make);
    all.add(theta);
  };
  perturb<T> const there{nullptr, z, mu, first};
  step([&](T* x) { return perturb<T>{x, z, there.amount, first}; });
  step([&](T* x) { return perturb<T>{x, z, there.flip().amount, first}; });
  step([&](T* x) { return perturb<T>{x, z, there.restore().amount, first}; });
  step([&](T* x) { return update<T, direction_step>{x, terms[0], first}; });
  step([&](T* x) { return update<T, direction_step>{x, terms[1], first}; });
  step([&](T* x) { return update<T>{x, three, first}; });
  step([&](T* x) { return restore_and_update<T>{x, mu, three, first}; });
  step([&](T* x) { return restore_and_update<T>{x, mu, {terms.data() + 3, 1}, first}; });
  step([&](T* x) { return retrace<T>{x, mu, {terms.data(), terms.size()}, 3, first}; });
}

#if !defined(__CUDACC__)
// Every number that 16 bits can hold, as the upper ones of a float too: infinities, subnormals, zeros of
// both signs, with and without NaNs among them; and steps that overflow or vanish.
template <class T>
void add_every_number(digest& all, direction_law law) {
  for (bool const nans : {false, true}) {
    std::vector<T> numbers;
    for (std::uint32_t word = 0; word < 0x10000; ++word) {
      T x{};
      std::uint32_t const bits = sizeof x == 2 ? word : word << 16 | word;
      std::memcpy(&x, &bits, sizeof x);
      float const value = to_float(x);
      if (nans || value == value) numbers.push_back(x);
    }
    for (float const size : {1e-2F, 3e4F, 1e37F, 1e-8F, 1e-30F, 1e-43F}) {
      std::vector<direction_step> terms;
      for (float const part : {0.3F, -0.2F, 0.0F, -0.07F, 0.3F}) {
        terms.push_back({direction_at(law, {size < 1.0F, terms.size()}, 1000), part * size});
      }
      std::vector<T> theta = numbers;
      openmp{}(perturb<T>{theta.data(), terms[0].z, size}, theta.size());
      all.add_numbers(theta);
      theta = numbers;
      openmp{}(update<T>{theta.data(), {terms.data(), terms.size()}}, theta.size());
      all.add_numbers(theta);
      terms[1].decay = 1e-3F;
      openmp{}(restore_and_update<T>{theta.data(), size, {terms.data(), 3}}, theta.size());
      all.add_numbers(theta);
      theta = numbers;
      openmp{}(retrace<T>{theta.data(), size, {terms.data(), terms.size()}, 1}, theta.size());
      all.add_numbers(theta);
    }
  }
}
#endif

// Blocks of every scale that a half can be, and entries anywhere between their ends, on their way there and back and
// through updates by one sign, with a decay, and by several terms; among these some that vanish, and some beyond any range.
template <class B>
void add_blocks(digest& all, direction_law law) {
  constexpr float mu = 0x1.8p-9F;
  std::vector<B> theta(8192);
  std::uint32_t word = 1;
  std::uint16_t scale = 0;
  for (B& block : theta) {
    block.scale.bits = scale;
    scale = static_cast<std::uint16_t>(scale + 8);
    for (std::size_t j = 0; j < block_entries; ++j) {
      word = word * 1664525 + 1013904223;
      block.set(j, static_cast<int>(word >> 24) % (B::most + 1) * ((word >> 8 & 1) != 0 ? -1 : 1));
    }
  }
  std::vector<direction_step> terms;
  for (float const step : {0.003F, -0.02F, 0.5F, -1e-7F, 1e30F}) {
    terms.push_back(
        {{law, {0x123456789ABCDEF, terms.size()}}, step, terms.size() == 1 ? 1e-3F : 0.0F});
  }
  auto const step = [&](auto const& make) {
    run(theta, make);
    for (B const& block : theta) {
      all.add(block.scale);
      for (std::size_t j = 0; j < block_entries; ++j) all.add(std::uint32_t(block.get(j)));
    }
  };
  stream_id const draws = rounding_of(11, 5);
  for (std::uint64_t const origin : {std::uint64_t{0}, first}) {
    direction const z = terms[2].z;
    step([&](B* x) { return quantised_perturb<B>{x, z, mu, 1, origin}; });
    step([&](B* x) { return quantised_perturb<B>{x, z, mu, -2, origin}; });
    for (direction_step const& term : terms) {
      step([&](B* x) { return quantised_update<B, direction_step>{x, mu, term, draws, origin}; });
    }
    step([&](B* x) {
      return quantised_restore_and_update<B>{x, mu, {terms.data(), 3}, draws, origin};
    });
  }
}

// Momentum, Adam and AdamW, with θ, m and v after each step.
template <class T>
void add_optimisers(digest& all, direction_law law) {
  std::vector<direction_step> terms;
  for (float const y : {0.7F, -1.3F, 0.02F}) {
    terms.push_back({direction_at(law, {0x123456789ABCDEF, terms.size()}, 1000), y});
  }
  for (optimiser_rule const rule :
       {optimiser_rule::momentum, optimiser_rule::adam, optimiser_rule::adamw}) {
    optimiser_state clock({.rule = rule, .momentum = 0.7, .beta2 = 0.99, .epsilon = 1e-6}, 0);
    std::vector<T> theta = start<T>();
    std::vector<float> m(count, 0.0F);
    std::vector<float> v(count, 0.0F);
    for (int t = 0; t < 5; ++t) {
      optimiser_step const by = t == 2 ? optimiser_step{} : clock.next(0.01, 0.03);
      direction_steps const used{terms.data(), t == 3 ? std::size_t{1} : std::size_t{3}};
#if defined(__CUDACC__)
      moments const at{on_device(m), on_device(v)};
      run(theta, [&](T* x) { return optimise<T>{x, at, used, by, first}; });
      take_back(m, at.first);
      take_back(v, at.second);
#else
      run(theta, [&](T* x) { return optimise<T>{x, {m.data(), v.data()}, used, by, first}; });
#endif
      all.add(theta);
      all.add(m);
      all.add(v);
    }
  }
}

// Updates rounded at random, of one term and of several.
template <class T>
void add_roundings(digest& all, direction_law law) {
  std::vector<direction_step> terms;
  for (float const step : {0.003F, -0.002F, 0.001F}) {
    terms.push_back({direction_at(law, {0x123456789ABCDEF, terms.size()}, 1000), step,
                     terms.empty() ? 1e-3F : 0.0F});
  }
  std::vector<T> theta = start<T>();
  for (std::size_t k = 1; k <= terms.size(); ++k) {
    stream_id const draws{.seed = 11, .step = k, .use = purpose::rounding};
    run(theta, [&](T* x) { return stochastic_update<T>{x, {terms.data(), k}, draws, first}; });
    all.add(theta);
  }
}

// The last move back and such an update in one pass, and steps of a recorded run.
template <class T>
void add_rounded_runs(digest& all, direction_law law) {
  std::vector<direction_step> terms;
  for (float const step : {0.003F, -0.002F, 0.001F, 0.0F, 0.0F, 0.0F, 0.004F, 0.0F, -0.001F}) {
    terms.push_back({direction_at(law, {0x123456789ABCDEF, terms.size()}, 1000), step,
                     terms.empty() ? 1e-3F : 0.0F});
  }
  stream_id const draws = rounding_of(11, 5);
  std::vector<T> theta = start<T>();
  for (std::size_t const k : {std::size_t{1}, std::size_t{3}}) {
    run(theta, [&](T* x) {
      return restore_and_stochastic_update<T>{x, 1e-2F, {terms.data(), k}, draws, first};
    });
    all.add(theta);
    run(theta, [&](T* x) {
      return stochastic_retrace<T>{x, 1e-2F, {terms.data(), terms.size()}, k, draws, first};
    });
    all.add(theta);
  }
}

void add_directions(digest& all, direction_law law) {
  direction const z = direction_at(law, {~std::uint64_t{7}, 1ULL << 40}, 3000);
  detail::direction_block block;
  for (std::uint64_t const origin : {0ULL, 1ULL << 33, (1ULL << 56) - 4096}) {
    for (std::uint64_t i = 0; i < 4096; i += 512) {
      float const* const entries = block.load(z, origin + i, 512);
      for (std::uint64_t j = 0; j < 512; ++j) all.add(entries[j]);
      all.add(z(origin + i + 5));
    }
  }
}

}  // namespace

int main() {
#if defined(__CUDACC__)
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: there is no CUDA device on this machine");
    return 77;
  }
#endif
  digest all;
  for (direction_law const law : laws) {
    add_directions(all, law);
    add_passes<float>(all, law);
    add_passes<half>(all, law);
    add_passes<bfloat16>(all, law);
  }
  digest optimisers;
  for (direction_law const law : laws) {
    add_optimisers<float>(optimisers, law);
    add_optimisers<half>(optimisers, law);
    add_optimisers<bfloat16>(optimisers, law);
  }
  digest roundings;
  for (direction_law const law : laws) {
    add_roundings<float>(roundings, law);
    add_roundings<half>(roundings, law);
    add_roundings<bfloat16>(roundings, law);
  }
  digest rounded_runs;
  for (direction_law const law : laws) {
    add_rounded_runs<float>(rounded_runs, law);
    add_rounded_runs<half>(rounded_runs, law);
    add_rounded_runs<bfloat16>(rounded_runs, law);
  }
  digest blocks;
  for (direction_law const law : {direction_law::rademacher, direction_law::gaussian}) {
    add_blocks<q8_0>(blocks, law);
    add_blocks<q4_0>(blocks, law);
  }
  bool good = all.value == known && optimisers.value == known_optimisers &&
              roundings.value == known_roundings && rounded_runs.value == known_rounded_runs &&
              blocks.value == known_blocks;
  std::printf("%016llx %016llx %016llx %016llx %016llx", static_cast<unsigned long long>(all.value),
              static_cast<unsigned long long>(optimisers.value),
              static_cast<unsigned long long>(roundings.value),
              static_cast<unsigned long long>(rounded_runs.value),
              static_cast<unsigned long long>(blocks.value));
#if !defined(__CUDACC__)
  digest numbers;
  for (direction_law const law : laws) {
    add_every_number<float>(numbers, law);
    add_every_number<half>(numbers, law);
    add_every_number<bfloat16>(numbers, law);
  }
  good = good && numbers.value == known_numbers;
  std::printf(" %016llx", static_cast<unsigned long long>(numbers.value));
#endif
  std::puts("");
  return good ? 0 : 1;
}
