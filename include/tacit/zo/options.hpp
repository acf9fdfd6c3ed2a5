// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/zo/direction.hpp>

#include <cstddef>
#include <cstdint>

namespace tacit {

enum class schedule {
  constant,  ///< η_t = η
  linear     ///< η_t = η·(1 − t/T) for the steps t = 0 … T−1, then 0
};

struct train_options {
  double smoothing = required;      ///< μ
  double learning_rate = required;  ///< η
  double weight_decay = 0.0;        ///< λ ≥ 0, with ηλ ≤ 1
  schedule decay = schedule::constant;
  std::size_t steps = 0;  ///< T; only `linear` needs it
  direction_law law = direction_law::rademacher;
  std::uint64_t seed = 0;  ///< public: names the directions
};

}  // namespace tacit
