// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

/// What most tests of refusals ask with.
inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
