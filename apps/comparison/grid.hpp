// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "finetune/finetune.hpp"
#include "places.hpp"

#include <cstddef>
#include <cstdint>
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

/// Every row that is tuned has this many settings, and each of them runs once on each of these seeds, which are
/// scored nowhere.
inline constexpr std::size_t grid_size = 24;
inline constexpr std::uint64_t tuning_seeds[] = {101, 102};

/// The settings of a system: three numbers of steps, and eight learning rates where nothing else matters, else four
/// with two clips, or for FERRET with two batch rates. None for `none`. By AdamW a step moves each entry of a group of n by
/// its learning rate, not by 1/√n of it: FERRET's rates are as much smaller.
std::vector<setting> grid_of(place where, tuning_system system,
                             tacit::optimiser_rule rule = tacit::optimiser_rule::sgd);

/// Whether the learning rate is the smallest or the largest of its grid, so that a better one may lie outside.
bool at_the_edge(setting const& chosen, std::vector<setting> const& grid);

void apply(setting const& from, tuning_options& to);

/// As the log names it: the four numbers, with all their digits.
std::string text_of(setting const& s);

}  // namespace apps
