// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/pac/forward.hpp>

#include <Eigen/Core>

/// Dense types by their scalar.
///
/// Whatever computes with Eigen is a template over the scalar T, and its Eigen types depend on T: a body
/// is instantiated where it is called, and an include instantiates nothing. These names are never
/// deduced. So a function that takes `matrix_of<T> const&` takes any Eigen expression, and T comes from
/// its other arguments, or is double.

namespace tacit {

namespace detail {

template <class T>
struct dense {
  using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  using vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  using row = Eigen::Matrix<T, 1, Eigen::Dynamic>;
  using array = Eigen::Array<T, Eigen::Dynamic, 1>;
};

}  // namespace detail

template <dense_scalar T>
using matrix_of = typename detail::dense<T>::matrix;
template <dense_scalar T>
using vector_of = typename detail::dense<T>::vector;
template <dense_scalar T>
using row_of = typename detail::dense<T>::row;
template <dense_scalar T>
using array_of = typename detail::dense<T>::array;

}  // namespace tacit

// Matrices pass between a program and tacit::compiled, which is built for the vectors of every processor.
// Eigen aligns memory in another way for wider ones: a program for those instantiates by itself. So does one that
// links tacit::highway or tacit::lapacke, of which tacit::compiled has nothing.
#if defined(TACIT_COMPILED) && EIGEN_DEFAULT_ALIGN_BYTES == 16 && !defined(TACIT_HIGHWAY) && \
    !defined(TACIT_LAPACKE)
#define TACIT_COMPILED_DENSE
#endif
