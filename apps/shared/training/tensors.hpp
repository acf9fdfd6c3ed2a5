// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/parameters.hpp>
#include <tacit/zo/transcript.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace apps {

/// Names and shapes in the order of θ, row by row in memory.
using tensor_list = std::vector<std::pair<std::string, std::vector<std::size_t>>>;

/// The number of entries of a tensor.
std::size_t entries(std::vector<std::size_t> const& shape);

/// As a transcript and a file list them.
std::vector<tacit::recorded_tensor> recorded_tensors(tensor_list const& tensors);

/// Views of parameters that lie one after another.
tacit::parameters named_tensors(tensor_list const& tensors, std::span<float> theta);

}  // namespace apps
