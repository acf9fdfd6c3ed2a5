// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/calibrated.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/confidence.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/public_normal.hpp>
#include <tacit/pac/whitened_candidates.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/QR>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

/// I(X; Z) for Z = y_X + N(0, Σ_B), X one of M listed candidates with probabilities p.
///
///   log-det    ≤ ½ log det(I + ΣΣ_B⁻¹): tight where the noise drowns the candidates.
///   pairwise   ≤ −Σ p_m log Σ_k p_k e^{−d²_mk/2}, d² = (y_m−y_k)ᵀΣ_B⁻¹(y_m−y_k), and ≥ the same with
///              d²/8 (Kolchinsky & Tracey 2017): tight where the candidates stand apart; at most the
///              entropy of what is said; twice the truth where the noise drowns them.
///   line       exact, where all candidates lie on a line in units of the noise (d = 1, or M = 2).
///   Monte Carlo  in between, with a confidence.
///
/// Rounding: `whitened_candidates` bounds what it does to positions and distances, which are then taken
/// as far apart (or as near) as they may be; after that all sums have positive terms, whose
/// relative errors are counted in units of 2⁻⁵³ and charged.

namespace tacit {

namespace detail {

/// All d²_mk in units of the noise, certainly between `lower` and `upper`, and w_m·w_k: M×M, of which
/// the lower halves are filled.
template <dense_scalar T>
struct pair_distances {
  matrix_of<T> lower;
  matrix_of<T> upper;
  matrix_of<T> products;
};

template <dense_scalar T = double>
[[nodiscard]] pair_distances<T> distances(whitened_candidates<T> const& w) {
  Eigen::Index const count = w.size();
  matrix_of<T> const zero = matrix_of<T>::Zero(count, count);
  pair_distances<T> out{zero, zero, zero};
  if (count == 1) return out;
  matrix_of<T>& gram = out.products;
  gram.template selfadjointView<Eigen::Lower>().rankUpdate(w.columns.transpose());
  array_of<T> const square = gram.diagonal();
  array_of<T> const length = square.sqrt();
  array_of<T> const error = w.error.array();
  double const unit = (static_cast<double>(w.columns.rows()) + 8.0) * unit_roundoff;
  double constexpr infinity = std::numeric_limits<double>::infinity();
  double const more = (1.0 + w.stretch) * (1.0 + 8.0 * unit_roundoff);
  double const less = (1.0 - w.stretch) * (1.0 - 8.0 * unit_roundoff);
  array_of<T> far;
  array_of<T> lost;
  array_of<T> moved;
  for (Eigen::Index k = 0; k + 1 < count; ++k) {
    Eigen::Index const n = count - k - 1;  // those after k
    far = square.tail(n) + square(k) - 2.0 * gram.col(k).tail(n).array();
    lost = unit * (length.tail(n) + length(k)).square();
    for (Eigen::Index i = 0; i < n; ++i) {
      if (lost(i) <= 1e-9 * far(i)) continue;
      // Next to each other, far from the centre.
      far(i) = (w.columns.col(k + 1 + i) - w.columns.col(k)).squaredNorm();
      lost(i) = unit * far(i);
    }
    moved = error.tail(n) + error(k);
    auto high = out.upper.col(k).tail(n).array();
    high = ((far + lost).sqrt() + moved).square() * more;
    high = (high < infinity).select(high, infinity);
    auto low = out.lower.col(k).tail(n).array();
    low = (far - lost).max(0.0).sqrt() - moved;
    low = (low > 0.0 && low < infinity).select(low.square() * less, 0.0);
    for (Eigen::Index i = 0; w.groups > 1 && i < n; ++i) {
      if (w.together(k + 1 + i, k)) continue;
      out.lower(k + 1 + i, k) = w.certain ? infinity : 0.0;
      out.upper(k + 1 + i, k) = infinity;
    }
  }
  return out;
}

/// −Σ p_m log Σ_k p_k e^{−factor·d²_mk}: relative error below 4·sum_error, given the exponents. Where
/// the inner sum is near 1 it is taken as 1 − Σ p_k(1 − e^…), in which nothing cancels.
template <dense_scalar T = double>
[[nodiscard]] double pairwise_sum(matrix_of<T> const& squared, double factor,
                                  vector_of<T> const& p) {
  Eigen::Index const count = p.size();
  vector_of<T> near = p;
  vector_of<T> far = vector_of<T>::Zero(count);
  for (Eigen::Index k = 0; k < count; ++k) {
    double near_k = 0.0;
    double far_k = 0.0;
    for (Eigen::Index m = k + 1; m < count; ++m) {
      double const x = factor * squared(m, k);
      // One of the two, from which the other is 1 less.
      bool const is_near = x < 0.5;
      double const told = is_near ? -std::expm1(-x) : x < 746.0 ? std::exp(-x) : 0.0;
      double const like = is_near ? 1.0 - told : told;
      double const unlike = is_near ? told : 1.0 - told;
      near(m) += p(k) * like;
      far(m) += p(k) * unlike;
      near_k += p(m) * like;
      far_k += p(m) * unlike;
    }
    near(k) += near_k;
    far(k) += far_k;
  }
  compensated_sum<double> sum;
  for (Eigen::Index m = 0; m < count; ++m) {
    sum += p(m) * (far(m) < 0.5 ? -std::log1p(-far(m)) : -std::log(near(m)));
  }
  return std::max(0.0, sum.value());
}

/// The two bounds for noise of covariance Σ_B/shrink, raised and lowered.
template <dense_scalar T = double>
[[nodiscard]] double pairwise_upper(whitened_candidates<T> const& w,
                                    pair_distances<T> const& squared, double shrink) {
  if (w.size() == 1) return 0.0;
  double const sum =
      pairwise_sum(squared.upper, 0.5 * shrink * (1.0 + 8.0 * unit_roundoff), w.weights);
  return std::min(w.raised_entropy(),
                  sum * (1.0 + 4.0 * w.sum_error()) + std::numeric_limits<double>::min());
}
template <dense_scalar T = double>
[[nodiscard]] double pairwise_lower(whitened_candidates<T> const& w,
                                    pair_distances<T> const& squared, double shrink) {
  if (w.size() == 1) return 0.0;
  double const sum =
      pairwise_sum(squared.lower, 0.125 * shrink * (1.0 - 8.0 * unit_roundoff), w.weights);
  return std::max(0.0, sum * (1.0 - 4.0 * w.sum_error()) - std::numeric_limits<double>::min());
}

/// The lower half of the symmetric L with d(pairwise_sum at ½)/dP = W L Wᵀ, P the precision of the noise in
/// its own units: the Laplacian of the graph whose edges are ½(p_m π_mk + p_k π_km), π_m· the weights of the
/// inner sum. Of the squared distances, too, the lower half is read.
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> pairwise_laplacian(matrix_of<T> const& squared, vector_of<T> const& p) {
  Eigen::Index const count = p.size();
  matrix_of<T> edge = matrix_of<T>::Identity(count, count);
  for (Eigen::Index k = 0; k < count; ++k) {
    for (Eigen::Index m = k + 1; m < count; ++m) {
      edge(m, k) = squared(m, k) < 1490.0 ? std::exp(-0.5 * squared(m, k)) : 0.0;
    }
  }
  auto const whole = edge.template selfadjointView<Eigen::Lower>();
  vector_of<T> const rate = p.cwiseQuotient(whole * p);
  // ½(p_m p_k e/S_m + p_m p_k e/S_k), negative off the diagonal; rows sum to 0.
  for (Eigen::Index k = 0; k < count; ++k) {
    edge.col(k).array() *= -0.5 * (rate.array() * p(k) + p.array() * rate(k));
  }
  edge.diagonal().setZero();
  edge.diagonal() = -(whole * vector_of<T>::Ones(count));
  return edge;
}

/// ∫ of a mixture of unit normals on a line against what each point tells.
struct line_sum {
  double value;
  double error;
};

/// I for positions t and weights p, `least` a positive lower bound of it. Trapezoid sums of
///   Σ p_m φ(z − t_m) log(φ(z − t_m)/mix(z)) = mix(z)·KL(posterior(z)‖p).
/// *Alias.* In the strip |Im z| ≤ a, a·R = 0.8π, R = max t − min t, all terms of the mixture lie in a
/// sector of 0.8π, so |mix| ≥ cos(0.4π)·e^{a²/2}·mix(Re z) and it has no zero; the logarithm is that on
/// the real line but for 1.18 + 0.8π; ∫|integrand| ≤ e^{a²/2}(H + 2/e + 3.7), and the error is at most
/// 2e^{a²/2}(H + 5)/(e^{2πa/h} − 1) (Trefethen & Weideman 2014, Theorem 5.1).
/// *Tails.* KL ≤ log 1/p_min, mix ≤ φ(distance from the outermost candidate).
/// *Rounding.* A relative error e of posterior/p moves KL by at most e·(KL + √(2KL)) (Pinsker).
/// Nothing if it would take more than `most` evaluations of a normal.
template <dense_scalar T = double>
[[nodiscard]] std::optional<line_sum> line_quadrature(array_of<T> t, array_of<T> const& p,
                                                      double least, double most = 2e8) {
  using std::exp, std::expm1, std::log, std::sqrt;
  double constexpr pi = std::numbers::pi;
  t -= (p * t).sum();
  double const low = t.minCoeff();
  double const high = t.maxCoeff();
  double const range = high - low;
  double const size = std::max(-low, high);
  auto const count = static_cast<double>(p.size());
  double entropy = 0.0;
  for (double const q : p) entropy -= q * log(q);
  double const most_told = -log(p.minCoeff());

  double const aim = 0x1p-56 * least;
  double const digits = log(2.0 * (entropy + 5.0) / aim);
  double const strip = std::min(0.8 * pi / range, sqrt(2.0 * digits));
  double const step = 2.0 * pi * strip / (digits + 0.5 * strip * strip);
  double const reach = sqrt(2.0 * log((most_told + 2.0) * 4.0 / aim));
  if (!((range + 2.0 * reach) / step * count <= most)) return std::nullopt;
  double const tails = 2.0 * most_told * (step + 1.0 / reach) * exp(-0.5 * reach * reach);
  double error = 1.01 * (aim + tails);

  compensated_sum<double> value;
  double lost = 0.0;
  array_of<T> x(p.size());
  auto const first = static_cast<long>(std::floor((low - reach) / step));
  auto const last = static_cast<long>(std::ceil((high + reach) / step));
  for (long j = first; j <= last; ++j) {
    double const z = step * static_cast<double>(j);
    double const steepest = size * (std::abs(z) + size);  // bounds every |log-likelihood ratio|
    double kl = 0.0;
    double mix = 0.0;
    double relative = 0.0;  // error of a ratio
    if (steepest < 0.25) {
      for (Eigen::Index m = 0; m < p.size(); ++m) x(m) = expm1(t(m) * (z - 0.5 * t(m)));
      double const mean = (p * x).sum();
      for (Eigen::Index m = 0; m < p.size(); ++m) {
        kl += p(m) * entropy_residual((x(m) - mean) / (1.0 + mean), (1.0 + x(m)) / (1.0 + mean));
      }
      mix = (1.0 + mean) * exp(-0.5 * z * z);
      relative = 1.3 * unit_roundoff * (count + 32.0) * steepest;
      lost += mix * kl * unit_roundoff * (count + 16.0 + 2.0 * z * z);
    } else {
      x = -0.5 * (z - t).square();
      double const top = x.maxCoeff();
      for (double& e : x) e = exp(e - top);
      double const sum = (p * x).sum();
      for (Eigen::Index m = 0; m < p.size(); ++m) {
        double const ratio = x(m) / sum;
        kl += p(m) * entropy_residual(ratio - 1.0, ratio);
      }
      mix = sum * exp(top);
      relative = unit_roundoff * (count + 200.0 - 4.0 * top);
      lost += mix * kl * unit_roundoff * (count + 16.0 - 4.0 * top);
    }
    value += mix * kl;
    lost += mix * relative * (kl + sqrt(2.0 * kl));
  }
  double const measure = step / sqrt(2.0 * pi);
  error += measure * lost + 8.0 * unit_roundoff * measure * value.value();
  return line_sum{measure * value.value(), 1.01 * error};
}

/// Beyond this many candidates and dimensions a determinant costs too much: Hadamard's bound has to do.
inline constexpr std::size_t largest_determinant = 1024;

/// The bounds above for one noise and all its multiples, from one pass over the outputs.
template <dense_scalar T>
class candidate_bounds {
 public:
  candidate_bounds(basic_candidate_outputs<T> const& outputs, basic_gaussian_noise<T> const& noise)
      : white_(whiten(outputs, noise)) {
    if (one_output()) return;
    distances_ = distances(white_);
    array_of<T> const length = distances_.products.diagonal().array().sqrt();
    array_of<T> const error = white_.error.array();
    vector_of<T> const& p = white_.weights;
    missed_ = 1.01 * (p.array() * error * (2.0 * length + error)).sum();
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

  /// H of what is said, raised.
  [[nodiscard]] double entropy() const { return white_.raised_entropy(); }

  /// No noise in the directions that have some leaves this much.
  [[nodiscard]] double least() const {
    return one_output() ? 0.0 : white_.group_entropy() * (1.0 + 4.0 * white_.sum_error());
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
      hadamard += std::log1p(shrink * r);
      trace += shrink * r;
    }
    double best = 0.5 * hadamard * relative;
    if (gram_.size() > 0 && trace < 1e12) {
      // log det A ≤ log det(A + E) + √m‖E‖_F for A ⪰ I: E is what the products and the
      // factorisation rounded off.
      matrix_of<T> shifted = shrink * gram_;
      shifted.diagonal().array() += 1.0;
      Eigen::LLT<Eigen::Ref<matrix_of<T>>> const factor(shifted);
      if (factor.info() == Eigen::Success) {
        auto const m = static_cast<double>(gram_.rows());
        double const longest = std::max(axes, static_cast<double>(white_.size()));
        double const off =
            std::sqrt(m) * unit_roundoff * ((m + 8.0) * (m + trace) + (longest + 8.0) * trace);
        double const half_log = shifted.diagonal().array().log().sum();
        best =
            std::min(best, (half_log * (1.0 + (m + 8.0) * unit_roundoff) + 0.51 * off) * relative);
      }
    }
    return best + missed + std::numeric_limits<double>::min();
  }

