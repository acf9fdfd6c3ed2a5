// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/certified.hpp>
#include <tacit/pac/calibrated.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/candidate_spectrum.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/moments.hpp>

#include <Eigen/Core>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
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

namespace detail {

template <dense_scalar T = double>
void check_noise_rule(char const* function, vector_of<T> const& variances, nats budget) {
  require_argument(variances.size() > 0, function, "number of variances", variances.size(),
                   "positive");
  for (double const r : variances) check_non_negative(function, "variance", r);
  check_positive(function, "budget", budget.value);
}

/// Σ log(1 + a), overwriting a ≥ 0. Factors are multiplied in eights, less one, so that seven of eight
/// logarithms are saved: (1 + e)(1 + a) − 1 = e + a + ea, where nothing cancels.
/// Accuracy: a relative error δ of e moves log(1 + e) by δ·e/(1 + e), less than δ·log(1 + e). So each
/// of three levels adds 2u to the relative error of the sum, beside a logarithm and a compensated sum.
template <dense_scalar T = double>
[[nodiscard]] double log1p_sum(Eigen::Ref<array_of<T>> a) {
  Eigen::Index left = a.size();
  // Eight larger ones would overflow.
  for (int level = 0; level < 3 && a.head(left).maxCoeff() < 1e30; ++level) {
    Eigen::Index const half = left / 2;
    auto const other = a.segment(left - half, half);
    a.head(half) += other + a.head(half) * other;
    left -= half;
  }
  compensated_sum<double> sum;
  for (double const e : a.head(left)) sum += std::log1p(e);
  return sum.value();
}

/// Room for a piece of a long array that the first cache holds.
template <dense_scalar T>
using array_piece = Eigen::Array<T, Eigen::Dynamic, 1, 0, 1024, 1>;

/// Calls f(first, n) for such pieces.
template <dense_scalar T, class Function>
void by_pieces(Eigen::Index size, Function&& f) {
  constexpr Eigen::Index most = array_piece<T>::MaxRowsAtCompileTime;
  for (Eigen::Index i = 0; i < size; i += most) f(i, std::min(most, size - i));
}

/// ½ Σ log(1 + r/ℓ), with 0/0 = 0 and the last term taken `repeats` times.
/// Accuracy: some 16u, far within `information_error`.
template <dense_scalar T = double>
[[nodiscard]] double log_det_sum(vector_of<T> const& variances, double repeats,
                                 vector_of<T> const& noise) {
  compensated_sum<double> sum;
  array_piece<T> ratio;
  by_pieces<T>(variances.size(), [&](Eigen::Index i, Eigen::Index n) {
    auto const r = variances.segment(i, n).array();
    ratio = (r > 0.0).select(r / noise.segment(i, n).array(), 0.0);
    double const last = ratio(n - 1);
    sum += 0.5 * log1p_sum(ratio);
    if (i + n == variances.size()) sum += 0.5 * (repeats - 1.0) * std::log1p(last);
  });
  return sum.value();
}

/// Noise that a rule has chosen, louder by some 1e-13 where rounding asks for it; the information
/// is returned, raised by its error, and fits the budget.
template <dense_scalar T = double>
[[nodiscard]] double fit_noise(vector_of<T> const& variances, double repeats, vector_of<T>& noise,
                               double budget) {
  for (Eigen::Index i = 0; i < noise.size(); ++i) {
    if (variances(i) > 0.0) {
      noise(i) = std::max({noise(i), 1e-300 * variances(i), std::numeric_limits<double>::min()});
    }
  }
  for (double step = 2.0 * information_error;; step *= 2.0) {
    double const sum = log_det_sum(variances, repeats, noise);
    if (sum == 0.0) return 0.0;
    double const information = raised(sum);
    if (information <= budget) return information;
    if (!(step < 1.0)) throw convergence_error("noise: none fits the budget", 0.0, information);
    noise *= 1.0 + step;
  }
}

/// Water-filling. With y_i = asinh(½μ√r_i), ℓ_i = r_i/expm1(2y_i) makes ½ log(1 + r_i/ℓ_i) = y_i,
/// and both stationarity and the budget read Σ y_i = β. The sum is concave in μ: Newton's method
/// from below stays below, and rises. This is ℓ_i = (−r_i + √(r_i² + 2λr_i))/2 at μ² = 2/λ
/// (Proposition 2 of Residual-PAC), without its cancellation: for z = ½μ√r_i and w = √(1 + z²),
/// y_i = log(1 + a) with a = z + z²/(1 + w), and expm1(2y_i) = 2z(z + w).
template <dense_scalar T = double>
[[nodiscard]] vector_of<T> fill_water(vector_of<T> const& variances, double repeats,
                                      double budget) {
  array_of<T> x = 0.5 * variances.array().sqrt();
  double const scale = x.maxCoeff();
  if (scale == 0.0) return vector_of<T>::Zero(variances.size());
  x /= scale;
  Eigen::Index const last = x.size() - 1;
  double const more = repeats - 1.0;
  double const aim = budget * (1.0 - 3.0 * information_error);
  double mu = aim / (x.sum() + more * x(last));
  array_piece<T> z;
  array_piece<T> w;
  for (int step = 0; step < 100; ++step) {
    compensated_sum<double> sum;
    double slope = 0.0;
    by_pieces<T>(x.size(), [&](Eigen::Index i, Eigen::Index n) {
      z = mu * x.segment(i, n);
      w = (1.0 + z.square()).sqrt();
      slope += (x.segment(i, n) / w).sum();
      z += z.square() / (1.0 + w);
      sum += log1p_sum(z);
    });
    double const at_last = mu * x(last);
    sum += more * std::asinh(at_last);
    slope += more * x(last) / std::sqrt(1.0 + at_last * at_last);
    double const left = aim - sum.value();
    if (!(left > 1e-13 * budget)) break;
    double const next = std::min(mu + left / slope, 1e150);
    if (!(next > mu)) break;
    mu = next;
  }
  vector_of<T> noise(variances.size());
  by_pieces<T>(x.size(), [&](Eigen::Index i, Eigen::Index n) {
    auto const r = variances.segment(i, n).array();
    z = mu * x.segment(i, n);
    noise.segment(i, n) = (r > 0.0).select(r / (2.0 * z * (z + (1.0 + z.square()).sqrt())), 0.0);
  });
  return noise;
}

template <dense_scalar T = double>
[[nodiscard]] vector_of<T> spread_efficiently(vector_of<T> const& variances, double repeats,
                                              double budget) {
  vector_of<T> const roots = variances.cwiseSqrt();
  double const sum = roots.sum() + (repeats - 1.0) * roots(roots.size() - 1);
  return roots * (0.5 * sum / budget);
}

// What the rules have in common: (r, how often the last one, β) → ℓ.
template <dense_scalar T>
using noise_rule = vector_of<T> (*)(vector_of<T> const&, double, double);

template <dense_scalar T = double>
[[nodiscard]] vector_of<T> chosen_variances(char const* function, vector_of<T> const& variances,
                                            nats budget, noise_rule<T> rule) {
  check_noise_rule(function, variances, budget);
  vector_of<T> noise = rule(variances, 1.0, budget.value);
  static_cast<void>(fit_noise(variances, 1.0, noise, budget.value));
  return noise;
}

template <dense_scalar T = double>
[[nodiscard]] vector_of<T> spread_in_proportion(vector_of<T> const& variances, double repeats,
                                                double budget) {
  double const count = static_cast<double>(variances.size() - 1) + repeats;
  return variances / std::expm1(2.0 * budget / count);
}

/// Noise for certified variances. Nothing that differs is left without noise.
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> certified_noise(centred_candidates<T> const& all,
                                                      candidate_spectrum<T> spectrum, nats budget,
                                                      noise_rule<T> rule) {
  vector_of<T> noise = rule(spectrum.variances, spectrum.repeats, budget.value);
  bool const has_rest =
      spectrum.axes.size() > 0 && spectrum.variances.size() > spectrum.axes.cols();
  Eigen::Index const last = noise.size() - 1;
  // The certificate asks of each axis at least the noise of the rest.
  if (has_rest) noise = noise.cwiseMax(noise(last));
  double const information = fit_noise(spectrum.variances, spectrum.repeats, noise, budget.value);
  noise *= spectrum.excess;
  for (double& v : noise) v = all.unscaled(v);
  mi_bound const bound{nats(information), 1.0};
  if (has_rest) {
    return {basic_gaussian_noise<T>::along(std::move(spectrum.axes), noise.head(last), noise(last)),
            bound};
  }
  return {basic_gaussian_noise<T>::along(std::move(spectrum.axes), std::move(noise)), bound};
}

template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> certified_noise(basic_candidate_outputs<T> const& outputs,
                                                      nats budget, noise_rule<T> rule,
                                                      noise_shape shape, char const* function) {
  check_positive(function, "budget", budget.value);
  centred_candidates<T> const all(outputs);
  if (all.differing.empty()) {
    return {basic_gaussian_noise<T>::isotropic(outputs.dimension(), 0.0), mi_bound{nats(0.0), 1.0}};
  }
  if (shape == noise_shape::full) {
    return certified_noise(all, principal_spectrum(all), budget, rule);
  }
  candidate_spectrum<T> const spectrum = spectrum_along_coordinates(all);
  vector_of<T> noise = rule(spectrum.variances, spectrum.repeats, budget.value);
  double const information = fit_noise(spectrum.variances, spectrum.repeats, noise, budget.value);
  vector_of<T> everywhere = vector_of<T>::Zero(all.rows.cols());
  for (std::size_t i = 0; i < all.differing.size(); ++i) {
    everywhere(all.differing[i]) = all.unscaled(noise(static_cast<Eigen::Index>(i)));
  }
  return {basic_gaussian_noise<T>::diagonal(std::move(everywhere)),
          mi_bound{nats(information), 1.0}};
}

/// Estimated variances on top of a floor. Without one, a direction in which the sample happens not
/// to vary would get no noise, and whatever varies there later would be told in full.
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

template <dense_scalar T>
struct principal_axes {
  matrix_of<T> axes;
  vector_of<T> variances;
};

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
  Eigen::SelfAdjointEigenSolver<matrix_of<T>> const solved(moments.covariance());
  principal_axes<T> out{solved.eigenvectors(), solved.eigenvalues()};
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
  return {basic_gaussian_noise<T>::along(std::move(found.axes), std::move(noise)), information};
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

/// ℓ of least sum with ½ Σ log(1 + r_i/ℓ_i) ≤ β, for variances r that are known. r_i = 0 gets 0.
/// Guarantee: feasible end, within 1e-12 of β for 1e-290 ≤ β ≤ 300 a direction.
/// @throws std::invalid_argument if there is none; std::domain_error unless variances are finite
///         and at least 0, and β is positive and finite
template <dense_scalar T = double>
[[nodiscard]] vector_of<T> log_det_variances(vector_of<T> const& variances, nats budget) {
  return detail::chosen_variances("log_det_variances", variances, budget, detail::fill_water<T>);
}

/// ℓ of least sum with ½ Σ r_i/ℓ_i = β: √r_i·Σ√r/(2β), trace (Σ√r)²/(2β) (Sridhar, Xiao & Devadas
/// 2024). Log-det's sum is below it for every β.
/// Guarantee: feasible end of ½ Σ log(1 + r_i/ℓ_i) ≤ β.
/// @throws as log_det_variances
template <dense_scalar T = double>
[[nodiscard]] vector_of<T> efficient_pac_variances(vector_of<T> const& variances, nats budget) {
  return detail::chosen_variances("efficient_pac_variances", variances, budget,
                                  detail::spread_efficiently<T>);
}

/// r_i/(e^{2β/d} − 1), d = the number of variances.
/// Guarantee: feasible end of ½ Σ log(1 + r_i/ℓ_i) ≤ β.
/// @throws as log_det_variances
template <dense_scalar T = double>
[[nodiscard]] vector_of<T> proportional_variances(vector_of<T> const& variances, nats budget) {
  return detail::chosen_variances("proportional_variances", variances, budget,
                                  detail::spread_in_proportion<T>);
}

/// The noise of least trace whose log-det bound is at most β: along the principal axes of the
/// candidates, or (`diagonal`) along the coordinates by Hadamard's inequality. Directions that
/// candidates do not differ in get what rounding asks for, some 1e-12 of the rest; coordinates in
/// which all agree bit for bit get exactly 0 along the coordinates, and where candidates outnumber
/// the coordinates that differ. If all agree everywhere: no noise, 0 nats.
/// Guarantee: feasible end; the bound holds surely, for the candidates and weights given, with all
/// rounding counted (pac/candidate_spectrum.hpp has the argument).
/// Cost: O(n²d) for n ≤ d candidates, without a d×d matrix; else O(nd² + d³); O(nd) along
/// coordinates.
/// @throws std::domain_error unless β is positive and finite, or if differences or noise overflow
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> log_det(basic_candidate_outputs<T> const& outputs,
                                              nats budget, noise_shape shape = noise_shape::full) {
  return detail::certified_noise(outputs, budget, detail::fill_water<T>, shape, "log_det");
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

/// A run that says axesᵀ·output of another run.
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
                                                    nats budget) {
  return detail::certified_noise(outputs, budget, detail::spread_efficiently<T>,
                                 noise_shape::diagonal, "efficient_pac");
}

/// In any orthonormal basis, d×d.
/// @throws std::invalid_argument unless the axes are d×d and orthonormal to 1e-10; as log_det
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_bound, T> efficient_pac(basic_candidate_outputs<T> const& outputs,
                                                    matrix_of<T> axes, nats budget) {
  auto const d = static_cast<Eigen::Index>(outputs.dimension());
  detail::require_argument(axes.rows() == d && axes.cols() == d, "efficient_pac",
                           "number of entries of the axes", axes.size(), "that of a square");
  detail::check_positive("efficient_pac", "budget", budget.value);
  detail::centred_candidates<T> const all(outputs);
  if (all.differing.empty()) {
    return {basic_gaussian_noise<T>::isotropic(outputs.dimension(), 0.0), mi_bound{nats(0.0), 1.0}};
  }
  return detail::certified_noise(all, detail::spectrum_along(all, std::move(axes), 0), budget,
                                 detail::spread_efficiently<T>);
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
                                                   nats budget) {
  return detail::certified_noise(outputs, budget, detail::spread_in_proportion<T>,
                                 noise_shape::full, "proportional");
}

/// What Algorithm 1 of PAC privacy asks for. The total it claims is v + β′.
struct auto_pac_request {
  double output_norm = required;  // r: no output is longer
  double c = required;            // how far an eigenvalue of the sample may be off
  nats v;                         // for the noise on the estimated covariance
  nats slack;                     // β′: for what the estimate misses
};

namespace detail {

inline void check_auto_pac(auto_pac_request const& asked) {
  check_positive("auto_pac", "output_norm", asked.output_norm);
  check_positive("auto_pac", "c", asked.c);
  check_positive("auto_pac", "v", asked.v.value);
  check_positive("auto_pac", "slack", asked.slack.value);
}

}  // namespace detail

/// Noise variances of Algorithm 1 (Xiao & Devadas 2023, as printed) for eigenvalues λ of the
/// sample's covariance, in any order: with s_j = √(λ_j + 10cv/β′),
///   s_j·Σs/(2v)     if each eigenvalue above c is farther than r√(dc) + 2c from every other,
///   (Σλ + dc)/(2v)  everywhere if not: an estimate of the axes cannot be trusted then.
/// @throws std::invalid_argument if there is none; std::domain_error unless eigenvalues are finite
///         and at least 0 and all that is asked for is positive and finite
template <dense_scalar T = double>
[[nodiscard]] vector_of<T> auto_pac_variances(vector_of<T> const& eigenvalues,
                                              auto_pac_request const& asked) {
  detail::check_auto_pac(asked);
  detail::check_noise_rule("auto_pac", eigenvalues, asked.v);
  double const c = asked.c;
  double const v = asked.v.value;
  auto const d = static_cast<double>(eigenvalues.size());
  vector_of<T> sorted = eigenvalues;
  std::sort(sorted.begin(), sorted.end());
  double gap = std::numeric_limits<double>::infinity();  // neighbours are the closest
  for (Eigen::Index j = 1; j < sorted.size(); ++j) {
    if (sorted(j) > c) gap = std::min(gap, sorted(j) - sorted(j - 1));
  }
  if (!(gap > asked.output_norm * std::sqrt(d * c) + 2.0 * c)) {
    return vector_of<T>::Constant(eigenvalues.size(), (eigenvalues.sum() + d * c) / (2.0 * v));
  }
  vector_of<T> const roots =
      (eigenvalues.array() + 10.0 * c * v / asked.slack.value).sqrt().matrix();
  return roots * (roots.sum() / (2.0 * v));
}

/// Algorithm 1 of PAC privacy: noise for a claim of I(X; Z) ≤ v + β′.
///
/// The paper states this with confidence 1 − γ for enough sampled datasets. How many, for a given c
/// and γ, hangs on a universal constant that it does not specify, so that no γ can be computed from
/// c, nor c from γ: what comes back is an estimate, v + β′, whatever c is.
/// Guarantee: none: an estimate.
/// @throws std::domain_error unless all that is asked for is positive and finite; as
///         output_moments::covariance
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_estimate, T> auto_pac(basic_moments<matrix_of<T>> const& moments,
                                                  auto_pac_request const& asked) {
  detail::check_auto_pac(asked);
  Eigen::SelfAdjointEigenSolver<matrix_of<T>> const solved(moments.covariance());
  vector_of<T> variances = auto_pac_variances(solved.eigenvalues().cwiseMax(0.0), asked);
  mi_estimate const claim{asked.v + asked.slack};
  bool const isotropic = variances.minCoeff() == variances.maxCoeff();
  if (isotropic)
    return {basic_gaussian_noise<T>::isotropic(moments.dimension(), variances(0)), claim};
  return {basic_gaussian_noise<T>::along(solved.eigenvectors(), std::move(variances)), claim};
}

}  // namespace tacit
