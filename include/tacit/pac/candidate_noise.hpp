// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/betting.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/calibrated.hpp>
#include <tacit/pac/candidate_information.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/chosen.hpp>
#include <tacit/pac/covariance.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/scale_to.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

/// Noise for listed candidates whose shape is found by search.

namespace tacit {

namespace detail {

/// A search for the noise of least trace: candidates in k coordinates that get noise, and their other
/// coordinates in units of a noise that stays.
template <dense_scalar T>
struct search_space {
  matrix_of<T> inside;   // k×M
  matrix_of<T> outside;  // n×M, whitened; may be empty
  vector_of<T> weights;
  bool diagonal = false;
};

/// A measure of information: `information(shrink)` for noise inside of covariance Σ_B/shrink, and
/// `laplacian(shrink)`, L with dI/dP = Y L Yᵀ for the precision P of that noise, Y = `inside`.

/// All products of columns of w; 0 if it has no rows.
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> products_of(matrix_of<T> const& w, Eigen::Index count) {
  if (w.rows() == 0) return matrix_of<T>::Zero(count, count);
  return w.transpose() * w;
}

/// −Σ p log Σ p e^{−d²/2}.
template <dense_scalar T>
class pairwise_measure {
 public:
  pairwise_measure(search_space<T> const& space, matrix_of<T> const& whitened)
      : weights_(space.weights), inside_(squared(whitened)), outside_(squared(space.outside)) {}

  [[nodiscard]] double information(double shrink) const {
    return pairwise_sum(shrink * inside_ + outside_, 0.5, weights_);
  }
  [[nodiscard]] matrix_of<T> laplacian(double shrink) const {
    return pairwise_laplacian(shrink * inside_ + outside_, weights_)
        .template selfadjointView<Eigen::Lower>();
  }

 private:
  [[nodiscard]] matrix_of<T> squared(matrix_of<T> const& w) const {
    matrix_of<T> const gram = products_of(w, weights_.size());
    vector_of<T> const square = gram.diagonal();
    matrix_of<T> out = -2.0 * gram;
    out.colwise() += square;
    out.rowwise() += square.transpose();
    return out.cwiseMax(0.0);
  }

  vector_of<T> const& weights_;
  matrix_of<T> inside_;
  matrix_of<T> outside_;
};

/// ½ log det(I + ΣΣ_B⁻¹), by M×M matrices.
template <dense_scalar T>
class log_det_measure {
 public:
  log_det_measure(search_space<T> const& space, matrix_of<T> const& whitened)
      : root_(space.weights.cwiseSqrt()),
        inside_(weighted(whitened)),
        outside_(weighted(space.outside)) {}

  [[nodiscard]] double information(double shrink) const {
    return factor(shrink).matrixLLT().diagonal().array().log().sum();
  }
  [[nodiscard]] matrix_of<T> laplacian(double shrink) const {
    Eigen::Index const count = root_.size();
    matrix_of<T> const inverse = factor(shrink).solve(matrix_of<T>::Identity(count, count));
    return 0.5 * (root_.asDiagonal() * inverse * root_.asDiagonal());
  }

 private:
  [[nodiscard]] matrix_of<T> weighted(matrix_of<T> const& w) const {
    return root_.asDiagonal() * products_of(w, root_.size()) * root_.asDiagonal();
  }
  [[nodiscard]] Eigen::LLT<matrix_of<T>> factor(double shrink) const {
    matrix_of<T> sum = shrink * inside_ + outside_;
    sum.diagonal().array() += 1.0;
    return cholesky_of(sum);
  }

  vector_of<T> root_;
  matrix_of<T> inside_;
  matrix_of<T> outside_;
};

/// A noise inside the search space: along the columns of `axes` (k×k; unused along coordinates).
template <dense_scalar T>
struct inner_noise {
  matrix_of<T> axes;
  vector_of<T> variances;

