// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shard.hpp"
#include "training/mlp.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace apps {

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
