// SPDX-License-Identifier: Apache-2.0
// An amount of information is not a plain number: say `.value` or `.in_bits()`.
#include <tacit/core/units.hpp>

tacit::nats const amount(0.5);
#ifdef CONTROL
double const number = amount.value;
#else
double const number = amount;
#endif
