// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/betting.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/congruence.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/exponentials.hpp>
#include <tacit/pac/gap/certificate.hpp>
#include <tacit/pac/gap/information.hpp>
#include <tacit/pac/gap/surrogate.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/mi_bound.hpp>
#include <tacit/pac/public_normal.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace tacit {

/// Q = Σ_k w_k N(m_k, S_k). With KL_k(y) = KL(N(y, Σ_B)‖N(m_k, S_k)), which is a closed form,
///   KL(N(y, Σ_B)‖Q) ≤ −log Σ_k w_k e^{−KL_k(y)}
/// (Jensen's inequality, with the best weights: Hershey & Olsen 2007). So I(X; Z) ≤ E KL(P_{Z|X}‖Q) is
/// bounded by the mean of a bounded function of the outputs alone: no Z is drawn, no critic trained.
template <dense_scalar T = double>
class basic_mixture_surrogate {
 public:
  /// Weights proportional to the given ones.
  /// @throws std::invalid_argument unless there is one weight a component, and at least one of them;
  ///         std::domain_error unless all weights are positive and finite
  basic_mixture_surrogate(std::vector<basic_normal_surrogate<T>> components,
                          std::vector<double> weights)
      : components_(std::move(components)), log_weights_(std::move(weights)) {
    detail::require_argument(!components_.empty(), "mixture_surrogate", "number of components",
                             components_.size(), "positive");
    detail::check_size("mixture_surrogate", "number of weights", log_weights_.size(),
                       components_.size());
    double sum = 0.0;
    for (double const w : log_weights_) {
      detail::check_positive("mixture_surrogate", "weight", w);
      sum += w;
    }
    detail::check_finite("mixture_surrogate", "sum of weights", sum);
    for (auto const& component : components_) {
      detail::check_size("mixture_surrogate", "dimension of a component", component.dimension(),
                         dimension());
    }
    // Lowered, so that together they are 1 at most.
    for (double& w : log_weights_) {
      w = elementary::log(w / sum);
      w -= 1e-15 * (static_cast<double>(size()) + 1.0 - w);
    }
  }

  /// The mixture that charges the training outputs least, from a start far apart. Each round assigns
  /// every output to the components by w_k e^{−KL_k}, and then gives every component the mean of its
  /// outputs and their covariance plus Σ_B: both halves lower the bound.
  /// @throws std::invalid_argument for no components or more than rows; std::domain_error for noise that
  ///         is 0 in some direction
  [[nodiscard]] static basic_mixture_surrogate fit(matrix_of<T> const& outputs,
                                                   basic_gaussian_noise<T> const& noise,
                                                   std::size_t components, public_stream stream,
                                                   int rounds = 50);

  /// The same, with one more component of this weight that is as wide as the ball ‖y‖ ≤ radius: its
  /// covariance is Σ_B + radius²/d. It costs every output −log(1 − weight), and no output in the ball
  /// then costs more than about ½d(log(1 + radius²/(dσ²)) + 1) − log weight, which is what a confidence
  /// bound pays for outputs that the sample might have missed.
  /// @throws std::domain_error unless radius is positive and finite, and weight in (0, 1);
  ///         std::invalid_argument for noise of another dimension
  [[nodiscard]] basic_mixture_surrogate guarded(basic_gaussian_noise<T> const& noise, double radius,
                                                double weight = 0.01) const {
    detail::check_positive("guarded", "radius", radius);
    detail::require_domain(weight > 0.0 && weight < 1.0, "guarded", "weight", weight, "in (0, 1)");
    detail::check_size("guarded", "dimension of the noise", noise.dimension(), dimension());
    matrix_of<T> covariance = noise.covariance();
    covariance.diagonal().array() += radius * radius / static_cast<double>(dimension());
    basic_mixture_surrogate out = *this;
    for (double& w : out.log_weights_) w = (w + elementary::log1p(-weight)) * (1.0 + 1e-15);
    out.components_.emplace_back(vector_of<T>::Zero(covariance.rows()), whitener_of(covariance));
    out.log_weights_.push_back(elementary::log(weight) * (1.0 + 1e-15));
    return out;
  }

