// SPDX-License-Identifier: Apache-2.0
//
// DPGD-0th: a noisy vector, of which the signal lies along one direction.

#include <tacit/mechanism/dpgd_0th.hpp>
#include <tacit/train/trainer.hpp>

#include "finetune/tuning_run.hpp"

#include <algorithm>
#include <cmath>

namespace apps {

void tune_dpgd_0th(tuning_run& run) {
  run.choose_members();
  std::size_t const n = run.records();
  double const clip = run.options.clip;
  double const rate = run.options.rate;
  double const multiplier = run.gaussian_multiplier(rate);
  double const sigma = multiplier * clip;
  tacit::dpgd_0th<> mechanism(run.noisy_sum(multiplier, rate), run.theta.size(), run.inside);
  std::vector<double> scalars;
  std::vector<float> z(run.theta.size());
  std::vector<double> contributions(n);

  // Beside z there is only noise.
  auto const attack = [&](std::span<double const> all, std::span<std::uint8_t const> in_batch,
                          tacit::vector_release const& released) {
    double const length = std::sqrt(static_cast<double>(z.size()));
    double residual = 0.0;
    for (std::size_t j = 0; j < z.size(); ++j) {
      residual += double{released.value[j]} * double{z[j]} / length * mechanism.options().divisor();
    }
    for (std::size_t i = 0; i < n; ++i) {
      contributions[i] = std::clamp(all[i] * length, -clip, clip);
      if (in_batch[i] != 0) residual -= contributions[i];
    }
    run.attacker.observe(contributions, in_batch, std::span(&residual, 1), std::span(&sigma, 1),
                         rate);
  };
  run.take_steps(
      [&] { return mechanism.done(); },
      [&] {
        std::size_t const t = mechanism.steps();
        auto const along =
            tacit::direction_at(tacit::direction_law::rademacher, {run.options.seed, t}, z.size());
        auto const drawn = mechanism.batch();
        std::vector<std::size_t> const batch(drawn.begin(), drawn.end());
        std::vector<double> all;
        run.let_attacker([&] { all = run.scalars_outside(batch, {&along, 1}); });
        scalars.resize(batch.size());
        if (!batch.empty()) {
          auto const loss = [&](std::span<float const> theta, std::span<double> losses) {
            run.losses(theta, batch, losses);
          };
          tacit::two_point(run.theta, {&along, 1}, run.training().smoothing, loss, scalars);
        }
        for (std::size_t j = 0; j < z.size(); ++j) z[j] = along(j);
        tacit::vector_release const released = mechanism.step(scalars, z);
        run.let_attacker([&] {
          std::vector<std::uint8_t> flags(n, 0);
          for (std::size_t i = 0; i < batch.size(); ++i) {
            flags[batch[i]] = 1;
            all[batch[i]] = scalars[i];
          }
          attack(all, flags, released);
        });
        run.descend(t, released);
        return true;
      });
  run.account_for(mechanism.event());
}

}  // namespace apps
