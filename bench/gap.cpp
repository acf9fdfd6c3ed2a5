// SPDX-License-Identifier: Apache-2.0
//
// Gap corrections and the certificates behind them, on two-point outputs in d dimensions. Every timed
// result is checked first, so that no figure belongs to a wrong answer.

#include <tacit/core/betting.hpp>
#include <tacit/info/binary_channel.hpp>
#include <tacit/pac/gap.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace {

constexpr double s = 0.3;

struct sample {
  Eigen::MatrixXd outputs;
  Eigen::MatrixXd z;
  Eigen::MatrixXd whitened;
  Eigen::MatrixXd axes;
  tacit::gaussian_noise noise;
  tacit::normal_surrogate surrogate;
  double gap;

  static sample make(benchmark::State const& state) {
    auto const rows = static_cast<Eigen::Index>(state.range(0));
    auto const d = static_cast<Eigen::Index>(state.range(1));
    auto const dimension = static_cast<std::size_t>(d);
    Eigen::MatrixXd outputs(rows, d);
    for (Eigen::Index k = 0; k < outputs.size(); ++k) {
      outputs.data()[k] =
          tacit::public_uniform({1, 1}, static_cast<std::uint64_t>(k)) < 0.5 ? -1.0 : 1.0;
    }
    auto const noise = tacit::gaussian_noise::isotropic(dimension, s * s);
    Eigen::MatrixXd const z = tacit::with_public_noise(outputs, noise, {1, 2});
    auto const fitted = tacit::normal_surrogate::fit(z);
    Eigen::MatrixXd const whitened = fitted.whitened(z);
    Eigen::MatrixXd const axes = tacit::independent_axes(whitened, {1, 3});
    double const gap = static_cast<double>(d) *
                       (0.5 * std::log1p(1.0 / (s * s)) -
                        tacit::mutual_information(tacit::binary_channel{.prior = 0.5, .sigma = s}));
    return {outputs, z, whitened, axes, noise, fitted.rotated(axes), gap};
  }
};

void expect(benchmark::State& state, bool holds) {
  if (!holds) state.SkipWithError("wrong answer");
}

// A column of a sample, copied each time, as it is sorted for the gaps; and by VQSort whatever its length.
template <class Sort>
void sort_by(benchmark::State& state, Sort&& sort) {
  Eigen::VectorXd const column = tacit::public_normals({1, 6}, state.range(0), 1);
  std::vector<double> x(column.begin(), column.end());
  sort(x);
  expect(state, std::is_sorted(x.begin(), x.end()));
  for (auto _ : state) {
    std::copy(column.begin(), column.end(), x.begin());
    sort(x);
    benchmark::DoNotOptimize(x.data());
    benchmark::ClobberMemory();
  }
}

void sort_column(benchmark::State& state) {
  tacit::detail::column_sorter sorter;
  sort_by(state, [&](std::vector<double>& x) { sorter(x); });
}
BENCHMARK(sort_column)->RangeMultiplier(10)->Range(100, 1'000'000)->Unit(benchmark::kMicrosecond);

#if defined(TACIT_HIGHWAY)
void sort_by_highway(benchmark::State& state) {
  hwy::Sorter const sorter;
  sort_by(state, [&](std::vector<double>& x) { sorter(x.data(), x.size(), hwy::SortAscending()); });
}
BENCHMARK(sort_by_highway)
    ->RangeMultiplier(10)
    ->Range(100, 1'000'000)
    ->Unit(benchmark::kMicrosecond);
#endif

