// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/pac/scalar_noise.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <variant>
#include <vector>

/// What a release Z = y_X + noise tells, X one of M candidates with probabilities p, for noise of any law of
/// scalar_noise.hpp: the follower is Bayes' rule, and is exact.
///
/// All measures are functions of one integral of a sublinear g, over the release z, of the likelihoods f = (f_1, …, f_M):
///   Shannon    I = ∫ Σ p f log(f/mix),   mix = Σ p f
///   Rényi      I_α = α/(α−1)·log ∫ (Σ p f^α)^{1/α},   I_∞ = log ∫ max f
///   variation  V = ½ ∫ Σ p |f − mix|
/// and each has the data-processing inequality. The line is cut into cells. Which cell Z is in is a function of Z: the measure
/// of the cells is a lower bound. Where f is a mixture a(z)·f(left) + c(z)·f(right) on every cell, Z can be drawn from an end of its
/// cell alone: the measure of the ends is an upper bound (docs/certificates/pac.md, 31). Both are sums over finite
/// channels. Cells of a uniform law, or of whole numbers, make them equal; those of a Laplace law, in which f combines
/// e^(−z/b) and e^(z/b), are halved where the two differ most.

namespace tacit {

namespace detail {

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
    double mix = 0.0;
    for (std::size_t m = 0; m < weights_.size(); ++m) mix += weights_[m] * likelihoods[m];
    double sum = 0.0;
    if (std::holds_alternative<shannon_measure>(measure_)) {
      for (std::size_t m = 0; m < weights_.size(); ++m) {
        double const ratio = likelihoods[m] / mix;
        sum += weights_[m] * entropy_residual((likelihoods[m] - mix) / mix, ratio);
      }
      return mix * sum;
    }
    for (std::size_t m = 0; m < weights_.size(); ++m) {
      sum += weights_[m] * std::abs(likelihoods[m] - mix);
    }
    return 0.5 * sum;
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
    auto const value = [&](double integral, double up) {
      double const log = elementary::log(integral) * (order_ > 1.0 ? 1.0 : -1.0);
      return std::max(0.0, factor * (log + up * (1.02 * (off + absolute / integral) +
                                                 4.0 * u * std::abs(log))));
    };
    return {value(coarse, -1.0), value(fine, 1.0)};
  }

  leakage_measure measure_;
  std::span<double const> weights_;
  double order_ = 1.0;
};

/// By how much likelihoods below e^−700, which are left out, may move a sum (31).
inline constexpr double left_out = 1e-60;

/// The stretch between two releases, each of which stands for `mass` of it.
struct laplace_cell {
  double left, right;
  double g_left, g_right;
  double mass;
  double fine, coarse;  // the sums: of the ends, and of the cell as one

  [[nodiscard]] double gap() const { return std::abs(fine - coarse); }
  bool operator<(laplace_cell const& other) const { return gap() < other.gap(); }
};

/// Cells between neighbouring candidates; beyond the outermost ones f keeps its direction.
class laplace_cells {
 public:
  laplace_cells(scalar_candidates const& of, leakage_terms const& g, double scale, bool whole)
      : of_(of), g_(g), scale_(scale), whole_(whole), f_(of.size()), other_(of.size()) {
    double before = at(of.at.front());
    tails_ = 0.5 * before;
    for (std::size_t m = 1; m < of.size(); ++m) {
      double const here = at(of.at[m]);
      cells_.push_back(between(of.at[m - 1], of.at[m], before, here));
      before = here;
    }
    tails_ += 0.5 * before;
    std::make_heap(cells_.begin(), cells_.end());
  }

  [[nodiscard]] std::size_t computed() const noexcept { return computed_; }
  [[nodiscard]] std::size_t size() const noexcept { return cells_.size(); }
  [[nodiscard]] double fine() const {
    return tails_ + sum([](laplace_cell const& c) { return c.fine; });
  }
  [[nodiscard]] double coarse() const {
    return tails_ + sum([](laplace_cell const& c) { return c.coarse; });
  }
  [[nodiscard]] double gap() const {
    return sum([](laplace_cell const& c) { return c.gap(); });
  }