  [[nodiscard]] double pairwise_upper(double shrink) const {
    return detail::pairwise_upper(white_, distances_, shrink);
  }
  [[nodiscard]] double pairwise_lower(double shrink) const {
    return detail::pairwise_lower(white_, distances_, shrink);
  }

  /// How far I can move if the candidates move by their errors: dI = Σ p_m e_m·(w_m − E[E[W|Z]|m]), at
  /// most √(Σp‖e‖²)·√(tr Cov W) by Cauchy & Schwarz; and E[W|Z] − Z = −E[N|Z], so √M serves as well.
  [[nodiscard]] double slack(double shrink, array_of<T> const& moved, double trace) const {
    array_of<T> const p = white_.weights.array();
    double const root = std::sqrt(shrink * (p * moved.square()).sum());
    return 1.01 * root *
           std::min(std::sqrt(shrink * trace) + root, std::sqrt(static_cast<double>(p.size())));
  }

  /// Exact on a line, but for rounding. Nothing elsewhere, and where it would take too long.
  [[nodiscard]] std::optional<bound<nats>> line(double shrink) const {
    if (!on_a_line()) return std::nullopt;
    double const least = pairwise_lower(shrink);
    if (!(least > 1e-280)) return std::nullopt;
    array_of<T> const p = white_.weights.array();
    auto const sum = line_quadrature(std::sqrt(shrink) * position_, p, least);
    if (!sum) return std::nullopt;
    double const error = sum->error + slack(shrink, moved_, (p * position_.square()).sum()) +
                         2.0 * white_.sum_error() * sum->value;
    return bound<nats>{nats(std::max(least, sum->value - error)),
                       nats(std::min(entropy(), sum->value + error))};
  }

