// SPDX-License-Identifier: Apache-2.0
#include <tacit/info/binary_channel.hpp>

#include <cstdio>

#if !defined(TACIT_COMPILED)
#error "tacit::compiled does not say that it is linked"
#endif

int main() {
  // Instantiated in the library alone.
  double const nats = tacit::mutual_information(tacit::binary_channel{.prior = 0.5, .sigma = 1.0});
  std::printf("%.4f nats\n", nats);
  return nats > 0.33 && nats < 0.34 ? 0 : 1;
}
