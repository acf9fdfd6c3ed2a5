// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/device_entries.hpp>
#include <tacit/zo/gpu_runtime.hpp>
#include <tacit/zo/launch.hpp>
#include <tacit/zo/step.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

// Nothing here unless nvcc or hipcc compiles it.
#if defined(__CUDACC__) || defined(__HIP__)

namespace tacit {

namespace detail {

/// A pass whose terms are among the arguments of its kernel.
template <class Pass>
struct with_terms : Pass {
  static constexpr std::size_t most = 64;
  direction_step term[most];
};

template <class Pass>
concept has_terms_of_host = requires(Pass pass) {
  requires std::same_as<decltype(pass.terms), direction_steps>;
};

/// The pass as its kernel has it.
template <class Pass>
[[nodiscard]] __device__ Pass const& within(Pass const& pass) noexcept {
  return pass;
}
template <class Pass>
[[nodiscard]] __device__ Pass within(with_terms<Pass> const& pass) noexcept {
  Pass own = pass;
  own.terms.data = pass.term;
  return own;
}

/// The same pass of one term, which is then a part of it.
template <parameter_storage T>
[[nodiscard]] update<T, direction_step> of_one_term(update<T> const& pass) {
  return {pass.theta, pass.terms[0], pass.first};
}
template <parameter_storage T>
[[nodiscard]] restore_and_update<T, direction_step> of_one_term(restore_and_update<T> const& pass) {
  return {pass.theta, pass.mu, pass.terms[0], pass.first};
}

template <class Pass>
using storage_of = std::remove_pointer_t<decltype(Pass::theta)>;

template <class Pass>
inline constexpr bool moves_groups<with_terms<Pass>> = moves_groups<Pass>;

/// A tensor: where it lies, which entries it has, and the number of the block of threads after its last.
struct device_tensor {
  void* entries;
  std::uint64_t first;
  std::uint64_t count;
  std::uint64_t end;
};

/// As many as the arguments of a kernel have room for. Where two parts of a program are compiled for different room,
/// their kernels have different names.
template <class Pass, std::size_t Bytes = gpu_runtime::argument_bytes>
struct device_tensors {
  static constexpr std::size_t most = (Bytes - sizeof(Pass)) / sizeof(device_tensor);
  std::uint32_t count = 0;
  device_tensor row[most];
};

inline constexpr unsigned device_threads = 256;

/// Entries that a block of threads moves, from a multiple of it on.
template <parameter_storage T>
inline constexpr std::uint64_t device_piece =
    std::uint64_t{device_threads} * device_entries<T>::entries;

/// One piece of one tensor. The pass is the same for all, but for where it lies and begins.
template <class Pass>
__global__ void __launch_bounds__(device_threads)
    over_pieces(TACIT_KERNEL_ARGUMENT Pass pass,
                TACIT_KERNEL_ARGUMENT device_tensors<Pass> tensors) {
  using T = storage_of<Pass>;
  using group = device_entries<T>;
  need_subnormals();
  std::uint32_t low = 0;
  for (std::uint32_t high = tensors.count - 1; low < high;) {
    std::uint32_t const middle = (low + high) / 2;
    if (tensors.row[middle].end > blockIdx.x) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  device_tensor const& tensor = tensors.row[low];
  std::uint64_t const begin = low == 0 ? 0 : tensors.row[low - 1].end;
  std::uint64_t const piece = tensor.first / device_piece<T> + (blockIdx.x - begin);
  std::uint64_t const index = piece * device_piece<T> +
                              std::uint64_t{threadIdx.x / group::threads} * group::per_block +
                              threadIdx.x % group::threads * group::lanes;
  std::uint64_t const skipped = index - tensor.first;  // wraps before the first entry
  T* const theta = static_cast<T*>(tensor.entries);
  bool const whole =
      index >= tensor.first && skipped + group::reach <= tensor.count &&
      reinterpret_cast<std::uintptr_t>(theta + skipped) % sizeof(typename group::vector) == 0;
  // Ends of tensors, and tensors that lie askew, go through memory of the thread.
  alignas(typename group::vector) T own[group::reach];
  auto const each = [&](auto const& use) {
    for (unsigned w = 0; w < group::words; ++w) {
      for (unsigned e = 32 * w; e < 32 * w + group::lanes; ++e) {
        if (skipped + e < tensor.count) use(own[e], theta[skipped + e]);
      }
    }
  };
  decltype(auto) own_pass = within(pass);
  group x(index, shared_quantiles::of(own_pass));
  if (whole) {
    x.load(theta + skipped);
  } else {
    for (T& entry : own) entry = T{};
    each([](T& mine, T const& there) { mine = there; });
    x.load(own);
  }
  apply(own_pass, x);
  if (whole) {
    x.store(theta + skipped);
  } else {
    x.store(own);
    each([](T const& mine, T& there) { there = mine; });
  }
}

/// Any functor, entry by entry.
template <class Pass>
__global__ void __launch_bounds__(device_threads)
    over_entries(TACIT_KERNEL_ARGUMENT Pass pass, std::uint64_t count) {
  need_subnormals();
  std::uint64_t const stride = std::uint64_t{gridDim.x} * blockDim.x;
  std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  decltype(auto) own = within(pass);
  for (; i < count; i += stride) own(static_cast<std::size_t>(i));
}

/// As many terms as the arguments of a kernel have room for.
template <std::size_t Bytes>
struct some_terms {
  static constexpr std::size_t most = Bytes / sizeof(direction_step) - 1;
  std::size_t count;
  direction_step term[most];
};

/// Puts terms into memory of the device. As arguments they are the launch's own: a copy from the host's memory
/// may read it when the stream comes there, or when a graph that has captured it is run.
template <class Terms>
__global__ void __launch_bounds__(device_threads)
    put_terms(TACIT_KERNEL_ARGUMENT Terms terms, direction_step* to) {
  std::size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < terms.count) to[i] = terms.term[i];
}

}  // namespace detail

/// A stream of a device, the present one unless its number is given. Tensors lie in memory that the device reads and
/// writes. A pass takes its place in the stream and is not waited for: what the stream does next finds θ moved, and
/// who reads it otherwise calls `wait` first. Nothing of the host's is read after a call: terms may be gone then, and
/// a graph may capture passes. Tensors of one storage go into one launch, up to 900 of them (27 with hipcc, and on
/// devices before 7.0); no memory is taken for up to 64 directions, and a kernel of its own moves what step.hpp has
/// by 16 bytes a load.
///
/// Functors of others run entry by entry. With `optimise` m and v lie on the device, too: a program keeps them
/// by itself, for an `optimiser_state` is the host's. Compile without -use_fast_math and -ftz=true, by which
/// numbers below 2^-126 become 0: kernels stop with an error then.
/// @throws std::runtime_error with the runtime's own words if a call fails. What fails while a pass runs is
///         reported by a later call, at the latest by `wait`. After either θ may have moved in part: it comes back by
///         `replay` from its start
struct gpu {
  static constexpr bool elsewhere = true;  // what it reads is not the host's
  detail::gpu_runtime::stream stream = nullptr;
  int device = -1;  ///< below 0: the present one