  /// The least of all upper bounds.
  [[nodiscard]] double best(double shrink) const {
    double least = std::min({log_det(shrink), pairwise_upper(shrink), entropy()});
    if (auto const exact = line(shrink)) least = std::min(least, exact->upper.value);
    return least;
  }

 private:
  [[nodiscard]] bool comparable() const { return white_.certain && white_.groups == 1; }

  /// Positions along the longest difference, if next to nothing is left across it.
  void find_line() {
    if (white_.columns.rows() > 1 && !nearly_on_a_line()) return;
    matrix_of<T> const from_first = white_.columns.colwise() - white_.columns.col(0);
    vector_of<T> const length = from_first.colwise().norm();
    Eigen::Index farthest = 0;
    double const longest = length.maxCoeff(&farthest);
    if (!(longest > 0.0 && longest < std::numeric_limits<double>::max())) return;
    array_of<T> t;
    array_of<T> moved = white_.error.array() + white_.error(0) + white_.stretch * length.array();
    if (white_.columns.rows() == 1) {
      t = from_first.row(0).transpose().array();
      moved += 2.0 * unit_roundoff * length.array();
    } else {
      vector_of<T> const direction = from_first.col(farthest) / longest;
      t = (from_first.transpose() * direction).array();
      double const unit = (static_cast<double>(direction.size()) + 8.0) * unit_roundoff;
      moved += 3.0 * unit * length.array();
      if (white_.size() > 2) {
        moved +=
            (from_first - direction * t.matrix().transpose()).colwise().norm().transpose().array();
      } else {
        t(farthest) = longest;
      }
    }
    array_of<T> const p = white_.weights.array();
    t -= (p * t).sum();
    double const trace = (p * t.square()).sum();
    if ((p * moved.square()).sum() <= 1e-12 * trace) {
      position_ = t;
      moved_ = moved + 2.0 * unit_roundoff * (t.abs() + std::abs(t(0)));
    }
  }

