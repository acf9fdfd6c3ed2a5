// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/pac/dense.hpp>

#include <Eigen/Core>

#include <cmath>

namespace tacit::detail {

/// Adam (Kingma & Ba 2015), uphill, with β₁ = .9 and β₂ = .99: for critics and followers, whose steps are
/// planned beforehand. The rate falls in a straight line from `rate` to 0.
template <dense_scalar T = double>
class adam_ascent {
 public:
  adam_ascent(Eigen::Index parameters, double rate, int steps, double least_root)
      : first_(vector_of<T>::Zero(parameters)),
        second_(vector_of<T>::Zero(parameters)),
        rate_(rate),
        steps_(steps),
        least_root_(least_root) {}

  /// What to add to the parameters.
  [[nodiscard]] vector_of<T> move(vector_of<T> const& slope) {
    first_ = 0.9 * first_ + 0.1 * slope;
    second_ = 0.99 * second_ + 0.01 * slope.cwiseAbs2();
    double const left = 1.0 - static_cast<double>(done_) / steps_;
    ++done_;
    double const warm =
        rate_ * std::sqrt(1.0 - std::pow(0.99, done_)) / (1.0 - std::pow(0.9, done_));
    double const cooled = warm * left;
    return (cooled * first_.array() / (second_.array().sqrt() + least_root_)).matrix();
  }

 private:
  vector_of<T> first_;
  vector_of<T> second_;
  double rate_;
  int steps_;
  double least_root_;
  int done_ = 0;
};

}  // namespace tacit::detail
