// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/scalar_noise.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <variant>
#include <vector>

namespace tacit::detail {

/// Distinct numbers, increasing, with the probability of each.
struct scalar_candidates {
  std::vector<double> at;
  std::vector<double> weights;

  scalar_candidates(std::span<double const> outputs, std::span<double const> probabilities) {
    std::vector<std::size_t> order(outputs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return outputs[a] < outputs[b]; });
    for (std::size_t const m : order) {
      if (!(probabilities[m] > 0.0)) continue;
      if (at.empty() || at.back() != outputs[m]) {
        at.push_back(outputs[m]);
        weights.push_back(0.0);
      }
      weights.back() += probabilities[m];
    }
    double const sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& p : weights) p /= sum;
    // Far from 0 there are few doubles between the outputs. Counted from the first, which is exact here, there are more.
    double const first = at.front();
    double const last = at.back();
    if ((first > 0.0 && last <= 2.0 * first) || (last < 0.0 && first >= 2.0 * last)) {
      for (double& y : at) y -= first;
    }
  }

  [[nodiscard]] std::size_t size() const noexcept { return at.size(); }
  [[nodiscard]] double range() const noexcept { return at.back() - at.front(); }
};

/// g, and the measure from ∫g.
class leakage_terms {
 public:
  leakage_terms(leakage_measure const& measure, std::span<double const> weights)
      : measure_(measure), weights_(weights) {
    if (auto const* renyi = std::get_if<renyi_measure>(&measure)) order_ = renyi->order;
  }

  /// g of likelihoods of one release, up to a factor.
  [[nodiscard]] double operator()(std::span<double const> likelihoods) const {
    double const top = *std::max_element(likelihoods.begin(), likelihoods.end());
    if (!(top > 0.0)) return 0.0;
    if (std::holds_alternative<renyi_measure>(measure_)) {
      if (std::isinf(order_)) return top;
      double sum = 0.0;
      for (std::size_t m = 0; m < weights_.size(); ++m) {
        if (likelihoods[m] > 0.0) {
          sum += weights_[m] * elementary::exp(order_ * elementary::log(likelihoods[m] / top));
        }
      }
      return top * elementary::exp(elementary::log(sum) / order_);
    }
    // Over the largest, as a product of the least weight and likelihood may be too small for a double.
    double mix = 0.0;
    for (std::size_t m = 0; m < weights_.size(); ++m) mix += weights_[m] * (likelihoods[m] / top);
    double sum = 0.0;
    if (std::holds_alternative<shannon_measure>(measure_)) {
      for (std::size_t m = 0; m < weights_.size(); ++m) {
        double const f = likelihoods[m] / top;
        sum += weights_[m] * entropy_residual((f - mix) / mix, f / mix);
      }
      return top * (mix * sum);
    }
    for (std::size_t m = 0; m < weights_.size(); ++m) {
      sum += weights_[m] * std::abs(likelihoods[m] / top - mix);
    }
    return 0.5 * top * sum;
  }

  /// g where likelihoods are 1 for candidates of this probability together, and 0 for all others.
  [[nodiscard]] double of_possible(double probability) const {
    if (std::holds_alternative<renyi_measure>(measure_)) {
      return std::isinf(order_) ? 1.0 : elementary::exp(elementary::log(probability) / order_);
    }
    return std::holds_alternative<shannon_measure>(measure_)
               ? -probability * elementary::log(probability)
               : probability * (1.0 - probability);
  }

  /// By how much ∫g may move if all is to be resolved to a relative `tolerance`, or to rounding.
  [[nodiscard]] double resolution(double integral, double tolerance) const {
    constexpr double u = 8.0 * unit_roundoff;
    if (std::holds_alternative<renyi_measure>(measure_)) {
      return std::max(tolerance * std::abs(integral - 1.0), u * integral);
    }
    bool const shannon = std::holds_alternative<shannon_measure>(measure_);
    return std::max(tolerance * integral, u * (shannon ? std::sqrt(integral) + u : 1.0));
  }

  /// The measure of two channels, of which the first tells no more than the truth and the second no less. Their
  /// probabilities are right to the factor 1 ± `relative`, and their sums ∫g besides to `absolute`.
  [[nodiscard]] bound<double> of(double coarse, double fine, double relative,
                                 double absolute) const {
    constexpr double u = unit_roundoff;
    auto const count = static_cast<double>(weights_.size());
    if (std::holds_alternative<renyi_measure>(measure_))
      return sibson(coarse, fine, relative, absolute);
    if (std::holds_alternative<variation_measure>(measure_)) {
      double const off = relative + (2.0 * count + 16.0) * u + absolute;
      return {std::max(0.0, coarse - off), std::min(1.0, fine * (1.0 + 4.0 * u) + off)};
    }
    // Errors of all ratios to their prior, as in 15, and of the weights of each release.
    double const e = 2.1 * relative + 3.0 * (count + 8.0) * u;
    auto const off = [&](double x) {
      return 1.04 * e * (2.0 * x + std::sqrt(2.0 * x)) + 53.0 * (e * e) + absolute;
    };
    return {std::max(0.0, coarse - off(coarse)), (fine + off(fine)) * (1.0 + 8.0 * u)};
  }

 private:
  [[nodiscard]] bound<double> sibson(double coarse, double fine, double relative,
                                     double absolute) const {
    constexpr double u = unit_roundoff;
    auto const count = static_cast<double>(weights_.size());
    double const least = *std::min_element(weights_.begin(), weights_.end());
    double off = relative + 40.0 * u;
    if (!std::isinf(order_)) {
      off += (3.0 * count + 80.0 + std::min(1.5 / least, 3000.0 * order_) -
              5.0 * elementary::log(least)) /
             order_ * u;
    }
    double const factor = std::isinf(order_) ? 1.0 : order_ / std::abs(order_ - 1.0);
    // 1.02 is enough for log(1 ± x) up to here.
    auto const certain = [&](double integral) { return off + absolute / integral <= 0.01; };
    auto const value = [&](double integral, double up) {
      double const log = elementary::log(integral) * (order_ > 1.0 ? 1.0 : -1.0);
      return std::max(0.0, factor * (log + up * (1.02 * (off + absolute / integral) +
                                                 4.0 * u * std::abs(log))));
    };
    return {certain(coarse) ? value(coarse, -1.0) : 0.0,
            certain(fine) ? value(fine, 1.0) : std::numeric_limits<double>::infinity()};
  }

  leakage_measure measure_;
  std::span<double const> weights_;
  double order_ = 1.0;
};

}  // namespace tacit::detail
