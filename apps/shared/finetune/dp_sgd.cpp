// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/dp_sgd.hpp>

#include "finetune/gradients.hpp"
#include "finetune/tuning_run.hpp"

namespace apps {

void tune_dp_sgd(tuning_run& run) {
  run.choose_members();
  double const clip = run.options.clip;
  double const multiplier = run.gaussian_multiplier(run.options.rate);
  tacit::dp_sgd<> mechanism(run.noisy_sum(multiplier, run.options.rate), run.theta.size(),
                            run.inside);
  step_gradients gradients(run);
  std::vector<clipped_part> const whole{{0, run.theta.size(), clip, multiplier * clip}};
  run.take_steps(
      [&] { return mechanism.done(); },
      [&] {
        std::size_t const t = mechanism.steps();
        gradients.begin_step();
        auto const released = mechanism.step(
            [&](std::size_t record, std::span<float> out) { gradients.write(record, out); });
        show_noisy_gradient(run, gradients, released.value, mechanism.options().divisor(), whole);
        run.descend(t, released);
        return true;
      });
  run.account_for(mechanism.event());
}

}  // namespace apps
