// SPDX-License-Identifier: Apache-2.0
// (epsilon, delta) and nats do not compare.
#include <tacit/core/units.hpp>

constexpr tacit::approx_dp spent{.epsilon = 1.0, .delta = 1e-5};
constexpr tacit::nats amount(0.5);
#ifdef CONTROL
bool const less = tacit::nats(spent.epsilon) < amount;
#else
bool const less = spent < amount;
#endif
