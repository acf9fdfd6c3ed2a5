// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/candidate_distances.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/line_quadrature.hpp>
#include <tacit/pac/whitened_candidates.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

namespace tacit::detail {

/// Beyond this many candidates and dimensions a determinant costs too much, and Hadamard's bound is used
/// instead.
inline constexpr std::size_t largest_determinant = 1024;

/// Evaluations of a normal that a quadrature on a line may take: some milliseconds where a search asks
/// again and again, and half a second for one answer.
inline constexpr double most_for_a_search = 5e5;
inline constexpr double most_for_an_answer = 5e7;

/// The bounds above for one noise and all its multiples, from one pass over the outputs.
template <dense_scalar T>
class candidate_bounds {
 public:
  candidate_bounds(basic_candidate_outputs<T> const& outputs, basic_gaussian_noise<T> const& noise)
      : white_(whiten(outputs, noise)) {
    if (one_output()) return;
    distances_ = distances(white_);
    vector_of<T> const& p = white_.weights;
    vector_of<T> missed(p.size());
    for (Eigen::Index m = 0; m < p.size(); ++m) {
      double const error = white_.error(m);
      missed(m) = p(m) * error * (2.0 * std::sqrt(distances_.products(m, m)) + error);
    }
    missed_ = 1.01 * missed.sum();
    if (comparable()) {
      matrix_of<T> const& w = white_.columns;
      along_ = vector_of<T>::Zero(w.rows());
      for (Eigen::Index m = 0; m < w.cols(); ++m) along_ += p(m) * w.col(m).cwiseAbs2();
      // Its lower half.
      if (w.cols() <= w.rows() && w.cols() <= static_cast<Eigen::Index>(largest_determinant)) {
        vector_of<T> const root = p.cwiseSqrt();
        gram_ = root.asDiagonal() * distances_.products * root.asDiagonal();
      } else if (w.rows() > 1 && w.rows() <= static_cast<Eigen::Index>(largest_determinant)) {
        gram_ = matrix_of<T>::Zero(w.rows(), w.rows());
        matrix_of<T> const weighted = w * p.cwiseSqrt().asDiagonal();
        gram_.template selfadjointView<Eigen::Lower>().rankUpdate(weighted);
      }
      find_line();
    }
  }

  [[nodiscard]] whitened_candidates<T> const& white() const noexcept { return white_; }
  [[nodiscard]] pair_distances<T> const& squared() const noexcept { return distances_; }
  [[nodiscard]] bool one_output() const noexcept { return white_.size() == 1; }
  [[nodiscard]] bool on_a_line() const noexcept { return position_.size() > 0; }

  /// Entropy of the distinct outputs, raised.
  [[nodiscard]] double entropy() const { return white_.above(white_.raised_entropy()); }

  /// What is revealed however much noise the noisy directions get.
  [[nodiscard]] double least() const {
    return one_output() ? 0.0
                        : white_.above(white_.group_entropy() * (1.0 + 4.0 * white_.sum_error()));
  }

  /// Each for noise of covariance Σ_B/shrink. Upper bounds, raised.
  [[nodiscard]] double log_det(double shrink) const {
    if (one_output()) return 0.0;
    if (!comparable()) return std::numeric_limits<double>::infinity();
    double const axes = static_cast<double>(along_.size());
    double const relative =
        1.0 + white_.stretch + 4.0 * white_.sum_error() + 4.0 * axes * unit_roundoff;
    double const missed = 0.5 * shrink * missed_ * relative;
    double hadamard = 0.0;
    double trace = 0.0;
    for (double const r : along_) {
      hadamard += elementary::log1p(shrink * r);
      trace += shrink * r;
    }
    double best = 0.5 * hadamard * relative;
    if (gram_.size() > 0 && trace < 1e12) {
      // log det A ≤ log det(A + E) + √m‖E‖_F/(1 − ‖E‖) for A ⪰ I: E is what the products and the
      // factorisation rounded off.
      matrix_of<T> shifted = shrink * gram_;
      shifted.diagonal().array() += 1.0;
      auto const factor = cholesky_of(shifted);
      if (factor.info() == Eigen::Success) {
        auto const m = static_cast<double>(gram_.rows());
        double const longest = std::max(axes, static_cast<double>(white_.size()));
        double const e = 1.01 * unit_roundoff * ((m + 8.0) * (m + trace) + (longest + 8.0) * trace);
        double half_log = 0.0;
        for (Eigen::Index i = 0; i < shifted.rows(); ++i) {
          half_log += elementary::log(factor.matrixLLT()(i, i));
        }
        if (e < 0.5) {
          double const off = 0.51 * std::sqrt(m) * e / (1.0 - e);
          best = std::min(best, (half_log * (1.0 + (m + 8.0) * unit_roundoff) + off) * relative);
        }
      }
    }
    return white_.above(best + missed + std::numeric_limits<double>::min());
  }

  [[nodiscard]] double pairwise_upper(double shrink) const {
    return white_.above(detail::pairwise_upper(white_, distances_, shrink));
  }
  [[nodiscard]] double pairwise_lower(double shrink) const {
    return white_.below(detail::pairwise_lower(white_, distances_, shrink));
  }

  /// How far I can move if the candidates move by their errors: dI = Σ p_m e_m·(w_m − E[E[W|Z]|m]), at
  /// most √(Σp‖e‖²)·√(tr Cov W) by Cauchy & Schwarz; and E[W|Z] − Z = −E[N|Z], so that √(the dimension) and
  /// √M serve as well.
  [[nodiscard]] double slack(double shrink, array_of<T> const& moved, double trace) const {
    array_of<T> const p = white_.weights.array();
    double const root = std::sqrt(shrink * (p * moved.square()).sum());
    return 1.01 * root *
           std::min(std::sqrt(shrink * trace) + root,
                    std::sqrt(static_cast<double>(std::min(p.size(), white_.columns.rows()))));
  }

