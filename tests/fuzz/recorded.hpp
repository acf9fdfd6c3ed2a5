// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/journal.hpp>

#include "checksummed.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace fuzz {

/// A transcript or a journal: lines, an empty line in the place of their checksum, and what follows. The
/// first byte says which checksums are made right, that of the lines and the last one.
inline std::string recorded(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return {};
  std::string text(text_of(data + 1, size - 1));
  std::size_t const header = text.find("\n\n");
  if (data[0] % 2 == 0 && header != std::string::npos) {
    text = checksummed(text.substr(0, header + 1)) + text.substr(header + 2);
  }
  if (data[0] % 4 < 2) text += tacit::detail::checksum_bytes(text);
  return text;
}

}  // namespace fuzz
