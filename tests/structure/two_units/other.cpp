// SPDX-License-Identifier: Apache-2.0
#include <tacit/tacit.hpp>

tacit::nats elsewhere();

tacit::nats elsewhere() {
  tacit::ledger<tacit::nats> account(tacit::nats(1.0));
  return account.charge(tacit::nats(0.25)).cost();
}
