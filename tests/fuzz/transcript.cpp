// SPDX-License-Identifier: Apache-2.0
//
// a sealed transcript. A header of lines, its checksum, packed symbols, and the checksum of all.
// The first byte of the input says which checksums are made right.

#include <tacit/core/check.hpp>
#include <tacit/zo/journal.hpp>
#include <tacit/zo/transcript.hpp>

#include "checksummed.hpp"

#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  std::string text(fuzz::text_of(data + 1, size - 1));
  std::size_t const header = text.find("\n\n");  // in place of the line of the checksum
  if (data[0] % 2 == 0 && header != std::string::npos) {
    text = fuzz::checksummed(text.substr(0, header + 1)) + text.substr(header + 2);
  }
  if (data[0] % 4 < 2) text += tacit::detail::checksum_bytes(text);
  try {
    tacit::transcript const run = tacit::transcript::parse(text);
    // One form alone: what is accepted is what would be written.
    if (run.sealed() != text) std::abort();
  } catch (tacit::corrupt_state const&) {
  }
  return 0;
}
