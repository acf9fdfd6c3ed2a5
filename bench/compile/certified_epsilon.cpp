// SPDX-License-Identifier: Apache-2.0
// One certified ε, of DP-SGD.
#include <tacit/dp.hpp>

#include <iostream>

int main() {
  tacit::privacy_loss_accountant run;
  run.compose(sampled(tacit::gaussian{.noise_multiplier = 1.0}, tacit::poisson{.rate = 0.01}),
              10'000);
  std::cout << run.epsilon(1e-5).upper << '\n';
}
