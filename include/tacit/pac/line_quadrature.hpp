// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/pac/dense.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

namespace tacit::detail {

/// ∫ mix(z)·KL(posterior(z)‖p) dz for a mixture of unit normals on a line.
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
  double const largest_kl = -log(p.minCoeff());

  double const aim = 0x1p-56 * least;
  double const digits = log(2.0 * (entropy + 5.0) / aim);
  double const strip = std::min(0.8 * pi / range, sqrt(2.0 * digits));
  double const step = 2.0 * pi * strip / (digits + 0.5 * strip * strip);
  double const reach = sqrt(2.0 * log((largest_kl + 2.0) * 4.0 / aim));
  if (!((range + 2.0 * reach) / step * count <= most)) return std::nullopt;
  double const tails = 2.0 * largest_kl * (step + 1.0 / reach) * exp(-0.5 * reach * reach);
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

}  // namespace tacit::detail
