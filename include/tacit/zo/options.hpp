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

/// How a gradient moves the parameters (zo/optimise.hpp has the formulas).
enum class optimiser_rule {
  sgd,       ///< by itself
  momentum,  ///< Σ_s μ^(t−s)·g_s
  adam,      ///< with the decay in the gradient
  adamw,     ///< with the decay beside it
};

struct optimiser_options {
  optimiser_rule rule = optimiser_rule::sgd;
  double momentum = 0.9;  ///< μ, of `momentum`
  double beta1 = 0.9;     ///< of Adam, as the next two
  double beta2 = 0.999;
  double epsilon = 1e-8;

  /// What the rule does not read may differ.
  friend bool operator==(optimiser_options const& a, optimiser_options const& b) noexcept {
    if (a.rule != b.rule || a.rule == optimiser_rule::sgd) return a.rule == b.rule;
    if (a.rule == optimiser_rule::momentum) return a.momentum == b.momentum;
    return a.beta1 == b.beta1 && a.beta2 == b.beta2 && a.epsilon == b.epsilon;
  }
};

/// How what a release moves is rounded to storage (zo/stochastic.hpp).
enum class rounding_mode {
  nearest,  ///< an update below half a unit in the last place of its entry is lost
  stochastic,  ///< up or down by public draws, right on average; of half and bfloat16 tensors, with sgd
};

struct train_options {
  double smoothing = required;      ///< μ: for half and bfloat16 a power of two (zo/step.hpp)
  double learning_rate = required;  ///< η
  double weight_decay = 0.0;        ///< λ ≥ 0, with ηλ ≤ 1
  schedule decay = schedule::constant;
  std::size_t steps = 0;  ///< T; only `linear` needs it
  direction_law law = direction_law::rademacher;
  std::uint64_t seed = 0;  ///< public: names the directions
  optimiser_options optimiser{};
  rounding_mode rounding = rounding_mode::nearest;
};

}  // namespace tacit
