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
  o.budget = tacit::nats(0.0);
  if (run.options.system == tuning_system::paczero_mi) {
    o.budget = run.options.budget;
    o.ledger = tacit::ledger_kind::record;
    o.track_records = true;
  }
  tacit::paczero<> mechanism(o, candidates);
  take_zeroth_order_steps(run, mechanism, nobody{});
  run.result.nats = mechanism.spent_worst_record().value;
  run.result.bound = mechanism.attack_bound();
  if (run.options.attacked) run.result.attacked = mechanism.belief().exposed(candidates).mean;
}

}  // namespace apps
