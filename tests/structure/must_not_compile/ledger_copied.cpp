// SPDX-License-Identifier: Apache-2.0
// A copy of a ledger would spend the same budget again.
#include <tacit/core/ledger.hpp>
#include <tacit/core/units.hpp>

#include <utility>

tacit::ledger<tacit::nats> twin(tacit::ledger<tacit::nats>& first);
tacit::ledger<tacit::nats> twin(tacit::ledger<tacit::nats>& first) {
#ifdef CONTROL
  return std::move(first);
#else
  return first;
#endif
}
