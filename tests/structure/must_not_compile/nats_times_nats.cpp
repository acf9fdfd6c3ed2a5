// SPDX-License-Identifier: Apache-2.0
// Information has no square.
#include <tacit/core/units.hpp>

tacit::nats const amount(0.5);
#ifdef CONTROL
tacit::nats const twice = tacit::nats(2.0 * amount.value);
#else
tacit::nats const twice = amount * amount;
#endif
