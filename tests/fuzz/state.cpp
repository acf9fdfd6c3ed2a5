// SPDX-License-Identifier: Apache-2.0
//
// The state of a run of PACZero: refused as corrupt, or a run within its budget. Its summary takes no memory
// that the file does not; the run itself takes what a run of its size takes, and is made of small ones.

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
  using saved = tacit::saved_run<tacit::paczero<>>;
  try {
    auto const [run, about] = saved::summary(path);
    if (run.candidates.records > 10'000) return 0;
    saved::inspect(path, [](tacit::paczero<> const& its) {
      using enum tacit::ledger_kind;
      tacit::ledger_kind const kind = its.options().ledger;
      double const spent = (kind == subset ? its.spent() : its.spent_worst_record()).value;
      if (kind != pathwise && spent > its.options().budget.value) std::abort();
      for (double const of_group : its.spent_by_group()) {
        if (!(of_group <= its.options().group_budget.value)) std::abort();
      }
    });
  } catch (tacit::corrupt_state const&) {
  }
  return 0;
}
