// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "finetune/finetune.hpp"
#include "places.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace apps {

/// What is tuned of a system.
struct setting {
  std::size_t steps = 1;
  double learning_rate = 1.0;
  double clip = 1.0;
  double rate = 1.0;  // of batches

  friend bool operator==(setting const&, setting const&) = default;
};

/// Tuning is the same for every row, and scored nowhere. Its grid runs on the first seeds, then as many settings around
/// the best of it; the best few of all run on the other seeds too, and the best mean over all seeds decides.
inline constexpr std::size_t grid_size = 24;
inline constexpr std::size_t ferret_text_grid_size = 40;  // of FERRET on texts alone
inline constexpr std::size_t neighbours = 12;
inline constexpr std::size_t finalists = 4;
inline constexpr std::uint64_t first_seeds[] = {101, 102};
inline constexpr std::uint64_t final_seeds[] = {103, 104, 105};
inline constexpr std::size_t tuning_runs =
    (grid_size + neighbours) * std::size(first_seeds) + finalists * std::size(final_seeds);

/// The settings of a system: three numbers of steps, and eight learning rates where nothing else matters, else four
/// with two clips, or for FERRET with two batch rates. None for `none`. By AdamW a step moves each entry of a group of n by
/// its learning rate, not by 1/√n of it: FERRET's rates are as much smaller.
std::vector<setting> grid_of(place where, tuning_system system,
                             tacit::optimiser_rule rule = tacit::optimiser_rule::sgd);

/// `count` settings near one, none of which is in the grid: other learning rates, more steps and fewer; other clips
/// where the grid has several; smaller batches, and larger ones, where `batches` says that the system has any.
std::vector<setting> around(setting const& best, std::vector<setting> const& grid, bool batches,
                            std::size_t count = neighbours);

/// Whether the learning rate is the smallest or the largest of those tried, so that a better one may lie outside.
bool at_the_edge(setting const& chosen, std::vector<setting> const& tried);

void apply(setting const& from, tuning_options& to);

/// As the log names it: the four numbers, with all their digits.
std::string text_of(setting const& s);

}  // namespace apps
