// SPDX-License-Identifier: Apache-2.0
//
// RLDP as its paper has it, for comparison: it has no guarantee.

#include <tacit/dp/gaussian.hpp>
#include <tacit/mechanism/unsound_rldp.hpp>

#include "finetune/gradients.hpp"
#include "finetune/tuning_run.hpp"
#include "rldp/controllers.hpp"

#include <algorithm>
#include <cmath>

namespace apps {

namespace {

// The σ at which the paper's charge, Eq. 7 for one group, says the target's ε.
double published_multiplier(tuning_options const& asked) {
  double low = 0.3;
  double high = 1e4;
  for (int i = 0; i < 100; ++i) {
    double const middle = std::sqrt(low * high);
    tacit::clt_estimate charge(asked.rate, middle, asked.steps);
    (charge.epsilon_estimate(asked.target.delta) <= asked.target.epsilon ? high : low) = middle;
  }
  return high;
}

}  // namespace

void tune_rldp_published(tuning_run& run) {
  run.choose_members();
  tuning_options const& asked = run.options;
  auto const groups = tacit::tensor_groups(tensor_sizes(run.of), 2);
  std::size_t const n = groups.size();
  double const multiplier = published_multiplier(asked);
  tacit::unsound_rldp<> mechanism(
      groups,
      {.rate = asked.rate, .expected_records = run.expected_members(), .steps = asked.steps},
      {std::vector<double>(n, asked.clip), std::vector<double>(n, multiplier)}, run.inside);
  sac_controls_options how;
  how.interval = asked.interval != 0 ? asked.interval : 112;
  how.one_noise = true;
  how.absolute_clips = true;
  unsound_sac_controller chooser(asked.seed, n, how);
  std::size_t const warm_up = std::max<std::size_t>(1, asked.steps / 20);
  step_gradients gradients(run);
  run.take_steps([&] { return mechanism.done(); },
                 [&] {
                   std::size_t const t = mechanism.steps();
                   gradients.begin_step();
                   auto const released =
                       mechanism.step([&](std::size_t record, std::span<float> out) {
                         gradients.write(record, out);
                         return run.loss(record);
                       });
                   run.descend(t, released);
                   auto const seen = mechanism.unsound_statistics();
                   if (t + 1 < warm_up) return true;
                   if (t + 1 > warm_up) {
                     mechanism.set(chooser.next(seen));
                     return true;
                   }
                   tacit::pairwise_controls medians = seen.controls;  // ends the warm-up
                   for (std::size_t k = 0; k < n; ++k) {
                     medians.clips[k] = std::clamp(seen.norm_quartiles[k][1], 1e-6, 1.0);
                   }
                   mechanism.set(medians);
                   return true;
                 });
}

}  // namespace apps
