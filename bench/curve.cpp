// SPDX-License-Identifier: Apache-2.0
//
// What a trade-off curve costs: of a thousand knots, from a composed accountant, and a thousand of its answers. The counter
// `apart` is how far the ends are apart at worst, as a share of the true positive rate, `knots` how many were asked.

#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/trade_off_curve.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace {

using tacit::adjacency;
using tacit::composed;
using tacit::gaussian;
using tacit::poisson;

struct subject {
  char const* name;
  std::vector<composed> run;
  adjacency neighbours = adjacency::add_remove;
};

std::vector<subject> const subjects{
    {"line", {{sampled(gaussian{1.0}, poisson{0.01}), 1000}}},
    {"rays", {{sampled(gaussian{0.7}, poisson{1e-3}), 10'000}}},
    {"two",
     {{sampled(gaussian{1.0}, poisson{0.01}), 1000},
      {sampled(gaussian{0.7}, poisson{1e-3}), 10'000}}},
    {"laplace", {{sampled(tacit::laplace{1.0}, poisson{0.01}), 1000}}},
    {"persons", {{by_person(sampled(gaussian{1.0}, poisson{0.01}), 3), 1000}}},
    {"substitutes", {{sampled(gaussian{1.0}, poisson{0.01}), 1000}}, adjacency::replace_one},
    {"batches",
     {{sampled(gaussian{1.0}, tacit::fixed_size{100, 10'000}), 1000}},
     adjacency::replace_one},
    {"responses", {{tacit::randomised_response{0.1}, 1000}}, adjacency::replace_one},
    {"integers", {{tacit::discrete_gaussian{10.0}, 1000}}},
    {"one_epoch", {{sampled(gaussian{1.0}, tacit::random_allocation{1000}), 1}}},
    {"ten_epochs", {{sampled(gaussian{1.0}, tacit::random_allocation{1000}), 10}}},
    {"thousand_epochs", {{sampled(gaussian{1.0}, tacit::random_allocation{1000}), 1000}}},
};

std::vector<double> const rates = [] {
  std::vector<double> all;
  for (int k = 1; k <= 1000; ++k) all.push_back(std::pow(10.0, -9.0 + 0.009 * k));
  return all;
}();

double apart(tacit::trade_off_curve const& curve) {
  double most = 0.0;
  for (double const rate : rates) {
    tacit::bound<double> const hit = curve.true_positive_rate(rate);
    most = std::max(most, (hit.upper - hit.lower) / hit.upper);
  }
  return most;
}

void time_curve(subject const& of, std::size_t knots, double tolerance) {
  std::string const name = std::string("curve/") + of.name + "/knots=" + std::to_string(knots);
  benchmark::RegisterBenchmark(name.c_str(), [of, knots, tolerance](benchmark::State& state) {
    tacit::privacy_loss_accountant run(of.neighbours);
    for (composed const& entry : of.run) run.compose(entry.release, entry.count);
    auto const asked = [&] {
      return tacit::trade_off_curve(run, run.neighbours(),
                                    {.knots = knots, .tolerance = tolerance});
    };
    for (auto _ : state) {
      double const advantage = asked().advantage().upper;
      benchmark::DoNotOptimize(std::as_const(advantage));
    }
    state.counters["apart"] = apart(asked());
    state.counters["knots"] = static_cast<double>(asked().knots().size());
  })->Unit(benchmark::kMillisecond);
}

void time_rates(subject const& of, std::size_t knots, double tolerance) {
  std::string const name =
      std::string("thousand_rates/") + of.name + "/knots=" + std::to_string(knots);
  benchmark::RegisterBenchmark(name.c_str(), [of, knots, tolerance](benchmark::State& state) {
    tacit::privacy_loss_accountant run(of.neighbours);
    for (composed const& entry : of.run) run.compose(entry.release, entry.count);
    tacit::trade_off_curve const curve(run, run.neighbours(),
                                       {.knots = knots, .tolerance = tolerance});
    for (auto _ : state) {
      double sum = 0.0;
      for (double const rate : rates) sum += curve.false_negative_rate(rate).upper;
      benchmark::DoNotOptimize(std::as_const(sum));
    }
    state.counters["apart"] = apart(curve);
  })->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  for (subject const& of : subjects) {
    for (auto const& [knots, tolerance] : {std::pair(96, 1e-6), std::pair(1000, 0.0)}) {
      time_curve(of, static_cast<std::size_t>(knots), tolerance);
      time_rates(of, static_cast<std::size_t>(knots), tolerance);
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
