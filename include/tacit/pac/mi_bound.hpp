// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>

namespace tacit {

/// I(X; Z) ≤ `value`: with certainty where the confidence is 1, else with at least that probability over the
/// random draws from which it was computed.
struct mi_bound {
  nats value;
  double confidence = required;
};

/// An estimate of I(X; Z). Nothing is certified, and it never becomes a bound.
struct mi_estimate {
  nats value;
};

}  // namespace tacit
