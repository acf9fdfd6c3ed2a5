// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/pac/all_finite.hpp>
#include <tacit/pac/dense.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

/// Moments of a black box's outputs, one run at a time, in blocks, or merged across threads.

namespace tacit {

/// Mean and covariance (`output_moments`) or variances alone (`diagonal_moments`: O(d) memory, so
/// that d = 10⁵ needs no d×d matrix) of weighted outputs.
///
///   Σ̂ = Σ w (y−ȳ)(y−ȳ)ᵀ / (W − W₂/W),  W = Σw, W₂ = Σw²:
///
/// unbiased for weights that say how much an output counts (a posterior over sampled datasets); n −
/// 1 below the fraction where all are 1. Differences from the running mean are what is summed
/// (Welford 1962; Chan, Golub & LeVeque 1983 for blocks and merging), so a large common offset
/// costs no digits.
///
/// What is computed from them is about a sample, and so an estimate.
template <class Scatter>
class basic_moments {
  using T = typename Scatter::Scalar;
  static constexpr bool full = Scatter::ColsAtCompileTime != 1;

 public:
  /// @throws std::invalid_argument if the dimension is 0
  explicit basic_moments(std::size_t dimension) {
    detail::require_argument(dimension > 0, "moments", "dimension", dimension, "positive");
    auto const d = static_cast<Eigen::Index>(dimension);
    mean_.setZero(d);
    if constexpr (full) {
      scatter_.setZero(d, d);
    } else {
      scatter_.setZero(d);
    }
  }

  /// One output of d numbers. A weight of 0 leaves everything as it was.
  /// @throws std::invalid_argument unless there are d numbers; std::domain_error unless they and
  ///         the weight are finite and the weight is at least 0; nothing is observed then
  void observe(std::span<double const> output, double weight = 1.0) {
    detail::check_size("observe", "number of entries", output.size(), dimension());
    detail::check_non_negative("observe", "weight", weight);
    Eigen::Map<vector_of<T> const> const y(output.data(), mean_.size());
    if (!detail::all_finite(y)) {
      for (double const v : output) detail::check_finite("observe", "entry", v);
    }
    join(y, 1, weight, weight * weight);
  }

  /// A vector of Eigen's, a row of a matrix or an expression of them.
  /// @throws as above
  template <class Derived>
  void observe(Eigen::MatrixBase<Derived> const& output, double weight = 1.0) {
    EIGEN_STATIC_ASSERT_VECTOR_ONLY(Derived)
    vector_of<T> const y = output;
    observe(std::span(y.data(), static_cast<std::size_t>(y.size())), weight);
  }

  /// An n×d matrix: one output a row, each of weight 1.
  /// @throws as below
  template <class Derived>
  void observe_rows(Eigen::MatrixBase<Derived> const& rows) {
    absorb(rows, nullptr);
  }

  /// One weight a row.
  /// @throws std::invalid_argument unless there are d columns and a weight a row;
  ///         std::domain_error, naming the row, unless all numbers are finite and weights at least
  ///         0; nothing is observed then
  template <class Derived>
  void observe_rows(Eigen::MatrixBase<Derived> const& rows, vector_of<T> const& weights) {
    detail::check_size("observe_rows", "number of weights",
                       static_cast<std::size_t>(weights.size()),
                       static_cast<std::size_t>(rows.rows()));
    for (double const w : weights) detail::check_non_negative("observe_rows", "weight", w);
    absorb(rows, &weights);
  }

  /// As if all that the other has observed had been observed here.
  /// @throws std::invalid_argument unless the dimensions agree
  void merge(basic_moments const& other) {
    detail::check_size("merge", "dimension", other.dimension(), dimension());
    if (other.count_ == 0) return;
    if (count_ == 0) {
      *this = other;
      return;
    }
    scatter_ += other.scatter_;
    join(other.mean_, other.count_, other.weight_, other.weight_squares_);
  }

  [[nodiscard]] std::size_t dimension() const noexcept {
    return static_cast<std::size_t>(mean_.size());
  }

  /// Outputs of positive weight.
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// W²/W₂: how many equally weighted outputs are worth as much; `count()` where all weights are equal.
  [[nodiscard]] double effective_count() const noexcept {
    return count_ == 0 ? 0.0 : weight_ * (weight_ / weight_squares_);
  }

  /// @throws std::invalid_argument if nothing was observed
  [[nodiscard]] vector_of<T> const& mean() const {
    detail::require_argument(count_ > 0, "mean", "number of outputs", count_, "at least 1");
    return mean_;
  }

  /// Σ̂, d×d.
  /// @throws std::invalid_argument if fewer than two outputs, or one weight beside which the others
  ///         vanish, were observed; std::domain_error if an entry overflows
  [[nodiscard]] matrix_of<T> covariance() const requires full {
    double const freedom = degrees_of_freedom("covariance");
    matrix_of<T> out = scatter_.template selfadjointView<Eigen::Lower>();
    out /= freedom;
    check_overflow("covariance", out);
    return out;
  }