  /// Exact on a line, up to rounding. Nothing elsewhere, or if it would take more than `most` evaluations
  /// of a normal.
  [[nodiscard]] std::optional<bound<nats>> line(double shrink,
                                                double most = most_for_a_search) const {
    if (!on_a_line()) return std::nullopt;
    return line_above(detail::pairwise_lower(white_, distances_, shrink), shrink, most);
  }

  /// The best bounds that need no draws. Where it is exact, the pairwise bound says no more.
  [[nodiscard]] bound<nats> certain(double shrink, double most = most_for_a_search) const {
    if (one_output()) return {nats(0.0), nats(0.0)};
    double const least = detail::pairwise_lower(white_, distances_, shrink);
    double upper = std::min(log_det(shrink), entropy());
    double lower = white_.below(least);
    if (auto const exact = line_above(least, shrink, most)) {
      upper = std::min(upper, exact->upper.value);
      lower = std::max(lower, exact->lower.value);
    } else {
      upper = std::min(upper, pairwise_upper(shrink));
    }
    return {nats(std::min(lower, upper)), nats(upper)};
  }

  /// The least of all upper bounds.
  [[nodiscard]] double best(double shrink, double most = most_for_a_search) const {
    if (one_output()) return 0.0;
    double const upper = std::min(log_det(shrink), entropy());
    if (auto const exact = line(shrink, most)) return std::min(upper, exact->upper.value);
    return std::min(upper, pairwise_upper(shrink));
  }

 private:
  /// `least`: the pairwise bound from below, at the stated weights.
  [[nodiscard]] std::optional<bound<nats>> line_above(double least, double shrink,
                                                      double most) const {
    if (!on_a_line() || !(least > 1e-280)) return std::nullopt;
    auto const sum = information_on_a_line<T>(std::sqrt(shrink) * position_, white_.weights.array(),
                                              least, most);
    if (!sum) return std::nullopt;
    double const off =
        slack(shrink, moved_, position_square_) + 2.0 * white_.sum_error() * sum->upper;
    return bound<nats>{nats(white_.below(std::max(least, sum->lower - off))),
                       nats(std::min(entropy(), white_.above(sum->upper + off)))};
  }

  [[nodiscard]] bool comparable() const { return white_.certain && white_.groups == 1; }

  /// Positions along the longest difference, if the candidates hardly vary across it.
  void find_line() {
    matrix_of<T> const& columns = white_.columns;
    if (columns.rows() > 1 && !nearly_on_a_line()) return;
    matrix_of<T> from_first(columns.rows(), columns.cols());
    for (Eigen::Index m = 0; m < columns.cols(); ++m) {
      from_first.col(m) = columns.col(m) - columns.col(0);
    }
    vector_of<T> const length = from_first.colwise().norm();
    Eigen::Index farthest = 0;
    double const longest = length.maxCoeff(&farthest);
    if (!(longest > 0.0 && longest < std::numeric_limits<double>::max())) return;
    array_of<T> t;
    array_of<T> moved(length.size());
    for (Eigen::Index m = 0; m < length.size(); ++m) {
      moved(m) = white_.error(m) + white_.error(0) + white_.stretch * length(m);
    }
    if (columns.rows() == 1) {
      t = from_first.row(0).transpose().array();
      moved += 2.0 * unit_roundoff * length.array();
    } else {
      vector_of<T> const direction = from_first.col(farthest) / longest;
      t = (from_first.transpose() * direction).array();
      double const unit = (static_cast<double>(direction.size()) + 8.0) * unit_roundoff;
      moved += 3.0 * unit * length.array();
      if (white_.size() > 2) {
        for (Eigen::Index m = 0; m < columns.cols(); ++m) {
          moved(m) += (from_first.col(m) - t(m) * direction).norm();
        }
      } else {
        t(farthest) = longest;
      }
    }
    array_of<T> const p = white_.weights.array();
    t -= (p * t).sum();
    double const trace = (p * t.square()).sum();
    if ((p * moved.square()).sum() <= 1e-12 * trace) {
      position_ = t;
      position_square_ = 1.01 * trace;
      moved_ = moved;
      for (Eigen::Index m = 0; m < t.size(); ++m) {
        moved_(m) += 6.0 * unit_roundoff * (std::abs(t(m)) + std::abs(t(0)));
      }
    }
  }

  [[nodiscard]] bool nearly_on_a_line() const {
    matrix_of<T> const& squared = distances_.upper;  // its lower half
    Eigen::Index farthest = 0;
    double const largest = squared.col(0).maxCoeff(&farthest);
    double const longest = std::sqrt(largest);
    for (Eigen::Index m = 0; m < squared.rows(); ++m) {
      double const across = m < farthest ? squared(farthest, m) : squared(m, farthest);
      double const t = (squared(m, 0) + largest - across) / (2.0 * longest);
      if (!(squared(m, 0) - t * t <= 1e-6 * longest * longest)) return false;
    }
    return true;
  }

  whitened_candidates<T> white_;
  pair_distances<T> distances_;
  double missed_ = 0.0;
  vector_of<T> along_;    // Σ p w_i² along each axis
  matrix_of<T> gram_;     // of the weighted columns, the smaller one
  array_of<T> position_;  // on a line; empty if there is none
  array_of<T> moved_;
  double position_square_ = 0.0;  // Σ p t², at least
};

}  // namespace tacit::detail
