// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/device_entries.hpp>
#include <tacit/zo/direction.hpp>
#include <tacit/zo/direction_block.hpp>
#include <tacit/zo/direction_vectors.hpp>
#include <tacit/zo/gpu_runtime.hpp>
#include <tacit/zo/hash.hpp>
#include <tacit/zo/journal.hpp>
#include <tacit/zo/launch.hpp>
#include <tacit/zo/launch_gpu.hpp>
#include <tacit/zo/moves.hpp>
#include <tacit/zo/optimise.hpp>
#include <tacit/zo/optimiser_state.hpp>
#include <tacit/zo/options.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/quantised_blocks.hpp>
#include <tacit/zo/quantised_parameters.hpp>
#include <tacit/zo/run_record.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/stochastic.hpp>
#include <tacit/zo/storage.hpp>
#include <tacit/zo/symbols.hpp>
#include <tacit/zo/transcript.hpp>
#include <tacit/zo/two_point.hpp>
#include <tacit/zo/vectors.hpp>
