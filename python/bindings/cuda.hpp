// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/launch.hpp>

#include <cstddef>
#include <span>

/// Parameters in the memory of an NVIDIA device. cuda.cu has the bodies, which the package is built with where
/// TACIT_CUDA is on; nothing here is called otherwise.

namespace binding {

/// Runs a pass over tensors that lie in this device's memory, after whatever the device was doing; returns when it is
/// done.
/// @throws std::runtime_error with CUDA's own words
template <class Pass>
void run_on_device(int device, std::span<tacit::pass_over<Pass> const> parts);

/// @throws std::runtime_error with CUDA's own words
void copy_from_device(int device, void* to, void const* from, std::size_t bytes);

}  // namespace binding
