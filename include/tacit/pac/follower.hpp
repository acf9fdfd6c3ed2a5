// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/calibrated.hpp>
#include <tacit/pac/candidate_noise.hpp>
#include <tacit/pac/covariance.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/moments.hpp>
#include <tacit/pac/network_follower.hpp>
#include <tacit/pac/public_normal.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// SR-PAC for a black box whose datasets cannot be listed: the follower is a classifier q(k|z) that
/// learns the secret from noisy outputs, the leader adapts the noise to it.
///
/// For every q, H(X) − E[−log q(X|Z)] ≤ I(X; Z), with equality for Bayes' posterior alone. So what
/// a follower achieves is an UNDER-estimate: one that learned badly achieves little, and noise that
/// satisfies it may give away more than the budget. With few outputs it does, by much: two normal
/// classes in 20 coordinates, different in one, gave 0.0100 where the truth is 0.085 (100 outputs),
/// 0.015 (2000), 0.011 (10000). All here is an `mi_estimate`, and no bound can be made of it. Where
/// the candidates can be listed, `stackelberg` has a certificate.

namespace tacit {

/// Outputs of a black box, one a row, and the secret of each run: a class, counted from 0.
template <dense_scalar T = double>
struct basic_labelled_outputs {
  matrix_of<T> rows;
  std::vector<std::size_t> labels;
};

using labelled_outputs = basic_labelled_outputs<>;

/// Runs a black box `samples` times. `run(index, out)` draws a dataset, writes its output to the d
/// numbers of `out` and returns the class of its secret; the index, `first`, `first` + 1, …, is a
/// good seed.
/// @throws std::invalid_argument if d or `samples` is 0; std::domain_error, naming the run, if a
///         number is not finite or was left unwritten; what `run` throws
template <class Run, dense_scalar T = double>
[[nodiscard]] basic_labelled_outputs<T> observe_labelled(Run&& run, std::size_t dimension,
                                                         std::size_t samples,
                                                         std::size_t first = 0) {
  detail::require_argument(dimension > 0, "observe_labelled", "dimension", dimension, "positive");
  detail::require_argument(samples > 0, "observe_labelled", "samples", samples, "positive");
  auto const d = static_cast<Eigen::Index>(dimension);
  basic_labelled_outputs<T> out{matrix_of<T>(static_cast<Eigen::Index>(samples), d), {}};
  out.labels.reserve(samples);
  vector_of<T> output(d);
  for (std::size_t i = 0; i < samples; ++i) {
    output.setConstant(std::numeric_limits<double>::quiet_NaN());
    out.labels.push_back(run(first + i, std::span<double>(output.data(), dimension)));
    for (double const y : output) {
      detail::check_finite("observe_labelled", "output of run " + detail::to_text(first + i), y);
    }
    out.rows.row(static_cast<Eigen::Index>(i)) = output.transpose();
  }
  return out;
}

namespace detail {

/// Splits the outputs of each class, in random order: every other one to learn from, the rest to judge by.
template <dense_scalar T>
struct split_outputs {
  labelled_half<T> learn;
  labelled_half<T> judge;
};

template <dense_scalar T = double>
[[nodiscard]] split_outputs<T> split(basic_labelled_outputs<T> const& observed,
                                     public_stream lots) {
  std::size_t const n = observed.labels.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = n; i > 1; --i) {
    auto const lot = static_cast<std::size_t>(static_cast<double>(i) * public_uniform(lots, i));
    std::swap(order[i - 1], order[std::min(lot, i - 1)]);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return observed.labels[a] < observed.labels[b];
  });
  auto const half = [&](std::size_t from) {
    auto const size = static_cast<Eigen::Index>((n - from + 1) / 2);
    labelled_half<T> out{matrix_of<T>(observed.rows.cols(), size), {}};
    for (std::size_t i = from; i < n; i += 2) {
      out.outputs.col(std::ssize(out.labels)) =
          observed.rows.row(static_cast<Eigen::Index>(order[i])).transpose();
      out.labels.push_back(static_cast<Eigen::Index>(observed.labels[order[i]]));
    }
    return out;
  };
  return {half(0), half(1)};
}

/// How many there are; each must occur often enough to be learned and to be judged by.
[[nodiscard]] inline Eigen::Index check_classes(char const* function,
                                                std::vector<std::size_t> const& labels) {
  for (std::size_t const k : labels) {
    require_domain(k < labels.size(), function, "label", k, "below the number of outputs");
  }
  std::vector<std::size_t> count(1 + *std::max_element(labels.begin(), labels.end()), 0);
  for (std::size_t const k : labels) ++count[k];
  require_argument(count.size() >= 2, function, "number of classes", count.size(), "at least 2");
  for (std::size_t k = 0; k < count.size(); ++k) {
    require_argument(count[k] >= 2, function, "number of outputs of class " + to_text(k), count[k],
                     "at least 2");
  }
  return static_cast<Eigen::Index>(count.size());
}

