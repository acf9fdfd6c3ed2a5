// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

namespace tacit::detail {

/// Overwrites a secret that is about to die, in a way the compiler may not drop.
inline void wipe(void* secret, std::size_t size) noexcept {
  auto volatile* const bytes = static_cast<unsigned char*>(secret);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = 0;
}

template <class T>
void wipe(T& secret) noexcept {
  static_assert(std::is_trivially_copyable_v<T>);
  wipe(&secret, sizeof(T));
}

/// The whole capacity: behind a text that shrank lies its old end.
inline void wipe(std::string& secret) noexcept {
  secret.resize(secret.capacity());  // allocates nothing
  wipe(secret.data(), secret.size());
}

}  // namespace tacit::detail
