// SPDX-License-Identifier: Apache-2.0
//
// DPGD-0th: a noisy vector, of which the signal lies along one direction.

#include <tacit/mechanism/dpgd_0th.hpp>
#include <tacit/train/first_order.hpp>
#include <tacit/train/trainer.hpp>

#include "finetune/tuning_run.hpp"

#include <algorithm>
#include <cmath>

namespace apps {

void tune_dpgd_0th(tuning_run& run) {
  run.choose_members();
  std::size_t const n = run.records();
  double const clip = run.options.clip;
  double const multiplier = run.gaussian_multiplier();
  double const sigma = multiplier * clip;
  tacit::dpgd_0th<> mechanism(run.noisy_sum(multiplier), run.theta.size(), run.inside);
  std::vector<double> scalars(n);
  std::vector<float> z(run.theta.size());
  std::vector<double> contributions(n);

  // Beside z there is only noise.
  auto const attack = [&](tacit::vector_release const& released) {
    double const length = std::sqrt(static_cast<double>(z.size()));
    double residual = 0.0;
    for (std::size_t j = 0; j < z.size(); ++j) {
      residual += double{released.value[j]} * double{z[j]} / length * run.expected_members();
    }
    for (std::size_t i = 0; i < n; ++i) {
      contributions[i] = std::clamp(scalars[i] * length, -clip, clip);
      if (run.inside[i]) residual -= contributions[i];
    }
    run.attacker.observe(contributions, run.flags, std::span(&residual, 1), std::span(&sigma, 1));
  };
  auto const loss = [&](std::span<float const> theta, std::span<double> losses) {
    run.of.losses(theta, losses);
  };
  run.take_steps([&] { return mechanism.done(); },
                 [&] {
                   std::size_t const t = mechanism.steps();
                   auto const along = tacit::direction_at(tacit::direction_law::rademacher,
                                                          {run.options.seed, t}, z.size());
                   tacit::two_point(run.theta, {&along, 1}, 1e-3, loss, scalars);
                   for (std::size_t j = 0; j < z.size(); ++j) z[j] = along(j);
                   tacit::vector_release const released = mechanism.step(scalars, z);
                   run.let_attacker([&] { attack(released); });
                   tacit::descend(run.theta, run.training(), t, released);
                   return true;
                 });
  run.account_for(mechanism.event());
}

}  // namespace apps
