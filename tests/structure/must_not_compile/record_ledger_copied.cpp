// SPDX-License-Identifier: Apache-2.0
// A copy of a ledger would spend the same budget again.
#include <tacit/pac/record_ledger.hpp>

#include <utility>

tacit::record_ledger twin(tacit::record_ledger& first);
tacit::record_ledger twin(tacit::record_ledger& first) {
#ifdef CONTROL
  return std::move(first);
#else
  return first;
#endif
}
