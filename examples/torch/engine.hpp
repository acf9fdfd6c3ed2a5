// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/parameters.hpp>

#include "../llama/records.hpp"
#include "model_folder.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

/// libtorch as a function from records to losses. Its headers are not needed to use it.

/// What became of a record: the mean surprise over the answer's tokens, in nats; and whether each of them was the
/// likeliest of all tokens.
struct answered {
  double loss;
  bool right;
};

/// AdamW over all tokens of all records, in random batches, without privacy.
struct open_training {
  std::size_t epochs = 4;
  std::size_t batch = 32;
  double rate = 1e-3;  ///< falls linearly to 0
  double weight_decay = 0.01;
  std::uint64_t seed = 1;
};

class engine {
 public:
  /// The records whose losses will be asked for are the given `own` of `all`. (All of them say how long texts are
  /// padded, so that one rank computes what another would.) Computes with this many threads.
  /// @throws std::runtime_error as `model_folder::load`; for a record that the tokenizer cannot represent, or that is
  ///         longer than the model reads
  engine(model_folder const& model, std::vector<record> const& all, std::span<record const> own,
         int threads);
  engine(model_folder const& model, std::vector<record> const& all, int threads)
      : engine(model, all, all, threads) {}
  /// A model with random weights (GPT-2's: N(0, 0.02²), smaller where a block ends), and no records.
  engine(model_folder const& model, std::uint64_t seed);
  ~engine();

  /// The weights, in the order of `tensors_of`, one tensor after the other in one piece of memory.
  [[nodiscard]] tacit::parameters const& parameters() const;

  [[nodiscard]] std::size_t records() const;

  /// The records of these indices at the weights as they are now. A record's answer is the same bits whoever else is
  /// asked for: it has a row of its own, by its index, in batches of one shape, whose other rows do not reach it.
  void answer(std::span<std::size_t const> which, std::span<answered> out) const;

  /// The gradient of a record's loss, by autograd.
  /// @throws std::invalid_argument unless the weights are floats
  void gradient(std::size_t record, std::span<float> out) const;

  /// Trains the weights openly on all records.
  void train(open_training const& how) const;

  /// Seconds spent in forward passes, and in backward ones.
  [[nodiscard]] double forward_seconds() const;

 private:
  struct parts;
  std::unique_ptr<parts> own_;
};
