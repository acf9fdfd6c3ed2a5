// SPDX-License-Identifier: Apache-2.0
//
// Subset sums, membership sums and the posterior update. Every timed result is checked first, so that
// no figure belongs to a wrong answer.

#include <tacit/pac/candidates.hpp>
#include <tacit/pac/fixed_point.hpp>
#include <tacit/pac/posterior.hpp>

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace {

tacit::candidate_set candidates_of(benchmark::State const& state) {
  return tacit::candidate_set::balanced({.records = static_cast<std::size_t>(state.range(0)),
                                         .subsets = static_cast<std::size_t>(state.range(1))},
                                        1);
}

std::vector<std::int32_t> addends(std::size_t count) {
  std::mt19937_64 random(2);
  std::uniform_int_distribution<std::int32_t> addend(-(1 << 30), 1 << 30);
  std::vector<std::int32_t> result(count);
  for (std::int32_t& x : result) x = addend(random);
  return result;
}

// What one writes first: a byte a membership, a subset at a time.
void naive_sums(std::vector<std::uint8_t> const& member, std::vector<std::int32_t> const& x,
                std::vector<std::int64_t>& sums) {
  for (std::size_t m = 0; m < sums.size(); ++m) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (member[m * x.size() + i] != 0) sums[m] += x[i];
    }
  }
}

std::vector<std::uint8_t> unpacked(tacit::candidate_set const& candidates) {
  std::vector<std::uint8_t> member;
  for (std::size_t m = 0; m < candidates.subsets(); ++m) {
    for (std::size_t i = 0; i < candidates.records(); ++i) {
      member.push_back(candidates.contains(m, i) ? 1 : 0);
    }
  }
  return member;
}

void add_sums(benchmark::State& state) {
  auto const candidates = candidates_of(state);
  auto const x = addends(candidates.records());
  std::vector<std::int64_t> sums(candidates.subsets());
  std::vector<std::int64_t> expected(candidates.subsets());
  candidates.add_sums(x, sums);
  naive_sums(unpacked(candidates), x, expected);
  if (sums != expected) state.SkipWithError("wrong sums");
  for (auto _ : state) {
    candidates.add_sums(x, sums);
    benchmark::DoNotOptimize(sums.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(add_sums)->Args({1000, 128})->Args({1000, 1024})->Args({100'000, 128});

void add_sums_naive(benchmark::State& state) {
  auto const candidates = candidates_of(state);
  auto const member = unpacked(candidates);
  auto const x = addends(candidates.records());
  std::vector<std::int64_t> sums(candidates.subsets());
  for (auto _ : state) {
    naive_sums(member, x, sums);
    benchmark::DoNotOptimize(sums.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(add_sums_naive)->Args({1000, 128});

void membership_sums(benchmark::State& state) {
  auto const candidates = candidates_of(state);
  std::vector<double> const weight(candidates.subsets(),
                                   1.0 / static_cast<double>(candidates.subsets()));
  std::vector<double> belief(candidates.records());
  candidates.membership_sums(weight, belief);
  for (double const p : belief) {
    if (!(std::abs(p - 0.5) < 1e-12)) state.SkipWithError("wrong sums");
  }
  for (auto _ : state) {
    candidates.membership_sums(weight, belief);
    benchmark::DoNotOptimize(belief.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(membership_sums)->Args({1000, 128})->Args({1000, 1024})->Args({100'000, 128});

void build_candidates(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(candidates_of(state));
}
BENCHMARK(build_candidates)->Args({1000, 128})->Unit(benchmark::kMicrosecond);

void quantise(benchmark::State& state) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  std::vector<double> x(static_cast<std::size_t>(state.range(0)));
  for (double& v : x) v = normal(random);
  std::vector<std::int32_t> k(x.size());
  tacit::fixed_point const grid;
  grid.quantise(x, k);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(std::abs(k[i] * grid.quantum() - x[i]) <= grid.quantum() / 2)) {
      state.SkipWithError("wrong grid point");
    }
  }
  for (auto _ : state) {
    grid.quantise(x, k);
    benchmark::DoNotOptimize(k.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(quantise)->Arg(1000);

std::vector<std::int8_t> random_signs(std::size_t count) {
  std::mt19937_64 random(4);
  std::vector<std::int8_t> signs(count);
  for (std::int8_t& s : signs) s = (random() & 1) != 0 ? 1 : -1;
  return signs;
}

// Alternating releases, so that the belief stays where it is.
void observe_sign(benchmark::State& state) {
  auto const signs = random_signs(static_cast<std::size_t>(state.range(0)));
  tacit::posterior belief(signs.size());
  bool up = false;
  for (auto _ : state) {
    up = !up;
    belief.observe_sign(signs, up ? tacit::sign::plus : tacit::sign::minus,
                        tacit::flip::with_correlation(0.1));
    benchmark::DoNotOptimize(belief.probabilities().data());
    benchmark::ClobberMemory();
  }
  double total = 0.0;
  for (double const p : belief.probabilities()) total += p;
  if (!(std::abs(total - 1.0) < 1e-9)) state.SkipWithError("not normalised");
}
BENCHMARK(observe_sign)->RangeMultiplier(10)->Range(1000, 1'000'000)->Arg(128);

void observe_value(benchmark::State& state) {
  auto const signs = random_signs(static_cast<std::size_t>(state.range(0)));
  tacit::posterior belief(signs.size());
  double value = 0.7;
  for (auto _ : state) {
    value = -value;
    belief.observe_value(signs, value, 4.0);
    benchmark::DoNotOptimize(belief.probabilities().data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(observe_value)->RangeMultiplier(10)->Range(1000, 1'000'000)->Arg(128);

void agreement(benchmark::State& state) {
  auto const signs = random_signs(static_cast<std::size_t>(state.range(0)));
  tacit::posterior const belief(signs.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(belief.agreement(signs));
    benchmark::DoNotOptimize(belief.unanimous(signs));
  }
}
BENCHMARK(agreement)->Arg(128)->Arg(1'000'000);

}  // namespace

BENCHMARK_MAIN();
