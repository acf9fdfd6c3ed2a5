// SPDX-License-Identifier: Apache-2.0
// A plain number has no unit to compare with.
#include <tacit/core/units.hpp>

tacit::nats const amount(0.5);
#ifdef CONTROL
bool const less = amount < tacit::nats(1.0);
#else
bool const less = amount < 1.0;
#endif
