// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/betting.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/candidate_bounds.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/congruence.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/public_normal.hpp>
#include <tacit/pac/whitened_candidates.hpp>
#include <tacit/random/philox.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace tacit {

/// The seed of draws that certify. It has no default, so that one is named wherever a certificate is drawn: a
/// second certificate on the same draws is worth nothing where its subject, or the decision to ask for it,
/// depended on the first.
struct draw_seed {
  std::uint64_t value;

  constexpr draw_seed(std::uint64_t seed) noexcept : value(seed) {}  // NOLINT: a number is a seed
};

/// How to draw.
struct monte_carlo {
  std::size_t samples = 100'000;
  double confidence = required;  // that the certificate holds, in (0, 1)
  draw_seed
      seed;  // public, named before the outputs are seen, and another one for each certificate
};

/// I(X; Z) as found by drawing.
struct sampled_information {
  bound<nats> interval;  // holds with the confidence asked for
  double confidence = required;
  estimate<nats> middle;
};

namespace detail {

/// Candidates in at most M dimensions, at nearly the same distances: by how much they may be off is measured
/// (Lemma 17 of docs/certificates/pac.md).
template <dense_scalar T>
struct compact_candidates {
  matrix_of<T> columns;  // r×M
  array_of<T> moved;     // by how much they may be off, in any isometry
  double trace = 0.0;    // of their covariance, at most

  explicit compact_candidates(whitened_candidates<T> const& w) {
    array_of<T> const length = w.columns.colwise().norm().transpose().array();
    moved = w.error.array() + w.stretch * length;
    if (w.columns.rows() <= w.size()) {
      columns = w.columns;
    } else {
      matrix_of<T> const axes =
          qr_of(w.columns).householderQ() * matrix_of<T>::Identity(w.columns.rows(), w.size());
      columns = axes.transpose() * w.columns;
      matrix_of<T> left = w.columns;
      left.noalias() -= axes * columns;
      auto const k = static_cast<double>(w.size());
      double const products_lost = 1.03 * (k + 2.0) * (1.0 + std::sqrt(k)) * unit_roundoff;
      array_of<T> const largest = length.cwiseMax(columns.colwise().norm().transpose().array());
      moved += 1.01 * left.colwise().norm().transpose().array() +
               (1.01 * distance_from_orthonormal(axes) + products_lost) * largest;
    }
    trace = 1.01 * (w.weights.array() * length.square()).sum();
  }
};

/// Releases to come: candidate m ~ p, and r standard normals for each, by (seed, run, index).
template <dense_scalar T>
struct release_draws {
  std::vector<Eigen::Index> candidate;
  matrix_of<T> normals;  // r×N

