// SPDX-License-Identifier: Apache-2.0
#include <tacit/config.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/units.hpp>

#include <cstdio>

#if !__has_include(<Eigen/Dense>)
#error "the way to tacit is not the way to Eigen"
#endif

int main() {
  using namespace tacit::literals;
  tacit::ledger<tacit::nats> account(0.33_nats);
  auto const paid = account.charge(0.01_nats);
  std::printf("tacit %s: %g nats spent\n", TACIT_VERSION, account.spent().value);
  return paid.live() ? 0 : 1;
}