  [[nodiscard]] std::size_t size() const noexcept { return components_.size(); }
  [[nodiscard]] std::size_t dimension() const noexcept { return components_[0].dimension(); }
  [[nodiscard]] std::vector<basic_normal_surrogate<T>> const& components() const noexcept {
    return components_;
  }
  /// log w_k, rounded down.
  [[nodiscard]] std::vector<double> const& log_weights() const noexcept { return log_weights_; }

 private:
  [[nodiscard]] static matrix_of<T> whitener_of(matrix_of<T> const& covariance) {
    matrix_of<T> out = matrix_of<T>::Identity(covariance.rows(), covariance.cols());
    auto const factor = detail::cholesky_of(covariance);
    factor.matrixL().solveInPlace(out);
    return out;
  }

  std::vector<basic_normal_surrogate<T>> components_;
  std::vector<double> log_weights_;
};

using mixture_surrogate = basic_mixture_surrogate<>;

namespace detail {

/// KL_k(y) − log w_k, n×K, rounded up.
template <dense_scalar T>
struct mixture_charges {
  matrix_of<T> charge;
  std::vector<double> fixed;
  std::vector<double> gain;
};

template <dense_scalar T = double>
[[nodiscard]] mixture_charges<T> charges_of(basic_mixture_surrogate<T> const& mixture,
                                            basic_gaussian_noise<T> const& noise,
                                            matrix_of<T> const& outputs, char const* function) {
  mixture_charges<T> out{
      matrix_of<T>(outputs.rows(), static_cast<Eigen::Index>(mixture.size())), {}, {}};
  for (std::size_t k = 0; k < mixture.size(); ++k) {
    auto const [fixed, gain] = divergence_from(mixture.components()[k], noise, function);
    out.fixed.push_back(fixed - mixture.log_weights()[k]);
    out.gain.push_back(gain);
    out.charge.col(static_cast<Eigen::Index>(k)) =
        (half_energies(mixture.components()[k], outputs).array() + out.fixed[k]).matrix();
  }
  return out;
}

/// −log Σ_k e^{−charge_k}, at least 0.
template <dense_scalar T = double>
[[nodiscard]] vector_of<T> soft_least(matrix_of<T> const& charge) {
  vector_of<T> out = charge.rowwise().minCoeff();
  vector_of<T> const sum = exponentials<T>(-(charge.colwise() - out)).rowwise().sum();
  for (Eigen::Index i = 0; i < out.size(); ++i) {
    out(i) = std::max(0.0, out(i) - elementary::log(sum(i)));
  }
  return out;
}

/// What a mixture charges each output, no more than `largest` for any within the radius; all but `rounding`.
template <dense_scalar T>
struct mixture_scores {
  vector_of<T> values;
  double largest;
  double rounding;
};

template <dense_scalar T = double>
[[nodiscard]] mixture_scores<T> scores_of(basic_mixture_surrogate<T> const& mixture,
                                          basic_gaussian_noise<T> const& noise,
                                          matrix_of<T> const& outputs, double radius,
                                          char const* function) {
  auto const charges = charges_of(mixture, noise, outputs, function);
  double largest = std::numeric_limits<double>::infinity();
  double scale = 1.0;
  for (std::size_t k = 0; k < mixture.size(); ++k) {
    double const most =
        charges.fixed[k] + largest_half_energy(mixture.components()[k], charges.gain[k], radius);
    largest = std::min(largest, most);
    scale = std::max(scale, std::abs(charges.fixed[k]));
  }
  auto const d = static_cast<double>(mixture.dimension());
  largest = std::max(largest * (1.0 + 8.0 * (d + 4.0) * 1e-12), 0.0) + 1e-9 * scale;
  double const rounding =
      4.0 * static_cast<double>(mixture.size() + 8) * unit_roundoff * (scale + largest);
  return {soft_least(charges.charge), largest, rounding};
}

}  // namespace detail

/// I(X; Z) from above, by a mixture that was fitted on other outputs.
/// Guarantee: upper bound with confidence 1 − failure over the rows.
/// @throws as `certified_information` of a normal surrogate
template <dense_scalar T = double>
[[nodiscard]] mi_bound certified_information(basic_mixture_surrogate<T> const& mixture,
                                             basic_gaussian_noise<T> const& noise,
                                             matrix_of<T> const& outputs,
                                             held_out_options options) {
  detail::check_failure("certified_information", options.failure);
  detail::check_rows("certified_information", outputs, mixture.dimension());
  detail::check_radius("certified_information", outputs, options.radius);
  auto const scores =
      detail::scores_of(mixture, noise, outputs, options.radius, "certified_information");
  double const mean =
      upper_confidence(detail::span_of(scores.values), 0.0, scores.largest, options.failure);
  detail::check_finite("certified_information", "the bound", mean);
  return {nats(mean + scores.rounding), detail::confidence_of(options.failure)};
}

