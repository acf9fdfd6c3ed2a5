// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/answer_belief.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// How one of M candidates' answers is noised, on a grid.
///
/// A query has d cells, and candidate m answers y_m. Along an axis v the answers are rounded to whole multiples
/// Y_m = round(v·y_m/g) of a step g, and what is said is Y_j + n, n a discrete Gaussian of whole scale s: P(n) ∝
/// e^(−n²/2s²). It is a whole number, drawn exactly, and what it tells about j is
///   I(j; Y_j + n) ≤ ½ log(1 + V/s²),   V = Σ p_m(Y_m − c)²,   for any c
/// and for several axes with noise of their own, the sum (docs/certificates/pac.md, 27). Where the belief is not known, V is the
/// variance of the worst one, (max Y − min Y)²/4. Axes, steps and scales depend on
/// all candidates and on what was said before, and so not on j. Noise that leads further from the centre than `reach`, over 12s, is drawn
/// anew, so that no answer at all moves the logarithm of a candidate's probability by more than `swing` (30). What is shown in the cells is computed from the whole numbers said.

namespace tacit {

enum class answer_axes {
  principal,    ///< of the candidates' covariance: the least noise, at O(Md² + d³) a query
  coordinates,  ///< a noise for each cell
};

struct answer_options {
  answer_axes axes = answer_axes::principal;
  /// The scale s of the noise is about 2^resolution steps of the grid: 2 to 40.
  unsigned resolution = 30;
};

/// What is said along one axis.
struct answer_axis {
  double step = 0.0;  ///< g, a power of two
  std::uint64_t scale =
      0;  ///< s of the noise, in steps; 0: all candidates agree, and there is none
  std::int64_t centre = 0;     ///< in steps: `places` are relative to it
  std::int64_t reach = 0;      ///< what is said is at most this far from the centre
  std::vector<double> places;  ///< Y_m − centre, whole
};

template <dense_scalar T = double>
struct basic_answer_plan {
  std::vector<answer_axis> along;
  matrix_of<T>
      directions;  ///< d×d: what a unit along each axis is in the cells; empty where there is one cell
  nats charge{0.0};    ///< an upper bound of what the answer tells about j
  double swing = 0.0;  ///< and of how far it may move the logarithm of a candidate's probability

