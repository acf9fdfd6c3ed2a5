// SPDX-License-Identifier: Apache-2.0
// A ledger takes bounds, no estimates.
#include <tacit/pac/pac_ledger.hpp>

void charge(tacit::pac_ledger& book, tacit::mi_estimate estimate) {
#ifdef CONTROL
  (void)book.charge(tacit::mi_bound{estimate.value, 1.0});
#else
  (void)book.charge(estimate);
#endif
}
