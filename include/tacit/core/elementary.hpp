// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary/circular.hpp>
#include <tacit/core/elementary/erfc.hpp>
#include <tacit/core/elementary/exponential.hpp>
#include <tacit/core/elementary/hyperbolic.hpp>
#include <tacit/core/elementary/logarithm.hpp>
#include <tacit/core/elementary/plane.hpp>
#include <tacit/core/elementary/wide.hpp>

/// Elementary functions in double with proven errors and the same bits on every platform: exp, expm1, tanh, log,
/// log1p, sin, cos, erfc, sinh, cosh, atan2 and hypot, without a table.
/// In long double, too, so that formulas for either name one function. docs/certificates/elementary.md has the theorems,
/// tools/proofs.sh checks them.

namespace tacit::elementary {

// By how many doubles a result may be off: the truth lies between the n-th double below it and the n-th
// above (corollary 9).
inline constexpr int exp_steps = 2;
inline constexpr int expm1_steps = 3;
inline constexpr int tanh_steps = 5;
inline constexpr int log_steps = 2;
inline constexpr int log1p_steps = 2;
inline constexpr int sin_steps = 2;
inline constexpr int cos_steps = 2;
inline constexpr int erfc_steps = 18;

}  // namespace tacit::elementary
