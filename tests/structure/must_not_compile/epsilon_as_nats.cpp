// SPDX-License-Identifier: Apache-2.0
// (epsilon, delta) turns into nats by a theorem, never by itself.
#include <tacit/core/units.hpp>

constexpr tacit::approx_dp spent{.epsilon = 1.0, .delta = 1e-5};
#ifdef CONTROL
tacit::nats const amount = tacit::nats(spent.epsilon);
#else
tacit::nats const amount = spent;
#endif
