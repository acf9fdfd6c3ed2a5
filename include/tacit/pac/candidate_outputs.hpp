// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/pac/congruence.hpp>
#include <tacit/pac/dense.hpp>

#include <Eigen/Core>

#include <cstddef>
#include <utility>

namespace tacit {

/// The outputs of a black box on all M candidates for the secret dataset, and how likely each is to the
/// adversary. Figures computed from them are about the mechanism itself, not about a sample of it, and so
/// may be certified.
template <dense_scalar T = double>
class basic_candidate_outputs {
 public:
  /// One row of d numbers a candidate; all equally likely.
  /// @throws as below
  explicit basic_candidate_outputs(matrix_of<T> rows)
      : basic_candidate_outputs(std::move(rows), vector_of<T>()) {}

  /// `weights`: one a row, proportional to the probabilities, such as a posterior after earlier
  /// releases. A weight of 0 rules a candidate out.
  /// @throws std::invalid_argument unless there is at least one row and one column, and one weight a
  ///         row; std::domain_error unless all numbers are finite, all weights at least 0 and one is
  ///         positive
  basic_candidate_outputs(matrix_of<T> rows, vector_of<T> weights) : rows_(std::move(rows)) {
    detail::require_argument(rows_.rows() > 0 && rows_.cols() > 0, "candidate_outputs",
                             "number of entries", rows_.size(), "positive");
    for (double const y : rows_.reshaped()) detail::check_finite("candidate_outputs", "output", y);
    if (weights.size() == 0) weights = vector_of<T>::Ones(rows_.rows());
    reweigh(std::move(weights));
  }

  /// The same outputs for an adversary who has learned more.
  /// @throws as the constructor
  void reweigh(vector_of<T> weights) {
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
  [[nodiscard]] matrix_of<T> const& rows() const noexcept { return rows_; }

  /// p: sums to 1 up to rounding.
  [[nodiscard]] vector_of<T> const& probabilities() const noexcept { return probabilities_; }

  /// H(X) = −Σ p log p, nearest: no release of any kind gives away more.
  [[nodiscard]] nats entropy() const { return entropy_of({probabilities_.data(), size()}); }

  /// Σ p_m y_m.
  [[nodiscard]] vector_of<T> mean() const { return rows_.transpose() * probabilities_; }

  /// y_m − mean, M×d: two passes, so that a large common offset costs no digits.
  [[nodiscard]] matrix_of<T> centred() const {
    matrix_of<T> out = rows_.rowwise() - rows_.row(0);
    out.rowwise() -= (probabilities_.transpose() * out).eval();
    return out;
  }

  /// Σ p_m (y_m − mean)(y_m − mean)ᵀ, d×d.
  [[nodiscard]] matrix_of<T> covariance() const {
    return detail::scatter(centred(), probabilities_);
  }

  /// Its diagonal, without the matrix.
  [[nodiscard]] vector_of<T> variances() const {
    return centred().cwiseAbs2().transpose() * probabilities_;
  }

 private:
  matrix_of<T> rows_;
  vector_of<T> probabilities_;
};

using candidate_outputs = basic_candidate_outputs<>;

}  // namespace tacit
