// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/pac/candidates.hpp>

#include <Eigen/Core>

#include <cstddef>

namespace studies {

/// Subsets of the records, each record in half of them.
struct subset_means {
  tacit::candidate_set set;
  Eigen::MatrixXd means;  // a row a subset, of columns with variance 1 over all records

  subset_means(Eigen::MatrixXd const& records, std::size_t subsets)
      : set(tacit::candidate_set::balanced(
            {.records = static_cast<std::size_t>(records.rows()), .subsets = subsets}, 1)) {
    Eigen::MatrixXd members(static_cast<Eigen::Index>(subsets), records.rows());
    for (Eigen::Index m = 0; m < members.rows(); ++m) {
      for (Eigen::Index i = 0; i < members.cols(); ++i) {
        members(m, i) = set.contains(static_cast<std::size_t>(m), static_cast<std::size_t>(i));
      }
    }
    means = members.rowwise().sum().cwiseInverse().asDiagonal() * (members * records);
    Eigen::RowVectorXd const centre = records.colwise().mean();
    auto const count = static_cast<double>(records.rows());
    Eigen::RowVectorXd const scale =
        ((records.rowwise() - centre).colwise().squaredNorm() / count).cwiseSqrt();
    means *= scale.cwiseInverse().asDiagonal();
  }
};

}  // namespace studies
