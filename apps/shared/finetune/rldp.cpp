// SPDX-License-Identifier: Apache-2.0
//
// RLDP: noise and clips by group, which a controller chooses on the way.

#include <tacit/info/attack.hpp>
#include <tacit/mechanism/rldp.hpp>

#include "finetune/gradients.hpp"
#include "finetune/tuning_run.hpp"
#include "rldp/controllers.hpp"

#include <algorithm>

namespace apps {

void tune_rldp(tuning_run& run) {
  if (run.options.controller == "published") {
    tune_rldp_published(run);
    return;
  }
  run.choose_members();
  tuning_options const& asked = run.options;
  auto const groups = tacit::tensor_groups(tensor_sizes(run.of), 2);
  std::size_t const n = groups.size();
  bool const reads = asked.controller != "fixed";  // the controller reads noisy statistics
  tacit::pairwise_options o{.rate = asked.rate,
                            .expected_records = run.expected_members(),
                            .steps = asked.steps,
                            .budget = asked.target,
                            .loss_clip = 4.0};
  if (reads) {  // each statistic costs a hundredth of what a group may
    double const alone = tacit::pairwise_noise_multiplier(o, n);
    o.share_noise_multiplier = 10.0 * alone;
    o.loss_noise_multiplier = 10.0 * alone;
  }
  double const multiplier = tacit::pairwise_noise_multiplier(o, n);
  tacit::pairwise_gaussian<> mechanism(
      groups, o, {std::vector<double>(n, asked.clip), std::vector<double>(n, multiplier)},
      run.inside);
  sac_controls_options pace;
  pace.interval = asked.interval != 0 ? asked.interval : std::max<std::size_t>(1, asked.steps / 40);
  pace.quantile_interval = std::max<std::size_t>(1, asked.interval);
  auto const chooser = make_controller(asked.controller, asked.seed, n, pace);
  step_gradients gradients(run);
  run.take_steps([&] { return mechanism.done(); },
                 [&] {
                   std::size_t const t = mechanism.steps();
                   gradients.begin_step();
                   auto const controls = mechanism.state().controls;
                   auto const released =
                       mechanism.step([&](std::size_t record, std::span<float> out) {
                         gradients.write(record, out);
                         return reads ? run.loss(record) : 0.0;
                       });
                   std::vector<clipped_part> parts;
                   for (std::size_t k = 0; k < n; ++k) {
                     parts.push_back({groups[k].first, groups[k].last, controls.clips[k],
                                      controls.clips[k] * controls.noise_multipliers[k]});
                   }
                   show_noisy_gradient(run, gradients, released.value, o.divisor(), parts);
                   run.descend(t, released);
                   if (reads) mechanism.set(chooser->next(mechanism.state()));
                   return true;
                 });
  run.result.epsilon = mechanism.state().epsilon;
  run.result.bound =
      tacit::attack_success(tacit::approx_dp{*run.result.epsilon, asked.target.delta});
  run.count_guesses();
}

}  // namespace apps
