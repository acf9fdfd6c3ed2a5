// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/calibrated.hpp>
#include <tacit/pac/candidate_information.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/confidence.hpp>
#include <tacit/pac/covariance.hpp>
#include <tacit/pac/gaussian_noise.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

/// Noise for listed candidates from `candidate_information`: a given shape made as loud as the budget
/// asks, and shapes found by search.

namespace tacit {

namespace detail {

/// The largest s with f(s) ≤ budget, for f that rises from 0: the feasible end, with
/// f(s) ≥ budget·(1 − tolerance) or the next s within `tolerance`. By regula falsi in logarithms
/// (Illinois), where information is nearly straight.
template <class Information>
[[nodiscard]] double largest_shrink(Information&& f, double budget, double tolerance,
                                    double start = 1.0) {
  double const aim = std::log(budget * (1.0 - 0.5 * tolerance));
  double constexpr none = std::numeric_limits<double>::quiet_NaN();
  double low = none;
  double high = none;
  double at_low = 0.0;  // log f − aim, on either side
  double at_high = 0.0;
  double s = std::log(start);
  for (int step = 0; step < 400; ++step) {
    double const value = f(std::exp(s));
    double const miss = std::max(std::log(value), -1e4) - aim;
    if (value <= budget) {
      if (value >= budget * (1.0 - tolerance)) return std::exp(s);
      if (low == low && high == high) at_high *= 0.5;
      low = s;
      at_low = miss;
    } else {
      if (low == low && high == high) at_low *= 0.5;
      high = s;
      at_high = miss;
    }
    if (low == low && high == high) {
      if (high - low < tolerance) return std::exp(low);
      double const width = high - low;
      s = low + width * std::min(std::max(-at_low / (at_high - at_low), 1e-3), 0.999);
    } else if (!(s > -690.0 && s < 690.0)) {
      break;
    } else {
      // Information is proportional to s where it is small, and slower elsewhere.
      double const move = std::min(std::max(std::abs(miss) * 1.2, 0.05), 3.0);
      s += low == low ? move : -move;
    }
  }
  if (low == low) return std::exp(low);
  throw convergence_error("scale_to: found no noise that fits the budget", 0.0, std::exp(high));
}

inline void check_candidate_budget(char const* function, nats budget) {
  check_positive(function, "budget", budget.value);
}

/// No noise at all, where everything that is said may be told.
[[nodiscard]] inline calibrated<mi_bound> silence(candidate_outputs const& outputs,
                                                  double information) {
  return {gaussian_noise::isotropic(outputs.dimension(), 0.0), {nats(information), 1.0}};
}

inline void require_reachable(char const* function, candidate_bounds const& bounds, nats budget) {
  if (bounds.white().groups > 1 && !(bounds.least() < budget.value)) {
    throw infeasible(
        complaint(function, "budget", to_text(budget.value),
                  "above what directions without noise tell, " + to_text(bounds.least())));
  }
}

}  // namespace detail

/// The smallest multiple of a noise shape for which `information_bound` is at most β.
/// Guarantee: feasible end; at most 1e-11 of β unspent where the bound can be followed that far. Zero
/// noise if the entropy of what is said is at most β.
/// @throws std::domain_error unless β is positive and finite; infeasible if directions without noise tell
///         β or more; else as `information_bound`
[[nodiscard]] inline calibrated<mi_bound> scale_to(candidate_outputs const& outputs,
                                                   gaussian_noise const& shape, nats budget) {
  detail::check_candidate_budget("scale_to", budget);
  detail::candidate_bounds const bounds(outputs, shape);
  if (bounds.entropy() <= budget.value) return detail::silence(outputs, bounds.entropy());
  detail::require_reachable("scale_to", bounds, budget);
  double const shrink =
      detail::largest_shrink([&](double s) { return bounds.best(s); }, budget.value, 1e-12);
  // Scaling rounds, so that the certificate is that of the noise itself.
  for (double more = 0.0;; more = std::max(2.0 * more, 1e-13)) {
    gaussian_noise noise = shape.scaled((1.0 + more) / shrink);
    mi_bound const certificate = information_bound(outputs, noise);
    if (certificate.value <= budget) return {std::move(noise), certificate};
    if (!(more < 1.0)) {
      throw convergence_error("scale_to: rounding hides the candidates", budget.value,
                              certificate.value.value);
    }
  }
}

namespace detail {

/// A search for the noise of least trace: candidates in k coordinates that get noise, and what they show
/// elsewhere, in units of a noise that stays.
struct search_space {
  Eigen::MatrixXd inside;   // k×M
  Eigen::MatrixXd outside;  // n×M, whitened; may be empty
  Eigen::VectorXd weights;
  bool diagonal = false;
};

/// A measure of information: `information(shrink)` for noise inside of covariance Σ_B/shrink, and
/// `laplacian(shrink)`, L with dI/dP = Y L Yᵀ for the precision P of that noise, Y = `inside`.

/// Of w: all products of columns, and 0 if there are no rows.
[[nodiscard]] inline Eigen::MatrixXd products_of(Eigen::MatrixXd const& w, Eigen::Index count) {
  if (w.rows() == 0) return Eigen::MatrixXd::Zero(count, count);
  return w.transpose() * w;
}

/// −Σ p log Σ p e^{−d²/2}.
class pairwise_measure {
 public:
  pairwise_measure(search_space const& space, Eigen::MatrixXd const& whitened)
      : weights_(space.weights), inside_(squared(whitened)), outside_(squared(space.outside)) {}

