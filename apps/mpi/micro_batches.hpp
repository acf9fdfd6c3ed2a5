// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "communicator.hpp"
#include "training/mlp.hpp"

#include <cstddef>
#include <span>
#include <vector>

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
shard shard_of(std::size_t records, std::size_t rank, std::size_t ranks);

/// These records of all.
dataset records_of(dataset const& all, shard part);

/// The cross-entropy of each record of a shard, evaluated in micro-batches of one shape. What is
/// missing in the last one of all is filled with zeros, whose losses nobody sees.
class micro_batches {
 public:
  /// @throws std::invalid_argument for a shard that does not begin with a micro-batch
  micro_batches(mlp const& shape, dataset const& all, shard part);
  micro_batches(micro_batches const&) = delete;  // the losses point into the batches

  void operator()(std::span<float const> theta, std::span<double> losses);

 private:
  std::vector<dataset> batches_;
  std::vector<batch_loss> losses_;
};

}  // namespace apps
