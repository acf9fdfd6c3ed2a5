// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/pac/adam.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/public_normal.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace tacit {

/// How the follower learns, and how long the leader plays against it.
struct follower_options {
  noise_shape shape = noise_shape::full;
  std::size_t units = 32;      // of the hidden layer; 0: a linear discriminant, in closed form
  int rounds = 12;             // in which the leader moves
  int steps = 150;             // of the follower in each
  std::size_t batch = 256;     // releases a step
  double rate = 1e-2;          // of Adam (Kingma & Ba 2015)
  std::size_t draws = 32'768;  // releases, at least, that decide the size of the noise
  public_stream stream = {};
};

namespace detail {

/// Half of the outputs, one a column.
template <dense_scalar T>
struct labelled_half {
  matrix_of<T> outputs;
  std::vector<Eigen::Index> labels;
};

/// log q(k|z) = log p_k + c_kᵀt − ½‖c_k‖² + a_kᵀt + v_kᵀtanh(Wᵀt + φ) + b_k − log Σ…, for
/// t = L⁻¹(z − mean), LLᵀ = the covariance within classes + Σ_B, c_k = L⁻¹(mean_k − mean).
///
/// The first part is the normal classes' discriminant, exact where the noise drowns the outputs; it
/// follows the noise by itself. The rest is learned. Releases come in pairs, noise g and −g, which
/// cancels most of what chance there is in small information.
template <dense_scalar T>
class network_follower {
 public:
  network_follower(labelled_half<T> learn, labelled_half<T> judge, Eigen::Index classes,
                   follower_options const& options)
      : learn_(std::move(learn)),
        judge_(std::move(judge)),
        options_(options),
        d_(learn_.outputs.rows()),
        classes_(classes),
        units_(static_cast<Eigen::Index>(options.units)),
        means_(matrix_of<T>::Zero(d_, classes)) {
    vector_of<T> count = vector_of<T>::Zero(classes);
    for (std::size_t i = 0; i < learn_.labels.size(); ++i) {
      means_.col(learn_.labels[i]) += learn_.outputs.col(static_cast<Eigen::Index>(i));
      count(learn_.labels[i]) += 1.0;
    }
    means_.array().rowwise() /= count.transpose().array();
    vector_of<T> const priors = count / count.sum();
    log_priors_ = priors.array().log();
    matrix_of<T> within = learn_.outputs;
    for (std::size_t i = 0; i < learn_.labels.size(); ++i) {
      within.col(static_cast<Eigen::Index>(i)) -= means_.col(learn_.labels[i]);
    }
    within_ = within * within.transpose() / count.sum();
    vector_of<T> const mean = means_ * priors;
    means_.colwise() -= mean;
    learn_.outputs.colwise() -= mean;
    judge_.outputs.colwise() -= mean;

    Eigen::Index const size = d_ * (units_ + classes) + units_ * (classes + 1) + classes;
    parameters_ = vector_of<T>::Zero(size);
    in(parameters_).directions =
        public_normals(part(0), d_, units_) / std::sqrt(static_cast<double>(d_));
    in(parameters_).shifts = public_normals(part(4), units_, 1);
  }

  /// From now on the noise is Σ v_i u_i u_iᵀ.
  void set_noise(matrix_of<T> const& axes, vector_of<T> const& variances) {
    matrix_of<T> const root = axes * variances.cwiseSqrt().asDiagonal();
    auto const factor = cholesky_of(within_ + root * root.transpose());
    noise_ = factor.matrixL().solve(root);
    centres_ = factor.matrixL().solve(means_);
    quiet_learn_ = factor.matrixL().solve(learn_.outputs);
    quiet_judge_ = factor.matrixL().solve(judge_.outputs);
    levels_ = (log_priors_.transpose() - 0.5 * centres_.colwise().squaredNorm()).transpose();
  }

  /// Some steps of Adam on the cross-entropy, fresh releases at each.
  void learn() {
    if (units_ == 0) return;
    vector_of<T> slope(parameters_.size());
    adam_ascent<T> adam(parameters_.size(), options_.rate, options_.steps, 1e-6);
    for (int step = 0; step < options_.steps; ++step) {
      (void)pass(draw(half_batch()), &slope);
      parameters_ += adam.move(slope);
    }
  }

