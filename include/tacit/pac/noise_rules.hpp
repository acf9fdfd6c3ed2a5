// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/certified.hpp>
#include <tacit/pac/dense.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <limits>

/// Noise variances for known variances.

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
  // The product of eight larger ones would overflow.
  for (int level = 0; level < 3 && a.head(left).maxCoeff() < 1e30; ++level) {
    Eigen::Index const half = left / 2;
    auto const other = a.segment(left - half, half);
    a.head(half) += other + a.head(half) * other;
    left -= half;
  }
  compensated_sum<double> sum;
  for (double const e : a.head(left)) sum += elementary::log1p(e);
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
    if (i + n == variances.size()) sum += 0.5 * (repeats - 1.0) * elementary::log1p(last);
  });
  return sum.value();
}

/// Noise that a rule has chosen, larger by some 1e-13 where that covers rounding; the information
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
  return variances / elementary::expm1(2.0 * budget / count);
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

#if defined(TACIT_COMPILED_DENSE)
extern template Eigen::VectorXd log_det_variances<double>(Eigen::VectorXd const&, nats);
extern template Eigen::VectorXd efficient_pac_variances<double>(Eigen::VectorXd const&, nats);
extern template Eigen::VectorXd proportional_variances<double>(Eigen::VectorXd const&, nats);
#endif

}  // namespace tacit
