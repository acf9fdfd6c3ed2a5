// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/sampled_run.hpp>
#include <tacit/dp/selection.hpp>

#include "accountants.hpp"
#include "plan.hpp"
#include "verbs.hpp"

#include <optional>
#include <string>

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

/// What `ask` says of an account and of what is around it. It is given something with `epsilon` and `delta`.
template <class Ask>
auto asked(account const& one, surroundings const& around, Ask const& ask) {
  auto const repeated = [&](auto const& run) {
    return around.times ? ask(tacit::best_of(run, *around.times)) : ask(run);
  };
  auto const drawn = [&](auto const& run) {
    if (!around.drawn_once) return repeated(run);
    tacit::sampled_run const sample(run, tacit::poisson{*around.drawn_once});
    return repeated(sample);
  };
  if (!around.cap) return drawn(one);
  tacit::capped_run const capped(one, around.overflow);
  return drawn(capped);
}

}  // namespace calculator
