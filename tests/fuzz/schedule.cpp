// SPDX-License-Identifier: Apache-2.0
//
// A schedule, from its text to the events that an accountant is given.

#include "tacit/plan.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static std::string const path = [] {
    std::string name = (std::filesystem::temp_directory_path() / "tacit_fuzz_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    return name + "/schedule";
  }();
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<char const*>(data), static_cast<std::streamsize>(size));
  try {
    calculator::plan const run = calculator::read_schedule(path, std::nullopt);
    if (run.releases.empty() || run.steps() == 0) std::abort();
  } catch (calculator::bad_input const&) {
  }
  return 0;
}
