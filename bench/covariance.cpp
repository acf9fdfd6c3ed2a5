// SPDX-License-Identifier: Apache-2.0
//
// Moments of outputs and calibration by their covariance. Every timed result is checked first, so
// that no figure belongs to a wrong answer.

#include <tacit/pac/covariance.hpp>

#include <Eigen/Core>
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <span>

namespace {

Eigen::MatrixXd random_rows(Eigen::Index n, Eigen::Index d) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd rows(n, d);
  for (double& y : rows.reshaped()) y = 10.0 + normal(random);
  return rows;
}

bool near(Eigen::VectorXd const& variances, double tolerance) {
  return (variances.array() - 1.0).abs().maxCoeff<Eigen::PropagateNaN>() < tolerance;
}

void moments_of_rows(benchmark::State& state) {
  Eigen::MatrixXd const rows = random_rows(state.range(0), state.range(1));
  auto const d = static_cast<std::size_t>(rows.cols());
  auto const run = [&] {
    tacit::output_moments moments(d);
    moments.observe_rows(rows);
    return moments.covariance();
  };
  if (!near(run().diagonal(), 0.05)) state.SkipWithError("wrong covariance");
  for (auto _ : state) benchmark::DoNotOptimize(run());
}
BENCHMARK(moments_of_rows)->Args({100'000, 100})->Unit(benchmark::kMillisecond);

// Outputs that come one at a time, as those of a black box do.
template <class Moments>
void moments_one_by_one(benchmark::State& state) {
  // Column by column: an output is contiguous.
  Eigen::MatrixXd const outputs = random_rows(state.range(1), state.range(0));
  auto const d = static_cast<std::size_t>(outputs.rows());
  auto const run = [&] {
    Moments moments(d);
    for (Eigen::Index i = 0; i < outputs.cols(); ++i) {
      moments.observe(std::span<double const>(outputs.col(i).data(), d));
    }
    return moments.variances();
  };
  if (!near(run(), 0.5)) state.SkipWithError("wrong variances");
  for (auto _ : state) benchmark::DoNotOptimize(run());
}
BENCHMARK(moments_one_by_one<tacit::diagonal_moments>)
    ->Args({1000, 100'000})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(moments_one_by_one<tacit::output_moments>)
    ->Args({10'000, 100})
    ->Unit(benchmark::kMillisecond);

// From variances that are known: water-filling alone.
void log_det_variances(benchmark::State& state) {
  Eigen::VectorXd const variances = Eigen::VectorXd::LinSpaced(state.range(0), 1e-3, 1.0);
  tacit::nats const budget(0.5);
  Eigen::VectorXd const noise = tacit::log_det_variances(variances, budget);
  double const spent = 0.5 * (variances.array() / noise.array()).log1p().sum();
  if (!(std::abs(spent - 0.5) < 1e-11)) state.SkipWithError("wrong noise");
  for (auto _ : state) benchmark::DoNotOptimize(tacit::log_det_variances(variances, budget));
}
BENCHMARK(log_det_variances)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

void log_det_of_moments(benchmark::State& state) {
  Eigen::Index const d = state.range(0);
  tacit::output_moments moments(static_cast<std::size_t>(d));
  moments.observe_rows(random_rows(2 * d, d));
  tacit::nats const budget(0.5);
  auto const found = tacit::log_det(moments, budget);
  if (!(std::abs(found.information.value.value - 0.5) < 1e-11)) state.SkipWithError("wrong noise");
  for (auto _ : state) benchmark::DoNotOptimize(tacit::log_det(moments, budget));
}
BENCHMARK(log_det_of_moments)->Arg(1000)->Unit(benchmark::kMillisecond);

void log_det_of_candidates(benchmark::State& state) {
  tacit::candidate_outputs const outputs(random_rows(state.range(0), state.range(1)));
  tacit::nats const budget(0.5);
  auto const found = tacit::log_det(outputs, budget);
  if (!(found.information.value <= budget && found.information.value.value > 0.5 * (1.0 - 1e-11))) {
    state.SkipWithError("wrong noise");
  }
  for (auto _ : state) benchmark::DoNotOptimize(tacit::log_det(outputs, budget));
}
BENCHMARK(log_det_of_candidates)
    ->Args({128, 1000})
    ->Args({2000, 1000})
    ->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
