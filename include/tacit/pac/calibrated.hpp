// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/mi_bound.hpp>

namespace tacit {

/// Noise, and the information that a release with it gives away. `Figure` is `mi_bound` or
/// `mi_estimate`: where a certificate is asked for, an estimate does not compile.
template <class Figure, dense_scalar T>
struct calibrated {
  basic_gaussian_noise<T> noise;
  Figure information;
};

}  // namespace tacit
