// SPDX-License-Identifier: Apache-2.0
//
// Information about listed candidates: the pairwise bounds, their gradient, the least bound, a Monte-Carlo
// certificate, and noise for a budget. Checked against the formula written plainly before it is timed.

#include <tacit/pac/candidate_information.hpp>
#include <tacit/pac/candidate_noise.hpp>
#include <tacit/pac/monte_carlo_information.hpp>
#include <tacit/pac/stackelberg.hpp>

#include <benchmark/benchmark.h>

#include <cmath>
#include <random>

namespace {

tacit::candidate_outputs outputs_of(benchmark::State const& state) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd rows(state.range(0), state.range(1));
  for (double& x : rows.reshaped()) x = normal(random);
  return tacit::candidate_outputs(std::move(rows));
}

// About half of the entropy is revealed.
tacit::gaussian_noise noise_of(benchmark::State const& state) {
  return tacit::gaussian_noise::diagonal(Eigen::VectorXd::LinSpaced(state.range(1), 0.1, 0.3) *
                                         static_cast<double>(state.range(1)));
}

double plain_bound(tacit::candidate_outputs const& outputs, tacit::gaussian_noise const& noise) {
  Eigen::ArrayXd const v = noise.variances().array();
  Eigen::Index const count = outputs.rows().rows();
  double bound = 0.0;
  for (Eigen::Index m = 0; m < count; ++m) {
    double sum = 0.0;
    for (Eigen::Index k = 0; k < count; ++k) {
      double const squared =
          ((outputs.rows().row(m) - outputs.rows().row(k)).transpose().array().square() / v).sum();
      sum += std::exp(-0.5 * squared) / static_cast<double>(count);
    }
    bound -= std::log(sum) / static_cast<double>(count);
  }
  return bound;
}

void pairwise(benchmark::State& state) {
  auto const outputs = outputs_of(state);
  auto const noise = noise_of(state);
  double const upper = tacit::pairwise_information(outputs, noise).upper.value;
  if (!(std::abs(upper / plain_bound(outputs, noise) - 1.0) < 1e-10)) {
    state.SkipWithError("wrong bound");
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(tacit::pairwise_information(outputs, noise).upper.value);
  }
}
BENCHMARK(pairwise)->Args({128, 10})->Args({128, 1000})->Unit(benchmark::kMicrosecond);

void pairwise_plain(benchmark::State& state) {
  auto const outputs = outputs_of(state);
  auto const noise = noise_of(state);
  for (auto _ : state) benchmark::DoNotOptimize(plain_bound(outputs, noise));
}
BENCHMARK(pairwise_plain)->Args({128, 1000})->Unit(benchmark::kMicrosecond);

void pairwise_with_gradient(benchmark::State& state) {
  auto const outputs = outputs_of(state);
  auto const noise = noise_of(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(tacit::pairwise_gradient(outputs, noise).variances.data());
  }
}
BENCHMARK(pairwise_with_gradient)->Args({128, 1000})->Unit(benchmark::kMicrosecond);

void least_bound(benchmark::State& state) {
  auto const outputs = outputs_of(state);
  auto const noise = noise_of(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(tacit::information_bound(outputs, noise).value.value);
  }
}
BENCHMARK(least_bound)->Args({128, 1000})->Unit(benchmark::kMicrosecond);

// On a line, of which the quadrature is most of the work.
void least_bound_on_a_line(benchmark::State& state) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  Eigen::MatrixXd rows(state.range(0), 1);
  for (double& x : rows.reshaped()) x = static_cast<double>(state.range(1)) * normal(random);
  tacit::candidate_outputs const outputs(std::move(rows));
  auto const noise = tacit::gaussian_noise::isotropic(1, 1.0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(tacit::information_bound(outputs, noise).value.value);
  }
}
BENCHMARK(least_bound_on_a_line)
    ->Args({1000, 1})
    ->Args({1000, 100})
    ->Args({1000, 1000})
    ->Unit(benchmark::kMillisecond);

void monte_carlo_certificate(benchmark::State& state) {
  auto const outputs = outputs_of(state);
  auto const noise = noise_of(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(tacit::monte_carlo_information(
        outputs, noise, {.samples = 10'000, .confidence = 0.99, .seed = 1}));
  }
}
BENCHMARK(monte_carlo_certificate)->Args({128, 10})->Unit(benchmark::kMillisecond);

void noise_without_draws(benchmark::State& state) {
  auto const outputs = outputs_of(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(tacit::least_trace(outputs, tacit::nats(2.0)).noise.trace());
  }
}
BENCHMARK(noise_without_draws)->Args({128, 10})->Args({128, 1000})->Unit(benchmark::kMillisecond);

void noise_by_stackelberg(benchmark::State& state) {
  auto const outputs = outputs_of(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(tacit::stackelberg(outputs, tacit::nats(2.0),
                                                {.samples = 20'000, .confidence = 0.99, .seed = 1})
                                 .noise.trace());
  }
}
BENCHMARK(noise_by_stackelberg)->Args({64, 4})->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