  [[nodiscard]] double information(double shrink) const {
    return pairwise_sum(shrink * inside_ + outside_, 0.5, weights_);
  }
  [[nodiscard]] Eigen::MatrixXd laplacian(double shrink) const {
    return pairwise_laplacian(shrink * inside_ + outside_, weights_)
        .selfadjointView<Eigen::Lower>();
  }

 private:
  [[nodiscard]] Eigen::MatrixXd squared(Eigen::MatrixXd const& w) const {
    Eigen::MatrixXd const gram = products_of(w, weights_.size());
    Eigen::VectorXd const square = gram.diagonal();
    Eigen::MatrixXd out = -2.0 * gram;
    out.colwise() += square;
    out.rowwise() += square.transpose();
    return out.cwiseMax(0.0);
  }

  Eigen::VectorXd const& weights_;
  Eigen::MatrixXd inside_;
  Eigen::MatrixXd outside_;
};

/// ½ log det(I + ΣΣ_B⁻¹), by M×M matrices.
class log_det_measure {
 public:
  log_det_measure(search_space const& space, Eigen::MatrixXd const& whitened)
      : root_(space.weights.cwiseSqrt()),
        inside_(weighted(whitened)),
        outside_(weighted(space.outside)) {}

  [[nodiscard]] double information(double shrink) const {
    return factor(shrink).matrixLLT().diagonal().array().log().sum();
  }
  [[nodiscard]] Eigen::MatrixXd laplacian(double shrink) const {
    Eigen::Index const count = root_.size();
    Eigen::MatrixXd const inverse = factor(shrink).solve(Eigen::MatrixXd::Identity(count, count));
    return 0.5 * (root_.asDiagonal() * inverse * root_.asDiagonal());
  }

 private:
  [[nodiscard]] Eigen::MatrixXd weighted(Eigen::MatrixXd const& w) const {
    return root_.asDiagonal() * products_of(w, root_.size()) * root_.asDiagonal();
  }
  [[nodiscard]] Eigen::LLT<Eigen::MatrixXd> factor(double shrink) const {
    Eigen::MatrixXd sum = shrink * inside_ + outside_;
    sum.diagonal().array() += 1.0;
    return Eigen::LLT<Eigen::MatrixXd>(sum);
  }

  Eigen::VectorXd root_;
  Eigen::MatrixXd inside_;
  Eigen::MatrixXd outside_;
};

/// A noise inside the search space: along the columns of `axes` (k×k; unused along coordinates).
struct inner_noise {
  Eigen::MatrixXd axes;
  Eigen::VectorXd variances;

  [[nodiscard]] Eigen::MatrixXd whitened(search_space const& space) const {
    Eigen::VectorXd const scale = variances.cwiseSqrt().cwiseInverse();
    if (space.diagonal) return scale.asDiagonal() * space.inside;
    Eigen::MatrixXd const along = axes.transpose() * space.inside;
    return scale.asDiagonal() * along;
  }
};

/// The noise of least trace with information ≤ β, from a start: majorise, minimise. Information is concave
/// in the precision P = Σ_B⁻¹, so that it lies below its tangent ½tr(K·P), K = 2·dI/dP; and among
/// all P that the tangent admits, tr P⁻¹ is least at Σ_B ∝ K^{½} (its diagonal along coordinates). Each
/// step meets the budget and lowers the trace; the rescaling to the budget lowers it further. It ends where
/// a step gains less than 1e-5: a stationary point, not surely the best.
/// `measure(whitened)` makes the measure of candidates in units of a noise.
template <class Measure>
[[nodiscard]] inner_noise least_inner_trace(search_space const& space, inner_noise noise,
                                            double budget, Measure&& measure, int steps = 100) {
  double last = std::numeric_limits<double>::infinity();
  inner_noise best = noise;
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
    Eigen::MatrixXd const product = space.inside * info.laplacian(shrink);
    if (space.diagonal) {
      noise.variances =
          product.cwiseProduct(space.inside).rowwise().sum().cwiseMax(0.0).cwiseSqrt();
    } else {
      Eigen::MatrixXd const pull = product * space.inside.transpose();
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> const solved(pull);
      noise.axes = solved.eigenvectors();
      noise.variances = solved.eigenvalues().cwiseMax(0.0).cwiseSqrt();
    }
    double const largest = noise.variances.maxCoeff();
    if (!(largest > 0.0 && largest < std::numeric_limits<double>::max())) break;
    noise.variances = noise.variances.cwiseMax(1e-9 * largest);
    // Near the last scale, so that the next search for it is short.
    noise.variances *= trace / noise.variances.sum();
  }
  return best;
}

/// Rounding of size e, relative to the candidates, shows as e/√rest. Where rest only drowns rounding, a little
/// more of it costs (d−k)·rest of trace and saves 2e/√rest of information: balanced here.
[[nodiscard]] inline gaussian_noise with_heard_rest(gaussian_noise const& noise) {
  Eigen::Index const k = noise.variances().size();
  auto const across = static_cast<double>(noise.rest_dimension());
  if (k == 0 || noise.along_coordinates() || noise.rest() == 0.0 || across == 0.0) return noise;
  auto const axes = static_cast<double>(k);
  auto const d = static_cast<double>(noise.dimension());
  double const error = unit_roundoff * (axes * d + (axes + d + 12.0) * (1.0 + std::sqrt(axes)));
  double const level = std::pow(error * axes / across, 2.0 / 3.0);
  double const rest = std::max(noise.rest(), level * noise.variances().mean());
  return gaussian_noise::along(noise.axes(), noise.variances().cwiseMax(rest), rest);
}

/// The search space that a noise opens, the noise within it, and the way back.
struct noise_search {
  search_space space;
  inner_noise start;
  std::vector<Eigen::Index> sounding;
  gaussian_noise shape;