inline void check_follower(char const* function, follower_options const& options, nats budget) {
  check_positive(function, "rate", options.rate);
  require_argument(options.rounds > 0, function, "rounds", options.rounds, "positive");
  require_argument(options.steps > 0, function, "steps", options.steps, "positive");
  require_argument(options.batch > 0, function, "batch", options.batch, "positive");
  require_argument(options.draws > 0, function, "draws", options.draws, "positive");
  double const least = 32.0 / static_cast<double>(options.draws);
  require_domain(budget.value >= least, function, "budget", budget.value,
                 "at least " + to_text(least) + ", 32 a draw");
}

}  // namespace detail

/// SR-PAC against a classifier. The leader minimises trace + λ·(what the follower achieves), λ such
/// that this is β: from log-det's noise, rounds of learning and of moves Σ_B ∝ K^{½}, which are at
/// rest where that sum is, then the least multiple found for which a follower that learned at that
/// very noise achieves at most β, to 1 %, on outputs that it has not learned from. No direction gets
/// less noise than `floor`, in output units squared.
/// Guarantee: none: an estimate, and from below (see the top of this header). The classes are as
/// frequent as among the outputs. Secrets that are vectors: `stackelberg_linear`.
/// @throws std::invalid_argument unless there is one label an output, two classes at least with two
///         outputs each, at least 2(classes + coordinates) outputs, and the options are positive;
///         std::domain_error unless the outputs are finite, the floor positive, and β at least
///         32/draws, below which chance decides; convergence_error if the follower's numbers are
///         not finite
template <dense_scalar T = double>
[[nodiscard]] calibrated<mi_estimate, T> stackelberg_network(
    basic_labelled_outputs<T> const& observed, nats budget, double floor,
    follower_options const& options = {}) {
  char const* const name = "stackelberg_network";
  detail::check_candidate_budget(name, budget);
  detail::check_positive(name, "floor", floor);
  detail::check_follower(name, options, budget);
  auto const rows = static_cast<std::size_t>(observed.rows.rows());
  auto const d = static_cast<std::size_t>(observed.rows.cols());
  detail::require_argument(rows > 0 && d > 0, name, "number of entries", observed.rows.size(),
                           "positive");
  detail::check_size(name, "number of labels", observed.labels.size(), rows);
  for (double const y : observed.rows.reshaped()) detail::check_finite(name, "output", y);
  Eigen::Index const classes = detail::check_classes(name, observed.labels);

  std::size_t const enough = 2 * (d + static_cast<std::size_t>(classes));
  detail::require_argument(rows >= enough, name, "number of outputs", rows,
                           "at least " + detail::to_text(enough) +
                               ", twice the classes and coordinates: a follower of fewer learns "
                               "them by heart, and achieves nothing");

  bool const diagonal = options.shape == noise_shape::diagonal;
  auto const start_from = [&](auto moments) {
    moments.observe_rows(observed.rows);
    return log_det(moments, budget, floor).noise;
  };
  basic_gaussian_noise<T> const start = diagonal ? start_from(basic_moments<vector_of<T>>(d))
                                                 : start_from(basic_moments<matrix_of<T>>(d));
  matrix_of<T> axes = start.axes();
  if (diagonal) axes.setIdentity(observed.rows.cols(), observed.rows.cols());
  vector_of<T> variances = start.variances().cwiseMax(floor);

  detail::split_outputs<T> halves = detail::split(observed, detail::part_of(options.stream, 8));
  detail::network_follower<T> follower(std::move(halves.learn), std::move(halves.judge), classes,
                                       options);
  if (follower.entropy() <= budget.value) {
    return {basic_gaussian_noise<T>::isotropic(d, floor), mi_estimate{nats(follower.entropy())}};
  }
  for (int round = 0; round < options.rounds; ++round) {
    follower.set_noise(axes, variances);
    follower.learn();
    auto const [achieved, along] = follower.measure();
    vector_of<T> const scale = variances.cwiseSqrt();
    matrix_of<T> const pull = scale.asDiagonal() * along * scale.asDiagonal();
    double const trace = variances.sum();
    if (diagonal) {
      variances = pull.diagonal().cwiseMax(0.0).cwiseSqrt();
    } else {
      auto const solved = detail::principal_axes_of<T>(pull);
      axes *= solved.axes;
      variances = solved.variances.cwiseMax(0.0).cwiseSqrt();
    }
    double const growth = std::pow(std::clamp(achieved / budget.value, 0.125, 8.0), 1.1);
    variances = (variances * (growth * trace / variances.sum())).cwiseMax(floor);
  }

  calibrated<mi_estimate, T> best{start, {}};
  vector_of<T> const shape = variances;
  (void)detail::largest_shrink(
      [&](double shrink) {
        variances = (shape / shrink).cwiseMax(floor);
        follower.set_noise(axes, variances);
        follower.learn();
        double const achieved = std::max(0.0, follower.judged());
        if (!(achieved <= budget.value)) return achieved;
        best = {diagonal ? basic_gaussian_noise<T>::diagonal(variances)
                         : basic_gaussian_noise<T>::along(axes, variances),
                mi_estimate{nats(achieved)}};
        // At the floor there is nothing left to reduce.
        return variances.maxCoeff() > floor ? achieved : budget.value;
      },
      budget.value, 1e-2);
  return best;
}

#if defined(TACIT_COMPILED_DENSE)
extern template calibrated<mi_estimate> stackelberg_network(labelled_outputs const&, nats, double,
                                                            follower_options const&);
#endif

}  // namespace tacit
