// SPDX-License-Identifier: Apache-2.0
// A figure without a certificate never becomes a bound.
#include <tacit/core/units.hpp>

constexpr tacit::estimate<double> figure{.value = 1.0, .standard_error = 0.1};
#ifdef CONTROL
tacit::bound<double> const certified{.lower = figure.value, .upper = figure.value};
#else
tacit::bound<double> const certified{figure};
#endif
