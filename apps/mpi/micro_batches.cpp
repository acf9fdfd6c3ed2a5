// SPDX-License-Identifier: Apache-2.0
#include "micro_batches.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace apps {

dataset records_of(dataset const& all, shard part) {
  auto const first = static_cast<std::ptrdiff_t>(part.first);
  auto const size = static_cast<std::ptrdiff_t>(part.records);
  return {all.features.middleRows(first, size),
          {all.labels.begin() + first, all.labels.begin() + first + size},
          {}};
}

micro_batches::micro_batches(mlp const& shape, dataset const& all, shard part) {
  if (part.first % micro_batch != 0) {
    throw std::invalid_argument("micro_batches: first record is " + std::to_string(part.first) +
                                ", but must be a multiple of " + std::to_string(micro_batch));
  }
  auto const inputs = all.features.cols();
  for (std::size_t at = part.first; at < part.first + part.records; at += micro_batch) {
    auto const rows =
        static_cast<Eigen::Index>(std::min(micro_batch, part.first + part.records - at));
    dataset batch{Eigen::MatrixXf::Zero(micro_batch, inputs), std::vector<int>(micro_batch, 0), {}};
    batch.features.topRows(rows) = all.features.middleRows(static_cast<Eigen::Index>(at), rows);
    std::copy_n(all.labels.begin() + static_cast<std::ptrdiff_t>(at), rows, batch.labels.begin());
    batches_.push_back(std::move(batch));
  }
  for (dataset const& batch : batches_) losses_.emplace_back(shape, batch);
}

void micro_batches::operator()(std::span<float const> theta, std::span<double> losses) {
  std::array<double, micro_batch> padded;
  for (batch_loss& loss : losses_) {
    loss(theta, padded);
    std::size_t const own = std::min(micro_batch, losses.size());
    std::copy_n(padded.begin(), own, losses.begin());
    losses = losses.subspan(own);
  }
}

}  // namespace apps