  [[nodiscard]] bool nearly_on_a_line() const {
    auto const from_first = distances_.upper.col(0).array();
    Eigen::Index farthest = 0;
    double const longest = std::sqrt(from_first.maxCoeff(&farthest));
    array_of<T> from_farthest = distances_.upper.col(farthest);
    from_farthest.head(farthest) = distances_.upper.row(farthest).head(farthest).transpose();
    array_of<T> const t = (from_first + from_first(farthest) - from_farthest) / (2.0 * longest);
    return (from_first - t.square()).maxCoeff() <= 1e-6 * longest * longest;
  }

  whitened_candidates<T> white_;
  pair_distances<T> distances_;
  double missed_ = 0.0;
  vector_of<T> along_;    // Σ p w_i² along each axis
  matrix_of<T> gram_;     // of the weighted columns, the smaller one
  array_of<T> position_;  // on a line; empty if there is none
  array_of<T> moved_;
};

}  // namespace detail

/// ½ log det(I + ΣΣ_B⁻¹) ≥ I(X; Z), Σ the covariance of the candidates' outputs: by Hadamard's inequality
/// along the noise's axes, Σ log(1 + r_i/v_i), or by a determinant, whichever is less.
/// Guarantee: upper bound. ∞ if candidates differ where there is no noise.
/// Accuracy: above the determinant by a few M·u relative where the axes are principal, by a few m²u,
/// m = min(M, d), elsewhere; and by what rounding moves candidates in units of the quietest noise, 2e-4
/// relative for 128 candidates in d = 1000 with 1e-12 of the noise across their span. O(Md·min(M, d)).
/// @throws std::invalid_argument unless the noise has the outputs' dimension; std::domain_error if two
///         outputs are more than the largest double apart
template <dense_scalar T = double>
[[nodiscard]] mi_bound log_det_information(basic_candidate_outputs<T> const& outputs,
                                           basic_gaussian_noise<T> const& noise) {
  return {nats(detail::candidate_bounds<T>(outputs, noise).log_det(1.0)), 1.0};
}

/// −Σ p_m log Σ_k p_k e^{−d²_mk/2} above I(X; Z), and the same with d²/8 below it.
/// Guarantee: bounds on both sides. O(M²d), no d×d matrix.
/// @throws as `log_det_information`
/// Source: Kolchinsky & Tracey 2017, "Estimating mixture entropy with pairwise distances".
template <dense_scalar T = double>
[[nodiscard]] bound<nats> pairwise_information(basic_candidate_outputs<T> const& outputs,
                                               basic_gaussian_noise<T> const& noise) {
  auto const white = detail::whiten(outputs, noise);
  auto const squared = detail::distances(white);
  return {nats(detail::pairwise_lower(white, squared, 1.0)),
          nats(detail::pairwise_upper(white, squared, 1.0))};
}

/// The pairwise upper bound and how it moves with the noise.
template <dense_scalar T = double>
struct basic_pairwise_slope {
  nats value;
  vector_of<T> variances;  // its derivative by each variance of the noise, 0 where that is 0
  double rest = 0.0;       // by the variance across the axes
};

using pairwise_slope = basic_pairwise_slope<>;

/// Guarantee: nearest. O(M²d).
/// @throws as `log_det_information`; std::invalid_argument if a direction without noise is not made of
///         whole coordinates
template <dense_scalar T = double>
[[nodiscard]] basic_pairwise_slope<T> pairwise_gradient(basic_candidate_outputs<T> const& outputs,
                                                        basic_gaussian_noise<T> const& noise) {
  auto const white = detail::whiten(outputs, noise);
  detail::require_argument(white.certain, "pairwise_gradient", "number of groups", white.groups,
                           "certain");
  auto const squared = detail::distances(white).upper;
  matrix_of<T> const& w = white.columns;
  // The diagonal of W L Wᵀ, from half of L: each pair counts twice.
  matrix_of<T> half = detail::pairwise_laplacian(squared, white.weights);
  half.diagonal() *= 0.5;
  matrix_of<T> const product = w * half.template triangularView<Eigen::Lower>();
  vector_of<T> const energy = 2.0 * product.cwiseProduct(w).rowwise().sum();

  basic_pairwise_slope<T> out{nats(detail::pairwise_sum(squared, 0.5, white.weights)),
                              vector_of<T>::Zero(noise.variances().size()), 0.0};
  detail::silent_directions<T> const silent(noise);
  auto const k = std::ssize(silent.sounding);
  for (Eigen::Index i = 0; i < k; ++i) {
    Eigen::Index const axis = silent.sounding[static_cast<std::size_t>(i)];
    out.variances(axis) = -energy(i) / noise.variances()(axis);
  }
  if (noise.rest() > 0.0) out.rest = -energy.tail(energy.size() - k).sum() / noise.rest();
  return out;
}

/// Its derivative by Σ_B as a whole, d×d and symmetric: d(bound) = tr(G·dΣ_B).
/// Guarantee: nearest. @throws as `pairwise_gradient`; std::invalid_argument unless there is noise in
/// every direction
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> pairwise_gradient_matrix(basic_candidate_outputs<T> const& outputs,
                                                    basic_gaussian_noise<T> const& noise) {
  detail::require_argument(noise.least_variance() > 0.0, "pairwise_gradient_matrix",
                           "least variance", noise.least_variance(), "positive");
  auto const white = detail::whiten(outputs, noise);
  detail::require_argument(white.certain, "pairwise_gradient_matrix", "number of groups",
                           white.groups, "certain");
  matrix_of<T> const laplacian =
      detail::pairwise_laplacian(detail::distances(white).upper, white.weights);
  // Σ_B⁻¹(y − mean): the whitened columns, whitened once more.
  auto const d = static_cast<Eigen::Index>(outputs.dimension());
  vector_of<T> const sharp = noise.variances().cwiseSqrt().cwiseInverse();
  matrix_of<T> twice;
  if (noise.along_coordinates()) {
    twice = sharp.asDiagonal() * white.columns;
  } else {
    twice = matrix_of<T>::Zero(d, white.size());
    if (sharp.size() > 0) {
      matrix_of<T> const along = sharp.asDiagonal() * white.columns.topRows(sharp.size());
      twice += noise.axes() * along;
    }
    if (noise.rest_dimension() > 0) twice += white.columns.bottomRows(d) / std::sqrt(noise.rest());
  }
  matrix_of<T> const pulled = twice * laplacian.template selfadjointView<Eigen::Lower>();
  return -(pulled * twice.transpose());
}

/// The least of what is certified without drawing: log-det, pairwise, the entropy of what is said, and
/// on a line the truth.
/// Guarantee: upper bound, confidence 1; never above `log_det_information`.
/// @throws as `log_det_information`
template <dense_scalar T = double>
[[nodiscard]] mi_bound information_bound(basic_candidate_outputs<T> const& outputs,
                                         basic_gaussian_noise<T> const& noise) {
  return {nats(detail::candidate_bounds<T>(outputs, noise).best(1.0)), 1.0};
}

/// I(X; Z) where the candidates lie on a line in units of the noise: d = 1, or two candidates.
/// Guarantee: bounds on both sides, a few 1e-14 apart (more for weights of very different size).
/// @throws std::invalid_argument if they do not, or stand so far apart that it would take too long;
///         else as `log_det_information`
template <dense_scalar T = double>
[[nodiscard]] bound<nats> line_information(basic_candidate_outputs<T> const& outputs,
                                           basic_gaussian_noise<T> const& noise) {
  detail::candidate_bounds<T> const bounds(outputs, noise);
  if (bounds.one_output()) return {nats(0.0), nats(0.0)};
  auto const exact = bounds.line(1.0);
  if (!exact) {
    detail::fail_argument(
        "line_information", "number of distinct candidates", bounds.white().size(),
        "that of candidates on a line, of a moderate length in units of the noise");
  }
  return *exact;
}

/// How to draw.
struct monte_carlo {
  std::size_t samples = 100'000;
  double confidence = required;  // that the certificate holds, in (0, 1)
  std::uint64_t seed = 0;  // public; chosen before the outputs are seen, and not tuned to them
};

/// What drawing tells of I(X; Z).
struct sampled_information {
  bound<nats> interval;  // holds with the confidence asked for
  double confidence = required;
  estimate<nats> middle;
};

namespace detail {

/// Candidates in at most M − 1 dimensions, at the same distances: by QR, whose backward error moves a
/// column by some nM·u of its length.
template <dense_scalar T>
struct compact_candidates {
  matrix_of<T> columns;  // r×M
  array_of<T> moved;     // by how much they may be off, in any isometry
  double trace = 0.0;    // of their covariance, at most

