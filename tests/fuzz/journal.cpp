// SPDX-License-Identifier: Apache-2.0
//
// a journal. A header of lines, its checksum, and records with a checksum each.
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
    tacit::detail::parsed_journal const found = tacit::detail::parse_journal(text);
    if (found.size > text.size()) std::abort();
    if (found.coefficients.size() % found.run.directions != 0) std::abort();
  } catch (tacit::corrupt_state const&) {
  }
  return 0;
}
