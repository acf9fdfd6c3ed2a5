// SPDX-License-Identifier: Apache-2.0
// Nats are no epsilon: information is an average, epsilon a worst case.
#include <tacit/core/units.hpp>

constexpr tacit::nats amount(0.5);
#ifdef CONTROL
tacit::approx_dp const spent{.epsilon = amount.value, .delta = 0.0};
#else
tacit::approx_dp const spent{.epsilon = amount, .delta = 0.0};
#endif
