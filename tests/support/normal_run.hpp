// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/gaussian.hpp>

/// One release of N(mu, 1) against N(0, 1).
inline tacit::gaussian_accountant normal_run(double mu) {
  tacit::gaussian_accountant account;
  account.compose(tacit::gaussian{.noise_multiplier = 1.0 / mu});
  return account;
}