void sliced_wasserstein(benchmark::State& state) {
  auto const data = sample::make(state);
  auto const directions = static_cast<std::size_t>(state.range(1));
  double const got = tacit::sliced_wasserstein_gap(data.whitened, directions, {1, 4}).value.value;
  expect(state, got > 0.0 && got < 0.02 * data.gap);
  for (auto _ : state) {
    auto gap = tacit::sliced_wasserstein_gap(data.whitened, directions, {1, 4});
    benchmark::DoNotOptimize(gap);
  }
}
BENCHMARK(sliced_wasserstein)
    ->Args({10'000, 16})
    ->Args({10'000, 64})
    ->Unit(benchmark::kMillisecond);

void wasserstein(benchmark::State& state) {
  auto const data = sample::make(state);
  double const got = tacit::wasserstein_gap(data.whitened, data.axes).value.value;
  expect(state, std::abs(got / static_cast<double>(state.range(1)) - 0.0687) < 0.005);
  for (auto _ : state) {
    auto gap = tacit::wasserstein_gap(data.whitened, data.axes);
    benchmark::DoNotOptimize(gap);
  }
}
BENCHMARK(wasserstein)->Args({10'000, 16})->Args({10'000, 64})->Unit(benchmark::kMillisecond);

void marginal(benchmark::State& state) {
  auto const data = sample::make(state);
  expect(state, std::abs(tacit::marginal_gap(data.whitened, data.axes).value.value - data.gap) <
                    0.04 * data.gap);
  for (auto _ : state) {
    auto gap = tacit::marginal_gap(data.whitened, data.axes);
    benchmark::DoNotOptimize(gap);
  }
}
BENCHMARK(marginal)->Args({10'000, 16})->Args({10'000, 64})->Unit(benchmark::kMillisecond);

void independent_axes(benchmark::State& state) {
  auto const data = sample::make(state);
  Eigen::MatrixXd const seen = (data.axes.transpose() * data.surrogate.whitener()).cwiseAbs();
  expect(state, seen.rowwise().maxCoeff().minCoeff() > 0.0);
  for (auto _ : state) {
    auto axes = tacit::independent_axes(data.whitened, {1, 3});
    benchmark::DoNotOptimize(axes.data());
  }
}
BENCHMARK(independent_axes)->Args({10'000, 16})->Args({10'000, 64})->Unit(benchmark::kMillisecond);

// The number of steps depends on the start; exactly five make it comparable with the peer.
void independent_axes_five_steps(benchmark::State& state) {
  auto const data = sample::make(state);
  expect(state, tacit::independent_axes(data.whitened, {1, 3}, 5) !=
                    tacit::independent_axes(data.whitened, {1, 3}, 4));
  for (auto _ : state) {
    auto axes = tacit::independent_axes(data.whitened, {1, 3}, 5);
    benchmark::DoNotOptimize(axes.data());
  }
}
BENCHMARK(independent_axes_five_steps)
    ->Args({10'000, 16})
    ->Args({10'000, 64})
    ->Unit(benchmark::kMillisecond);

void fit_product_critic(benchmark::State& state) {
  auto const data = sample::make(state);
  Eigen::MatrixXd const t = data.surrogate.whitened(data.z);
  expect(state, tacit::product_critic::fit(t).dimension() == data.surrogate.dimension());
  for (auto _ : state) {
    auto critic = tacit::product_critic::fit(t);
    benchmark::DoNotOptimize(critic);
  }
}
BENCHMARK(fit_product_critic)
    ->Args({10'000, 16})
    ->Args({10'000, 64})
    ->Unit(benchmark::kMillisecond);

void certificate(benchmark::State& state) {
  auto const data = sample::make(state);
  auto const half = data.z.rows() / 2;
  auto const critic = tacit::product_critic::fit(data.surrogate.whitened(data.z.topRows(half)));
  Eigen::MatrixXd const score = data.z.bottomRows(half);
  double const got = tacit::certified_gap(data.surrogate, critic, score, 0.025).value().value;
  expect(state, got > 0.8 * data.gap && got < 1.05 * data.gap);
  for (auto _ : state) {
    auto gap = tacit::certified_gap(data.surrogate, critic, score, 0.025);
    benchmark::DoNotOptimize(gap);
  }
}
BENCHMARK(certificate)->Args({10'000, 16})->Args({10'000, 64})->Unit(benchmark::kMillisecond);

void mixture(benchmark::State& state) {
  auto const data = sample::make(state);
  auto const q = tacit::mixture_surrogate::fit(data.outputs, data.noise, 16, {1, 5});
  expect(state, q.size() == 16);
  for (auto _ : state) {
    auto fitted = tacit::mixture_surrogate::fit(data.outputs, data.noise, 16, {1, 5});
    benchmark::DoNotOptimize(fitted);
  }
}
BENCHMARK(mixture)->Args({10'000, 4})->Unit(benchmark::kMillisecond);

void one_sided_mean(benchmark::State& state) {
  std::vector<double> x(static_cast<std::size_t>(state.range(0)));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = tacit::public_uniform({2, 0}, k);
  double const got = tacit::lower_confidence(x, 0.0, 1.0, 0.05);
  expect(state, got > 0.48 && got < 0.5);
  for (auto _ : state) {
    double bound = tacit::lower_confidence(x, 0.0, 1.0, 0.05);
    benchmark::DoNotOptimize(bound);
  }
}
BENCHMARK(one_sided_mean)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
