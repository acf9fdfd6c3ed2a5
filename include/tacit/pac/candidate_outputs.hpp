// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/pac/congruence.hpp>

#include <Eigen/Core>

#include <cstddef>
#include <utility>

namespace tacit {

/// Everything that a black box could have said: the outputs of all M candidates for the secret dataset,
/// and how likely each is to the adversary. What is computed from them is about the mechanism itself,
/// not about a sample of it, and so may be certified.
class candidate_outputs {
 public:
  /// One row of d numbers a candidate; all equally likely.
  /// @throws as below
  explicit candidate_outputs(Eigen::MatrixXd rows)
      : candidate_outputs(std::move(rows), Eigen::VectorXd()) {}

  /// `weights`: one a row, proportional to the probabilities, such as a posterior after earlier
  /// releases. A weight of 0 rules a candidate out.
  /// @throws std::invalid_argument unless there is at least one row and one column, and one weight a
  ///         row; std::domain_error unless all numbers are finite, all weights at least 0 and one is
  ///         positive
  candidate_outputs(Eigen::MatrixXd rows, Eigen::VectorXd weights) : rows_(std::move(rows)) {
    detail::require_argument(rows_.rows() > 0 && rows_.cols() > 0, "candidate_outputs",
                             "number of entries", rows_.size(), "positive");
    for (double const y : rows_.reshaped()) detail::check_finite("candidate_outputs", "output", y);
    if (weights.size() == 0) weights = Eigen::VectorXd::Ones(rows_.rows());
    reweigh(std::move(weights));
  }

  /// The same outputs for an adversary who has learned more.
  /// @throws as the constructor
  void reweigh(Eigen::VectorXd weights) {
    detail::check_size("candidate_outputs", "number of weights",
                       static_cast<std::size_t>(weights.size()), size());
    for (double const w : weights) detail::check_non_negative("candidate_outputs", "weight", w);
    double const largest = weights.maxCoeff();
    detail::require_domain(largest > 0.0, "candidate_outputs", "largest weight", largest,
                           "positive");
    weights /= largest;  // their sum may not overflow
    probabilities_ = weights / weights.sum();
  }

  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(rows_.rows()); }
  [[nodiscard]] std::size_t dimension() const noexcept {
    return static_cast<std::size_t>(rows_.cols());
  }

  /// M×d.
  [[nodiscard]] Eigen::MatrixXd const& rows() const noexcept { return rows_; }

  /// p: sums to 1 up to rounding.
  [[nodiscard]] Eigen::VectorXd const& probabilities() const noexcept { return probabilities_; }

  /// H(X) = −Σ p log p, nearest: no release of any kind tells more.
  [[nodiscard]] nats entropy() const { return entropy_of({probabilities_.data(), size()}); }

  /// Σ p_m y_m.
  [[nodiscard]] Eigen::VectorXd mean() const { return rows_.transpose() * probabilities_; }

  /// y_m − mean, M×d: two passes, so that a large common offset costs no digits.
  [[nodiscard]] Eigen::MatrixXd centred() const {
    Eigen::MatrixXd out = rows_.rowwise() - rows_.row(0);
    out.rowwise() -= (probabilities_.transpose() * out).eval();
    return out;
  }

  /// Σ p_m (y_m − mean)(y_m − mean)ᵀ, d×d.
  [[nodiscard]] Eigen::MatrixXd covariance() const {
    return detail::scatter(centred(), probabilities_);
  }

  /// Its diagonal, without the matrix.
  [[nodiscard]] Eigen::VectorXd variances() const {
    return centred().cwiseAbs2().transpose() * probabilities_;
  }

 private:
  Eigen::MatrixXd rows_;
  Eigen::VectorXd probabilities_;
};

}  // namespace tacit
