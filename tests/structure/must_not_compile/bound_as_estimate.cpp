// SPDX-License-Identifier: Apache-2.0
// A bound has no standard error to give.
#include <tacit/core/units.hpp>

constexpr tacit::bound<double> certified{.lower = 0.0, .upper = 1.0};
#ifdef CONTROL
tacit::estimate<double> const figure{.value = certified.upper, .standard_error = 0.0};
#else
tacit::estimate<double> const figure{certified};
#endif