  template <class Pass>
  void operator()(Pass const& pass, std::size_t count) const {
    pass_over<Pass> const one{pass, count};
    (*this)(std::span<pass_over<Pass> const>(&one, 1));
  }

  /// One pass over several tensors.
  template <class Pass>
  void operator()(std::span<pass_over<Pass> const> parts) const {
    if (parts.empty()) return;
    detail::gpu_runtime::on_device const here(device);
    Pass const& pass = parts.front().pass;
    if constexpr (requires { detail::of_one_term(pass); }) {
      if (pass.terms.count == 1) return run(detail::of_one_term(pass), parts);
    }
    if constexpr (detail::has_terms_of_host<Pass>) {
      run_terms(pass, parts);
    } else {
      run(pass, parts);
    }
  }

  /// Returns when all passes are done.
  void wait() const {
    detail::gpu_runtime::on_device const here(device);
    detail::gpu_runtime::require(detail::gpu_runtime::wait(stream), "a pass");
  }

 private:
  // Terms that the host has: as arguments, or in memory of the device.
  template <class Pass>
  void run_terms(Pass const& pass, std::span<pass_over<Pass> const> parts) const {
    using held = detail::with_terms<Pass>;
    std::size_t const count = pass.terms.count;
    std::size_t most = count <= held::most ? count : 0;  // of one kernel
    if constexpr (detail::moves_groups<Pass> && requires { pass.directions; }) {
      most = held::most / pass.directions * pass.directions;  // whole steps
    }
    if (most == 0) return in_memory(pass, parts);
    for (std::size_t from = 0; from < count; from += most) {
      held now{pass, {}};
      now.terms.count = std::min(most, count - from);
      std::copy_n(pass.terms.data + from, now.terms.count, now.term);
      run(now, parts);
    }
  }

