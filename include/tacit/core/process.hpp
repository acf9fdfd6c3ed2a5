// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(_WIN32)
#include <process.h>
#else
#include <unistd.h>
#endif

#include <cstdint>

/// Which process this is. Whatever must not exist twice, such as a budget, is checked against it before use,
/// because fork() copies it.

namespace tacit::detail {

[[nodiscard]] inline std::int64_t process_id() noexcept {
#if defined(_WIN32)
  return ::_getpid();
#else
  return ::getpid();
#endif
}

}  // namespace tacit::detail