  [[nodiscard]] matrix_of<T> whitened(search_space<T> const& space) const {
    vector_of<T> const scale = variances.cwiseSqrt().cwiseInverse();
    if (space.diagonal) return scale.asDiagonal() * space.inside;
    matrix_of<T> const along = axes.transpose() * space.inside;
    return scale.asDiagonal() * along;
  }
};

/// Evaluations of an exponential that a search for a shape may take: about a second. A step asks about a dozen
/// questions; where they cost more, fewer steps are taken, and none where one would be too many.
inline constexpr double most_for_a_shape = 1e8;

[[nodiscard]] inline int affordable_steps(double cost_of_a_step) {
  return static_cast<int>(std::min(100.0, most_for_a_shape / cost_of_a_step));
}

/// The noise of least trace with information ≤ β, from a start: majorise, minimise. Information is concave
/// in the precision P = Σ_B⁻¹, so that it lies below its tangent ½tr(K·P), K = 2·dI/dP; and among
/// all P that the tangent admits, tr P⁻¹ is least at Σ_B ∝ K^{½} (its diagonal along coordinates). Each
/// step meets the budget and lowers the trace; the rescaling to the budget lowers it further. It ends where
/// a step gains less than 1e-5: a stationary point, not necessarily the best.
/// `measure(whitened)` makes the measure of candidates in units of a noise.
template <dense_scalar T, class Measure>
[[nodiscard]] inner_noise<T> least_inner_trace(search_space<T> const& space, inner_noise<T> noise,
                                               double budget, Measure&& measure, int steps = 100) {
  double last = std::numeric_limits<double>::infinity();
  inner_noise<T> best = noise;
  double shrink = 1.0;
  for (int step = 0; step < steps; ++step) {
    auto const info = measure(noise.whitened(space));
    shrink = largest_shrink([&](double s) { return info.information(s); }, budget, 1e-8);
    noise.variances /= shrink;
    double const trace = noise.variances.sum();
    if (!(trace < last)) break;
    best = noise;
    if (trace > last * (1.0 - 1e-5)) break;
    last = trace;
    matrix_of<T> const product = space.inside * info.laplacian(shrink);
    if (space.diagonal) {
      noise.variances =
          product.cwiseProduct(space.inside).rowwise().sum().cwiseMax(0.0).cwiseSqrt();
    } else {
      matrix_of<T> const pull = product * space.inside.transpose();
      auto const solved = principal_axes_of<T>(pull);
      noise.axes = solved.axes;
      noise.variances = solved.variances.cwiseMax(0.0).cwiseSqrt();
    }
    double const largest = noise.variances.maxCoeff();
    if (!(largest > 0.0 && largest < std::numeric_limits<double>::max())) break;
    noise.variances = noise.variances.cwiseMax(1e-9 * largest);
    // Near the last scale, so that the next search for it is short.
    noise.variances *= trace / noise.variances.sum();
  }
  return best;
}

/// Rounding of size e, relative to the candidates, counts as e/√rest of information. Where rest only covers rounding,
/// a little more of it costs (d−k)·rest of trace and saves 2e/√rest: balanced here.
template <dense_scalar T = double>
[[nodiscard]] basic_gaussian_noise<T> with_balanced_rest(basic_gaussian_noise<T> const& noise) {
  Eigen::Index const k = noise.variances().size();
  auto const across = static_cast<double>(noise.rest_dimension());
  if (k == 0 || noise.along_coordinates() || noise.rest() == 0.0 || across == 0.0) return noise;
  auto const axes = static_cast<double>(k);
  auto const d = static_cast<double>(noise.dimension());
  double const error = unit_roundoff * (axes * d + (axes + d + 12.0) * (1.0 + std::sqrt(axes)));
  double const level = std::pow(error * axes / across, 2.0 / 3.0);
  double const rest = std::max(noise.rest(), level * noise.variances().mean());
  return basic_gaussian_noise<T>::along(noise.axes(), noise.variances().cwiseMax(rest), rest);
}

/// The search space that a noise opens, the noise within it, and the way back.
template <dense_scalar T>
struct noise_search {
  search_space<T> space;
  inner_noise<T> start;
  std::vector<Eigen::Index> noisy_axes;
  basic_gaussian_noise<T> shape;

