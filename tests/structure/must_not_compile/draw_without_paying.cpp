// SPDX-License-Identifier: Apache-2.0
// Only `pay` makes a paid channel.
#include <tacit/mechanism/paid_release.hpp>

using namespace tacit;

paid<sign_channel> buy(ledger<nats>& account, sign_channel const& channel);
paid<sign_channel> buy(ledger<nats>& account, sign_channel const& channel) {
#ifdef CONTROL
  return pay(account, channel);
#else
  return paid<sign_channel>(channel, account.charge(nats(0.0)));
#endif
}
