// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/mechanism/parameter_groups.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/run_record.hpp>
#include <tacit/zo/transcript.hpp>

#include "../llama/mechanisms.hpp"
#include "../llama/tuning.hpp"
#include "passes.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

/// FERRET around any gradient, and its transcript. It releases a masked sign for each half of the tensors and asks
/// for the gradients of a secret batch's records, where the others ask for losses. Knows no engine.

inline constexpr char const* ferret_name = "ferret";

/// Fills in the gradient of this record's loss, as many numbers as there are parameters.
using record_gradient = std::function<void(std::size_t, std::span<float>)>;

/// Writes the product of that gradient and the direction of each group: `tacit::project_on_groups`, or what a device
/// computes.
using record_projection =
    std::function<void(std::size_t record, tacit::stream_id,
                       std::span<tacit::parameter_range const> groups, std::span<double> out)>;

/// On the host, of a gradient that has so many numbers.
record_projection projection_of(record_gradient gradient, std::size_t size);

/// Takes all steps. Of `how` the budget in nats, rate, clip, steps, learning rate, seed and transcript matter; `watched`
/// is that of shared_tuning.hpp.
/// @throws std::invalid_argument for parameters that are not floats in one piece, or a state to keep; what the
///         library throws; and whatever the gradient throws
promise tune_ferret(tuning const& how, tacit::participants const& taking_part,
                    placed const& weights, std::vector<tacit::recorded_tensor> const& tensors,
                    record_projection const& projection, std::size_t watched = 0);

/// In: the parameters with which the run began. Out: the tuned ones, bit for bit those of training.
/// @throws std::invalid_argument for any other parameters, which are left as they are
void replay_ferret(tacit::parameters const& theta, tacit::transcript const& run);