  /// The diagonal of Σ̂.
  /// @throws as covariance
  [[nodiscard]] vector_of<T> variances() const {
    double const freedom = degrees_of_freedom("variances");
    vector_of<T> out;
    if constexpr (full) {
      out = scatter_.diagonal() / freedom;
    } else {
      out = scatter_ / freedom;
    }
    check_overflow("variances", out);
    return out;
  }

 private:
  /// A batch whose own scatter is already added: moves the mean, and adds what that brings.
  template <class Derived>
  void join(Eigen::MatrixBase<Derived> const& mean, std::size_t count, double weight,
            double weight_squares) {
    if (weight == 0.0) return;
    double const total = weight_ + weight;
    detail::check_finite("moments", "sum of the weights", total);
    if (count_ == 0) {
      mean_ = mean;
    } else {
      double const share = weight / total;
      double const spread = weight_ * share;
      if constexpr (full) {
        vector_of<T> const move = mean - mean_;
        scatter_.template selfadjointView<Eigen::Lower>().rankUpdate(move, spread);
        mean_ += share * move;
      } else {
        double const* const y = mean.derived().data();
        double* const old = mean_.data();
        double* const scatter = scatter_.data();
        for (Eigen::Index j = 0; j < mean_.size(); ++j) {
          double const move = y[j] - old[j];
          scatter[j] += spread * (move * move);
          old[j] += share * move;
        }
      }
    }
    count_ += count;
    weight_ = total;
    weight_squares_ += weight_squares;
  }

