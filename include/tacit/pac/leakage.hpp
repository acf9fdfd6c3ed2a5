// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/pac/leakage_terms.hpp>
#include <tacit/pac/scalar_noise.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
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

/// By how much likelihoods below e^−700, which are left out, and products that are too small for a double may move a sum (31).
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
      : of_(of),
        g_(g),
        scale_(scale),
        whole_(whole),
        f_(of.size()),
        next_(of.size()),
        both_(of.size()) {
    likelihoods(of.at.front(), f_);
    double before = g_(f_);
    tails_ = 0.5 * before;
    for (std::size_t m = 1; m < of.size(); ++m) {
      likelihoods(of.at[m], next_);
      double const here = g_(next_);
      cells_.push_back(between(of.at[m - 1], of.at[m], before, here, f_, next_));
      before = here;
      std::swap(f_, next_);
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
    likelihoods(middle, next_);
    double const here = g_(next_);
    gap -= worst.gap();
    auto const add = [&](laplace_cell const& half) {
      gap += half.gap();
      cells_.push_back(half);
      std::push_heap(cells_.begin(), cells_.end());
    };
    likelihoods(worst.left, f_);
    add(between(worst.left, middle, worst.g_left, here, f_, next_));
    likelihoods(worst.right, f_);
    add(between(middle, worst.right, here, worst.g_right, next_, f_));
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
  [[nodiscard]] double middle_of(double left, double right) const {
    double const middle = 0.5 * (right - left) + left;
    return whole_ ? std::floor(middle) : middle;
  }
  laplace_cell between(double left, double right, double g_left, double g_right,
                       std::vector<double> const& f_left, std::vector<double> const& f_right) {
    double const width = (right - left) / scale_;
    double const mass = -0.5 * elementary::expm1(-width) / (1.0 + elementary::exp(-width));
    laplace_cell out{left, right, g_left, g_right, mass, mass * (g_left + g_right), 0.0};
    double const middle = middle_of(left, right);
    if (!whole_ || (middle > left && middle < right)) {
      for (std::size_t m = 0; m < both_.size(); ++m) both_[m] = f_left[m] + f_right[m];
      out.coarse = mass * g_(both_);
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
  std::vector<double> next_;
  std::vector<double> both_;
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
  double const reach = of.range() / scale;
  double const relative = (2.2 * std::min(reach, 700.0) + 24.0) * unit_roundoff;
  return g.of(cells.coarse(), cells.fine(), relative, left_out);
}

/// Uniform: which candidates a release leaves possible changes at the ends of their intervals alone. Candidates begin in
/// their order, and end in it.
[[nodiscard]] inline bound<double> leakage_of_uniform(scalar_candidates const& of,
                                                      leakage_terms const& g, double half_width) {
  std::size_t const count = of.size();
  auto const apart = [&](std::size_t a, std::size_t b) {
    return (of.at[b] - of.at[a]) / half_width;
  };
  compensated_sum<double> sum;
  std::size_t begun = 1;  // possible are those from `ended` to below `begun`
  std::size_t ended = 0;
  bool last_began = true;
  while (ended < count) {
    bool const begins = begun < count && (begun == ended || apart(ended, begun) < 2.0);
    if (begun > ended) {
      double const width = last_began
                               ? (begins ? apart(begun - 1, begun) : 2.0 - apart(ended, begun - 1))
                               : (begins ? apart(ended - 1, begun) - 2.0 : apart(ended - 1, ended));
      double possible = 0.0;
      for (std::size_t m = ended; m < begun; ++m) possible += of.weights[m];
      sum += 0.5 * width * g.of_possible(possible);
    }
    ++(begins ? begun : ended);
    last_began = begins;
  }
  return g.of(sum.value(), sum.value(), 8.0 * unit_roundoff,
              40.0 * static_cast<double>(count) * unit_roundoff);
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

/// What the outputs themselves tell: no release tells more.
[[nodiscard]] inline double disclosure(scalar_candidates const& of, leakage_terms const& g) {
  compensated_sum<double> sum;
  for (double const p : of.weights) sum += g.of_possible(p);
  return g.of(sum.value(), sum.value(), 0.0, 4.0 * static_cast<double>(of.size()) * unit_roundoff)
      .upper;
}

[[nodiscard]] inline bound<double> leakage_of(scalar_candidates const& of, leakage_terms const& g,
                                              scalar_noise const& noise, double tolerance,
                                              std::size_t most) {
  if (auto const* laplace = std::get_if<laplace_noise>(&noise)) {
    return leakage_of_laplace(of, g, laplace->scale, false, tolerance, most);
  }
  if (auto const* laplace = std::get_if<discrete_laplace_noise>(&noise)) {
    return leakage_of_laplace(of, g, laplace->scale, true, tolerance, most);
  }
  if (auto const* uniform = std::get_if<uniform_noise>(&noise)) {
    return leakage_of_uniform(of, g, uniform->half_width);
  }
  return leakage_of_whole(of, g, std::get<whole_noise>(noise), most);
}

}  // namespace detail

/// How far a measure is resolved, where that takes work, and how much it may take.
struct leakage_effort {
  double tolerance = 1e-6;                  ///< of the measure, relative
  std::size_t most = std::size_t{1} << 25;  ///< likelihoods that are computed
};

/// What a release of one number by this noise tells of which candidate it is: nats, or a probability for `variation_measure`.
/// Guarantee: bounds on both sides, `tolerance` apart for Laplace noise, and some 1e-12 for the other laws (for Rényi times
/// α/|α−1|, and absolutely). O(M²), and for whole
/// numbers O(M) for each that may be released.
/// @param outputs what each candidate's is, finite; whole numbers below 2^52 in size for noise on whole numbers
/// @param probabilities of the candidates, 0 or at least 1e-290, that sum to 1 up to rounding
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
  for (double const p : probabilities) {
    detail::require_domain(p == 0.0 || p >= 1e-290, who, "probability", p, "0 or at least 1e-290");
  }
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
  bound<double> const told = detail::leakage_of(of, g, noise, effort.tolerance, effort.most);
  double const upper = std::min(told.upper, detail::disclosure(of, g));
  return {std::min(told.lower, upper), upper};
}

}  // namespace tacit
