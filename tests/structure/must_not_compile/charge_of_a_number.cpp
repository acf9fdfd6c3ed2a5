// SPDX-License-Identifier: Apache-2.0
// A ledger of nats is not charged a plain number.
#include <tacit/core/ledger.hpp>
#include <tacit/core/units.hpp>

tacit::nats pay(tacit::ledger<tacit::nats>& account);
tacit::nats pay(tacit::ledger<tacit::nats>& account) {
#ifdef CONTROL
  return account.charge(tacit::nats(0.1)).cost();
#else
  return account.charge(0.1).cost();
#endif
}
