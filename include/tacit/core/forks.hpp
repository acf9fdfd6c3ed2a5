// SPDX-License-Identifier: Apache-2.0
#pragma once

#if __has_include(<pthread.h>) && !defined(_WIN32) && !defined(__EMSCRIPTEN__)
#include <pthread.h>
#define TACIT_HAS_FORK 1
#endif

#include <atomic>
#include <cstdint>
#include <system_error>

/// Whether the process was forked, at the cost of a load, where the process id costs a system call: a stream
/// of secret words must not exist twice.

namespace tacit::detail {

/// The number of forks between the first process and this one, plus 1; counted once `watch_forks` was called.
inline constinit std::atomic<std::uint64_t> generation = 1;

[[nodiscard]] inline std::uint64_t current_generation() noexcept {
  return generation.load(std::memory_order_relaxed);
}

/// @throws std::system_error if the system refuses the handler
inline void watch_forks() {
#if defined(TACIT_HAS_FORK)
  static int const failed = ::pthread_atfork(
      nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  if (failed != 0) throw std::system_error(failed, std::generic_category(), "pthread_atfork");
#endif
}

}  // namespace tacit::detail

#undef TACIT_HAS_FORK