  /// Information achieved on outputs that it has not learned from, over releases that stay the same
  /// while the noise changes: the better of the discriminant and the trained network.
  [[nodiscard]] double judged() {
    Eigen::Index const n = quiet_judge_.cols();
    auto const pairs = static_cast<Eigen::Index>(options_.draws + 1) / 2;
    double discriminant = 0.0;
    double learned = 0.0;
    auto const repeats = std::max<Eigen::Index>(1, (pairs + n - 1) / n);
    for (Eigen::Index r = 0; r < repeats; ++r) {
      matrix_of<T> const moved =
          noise_ * public_normals(part(4 * static_cast<std::uint64_t>(r) + 1), d_, n);
      for (double const sign : {1.0, -1.0}) {
        releases const seen{quiet_judge_ + sign * moved, judge_.labels};
        discriminant += log_likelihood(log_posterior(seen.t, nullptr), seen.labels);
        if (units_ > 0) {
          matrix_of<T> hidden;
          learned += log_likelihood(log_posterior(seen.t, &hidden), seen.labels);
        }
      }
    }
    auto const count = static_cast<double>(2 * repeats * n);
    double const plain = information_from(discriminant / count);
    return units_ > 0 ? std::max(plain, information_from(learned / count)) : plain;
  }

  struct reading {
    double achieved;     // on fresh releases of what the follower learns from
    matrix_of<T> along;  // the matrix K, in the noise's axes
  };

  /// K = 2·dI/dP for the precision P of the noise: Σ_B E[ssᵀ] Σ_B, s = the slope of log q(k|z) in
  /// z. Where q is the posterior, E[ssᵀ] = −E[∇²log q] = −2·dI/dΣ_B, which the path z = y +
  /// Σ_B^{½}g would estimate as −E[s gᵀ]Σ_B^{−½}: the same, but noisier, and not necessarily positive
  /// semidefinite.
  [[nodiscard]] reading measure() {
    matrix_of<T> sum = matrix_of<T>::Zero(d_, d_);
    double likelihood = 0.0;
    Eigen::Index constexpr repeats = 32;
    for (Eigen::Index r = 0; r < repeats; ++r) {
      releases const seen = draw(half_batch());
      answers const got = pass(seen, nullptr);
      sum.template selfadjointView<Eigen::Lower>().rankUpdate(noise_.transpose() * got.pull);
      likelihood += got.likelihood;
    }
    auto const count = static_cast<double>(2 * half_batch() * repeats);
    return {information_from(likelihood / count),
            matrix_of<T>(sum.template selfadjointView<Eigen::Lower>()) / count};
  }

  /// Of the secret, among the outputs that judge.
  [[nodiscard]] double entropy() const {
    vector_of<T> share = vector_of<T>::Zero(classes_);
    for (Eigen::Index const k : judge_.labels) share(k) += 1.0;
    share /= share.sum();
    return -share.dot(share.array().log().matrix());
  }

 private:
  template <class Vector>
  struct layers {
    using matrix = std::conditional_t<std::is_const_v<Vector>, matrix_of<T> const, matrix_of<T>>;
    Eigen::Map<matrix> straight;    // a, d×K
    Eigen::Map<matrix> directions;  // W, d×h
    Eigen::Map<matrix> weights;     // v, h×K
    Eigen::Map<matrix> shifts;      // φ, h×1
    Eigen::Map<matrix> offsets;     // b, K×1
  };

  template <class Vector>
  [[nodiscard]] layers<Vector> in(Vector& x) const {
    auto* p = x.data();
    auto const next = [&](Eigen::Index rows, Eigen::Index columns) {
      auto* const at = p;
      p += rows * columns;
      return Eigen::Map<typename layers<Vector>::matrix>(at, rows, columns);
    };
    // Braces: in this order.
    return {next(d_, classes_), next(d_, units_), next(units_, classes_), next(units_, 1),
            next(classes_, 1)};
  }

  struct releases {
    matrix_of<T> t;
    std::vector<Eigen::Index> labels;
  };
  struct answers {
    double likelihood;  // Σ log q(k|z)
    matrix_of<T> pull;  // its slope in t
  };

  /// A likelihood that is not finite must not pass for no information.
  [[nodiscard]] double information_from(double likelihood) const {
    if (!(std::abs(likelihood) <= std::numeric_limits<double>::max())) {
      throw convergence_error("stackelberg_network: the follower's numbers have left the finite",
                              -std::numeric_limits<double>::infinity(), entropy());
    }
    return entropy() + likelihood;
  }

