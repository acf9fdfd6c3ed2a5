// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/calibrated.hpp>
#include <tacit/pac/candidate_noise.hpp>
#include <tacit/pac/covariance.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/moments.hpp>
#include <tacit/pac/public_normal.hpp>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

/// SR-PAC for a black box whose datasets cannot be listed: the follower is a classifier q(k|z) that
/// learns the secret from noisy outputs, the leader adapts the noise to it.
///
/// For every q, H(X) − E[−log q(X|Z)] ≤ I(X; Z), with equality for Bayes' posterior alone. So what
/// a follower shows is an UNDER-estimate: one that learned badly shows little, and noise that
/// satisfies it may tell more than the budget. With few outputs it does, by much: two normal
/// classes in 20 coordinates, told apart by one, showed 0.0100 where 0.085 was told (100 outputs),
/// 0.015 (2000), 0.011 (10000). All here is an `mi_estimate`, and no bound can be made of it. Where
/// the candidates can be listed, `stackelberg` has a certificate.

namespace tacit {

/// What a black box said, one output a row, and the secret of each run: a class, counted from 0.
struct labelled_outputs {
  Eigen::MatrixXd rows;
  std::vector<std::size_t> labels;
};

/// Runs a black box `samples` times. `run(index, out)` draws a dataset, writes its output to the d
/// numbers of `out` and returns the class of its secret; the index, `first`, `first` + 1, …, is a
/// good seed.
/// @throws std::invalid_argument if d or `samples` is 0; std::domain_error, naming the run, if a
///         number is not finite or was left unwritten; what `run` throws
template <class Run>
[[nodiscard]] labelled_outputs observe_labelled(Run&& run, std::size_t dimension,
                                                std::size_t samples, std::size_t first = 0) {
  detail::require_argument(dimension > 0, "observe_labelled", "dimension", dimension, "positive");
  detail::require_argument(samples > 0, "observe_labelled", "samples", samples, "positive");
  auto const d = static_cast<Eigen::Index>(dimension);
  labelled_outputs out{Eigen::MatrixXd(static_cast<Eigen::Index>(samples), d), {}};
  out.labels.reserve(samples);
  Eigen::VectorXd output(d);
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

/// How the follower learns, and how long the leader plays against it.
struct follower_options {
  noise_shape shape = noise_shape::full;
  std::size_t units = 32;      // of the hidden layer; 0: a linear discriminant, in closed form
  int rounds = 12;             // in which the leader moves
  int steps = 150;             // of the follower in each
  std::size_t batch = 256;     // releases a step
  double rate = 1e-2;          // of Adam (Kingma & Ba 2015)
  std::size_t draws = 32'768;  // releases, at least, that decide how loud the noise has to be
  public_stream stream = {};
};

namespace detail {

/// Half of the outputs, one a column.
struct labelled_half {
  Eigen::MatrixXd outputs;
  std::vector<Eigen::Index> labels;
};

/// log q(k|z) = log p_k + c_kᵀt − ½‖c_k‖² + a_kᵀt + v_kᵀtanh(Wᵀt + φ) + b_k − log Σ…, for
/// t = L⁻¹(z − mean), LLᵀ = the covariance within classes + Σ_B, c_k = L⁻¹(mean_k − mean).
///
/// The first part is the normal classes' discriminant, exact where the noise drowns the outputs; it
/// follows the noise by itself. The rest is learned. Releases come in pairs, noise g and −g, which
/// cancels most of what chance there is in small information.
class network_follower {
 public:
  network_follower(labelled_half learn, labelled_half judge, Eigen::Index classes,
                   follower_options const& options)
      : learn_(std::move(learn)),
        judge_(std::move(judge)),
        options_(options),
        d_(learn_.outputs.rows()),
        classes_(classes),
        units_(static_cast<Eigen::Index>(options.units)),
        means_(Eigen::MatrixXd::Zero(d_, classes)) {
    Eigen::VectorXd count = Eigen::VectorXd::Zero(classes);
    for (std::size_t i = 0; i < learn_.labels.size(); ++i) {
      means_.col(learn_.labels[i]) += learn_.outputs.col(static_cast<Eigen::Index>(i));
      count(learn_.labels[i]) += 1.0;
    }
    means_.array().rowwise() /= count.transpose().array();
    Eigen::VectorXd const priors = count / count.sum();
    log_priors_ = priors.array().log();
    Eigen::MatrixXd within = learn_.outputs;
    for (std::size_t i = 0; i < learn_.labels.size(); ++i) {
      within.col(static_cast<Eigen::Index>(i)) -= means_.col(learn_.labels[i]);
    }
    within_ = within * within.transpose() / count.sum();
    Eigen::VectorXd const mean = means_ * priors;
    means_.colwise() -= mean;
    learn_.outputs.colwise() -= mean;
    judge_.outputs.colwise() -= mean;

    Eigen::Index const size = d_ * (units_ + classes) + units_ * (classes + 1) + classes;
    parameters_ = Eigen::VectorXd::Zero(size);
    in(parameters_).directions =
        public_normals(part(0), d_, units_) / std::sqrt(static_cast<double>(d_));
    in(parameters_).shifts = public_normals(part(4), units_, 1);
  }

  /// From now on the noise is Σ v_i u_i u_iᵀ.
  void face(Eigen::MatrixXd const& axes, Eigen::VectorXd const& variances) {
    Eigen::MatrixXd const root = axes * variances.cwiseSqrt().asDiagonal();
    Eigen::LLT<Eigen::MatrixXd> const factor(within_ + root * root.transpose());
    noise_ = factor.matrixL().solve(root);
    centres_ = factor.matrixL().solve(means_);
    quiet_learn_ = factor.matrixL().solve(learn_.outputs);
    quiet_judge_ = factor.matrixL().solve(judge_.outputs);
    levels_ = (log_priors_.transpose() - 0.5 * centres_.colwise().squaredNorm()).transpose();
  }

  /// Some steps of Adam on the cross-entropy, fresh releases at each.
  void learn() {
    if (units_ == 0) return;
    Eigen::VectorXd slope(parameters_.size());
    Eigen::VectorXd first = Eigen::VectorXd::Zero(parameters_.size());
    Eigen::VectorXd second = first;
    for (int step = 1; step <= options_.steps; ++step) {
      (void)pass(draw(half_batch()), &slope);
      first = 0.9 * first + 0.1 * slope;
      second = 0.99 * second + 0.01 * slope.cwiseAbs2();
      double const warm =
          options_.rate * std::sqrt(1.0 - std::pow(0.99, step)) / (1.0 - std::pow(0.9, step));
      double const cooled = warm * (1.0 - static_cast<double>(step - 1) / options_.steps);
      parameters_.array() += cooled * first.array() / (second.array().sqrt() + 1e-6);
    }
  }

  /// What the follower shows of outputs that it has not learned from, over releases that stay the
  /// same while the noise changes: the better of what it was born with and what it learned.
  [[nodiscard]] double shown() {
    Eigen::Index const n = quiet_judge_.cols();
    auto const pairs = static_cast<Eigen::Index>(options_.draws + 1) / 2;
    double born = 0.0;
    double learned = 0.0;
    auto const repeats = std::max<Eigen::Index>(1, (pairs + n - 1) / n);
    for (Eigen::Index r = 0; r < repeats; ++r) {
      Eigen::MatrixXd const moved =
          noise_ * public_normals(part(4 * static_cast<std::uint64_t>(r) + 1), d_, n);
      for (double const sign : {1.0, -1.0}) {
        releases const seen{quiet_judge_ + sign * moved, judge_.labels};
        born += log_likelihood(log_posterior(seen.t, nullptr), seen.labels);
        if (units_ > 0) {
          Eigen::MatrixXd hidden;
          learned += log_likelihood(log_posterior(seen.t, &hidden), seen.labels);
        }
      }
    }
    auto const count = static_cast<double>(2 * repeats * n);
    double const told = told_by(born / count);
    return units_ > 0 ? std::max(told, told_by(learned / count)) : told;
  }

  struct reading {
    double shown;           // on fresh releases of what the follower learns from
    Eigen::MatrixXd along;  // the matrix K, in the noise's axes
  };

  /// K = 2·dI/dP for the precision P of the noise: Σ_B E[ssᵀ] Σ_B, s = the slope of log q(k|z) in
  /// z. Where q is the posterior, E[ssᵀ] = −E[∇²log q] = −2·dI/dΣ_B, which the path z = y +
  /// Σ_B^{½}g would estimate as −E[s gᵀ]Σ_B^{−½}: the same, but noisier, and not surely positive
  /// semidefinite.
  [[nodiscard]] reading look() {
    Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(d_, d_);
    double likelihood = 0.0;
    Eigen::Index constexpr repeats = 32;
    for (Eigen::Index r = 0; r < repeats; ++r) {
      releases const seen = draw(half_batch());
      answers const got = pass(seen, nullptr);
      sum.selfadjointView<Eigen::Lower>().rankUpdate(noise_.transpose() * got.pull);
      likelihood += got.likelihood;
    }
    auto const count = static_cast<double>(2 * half_batch() * repeats);
    return {told_by(likelihood / count),
            Eigen::MatrixXd(sum.selfadjointView<Eigen::Lower>()) / count};
  }

  /// Of the secret, among the outputs that judge.
  [[nodiscard]] double entropy() const {
    Eigen::VectorXd share = Eigen::VectorXd::Zero(classes_);
    for (Eigen::Index const k : judge_.labels) share(k) += 1.0;
    share /= share.sum();
    return -share.dot(share.array().log().matrix());
  }

 private:
  template <class Vector>
  struct layers {
    using matrix =
        std::conditional_t<std::is_const_v<Vector>, Eigen::MatrixXd const, Eigen::MatrixXd>;
    Eigen::Map<matrix> straight;    // a, d×K
    Eigen::Map<matrix> directions;  // W, d×h
    Eigen::Map<matrix> weights;     // v, h×K
    Eigen::Map<matrix> shifts;      // φ, h×1
    Eigen::Map<matrix> offsets;     // b, K×1
  };

  template <class Vector>
  [[nodiscard]] layers<Vector> in(Vector& x) const {
    auto* p = x.data();
    auto const next = [&](Eigen::Index rows, Eigen::Index columns) {
      auto* const at = p;
      p += rows * columns;
      return Eigen::Map<typename layers<Vector>::matrix>(at, rows, columns);
    };
    // Braces: in this order.
    return {next(d_, classes_), next(d_, units_), next(units_, classes_), next(units_, 1),
            next(classes_, 1)};
  }

  struct releases {
    Eigen::MatrixXd t;
    std::vector<Eigen::Index> labels;
  };
  struct answers {
    double likelihood;     // Σ log q(k|z)
    Eigen::MatrixXd pull;  // its slope in t
  };

  /// What cannot be computed must not pass for a follower that sees nothing.
  [[nodiscard]] double told_by(double likelihood) const {
    if (!(std::abs(likelihood) <= std::numeric_limits<double>::max())) {
      throw convergence_error("stackelberg_network: the follower's numbers have left the finite",
                              -std::numeric_limits<double>::infinity(), entropy());
    }
    return entropy() + likelihood;
  }

  [[nodiscard]] public_stream part(std::uint64_t k) const { return part_of(options_.stream, k); }
  [[nodiscard]] Eigen::Index half_batch() const {
    return static_cast<Eigen::Index>(options_.batch + 1) / 2;
  }

  /// `pairs` pairs of fresh releases.
  [[nodiscard]] releases draw(Eigen::Index pairs) {
    std::uint64_t const turn = 4 * drawn_++;
    releases out{Eigen::MatrixXd(d_, 2 * pairs), {}};
    Eigen::MatrixXd const moved = noise_ * public_normals(part(turn + 2), d_, pairs);
    auto const rows = static_cast<double>(quiet_learn_.cols());
    for (Eigen::Index i = 0; i < pairs; ++i) {
      auto const row = static_cast<Eigen::Index>(
          rows * public_uniform(part(turn + 3), static_cast<std::uint64_t>(i)));
      out.labels.push_back(learn_.labels[static_cast<std::size_t>(row)]);
      out.t.col(i) = quiet_learn_.col(row) + moved.col(i);
      out.t.col(pairs + i) = quiet_learn_.col(row) - moved.col(i);
    }
    out.labels.resize(2 * static_cast<std::size_t>(pairs));
    std::copy_n(out.labels.begin(), pairs, out.labels.begin() + pairs);
    return out;
  }

  /// K×n. Without `hidden`, what the follower was born with.
  [[nodiscard]] Eigen::MatrixXd log_posterior(Eigen::MatrixXd const& t,
                                              Eigen::MatrixXd* hidden) const {
    Eigen::MatrixXd out = centres_.transpose() * t;
    out.colwise() += levels_;
    if (hidden != nullptr) {
      auto const net = in(parameters_);
      Eigen::MatrixXd const x = (net.directions.transpose() * t).colwise() + net.shifts.col(0);
      *hidden = 1.0 - 2.0 / (1.0 + (2.0 * x.array()).exp());
      out.noalias() += net.straight.transpose() * t;
      out.noalias() += net.weights.transpose() * *hidden;
      out.colwise() += net.offsets.col(0);
    }
    out.rowwise() -= out.colwise().maxCoeff().eval();
    out.array().rowwise() -= out.array().exp().colwise().sum().log().eval();
    return out;
  }

  [[nodiscard]] static double log_likelihood(Eigen::MatrixXd const& log_posterior,
                                             std::vector<Eigen::Index> const& labels) {
    double sum = 0.0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      sum += log_posterior(labels[i], static_cast<Eigen::Index>(i));
    }
    return sum;
  }

  /// Forth and back through the network; `to_parameters` gets the mean slope.
  [[nodiscard]] answers pass(releases const& seen, Eigen::VectorXd* to_parameters) const {
    Eigen::MatrixXd hidden;
    Eigen::MatrixXd error = log_posterior(seen.t, &hidden);
    double const likelihood = log_likelihood(error, seen.labels);
    error = -error.array().exp();
    for (std::size_t i = 0; i < seen.labels.size(); ++i) {
      error(seen.labels[i], static_cast<Eigen::Index>(i)) += 1.0;
    }
    auto const net = in(parameters_);
    Eigen::MatrixXd const back =
        ((net.weights * error).array() * (1.0 - hidden.array().square())).matrix();
    if (to_parameters == nullptr) {
      return {likelihood, (centres_ + net.straight) * error + net.directions * back};
    }
    auto to = in(*to_parameters);
    to.straight.noalias() = seen.t * error.transpose();
    to.directions.noalias() = seen.t * back.transpose();
    to.weights.noalias() = hidden * error.transpose();
    to.shifts = back.rowwise().sum();
    to.offsets = error.rowwise().sum();
    *to_parameters /= static_cast<double>(seen.labels.size());
    return {likelihood, {}};
  }

  labelled_half learn_;
  labelled_half judge_;
  follower_options options_;
  Eigen::Index d_;
  Eigen::Index classes_;
  Eigen::Index units_;
  Eigen::MatrixXd means_;
  Eigen::MatrixXd within_;
  Eigen::VectorXd log_priors_;
  Eigen::VectorXd parameters_;
  std::uint64_t drawn_ = 0;
  // For the noise that it faces:
  Eigen::MatrixXd noise_;  // L⁻¹Σ_B^{½}
  Eigen::MatrixXd centres_;
  Eigen::VectorXd levels_;
  Eigen::MatrixXd quiet_learn_;  // L⁻¹y
  Eigen::MatrixXd quiet_judge_;
};

/// Every other output of each class to learn from, the rest to judge by, in an order drawn by lot.
struct split_outputs {
  labelled_half learn;
  labelled_half judge;
};

[[nodiscard]] inline split_outputs split(labelled_outputs const& observed, public_stream lots) {
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
    labelled_half out{Eigen::MatrixXd(observed.rows.cols(), size), {}};
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

/// SR-PAC against a classifier. The leader minimises trace + λ·(what the follower shows), λ such
/// that this is β: from log-det's noise, rounds of learning and of moves Σ_B ∝ K^{½}, which are at
/// rest where that sum is, then the least multiple found for which a follower that learned at that
/// very noise shows at most β, to 1 %, on outputs that it has not learned from. No direction gets
/// less noise than `floor`, in output units squared.
/// Guarantee: none: an estimate, and from below (see the top of this header). The classes are as
/// frequent as among the outputs. Secrets that are vectors: `stackelberg_linear`.
/// @throws std::invalid_argument unless there is one label an output, two classes at least with two
///         outputs each, at least 2(classes + coordinates) outputs, and the options are positive;
///         std::domain_error unless the outputs are finite, the floor positive, and β at least
///         32/draws, below which chance decides; convergence_error if the follower's numbers are
///         not finite
[[nodiscard]] inline calibrated<mi_estimate> stackelberg_network(
    labelled_outputs const& observed, nats budget, double floor,
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
                               "them by heart, and shows nothing");

  bool const diagonal = options.shape == noise_shape::diagonal;
  auto const start_from = [&](auto moments) {
    moments.observe_rows(observed.rows);
    return log_det(moments, budget, floor).noise;
  };
  gaussian_noise const start =
      diagonal ? start_from(diagonal_moments(d)) : start_from(output_moments(d));
  Eigen::MatrixXd axes = start.axes();
  if (diagonal) axes.setIdentity(observed.rows.cols(), observed.rows.cols());
  Eigen::VectorXd variances = start.variances().cwiseMax(floor);

  detail::split_outputs halves = detail::split(observed, detail::part_of(options.stream, 8));
  detail::network_follower follower(std::move(halves.learn), std::move(halves.judge), classes,
                                    options);
  if (follower.entropy() <= budget.value) {
    return {gaussian_noise::isotropic(d, floor), mi_estimate{nats(follower.entropy())}};
  }
  for (int round = 0; round < options.rounds; ++round) {
    follower.face(axes, variances);
    follower.learn();
    auto const [shown, along] = follower.look();
    Eigen::VectorXd const scale = variances.cwiseSqrt();
    Eigen::MatrixXd const pull = scale.asDiagonal() * along * scale.asDiagonal();
    double const trace = variances.sum();
    if (diagonal) {
      variances = pull.diagonal().cwiseMax(0.0).cwiseSqrt();
    } else {
      Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> const solved(pull);
      axes *= solved.eigenvectors();
      variances = solved.eigenvalues().cwiseMax(0.0).cwiseSqrt();
    }
    double const louder = std::pow(std::clamp(shown / budget.value, 0.125, 8.0), 1.1);
    variances = (variances * (louder * trace / variances.sum())).cwiseMax(floor);
  }

  calibrated<mi_estimate> best{start, {}};
  Eigen::VectorXd const shape = variances;
  (void)detail::largest_shrink(
      [&](double shrink) {
        variances = (shape / shrink).cwiseMax(floor);
        follower.face(axes, variances);
        follower.learn();
        double const shown = std::max(0.0, follower.shown());
        if (!(shown <= budget.value)) return shown;
        best = {
            diagonal ? gaussian_noise::diagonal(variances) : gaussian_noise::along(axes, variances),
            mi_estimate{nats(shown)}};
        // At the floor all is done.
        return variances.maxCoeff() > floor ? shown : budget.value;
      },
      budget.value, 1e-2);
  return best;
}

}  // namespace tacit
