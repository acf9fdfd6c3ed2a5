// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/model.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace apps {

/// Low-rank adaptation: for some matrices W of a model, W + BA takes their place, and only A and B
/// are trained. W is out × in; A is rank × in, uniform of variance 1/in at the start; B is
/// out × rank and 0, so that training begins where the model stood. Those of `hidden.weight` are
/// called hidden.lora_a and hidden.lora_b.
/// Source: Hu et al., "LoRA: low-rank adaptation of large language models", 2021.
class lora final : public model {
 public:
  /// `frozen` are the parameters of `whole`, which is used, not owned.
  /// @throws std::invalid_argument for a rank of 0, a name that is not one of a matrix of the
  ///         model, or no name
  lora(model& whole, std::vector<float> frozen, std::size_t rank,
       std::vector<std::string> const& matrices);

  tensor_list tensors() const override;
  std::vector<float> initial(std::uint64_t seed) const override;
  std::size_t records() const override { return whole_->records(); }
  void losses(std::span<float const> theta, std::span<double> out) override;
  void losses(std::span<float const> theta, std::span<std::size_t const> some,
              std::span<double> out) override;
  void gradient(std::span<float const> theta, std::size_t record, std::span<float> out) override;
  double score(std::span<float const> theta) override;

  /// The parameters of the whole model, W + BA in their places.
  std::vector<float> const& merged(std::span<float const> theta);

 private:
  struct matrix {
    std::string name;
    std::size_t rows;
    std::size_t columns;
    std::size_t first;  // where it begins in the whole θ
  };

  model* whole_;
  std::vector<float> frozen_;
  std::size_t rank_;
  std::vector<matrix> adapted_;
  std::vector<float> merged_;
  std::vector<float> gradient_;
};

}  // namespace apps