  noise_search(candidate_outputs const& outputs, gaussian_noise const& noise)
      : sounding(silent_directions(noise).sounding), shape(noise) {
    centred_columns centred = distinct_outputs(outputs);
    space.weights = std::move(centred.weights);
    space.diagonal = noise.along_coordinates();
    start.variances = noise.variances()(sounding);
    if (space.diagonal) {
      space.inside = centred.columns(sounding, Eigen::all);
    } else {
      Eigen::MatrixXd const axes = noise.axes()(Eigen::all, sounding);
      space.inside = axes.transpose() * centred.columns;
      start.axes.setIdentity(start.variances.size(), start.variances.size());
    }
  }

  [[nodiscard]] gaussian_noise outer(inner_noise const& inner) const {
    if (space.diagonal) {
      Eigen::VectorXd variances = Eigen::VectorXd::Zero(shape.variances().size());
      variances(sounding) = inner.variances;
      return gaussian_noise::diagonal(std::move(variances));
    }
    // What is across keeps its part of the trace.
    double const part = inner.variances.sum() / start.variances.sum();
    Eigen::MatrixXd const axes = shape.axes()(Eigen::all, sounding);
    return with_heard_rest(
        gaussian_noise::along(axes * inner.axes, inner.variances, shape.rest() * part));
  }
};

[[nodiscard]] inline calibrated<mi_bound> quieter(calibrated<mi_bound> a, calibrated<mi_bound> b) {
  return b.noise.trace() < a.noise.trace() ? std::move(b) : std::move(a);
}

/// `scale_to`, or nothing where rounding leaves no certificate for this shape.
[[nodiscard]] inline std::optional<calibrated<mi_bound>> try_scale_to(
    candidate_outputs const& outputs, gaussian_noise const& shape, nats budget) {
  try {
    return scale_to(outputs, shape, budget);
  } catch (infeasible const&) {
  } catch (convergence_error const&) {
  }
  return std::nullopt;
}

}  // namespace detail

/// The quietest noise found whose `information_bound` is at most β, of any covariance or along the
/// coordinates: log-det's optimum, the same made quieter by the other bounds, and what a descent on the
/// pairwise bound makes of it.
/// Guarantee: feasible end; its trace is at most `log_det`'s. Best found, not surely the least: the bound is
/// concave in Σ_B⁻¹, so the problem is not convex.
/// @throws as `log_det`
[[nodiscard]] inline calibrated<mi_bound> least_trace(candidate_outputs const& outputs, nats budget,
                                                      noise_shape shape = noise_shape::full) {
  detail::check_candidate_budget("least_trace", budget);
  calibrated<mi_bound> best = log_det(outputs, budget, shape);
  if (best.noise.trace() == 0.0) return best;
  detail::noise_search const search(outputs, best.noise);
  auto const consider = [&](gaussian_noise const& found) {
    if (auto scaled = detail::try_scale_to(outputs, found, budget)) {
      best = detail::quieter(std::move(best), *std::move(scaled));
    }
  };
  consider(detail::with_heard_rest(best.noise));
  if (best.noise.trace() == 0.0) return best;
  consider(search.outer(detail::least_inner_trace(
      search.space, search.start, budget.value, [&](Eigen::MatrixXd const& whitened) {
        return detail::pairwise_measure(search.space, whitened);
      })));
  // Along the coordinates log-det's optimum was Hadamard's: the determinant is less.
  if (shape == noise_shape::diagonal && outputs.size() <= detail::largest_determinant) {
    consider(search.outer(detail::least_inner_trace(
        search.space, search.start, budget.value, [&](Eigen::MatrixXd const& whitened) {
          return detail::log_det_measure(search.space, whitened);
        })));
  }
  return best;
}

}  // namespace tacit
