// SPDX-License-Identifier: Apache-2.0
//
// A journal: lines, their checksum, and records with a checksum each.

#include <tacit/core/check.hpp>
#include <tacit/zo/journal.hpp>
#include <tacit/zo/transcript.hpp>

#include "recorded.hpp"

#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const text = fuzz::recorded(data, size);
  try {
    tacit::detail::parsed_journal const found = tacit::detail::parse_journal(text);
    if (found.size > text.size()) std::abort();
    if (found.coefficients.size() % found.run.directions != 0) std::abort();
  } catch (tacit::corrupt_state const&) {
  }
  return 0;
}
