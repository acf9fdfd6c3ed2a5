// SPDX-License-Identifier: Apache-2.0
// Only a ledger mints a receipt.
#include <tacit/core/ledger.hpp>
#include <tacit/core/units.hpp>

tacit::receipt<tacit::nats> pay(tacit::ledger<tacit::nats>& account);
tacit::receipt<tacit::nats> pay(tacit::ledger<tacit::nats>& account) {
  auto paid = account.charge(tacit::nats(0.1));
#ifdef CONTROL
  return paid;
#else
  return tacit::receipt<tacit::nats>(paid.cost());
#endif
}
