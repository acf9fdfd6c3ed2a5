// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/capped_run.hpp>
#include <tacit/dp/feasible_end.hpp>
#include <tacit/dp/sampled_run.hpp>
#include <tacit/dp/selection.hpp>

#include "accountants.hpp"
#include "plan.hpp"
#include "verbs.hpp"

#include <functional>
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
  bool fixed_share =
      false;  // under replace_one the sample has a fixed size, that share of the records
  std::optional<tacit::repetitions> times;

  bool none() const { return !cap && !drawn_once && !times; }
};

void declare_surroundings(arguments& of);
surroundings read_surroundings(arguments const& of, plan const& run);

/// The same around another run.
surroundings around(surroundings its, plan const& run);

/// The options of `declare_surroundings`.
std::vector<std::string> const& surroundings_names();

/// `the best of …, each of 10000 steps, …, batches of at most …`, of words about a run. `each` is what stands between the
/// words about several runs and those about one.
std::string words_around(surroundings const& around, std::string const& run,
                         char const* each = "each of");

/// `the best of …, each of 10000 steps, …, add-remove neighbours`
std::string about(plan const& run, surroundings const& around);

/// Sentences for a statement: what is done to the releases, and what is assumed of it.
std::vector<std::string> releases_around(surroundings const& around);
std::vector<std::string> assumptions_around(surroundings const& around);

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
/// @throws bad_input for an estimate where only bounds are known of what is around the run
accounts accounts_by(method const& how, plan const& run, surroundings const& around);

/// How the sample of a run on one is drawn.
tacit::sampling sample_of(surroundings const& around);

/// What `ask` says of a run and of what is around it. It is given something with `epsilon` and `delta`.
template <class Ask>
auto asked(accounts const& all, surroundings const& around, Ask const& ask) {
  auto const repeated = [&](auto const& run) {
    return around.times ? ask(tacit::best_of(run, *around.times)) : ask(run);
  };
  auto const drawn = [&](auto const& run) {
    if (!around.drawn_once) return repeated(run);
    tacit::sampled_run const sample(run, sample_of(around));
    return repeated(sample);
  };
  if (!around.cap) return drawn(*all.whole);
  tacit::capped_run capped(*all.whole, around.overflow);
  for (accounts::told const& other : all.others) capped.also(*other.run, other.failure);
  return drawn(capped);
}

/// The number on the edge of what keeps the target, of runs with something around them: `run` is a function of the number.
/// Every number that is tried has accounts of its own, and what is returned was asked as `tacit epsilon` and `tacit delta` ask.
/// @throws tacit::infeasible if not even the protecting end of the range, which is called `safest`, keeps the target
double end_around(method const& how, tacit::approx_dp target,
                  std::function<plan(double)> const& run, surroundings const& around,
                  tacit::quantity const& sought, char const* safest);

}  // namespace calculator
