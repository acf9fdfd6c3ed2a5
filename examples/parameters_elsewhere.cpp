// SPDX-License-Identifier: Apache-2.0
//
// Private training where your program holds the parameters, on a GPU for example: tacit says where to move
// and asks for the losses at θ ± μz. `sweep` stands for your own kernel launch; the functors run on a device
// as they are.

#include <tacit/mechanism/paczero.hpp>
#include <tacit/train/trainer.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  constexpr std::size_t records = 400;
  std::vector<float> theta(100, 0.0F);
  auto const losses = [&](std::vector<double>& out) {  // record i wants every parameter near 1
    double sum = 0.0;
    for (float const t : theta) sum += (double{t} - 1.0) * (double{t} - 1.0);
    for (std::size_t i = 0; i < records; ++i) {
      out[i] = sum / 100.0 * (1.0 + 0.1 * std::sin(static_cast<double>(i)));
    }
  };

  tacit::paczero mechanism({.steps = 2000, .budget = tacit::nats(0.0)},
                           tacit::candidate_set::balanced({.records = records}, 42));
  tacit::train_options const options{.smoothing = 1e-3, .learning_rate = 1e-2, .seed = 7};
  tacit::zeroth_order_loop loop(mechanism, options, theta.size());

  std::vector<double> plus(records);
  std::vector<double> minus(records);
  while (!loop.done()) {
    float const mu = loop.smoothing();
    for (std::size_t k = 0; k < loop.directions().size(); ++k) {
      tacit::perturb const there{theta.data(), loop.directions()[k], mu};
      tacit::sweep(there, theta.size());
      losses(plus);
      tacit::sweep(there.flip(), theta.size());
      losses(minus);
      tacit::sweep(there.restore(), theta.size());
      tacit::two_point_scalars(plus, minus, mu, loop.scalars(k));
    }
    tacit::sweep(tacit::update{theta.data(), loop.step()}, theta.size());
  }

  losses(plus);
  std::printf("loss %.4f after %zu steps, of which %zu were held, for %g nats\n", plus[0],
              mechanism.steps(), mechanism.held_steps(), mechanism.spent().value);
}