  release_draws(vector_of<T> const& weights, Eigen::Index r, std::uint64_t seed, std::uint64_t run,
                std::size_t first, std::size_t count)
      : candidate(count), normals(r, static_cast<Eigen::Index>(count)) {
    public_stream const which{seed, 2 * run};
    stream_id const what = stream_of({seed, 2 * run + 1});
    std::vector<double> cumulative(static_cast<std::size_t>(weights.size()));
    std::partial_sum(weights.begin(), weights.end(), cumulative.begin());
    auto const pairs = static_cast<std::uint64_t>((r + 1) / 2);
    for (std::size_t i = 0; i < count; ++i) {
      double const u = public_uniform(which, first + i) * cumulative.back();
      candidate[i] =
          std::upper_bound(cumulative.begin(), cumulative.end() - 1, u) - cumulative.begin();
      auto const column = static_cast<Eigen::Index>(i);
      for (Eigen::Index j = 0; j < r; j += 2) {
        two_normals const g =
            two_normals_at(what, (first + i) * pairs + static_cast<std::uint64_t>(j / 2));
        normals(j, column) = g.first;
        if (j + 1 < r) normals(j + 1, column) = g.second;
      }
    }
  }
};

/// The information of one release, KL(posterior‖p), from log-likelihoods up to a constant; those become the
/// posterior. A candidate that is out of the question has −∞.
template <class Column, dense_scalar T = double>
[[nodiscard]] double read_release(Column&& logs, vector_of<T> const& weights) {
  double const top = logs.maxCoeff();
  double const least = logs.minCoeff() - top;
  double kl = 0.0;
  double total = 0.0;
  if (least > -0.5) {
    // Σ p ψ(r − 1), r = π/p: KL may be as little as 1e-12.
    for (double& x : logs) x = elementary::expm1(x - top);
    double const mean = weights.dot(logs);
    total = 1.0 + mean;
    for (double& x : logs) x = (x - mean) / total;  // r − 1
    for (Eigen::Index k = 0; k < weights.size(); ++k) {
      kl += weights(k) * entropy_residual(logs(k));
      logs(k) = weights(k) * (1.0 + logs(k));
    }
    return kl;
  }
  for (Eigen::Index k = 0; k < weights.size(); ++k) {
    double const x = logs(k) - top;
    logs(k) = x > -700.0 ? weights(k) * elementary::exp(x) : 0.0;
    if (logs(k) > 0.0) kl += logs(k) * x;
    total += logs(k);
  }
  logs /= total;
  return kl / total - elementary::log(total);
}

/// One run of draws and its certificate, one-sided failures each.
template <dense_scalar T = double>
[[nodiscard]] sampled_information sample_information(candidate_bounds<T> const& bounds,
                                                     std::size_t samples, double above,
                                                     double below, draw_seed seed,
                                                     std::uint64_t run) {
  whitened_candidates<T> const& w = bounds.white();
  bound<nats> const certain = bounds.certain(1.0);
  double const confidence = 1.0 - above - below;
  if (bounds.one_output() || !w.certain) {
    return {certain,
            confidence,
            {nats(0.5 * (certain.lower.value + certain.upper.value)),
             nats(0.5 * (certain.upper.value - certain.lower.value))}};
  }
  compact_candidates<T> const compact(w);
  double const range = -elementary::log(w.weights.minCoeff()) * (1.0 + 1e-12) + 1e-12;
  std::vector<double> kl(samples);
  vector_of<T> const half_square = 0.5 * compact.columns.colwise().squaredNorm();
  matrix_of<T> logs;
  double farthest = 0.0;  // the longest release
  for (std::size_t start = 0; start < samples; start += 256) {
    release_draws<T> draws(w.weights, compact.columns.rows(), seed.value, run, start,
                           std::min<std::size_t>(256, samples - start));
    for (std::size_t i = 0; i < draws.candidate.size(); ++i) {
      draws.normals.col(static_cast<Eigen::Index>(i)) += compact.columns.col(draws.candidate[i]);
    }
    farthest = std::max<double>(farthest, draws.normals.colwise().norm().maxCoeff());
    logs.noalias() = compact.columns.transpose() * draws.normals;
    for (std::size_t i = 0; i < draws.candidate.size(); ++i) {
      auto column = logs.col(static_cast<Eigen::Index>(i));
      column -= half_square;
      for (Eigen::Index k = 0; w.groups > 1 && k < w.size(); ++k) {
        if (!w.together(draws.candidate[i], k)) {
          column(k) = -std::numeric_limits<double>::infinity();
        }
      }
      kl[start + i] = std::clamp(read_release(column, w.weights), 0.0, range);
    }
  }
  compensated_sum<double> sum;
  compensated_sum<double> moves;  // what a relative error of the likelihoods moves KL by: Pinsker
  for (double const x : kl) {
    sum += x;
    moves += x + std::sqrt(2.0 * x);
  }
  auto const count = static_cast<double>(samples);
  double const mean = sum.value() / count;
  compensated_sum<double> squares;
  for (double const x : kl) squares += (x - mean) * (x - mean);
  double const error = std::sqrt(squares.value()) / count;

  // Rounding of log-likelihood ratios: of a release, and of products of r terms of lengths up to the
  // candidates' and the release's. And which candidate is drawn, by sums of M weights.
  double const longest = std::sqrt(2.0 * compact.columns.colwise().squaredNorm().maxCoeff());
  auto const r = static_cast<double>(compact.columns.rows());
  double const logit = 4.0 * (r + 16.0) * unit_roundoff * longest * (2.0 * longest + farthest) +
                       (2.0 * static_cast<double>(w.size()) + 64.0) * unit_roundoff *
                           std::min(1.0, longest * (longest + farthest));
  double const rounding =
      logit < 1e-3 ? logit * (1.04 * moves.value() / count + 53.0 * logit) : range;
  double const slack = bounds.slack(1.0, compact.moved, compact.trace) + rounding +
                       2.0 * static_cast<double>(w.size()) * unit_roundoff * range;
  double const upper =
      above > 0.0 ? (upper_confidence(kl, 0.0, range, above) + slack) * (1.0 + 4.0 * w.sum_error())
                  : range;
  double const lower =
      below > 0.0 ? (lower_confidence(kl, 0.0, range, below) - slack) * (1.0 - 4.0 * w.sum_error())
                  : 0.0;
  // Where the draws contradict what is certain, it is the draws that fail.
  auto const within = [&](double x) {
    return std::clamp(x, certain.lower.value, certain.upper.value);
  };
  bound<nats> const drawn{nats(within(w.below(std::max(0.0, lower)))),
                          nats(within(w.above(upper)))};
  return {drawn.lower <= drawn.upper ? drawn : certain, confidence, {nats(mean), nats(error)}};
}

}  // namespace detail

/// I(X; Z) as the mean of KL(posterior(Z)‖p), which lies in [0, log 1/p_min], over draws of Z; the
/// interval by betting (`upper_confidence`), each side with half of the failure, and never outside of
/// the bounds that need no draws. Fewer than log(failure)/log(1 − D/range) draws, failure that of one side, cannot improve on a bound D that
/// needs none: the betting bound of n draws is at least range·(1 − failure^{1/n}).
/// Guarantee: bounds on both sides that hold together with the confidence, over the public draws taken
/// to be independent normals; lower ≤ upper, whatever was drawn. The middle is an estimate.
/// @throws std::domain_error unless the confidence is in (0, 1); std::invalid_argument for 0 samples;
///         else as `log_det_information`
template <dense_scalar T = double>
[[nodiscard]] sampled_information monte_carlo_information(basic_candidate_outputs<T> const& outputs,
                                                          basic_gaussian_noise<T> const& noise,
                                                          monte_carlo const& draws) {
  detail::require_domain(draws.confidence > 0.0 && draws.confidence < 1.0,
                         "monte_carlo_information", "confidence", draws.confidence, "in (0, 1)");
  detail::require_argument(draws.samples > 0, "monte_carlo_information", "samples", draws.samples,
                           "positive");
  double const failure = 0.5 * (1.0 - draws.confidence);
  auto out = detail::sample_information(detail::candidate_bounds<T>(outputs, noise), draws.samples,
                                        failure, failure, draws.seed, 0);
  out.confidence = draws.confidence;
  return out;
}

#if defined(TACIT_COMPILED_DENSE)
namespace detail {
extern template sampled_information sample_information(candidate_bounds<double> const&, std::size_t,
                                                       double, double, draw_seed, std::uint64_t);
}  // namespace detail
extern template sampled_information monte_carlo_information(candidate_outputs const&,
                                                            gaussian_noise const&,
                                                            monte_carlo const&);
#endif

}  // namespace tacit
