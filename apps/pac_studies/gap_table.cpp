// SPDX-License-Identifier: Apache-2.0
//
// How far is the information below the log-det, where that is known? Prints a Markdown table: the true
// gap, the published correction, this library's, what is certified, and how often the certificates held.
//
//   gap_table [REPEATS [ROWS]]
//
// Outputs are a product of coordinates, turned by a random rotation that the corrections do not know.

#include <tacit/pac/gap.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <string>
#include <vector>

namespace {

using tacit::public_stream;

/// One coordinate of an output: M(X)_i takes `level` with `weight`; the noise has variance s².
struct coordinate_law {
  std::vector<double> level;
  std::vector<double> weight;
};

struct setting {
  std::string name;
  int dimension;
  double noise;        // s
  coordinate_law law;  // empty: standard normal
};

double mean_of(coordinate_law const& law) {
  double sum = 0.0;
  for (std::size_t k = 0; k < law.level.size(); ++k) sum += law.weight[k] * law.level[k];
  return sum;
}

double variance_of(coordinate_law const& law) {
  if (law.level.empty()) return 1.0;
  double const mean = mean_of(law);
  double sum = 0.0;
  for (std::size_t k = 0; k < law.level.size(); ++k) {
    sum += law.weight[k] * (law.level[k] - mean) * (law.level[k] - mean);
  }
  return sum;
}

/// h(Z_i) in nats, by the trapezoid rule.
double entropy_of(coordinate_law const& law, double s) {
  double const log_scale = 0.5 * std::log(2.0 * std::numbers::pi);
  if (law.level.empty()) return 0.5 + log_scale + 0.5 * std::log(1.0 + s * s);
  double sum = 0.0;
  double const step = 0.02 * s;
  double low = law.level[0];
  double high = low;
  for (double const y : law.level) {
    low = std::min(low, y);
    high = std::max(high, y);
  }
  for (double z = low - 12.0 * s; z <= high + 12.0 * s; z += step) {
    double p = 0.0;
    for (std::size_t k = 0; k < law.level.size(); ++k) {
      double const t = (z - law.level[k]) / s;
      p += law.weight[k] * std::exp(-0.5 * t * t - log_scale) / s;
    }
    if (p > 0.0) sum -= p * std::log(p) * step;
  }
  return sum;
}

/// rows × d outputs, before the rotation.
Eigen::MatrixXd outputs_of(setting const& now, Eigen::Index rows, public_stream stream) {
  auto const d = static_cast<Eigen::Index>(now.dimension);
  if (now.law.level.empty()) return tacit::public_normals(stream, rows, d);
  Eigen::MatrixXd out(rows, d);
  for (Eigen::Index k = 0; k < out.size(); ++k) {
    double u = tacit::public_uniform(stream, static_cast<std::uint64_t>(k));
    std::size_t pick = 0;
    while (pick + 1 < now.law.level.size() && u >= now.law.weight[pick]) {
      u -= now.law.weight[pick++];
    }
    out.data()[k] = now.law.level[pick];
  }
  return out;
}

struct sums {
  double paper = 0.0;
  double random = 0.0;
  double independent = 0.0;
  double marginal = 0.0;
  double certificate = 0.0;
  double bound = 0.0;
  int certificate_held = 0;
  int bound_held = 0;
  int bounds = 0;
};

}  // namespace

