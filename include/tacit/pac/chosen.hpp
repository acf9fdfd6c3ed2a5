// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/pac/dense.hpp>

#include <Eigen/Core>

#include <cstddef>
#include <vector>

/// Rows, columns and entries chosen by a list of indices, copied one by one: Eigen's indexed views bring
/// eight types for each kind of list, and every compilation pays for them.

namespace tacit::detail {

using places = std::vector<Eigen::Index>;

template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> chosen_columns(matrix_of<T> const& m, places const& at) {
  matrix_of<T> out(m.rows(), std::ssize(at));
  for (std::size_t i = 0; i < at.size(); ++i) out.col(static_cast<Eigen::Index>(i)) = m.col(at[i]);
  return out;
}

template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> chosen_rows(matrix_of<T> const& m, places const& at) {
  matrix_of<T> out(std::ssize(at), m.cols());
  for (Eigen::Index j = 0; j < m.cols(); ++j) {
    for (std::size_t i = 0; i < at.size(); ++i) out(static_cast<Eigen::Index>(i), j) = m(at[i], j);
  }
  return out;
}

template <dense_scalar T = double>
[[nodiscard]] vector_of<T> chosen_entries(vector_of<T> const& v, places const& at) {
  vector_of<T> out(std::ssize(at));
  for (std::size_t i = 0; i < at.size(); ++i) out(static_cast<Eigen::Index>(i)) = v(at[i]);
  return out;
}

/// A matrix of `height` rows, 0 but for those of `m` at their places.
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> placed_rows(matrix_of<T> const& m, places const& at,
                                       Eigen::Index height) {
  matrix_of<T> out = matrix_of<T>::Zero(height, m.cols());
  for (Eigen::Index j = 0; j < m.cols(); ++j) {
    for (std::size_t i = 0; i < at.size(); ++i) out(at[i], j) = m(static_cast<Eigen::Index>(i), j);
  }
  return out;
}

}  // namespace tacit::detail
