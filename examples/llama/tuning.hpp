// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/options.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/storage.hpp>
#include <tacit/zo/two_point.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <variant>

/// A private run around any loss, and what it leaves on disk. Knows no engine.

struct tuning {
  std::string mechanism = "paczero-mi";  ///< or paczero-zpl, dpzero, dp-aggzo
  std::size_t steps = 300;
  std::size_t directions = 1;  ///< K; 1 for dpzero
  double smoothing = 1e-2;
  double learning_rate = 1e-2;
  tacit::rounding_mode rounding = tacit::rounding_mode::nearest;  ///< of updates to 16 bits
  std::uint64_t seed = 1;  ///< public: of directions and candidate subsets
  double nats = 0.33;      ///< budget of paczero-mi
  double epsilon = 8.0;    ///< of dpzero and dp-aggzo, with
  double delta = 1e-5;
  double rate = 0.2;            ///< of their Poisson batches
  double clip = 1.0;            ///< of a record's slope
  std::string transcript = {};  ///< the file of the releases: public
  std::string save = {};        ///< of PACZero's state: secret. A run that is there is resumed

  [[nodiscard]] tacit::train_options training() const {
    return {.smoothing = smoothing,
            .learning_rate = learning_rate,
            .decay = tacit::schedule::linear,
            .steps = steps,
            .seed = seed,
            .rounding = rounding};
  }
};

/// @throws std::runtime_error naming a tensor in which there is NaN or an infinity: what was tuned is of no use then
inline void require_finite(tacit::parameters const& tuned) {
  for (tacit::tensor const& one : tuned.all()) {
    bool const well = std::visit(
        []<class T>(std::span<T> entries) {
          return std::all_of(entries.begin(), entries.end(),
                             [](T x) { return std::isfinite(tacit::to_float(x)); });
        },
        one.entries);
    if (!well) {
      throw std::runtime_error("tensor " + one.name +
                               " has come to have a number that is not finite: the steps are too "
                               "long");
    }
  }
}

/// Fills in the losses of these records, at these parameters.
using batch_loss =
    std::function<void(tacit::parameters const&, tacit::record_indices, std::span<double>)>;

/// Takes the steps that are left. In: the initial parameters; out: the tuned ones, which `replay` makes of the
/// initial ones and the transcript, too.
/// Returns what the run has promised.
/// @throws what the library throws, and whatever the loss throws
std::string tune(tuning const& how, tacit::parameters const& theta, std::size_t records,
                 batch_loss const& loss);
