// SPDX-License-Identifier: Apache-2.0
//
// Private training around your own loss: least squares on 400 records, of which a secret half takes part.
// The run reveals at most 0.33 nats about which half.

#include <tacit/mechanism/paczero.hpp>
#include <tacit/random/normal.hpp>
#include <tacit/train/trainer.hpp>

#include <cstdio>
#include <span>
#include <vector>

using namespace tacit::literals;

int main() {
  constexpr std::size_t records = 400;

  // Yours: one number a record, smaller is better. Here y = 2x - 1 + noise is fitted by a line.
  auto const x = [](std::size_t i) { return tacit::normal({.seed = 1, .step = 0}, i); };
  auto const noise = [](std::size_t i) { return 0.1F * tacit::normal({.seed = 1, .step = 1}, i); };
  auto const loss = [&](std::span<float const> theta, std::span<double> losses) {
    for (std::size_t i = 0; i < records; ++i) {
      float const error = theta[0] * x(i) + theta[1] - (2.0F * x(i) - 1.0F + noise(i));
      losses[i] = double{error} * double{error};
    }
  };

  std::vector<float> theta{0.0F, 0.0F};
  tacit::paczero mechanism({.steps = 500, .budget = 0.33_nats},
                           tacit::candidate_set::balanced({.records = records}, 42));
  tacit::trainer run{mechanism,
                     {.smoothing = 1e-3,
                      .learning_rate = 0.02,
                      .decay = tacit::schedule::linear,
                      .steps = 500,
                      .seed = 7},
                     theta};
  while (!run.done()) run.step(loss);

  std::printf("y = %.2f x %+.2f, %.3f nats spent\n", double{theta[0]}, double{theta[1]},
              mechanism.spent().value);
  std::printf("an attacker on membership is right with probability %.3f at most, on average\n",
              mechanism.attack_bound());
}