int main(int count, char** arguments) {
  int const repeats = count > 1 ? std::atoi(arguments[1]) : 20;
  Eigen::Index const rows = count > 2 ? std::atoi(arguments[2]) : 8000;
  double const failure = 0.025;  // each of two

  coordinate_law const two{{-1.0, 1.0}, {0.5, 0.5}};
  coordinate_law const skewed{{-1.0, 2.0}, {0.8, 0.2}};
  coordinate_law const three{{-1.5, 0.0, 1.5}, {0.25, 0.5, 0.25}};
  std::vector<setting> const settings{
      {"two points, s = 0.3", 1, 0.3, two},     {"two points, s = 0.3", 4, 0.3, two},
      {"two points, s = 0.3", 16, 0.3, two},    {"two points, s = 0.3", 64, 0.3, two},
      {"two points, s = 1", 16, 1.0, two},      {"skewed points, s = 0.5", 8, 0.5, skewed},
      {"three points, s = 0.4", 8, 0.4, three}, {"normal, s = 0.5", 1, 0.5, {}},
      {"normal, s = 0.5", 16, 0.5, {}},         {"normal, s = 0.5", 64, 0.5, {}},
  };
  std::printf(
      "%d repeats, %d rows to fit and as many to score; confidence 97.5%% a certificate, 95%% a "
      "bound.\n\n"
      "| outputs | d | true gap | published | W2, random axes | W2, independent | marginal KL | "
      "certified gap | held | log-det | true information | certified | held |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      repeats, static_cast<int>(rows));
  for (setting const& now : settings) {
    auto const d = static_cast<Eigen::Index>(now.dimension);
    auto const dimension = static_cast<std::size_t>(now.dimension);
    double const size = static_cast<double>(now.dimension);
    double const square = now.noise * now.noise;
    double const variance = variance_of(now.law) + square;
    double const entropy = size * entropy_of(now.law, now.noise);
    double const normal =
        0.5 * size * std::log(2.0 * std::numbers::pi * std::numbers::e * variance);
    double const log_det = 0.5 * size * std::log(variance / square);
    double const information = log_det - (normal - entropy);
    auto const noise = tacit::gaussian_noise::isotropic(dimension, square);
    sums sum;
    for (int repeat = 0; repeat < repeats; ++repeat) {
      auto const seed = static_cast<std::uint64_t>(repeat + 1);
      Eigen::MatrixXd const rotation = tacit::random_axes(dimension, {seed, 1});
      Eigen::MatrixXd const outputs = outputs_of(now, 2 * rows, {seed, 2}) * rotation.transpose();
      Eigen::MatrixXd const z = tacit::with_public_noise(outputs, noise, {seed, 3});
      Eigen::MatrixXd const train = z.topRows(rows);
      Eigen::MatrixXd const score = z.bottomRows(rows);

      auto const fitted = tacit::normal_surrogate::fit(train);
      Eigen::MatrixXd const whitened = fitted.whitened(train);
      Eigen::MatrixXd const random = tacit::random_axes(dimension, {seed, 4});
      Eigen::MatrixXd const axes = tacit::independent_axes(whitened, {seed, 5});
      sum.paper += tacit::sliced_wasserstein_gap(whitened, 2 * dimension, {seed, 6}).value.value;
      sum.random += tacit::wasserstein_gap(whitened, random).value.value;
      sum.independent += tacit::wasserstein_gap(whitened, axes).value.value;
      sum.marginal += tacit::marginal_gap(whitened, axes).value.value;

      auto const surrogate = fitted.rotated(axes);
      auto const critic = tacit::product_critic::fit(surrogate.whitened(train));
      auto const certificate = tacit::certified_gap(surrogate, critic, score, failure);
      sum.certificate += certificate.value().value;
      // KL(P‖Q) in closed form: Z has this mean and the covariance variance·I.
      Eigen::MatrixXd const& a = surrogate.whitener();
      Eigen::VectorXd const mean = Eigen::VectorXd::Constant(d, mean_of(now.law));
      double const divergence =
          0.5 * (size * std::log(2.0 * std::numbers::pi) + variance * a.squaredNorm() +
                 (a * (rotation * mean - surrogate.mean())).squaredNorm()) -
          a.fullPivLu().matrixLU().diagonal().array().abs().log().sum() - entropy;
      sum.certificate_held += certificate.value().value <= divergence ? 1 : 0;

      if (now.law.level.empty()) continue;  // no radius holds all outputs
      double radius = 0.0;
      for (double const y : now.law.level) radius = std::max(radius, std::abs(y));
      auto const bound = tacit::certified_information(
          certificate, noise, outputs.bottomRows(rows),
          {.radius = radius * std::sqrt(size) * (1.0 + 1e-13), .failure = failure});
      sum.bound += bound.value.value;
      sum.bound_held += bound.value.value >= information ? 1 : 0;
      ++sum.bounds;
    }
    auto const times = static_cast<double>(repeats);
    std::printf("| %s | %d | %.4f | %.4f | %.4f | %.4f | %.4f | %.4f | %.3f | %.4f | %.4f |",
                now.name.c_str(), now.dimension, normal - entropy, sum.paper / times,
                sum.random / times, sum.independent / times, sum.marginal / times,
                sum.certificate / times, sum.certificate_held / times, log_det, information);
    if (sum.bounds > 0) {
      std::printf(" %.4f | %.3f |\n", sum.bound / times, sum.bound_held / times);
    } else {
      std::printf(" | |\n");
    }
    std::fflush(stdout);
  }
  return 0;
}
