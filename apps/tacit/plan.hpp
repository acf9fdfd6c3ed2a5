// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/accountant.hpp>
#include <tacit/dp/event.hpp>

#include "arguments.hpp"
#include "schedule/schedule.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace calculator {

/// What is released, in order, and who counts as neighbours.
struct plan {
  using entry = apps::schedule::entry;  // with a name for complaints: releases[2]

  tacit::adjacency neighbours = tacit::adjacency::add_remove;
  std::vector<entry> releases;
  std::string origin = "";  // of the complaints about it: the schedule's file
  std::optional<std::uint64_t> batches =
      std::nullopt;  // in each of the shuffled epochs, its only release

  std::uint64_t steps() const;
  std::vector<tacit::composed> history() const;
};

/// Which of a run's options a verb has; what it seeks it does not ask for.
struct plan_options {
  bool noise = true;
  bool sampling = true;
  bool steps = true;
  bool schedule = true;
  bool needed = true;  // for the help: there is no other question
};

void declare_plan(arguments& of, plan_options which = {});
plan read_plan(arguments const& of);

/// The options of `declare_plan`, for a verb that has other questions, too.
std::vector<std::string> const& plan_names();

tacit::adjacency read_adjacency(arguments const& of);

/// The mechanism that the options name, with this noise.
tacit::mechanism_event read_mechanism(arguments const& of, double noise_multiplier);
tacit::sampling read_sampling(arguments const& of);
std::uint64_t read_records_per_person(arguments const& of);
/// Releases, or with --allocate or --shuffle epochs.
std::uint64_t read_steps(arguments const& of);
/// How many batches an epoch of --shuffle has.
std::optional<std::uint64_t> read_shuffled_batches(arguments const& of);

/// `10000 steps, Gaussian noise of multiplier 1, Poisson samples of rate 0.01`
std::string in_words(tacit::mechanism_event const& mechanism);
/// Of epochs of shuffled batches with how many each has, where that is known.
std::string in_words(tacit::sampling const& how,
                     std::optional<std::uint64_t> batches = std::nullopt);
/// `10000 steps`, or of epochs `1 epoch`
std::string count_in_words(std::uint64_t count, tacit::sampling const& how);
std::string in_words(tacit::composed const& what,
                     std::optional<std::uint64_t> batches = std::nullopt);
/// Of an inner run what it releases, and what is around it.
std::string in_words(plan::entry const& what, std::optional<std::uint64_t> batches = std::nullopt);
std::string in_words(plan const& run);
std::string in_words(tacit::adjacency neighbours);  // add-remove

using apps::as_json;

/// `neighbours` are those that the options name, if they do.
plan read_schedule(std::string const& file, std::optional<tacit::adjacency> neighbours);

}  // namespace calculator
