// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary/circular.hpp>
#include <tacit/core/elementary/erfc.hpp>
#include <tacit/core/elementary/exponential.hpp>
#include <tacit/core/elementary/logarithm.hpp>

/// Elementary functions in double with proven errors and the same bits on every platform, without a
/// branch or a table, so that loops are vectorised. docs/certificates/elementary.md has the theorems,
/// tools/proofs.sh checks them.

namespace tacit::elementary {

// How many doubles the truth is beside the result at most: it lies between the n-th double below
// and the n-th above (corollary 9).
inline constexpr int exp_steps = 2;
inline constexpr int expm1_steps = 3;
inline constexpr int tanh_steps = 5;
inline constexpr int log_steps = 2;
inline constexpr int log1p_steps = 2;
inline constexpr int sin_steps = 2;
inline constexpr int cos_steps = 2;
inline constexpr int erfc_steps = 18;

}  // namespace tacit::elementary
