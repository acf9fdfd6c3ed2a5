// SPDX-License-Identifier: Apache-2.0
//
// MeZO and gradient descent: what privacy is compared with.

#include <tacit/mechanism/mezo.hpp>

#include "finetune/tuning_run.hpp"
#include "finetune/zeroth_order.hpp"

namespace apps {

namespace {

/// tacit::mezo averages all scalars that it is given: it asks for those of the members.
class mezo_of_members {
 public:
  mezo_of_members(std::size_t steps, std::size_t members, std::vector<bool> const& inside)
      : mezo_({.steps = steps}, members), records_(inside.size()) {
    for (std::size_t i = 0; i < inside.size(); ++i) {
      if (inside[i]) members_.push_back(i);
    }
  }
  std::size_t records() const { return records_; }
  std::span<std::size_t const> batch() const { return members_; }
  std::size_t directions() const { return 1; }
  std::size_t steps() const { return mezo_.steps(); }
  bool done() const { return mezo_.done(); }

  tacit::release step(std::span<double const> scalars) { return mezo_.step(scalars); }

 private:
  tacit::mezo<> mezo_;
  std::size_t records_;
  std::vector<std::size_t> members_;
};

}  // namespace

void tune_mezo(tuning_run& run) {
  run.choose_members();
  mezo_of_members mechanism(run.options.steps, run.members(), run.inside);
  take_zeroth_order_steps(run, mechanism, nobody{});
}

void tune_sgd(tuning_run& run) {
  run.choose_members();
  std::vector<float> gradient(run.theta.size());
  std::size_t taken = 0;
  run.take_steps([&] { return taken == run.options.steps; },
                 [&] {
                   tacit::vector_release mean;
                   mean.value.assign(run.theta.size(), 0.0F);
                   auto const share = static_cast<float>(1.0 / static_cast<double>(run.members()));
                   for (std::size_t i = 0; i < run.records(); ++i) {
                     if (!run.inside[i]) continue;
                     run.of.gradient(run.theta, i, gradient);
                     ++run.result.gradients_evaluated;
                     for (std::size_t j = 0; j < gradient.size(); ++j) {
                       mean.value[j] += share * gradient[j];
                     }
                   }
                   run.descend(taken++, mean);
                   return true;
                 });
}

}  // namespace apps
