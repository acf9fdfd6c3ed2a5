// SPDX-License-Identifier: Apache-2.0
#pragma once

/// By how many doubles a result may be off: the truth lies between the n-th double below it and the n-th above
/// (docs/certificates/elementary.md, corollary 9).

namespace tacit::elementary {

inline constexpr int exp_steps = 2;
inline constexpr int expm1_steps = 3;
inline constexpr int tanh_steps = 5;
inline constexpr int log_steps = 2;
inline constexpr int log1p_steps = 2;
inline constexpr int erfc_steps = 18;

}  // namespace tacit::elementary
