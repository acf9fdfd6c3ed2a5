// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training/tensors.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace apps {

/// What private training sees of a model: N records, a loss and a gradient for each, and a score of
/// the whole. θ lies in the caller's memory, floats one after another; where it lies changes no
/// bit. A model keeps its buffers: one a thread.
class model {
 public:
  virtual ~model() = default;

  virtual tensor_list tensors() const = 0;
  std::size_t parameters() const;

  /// Where private training begins: what was learnt from public data, and from the public stream of
  /// this seed whatever is new.
  virtual std::vector<float> initial(std::uint64_t seed) const = 0;

  virtual std::size_t records() const = 0;

  /// The loss of every record.
  virtual void losses(std::span<float const> theta, std::span<double> out) = 0;

  /// The losses of some records, in their order, at the price of those alone. A record's is the same
  /// bits whichever the others are: what it adds to a noisy sum must not depend on them.
  virtual void losses(std::span<float const> theta, std::span<std::size_t const> some,
                      std::span<double> out) = 0;

  /// The gradient of one record's loss.
  virtual void gradient(std::span<float const> theta, std::size_t record, std::span<float> out) = 0;

  /// On records for the test alone: accuracy, or perplexity of a language model.
  virtual double score(std::span<float const> theta) = 0;

 protected:
  model() = default;
  model(model const&) = default;
  model& operator=(model const&) = default;

  /// @throws std::invalid_argument, naming the argument
  void check(std::span<float const> theta) const;
  void check(std::span<float const> theta, std::span<double> losses) const;
  void check(std::span<float const> theta, std::span<std::size_t const> some,
             std::span<double> losses) const;
  void check(std::span<float const> theta, std::size_t record, std::span<float> gradient) const;
};
}  // namespace apps
