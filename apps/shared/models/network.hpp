// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/model.hpp"
#include "training/mlp.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace apps {

/// The network with one hidden layer, all of it trained.
class network final : public model {
 public:
  /// `start`: the parameters after public training. The parts are used, not owned.
  network(mlp const& shape, std::vector<float> start, dataset const& private_part,
          dataset const& test_part);

  tensor_list tensors() const override { return shape_.tensors(); }
  std::vector<float> initial(std::uint64_t seed) const override;
  std::size_t records() const override { return private_->size(); }
  void losses(std::span<float const> theta, std::span<double> out) override;
  void losses(std::span<float const> theta, std::span<std::size_t const> some,
              std::span<double> out) override;
  void gradient(std::span<float const> theta, std::size_t record, std::span<float> out) override;
  double score(std::span<float const> theta) override;

 private:
  std::span<float const> own(std::span<float const> theta);

  mlp shape_;
  std::vector<float> start_;
  dataset const* private_;
  dataset const* test_;
  batch_loss loss_;
  Eigen::VectorXf theta_;  // aligned: what is computed does not depend on where the caller's lies
};

}  // namespace apps
