// SPDX-License-Identifier: Apache-2.0
//
// A schedule, from its text to the events that an accountant is given.

#include "scratch_file.hpp"
#include "tacit/plan.hpp"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const path = fuzz::scratch_file({reinterpret_cast<char const*>(data), size});
  try {
    calculator::plan const run = calculator::read_schedule(path, std::nullopt);
    if (run.releases.empty() || run.steps() == 0) std::abort();
  } catch (calculator::bad_input const&) {
  }
  return 0;
}
