// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/event.hpp>

#include "schedule/around_run.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

/// Schedules: what a run releases, as JSON. docs/accountants.md has the format. The calculator and the page read
/// them by this.

namespace apps {

/// Bytes of a schedule in a file: a million releases, and half a gigabyte once it is read.
inline constexpr std::size_t longest_schedule = std::size_t{1} << 24;

/// The noise multipliers that are answered for. Beyond them nothing is protected, or nothing learnt, and an accountant
/// counts in ever finer cells.
inline constexpr char const* noise_range = "in [0.001, 1e9]";
inline bool in_noise_range(double multiplier) { return multiplier >= 1e-3 && multiplier <= 1e9; }

/// The noise multiplier that a search has found, if it is one of those.
/// @throws tacit::infeasible otherwise
double answered_noise(double found);

/// `releases[2].rate is 1.5, but must be in [0, 1]`
struct bad_schedule : std::invalid_argument {
  bad_schedule(std::string const& what, std::string about = {},
               std::optional<std::size_t> which = {})
      : std::invalid_argument(what), argument(std::move(about)), release(which) {}
  std::string argument;                // rate; empty where it is about no value
  std::optional<std::size_t> release;  // 2
};

struct schedule {
  struct inner_run;
  struct entry {
    tacit::composed what;
    std::string name;            // releases[2], history[0]
    bool of_neighbours = false;  // the event that stands for it depends on who is a neighbour
    bool at_most = false;        // it may cost less than the event that stands for it
    char const* assumed =
        nullptr;  // what that event takes for granted of the mechanism, if it does not show it
    std::shared_ptr<inner_run const> run = nullptr;  // for which the event, a profile, stands
  };
  /// A run that is one release of another one, with what is around it.
  struct inner_run {
    std::vector<entry> releases;
    surroundings around;
    std::string stated;  // as JSON
  };
  std::optional<tacit::adjacency> neighbours;  // if it names them
  std::vector<entry> releases;
  // In each of the shuffled epochs that are all that is released.
  std::optional<std::uint64_t> batches = std::nullopt;
};

/// The value that a text holds. Refuses a key that an object has twice, of which the parser would take the last,
/// and values nested deeper than 32.
/// @throws std::invalid_argument: `is no JSON: …`
nlohmann::json parse_json(std::string const& text);

/// {"adjacency": …, "releases": […]}, or the history of an Opacus accountant: a list, or an object that has one. Where it
/// names no neighbours they are the `assumed` ones.
/// @throws bad_schedule
schedule read_schedule(nlohmann::json const& from,
                       tacit::adjacency assumed = tacit::adjacency::add_remove);

/// One of the releases, the k-th.
tacit::composed read_release(nlohmann::json const& from, std::size_t k,
                             tacit::adjacency neighbours);

/// One release, that complaints call `name`.
schedule::entry read_entry(nlohmann::json const& from, std::string const& name,
                           tacit::adjacency neighbours);

nlohmann::ordered_json as_json(tacit::composed const& release);
/// Of an inner run, as it was stated.
nlohmann::ordered_json as_json(schedule::entry const& release);

/// add-remove, replace-one, zero-out
char const* word_of(tacit::adjacency neighbours);

}  // namespace apps