  /// The cells, from whole numbers said relative to the centres. Public: any function of what was said is.
  [[nodiscard]] vector_of<T> shown(std::span<std::int64_t const> said) const {
    vector_of<T> out(static_cast<Eigen::Index>(along.size()));
    for (std::size_t i = 0; i < along.size(); ++i) {
      out(static_cast<Eigen::Index>(i)) =
          static_cast<double>(along[i].centre + said[i]) * along[i].step + 0.0;
    }
    return directions.size() == 0 ? out : vector_of<T>((directions * out).array() + 0.0);
  }
};

using answer_plan = basic_answer_plan<>;

namespace detail {

/// Σ p_m·(x_m − c)² for c = Σ p_m·x_m, as it rounds: positive terms, right to (M + 6)u for some c.
[[nodiscard]] inline double spread_of(std::span<double const> p, std::span<double const> x) {
  double centre = 0.0;
  for (std::size_t m = 0; m < p.size(); ++m) centre += p[m] * x[m];
  double sum = 0.0;
  for (std::size_t m = 0; m < p.size(); ++m) {
    double const away = x[m] - centre;
    sum += p[m] * (away * away);
  }
  return sum;
}

/// At what is believed; where that is not known, at the worst: half of the weight on the least, and half on the largest.
[[nodiscard]] inline double spread_of(answer_belief const& belief, std::span<double const> x) {
  if (belief.known()) return spread_of(belief.probabilities(), x);
  auto const [least, largest] = std::minmax_element(x.begin(), x.end());
  double const half = *largest / 2.0 - *least / 2.0;
  return half * half;
}

/// The power of two that is at least x > 0, a normal number.
[[nodiscard]] inline double power_of_two_above(double x) {
  int exponent = 0;
  double const part = std::frexp(x, &exponent);
  return std::ldexp(1.0, part == 0.5 ? exponent - 1 : exponent);
}

/// Answers along an axis on a grid that suits noise of deviation `deviation`, relative to one candidate's.
/// @throws std::domain_error if no grid of doubles does
inline answer_axis gridded_axis(std::span<double const> answers, std::size_t centre_of,
                                double deviation, unsigned resolution) {
  double largest = 0.0;
  bool agreed = true;
  for (double const y : answers) {
    largest = std::max(largest, std::abs(y));
    agreed &= y == answers.front();
  }
  // Whole numbers below 2⁵¹, and no subnormal step. What all agree on is said to its last digit.
  double const finest = agreed ? std::max(std::ldexp(largest, -53), 0x1p-1074)
                               : std::max(std::ldexp(largest, -50), 0x1p-1000);
  double const coarse = std::ldexp(deviation, -static_cast<int>(resolution));
  double const step = power_of_two_above(agreed ? finest : std::max(coarse, finest));
  require_domain(step <= 0x1p1000, "answer", "deviation of the noise", deviation,
                 "at most 2^1000: answers are too large, or the budget is too small");
  answer_axis out{.step = step, .places = {}};
  out.places.resize(answers.size());
  for (std::size_t m = 0; m < answers.size(); ++m)
    out.places[m] = std::nearbyint(answers[m] / step);
  double const centre = out.places[centre_of];
  for (double& place : out.places) place -= centre;
  out.centre = static_cast<std::int64_t>(centre);
  return out;
}

/// Says how far from the centre an answer may be, and adds to `swing` what it then does at most: of two candidates,
/// (Y_m − Y_k)(2z − Y_m − Y_k)/(2s²).
inline void limit(answer_axis& axis, double& swing) {
  if (axis.scale == 0) return;
  auto const [least, largest] = std::minmax_element(axis.places.begin(), axis.places.end());
  double const farthest = std::max(std::abs(*least), std::abs(*largest));
  auto const scale = static_cast<double>(axis.scale);
  axis.reach = static_cast<std::int64_t>(12.0 * scale + farthest);
  double const most = (*largest - *least) / scale * ((12.0 * scale + 2.0 * farthest) / scale);
  swing += most * (1.0 + 16.0 * unit_roundoff) + 0x1p-99;
}

/// Sets scales in the proportions of `deviations`, the least that keep the charge within the budget.
/// @throws std::domain_error if a scale would exceed 2⁴⁶
template <dense_scalar T>
void scale_within(basic_answer_plan<T>& plan, std::span<double const> deviations,
                  answer_belief const& belief, nats budget) {
  constexpr double u = unit_roundoff;
  auto const n = static_cast<double>(belief.candidates());
  auto const axes = static_cast<double>(plan.along.size());
  double const raised = belief.excess() * (1.0 + (n + 2.0 * axes + 40.0) * u);
  std::vector<double> spread(plan.along.size());
  double ratio = 0.0;  // Σ V/deviation², in steps
  for (std::size_t i = 0; i < spread.size(); ++i) {
    answer_axis const& axis = plan.along[i];
    bool const agreed = std::all_of(axis.places.begin(), axis.places.end(),
                                    [](double place) { return place == 0.0; });  // as the centre
    spread[i] = agreed ? 0.0 : spread_of(belief, axis.places);
    if (agreed) continue;
    double const deviation = deviations[i] / axis.step;
    ratio += spread[i] / (deviation * deviation);
  }
  double factor = std::sqrt(ratio / (2.0 * budget.value / raised));
  if (ratio > 0.0 && plan.along.size() == 1) {  // log(1 + V/s²) = 2·budget
    factor = std::sqrt(ratio / elementary::expm1(2.0 * budget.value / raised));
  }
  for (double growth = 0x1p-44;; growth *= 2.0, factor *= 1.0 + growth) {
    double charge = 0.0;
    for (std::size_t i = 0; i < spread.size(); ++i) {
      answer_axis& axis = plan.along[i];
      if (spread[i] == 0.0) continue;
      double const scale = std::max(4.0, std::ceil(factor * (deviations[i] / axis.step)));
      require_domain(scale <= 0x1p46, "answer", "scale of the noise, in steps of its grid", scale,
                     "at most 2^46: the budget is too small for answers of this size");
      axis.scale = static_cast<std::uint64_t>(scale);
      charge += 0.5 * elementary::log1p(spread[i] / (scale * scale));
    }
    // No answer tells more than all.
    charge = std::min(charge * raised, elementary::log(n) * (1.0 + 4.0 * u));
    plan.charge = nats(charge);
    if (plan.charge.value <= budget.value) break;
  }
  for (answer_axis& axis : plan.along) limit(axis, plan.swing);
}

}  // namespace detail

/// One cell: answers of all candidates, in. O(M).
/// @throws std::invalid_argument unless there is one answer a candidate; std::domain_error for an answer that is not
///         finite, a budget that is not in [1e-100, 1e3], a resolution that is not in [2, 40], or where no grid of doubles does
template <dense_scalar T = double>
[[nodiscard]] basic_answer_plan<T> plan_answer(std::span<double const> answers,
                                               answer_belief const& belief, nats budget,
                                               answer_options const& options = {});

/// d cells: a row a candidate.
/// @throws as above
template <dense_scalar T = double>
[[nodiscard]] basic_answer_plan<T> plan_answer(matrix_of<T> const& answers,
                                               answer_belief const& belief, nats budget,
                                               answer_options const& options = {});

namespace detail {

/// An axis a column: along the covariance of the cells that vary, and along each of those on which all agree.
template <dense_scalar T>
[[nodiscard]] matrix_of<T> directions_of(matrix_of<T> const& centred, vector_of<T> const& p,
                                         vector_of<T> const& variances, answer_axes axes) {
  Eigen::Index const cells = centred.cols();
  matrix_of<T> out = matrix_of<T>::Identity(cells, cells);
  std::vector<Eigen::Index> varying;
  for (Eigen::Index i = 0; i < cells; ++i) {
    if (variances(i) > 0.0) varying.push_back(i);
  }
  if (axes == answer_axes::coordinates || varying.size() < 2) return out;
  matrix_of<T> const weighted = p.cwiseSqrt().asDiagonal() * centred(Eigen::all, varying);
  out(varying, varying) = eigen_of<T>(matrix_of<T>(weighted.transpose() * weighted)).eigenvectors();
  return out;
}

inline void check_answers(std::size_t candidates, answer_belief const& belief, nats budget,
                          answer_options const& options) {
  check_size("answer", "number of answers", candidates, belief.candidates());
  check_finite("answer", "uncertainty of what is believed", belief.excess());
  require_domain(budget.value >= 1e-100 && budget.value <= 1e3, "answer", "budget", budget.value,
                 "in [1e-100, 1000]");
  require_domain(options.resolution >= 2 && options.resolution <= 40, "answer", "resolution",
                 options.resolution, "in [2, 40]");
}

}  // namespace detail

template <dense_scalar T>
basic_answer_plan<T> plan_answer(std::span<double const> answers, answer_belief const& belief,
                                 nats budget, answer_options const& options) {
  detail::check_answers(answers.size(), belief, budget, options);
  for (double const y : answers) detail::check_finite("answer", "answer", y);
  double const spread = detail::spread_of(belief, answers);
  detail::check_finite("answer", "variance of the answers", spread);
  double const deviation = std::sqrt(spread / elementary::expm1(2.0 * budget.value));
  basic_answer_plan<T> plan;
  plan.along.push_back(
      detail::gridded_axis(answers, belief.most_probable(), deviation, options.resolution));
  // What is finer than the grid is said without noise, as is what all candidates agree on.
  double const wide[] = {std::max(deviation, plan.along.front().step)};
  detail::scale_within(plan, wide, belief, budget);
  return plan;
}

template <dense_scalar T>
basic_answer_plan<T> plan_answer(matrix_of<T> const& answers, answer_belief const& belief,
                                 nats budget, answer_options const& options) {
  auto const count = static_cast<std::size_t>(answers.rows());
  Eigen::Index const cells = answers.cols();
  detail::check_answers(count, belief, budget, options);
  detail::require_argument(cells >= 1, "answer", "number of cells", cells, "positive");
  for (double const y : answers.reshaped()) detail::check_finite("answer", "answer", y);
  if (cells == 1) {
    return plan_answer<T>(std::span<double const>(answers.data(), count), belief, budget, options);
  }
  vector_of<T> const p =
      Eigen::Map<vector_of<T> const>(belief.probabilities().data(), answers.rows());
  matrix_of<T> centred = answers.rowwise() - answers.row(0);
  centred.rowwise() -= (p.transpose() * centred).eval();
  vector_of<T> const variances = centred.cwiseAbs2().transpose() * p;
  detail::check_finite("answer", "variance of the answers", variances.sum());
  // Each cell in units of its own: noise is as large beside what a cell varies, whatever it counts.
  vector_of<T> const unit = variances.unaryExpr([](double v) {
    return v > 0.0 ? detail::power_of_two_above(std::max(std::sqrt(v), 0x1p-500)) : 1.0;
  });
  basic_answer_plan<T> plan;
  plan.directions = detail::directions_of<T>(centred * unit.cwiseInverse().asDiagonal(), p,
                                             variances, options.axes);
  matrix_of<T> const placed = answers * unit.cwiseInverse().asDiagonal() * plan.directions;
  // What rounds in an axis counts as if it varied.
  std::vector<double> roots(static_cast<std::size_t>(cells));
  double sum = 0.0;
  for (Eigen::Index i = 0; i < cells; ++i) {
    auto const column = placed.col(i);
    double const mean = p.dot(column);
    double const root = std::sqrt(p.dot((column.array() - mean).square().matrix()));
    double const rounding = std::ldexp(column.cwiseAbs().maxCoeff(), -48);
    bool const agreed = (column.array() == column(0)).all();
    roots[static_cast<std::size_t>(i)] = agreed ? 0.0 : std::max(root, rounding);
    sum += roots[static_cast<std::size_t>(i)];
  }
  std::vector<double> deviations(roots.size());
  for (std::size_t i = 0; i < roots.size(); ++i) {
    double const deviation = std::sqrt(roots[i] * sum / (2.0 * budget.value));
    auto const column = placed.col(static_cast<Eigen::Index>(i));
    plan.along.push_back(detail::gridded_axis({column.data(), count}, belief.most_probable(),
                                              deviation, options.resolution));
    deviations[i] = std::max(deviation, plan.along.back().step);
  }
  plan.directions = (unit.asDiagonal() * plan.directions).eval();
  detail::scale_within(plan, deviations, belief, budget);
  return plan;
}

}  // namespace tacit
