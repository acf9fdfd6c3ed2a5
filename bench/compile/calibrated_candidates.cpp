// SPDX-License-Identifier: Apache-2.0
// The quietest noise for what three candidates would say, for a tenth of a nat.
#include <tacit/pac.hpp>

#include <iostream>

int main() {
  Eigen::MatrixXd outputs(3, 2);
  outputs << 1.0, 2.0, 1.5, 1.0, 0.5, 1.8;
  auto const noise = tacit::least_trace(tacit::candidate_outputs(outputs), tacit::nats(0.1));
  std::cout << noise.noise.trace() << '\n';
}
