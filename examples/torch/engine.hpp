// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/mechanism/parameter_groups.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/zo/parameters.hpp>

#include "../llama/records.hpp"
#include "device.hpp"
#include "model_folder.hpp"
#include "passes.hpp"

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
  /// padded, so that one rank computes what another would.)
  /// @throws std::runtime_error as `model_folder::load` and `prepare`; for a record that the tokenizer cannot represent, or that is
  ///         longer than the model reads
  engine(model_folder const& model, std::vector<record> const& all, std::span<record const> own,
         place const& where = {});
  engine(model_folder const& model, std::vector<record> const& all, place const& where = {})
      : engine(model, all, all, where) {}
  /// A model with random weights (GPT-2's: N(0, 0.02²), smaller where a block ends), and no records.
  engine(model_folder const& model, std::uint64_t seed);
  ~engine();

  /// The weights where they lie, in the order of `tensors_of` in one piece of memory, and who moves them there. On a
  /// device they are one tensor.
  [[nodiscard]] placed weights() const;

  /// The weights as they are now, by their names: on a device a copy, which lasts until the next call.
  [[nodiscard]] tacit::parameters const& on_host() const;

  [[nodiscard]] std::size_t records() const;

  /// The records of these indices at the weights as they are now. A record's answer is the same bits whoever else is
  /// asked for: it has a row of its own, by its index, in batches of one shape, whose other rows do not reach it.
  void answer(std::span<std::size_t const> which, std::span<answered> out) const;

  /// The gradient of a record's loss, by autograd.
  /// @throws std::invalid_argument unless the weights are floats
  void gradient(std::size_t record, std::span<float> out) const;

  /// On a CUDA device, its products with the unit Rademacher directions of the groups, as
  /// `tacit::project_on_groups`, in double; the order of the sum is the device's.
  void project(std::size_t record, tacit::stream_id stream,
               std::span<tacit::parameter_range const> groups, std::span<double> out) const;

  /// Trains the weights openly on all records.
  void train(open_training const& how) const;

  /// Seconds spent in forward passes, and in backward ones.
  [[nodiscard]] double forward_seconds() const;

 private:
  struct parts;
  std::unique_ptr<parts> own_;
};