  [[nodiscard]] public_stream part(std::uint64_t k) const { return part_of(options_.stream, k); }
  [[nodiscard]] Eigen::Index half_batch() const {
    return static_cast<Eigen::Index>(options_.batch + 1) / 2;
  }

  /// `pairs` pairs of fresh releases.
  [[nodiscard]] releases draw(Eigen::Index pairs) {
    std::uint64_t const turn = 4 * drawn_++;
    releases out{matrix_of<T>(d_, 2 * pairs), {}};
    matrix_of<T> const moved = noise_ * public_normals(part(turn + 2), d_, pairs);
    auto const rows = static_cast<double>(quiet_learn_.cols());
    for (Eigen::Index i = 0; i < pairs; ++i) {
      auto const row = static_cast<Eigen::Index>(
          rows * public_uniform(part(turn + 3), static_cast<std::uint64_t>(i)));
      out.labels.push_back(learn_.labels[static_cast<std::size_t>(row)]);
      out.t.col(i) = quiet_learn_.col(row) + moved.col(i);
      out.t.col(pairs + i) = quiet_learn_.col(row) - moved.col(i);
    }
    out.labels.resize(2 * static_cast<std::size_t>(pairs));
    std::copy_n(out.labels.begin(), pairs, out.labels.begin() + pairs);
    return out;
  }

  /// K×n. Without `hidden`, the discriminant alone.
  [[nodiscard]] matrix_of<T> log_posterior(matrix_of<T> const& t, matrix_of<T>* hidden) const {
    matrix_of<T> out = centres_.transpose() * t;
    out.colwise() += levels_;
    if (hidden != nullptr) {
      auto const net = in(parameters_);
      matrix_of<T> const x = (net.directions.transpose() * t).colwise() + net.shifts.col(0);
      *hidden = 1.0 - 2.0 / (1.0 + (2.0 * x.array()).exp());
      out.noalias() += net.straight.transpose() * t;
      out.noalias() += net.weights.transpose() * *hidden;
      out.colwise() += net.offsets.col(0);
    }
    out.rowwise() -= out.colwise().maxCoeff().eval();
    out.array().rowwise() -= out.array().exp().colwise().sum().log().eval();
    return out;
  }

  [[nodiscard]] static double log_likelihood(matrix_of<T> const& log_posterior,
                                             std::vector<Eigen::Index> const& labels) {
    double sum = 0.0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      sum += log_posterior(labels[i], static_cast<Eigen::Index>(i));
    }
    return sum;
  }

  /// Forward and backward pass; `to_parameters` gets the mean slope.
  [[nodiscard]] answers pass(releases const& seen, vector_of<T>* to_parameters) const {
    matrix_of<T> hidden;
    matrix_of<T> error = log_posterior(seen.t, &hidden);
    double const likelihood = log_likelihood(error, seen.labels);
    error = -error.array().exp();
    for (std::size_t i = 0; i < seen.labels.size(); ++i) {
      error(seen.labels[i], static_cast<Eigen::Index>(i)) += 1.0;
    }
    auto const net = in(parameters_);
    matrix_of<T> const back =
        ((net.weights * error).array() * (1.0 - hidden.array().square())).matrix();
    if (to_parameters == nullptr) {
      return {likelihood, (centres_ + net.straight) * error + net.directions * back};
    }
    auto to = in(*to_parameters);
    to.straight.noalias() = seen.t * error.transpose();
    to.directions.noalias() = seen.t * back.transpose();
    to.weights.noalias() = hidden * error.transpose();
    to.shifts = back.rowwise().sum();
    to.offsets = error.rowwise().sum();
    *to_parameters /= static_cast<double>(seen.labels.size());
    return {likelihood, {}};
  }

  labelled_half<T> learn_;
  labelled_half<T> judge_;
  follower_options options_;
  Eigen::Index d_;
  Eigen::Index classes_;
  Eigen::Index units_;
  matrix_of<T> means_;
  matrix_of<T> within_;
  vector_of<T> log_priors_;
  vector_of<T> parameters_;
  std::uint64_t drawn_ = 0;
  // For the noise that was set:
  matrix_of<T> noise_;  // L⁻¹Σ_B^{½}
  matrix_of<T> centres_;
  vector_of<T> levels_;
  matrix_of<T> quiet_learn_;  // L⁻¹y
  matrix_of<T> quiet_judge_;
};

}  // namespace detail
}  // namespace tacit
