// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gap/axes.hpp>
#include <tacit/pac/gap/certificate.hpp>
#include <tacit/pac/gap/estimate.hpp>
#include <tacit/pac/gap/in_turn.hpp>
#include <tacit/pac/gap/information.hpp>
#include <tacit/pac/gap/product_critic.hpp>
#include <tacit/pac/gap/surrogate.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/mi_bound.hpp>
#include <tacit/pac/moments.hpp>
#include <tacit/pac/public_normal.hpp>
#include <tacit/pac/row_digest.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

/// The whole study of one table of sampled outputs: how far is the information in Z = output + noise below
/// log-det? Every estimate of the gap, and, by rows that fitted nothing, what is certain of it.

namespace tacit {

/// The axes along which outputs are compared with the normal: of independent components, of the normal
/// itself, or random ones.
enum class gap_axes { independent, principal, random };

struct gap_study_options {
  gap_axes axes = gap_axes::independent;
  double confidence = required;  // of all that is certified, together
  /// ‖M(x)‖ ≤ radius for every x, as by clipping: with it the information is certified as well.
  std::optional<double> radius = {};
  std::uint64_t seed = 1;  // public, and named before the outputs are seen
  /// `row_digest` of every output that the noise was chosen by, in ascending order.
  std::span<std::uint64_t const> chose_noise = {};
};

/// What is certified, all of it together with the confidence.
struct gap_study_bounds {
  struct information {
    mi_bound by_normal;
    mi_bound by_mixture;
    [[nodiscard]] mi_bound least() const {
      return by_mixture.value < by_normal.value ? by_mixture : by_normal;
    }
  };
  nats gap;  // of Z from the normal that half of the rows fitted: log-det less this is no bound
  std::optional<information> revealed;  // where a radius is given
};

struct gap_study {
  nats log_det;
  // Estimates of how much too high log-det is; none is a bound.
  gap_estimate sliced_wasserstein;
  gap_estimate wasserstein;
  gap_estimate marginal;
  gap_estimate donsker_varadhan;
  mi_estimate information;                    // log-det less the last
  std::size_t rows_repeated = 0;              // rows that equal one before them
  std::size_t rows_that_chose = 0;            // different rows that chose the noise
  std::optional<gap_study_bounds> certified;  // only if no row chose the noise
};

namespace detail {

// What each part of the seed is for. Parts below 2^16 may have been drawn by to find the noise.
enum study_part : std::uint64_t {
  study_order = 1 << 16,
  study_noise,
  study_axes,
  study_slices,
  study_mixture
};

/// The rows at these places, in an order drawn from the seed.
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> shuffled_rows(matrix_of<T> const& rows, std::vector<Eigen::Index> at,
                                         std::uint64_t seed) {
  for (std::size_t i = at.size() - 1; i > 0; --i) {
    double const u = public_uniform({seed, study_order}, i);
    std::swap(at[i], at[std::min(i, static_cast<std::size_t>(u * static_cast<double>(i + 1)))]);
  }
  matrix_of<T> out(std::ssize(at), rows.cols());
  for (std::size_t i = 0; i < at.size(); ++i)
    out.row(static_cast<Eigen::Index>(i)) = rows.row(at[i]);
  return out;
}

template <dense_scalar T = double>
[[nodiscard]] std::vector<std::uint64_t> digests_of(matrix_of<T> const& rows) {
  std::vector<std::uint64_t> out;
  std::vector<T> row(static_cast<std::size_t>(rows.cols()));
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    for (std::size_t j = 0; j < row.size(); ++j) row[j] = rows(i, static_cast<Eigen::Index>(j));
    out.push_back(row_digest(row));
  }
  return out;
}

/// ½ log det(I + ΣΣ_B⁻¹), Σ being the covariance of the rows.
template <dense_scalar T>
[[nodiscard]] double log_det_of(matrix_of<T> const& rows, basic_gaussian_noise<T> const& noise) {
  vector_of<T> const scale = noise.variances().cwiseSqrt().cwiseInverse();
  basic_moments<matrix_of<T>> moments(noise.dimension());
  if (noise.along_coordinates()) {
    moments.observe_rows(matrix_of<T>(rows * scale.asDiagonal()));
  } else if (noise.rest_dimension() == 0) {
    matrix_of<T> const whitening = noise.axes() * scale.asDiagonal();
    moments.observe_rows(matrix_of<T>(rows * whitening));
  } else {
    T const across = 1.0 / std::sqrt(noise.rest());
    matrix_of<T> const along = rows * noise.axes();
    vector_of<T> const extra = (scale.array() - across).matrix();
    moments.observe_rows(
        matrix_of<T>(across * rows + along * extra.asDiagonal() * noise.axes().transpose()));
  }
  double sum = 0.0;
  for (double const v : eigenvalues_of(moments.covariance())) sum += std::log1p(std::max(v, 0.0));
  return 0.5 * sum;
}

/// What half of the rows fit, and the other half score.
template <dense_scalar T>
struct fitted_half {
  matrix_of<T> before;
  matrix_of<T> held_out;
  matrix_of<T> score;     // held_out with noise
  matrix_of<T> whitened;  // the fitted half with noise
  matrix_of<T> axes;
  basic_normal_surrogate<T> surrogate;
  basic_product_critic<T> critic;
};

template <dense_scalar T>
[[nodiscard]] fitted_half<T> fit_half(matrix_of<T> const& rows,
                                      basic_gaussian_noise<T> const& noise,
                                      gap_study_options const& options) {
  Eigen::Index const half = rows.rows() / 2;
  Eigen::Index const rest = rows.rows() - half;
  matrix_of<T> const z = with_public_noise(rows, noise, {options.seed, study_noise});
  matrix_of<T> const fit = z.topRows(half);
  auto const normal = basic_normal_surrogate<T>::fit(fit);
  matrix_of<T> const whitened = normal.whitened(fit);
  matrix_of<T> axes = matrix_of<T>::Identity(rows.cols(), rows.cols());
  public_stream const start{options.seed, study_axes};
  if (options.axes == gap_axes::random) axes = random_axes<T>(noise.dimension(), start);
  if (options.axes == gap_axes::independent) axes = independent_axes<T>(whitened, start);
  auto surrogate = normal.rotated(axes);
  auto critic = basic_product_critic<T>::fit(surrogate.whitened(fit));
  return {rows.topRows(half), rows.bottomRows(rest), z.bottomRows(rest), whitened,
          std::move(axes),    std::move(surrogate),  std::move(critic)};
}

/// The failures add up to 1 − confidence.
template <dense_scalar T>
[[nodiscard]] gap_study_bounds certify_study(fitted_half<T> const& halves,
                                             basic_gaussian_noise<T> const& noise,
                                             gap_study_options const& options) {
  double const share = (1.0 - options.confidence) * (1.0 - 1e-15) / (options.radius ? 3.0 : 1.0);
  auto const certificate = certified_gap(halves.surrogate, halves.critic, halves.score, share);
  gap_study_bounds out{certificate.value(), {}};
  if (!options.radius) return out;
  held_out_options const held{.radius = *options.radius, .failure = share};
  matrix_of<T> rows(halves.before.rows() + halves.held_out.rows(), halves.before.cols());
  rows << halves.before, halves.held_out;
  out.revealed = gap_study_bounds::information{
      {certified_information(certificate, noise, halves.held_out, held).value, options.confidence},
      {certified_information(noise, rows, held, {options.seed, study_mixture}).value,
       options.confidence}};
  return out;
}

/// What holds if the one does or the other: the worse of each.
[[nodiscard]] inline gap_study_bounds worse_of(gap_study_bounds one,
                                               gap_study_bounds const& other) {
  one.gap = std::min(one.gap, other.gap);
  if (one.revealed) {
    one.revealed->by_normal.value =
        std::max(one.revealed->by_normal.value, other.revealed->by_normal.value);
    one.revealed->by_mixture.value =
        std::max(one.revealed->by_mixture.value, other.revealed->by_mixture.value);
  }
  return one;
}

template <dense_scalar T>
void check_study(matrix_of<T> const& outputs, basic_gaussian_noise<T> const& noise,
                 gap_study_options const& options) {
  constexpr char const* who = "study_gap";
  check_rows(who, outputs, noise.dimension());
  require_domain(noise.least_variance() > 0.0, who, "least variance of the noise",
                 noise.least_variance(), "positive in every direction");
  if (!options.radius) return;
  check_positive(who, "radius", *options.radius);
  for (Eigen::Index i = 0; i < outputs.rows(); ++i) {
    double const length = outputs.row(i).stableNorm();
    require_domain(length <= *options.radius, who, "length of row " + to_text(i) + " of outputs",
                   length, "at most the radius, " + to_text(*options.radius));
  }
}

}  // namespace detail

