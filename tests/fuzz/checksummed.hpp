// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/number_text.hpp>
#include <tacit/core/text_archive.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fuzz {

inline std::string_view text_of(std::uint8_t const* data, std::size_t size) {
  return {reinterpret_cast<char const*>(data), size};
}

/// The lines closed by their right checksum: no mutation finds that by itself, and all that is behind it
/// would stay unseen.
inline std::string checksummed(std::string_view lines) {
  std::string text(lines);
  std::uint64_t const sum = tacit::detail::checksum(text);
  return text + "checksum " + tacit::detail::to_text(sum) + '\n';
}

}  // namespace fuzz
