// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "training/data.hpp"
#include "training/mlp.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace apps {

/// A network that has learnt the public part of a table and is about to be tuned on the private one.
struct task {
  split_data data;
  mlp shape;
  std::vector<float> start;  // the parameters after public training
  double start_accuracy;     // on the test part
  std::uint64_t seed;        // public: split, first parameters, candidate subsets, directions
};

struct task_options {
  split_options split{};
  std::size_t hidden = 32;
  int epochs = 300;  // of public training
};

task prepare(dataset const& all, std::uint64_t seed, task_options const& options = {});

}  // namespace apps