/// A noise with at most the variance of a covariance C in every direction, so that it reveals at least as
/// much as N(0, C) does, and its log-det and information are from above for C too. With the axes V and
/// variances v of C, C − V(v − t)Vᵀ = (C − VvVᵀ) + tVVᵀ is positive where t exceeds the norm of what is
/// left over, computed, plus its rounding, a few d·u·Σv.
/// @throws std::invalid_argument unless C is square, symmetric and positive semidefinite; std::domain_error
///         where a variance is not above rounding
template <dense_scalar T = double>
[[nodiscard]] basic_gaussian_noise<T> noise_below(matrix_of<T> const& covariance) {
  auto const solved = basic_gaussian_noise<T>::with_covariance(covariance);
  matrix_of<T> const& axes = solved.axes();
  auto const d = static_cast<double>(covariance.rows());
  matrix_of<T> const scaled = axes * solved.variances().asDiagonal();
  matrix_of<T> const left = covariance - scaled * axes.transpose();
  double const skew = (covariance - covariance.transpose()).norm();
  double const less =
      1.01 * (left.norm() + skew +
              (d + 8.0) * std::numeric_limits<double>::epsilon() * solved.variances().sum());
  vector_of<T> const variances = solved.variances().array() - less;
  detail::require_domain(variances.minCoeff() > 0.0, "noise_below",
                         "least variance of any direction", solved.least_variance(),
                         "above rounding, " + detail::to_text(less));
  return basic_gaussian_noise<T>::along(axes, variances);
}