  noise_search(basic_candidate_outputs<T> const& outputs, basic_gaussian_noise<T> const& noise)
      : noisy_axes(noiseless_directions<T>(noise).noisy_axes), shape(noise) {
    centred_columns<T> centred = distinct_outputs(outputs);
    space.weights = std::move(centred.distinct.weights);
    space.diagonal = noise.along_coordinates();
    start.variances = chosen_entries(noise.variances(), noisy_axes);
    if (space.diagonal) {
      space.inside = chosen_rows(centred.columns, noisy_axes);
    } else {
      matrix_of<T> const axes = chosen_columns(noise.axes(), noisy_axes);
      space.inside = axes.transpose() * centred.columns;
      start.axes.setIdentity(start.variances.size(), start.variances.size());
    }
  }

  [[nodiscard]] basic_gaussian_noise<T> outer(inner_noise<T> const& inner) const {
    if (space.diagonal) {
      vector_of<T> variances = vector_of<T>::Zero(shape.variances().size());
      for (std::size_t i = 0; i < noisy_axes.size(); ++i) {
        variances(noisy_axes[i]) = inner.variances(static_cast<Eigen::Index>(i));
      }
      return basic_gaussian_noise<T>::diagonal(std::move(variances));
    }
    // The directions across keep their part of the trace.
    double const part = inner.variances.sum() / start.variances.sum();
    matrix_of<T> const axes = chosen_columns(shape.axes(), noisy_axes);
    return with_balanced_rest(
        basic_gaussian_noise<T>::along(axes * inner.axes, inner.variances, shape.rest() * part));
  }
};

}  // namespace detail

/// The noise of least trace found whose `information_bound` is at most β, of any covariance or along the
/// coordinates: log-det's optimum, the same scaled down by the other bounds, and what a descent on the
/// pairwise bound makes of it.
/// Guarantee: feasible end; its trace is at most `log_det`'s. Best found, not necessarily the least: the bound is
/// concave in Σ_B⁻¹, so the problem is not convex.
/// @throws as `log_det`
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> least_trace(basic_candidate_outputs<T> const& outputs,
                                                  nats budget,
                                                  noise_shape shape = noise_shape::full) {
  detail::check_candidate_budget("least_trace", budget);
  calibrated<mi_bound, T> best = log_det(outputs, budget, shape, certificate::log_det);
  if (best.noise.trace() == 0.0) return best;
  detail::noise_search<T> const search(outputs, best.noise);
  auto const consider = [&](basic_gaussian_noise<T> const& found) {
    if (auto scaled = detail::if_feasible([&] { return scale_to(outputs, found, budget); })) {
      best = detail::of_lower_trace(std::move(best), *std::move(scaled));
    }
  };
  consider(detail::with_balanced_rest(best.noise));
  // One dimension has one shape.
  if (best.noise.trace() == 0.0 || outputs.dimension() == 1) return best;
  auto const count = static_cast<double>(search.space.weights.size());
  auto const axes = static_cast<double>(search.start.variances.size());
  if (int const steps = detail::affordable_steps(count * count * (12.0 + 0.25 * axes)); steps > 0) {
    consider(search.outer(detail::least_inner_trace(
        search.space, search.start, budget.value,
        [&](matrix_of<T> const& whitened) {
          return detail::pairwise_measure<T>(search.space, whitened);
        },
        steps)));
  }
  // Along the coordinates log-det's optimum was Hadamard's: the determinant is less. A factor of count³/3
  // multiplications, twenty of which take as long as an exponential.
  int const steps = detail::affordable_steps(count * count * (0.2 * count + 0.25 * axes));
  if (shape == noise_shape::diagonal && steps > 0) {
    consider(search.outer(detail::least_inner_trace(
        search.space, search.start, budget.value,
        [&](matrix_of<T> const& whitened) {
          return detail::log_det_measure<T>(search.space, whitened);
        },
        steps)));
  }
  return best;
}

#if defined(TACIT_COMPILED_DENSE)
extern template calibrated<mi_bound> least_trace(candidate_outputs const&, nats, noise_shape);
#endif

}  // namespace tacit
