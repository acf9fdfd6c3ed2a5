// SPDX-License-Identifier: Apache-2.0
//
// core/text_archive: lines that a writer could have written, and lines that none would.

#include <tacit/core/check.hpp>
#include <tacit/core/text_archive.hpp>

#include "checksummed.hpp"

#include <array>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  try {
    tacit::archive_reader in(fuzz::checksummed(fuzz::text_of(data, size)), "fuzz", 1);
    double x = 0.0;
    std::uint64_t n = 0;
    bool flag = false;
    std::string word;
    std::vector<double> list;
    std::array<unsigned, 3> three{};
    in.field("x", x, n);
    in.list("list", list);
    in.field("flag", flag, word);
    in.list("three", three);
    std::vector<std::vector<unsigned>> lists;
    in.optional_list("lists", lists);
    if (in.has_more()) in.field("more", word);
    in.finish();
  } catch (tacit::corrupt_state const&) {
  }
  return 0;
}
