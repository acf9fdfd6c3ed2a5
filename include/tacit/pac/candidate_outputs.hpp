// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/pac/congruence.hpp>
#include <tacit/pac/dense.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace tacit {

/// What an adversary believes about M candidates after releases: weights up to a common factor, as
/// logarithms, each of which may be off by its `error`. −∞ rules a candidate out.
template <dense_scalar T = double>
struct basic_candidate_belief {
  vector_of<T> log_weights;
  vector_of<T> error;

  /// Normalised; nearest.
  [[nodiscard]] vector_of<T> probabilities() const {
    double const top = log_weights.maxCoeff();
    // Not Eigen's exp, which is not 0 at −∞.
    vector_of<T> const weights =
        log_weights.unaryExpr([top](double l) { return elementary::exp(l - top); });
    return weights / weights.sum();
  }
};

using candidate_belief = basic_candidate_belief<>;

/// The outputs of a black box on all M candidates for the secret dataset, and how likely each is to the
/// adversary. Figures computed from them are about the mechanism itself, not about a sample of it, and so
/// may be certified.
///
/// Outputs are real numbers: −0 becomes 0 here. A release must not show it either where there is no noise;
/// `gaussian_noise::shaped` returns no −0, and then output + shaped(…) is none.
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
    for (double& y : rows_.reshaped()) {
      detail::check_finite("candidate_outputs", "output", y);
      y += 0.0;
    }
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
    // Their sum may not overflow, and none that is possible becomes impossible.
    constexpr double least = std::numeric_limits<double>::min();
    for (double& w : weights) w = w > 0.0 ? std::max(w / largest, least) : 0.0;
    belief_.log_weights = weights.unaryExpr([](double w) { return elementary::log(w); });
    belief_.error = weights.unaryExpr([](double w) {
      return w > 0.0 ? detail::unit_roundoff * (2.0 - 3.0 * elementary::log(w)) : 0.0;
    });
    probabilities_ = weights / weights.sum();
    excess_ = 1.0;
  }

  /// The same for weights that were computed, as by `posterior_after`: the bounds then allow for every law
  /// within their errors.
  /// @throws std::invalid_argument unless there is one weight and one error a row, and a candidate that is
  ///         possible; std::domain_error for a NaN, a weight of +∞, or errors that leave the law open
  void reweigh(basic_candidate_belief<T> belief) {
    detail::check_size("candidate_outputs", "number of weights",
                       static_cast<std::size_t>(belief.log_weights.size()), size());
    detail::check_size("candidate_outputs", "number of errors",
                       static_cast<std::size_t>(belief.error.size()), size());
    double top = -std::numeric_limits<double>::infinity();
    for (double const l : belief.log_weights) {
      detail::require_domain(l < std::numeric_limits<double>::infinity(), "candidate_outputs",
                             "log weight", l, "below +infinity");
      top = std::max(top, l);
    }
    for (double const e : belief.error) {
      detail::check_non_negative("candidate_outputs", "error of a log weight", e);
    }
    detail::require_argument(top > -std::numeric_limits<double>::infinity(), "candidate_outputs",
                             "number of possible candidates", 0, "positive");
    // Weights as large as they may be, and the sum of the weights as small as they may be: their quotient
    // is what a true probability may exceed its own by.
    vector_of<T> weights(belief.log_weights.size());
    double low = 0.0;
    for (Eigen::Index m = 0; m < weights.size(); ++m) {
      double const l = belief.log_weights(m) - top;
      weights(m) = 0.0;
      if (!(l > -std::numeric_limits<double>::infinity())) continue;
      double const e = belief.error(m) * (1.0 + 4.0 * detail::unit_roundoff) +
                       detail::unit_roundoff * (8.0 + 2.0 * std::abs(l));
      weights(m) = std::max(elementary::exp(l + e), 1e-300);
      low += elementary::exp(l - e);
    }
    double const sum = weights.sum();
    double const rounding = (2.0 * static_cast<double>(size()) + 16.0) * detail::unit_roundoff;
    double const excess = sum / low * (1.0 + rounding);
    detail::check_finite("candidate_outputs", "uncertainty of the weights", excess);
    probabilities_ = weights / sum;
    belief_ = std::move(belief);
    excess_ = excess;
  }

  [[nodiscard]] std::size_t size() const noexcept { return static_cast<std::size_t>(rows_.rows()); }
  [[nodiscard]] std::size_t dimension() const noexcept {
    return static_cast<std::size_t>(rows_.cols());
  }

  /// M×d.
  [[nodiscard]] matrix_of<T> const& rows() const noexcept { return rows_; }

  /// p: sums to 1 up to rounding.
  [[nodiscard]] vector_of<T> const& probabilities() const noexcept { return probabilities_; }

  /// The rows of positive weight.
  [[nodiscard]] std::vector<Eigen::Index> possible() const {
    std::vector<Eigen::Index> out;
    for (Eigen::Index m = 0; m < probabilities_.size(); ++m) {
      if (probabilities_(m) > 0.0) out.push_back(m);
    }
    return out;
  }

  /// No true probability exceeds the one above by more than this factor. 1 for weights that were given.
  [[nodiscard]] double excess() const noexcept { return excess_; }

  [[nodiscard]] basic_candidate_belief<T> const& belief() const noexcept { return belief_; }

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
  basic_candidate_belief<T> belief_;
  double excess_ = 1.0;
};

using candidate_outputs = basic_candidate_outputs<>;

}  // namespace tacit
