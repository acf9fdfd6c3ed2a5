// SPDX-License-Identifier: Apache-2.0
// One charge pays for one release.
#include <tacit/core/ledger.hpp>
#include <tacit/core/units.hpp>

#include <utility>

tacit::receipt<tacit::nats> second(tacit::receipt<tacit::nats>& first);
tacit::receipt<tacit::nats> second(tacit::receipt<tacit::nats>& first) {
#ifdef CONTROL
  return std::move(first);
#else
  return first;
#endif
}
