// SPDX-License-Identifier: Apache-2.0
// A plain number has no unit to add.
#include <tacit/core/units.hpp>

tacit::nats const amount(0.5);
#ifdef CONTROL
tacit::nats const sum = amount + tacit::nats(1.0);
#else
tacit::nats const sum = amount + 1.0;
#endif