  /// All rows are observed apart and then merged: a refusal leaves nothing half done.
  template <class Derived>
  void absorb(Eigen::MatrixBase<Derived> const& rows, vector_of<T> const* weights) {
    detail::check_size("observe_rows", "number of columns", static_cast<std::size_t>(rows.cols()),
                       dimension());
    basic_moments added(dimension());
    // A block of rows stays in the cache between its centring and its products; variances go down
    // one column after another instead.
    Eigen::Index const height =
        full ? std::max<Eigen::Index>(64, 16'384 / rows.cols()) : rows.rows();
    for (Eigen::Index first = 0; first < rows.rows(); first += height) {
      Eigen::Index const n = std::min(height, rows.rows() - first);
      auto const block = rows.middleRows(first, n);
      if (weights == nullptr) {
        auto const one_each = static_cast<double>(n);
        added.add_block(block, nullptr, static_cast<std::size_t>(n), one_each, one_each);
      } else {
        vector_of<T> const part = weights->segment(first, n);
        auto const positive = static_cast<std::size_t>((part.array() > 0.0).count());
        if (positive == 0) {
          if (!detail::all_finite(block)) refuse(rows, first, n);
          continue;
        }
        added.add_block(block, &part, positive, part.sum(), part.squaredNorm());
      }
      if (!detail::all_finite(added.mean_)) refuse(rows, first, n);
    }
    merge(added);
  }

  /// Two passes over one block: its mean about its first row, and squares about that mean.
  template <class Block>
  void add_block(Block const& block, vector_of<T> const* weights, std::size_t count, double weight,
                 double weight_squares) {
    vector_of<T> mean = block.row(0).transpose();
    if constexpr (full) {
      matrix_of<T> centred = block.rowwise() - mean.transpose();
      vector_of<T> offset;
      if (weights == nullptr) {
        offset = centred.colwise().sum().transpose() / weight;
      } else {
        offset = centred.transpose() * *weights / weight;
      }
      centred.rowwise() -= offset.transpose();
      if (weights != nullptr) centred.array().colwise() *= weights->array().sqrt();
      scatter_.template selfadjointView<Eigen::Lower>().rankUpdate(centred.transpose());
      mean += offset;
    } else {
      vector_of<T> centred(block.rows());
      for (Eigen::Index j = 0; j < block.cols(); ++j) {
        centred = block.col(j).array() - mean(j);
        double const offset = (weights == nullptr ? centred.sum() : centred.dot(*weights)) / weight;
        centred.array() -= offset;
        if (weights != nullptr) centred.array() *= weights->array().sqrt();
        scatter_(j) += centred.squaredNorm();
        mean(j) += offset;
      }
    }
    join(mean, count, weight, weight_squares);
  }

  template <class Derived>
  [[noreturn]] static void refuse(Eigen::MatrixBase<Derived> const& rows, Eigen::Index first,
                                  Eigen::Index n) {
    for (Eigen::Index i = first; i < first + n; ++i) {
      for (Eigen::Index j = 0; j < rows.cols(); ++j) {
        detail::check_finite("observe_rows", "entry of row " + detail::to_text(i), rows(i, j));
      }
    }
    detail::fail_domain("observe_rows", "spread of the rows",
                        std::numeric_limits<double>::infinity(), "finite");
  }

  [[nodiscard]] double degrees_of_freedom(char const* function) const {
    detail::require_argument(count_ >= 2, function, "number of outputs", count_, "at least 2");
    detail::require_domain(weight_squares_ >= 1e-290, function, "sum of the squared weights",
                           weight_squares_, "at least 1e-290 (scale the weights)");
    double const freedom = weight_ - weight_squares_ / weight_;
    detail::require_argument(freedom > 0.0, function, "effective number of outputs",
                             effective_count(), "above 1");
    return freedom;
  }

  template <class Derived>
  static void check_overflow(char const* function, Eigen::MatrixBase<Derived> const& x) {
    detail::require_domain(detail::all_finite(x), function, "largest entry",
                           std::numeric_limits<double>::infinity(), "finite");
  }

  vector_of<T> mean_;
  Scatter scatter_;  // Σ w (y−ȳ)(y−ȳ)ᵀ, its lower triangle; or its diagonal
  std::size_t count_ = 0;
  double weight_ = 0.0;
  double weight_squares_ = 0.0;
};

using output_moments = basic_moments<matrix_of<double>>;
using diagonal_moments = basic_moments<vector_of<double>>;

/// Runs a black box `samples` times, each on a freshly sampled dataset, and observes its outputs.
/// `run(index, out)` writes the output of run `index` = first, first + 1, … to the d numbers of
/// `out`; the index is a good seed. Threads and machines take separate ranges and merge.
/// @throws std::domain_error, naming the run, if a number is not finite or was left unwritten; what
///         `run` throws. The moments are then as they were.
template <class Scatter, class Run>
void observe_runs(basic_moments<Scatter>& moments, Run&& run, std::size_t samples,
                  std::size_t first = 0) {
  basic_moments<Scatter> added(moments.dimension());
  auto const d = static_cast<Eigen::Index>(moments.dimension());
  constexpr Eigen::Index height = Scatter::ColsAtCompileTime != 1 ? 64 : 1;
  matrix_of<typename Scatter::Scalar> outputs(d, height);
  Eigen::Index filled = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    auto out = outputs.col(filled);
    out.setConstant(std::numeric_limits<double>::quiet_NaN());
    run(first + i, std::span<double>(out.data(), moments.dimension()));
    if (!detail::all_finite(out)) {
      for (double const y : out) {
        detail::check_finite("observe_runs", "output of run " + detail::to_text(first + i), y);
      }
    }
    if (++filled < height && i + 1 < samples) continue;
    if constexpr (height == 1) {
      added.observe(std::span<double const>(outputs.data(), moments.dimension()));
    } else {
      added.observe_rows(outputs.leftCols(filled).transpose());
    }
    filled = 0;
  }
  moments.merge(added);
}

/// When a stream of runs is long enough.
struct settling {
  double tau = std::numeric_limits<double>::quiet_NaN();  // largest move, in output units squared
  std::size_t stride = 100;           // runs between two checks of the variances
  std::size_t most_runs = 1'000'000;  // patience
};

/// Runs until no variance moves by more than τ from one check to the next: the convergence rule
/// of Efficient-PAC (Sridhar, Xiao & Devadas 2024), which checks after every run. Returns the number
/// of runs. That estimates have settled is no certificate that they are right.
/// @throws std::domain_error unless τ is positive and finite; std::invalid_argument unless the
///         stride is at least 2 and `most_runs` at least twice that; convergence_error, with the
///         last move, if they run out; as observe_runs
template <class Scatter, class Run>
std::size_t observe_until_settled(basic_moments<Scatter>& moments, Run&& run,
                                  settling const& rule) {
  detail::check_positive("observe_until_settled", "tau", rule.tau);
  detail::require_argument(rule.stride >= 2, "observe_until_settled", "stride", rule.stride,
                           "at least 2");
  detail::require_argument(rule.most_runs / 2 >= rule.stride, "observe_until_settled", "most_runs",
                           rule.most_runs, "at least twice the stride");
  observe_runs(moments, run, rule.stride);
  vector_of<typename Scatter::Scalar> before = moments.variances();
  double move = std::numeric_limits<double>::infinity();
  for (std::size_t runs = 2 * rule.stride; runs <= rule.most_runs; runs += rule.stride) {
    observe_runs(moments, run, rule.stride, runs - rule.stride);
    vector_of<typename Scatter::Scalar> now = moments.variances();
    move = (now - before).cwiseAbs().maxCoeff();
    if (move <= rule.tau) return runs;
    before.swap(now);
  }
  throw convergence_error("observe_until_settled: the variances still move", rule.tau, move);
}

}  // namespace tacit
