// SPDX-License-Identifier: Apache-2.0
//
// A whole release step of PACZero: quantise, subset sums, belief, price, charge, draw, update. Runs
// of 1000 steps, one after the other, as in practice: the belief moves, and the transcript grows. A
// fresh run is set up off the clock. `paid` is the share of steps that bought a sign; the others were
// unanimous, too expensive or void, and took less time.
//
// Private answers: M candidates' answers in, one noised out, 2⁻³² nats each; `nats` are those spent on a million. In a
// file: each with its charge (`one_by_one`: the time of a write to a disk), or charged for some thousands at a time.

#include <tacit/mechanism/answering.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_answering.hpp>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using tacit::paczero_report;

// Standard normal scalars: what a loss that is near its minimum gives. Their sum decides how far the
// subsets agree, so a pool of them meets all cases.
std::vector<std::vector<double>> scalar_pool(std::size_t records) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  std::vector<std::vector<double>> pool(32, std::vector<double>(records));
  for (auto& scalars : pool) {
    for (double& g : scalars) g = normal(random);
  }
  return pool;
}

void release_step(benchmark::State& state, tacit::paczero_options options) {
  options.steps = 1000;
  tacit::candidate_set const candidates =
      tacit::candidate_set::balanced({.records = static_cast<std::size_t>(state.range(0)),
                                      .subsets = static_cast<std::size_t>(state.range(1))},
                                     1);
  auto const pool = scalar_pool(candidates.records());
  auto mechanism = std::make_unique<tacit::paczero<>>(options, candidates);
  std::size_t turn = 0;
  std::size_t paid = 0;
  for (auto _ : state) {
    if (mechanism->done()) {
      state.PauseTiming();
      mechanism = std::make_unique<tacit::paczero<>>(options, candidates);
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(mechanism->step(pool[turn++ % pool.size()]));
    paid += mechanism->last().front().what == paczero_report::kind::paid;
  }
  state.counters["paid"] = static_cast<double>(paid) / static_cast<double>(turn);
  if (options.ledger == tacit::ledger_kind::subset && mechanism->spent() > options.budget) {
    state.SkipWithError("overspent");
  }
}

tacit::nats const budget(0.33);

/// Every record is in a group with its neighbour.
std::vector<std::vector<std::size_t>> pairs(std::size_t records) {
  std::vector<std::vector<std::size_t>> out;
  for (std::size_t i = 0; i + 1 < records; i += 2) out.push_back({i, i + 1});
  return out;
}

BENCHMARK_CAPTURE(release_step, subset_sign, {.budget = budget})
    ->Args({1000, 128})
    ->Args({1000, 1024})
    ->Args({1000, 4096})
    ->Args({10'000, 128});
BENCHMARK_CAPTURE(release_step, subset_value, {.budget = budget, .what = tacit::observed::value})
    ->Args({1000, 128});
BENCHMARK_CAPTURE(release_step, record, {.budget = budget, .ledger = tacit::ledger_kind::record})
    ->Args({1000, 128});
BENCHMARK_CAPTURE(release_step, pathwise, {.ledger = tacit::ledger_kind::pathwise, .kappa = 0.05})
    ->Args({1000, 128});
BENCHMARK_CAPTURE(release_step, record_and_kappa,
                  {.budget = budget, .ledger = tacit::ledger_kind::record, .kappa = 0.3})
    ->Args({1000, 128});
BENCHMARK_CAPTURE(release_step, record_and_pairs,
                  {.budget = budget,
                   .ledger = tacit::ledger_kind::record,
                   .groups = pairs(1000),
                   .group_budget = budget})
    ->Args({1000, 128});
BENCHMARK_CAPTURE(release_step, zero_leakage_hold, {.budget = tacit::nats(0.0)})->Args({1000, 128});

/// Standard normal answers, some queries of a column a cell.
struct query_pool {
  std::vector<Eigen::MatrixXd> cells;
  std::vector<std::vector<double>> first;  // cell

  query_pool(std::int64_t candidates, std::int64_t width) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    for (int n = 0; n < 32; ++n) {
      Eigen::MatrixXd& answers = cells.emplace_back(candidates, width);
      for (double& y : answers.reshaped()) y = 10.0 + normal(random);
      first.emplace_back(answers.data(), answers.data() + candidates);
    }
  }
};

constexpr double no_cap = std::numeric_limits<double>::infinity();

// range(0): candidates, range(1): cells.
void private_answer(benchmark::State& state, tacit::answer_axes axes, double kappa) {
  query_pool const pool(state.range(0), state.range(1));
  tacit::answering<> answers(tacit::given_answers{static_cast<std::size_t>(state.range(0))},
                             {.budget = tacit::nats(1.0),
                              .per_answer = tacit::nats(0x1p-32),
                              .how = {.axes = axes},
                              .kappa = kappa});
  std::size_t turn = 0;
  for (auto _ : state) {
    std::size_t const at = turn++ % pool.cells.size();
    if (state.range(1) == 1) {
      benchmark::DoNotOptimize(answers.answer(pool.first[at]));
    } else {
      benchmark::DoNotOptimize(answers.answer(pool.cells[at]));
    }
  }
  state.counters["nats"] = answers.spent().value / static_cast<double>(turn) * 1e6;
}

BENCHMARK_CAPTURE(private_answer, together, tacit::answer_axes::principal, no_cap)
    ->Args({64, 1})
    ->Args({128, 1})
    ->Args({1024, 1})
    ->Args({128, 10});
BENCHMARK_CAPTURE(private_answer, apart, tacit::answer_axes::coordinates, no_cap)->Args({128, 10});
BENCHMARK_CAPTURE(private_answer, within_kappa, tacit::answer_axes::principal, 0.25)
    ->Args({128, 1})
    ->Args({128, 10});

// In the folder for temporary files; range(0): candidates, of one cell.
void stored_answer(benchmark::State& state, double ahead) {
  query_pool const pool(state.range(0), 1);
  std::filesystem::path const file = std::filesystem::temp_directory_path() /
                                     ("tacit_bench_answers_" + std::to_string(::getpid()));
  std::filesystem::remove(file);
  {
    tacit::saved_answering<> answers(
        tacit::given_answers{static_cast<std::size_t>(state.range(0))},
        {.budget = tacit::nats(1.0), .per_answer = tacit::nats(0x1p-32)}, file, tacit::nats(ahead));
    std::size_t turn = 0;
    for (auto _ : state) {
      benchmark::DoNotOptimize(answers.answer(pool.first[turn++ % pool.first.size()]));
    }
  }
  std::filesystem::remove(file);
}

BENCHMARK_CAPTURE(stored_answer, one_by_one, 0.0)->Arg(128)->UseRealTime();
BENCHMARK_CAPTURE(stored_answer, ahead, 0x1p-20)->Arg(128)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
