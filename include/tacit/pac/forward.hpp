// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

/// The names of noise and of calibrated noise, without Eigen.

namespace tacit {

/// The scalars for which error bounds are proved: they count roundings of double.
template <class T>
concept dense_scalar = std::same_as<T, double>;

template <dense_scalar T = double>
class basic_gaussian_noise;

using gaussian_noise = basic_gaussian_noise<>;

template <class Figure, dense_scalar T = double>
struct calibrated;

}  // namespace tacit
