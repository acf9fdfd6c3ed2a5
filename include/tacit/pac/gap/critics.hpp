// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/pac/adam.hpp>
#include <tacit/pac/congruence.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/exponentials.hpp>
#include <tacit/pac/gap/surrogate.hpp>
#include <tacit/pac/public_normal.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

/// Critics that see all coordinates at once: KL(P‖Q) ≥ E_P f − log E_Q e^f for every f (Donsker &
/// Varadhan 1983). Each is bounded by `bound()` on either side, so that both expectations can be
/// certified, and none can show more than 2·bound(); nor can a sample of N draws of Q show more than
/// about log N. What is a sum over coordinates is better shown by `product_critic`.

namespace tacit {
namespace detail {

inline void check_bound(char const* function, double bound) {
  require_domain(bound > 0.0 && bound <= 30.0, function, "bound", bound, "in (0, 30]");
}

}  // namespace detail

/// f(t) = ½‖t‖² − ½‖B(t − c)‖² + log|det B|, held to ±bound: the log-ratio of two normals. It detects where
/// the surrogate's moments are wrong, and nothing else: E_Q e^f is at most 1 + e^{−bound}.
template <dense_scalar T = double>
class basic_quadratic_critic {
 public:
  /// The best one for a sample's mean and covariance.
  /// @throws infeasible if that covariance is singular; std::domain_error unless bound is in (0, 30]
  [[nodiscard]] static basic_quadratic_critic fit(matrix_of<T> const& whitened,
                                                  double bound = 10.0) {
    detail::check_bound("quadratic_critic", bound);
    basic_normal_surrogate<T> const moments = basic_normal_surrogate<T>::fit(whitened);
    // Triangular, so that its determinant is a product.
    matrix_of<T> const precision = moments.whitener().transpose() * moments.whitener();
    auto const factor = detail::cholesky_of(precision);
    return basic_quadratic_critic(moments.mean(), factor.matrixU(), bound);
  }

  [[nodiscard]] double bound() const noexcept { return bound_; }

  /// log E_Q e^f: E e^{clip f} ≤ E e^f + e^{−bound}, and the first is 1.
  /// Guarantee: upper bound.
  [[nodiscard]] double log_normaliser() const noexcept {
    return elementary::log1p(elementary::exp(-bound_)) * (1.0 + 1e-15);
  }

  [[nodiscard]] vector_of<T> values(matrix_of<T> const& whitened) const {
    detail::check_rows("quadratic_critic", whitened, static_cast<std::size_t>(centre_.size()));
    matrix_of<T> const centred = whitened.rowwise() - centre_.transpose();
    matrix_of<T> const moved = centred * root_.template triangularView<Eigen::Upper>().transpose();
    return (0.5 * (whitened.rowwise().squaredNorm() - moved.rowwise().squaredNorm()).array() +
            log_determinant())
        .cwiseMax(-bound_)
        .cwiseMin(bound_);
  }

  /// How far a computed value may be from f at the exact t: t of this length, each coordinate `reach`
  /// off.
  [[nodiscard]] double error(double length, double reach) const noexcept {
    auto const d = static_cast<double>(centre_.size());
    double const size = root_.norm() * (length + centre_.norm());
    double const off = std::sqrt(d) * reach;
    return (off + 4.0 * d * detail::unit_roundoff * length) * (length + off) +
           (root_.norm() * off + 4.0 * d * detail::unit_roundoff * size) *
               (size + root_.norm() * off) +
           8.0 * (d + 4.0) * detail::unit_roundoff * (1.0 + logarithms().cwiseAbs().sum());
  }

 private:
  basic_quadratic_critic(vector_of<T> centre, matrix_of<T> root, double bound)
      : centre_(std::move(centre)), root_(std::move(root)), bound_(bound) {}

  [[nodiscard]] double log_determinant() const noexcept { return logarithms().sum(); }

  // An expression: `error` must not allocate.
  [[nodiscard]] auto logarithms() const noexcept {
    return root_.diagonal().unaryExpr([](double x) { return elementary::log(x); });
  }

  vector_of<T> centre_;
  matrix_of<T> root_;
  double bound_;
};

using quadratic_critic = basic_quadratic_critic<>;

/// f(t) = b·tanh(g(t)/b), g(t) = c + Σ_j a_j tanh(w_j·t + φ_j), b the bound.
template <dense_scalar T = double>
class basic_feature_critic {
 public:
  /// `directions` is d×h, one w_j a column; `shifts` are the φ_j, `weights` the a_j.
  /// @throws std::invalid_argument for shapes that do not match; std::domain_error unless all is finite
  ///         and bound is in (0, 30]
  basic_feature_critic(matrix_of<T> directions, vector_of<T> shifts, vector_of<T> weights,
                       double offset, double bound)
      : directions_(std::move(directions)),
        shifts_(std::move(shifts)),
        weights_(std::move(weights)),
        offset_(offset),
        bound_(bound) {
    auto const h = static_cast<std::size_t>(directions_.cols());
    detail::check_bound("feature_critic", bound);
    detail::check_size("feature_critic", "number of shifts",
                       static_cast<std::size_t>(shifts_.size()), h);
    detail::check_size("feature_critic", "number of weights",
                       static_cast<std::size_t>(weights_.size()), h);
    detail::check_finite("feature_critic", "sum of its numbers",
                         directions_.sum() + shifts_.sum() + weights_.sum() + offset_);
  }

