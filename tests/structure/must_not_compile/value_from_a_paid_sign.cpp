// SPDX-License-Identifier: Apache-2.0
// What was paid for as a sign draws a sign: there is no value to see.
#include <tacit/mechanism/paid_release.hpp>

#include <utility>

using namespace tacit;

double seen(paid<sign_channel>&& sign_paid, paid<binary_channel>&& value_paid,
            secret_stream& secret);
double seen(paid<sign_channel>&& sign_paid, paid<binary_channel>&& value_paid,
            secret_stream& secret) {
#ifdef CONTROL
  (void)sign_paid;
  return draw(std::move(value_paid), sign::plus, secret).value;
#else
  (void)value_paid;
  return draw(std::move(sign_paid), sign::plus, secret).value;
#endif
}
