// SPDX-License-Identifier: Apache-2.0
// The charge of a sign does not pay for a value.
#include <tacit/mechanism/paid_release.hpp>

using namespace tacit;

paid<binary_channel> buy(ledger<nats>& account, sign_channel const& by_sign,
                         binary_channel const& by_value);
paid<binary_channel> buy(ledger<nats>& account, sign_channel const& by_sign,
                         binary_channel const& by_value) {
#ifdef CONTROL
  (void)by_sign;
  return pay(account, by_value);
#else
  (void)by_value;
  return pay(account, by_sign);
#endif
}