  [[nodiscard]] double bound() const noexcept { return bound_; }

  [[nodiscard]] vector_of<T> values(matrix_of<T> const& whitened) const {
    detail::check_rows("feature_critic", whitened, static_cast<std::size_t>(directions_.rows()));
    matrix_of<T> const hidden = features(whitened);
    return squashed(((hidden * weights_).array() + offset_).matrix());
  }

  /// How far a computed value may be from f at the exact t: t of this length, each coordinate `reach`
  /// off. f has slope Σ|a_j|‖w_j‖ at most; the computed tanh is right to 1e-15.
  [[nodiscard]] double error(double length, double reach) const noexcept {
    auto const d = static_cast<double>(directions_.rows());
    auto const h = static_cast<double>(directions_.cols());
    double const off = std::sqrt(d) * reach + 2.0 * (d + 4.0) * detail::unit_roundoff * length;
    double const slope = weights_.cwiseAbs().dot(directions_.colwise().norm().transpose());
    double const size = weights_.cwiseAbs().sum() + std::abs(offset_);
    double const shift = weights_.cwiseAbs().dot(shifts_.cwiseAbs());
    return slope * off + 4.0 * detail::unit_roundoff * shift +
           size * (2e-15 + 2.0 * (h + 4.0) * detail::unit_roundoff) + 2e-15 * bound_;
  }

  struct ridge_options {
    std::size_t features = 128;
    double ridge = 1e-2;  // on the squared weights
    double bound = 5.0;
    std::size_t draws = 8192;  // of Q, for training
    public_stream stream = {};
  };

  /// Random directions and shifts; the weights maximise mean_P g − log mean_Q e^g − ½ridge‖a‖², which is
  /// concave, by Newton's method.
  /// @throws std::invalid_argument for no rows; std::domain_error for an option out of range
  [[nodiscard]] static basic_feature_critic random_features(matrix_of<T> const& whitened,
                                                            ridge_options options);

  struct network_options {
    std::size_t units = 64;
    int steps = 600;
    std::size_t batch = 256;
    double rate = 1e-2;
    double bound = 5.0;
    public_stream stream = {};
  };

  /// All of it by Adam (Kingma & Ba 2015) on E_P f − log E_Q e^f, fresh draws of Q at every step. The
  /// units start along the coordinates.
  /// @throws as above
  [[nodiscard]] static basic_feature_critic network(matrix_of<T> const& whitened,
                                                    network_options options);

 private:
  [[nodiscard]] static matrix_of<T> tanh_of(matrix_of<T> const& x) {
    return 1.0 - 2.0 / (1.0 + detail::exponentials<T>(2.0 * x).array());
  }

  [[nodiscard]] matrix_of<T> features(matrix_of<T> const& t) const {
    return tanh_of((t * directions_).rowwise() + shifts_.transpose());
  }

  [[nodiscard]] vector_of<T> squashed(vector_of<T> const& g) const {
    return (bound_ * tanh_of(g / bound_)).cwiseMax(-bound_).cwiseMin(bound_);
  }