  /// Halves the cell of the largest gap, and subtracts from `gap` what that takes off it. False where none is left to halve.
  bool halve(double& gap) {
    laplace_cell const worst = cells_.front();
    double const middle = middle_of(worst.left, worst.right);
    if (!(worst.gap() > 0.0 && middle > worst.left && middle < worst.right)) return false;
    std::pop_heap(cells_.begin(), cells_.end());
    cells_.pop_back();
    double const here = at(middle);
    gap -= worst.gap();
    for (laplace_cell const& half : {between(worst.left, middle, worst.g_left, here),
                                     between(middle, worst.right, here, worst.g_right)}) {
      gap += half.gap();
      cells_.push_back(half);
      std::push_heap(cells_.begin(), cells_.end());
    }
    return true;
  }

 private:
  void likelihoods(double z, std::vector<double>& into) {
    for (std::size_t m = 0; m < into.size(); ++m) {
      double const x = std::abs(z - of_.at[m]) / scale_;
      into[m] = x > 700.0 ? 0.0 : elementary::exp(-x);
    }
    computed_ += into.size();
  }
  double at(double z) {
    likelihoods(z, f_);
    return g_(f_);
  }
  [[nodiscard]] double middle_of(double left, double right) const {
    double const middle = 0.5 * (right - left) + left;
    return whole_ ? std::floor(middle) : middle;
  }
  laplace_cell between(double left, double right, double g_left, double g_right) {
    double const width = (right - left) / scale_;
    double const mass = -0.5 * elementary::expm1(-width) / (1.0 + elementary::exp(-width));
    laplace_cell out{left, right, g_left, g_right, mass, mass * (g_left + g_right), 0.0};
    double const middle = middle_of(left, right);
    if (!whole_ || (middle > left && middle < right)) {
      likelihoods(left, f_);
      likelihoods(right, other_);
      for (std::size_t m = 0; m < f_.size(); ++m) f_[m] = mass * (f_[m] + other_[m]);
      out.coarse = g_(f_);
    } else {
      out.coarse = out.fine;  // no whole number lies between
    }
    return out;
  }
  template <class Part>
  [[nodiscard]] double sum(Part&& part) const {
    compensated_sum<double> out;
    for (laplace_cell const& one : cells_) out += part(one);
    return out.value();
  }

  scalar_candidates const& of_;
  leakage_terms const& g_;
  double scale_;
  bool whole_;
  std::vector<double> f_;
  std::vector<double> other_;
  std::vector<laplace_cell> cells_;  // a heap
  double tails_ = 0.0;
  std::size_t computed_ = 0;
};

[[nodiscard]] inline bound<double> leakage_of_laplace(scalar_candidates const& of,
                                                      leakage_terms const& g, double scale,
                                                      bool whole, double tolerance,
                                                      std::size_t most) {
  laplace_cells cells(of, g, scale, whole);
  // In rounds of as many as there are, after each of which the sums are taken anew.
  for (bool more = true; more;) {
    double gap = cells.gap();
    double const aim = g.resolution(cells.fine(), tolerance);
    for (std::size_t n = cells.size(); n > 0 && more; --n) {
      more = gap > aim && cells.computed() < most && cells.halve(gap);
    }
  }
  double const far = of.range() / scale;
  double const relative = (2.2 * std::min(far, 700.0) + 24.0) * unit_roundoff;
  return g.of(cells.coarse(), cells.fine(), relative, far > 700.0 ? left_out : 0.0);
}

/// Uniform: which candidates a release leaves possible changes at the ends of their intervals alone.
[[nodiscard]] inline bound<double> leakage_of_uniform(scalar_candidates const& of,
                                                      leakage_terms const& g, double half_width) {
  std::size_t const count = of.size();
  struct end {
    double at;
    std::size_t candidate;
    bool begins;
  };
  std::vector<end> ends;
  for (std::size_t m = 0; m < count; ++m) {
    double const from_first = of.at[m] - of.at.front();
    ends.push_back({from_first - half_width, m, true});
    ends.push_back({from_first + half_width, m, false});
  }
  std::sort(ends.begin(), ends.end(), [](end const& a, end const& b) { return a.at < b.at; });
  std::vector<double> live(count, 0.0);
  compensated_sum<double> sum;
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    live[ends[i].candidate] = ends[i].begins ? 1.0 : 0.0;
    double const width = (ends[i + 1].at - ends[i].at) / half_width;
    if (width > 0.0) sum += 0.5 * width * g(live);
  }
  double const off =
      3.0 * static_cast<double>(count) * unit_roundoff * (of.range() / half_width + 1.0);
  return g.of(sum.value(), sum.value(), 8.0 * unit_roundoff, off);
}

