// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/betting.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/calibrated.hpp>
#include <tacit/pac/candidate_information.hpp>
#include <tacit/pac/candidate_noise.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/monte_carlo_information.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/QR>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// SR-PAC: a leader chooses noise, a follower infers the secret as well as can be, and the leader seeks the
/// least noise for which the follower's conditional entropy stays at H(X) − β or more.
///
/// Listed candidates have an exact follower, Bayes' rule. The leader's gradient is I-MMSE:
///   dI/dΣ_B⁻¹ = ½ E[Cov(Y | Z)]   (Palomar & Verdú 2006),
/// over draws that stay the same while the noise changes; information is concave in Σ_B⁻¹ (its second
/// derivative is −½ E tr(Cov·Δ·Cov·Δ)), which is what `least_inner_trace` asks for. Draws that chose the
/// noise certify nothing about it, so it is certified on fresh ones, and scaled up until it is.

namespace tacit {

/// How the leader searches.
struct leader {
  noise_shape shape = noise_shape::full;
  std::size_t draws = 4'096;  // that stay the same during the search
  int steps = 60;             // at most
};

namespace detail {

/// Mean KL(posterior‖p) over a fixed set of draws.
template <dense_scalar T>
class posterior_measure {
 public:
  /// `draws` has a row for each row of `whitened`, then of `space.outside`.
  posterior_measure(search_space<T> const& space, matrix_of<T> const& whitened,
                    release_draws<T> const& draws)
      : weights_(space.weights),
        candidate_(draws.candidate),
        inside_(products_of(whitened, weights_.size())),
        outside_(products_of(space.outside, weights_.size())),
        inside_noise_(whitened.transpose() * draws.normals.topRows(whitened.rows())) {
    inside_.colwise() -= (0.5 * inside_.diagonal()).eval();
    if (space.outside.rows() > 0) {
      outside_.colwise() -= (0.5 * outside_.diagonal()).eval();
      outside_noise_.noalias() =
          space.outside.transpose() * draws.normals.bottomRows(space.outside.rows());
    }
  }

  [[nodiscard]] double information(double shrink) const {
    double sum = 0.0;
    visit(shrink, [&](double kl, auto const&, Eigen::Index) { sum += kl; });
    return sum / static_cast<double>(candidate_.size());
  }

  /// The information of each draw.
  [[nodiscard]] std::vector<double> by_draw(double shrink) const {
    std::vector<double> out(candidate_.size());
    visit(shrink,
          [&](double kl, auto const&, Eigen::Index i) { out[static_cast<std::size_t>(i)] = kl; });
    return out;
  }

  /// ½(diag(E π) − E ππᵀ).
  [[nodiscard]] matrix_of<T> laplacian(double shrink) const {
    Eigen::Index const count = weights_.size();
    auto const draws = static_cast<double>(candidate_.size());
    matrix_of<T> posterior(count, std::ssize(candidate_));
    visit(shrink, [&](double, auto const& pi, Eigen::Index i) { posterior.col(i) = pi; });
    matrix_of<T> out = matrix_of<T>::Zero(count, count);
    out.template selfadjointView<Eigen::Lower>().rankUpdate(posterior, -0.5 / draws);
    out.template triangularView<Eigen::StrictlyUpper>() = out.transpose();
    out.diagonal() += 0.5 / draws * posterior.rowwise().sum();
    return out;
  }

 private:
  template <class Visit>
  void visit(double shrink, Visit&& see) const {
    double const root = std::sqrt(shrink);
    vector_of<T> column(weights_.size());
    Eigen::Map<vector_of<T>> logs(column.data(), column.size());
    for (Eigen::Index i = 0; i < std::ssize(candidate_); ++i) {
      Eigen::Index const m = candidate_[static_cast<std::size_t>(i)];
      logs.array() = root * inside_noise_.col(i).array() + shrink * inside_.col(m).array();
      if (outside_noise_.size() > 0) {
        logs.array() += outside_noise_.col(i).array() + outside_.col(m).array();
      }
      see(read_release(logs, weights_), logs, i);
    }
  }