/// Half of the rows, chosen by the seed, fit a normal, axes and a critic; the other half certify that Z is so far
/// from that normal and, with a radius, what is revealed, which all rows certify in turn by mixtures as well: all
/// together with the confidence.
/// This needs independent rows, and a noise that was chosen without them: where any row chose the noise
/// nothing is certified. Equal rows count once. Where there are any, all rows are scored as well, and the
/// worse figure is given: it holds for copies of independent outputs that are never equal by chance, and
/// for independent outputs that may be.
/// @param outputs n×d, noiseless outputs M(x) of independently sampled x, in their own units
/// @throws std::invalid_argument for fewer than 48 different rows, half of which fit a critic; for noise of
///         another dimension, and for a radius where rows chose the noise; std::domain_error unless
///         all is finite, the noise positive in every direction, the confidence in (0, 1), the radius
///         positive and no output longer
template <dense_scalar T = double>
[[nodiscard]] gap_study study_gap(matrix_of<T> const& outputs, basic_gaussian_noise<T> const& noise,
                                  gap_study_options const& options) {
  constexpr char const* who = "study_gap";
  detail::check_study(outputs, noise, options);
  std::vector<Eigen::Index> everywhere(static_cast<std::size_t>(outputs.rows()));
  std::iota(everywhere.begin(), everywhere.end(), Eigen::Index{0});
  std::vector<Eigen::Index> different;
  gap_study out;
  {
    std::set<std::uint64_t> known;
    std::vector<std::uint64_t> const digests = detail::digests_of(outputs);
    for (Eigen::Index const i : everywhere) {
      std::uint64_t const digest = digests[static_cast<std::size_t>(i)];
      if (!known.insert(digest).second) continue;
      different.push_back(i);
      out.rows_that_chose +=
          std::binary_search(options.chose_noise.begin(), options.chose_noise.end(), digest);
    }
  }
  if (different.size() < 48) {
    throw std::invalid_argument("study_gap: outputs has " + detail::to_text(different.size()) +
                                " different rows, but must have at least 48");
  }
  bool const certify = out.rows_that_chose == 0;
  if (certify) {
    detail::require_domain(options.confidence > 0.0 && options.confidence < 1.0, who, "confidence",
                           options.confidence, "in (0, 1)");
  } else {
    detail::require_argument(!options.radius, who, "radius", options.radius.value_or(0.0),
                             "left out where some of these rows chose the noise");
  }
  out.rows_repeated = everywhere.size() - different.size();

  matrix_of<T> const rows = detail::shuffled_rows(outputs, std::move(different), options.seed);
  auto const halves = detail::fit_half(rows, noise, options);
  double const log_det = detail::log_det_of(rows, noise);
  out.log_det = nats(log_det);
  out.sliced_wasserstein = sliced_wasserstein_gap<T>(halves.whitened, 2 * noise.dimension(),
                                                     {options.seed, detail::study_slices});
  out.wasserstein = wasserstein_gap<T>(halves.whitened, halves.axes);
  out.marginal = marginal_gap<T>(halves.whitened, halves.axes);
  out.donsker_varadhan = donsker_varadhan_gap(halves.surrogate, halves.critic, halves.score);
  double const shown = std::max(0.0, out.donsker_varadhan.value.value);
  out.information = {nats(std::max(0.0, log_det - shown))};
  if (!certify) return out;

  out.certified = detail::certify_study(halves, noise, options);
  if (out.rows_repeated > 0) {
    matrix_of<T> const all = detail::shuffled_rows(outputs, std::move(everywhere), options.seed);
    out.certified = detail::worse_of(
        *out.certified,
        detail::certify_study(detail::fit_half(all, noise, options), noise, options));
  }
  return out;
}

#if defined(TACIT_COMPILED_DENSE)
extern template gaussian_noise noise_below(Eigen::MatrixXd const&);
extern template gap_study study_gap(Eigen::MatrixXd const&, gaussian_noise const&,
                                    gap_study_options const&);
#endif

}  // namespace tacit
