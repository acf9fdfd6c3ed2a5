// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/event.hpp>
#include <tacit/dp/matrix/error.hpp>

#include "arguments.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace calculator {

/// A matrix mechanism's run, as the options of a verb state it.
struct matrix_plan {
  std::string words;                             // without the noise
  std::vector<tacit::composed> with_unit_noise;  // what is released for noise of the clipping norm
  // In its place where noise is no factor: what is known by its divergences.
  std::function<std::vector<tacit::composed>(double)> by_divergences;
  std::optional<tacit::squared_error>
      error;  // of the prefix sums, for that noise; not of very long runs

  /// The releases with this noise. Rounding takes noise, and never adds any.
  /// @throws bad_input where there is no bound for it
  std::vector<tacit::composed> releases(double noise_multiplier) const;
};

void declare_matrix_plan(arguments& of);
matrix_plan read_matrix_plan(arguments const& of, tacit::adjacency neighbours);

}  // namespace calculator
