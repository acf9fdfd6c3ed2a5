// SPDX-License-Identifier: Apache-2.0
// `1.0_bits` is an amount of information, converted: it is no count of bits.
#include <tacit/core/units.hpp>

using namespace tacit::literals;
#ifdef CONTROL
tacit::nats const amount = 1.0_bits;
#else
double const amount = 1.0_bits;
#endif
