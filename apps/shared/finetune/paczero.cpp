// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/paczero.hpp>

#include "finetune/tuning_run.hpp"
#include "finetune/zeroth_order.hpp"

namespace apps {

void tune_paczero(tuning_run& run) {
  auto const candidates = tacit::candidate_set::balanced(
      {.records = run.records(), .subsets = run.options.subsets}, run.options.seed);
  tacit::paczero_options o = run.options.paczero;
  o.steps = run.options.steps;
  bool const pays = run.options.system == tuning_system::paczero_mi;
  o.budget = pays ? run.options.budget : tacit::nats(0.0);
  o.track_records = pays;
  tacit::paczero<> mechanism(o, candidates);
  take_zeroth_order_steps(run, mechanism, nobody{});
  run.result.nats = mechanism.spent_worst_record().value;
  run.result.nats_of_secret = mechanism.spent().value;
  run.result.unanimous =
      static_cast<double>(mechanism.unanimous_steps()) / static_cast<double>(o.releases());
  run.result.bound = mechanism.attack_bound();
  if (run.options.attacked) run.result.attacked = mechanism.belief().exposed(candidates).mean;
}

}  // namespace apps