  matrix_of<T> directions_;
  vector_of<T> shifts_;
  vector_of<T> weights_;
  double offset_;
  double bound_;
};

using feature_critic = basic_feature_critic<>;

template <dense_scalar T>
basic_feature_critic<T> basic_feature_critic<T>::random_features(matrix_of<T> const& whitened,
                                                                 ridge_options options) {
  Eigen::Index const d = whitened.cols();
  detail::check_rows("random_features", whitened, static_cast<std::size_t>(d));
  detail::check_bound("random_features", options.bound);
  detail::check_positive("random_features", "ridge", options.ridge);
  detail::require_argument(options.features > 0 && options.draws > 0, "random_features",
                           "features and draws", options.features, "positive");
  auto const h = static_cast<Eigen::Index>(options.features);
  auto const draws = static_cast<Eigen::Index>(options.draws);
  auto const part = [&](std::uint64_t k) { return detail::part_of(options.stream, k); };
  basic_feature_critic<T> critic(
      2.0 * public_normals(part(1), d, h) / std::sqrt(static_cast<double>(d)),
      2.0 * public_normals(part(2), h, 1), vector_of<T>::Zero(h), 0.0, options.bound);
  vector_of<T> const target = critic.features(whitened).colwise().mean();
  matrix_of<T> const drawn = critic.features(public_normals(part(3), draws, d));

  // The objective, and the draws' shares e^g/Σe^g.
  auto const evaluate = [&](vector_of<T> const& a, vector_of<T>& share) {
    vector_of<T> const g = drawn * a;
    double const top = g.maxCoeff();
    share = (g.array() - top).exp();
    double const sum = share.sum();
    share /= sum;
    double const log_mean = top + elementary::log(sum / static_cast<double>(draws));
    critic.offset_ = -log_mean;
    return target.dot(a) - log_mean - 0.5 * options.ridge * a.squaredNorm();
  };
  vector_of<T> share;
  vector_of<T> trial_share;
  double value = evaluate(critic.weights_, share);
  for (int step = 0; step < 50; ++step) {
    vector_of<T> const mean = drawn.transpose() * share;
    vector_of<T> const slope = target - mean - options.ridge * critic.weights_;
    matrix_of<T> curvature = detail::scatter(drawn, share);
    curvature.noalias() -= mean * mean.transpose();
    curvature.diagonal().array() += options.ridge;
    vector_of<T> const move = detail::cholesky_of(curvature).solve(slope);
    double const gain = slope.dot(move);
    if (!(gain > 1e-8)) break;
    double fraction = 1.0;
    while (fraction > 1e-6) {
      double const trial = evaluate(critic.weights_ + fraction * move, trial_share);
      if (trial >= value + 0.1 * fraction * gain) {
        value = trial;
        break;
      }
      fraction *= 0.5;
    }
    if (!(fraction > 1e-6)) break;
    critic.weights_ += fraction * move;
    share.swap(trial_share);
  }
  (void)evaluate(critic.weights_, share);  // sets the offset: log mean_Q e^g = 0
  return critic;
}

template <dense_scalar T>
basic_feature_critic<T> basic_feature_critic<T>::network(matrix_of<T> const& whitened,
                                                         network_options options) {
  Eigen::Index const n = whitened.rows();
  Eigen::Index const d = whitened.cols();
  detail::check_rows("network", whitened, static_cast<std::size_t>(d));
  detail::check_bound("network", options.bound);
  detail::check_positive("network", "rate", options.rate);
  detail::require_argument(options.units > 0 && options.batch > 0, "network", "units and batch",
                           options.units, "positive");
  auto const h = static_cast<Eigen::Index>(options.units);
  Eigen::Index const batch = std::min(static_cast<Eigen::Index>(options.batch), n);
  auto const part = [&](std::uint64_t k) { return detail::part_of(options.stream, k); };
  basic_feature_critic<T> critic(0.1 * public_normals(part(4), d, h), public_normals(part(5), h, 1),
                                 0.1 * public_normals(part(6), h, 1), 0.0, options.bound);
  for (Eigen::Index j = 0; j < h; ++j) critic.directions_(j % d, j) += 2.0;

  // One vector of all parameters, in Adam's terms: w, φ, a, c.
  Eigen::Index const size = d * h + 2 * h + 1;
  vector_of<T> slope(size);
  detail::adam_ascent<T> adam(size, options.rate, options.steps, 1e-10);
  matrix_of<T> t(2 * batch, d);
  for (int step = 1; step <= options.steps; ++step) {
    // A block of rows in the order given: the rows are independent, and so in random order.
    Eigen::Index const start = (step - 1) * batch % n;
    for (Eigen::Index k = 0; k < batch; ++k) t.row(k) = whitened.row((start + k) % n);
    t.bottomRows(batch) = public_normals(part(7 + static_cast<std::uint64_t>(step)), batch, d);
    matrix_of<T> const hidden = critic.features(t);
    vector_of<T> const f =
        critic.squashed(((hidden * critic.weights_).array() + critic.offset_).matrix());
    vector_of<T> pull = (1.0 - (f / options.bound).array().square()).matrix();
    pull.head(batch) /= static_cast<double>(batch);
    array_of<T> const share = (f.tail(batch).array() - f.tail(batch).maxCoeff()).exp();
    pull.tail(batch).array() *= -share / share.sum();
    matrix_of<T> const back =
        ((pull * critic.weights_.transpose()).array() * (1.0 - hidden.array().square())).matrix();
    matrix_of<T> const to_directions = t.transpose() * back;
    slope << to_directions.reshaped(), back.colwise().sum().transpose(), hidden.transpose() * pull,
        pull.sum();

    vector_of<T> const move = adam.move(slope);
    critic.directions_.reshaped() += move.head(d * h);
    critic.shifts_ += move.segment(d * h, h);
    critic.weights_ += move.segment(d * h + h, h);
    critic.offset_ += move(size - 1);
  }
  return critic;
}

#if defined(TACIT_COMPILED_DENSE)
extern template feature_critic feature_critic::random_features(Eigen::MatrixXd const&,
                                                               ridge_options);
extern template feature_critic feature_critic::network(Eigen::MatrixXd const&, network_options);
#endif

}  // namespace tacit