/// Whole numbers, one by one.
/// @throws std::invalid_argument if they are too many
[[nodiscard]] inline bound<double> leakage_of_whole(scalar_candidates const& of,
                                                    leakage_terms const& g,
                                                    whole_noise const& noise, std::size_t most) {
  std::size_t const count = of.size();
  auto const length = static_cast<double>(noise.weights.size());
  require_argument((of.range() + length) * static_cast<double>(count) <= static_cast<double>(most),
                   "leakage", "whole numbers that a release may be, times candidates",
                   (of.range() + length) * static_cast<double>(count),
                   "at most " + std::to_string(most));
  double const top = *std::max_element(noise.weights.begin(), noise.weights.end());
  compensated_sum<double> whole;
  for (double const w : noise.weights) whole += w / top;  // weights may be as large as doubles are
  compensated_sum<double> sum;
  std::vector<double> f(count);
  auto const last = static_cast<std::int64_t>(of.range() + length);
  for (std::int64_t z = 0; z < last; ++z) {  // from the first candidate's first
    for (std::size_t m = 0; m < count; ++m) {
      std::int64_t const k = z - static_cast<std::int64_t>(of.at[m] - of.at.front());
      bool const in = k >= 0 && k < static_cast<std::int64_t>(noise.weights.size());
      f[m] = in ? noise.weights[static_cast<std::size_t>(k)] / top / whole.value() : 0.0;
    }
    sum += g(f);
  }
  return g.of(sum.value(), sum.value(), 300.0 * unit_roundoff, left_out);
}

}  // namespace detail

/// How far a measure is resolved, where that takes work, and how much it may take.
struct leakage_effort {
  double tolerance = 1e-6;                  ///< of the measure, relative
  std::size_t most = std::size_t{1} << 26;  ///< likelihoods that are computed
};

/// What a release of one number by this noise tells of which candidate it is: nats, or a probability for `variation_measure`.
/// Guarantee: bounds on both sides, `tolerance` apart for Laplace noise, and some 1e-12 for the other laws (for Rényi times
/// α/|α−1|, and absolutely). O(M²) for uniform noise, O(M) a number that may be released for whole ones.
/// @param outputs what each candidate's is, finite; whole numbers below 2^52 in size for noise on whole numbers
/// @param probabilities of the candidates, at least 0, that sum to 1 up to rounding
/// @throws std::invalid_argument unless there is one probability a candidate, or where whole numbers are too many;
///         std::domain_error for a probability, an output, a noise or an order out of range
[[nodiscard]] inline bound<double> leakage(std::span<double const> outputs,
                                           std::span<double const> probabilities,
                                           scalar_noise const& noise,
                                           leakage_measure const& measure,
                                           leakage_effort const& effort = {}) {
  constexpr char const* who = "leakage";
  detail::check_size(who, "number of probabilities", probabilities.size(), outputs.size());
  detail::check_law(who, "probabilities", probabilities);
  detail::check_scalar_noise(who, noise);
  detail::check_measure(who, measure);
  detail::require_domain(effort.tolerance > 0.0 && effort.tolerance <= 1.0, who, "tolerance",
                         effort.tolerance, "in (0, 1]");
  bool const whole = std::holds_alternative<discrete_laplace_noise>(noise) ||
                     std::holds_alternative<whole_noise>(noise);
  for (double const y : outputs) {
    if (whole) {
      detail::require_domain(y == std::floor(y) && std::abs(y) < 0x1p52, who, "output", y,
                             "a whole number below 2^52 in size for noise on whole numbers");
    } else {
      detail::require_domain(std::abs(y) <= 1e300, who, "output", y, "in [-1e300, 1e300]");
    }
  }
  detail::scalar_candidates const of(outputs, probabilities);
  if (of.size() == 1) return {0.0, 0.0};
  detail::leakage_terms const g(measure, of.weights);
  if (auto const* laplace = std::get_if<laplace_noise>(&noise)) {
    return detail::leakage_of_laplace(of, g, laplace->scale, false, effort.tolerance, effort.most);
  }
  if (auto const* laplace = std::get_if<discrete_laplace_noise>(&noise)) {
    return detail::leakage_of_laplace(of, g, laplace->scale, true, effort.tolerance, effort.most);
  }
  if (auto const* uniform = std::get_if<uniform_noise>(&noise)) {
    return detail::leakage_of_uniform(of, g, uniform->half_width);
  }
  return detail::leakage_of_whole(of, g, std::get<whole_noise>(noise), effort.most);
}

}  // namespace tacit
