// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "communicator.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

namespace apps {

/// Records [first, first + records) of all.
struct shard {
  std::size_t first = 0;
  std::size_t records = 0;
};

/// Records of one micro-batch. How a matrix product rounds depends on the shape of the matrices and
/// on the place of a record in them: with one shape, and each record in the place that its index
/// gives it, its loss is the same bits whoever evaluates it.
inline constexpr std::size_t micro_batch = 32;

/// What one of several ranks holds: whole micro-batches, as evenly as they can be dealt out.
/// @throws shared_failure if there are more ranks than micro-batches: each rank sees it
inline shard shard_of(std::size_t records, std::size_t rank, std::size_t ranks) {
  std::size_t const batches = (records + micro_batch - 1) / micro_batch;
  if (ranks > batches) {
    throw shared_failure("shard_of: number of ranks is " + std::to_string(ranks) +
                         ", but must be at most " + std::to_string(batches) + ": " +
                         std::to_string(records) + " records in micro-batches of " +
                         std::to_string(micro_batch));
  }
  auto const begin = [&](std::size_t r) {
    return std::min(r * batches / ranks * micro_batch, records);
  };
  return {begin(rank), begin(rank + 1) - begin(rank)};
}

}  // namespace apps
