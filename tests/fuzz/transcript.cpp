// SPDX-License-Identifier: Apache-2.0
//
// A sealed transcript: lines, their checksum, packed symbols, and the checksum of all.

#include <tacit/core/check.hpp>
#include <tacit/zo/journal.hpp>
#include <tacit/zo/transcript.hpp>

#include "recorded.hpp"

#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const text = fuzz::recorded(data, size);
  try {
    tacit::transcript const run = tacit::transcript::parse(text);
    // One form alone: what is accepted is what would be written.
    if (run.sealed() != text) std::abort();
  } catch (tacit::corrupt_state const&) {
  }
  return 0;
}
