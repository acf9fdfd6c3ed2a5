// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/mechanism/participants.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/run_record.hpp>

#include "../llama/mechanisms.hpp"
#include "../llama/tuning.hpp"
#include "passes.hpp"

#include <mpi/communicator.hpp>
#include <mpi/shard.hpp>

#include <vector>

/// A private run on the records of all ranks. Knows no engine.

/// Takes the steps that are left, on every rank alike. In: the initial parameters; out: the tuned ones, which
/// `replay` makes of the initial ones and the transcript, too. `own` is this rank's shard of the records, whose
/// losses `loss` computes; it counts them from 0. Rank 0 has the mechanism and writes the files, and its promise is
/// the run's; the others return an empty one. What travels are N scalars a direction, the numbers of the records that
/// are asked for, and the release. With `watched` an informed adversary guesses of so many records, the last ones,
/// whether they take part, and the promise says how often it is right; whom it watches changes no release's law.
/// @throws what the library throws, apps::shared_failure on all ranks, and whatever the loss throws
promise tune(apps::communicator& ranks, tuning const& how, tacit::participants const& taking_part,
             apps::shard own, placed const& weights,
             std::vector<tacit::recorded_tensor> const& tensors, batch_loss const& loss,
             std::size_t watched = 0);