template <dense_scalar T>
basic_mixture_surrogate<T> basic_mixture_surrogate<T>::fit(matrix_of<T> const& outputs,
                                                           basic_gaussian_noise<T> const& noise,
                                                           std::size_t components,
                                                           public_stream stream, int rounds) {
  detail::check_rows("mixture_surrogate", outputs, noise.dimension());
  Eigen::Index const n = outputs.rows();
  auto const count = static_cast<Eigen::Index>(components);
  detail::require_argument(components >= 1 && count <= n, "mixture_surrogate", "components",
                           components, "in [1, number of rows]");
  matrix_of<T> const floor = noise.covariance();

  // Start: outputs far apart in the noise's own scale (k-means++; Arthur & Vassilvitskii 2007), each
  // output with its nearest.
  matrix_of<T> const scaled = whitener_of(floor) * outputs.transpose();
  vector_of<T> nearest = vector_of<T>::Constant(n, std::numeric_limits<double>::infinity());
  std::vector<Eigen::Index> owner(static_cast<std::size_t>(n), 0);
  Eigen::Index seed = std::min(
      n - 1, static_cast<Eigen::Index>(public_uniform(stream, 0) * static_cast<double>(n)));
  Eigen::Index started = 0;
  while (started < count) {
    for (Eigen::Index j = 0; j < n; ++j) {
      double const distance = (scaled.col(j) - scaled.col(seed)).squaredNorm();
      if (distance < nearest(j)) {
        nearest(j) = distance;
        owner[static_cast<std::size_t>(j)] = started;
      }
    }
    ++started;
    double const sum = nearest.sum();
    if (!(sum > 0.0)) break;  // fewer different outputs than components
    double left = public_uniform(stream, static_cast<std::uint64_t>(started)) * sum;
    for (seed = 0; seed + 1 < n && left >= nearest(seed); ++seed) left -= nearest(seed);
  }
  matrix_of<T> share = matrix_of<T>::Zero(n, started);
  for (Eigen::Index j = 0; j < n; ++j) share(j, owner[static_cast<std::size_t>(j)]) = 1.0;

  double before = std::numeric_limits<double>::infinity();
  for (int round = 0;; ++round) {
    std::vector<basic_normal_surrogate<T>> parts;
    std::vector<double> weights;
    for (Eigen::Index k = 0; k < share.cols(); ++k) {
      double const mass = share.col(k).sum();
      if (!(mass > 1e-9 * static_cast<double>(n))) continue;
      vector_of<T> const mean = outputs.transpose() * share.col(k) / mass;
      matrix_of<T> const centred = outputs.rowwise() - mean.transpose();
      matrix_of<T> const covariance = floor + detail::scatter(centred, share.col(k) / mass);
      parts.emplace_back(mean, whitener_of(covariance));
      weights.push_back(mass);
    }
    basic_mixture_surrogate<T> fitted(std::move(parts), std::move(weights));
    if (round == rounds) return fitted;
    auto const charges = detail::charges_of(fitted, noise, outputs, "mixture_surrogate");
    double const now = detail::soft_least(charges.charge).mean();
    if (!(now < before - 1e-6)) return fitted;
    before = now;
    vector_of<T> const least = charges.charge.rowwise().minCoeff();
    share = (-(charges.charge.colwise() - least)).array().exp();
    share.array().colwise() /= share.array().rowwise().sum().eval();
  }
}

#if defined(TACIT_COMPILED_DENSE)
extern template mixture_surrogate mixture_surrogate::fit(Eigen::MatrixXd const&,
                                                         gaussian_noise const&, std::size_t,
                                                         public_stream, int);
extern template mi_bound certified_information(mixture_surrogate const&, gaussian_noise const&,
                                               Eigen::MatrixXd const&, held_out_options);
#endif

}  // namespace tacit
