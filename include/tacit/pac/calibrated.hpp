// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/pac/gaussian_noise.hpp>

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

/// Noise, and the information that a release with it gives away. `Figure` is `mi_bound` or
/// `mi_estimate`: where a certificate is asked for, an estimate does not compile.
template <class Figure, dense_scalar T = double>
struct calibrated {
  basic_gaussian_noise<T> noise;
  Figure information;
};

}  // namespace tacit
