// SPDX-License-Identifier: Apache-2.0
// A ledger of nats is not charged in (epsilon, delta).
#include <tacit/core/ledger.hpp>
#include <tacit/core/units.hpp>

tacit::nats pay(tacit::ledger<tacit::nats>& account, tacit::approx_dp spent);
tacit::nats pay(tacit::ledger<tacit::nats>& account, tacit::approx_dp spent) {
#ifdef CONTROL
  return account.charge(tacit::nats(spent.epsilon)).cost();
#else
  return account.charge(spent).cost();
#endif
}
