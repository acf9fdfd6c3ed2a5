// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/journal.hpp>
#include <tacit/zo/options.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/transcript.hpp>

#include "training/experiment.hpp"
#include "training/model.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace examples {

/// The network's tensors as others know them: hidden.weight (hidden x inputs, row by row),
/// hidden.bias, output.weight (classes x hidden), output.bias.
std::vector<tacit::recorded_tensor> tensors_of(mlp const& shape);

/// The same, as views of parameters that lie one after another.
tacit::parameters named(mlp const& shape, std::span<float> theta);

/// All that is fixed before the first step of a run on this task. `magnitude` is that of its signs,
/// 0 for scalars.
tacit::run_record record_of(task const& job, tacit::train_options const& training,
                            tacit::recorded_mechanism mechanism, std::size_t directions,
                            tacit::symbol_kind symbols, double magnitude);

/// FILE.journal: where the transcript FILE is kept while its run goes on.
std::filesystem::path journal_of(std::filesystem::path transcript);

/// At the end of a run: the transcript in the place of its journal.
void seal(tacit::journal const& log, std::filesystem::path const& transcript);

}  // namespace examples
