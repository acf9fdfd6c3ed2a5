// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tacit::detail {

/// std::bit_cast, which libc++ before 14 lacks.
template <class To, class From>
[[nodiscard]] constexpr To bit_cast(From const& from) noexcept {
  return __builtin_bit_cast(To, from);
}

}  // namespace tacit::detail
