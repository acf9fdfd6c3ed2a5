// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include <cstdint>
#include <random>

/// Standard normal numbers, the same in every run.
inline Eigen::MatrixXd normals(Eigen::Index rows, Eigen::Index columns, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd out(rows, columns);
  for (double& x : out.reshaped()) x = normal(random);
  return out;
}