  vector_of<T> const& weights_;
  std::vector<Eigen::Index> const& candidate_;
  matrix_of<T> inside_;  // w_k·w_m − ½‖w_k‖²: of z = w_m, without noise
  matrix_of<T> outside_;
  matrix_of<T> inside_noise_;
  matrix_of<T> outside_noise_;
};

// Runs of one seed: 0 is monte_carlo_information's, and a search's draws are never a certificate's.
inline constexpr std::uint64_t shape_run = 1;
inline constexpr std::uint64_t scale_run = 2;
inline constexpr std::uint64_t first_certificate_run = 16;

/// By a follower that reads the same draws all along.
template <dense_scalar T>
[[nodiscard]] inner_noise<T> least_against_draws(search_space<T> const& space,
                                                 inner_noise<T> const& start, nats budget,
                                                 draw_seed seed, leader const& search) {
  release_draws<T> const draws(space.weights, space.inside.rows() + space.outside.rows(),
                               seed.value, shape_run, 0, search.draws);
  inner_noise<T> found = least_inner_trace(
      space, start, budget.value,
      [&](matrix_of<T> const& whitened) { return posterior_measure<T>(space, whitened, draws); },
      search.steps);
  // Rounding of size e counts as e/√variance in a certificate, which axes nearly without noise would spoil.
  found.variances = found.variances.cwiseMax(1e-6 * found.variances.maxCoeff());
  return found;
}

inline void check_draws(char const* function, monte_carlo const& draws) {
  require_domain(draws.confidence > 0.0 && draws.confidence < 1.0, function, "confidence",
                 draws.confidence, "in (0, 1)");
  require_argument(draws.samples > 0, function, "samples", draws.samples, "positive");
}

}  // namespace detail

/// The smallest multiple found of a noise shape for which Monte Carlo certifies I(X; Z) ≤ β, or
/// `information_bound` does: whichever asks for less noise.
///
/// The multiple is chosen on draws of its own, with the margin that the certificate's will need; then
/// certified on fresh draws. Where it misses, it is scaled up and tried on other fresh draws. The n-th
/// trial may fail to cover with probability 2^−n(1 − confidence), so that all hold together with the
/// confidence. How many draws it takes to gain anything: `monte_carlo_information`.
/// Guarantee: feasible end, with the confidence in the figure: 1 where no draws were needed.
/// @throws as the other `scale_to`; std::domain_error unless the confidence is in (0, 1);
///         std::invalid_argument for 0 samples
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> scale_to(basic_candidate_outputs<T> const& outputs,
                                               basic_gaussian_noise<T> const& shape, nats budget,
                                               monte_carlo const& draws) {
  detail::check_draws("scale_to", draws);
  calibrated<mi_bound, T> best = scale_to(outputs, shape, budget);
  detail::candidate_bounds<T> const bounds(outputs, shape);
  detail::whitened_candidates<T> const& white = bounds.white();
  if (best.noise.trace() == 0.0 || bounds.on_a_line() || white.groups > 1) return best;

  double const failure = 1.0 - draws.confidence;
  detail::compact_candidates<T> const compact(white);
  detail::search_space<T> const space{compact.columns, {}, white.weights, false};
  std::size_t const trial_size = std::min<std::size_t>(draws.samples, 16'384);
  detail::release_draws<T> const trial(white.weights, compact.columns.rows(), draws.seed.value,
                                       detail::scale_run, 0, trial_size);
  detail::posterior_measure<T> const measure(space, compact.columns, trial);
  double const range = -elementary::log(white.weights.minCoeff()) * (1.0 + 1e-12) + 1e-12;
  auto const expected = [&](double s) {
    std::vector<double> kl = measure.by_draw(s);
    double mean = 0.0;
    for (double& x : kl) mean += (x = std::clamp(x, 0.0, range));
    mean /= static_cast<double>(trial_size);
    double square = 0.0;
    for (double const x : kl) square += (x - mean) * (x - mean);
    double const deviation = std::sqrt(square) / static_cast<double>(trial_size);
    // What betting will ask for, and that this mean may be low.
    double const margin =
        std::sqrt(2.0 * elementary::log(2.0 / failure) / static_cast<double>(draws.samples)) *
            deviation * std::sqrt(static_cast<double>(trial_size)) +
        2.0 * elementary::log(2.0 / failure) * range / static_cast<double>(draws.samples);
    return mean + margin + deviation;
  };
  double shrink =
      detail::largest_shrink(expected, budget.value, 1e-4, shape.trace() / best.noise.trace());
  double chance = 0.5 * failure;
  for (std::uint64_t attempt = 0; attempt < 12; ++attempt, chance *= 0.5) {
    basic_gaussian_noise<T> noise = shape.scaled(1.0 / shrink);
    if (!(noise.trace() < best.noise.trace())) return best;
    auto const found = detail::sample_information(detail::candidate_bounds<T>(outputs, noise),
                                                  draws.samples, chance, 0.0, draws.seed,
                                                  detail::first_certificate_run + attempt);
    double const upper = found.interval.upper.value;
    if (upper <= budget.value) return {std::move(noise), {nats(upper), draws.confidence}};
    shrink *= 0.998 * std::pow(budget.value / upper, 1.2);
  }
  return best;
}

/// SR-PAC for listed candidates: the noise of least trace found for which I(X; Z) ≤ β is certified, by Monte
/// Carlo on fresh draws or without draws. It starts at `least_trace`'s noise and rejects a larger trace.
/// Guarantee: feasible end, with the confidence in the figure; its trace is at most `log_det`'s. Best found.
/// @throws as `least_trace` and `scale_to`
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> stackelberg(basic_candidate_outputs<T> const& outputs,
                                                  nats budget, monte_carlo const& draws,
                                                  leader const& search = {}) {
  detail::check_draws("stackelberg", draws);
  detail::require_argument(search.draws > 0, "stackelberg", "draws", search.draws, "positive");
  calibrated<mi_bound, T> best = least_trace(outputs, budget, search.shape);
  if (best.noise.trace() == 0.0) return best;
  detail::noise_search<T> const inner(outputs, detail::with_balanced_rest(best.noise));
  detail::inner_noise<T> const found =
      detail::least_against_draws(inner.space, inner.start, budget, draws.seed, search);
  try {
    return detail::of_lower_trace(std::move(best),
                                  scale_to(outputs, inner.outer(found), budget, draws));
  } catch (infeasible const&) {
    return best;
  } catch (convergence_error const&) {
    return best;
  }
}

/// SR-PAC with its noise along given axes, so that a task that depends on the other directions keeps its
/// accuracy. Information
/// across the axes is covered by the least equal noise that keeps it at `share` of β; the axes' noise is
/// searched for with the rest of the budget.
/// Guarantee: feasible end, with the confidence in the figure. Best found; not compared with `log_det`,
/// which may need less noise where the noise may be anywhere.
/// @param axes d×k, orthonormal to 1e-10, k < d
/// @throws std::invalid_argument for the axes; std::domain_error unless share is in (0, 1); as `stackelberg`
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> stackelberg_within(basic_candidate_outputs<T> const& outputs,
                                                         matrix_of<T> const& axes, nats budget,
                                                         monte_carlo const& draws,
                                                         double share = 0.1,
                                                         leader const& search = {}) {
  detail::check_draws("stackelberg_within", draws);
  detail::check_candidate_budget("stackelberg_within", budget);
  auto const d = static_cast<Eigen::Index>(outputs.dimension());
  detail::require_argument(axes.rows() == d && axes.cols() > 0 && axes.cols() < d,
                           "stackelberg_within", "number of axes", axes.cols(),
                           "positive and below the outputs' dimension");
  detail::require_domain(share > 0.0 && share < 1.0, "stackelberg_within", "share", share,
                         "in (0, 1)");
  Eigen::Index const k = axes.cols();
  auto const white = basic_gaussian_noise<T>::along(axes, vector_of<T>::Ones(k), 1.0);
  detail::centred_columns<T> centred = detail::distinct_outputs(outputs);
  if (centred.distinct.weights.size() == 1) return detail::no_noise(outputs, 0.0);

  detail::search_space<T> space;
  space.weights = std::move(centred.distinct.weights);
  space.inside.noalias() = axes.transpose() * centred.columns;
  space.diagonal = search.shape == noise_shape::diagonal;
  matrix_of<T> across = centred.columns - axes * space.inside;
  double const power = (across.colwise().squaredNorm() * space.weights).value();
  double const size = (centred.columns.colwise().squaredNorm() * space.weights).value();
  // At least what covers rounding: `with_balanced_rest`.
  double rest = 1e-10 * size / static_cast<double>(d);
  if (power > 1e-20 * size) {
    calibrated<mi_bound, T> const floor = scale_to(
        basic_candidate_outputs<T>(across.transpose(), space.weights),
        basic_gaussian_noise<T>::isotropic(outputs.dimension(), 1.0), nats(share * budget.value));
    rest = std::max(rest, floor.noise.rest());
  }
  space.outside = detail::compact_candidates<T>(
                      detail::whiten(basic_candidate_outputs<T>(across.transpose(), space.weights),
                                     basic_gaussian_noise<T>::isotropic(outputs.dimension(), rest)))
                      .columns;
  // Candidates that agree across the axes were one there.
  if (space.outside.cols() != space.weights.size()) space.outside.resize(0, space.weights.size());

  vector_of<T> spread = space.inside.cwiseAbs2() * space.weights;
  spread = spread.cwiseMax(1e-9 * std::max(spread.maxCoeff(), size * 1e-9));
  detail::inner_noise<T> start{matrix_of<T>::Identity(k, k), spread};
  detail::inner_noise<T> const found =
      detail::least_against_draws(space, start, budget, draws.seed, search);
  return scale_to(outputs, basic_gaussian_noise<T>::along(axes * found.axes, found.variances, rest),
                  budget, draws);
}

namespace detail {

/// ½ log det(I + S₁P) − ½ log det(I + S₀P): what a linear follower reads through noise of precision P, from
/// outputs of covariance S₁, and S₀ given the secret. `inside` is the identity.
template <dense_scalar T>
class linear_measure {
 public:
  linear_measure(matrix_of<T> const& whole, matrix_of<T> const& given, matrix_of<T> const& whitened)
      : whole_(whole), given_(given), precision_(whitened.transpose() * whitened) {}

  [[nodiscard]] double information(double shrink) const {
    return log_det(whole_, shrink) - log_det(given_, shrink);
  }
  /// dI/dP = ½((S₁⁻¹ + P)⁻¹ − (S₀⁻¹ + P)⁻¹).
  [[nodiscard]] matrix_of<T> laplacian(double shrink) const {
    return slope(whole_, shrink) - slope(given_, shrink);
  }

 private:
  // I + FᵀPF for S = FFᵀ: symmetric, and at least I.
  [[nodiscard]] Eigen::LLT<matrix_of<T>> factor(matrix_of<T> const& root, double shrink) const {
    matrix_of<T> const pulled = root.transpose() * precision_;
    matrix_of<T> sum = pulled * root;
    sum *= shrink;
    sum.diagonal().array() += 1.0;
    return cholesky_of(sum);
  }
  [[nodiscard]] double log_det(matrix_of<T> const& root, double shrink) const {
    return factor(root, shrink).matrixLLT().diagonal().array().log().sum();
  }
  [[nodiscard]] matrix_of<T> slope(matrix_of<T> const& root, double shrink) const {
    matrix_of<T> const solved = 0.5 * factor(root, shrink).solve(root.transpose());
    return root * solved;
  }

  matrix_of<T> const& whole_;
  matrix_of<T> const& given_;
  matrix_of<T> precision_;
};

}  // namespace detail

/// SR-PAC from samples of (secret, output), a row each: the follower is the best linear one, exact for
/// jointly Gaussian pairs, I = ½ log det(Σ_Y + Σ_B) − ½ log det(Σ_{Y|X} + Σ_B). `floor`, in output units
/// squared, is added to both covariances.
/// Guarantee: none: an estimate. Other secrets may be read better than linearly, and the covariances are
/// those of a sample. Zero noise if a linear follower reads at most β without any.
/// @throws std::invalid_argument unless there are as many secrets as outputs, and more than both
///         widths together; std::domain_error unless all are finite, the floor and β positive
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_estimate, T> stackelberg_linear(matrix_of<T> const& secrets,
                                                            matrix_of<T> const& outputs,
                                                            nats budget, double floor,
                                                            noise_shape shape = noise_shape::full) {
  detail::check_candidate_budget("stackelberg_linear", budget);
  detail::check_positive("stackelberg_linear", "floor", floor);
  detail::require_argument(secrets.rows() == outputs.rows(), "stackelberg_linear",
                           "number of secrets", secrets.rows(), "that of the outputs");
  detail::require_argument(
      secrets.cols() > 0 && outputs.cols() > 0 && outputs.rows() > secrets.cols() + outputs.cols(),
      "stackelberg_linear", "number of rows", outputs.rows(), "above both widths together");
  for (double const x : secrets.reshaped()) detail::check_finite("stackelberg_linear", "secret", x);
  for (double const y : outputs.reshaped()) detail::check_finite("stackelberg_linear", "output", y);
  Eigen::Index const d = outputs.cols();
  matrix_of<T> const x = secrets.rowwise() - secrets.colwise().mean();
  matrix_of<T> const y = outputs.rowwise() - outputs.colwise().mean();
  matrix_of<T> const slope = x.colPivHouseholderQr().solve(y);
  matrix_of<T> const left = y - x * slope;
  auto const n = static_cast<double>(y.rows());
  auto const root_of = [&](matrix_of<T> const& rows, double freedom) -> matrix_of<T> {
    matrix_of<T> sum = rows.transpose() * rows / freedom;
    sum.diagonal().array() += floor;
    return detail::cholesky_of(sum).matrixL();
  };
  matrix_of<T> const whole = root_of(y, n - 1.0);
  matrix_of<T> const given = root_of(left, n - 1.0 - static_cast<double>(x.cols()));
  double const all = (whole.diagonal().array() / given.diagonal().array()).log().sum();
  if (all <= budget.value) {
    return {basic_gaussian_noise<T>::isotropic(static_cast<std::size_t>(d), 0.0),
            mi_estimate{nats(std::max(0.0, all))}};
  }
  detail::search_space<T> const space{
      matrix_of<T>::Identity(d, d), {}, {}, shape == noise_shape::diagonal};
  detail::inner_noise<T> const start{matrix_of<T>::Identity(d, d), whole.rowwise().squaredNorm()};
  auto const measure = [&](matrix_of<T> const& whitened) {
    return detail::linear_measure<T>(whole, given, whitened);
  };
  detail::inner_noise<T> found = detail::least_inner_trace(space, start, budget.value, measure);
  nats const information(measure(found.whitened(space)).information(1.0));
  if (space.diagonal) {
    return {basic_gaussian_noise<T>::diagonal(std::move(found.variances)),
            mi_estimate{information}};
  }
  return {basic_gaussian_noise<T>::along(std::move(found.axes), std::move(found.variances)),
          mi_estimate{information}};
}

#if defined(TACIT_COMPILED_DENSE)
extern template calibrated<mi_bound> scale_to(candidate_outputs const&, gaussian_noise const&, nats,
                                              monte_carlo const&);
extern template calibrated<mi_bound> stackelberg(candidate_outputs const&, nats, monte_carlo const&,
                                                 leader const&);
extern template calibrated<mi_bound> stackelberg_within(candidate_outputs const&,
                                                        Eigen::MatrixXd const&, nats,
                                                        monte_carlo const&, double, leader const&);
extern template calibrated<mi_estimate> stackelberg_linear<double>(Eigen::MatrixXd const&,
                                                                   Eigen::MatrixXd const&, nats,
                                                                   double, noise_shape);
#endif

}  // namespace tacit
