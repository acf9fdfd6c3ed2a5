// SPDX-License-Identifier: Apache-2.0
//
// The ε of a DP-SGD run, the noise for a target ε, and a run of several kinds of release.

#include <tacit/core/decimal.hpp>
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/privacy_loss.hpp>

#include <cstdio>

using namespace tacit;

int main() {
  double const delta = 1e-5;
  poisson const sampling{.rate = 0.01};  // each record is in a step's batch with probability 1 %
  std::uint64_t const steps = 10'000;

  // What does a run cost? The interval certainly contains the exact ε.
  privacy_loss_accountant run;  // neighbours: one record more or less
  run.compose(sampled(gaussian{.noise_multiplier = 1.0}, sampling), steps);
  bound<double> const epsilon = run.epsilon(delta);
  std::printf("DP-SGD: epsilon is in %s at delta %g\n", to_string(epsilon, 9).c_str(), delta);
  std::printf("an attacker on membership is right with probability %s at most\n",
              rounded_up(run.attack_success(), 4).c_str());

  // How much noise for ε = 2? The answer keeps the target; it is within 1e-6 of the least that does.
  approx_dp const target{.epsilon = 2.0, .delta = delta};
  double const noise = noise_multiplier_for<privacy_loss_accountant>(target, sampling, steps);
  std::printf("epsilon 2 needs a noise multiplier of %s\n", rounded_up(noise, 7).c_str());

  // How many steps at noise 1?
  event const step = sampled(gaussian{.noise_multiplier = 1.0}, sampling);
  std::printf("at noise multiplier 1 it allows %llu steps\n",
              static_cast<unsigned long long>(
                  steps_for(target, step, privacy_loss_accountant(adjacency::add_remove))));

  // Anything else that the run publishes is composed with it: here two counts with Laplace noise.
  run.compose(laplace{.noise_multiplier = 20.0}, 2);
  std::printf("with two noisy counts: epsilon at most %s\n",
              rounded_up(run.epsilon(delta).upper, 7).c_str());
}
