// SPDX-License-Identifier: Apache-2.0
// A drawn sign teaches what a sign teaches: it is no value.
#include <tacit/mechanism/paid_release.hpp>

#include <cstdint>
#include <span>

using namespace tacit;

void learn(posterior& belief, std::span<std::int8_t const> signs, drawn_sign const& seen);
void learn(posterior& belief, std::span<std::int8_t const> signs, drawn_sign const& seen) {
#ifdef CONTROL
  observe(belief, signs, seen);
#else
  drawn_value const& value = seen;
  observe(belief, signs, value);
#endif
}
