// SPDX-License-Identifier: Apache-2.0
//
// The state of a run of PACZero: refused as corrupt, or a run that can be stored again as the same text.

#include <tacit/core/check.hpp>
#include <tacit/core/private_file.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_run.hpp>

#include "checksummed.hpp"
#include "scratch_file.hpp"

#include <cstdlib>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string const path = fuzz::scratch_file(fuzz::checksummed(fuzz::text_of(data, size)));
  try {
    auto const spent = tacit::saved_run<tacit::paczero<>>::inspect(
        path,
        [](tacit::paczero<> const& run) { return run.spent().value - run.options().budget.value; });
    if (spent > 0.0) std::abort();  // no ledger allows it
  } catch (tacit::corrupt_state const&) {
  }
  return 0;
}