  explicit compact_candidates(whitened_candidates<T> const& w) {
    array_of<T> const length = w.columns.colwise().norm().transpose().array();
    moved = w.error.array() + w.stretch * length;
    if (w.columns.rows() <= w.size()) {
      columns = w.columns;
    } else {
      Eigen::HouseholderQR<matrix_of<T>> const qr(w.columns);
      columns = qr.matrixQR().topRows(w.size()).template triangularView<Eigen::Upper>();
      moved += 8.0 * static_cast<double>(w.columns.size()) * unit_roundoff * length;
    }
    trace = 1.01 * (w.weights.array() * length.square()).sum();
  }
};

/// Releases to come: candidate m ~ p, and r standard normals for each, by (seed, run, index).
template <dense_scalar T>
struct release_draws {
  std::vector<Eigen::Index> candidate;
  matrix_of<T> normals;  // r×N

  release_draws(vector_of<T> const& weights, Eigen::Index r, std::uint64_t seed, std::uint64_t run,
                std::size_t first, std::size_t count)
      : candidate(count), normals(r, static_cast<Eigen::Index>(count)) {
    public_stream const which{seed, 2 * run};
    stream_id const what = stream_of({seed, 2 * run + 1});
    std::vector<double> cumulative(static_cast<std::size_t>(weights.size()));
    std::partial_sum(weights.begin(), weights.end(), cumulative.begin());
    auto const pairs = static_cast<std::uint64_t>((r + 1) / 2);
    for (std::size_t i = 0; i < count; ++i) {
      double const u = public_uniform(which, first + i) * cumulative.back();
      candidate[i] =
          std::upper_bound(cumulative.begin(), cumulative.end() - 1, u) - cumulative.begin();
      auto const column = static_cast<Eigen::Index>(i);
      for (Eigen::Index j = 0; j < r; j += 2) {
        two_normals const g =
            two_normals_at(what, (first + i) * pairs + static_cast<std::uint64_t>(j / 2));
        normals(j, column) = g.first;
        if (j + 1 < r) normals(j + 1, column) = g.second;
      }
    }
  }
};

/// What one release tells, KL(posterior‖p), from log-likelihoods up to a constant; those become the
/// posterior. A candidate that is out of the question has −∞.
template <class Column, dense_scalar T = double>
[[nodiscard]] double read_release(Column&& logs, vector_of<T> const& weights) {
  double const top = logs.maxCoeff();
  double const least = logs.minCoeff() - top;
  double told = 0.0;
  double total = 0.0;
  if (least > -0.5) {
    // Σ p ψ(r − 1), r = π/p: what is told may be as little as 1e-12.
    for (double& x : logs) x = std::expm1(x - top);
    double const mean = weights.dot(logs);
    total = 1.0 + mean;
    for (double& x : logs) x = (x - mean) / total;  // r − 1
    for (Eigen::Index k = 0; k < weights.size(); ++k) {
      told += weights(k) * entropy_residual(logs(k));
      logs(k) = weights(k) * (1.0 + logs(k));
    }
    return told;
  }
  for (Eigen::Index k = 0; k < weights.size(); ++k) {
    double const x = logs(k) - top;
    logs(k) = x > -700.0 ? weights(k) * std::exp(x) : 0.0;
    if (logs(k) > 0.0) told += logs(k) * x;
    total += logs(k);
  }
  logs /= total;
  return told / total - std::log(total);
}

/// One run of draws and its certificate, one-sided failures each.
template <dense_scalar T = double>
[[nodiscard]] sampled_information sample_information(candidate_bounds<T> const& bounds,
                                                     std::size_t samples, double above,
                                                     double below, std::uint64_t seed,
                                                     std::uint64_t run) {
  whitened_candidates<T> const& w = bounds.white();
  double const certain_upper = bounds.best(1.0);
  double const certain_lower = bounds.pairwise_lower(1.0);
  double const confidence = 1.0 - above - below;
  if (bounds.one_output() || !w.certain) {
    return {
        {nats(certain_lower), nats(certain_upper)},
        confidence,
        {nats(0.5 * (certain_lower + certain_upper)), nats(0.5 * (certain_upper - certain_lower))}};
  }
  compact_candidates<T> const compact(w);
  double const range = -std::log(w.weights.minCoeff()) * (1.0 + 1e-12) + 1e-12;
  std::vector<double> told(samples);
  vector_of<T> const half_square = 0.5 * compact.columns.colwise().squaredNorm();
  matrix_of<T> logs;
  for (std::size_t start = 0; start < samples; start += 256) {
    release_draws<T> draws(w.weights, compact.columns.rows(), seed, run, start,
                           std::min<std::size_t>(256, samples - start));
    draws.normals += compact.columns(Eigen::all, draws.candidate);
    logs.noalias() = compact.columns.transpose() * draws.normals;
    for (std::size_t i = 0; i < draws.candidate.size(); ++i) {
      auto column = logs.col(static_cast<Eigen::Index>(i));
      column -= half_square;
      for (Eigen::Index k = 0; w.groups > 1 && k < w.size(); ++k) {
        if (!w.together(draws.candidate[i], k)) {
          column(k) = -std::numeric_limits<double>::infinity();
        }
      }
      told[start + i] = std::clamp(read_release(column, w.weights), 0.0, range);
    }
  }
  compensated_sum<double> sum;
  for (double const x : told) sum += x;
  double const mean = sum.value() / static_cast<double>(samples);
  compensated_sum<double> squares;
  for (double const x : told) squares += (x - mean) * (x - mean);
  double const error = std::sqrt(squares.value()) / static_cast<double>(samples);

  // Rounding of log-likelihood ratios: products of r terms of lengths up to the candidates' and the
  // draw's. It moves what a release tells by twice that, times 1 + KL.
  double const longest = std::sqrt(2.0 * compact.columns.colwise().squaredNorm().maxCoeff());
  auto const r = static_cast<double>(compact.columns.rows());
  double const logit =
      4.0 * (r + 16.0) * detail::unit_roundoff * longest * (2.0 * longest + std::sqrt(r) + 9.0);
  double const slack = bounds.slack(1.0, compact.moved, compact.trace) +
                       2.0 * (1.0 + range) * std::min(logit, 1.0) * std::min(1.0, longest) +
                       4.0 * w.sum_error() * mean;
  double const upper = above > 0.0 ? upper_confidence(told, 0.0, range, above) + slack : range;
  double const lower = below > 0.0 ? lower_confidence(told, 0.0, range, below) - slack : 0.0;
  return {{nats(std::max(certain_lower, lower)), nats(std::min(certain_upper, upper))},
          confidence,
          {nats(mean), nats(error)}};
}

}  // namespace detail

/// I(X; Z) as the mean of KL(posterior(Z)‖p), which lies in [0, log 1/p_min], over draws of Z; the
/// interval by betting (`upper_confidence`), each side with half of the failure, and never outside of
/// the bounds that need no draws.
/// Guarantee: bounds on both sides that hold together with the confidence, over the public draws taken
/// to be independent normals. The middle is an estimate.
/// @throws std::domain_error unless the confidence is in (0, 1); std::invalid_argument for 0 samples;
///         else as `log_det_information`
template <dense_scalar T = double>
[[nodiscard]] sampled_information monte_carlo_information(basic_candidate_outputs<T> const& outputs,
                                                          basic_gaussian_noise<T> const& noise,
                                                          monte_carlo const& draws) {
  detail::require_domain(draws.confidence > 0.0 && draws.confidence < 1.0,
                         "monte_carlo_information", "confidence", draws.confidence, "in (0, 1)");
  detail::require_argument(draws.samples > 0, "monte_carlo_information", "samples", draws.samples,
                           "positive");
  double const failure = 0.5 * (1.0 - draws.confidence);
  auto out = detail::sample_information(detail::candidate_bounds<T>(outputs, noise), draws.samples,
                                        failure, failure, draws.seed, 0);
  out.confidence = draws.confidence;
  return out;
}

}  // namespace tacit
