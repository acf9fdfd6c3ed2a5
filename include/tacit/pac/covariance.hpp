// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/calibrated.hpp>
#include <tacit/pac/candidate_bounds.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/candidate_spectrum.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/moments.hpp>
#include <tacit/pac/noise_rules.hpp>
#include <tacit/pac/scale_to.hpp>

#include <Eigen/Core>

#include <cstddef>
#include <limits>
#include <span>
#include <utility>

/// Gaussian noise for an output of covariance Σ, such that ½ log det(I + ΣΣ_B⁻¹) ≥ I(X; Z) is at
/// most β. With variances r along the axes, and noise ℓ:
///
/// `log_det`       the least trace at ½ Σ log(1 + r/ℓ) = β      ℓ = r / expm1(2 asinh(½μ√r))
/// `efficient_pac` the least trace at ½ Σ r/ℓ = β               ℓ = √r·Σ√r / (2β)
/// `proportional`  the shape of Σ itself                        ℓ = r / expm1(2β/d)
/// `auto_pac`      Algorithm 1 of PAC privacy, as printed
///
/// From all candidates the figure is a bound; from samples, an estimate: a plug-in covariance can
/// lie below the truth (in d = 20 from 40 samples it reads 6.2 nats where the truth is 6.7).

namespace tacit {

/// Which bound the noise for listed candidates has to keep: the least of all (`information_bound`, so never more than the
/// entropy of the outputs), or ½ log det(I + ΣΣ_B⁻¹) alone, as the papers' rules have it.
enum class certificate { best, log_det };

namespace detail {

/// The budget for the information at the stated weights, and the bound for the law that may differ from
/// them: at most `excess` times as much (docs/certificates/pac.md, lemma 7).
[[nodiscard]] inline double budget_within(double budget, double excess) {
  return excess == 1.0 ? budget : budget / excess * (1.0 - 4.0 * unit_roundoff);
}
[[nodiscard]] inline mi_bound bound_beyond(double information, double excess) {
  double const raised = information * excess * (1.0 + 2.0 * unit_roundoff);
  return {nats(excess == 1.0 ? information : raised), 1.0};
}

/// Noise for certified variances. No direction in which candidates differ is left without noise.
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> certified_noise(centred_candidates<T> const& all,
                                                      candidate_spectrum<T> spectrum, nats budget,
                                                      noise_rule<T> rule) {
  double const within = budget_within(budget.value, all.excess);
  vector_of<T> noise = rule(spectrum.variances, spectrum.repeats, within);
  bool const has_rest =
      spectrum.axes.size() > 0 && spectrum.variances.size() > spectrum.axes.cols();
  Eigen::Index const last = noise.size() - 1;
  // The certificate asks of each axis at least the noise of the rest.
  if (has_rest) noise = noise.cwiseMax(noise(last));
  double const information = fit_noise(spectrum.variances, spectrum.repeats, noise, within);
  noise *= spectrum.excess;
  for (double& v : noise) v = all.unscaled(v);
  mi_bound const bound = bound_beyond(information, all.excess);
  double const rest = has_rest ? noise(last) : 0.0;
  if (has_rest) noise.conservativeResize(last);
  auto const along = spectrum.solved ? solved_axes<T>::noise : basic_gaussian_noise<T>::along;
  return {along(std::move(spectrum.axes), std::move(noise), rest), bound};
}

template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> certified_noise(basic_candidate_outputs<T> const& outputs,
                                                      nats budget, noise_rule<T> rule,
                                                      noise_shape shape) {
  centred_candidates<T> const all(outputs);
  if (all.differing.empty()) {
    return {basic_gaussian_noise<T>::isotropic(outputs.dimension(), 0.0), mi_bound{nats(0.0), 1.0}};
  }
  if (shape == noise_shape::full) {
    return certified_noise(all, principal_spectrum(all), budget, rule);
  }
  candidate_spectrum<T> const spectrum = spectrum_along_coordinates(all);
  double const within = budget_within(budget.value, all.excess);
  vector_of<T> noise = rule(spectrum.variances, spectrum.repeats, within);
  double const information = fit_noise(spectrum.variances, spectrum.repeats, noise, within);
  vector_of<T> everywhere = vector_of<T>::Zero(all.rows.cols());
  for (std::size_t i = 0; i < all.differing.size(); ++i) {
    everywhere(all.differing[i]) = all.unscaled(noise(static_cast<Eigen::Index>(i)));
  }
  return {basic_gaussian_noise<T>::diagonal(std::move(everywhere)),
          bound_beyond(information, all.excess)};
}

/// Comparing all pairs of M candidates in d dimensions takes some M²(M + d) operations. Beyond so many (460 candidates of few
/// coordinates, 60 of 20,000: about a tenth of a second) a rule is not asked to do better than log-det.
inline constexpr double most_pairwise_work = 1e8;

/// A rule's noise, or as little of its shape as the budget asks for where another bound than log-det's is the least.
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> kept_by(certificate by, calibrated<mi_bound, T> found,
                                              basic_candidate_outputs<T> const& outputs,
                                              nats budget) {
  if (by == certificate::log_det || found.noise.trace() == 0.0) return found;
  distinct_rows<T> const distinct(outputs);
  double const entropy = distinct.raised_entropy();
  if (entropy <= budget.value) return no_noise(outputs, entropy);
  auto const m = static_cast<double>(distinct.weights.size());
  if (m * m * (m + static_cast<double>(outputs.dimension())) > most_pairwise_work) return found;
  candidate_bounds<T> const bounds(outputs, found.noise);
  if (!(bounds.best(1.0) < found.information.value.value * (1.0 - 1e-9))) return found;
  auto scaled = if_feasible([&] { return shrunk_to(outputs, found.noise, bounds, budget); });
  return scaled ? of_lower_trace(std::move(found), *std::move(scaled)) : found;
}

/// Estimated variances on top of a floor. Without one, a direction in which the sample happens not
/// to vary would get no noise, and whatever varies there later would be released exactly.
template <dense_scalar T = double>
void add_floor(char const* function, vector_of<T>& variances, double rounding, double floor) {
  check_non_negative(function, "floor", floor);
  double const least = variances.minCoeff();
  if (floor == 0.0 && !(least > rounding)) {
    throw infeasible(complaint(function, "least variance", to_text(least),
                               "above " + to_text(rounding) + " where there is no floor"));
  }
  variances = (variances.cwiseMax(0.0).array() + floor).matrix();
}

template <dense_scalar T = double>
[[nodiscard]] principal_axes<T> estimated_axes(char const* function,
                                               basic_moments<matrix_of<T>> const& moments,
                                               double floor) {
  auto const d = static_cast<double>(moments.dimension());
  // Equal weights make this the count, up to rounding.
  double const outputs = moments.effective_count();
  if (floor == 0.0 && !(outputs >= (d + 1.0) * (1.0 - 1e-12))) {
    throw infeasible(complaint(function, "effective number of outputs", to_text(outputs),
                               "above the dimension where there is no floor"));
  }
  principal_axes<T> out = principal_axes_of<T>(moments.covariance());
  double const rounding =
      d * std::numeric_limits<double>::epsilon() * out.variances.cwiseAbs().maxCoeff();
  add_floor(function, out.variances, rounding, floor);
  return out;
}

template <dense_scalar T = double>
[[nodiscard]] mi_estimate estimated_information(vector_of<T> const& variances,
                                                vector_of<T> const& noise) {
  return {nats(log_det_sum(variances, 1.0, noise))};
}

template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_estimate, T> estimated_noise(basic_moments<matrix_of<T>> const& moments,
                                                         nats budget, double floor,
                                                         noise_rule<T> rule, char const* function) {
  check_positive(function, "budget", budget.value);
  principal_axes<T> found = estimated_axes(function, moments, floor);
  vector_of<T> noise = chosen_variances(function, found.variances, budget, rule);
  mi_estimate const information = estimated_information(found.variances, noise);
  return {solved_axes<T>::noise(std::move(found.axes), std::move(noise)), information};
}

template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_estimate, T> estimated_noise(basic_moments<vector_of<T>> const& moments,
                                                         nats budget, double floor,
                                                         noise_rule<T> rule, char const* function) {
  check_positive(function, "budget", budget.value);
  vector_of<T> variances = moments.variances();
  add_floor(function, variances, 0.0, floor);
  vector_of<T> noise = chosen_variances(function, variances, budget, rule);
  mi_estimate const information = estimated_information(variances, noise);
  return {basic_gaussian_noise<T>::diagonal(std::move(noise)), information};
}

}  // namespace detail

/// The noise of least trace whose log-det bound is at most β: along the principal axes of the
/// candidates, or (`diagonal`) along the coordinates by Hadamard's inequality. It is scaled down where another bound
/// than log-det's allows it (`certificate`): to none where β covers the entropy, and by the pairs of M distinct candidates
/// where M²(M + d) is at most 1e8 (`scale_to` takes any number). Directions that
/// candidates do not differ in get the little that covers rounding, some 1e-12 of the rest; coordinates in
/// which all agree bit for bit get exactly 0 along the coordinates, and where candidates outnumber
/// the coordinates that differ. If all agree everywhere: no noise, 0 nats.
/// Guarantee: feasible end; the bound is certain, for the candidates and weights given, with all
/// rounding counted (pac/candidate_spectrum.hpp has the argument).
/// Cost: O(n²d) for n ≤ d candidates, without a d×d matrix; else O(nd² + d³); O(nd) along
/// coordinates; and for the pairs O(M²(M + d)) a step of a search, a tenth of a second at most.
/// @throws std::domain_error unless β is positive and finite, or if differences or noise overflow
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> log_det(basic_candidate_outputs<T> const& outputs,
                                              nats budget, noise_shape shape = noise_shape::full,
                                              certificate by = certificate::best) {
  detail::check_positive("log_det", "budget", budget.value);
  return detail::kept_by(by, detail::certified_noise(outputs, budget, detail::fill_water<T>, shape),
                         outputs, budget);
}

/// The same for the covariance of a sample. `floor`, in output units squared, is added to the
/// variance of every direction; 0 demands a sample that varies in all of them.
/// Guarantee: none: an estimate.
/// @throws infeasible if the floor is 0 and the effective number of outputs is at most d, or the
///         covariance is singular up to rounding; std::domain_error unless β is positive and finite
///         and the floor finite and at least 0; as output_moments::covariance
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_estimate, T> log_det(basic_moments<matrix_of<T>> const& moments,
                                                 nats budget, double floor = 0.0) {
  return detail::estimated_noise(moments, budget, floor, detail::fill_water<T>, "log_det");
}

/// Along the coordinates, from their variances alone.
/// Guarantee: none: an estimate.
/// @throws infeasible if the floor is 0 and a coordinate does not vary; else as above
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_estimate, T> log_det(basic_moments<vector_of<T>> const& moments,
                                                 nats budget, double floor = 0.0) {
  return detail::estimated_noise(moments, budget, floor, detail::fill_water<T>, "log_det");
}

/// Efficient-PAC (Sridhar, Xiao & Devadas 2024) for variances along the coordinates.
/// Guarantee: none: an estimate. At least `log_det`'s trace.
/// @throws as log_det
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_estimate, T> efficient_pac(basic_moments<vector_of<T>> const& moments,
                                                       nats budget, double floor = 0.0) {
  return detail::estimated_noise(moments, budget, floor, detail::spread_efficiently<T>,
                                 "efficient_pac");
}

/// The same in any orthonormal basis: `axes` is d×d, and the moments are those of axesᵀ·output
/// (`in_basis` makes such a run).
/// @throws std::invalid_argument unless the axes are d×d and orthonormal to 1e-10; as above
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_estimate, T> efficient_pac(basic_moments<vector_of<T>> const& moments,
                                                       matrix_of<T> axes, nats budget,
                                                       double floor = 0.0) {
  auto const d = static_cast<Eigen::Index>(moments.dimension());
  detail::require_argument(axes.rows() == d && axes.cols() == d, "efficient_pac",
                           "number of entries of the axes", axes.size(), "that of a square");
  calibrated<mi_estimate, T> const found = efficient_pac(moments, budget, floor);
  return {basic_gaussian_noise<T>::along(std::move(axes), found.noise.variances()),
          found.information};
}

/// A run whose output is axesᵀ·(the output of another run).
template <class Run, dense_scalar T = double>
[[nodiscard]] auto in_basis(matrix_of<T> axes, Run run) {
  return [axes = std::move(axes), run = std::move(run), output = vector_of<T>()](
             std::size_t index, std::span<double> out) mutable {
    output.setConstant(axes.rows(), std::numeric_limits<double>::quiet_NaN());
    run(index, std::span<double>(output.data(), static_cast<std::size_t>(output.size())));
    detail::check_size("in_basis", "number of axes", static_cast<std::size_t>(axes.cols()),
                       out.size());
    Eigen::Map<vector_of<T>>(out.data(), axes.cols()).noalias() = axes.transpose() * output;
  };
}

/// Efficient-PAC's noise for all candidates, along the coordinates.
/// Guarantee: feasible end, as log_det: the bound is ½ Σ log(1 + r/ℓ), which is below ½ Σ r/ℓ = β.
/// @throws as log_det
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> efficient_pac(basic_candidate_outputs<T> const& outputs,
                                                    nats budget,
                                                    certificate by = certificate::best) {
  detail::check_positive("efficient_pac", "budget", budget.value);
  return detail::kept_by(by,
                         detail::certified_noise(outputs, budget, detail::spread_efficiently<T>,
                                                 noise_shape::diagonal),
                         outputs, budget);
}

/// In any orthonormal basis, d×d.
/// @throws std::invalid_argument unless the axes are d×d and orthonormal to 1e-10; as log_det
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> efficient_pac(basic_candidate_outputs<T> const& outputs,
                                                    matrix_of<T> axes, nats budget,
                                                    certificate by = certificate::best) {
  auto const d = static_cast<Eigen::Index>(outputs.dimension());
  detail::require_argument(axes.rows() == d && axes.cols() == d, "efficient_pac",
                           "number of entries of the axes", axes.size(), "that of a square");
  detail::check_positive("efficient_pac", "budget", budget.value);
  detail::centred_candidates<T> const all(outputs);
  if (all.differing.empty()) {
    return {basic_gaussian_noise<T>::isotropic(outputs.dimension(), 0.0), mi_bound{nats(0.0), 1.0}};
  }
  return detail::kept_by(
      by,
      detail::certified_noise(all, detail::spectrum_along(all, std::move(axes), 0), budget,
                              detail::spread_efficiently<T>),
      outputs, budget);
}

/// Σ/(e^{2β/d} − 1): what the code of Residual-PAC's authors runs under the name Auto-PAC, and what
/// the Auto-PAC rows of its Tables 2 to 4 hold. It is neither Algorithm 1 nor the least trace; kept
/// for comparison.
/// Guarantee: none: an estimate.
/// @throws as log_det
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_estimate, T> proportional(basic_moments<matrix_of<T>> const& moments,
                                                      nats budget, double floor = 0.0) {
  return detail::estimated_noise(moments, budget, floor, detail::spread_in_proportion<T>,
                                 "proportional");
}

/// The same for all candidates; d counts the coordinates in which they differ where candidates
/// outnumber those, else all.
/// Guarantee: feasible end, as log_det.
/// @throws as log_det
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> proportional(basic_candidate_outputs<T> const& outputs,
                                                   nats budget,
                                                   certificate by = certificate::best) {
  detail::check_positive("proportional", "budget", budget.value);
  return detail::kept_by(
      by,
      detail::certified_noise(outputs, budget, detail::spread_in_proportion<T>, noise_shape::full),
      outputs, budget);
}

#if defined(TACIT_COMPILED_DENSE)
extern template calibrated<mi_bound> log_det(candidate_outputs const&, nats, noise_shape,
                                             certificate);
extern template calibrated<mi_estimate> log_det<double>(output_moments const&, nats, double);
extern template calibrated<mi_estimate> log_det<double>(diagonal_moments const&, nats, double);
extern template calibrated<mi_estimate> efficient_pac<double>(diagonal_moments const&, nats,
                                                              double);
extern template calibrated<mi_estimate> efficient_pac<double>(diagonal_moments const&,
                                                              Eigen::MatrixXd, nats, double);
extern template calibrated<mi_bound> efficient_pac(candidate_outputs const&, nats, certificate);
extern template calibrated<mi_bound> efficient_pac(candidate_outputs const&, Eigen::MatrixXd, nats,
                                                   certificate);
extern template calibrated<mi_estimate> proportional<double>(output_moments const&, nats, double);
extern template calibrated<mi_bound> proportional(candidate_outputs const&, nats, certificate);
#endif

}  // namespace tacit
