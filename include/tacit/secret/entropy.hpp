// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/windows.hpp>

#if defined(_WIN32)
#include <bcrypt.h>
#else
#include <sys/random.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <system_error>

namespace tacit::detail {

/// Fills `bytes` from `source(pointer, size)`, which answers like getrandom: with the number of bytes
/// written, fewer than asked perhaps, or −1 and errno. An interrupted call is repeated; nothing but
/// full success returns.
template <class Source>
void fill(std::span<std::byte> bytes, Source&& source) {
  while (!bytes.empty()) {
    auto const got = source(bytes.data(), bytes.size());
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      throw std::system_error(got == 0 ? EIO : errno, std::generic_category(),
                              "secret_stream: the operating system gave no randomness");
    }
  }
}

/// A source for `fill`: the operating system's generator (getrandom, which waits until the system is
/// seeded; BCryptGenRandom; getentropy).
[[nodiscard]] inline std::ptrdiff_t system_entropy(std::byte* to, std::size_t size) noexcept {
#if defined(_WIN32)
  auto const part = static_cast<ULONG>(std::min(size, std::size_t{1} << 20));
  auto const status = ::BCryptGenRandom(nullptr, reinterpret_cast<UCHAR*>(to), part,
                                        BCRYPT_USE_SYSTEM_PREFERRED_RNG);
  if (status >= 0) return static_cast<std::ptrdiff_t>(part);
  errno = EIO;
  return -1;
#elif defined(__linux__)
  return ::getrandom(to, size, 0);
#else
  std::size_t const part = std::min(size, std::size_t{256});  // the most that getentropy gives
  return ::getentropy(to, part) == 0 ? static_cast<std::ptrdiff_t>(part) : -1;
#endif
}

}  // namespace tacit::detail
