// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/accountant.hpp>
#include <tacit/dp/capped_run.hpp>
#include <tacit/dp/sampled_run.hpp>
#include <tacit/dp/selection.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace apps {

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

/// How the sample of a run on one is drawn.
inline tacit::sampling sample_of(surroundings const& around) {
  if (!around.fixed_share) return tacit::poisson{*around.drawn_once};
  // What counts is the share, rounded up.
  constexpr double whole = 0x1p53;
  double const size = std::max(1.0, std::ceil(*around.drawn_once * whole));
  return tacit::fixed_size{static_cast<std::uint64_t>(size), static_cast<std::uint64_t>(whole)};
}

/// Whether batches are of random size, so that they may be cut.
inline bool has_random_batches(std::vector<tacit::composed> const& history) {
  return std::any_of(history.begin(), history.end(), [](tacit::composed const& c) {
    return std::holds_alternative<tacit::poisson>(c.release.how) ||
           std::holds_alternative<tacit::random_allocation>(c.release.how);
  });
}

/// A run by one accountant. Of capped batches also accounts in which those that are full without the record are told from
/// the others, and the probabilities that there are more of them; none where that is not known.
template <class Account>
struct accounts {
  struct told {
    std::unique_ptr<Account> run;
    double failure;
  };
  std::unique_ptr<Account> whole;
  std::vector<told> others;

  /// Adds those of a run with this cap. `start` makes an account of nothing.
  template <class Start>
  void tell_cuts(tacit::batch_cap const& cap, std::vector<tacit::composed> const& history,
                 Start&& start) {
    for (double const failure : tacit::told_failures) {
      std::optional<tacit::told_cuts> const cuts = tacit::tell_cuts(cap, history, failure);
      if (!cuts) break;
      if (!others.empty() && cuts->failure == others.back().failure) continue;
      std::unique_ptr<Account> one = start();
      try {
        for (tacit::composed const& what : cuts->releases) one->compose(what.release, what.count);
      } catch (std::logic_error const&) {  // not of batches of a fixed size
        break;
      }
      others.push_back({std::move(one), cuts->failure});
    }
  }
};

/// What `ask` says of a run on what `around` cuts and draws. It is given something with `epsilon` and `delta`.
template <class Account, class Ask>
auto asked_of_one(accounts<Account> const& all, surroundings const& around, Ask const& ask) {
  auto const drawn = [&](auto const& run) {
    return around.drawn_once ? ask(tacit::sampled_run(run, sample_of(around))) : ask(run);
  };
  if (!around.cap) return drawn(*all.whole);
  tacit::capped_run capped(*all.whole, around.overflow);
  for (auto const& other : all.others) capped.also(*other.run, other.failure);
  return drawn(capped);
}

/// The same of the best of several, too.
template <class Account, class Ask>
auto asked(accounts<Account> const& all, surroundings const& around, Ask const& ask) {
  return asked_of_one(all, around, [&](auto const& run) {
    return around.times ? ask(tacit::best_of(run, *around.times)) : ask(run);
  });
}

}  // namespace apps
