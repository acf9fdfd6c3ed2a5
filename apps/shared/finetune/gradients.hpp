// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "finetune/tuning_run.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace apps {

/// The gradients of a step: of one record at a time for the mechanism, of all of them for the attacker. `change` is
/// made to each.
class step_gradients {
 public:
  explicit step_gradients(tuning_run& run, std::function<void(std::span<float>)> change = {});

  void begin_step() { batch_.assign(run_->records(), 0); }

  /// One record's gradient; the record is then in the step's batch.
  void write(std::size_t record, std::span<float> out);

  /// Those of all records, before θ moves.
  void compute_all();
  std::span<float> at(std::size_t record) {
    return std::span(all_).subspan(record * dimension_, dimension_);
  }

  std::span<std::uint8_t const> batch() const { return batch_; }

 private:
  void compute(std::size_t record, std::span<float> out);

  tuning_run* run_;
  std::function<void(std::span<float>)> change_;
  std::size_t dimension_;
  std::vector<float> all_;
  std::vector<std::uint8_t> batch_;
};

/// Parameters [first, last), clipped and noised together.
struct clipped_part {
  std::size_t first, last;
  double clip, sigma;
};

/// Shows the attacker a release of clipped, noised and averaged gradients, if it watches.
void show_noisy_gradient(tuning_run& run, step_gradients& gradients,
                         std::span<float const> released, double divisor,
                         std::vector<clipped_part> const& parts);

/// The sizes of the model's tensors, which are groups of parameters to FERRET and RLDP.
std::vector<std::size_t> tensor_sizes(model const& of);

}  // namespace apps
