// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/dp_sgd.hpp>

#include "finetune/gradients.hpp"
#include "finetune/tuning_run.hpp"

#include <algorithm>
#include <cmath>

namespace apps {

namespace {

// AdaClip: the mean m and the spread b of each entry, from what was released alone.
class moving_spread {
 public:
  explicit moving_spread(std::size_t d) : mean_(d, 0.0F), variance_(d, 1e-4), spread_(d) {
    set_spread();
  }

  void whiten(std::span<float> g) const {
    for (std::size_t j = 0; j < g.size(); ++j) g[j] = (g[j] - mean_[j]) / spread_[j];
  }

  // What was released of whitened gradients becomes what it says of gradients. `noise`: its standard deviation.
  void colour(std::span<float> y, double noise) {
    for (std::size_t j = 0; j < y.size(); ++j) {
      y[j] = mean_[j] + spread_[j] * y[j];
      double const off = double{y[j]} - double{mean_[j]};
      double const own = double{spread_[j]} * noise;
      double const seen = std::clamp(off * off - own * own, 1e-10, 10.0);
      variance_[j] = 0.9 * variance_[j] + 0.1 * seen;
      mean_[j] = 0.99F * mean_[j] + 0.01F * y[j];
    }
    set_spread();
  }

 private:
  // b_j = √(s_j·Σ s), which is the least noise in all for E‖(g − m)/b‖² = 1.
  void set_spread() {
    double sum = 0.0;
    for (double const v : variance_) sum += std::sqrt(v);
    for (std::size_t j = 0; j < spread_.size(); ++j) {
      spread_[j] = static_cast<float>(std::sqrt(std::sqrt(variance_[j]) * sum));
    }
  }

  std::vector<float> mean_;
  std::vector<double> variance_;
  std::vector<float> spread_;
};

void normalise(std::span<float> g, double clip) {
  double sum = 0.0;
  for (float const x : g) sum += double{x} * double{x};
  auto const scale = static_cast<float>(clip / (std::sqrt(sum) + 0.01));
  for (float& x : g) x *= scale;
}

}  // namespace

void tune_dp_sgd(tuning_run& run) {
  run.choose_members();
  double const clip = run.options.clip;
  double const multiplier = run.gaussian_multiplier(run.options.rate);
  tacit::dp_sgd<> mechanism(run.noisy_sum(multiplier, run.options.rate), run.theta.size(),
                            run.inside);
  moving_spread spread(run.theta.size());
  step_gradients gradients(run, [&](std::span<float> g) {
    if (run.options.clipping == clipping_rule::automatic) normalise(g, clip);
    if (run.options.clipping == clipping_rule::adaptive) spread.whiten(g);
  });
  std::vector<clipped_part> const whole{{0, run.theta.size(), clip, multiplier * clip}};
  run.take_steps([&] { return mechanism.done(); },
                 [&] {
                   std::size_t const t = mechanism.steps();
                   gradients.begin_step();
                   auto released = mechanism.step([&](std::size_t record, std::span<float> out) {
                     gradients.write(record, out);
                   });
                   double const divisor = mechanism.options().divisor();
                   show_noisy_gradient(run, gradients, released.value, divisor, whole);
                   if (run.options.clipping == clipping_rule::adaptive) {
                     spread.colour(released.value, multiplier * clip / divisor);
                   }
                   run.descend(t, released);
                   return true;
                 });
  run.account_for(mechanism.event());
}

}  // namespace apps
