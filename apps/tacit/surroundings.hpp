// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/capped_run.hpp>
#include <tacit/dp/sampled_run.hpp>
#include <tacit/dp/selection.hpp>

#include "accountants.hpp"
#include "plan.hpp"
#include "verbs.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace calculator {

/// What is around a run, from the inside: batches that are cut off, a sample drawn once for all, the best of several
/// runs.
struct surroundings {
  std::optional<tacit::batch_cap> cap;
  double overflow = 0.0;
  std::optional<double> drawn_once;
  std::optional<tacit::repetitions> times;
};

void declare_surroundings(arguments& of);
surroundings read_surroundings(arguments const& of, plan const& run);

/// The same around another run.
surroundings around(surroundings its, plan const& run);

/// `the best of …, each of 10000 steps, …, add-remove neighbours`
std::string about(plan const& run, surroundings const& around);

answer with_surroundings(answer out, surroundings const& around);

/// A run by one accountant. Of capped batches also accounts in which those that are full without the record are told from
/// the others, and the probabilities that there are more of them; none where that is not known.
struct accounts {
  struct told {
    std::unique_ptr<account> run;
    double failure;
  };
  std::unique_ptr<account> whole;
  std::vector<told> others;
};
accounts accounts_by(method const& how, plan const& run, surroundings const& around);

/// What `ask` says of a run and of what is around it. It is given something with `epsilon` and `delta`.
template <class Ask>
auto asked(accounts const& all, surroundings const& around, Ask const& ask) {
  auto const repeated = [&](auto const& run) {
    return around.times ? ask(tacit::best_of(run, *around.times)) : ask(run);
  };
  auto const drawn = [&](auto const& run) {
    if (!around.drawn_once) return repeated(run);
    tacit::sampled_run const sample(run, tacit::poisson{*around.drawn_once});
    return repeated(sample);
  };
  if (!around.cap) return drawn(*all.whole);
  tacit::capped_run capped(*all.whole, around.overflow);
  for (accounts::told const& other : all.others) capped.also(*other.run, other.failure);
  return drawn(capped);
}

}  // namespace calculator
