// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/betting.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gap/information.hpp>
#include <tacit/pac/gap/mixture.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/mi_bound.hpp>
#include <tacit/pac/public_normal.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

/// I(X; Z) from above, from sampled outputs alone: what to take unless there is a surrogate already.
///
/// Each output is scored by a guarded mixture that was fitted on outputs before it, and then helps to fit
/// the next one. For a law Q_t that depends on the outputs before the t-th, and g_t(y) ≥ KL(N(y, Σ_B)‖Q_t),
///   E[g_t(M(X_t)) | past] ≥ I(X; Z).
/// So a gambler who bets, under the hypothesis that the information is m or more, on small scores has a
/// supermartingale, and whoever becomes 1/failure times as rich has refuted it (core/betting.hpp). Nearly
/// all rows score, where halves would let half of them, and no failure is split.

namespace tacit {
namespace detail {

/// The score of one output, and the largest that any within the radius could have had.
struct bounded_score {
  double value;
  double most;
};

/// The share of the odds that is staked at most: a score that could not be worse leaves a fifth of the
/// capital, and where no score is large the bound is 1/0.8 times the least that any bet gives.
inline constexpr double largest_stake = 0.8;

/// Whether betting refutes that every score has, given those before it, a mean of m or more. m < `most` of
/// each. The capital rises with m: each factor does.
[[nodiscard]] inline bool refutes_mean(std::span<bounded_score const> scores,
                                       std::span<double const> stake, double m, double failure) {
  // A factor is at least a fifth, and at least a quarter of the size of its product, whose three roundings,
  // the addition and the multiplication are 14u of it.
  double const unit =
      16.0 * static_cast<double>(scores.size()) * std::numeric_limits<double>::epsilon();
  double const rich = (1.0 + 2.0 * unit) / failure;
  double capital = 1.0;
  for (std::size_t t = 0; t < scores.size(); ++t) {
    double const mean = 1.0 - m / scores[t].most;  // of 1 − score/most, at most
    double const bet = std::min(stake[t], largest_stake / mean);
    capital *= 1.0 + bet * ((m - scores[t].value) / scores[t].most);
    if (capital >= rich) return true;
    if (capital < 1e-100) return false;
  }
  return false;
}

/// The least m that is refuted, nearly, and what no mean can exceed where none is.
[[nodiscard]] inline double refuted_mean(std::span<bounded_score const> scores, double failure) {
  std::vector<double> smallness;
  double most = std::numeric_limits<double>::infinity();
  for (bounded_score const& score : scores) {
    smallness.push_back(1.0 - score.value / score.most);
    most = std::min(most, score.most);
  }
  std::vector<double> const stake = stakes(smallness, -std::log(failure));
  auto const wide = [](double low, double high) { return high - low > 1e-4 * high; };
  auto const stands = [&](double m) { return !refutes_mean(scores, stake, m, failure); };
  return bisect<double>({0.0, most}, wide, stands).high;
}

/// The mixture for later rows, from these alone: of as many components as charge each half of them least, fitted
/// on the other. `weight` is the guard's.
template <dense_scalar T>
[[nodiscard]] basic_mixture_surrogate<T> chosen_mixture(matrix_of<T> const& rows,
                                                        basic_gaussian_noise<T> const& noise,
                                                        double radius, double weight,
                                                        public_stream stream) {
  auto const fitted = [&](matrix_of<T> const& on, std::size_t components) {
    return basic_mixture_surrogate<T>::fit(on, noise, components, stream)
        .guarded(noise, radius, weight);
  };
  Eigen::Index const half = rows.rows() / 2;
  matrix_of<T> const one = rows.topRows(half);
  matrix_of<T> const other = rows.bottomRows(rows.rows() - half);
  std::size_t best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t components = 1; components <= 32; components *= 2) {
    if (static_cast<Eigen::Index>(8 * components) > half) break;
    auto const charged = [&](matrix_of<T> const& on, matrix_of<T> const& to) {
      return soft_least(charges_of(fitted(on, components), noise, to, "chosen_mixture").charge)
          .sum();
    };
    double const both = charged(one, other) + charged(other, one);
    if (both < least) {
      least = both;
      best = components;
    } else if (components > 4 * best) {
      break;
    }
  }
  return fitted(rows, best);
}

}  // namespace detail

/// I(X; Z) from above, by independent outputs of which none chose the noise. The radius and the order of the
/// rows are fixed without looking at them.
///
/// With no large output among n rows the bound is about −log(1 − w) + log(1/failure)/(0.8·n)·(½d(log(1 +
/// radius²/(dσ²)) + 1) − log w), w = log(1/failure)/n. No certificate can do much better: an output of
/// probability 1 − failure^{1/n} may have been missed, and would reveal its entropy.
/// Guarantee: upper bound with confidence 1 − failure over the rows. docs/certificates/pac.md, lemma 26.
/// @param outputs noiseless, one M(x) a row
/// @param stream of public draws, where fits begin
/// @throws std::invalid_argument for fewer than 8 rows, or noise of another dimension; std::domain_error for
///         an output beyond the radius, and noise that is 0 in some direction, or too small to certify its
///         determinant
template <dense_scalar T = double>
[[nodiscard]] mi_bound certified_information(basic_gaussian_noise<T> const& noise,
                                             matrix_of<T> const& outputs, held_out_options options,
                                             public_stream stream) {
  constexpr char const* who = "certified_information";
  detail::check_failure(who, options.failure);
  detail::check_rows(who, outputs, noise.dimension());
  detail::check_radius(who, outputs, options.radius);
  detail::require_argument(outputs.rows() >= 8, who, "number of rows", outputs.rows(),
                           "at least 8");
  double const weight =
      std::min(0.5, -elementary::log(options.failure) / static_cast<double>(outputs.rows()));
  std::vector<detail::bounded_score> scores;
  Eigen::Index next = 0;
  for (Eigen::Index seen = std::max<Eigen::Index>(outputs.rows() / 16, 4); seen < outputs.rows();
       seen = next) {
    next = std::min(2 * seen, outputs.rows());
    auto const mixture = detail::chosen_mixture(matrix_of<T>(outputs.topRows(seen)), noise,
                                                options.radius, weight, stream);
    auto const scored = detail::scores_of(
        mixture, noise, matrix_of<T>(outputs.middleRows(seen, next - seen)), options.radius, who);
    for (double const value : scored.values) {
      scores.push_back(
          {std::min(value + scored.rounding, scored.largest), scored.largest + scored.rounding});
    }
  }
  double const bound = detail::refuted_mean(scores, options.failure);
  detail::check_finite(who, "the bound", bound);
  return {nats(bound), detail::confidence_of(options.failure)};
}

#if defined(TACIT_COMPILED_DENSE)
extern template mi_bound certified_information(gaussian_noise const&, Eigen::MatrixXd const&,
                                               held_out_options, public_stream);
#endif

}  // namespace tacit
