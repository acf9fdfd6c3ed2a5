// SPDX-License-Identifier: Apache-2.0
// A plain number is not an amount of information: it may be bits.
#include <tacit/core/units.hpp>

#ifdef CONTROL
tacit::nats const amount = tacit::nats(0.5);
#else
tacit::nats const amount = 0.5;
#endif
