// SPDX-License-Identifier: Apache-2.0
#include <tacit/config.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/quadrature.hpp>  // finds Boost
#include <tacit/core/units.hpp>
#include <tacit/pac/candidate_outputs.hpp>  // finds Eigen

#include <iostream>

int main() {
  using namespace tacit::literals;
  tacit::ledger<tacit::nats> account(0.33_nats);
  auto const paid = account.charge(0.01_nats);
  std::cout << "tacit " << TACIT_VERSION << ": " << account.spent().value << " nats spent\n";
  return paid.live() ? 0 : 1;
}
