// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace support {

/// Whether this build is sanitised, and so tens of times slower: long loops take fewer cases.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitised = true;
#elif defined(__has_feature)
inline constexpr bool sanitised = __has_feature(address_sanitizer);
#else
inline constexpr bool sanitised = false;
#endif

}  // namespace support
