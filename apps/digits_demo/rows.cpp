// SPDX-License-Identifier: Apache-2.0
#include "rows.hpp"

#include <utility>

namespace apps {

using tacit::allocation;
using tacit::disagreement;
using tacit::ledger_kind;
using tacit::nats;
using tacit::observed;
using tacit::surrogate;

std::vector<row> digits_rows(std::size_t steps) {
  std::vector<row> rows;
  auto const add = [&](char const* id, char const* title, double rate,
                       paczero_run_options options) {
    options.learning_rate = rate;
    options.paczero.steps = steps;
    rows.push_back({id, title, std::move(options)});
  };
  auto const without_privacy = [](surrogate what) {
    paczero_run_options options;
    options.how = method::without_privacy;
    options.surrogate = what;
    return options;
  };
  auto const paczero = [](tacit::paczero_options const& mechanism) {
    paczero_run_options options;
    options.paczero = mechanism;
    options.paczero.track_records = mechanism.budget > nats(0.0);
    return options;
  };

  paczero_run_options untouched;
  untouched.how = method::public_only;
  add("public", "public part only", 0.01, untouched);
  add("mezo", "MeZO, no privacy", 0.03, without_privacy(surrogate::raw));
  add("full-sign", "full sign, no privacy", 0.006, without_privacy(surrogate::full_sign));
  add("half-sign", "half sign, no privacy", 0.006, without_privacy(surrogate::half_sign));
  add("random-sign", "random sign", 0.006, without_privacy(surrogate::random_sign));

  auto const spread = [&](double budget, observed what, ledger_kind ledger) {
    return paczero(
        {.budget = nats(budget), .what = what, .ledger = ledger, .otherwise = disagreement::coin});
  };
  add("mi-.33-value", "MI .33, value, spread", 0.006,
      spread(0.33, observed::value, ledger_kind::subset));
  add("mi-.33-sign", "MI .33, sign, spread", 0.006,
      spread(0.33, observed::sign, ledger_kind::subset));
  add("mi-.01-value", "MI .01, value, spread", 0.006,
      spread(0.01, observed::value, ledger_kind::subset));
  add("mi-.01-sign", "MI .01, sign, spread", 0.006,
      spread(0.01, observed::sign, ledger_kind::subset));
  add("record-.33-spread", "MI .33 a record, spread", 0.006,
      spread(0.33, observed::sign, ledger_kind::record));

  auto const confident = [&](double budget, ledger_kind ledger, double horizon) {
    return paczero({.budget = nats(budget),
                    .ledger = ledger,
                    .spend = allocation::confident_or_hold,
                    .horizon = horizon});
  };
  add("mi-.33-confident", "MI .33, confident or hold", 0.02,
      confident(0.33, ledger_kind::subset, 50.0));
  add("record-.33-confident", "MI .33 a record, confident or hold", 0.012,
      confident(0.33, ledger_kind::record, 200.0));
  add("record-.01-confident", "MI .01 a record, confident or hold", 0.015,
      confident(0.01, ledger_kind::record, 50.0));

  add("pathwise", "pathwise, posterior in .5 \u00b1 .05", 0.006,
      paczero({.ledger = ledger_kind::pathwise, .kappa = 0.05, .otherwise = disagreement::coin}));

  auto const zpl = [&](disagreement otherwise) {
    return paczero({.budget = nats(0.0), .otherwise = otherwise});
  };
  add("zpl-coin", "ZPL, coin", 0.006, zpl(disagreement::coin));
  add("zpl-hold", "ZPL, hold", 0.02, zpl(disagreement::hold));
  add("zpl-majority", "ZPL, majority", 0.009, zpl(disagreement::majority));
  return rows;
}

}  // namespace apps