  template <class Pass>
  void in_memory(Pass const& pass, std::span<pass_over<Pass> const> parts) const {
    namespace runtime = detail::gpu_runtime;
    std::size_t const bytes = pass.terms.count * sizeof(direction_step);
    if (bytes == 0) return;
    void* room = nullptr;
    runtime::require(runtime::take(&room, bytes, stream), "memory for the terms of a step");
    try {
      auto* const there = static_cast<direction_step*>(room);
      put(pass.terms, there);
      for (auto [part, count] : parts) {
        part.terms.data = there;
        run_entries(part, count);
      }
    } catch (...) {
      (void)runtime::give_back(room, stream);
      throw;
    }
    runtime::require(runtime::give_back(room, stream), "release of memory");
  }

  void put(direction_steps terms, direction_step* to) const {
    using some_terms = detail::some_terms<detail::gpu_runtime::argument_bytes>;
    for (std::size_t from = 0; from < terms.count; from += some_terms::most) {
      some_terms now;
      now.count = std::min(some_terms::most, terms.count - from);
      std::copy_n(terms.data + from, now.count, now.term);
      constexpr unsigned blocks =
          (some_terms::most + detail::device_threads - 1) / detail::device_threads;
      detail::gpu_runtime::launch(detail::put_terms<some_terms>, blocks, detail::device_threads,
                                  stream, now, to + from);
    }
  }

  template <class Pass, class Part>
  void run(Pass const& pass, std::span<pass_over<Part> const> parts) const {
    if constexpr (detail::moves_groups<Pass>) {
      constexpr std::size_t most = detail::device_tensors<Pass>::most;
      for (std::size_t from = 0; from < parts.size(); from += most) {
        run_pieces(pass, parts.subspan(from, std::min(most, parts.size() - from)));
      }
    } else {
      for (auto const& [part, count] : parts) {
        if constexpr (std::same_as<Pass, Part>) {
          run_entries(part, count);  // a lambda cannot be assigned
        } else {
          Pass own = pass;
          static_cast<Part&>(own) = part;
          own.terms.count = pass.terms.count;
          run_entries(own, count);
        }
      }
    }
  }

  template <class Pass, class Part>
  void run_pieces(Pass const& pass, std::span<pass_over<Part> const> parts) const {
    constexpr std::uint64_t piece = detail::device_piece<detail::storage_of<Pass>>;
    detail::device_tensors<Pass> tensors;
    std::uint64_t end = 0;
    for (auto const& [part, count] : parts) {
      if (count == 0) continue;
      end += (part.first + count - 1) / piece - part.first / piece + 1;
      tensors.row[tensors.count++] = {part.theta, part.first, count, end};
    }
    if (end == 0) return;
    detail::gpu_runtime::launch(detail::over_pieces<Pass>, static_cast<unsigned>(end),
                                detail::device_threads, stream, pass, tensors);
  }

  template <class Pass>
  void run_entries(Pass const& pass, std::size_t count) const {
    std::uint64_t const blocks = std::min<std::uint64_t>(
        (count + detail::device_threads - 1) / detail::device_threads, 65535);
    if (blocks == 0) return;
    detail::gpu_runtime::launch(detail::over_entries<Pass>, static_cast<unsigned>(blocks),
                                detail::device_threads, stream, pass, std::uint64_t{count});
  }
};

#if defined(__CUDACC__)
using cuda = gpu;
#else
using hip = gpu;
#endif

}  // namespace tacit

#endif
