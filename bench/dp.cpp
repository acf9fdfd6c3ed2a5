// SPDX-License-Identifier: Apache-2.0
//
// What a run of DP-SGD costs to account for, from an empty accountant to ε, and the noise for a target.
// The counters `lower` and `upper` are the answers: bench/peers/accountants.py asks the same questions.
// Inputs are volatile, so that nothing is computed once and reused. (DoNotOptimize of a non-const double
// changes its value under g++ 12 and Google Benchmark 1.7.1.)

#include <tacit/dp/calibration.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using history = std::vector<tacit::composed>;

history sampled_gaussian(double rate, double sigma, std::uint64_t steps) {
  return {
      {sampled(tacit::gaussian{.noise_multiplier = sigma}, tacit::poisson{.rate = rate}), steps}};
}

history const run_a = sampled_gaussian(0.01, 1.0, 10'000);
history const run_b = sampled_gaussian(1e-3, 0.6, 100'000);
history const run_c = sampled_gaussian(0.5, 10.0, 1000);

/// The same sum of squares as A, spread over 10^8 steps, and the first 10^4 of them.
history const long_run = sampled_gaussian(0.01, 100.0, 100'000'000);
history const short_run = sampled_gaussian(0.01, 100.0, 10'000);

/// As many steps as A, and a noise of its own for every hundred of them: 1, 1.01, … 1.99.
history schedule() {
  history result;
  for (int k = 0; k < 100; ++k) {
    result.push_back(sampled_gaussian(0.01, 1.0 + 0.01 * k, 100).front());
  }
  return result;
}

/// Every record takes part in some of 1000 steps of an epoch, at random.
history allocated(std::uint64_t part, std::uint64_t epochs) {
  return {{sampled(tacit::gaussian{.noise_multiplier = 1.0}, tacit::random_allocation{1000, part}),
           epochs}};
}

void report(benchmark::State& state, tacit::bound<double> answer) {
  state.counters["lower"] = answer.lower;
  state.counters["upper"] = answer.upper;
}

template <class Accountant>
void time_epsilon(std::string const& label, history const& run, double delta) {
  std::ostringstream name;
  name << "epsilon/" << Accountant::name << '/' << label << "/delta=" << delta;
  benchmark::RegisterBenchmark(name.str().c_str(), [run, delta](benchmark::State& state) {
    double const volatile at = delta;
    tacit::bound<double> answer{};
    for (auto _ : state) {
      Accountant spent;
      for (tacit::composed const& entry : run) spent.compose(entry.release, entry.count);
      answer = spent.epsilon(at);
      benchmark::DoNotOptimize(std::as_const(answer));
    }
    report(state, answer);
  });
}

template <class Accountant>
void time_noise() {
  std::string const name = "noise/" + std::string(Accountant::name);
  benchmark::RegisterBenchmark(name.c_str(), [](benchmark::State& state) {
    double const volatile epsilon = 2.0;
    double sigma = 0.0;
    for (auto _ : state) {
      sigma = tacit::noise_multiplier_for<Accountant>({.epsilon = epsilon, .delta = 1e-5},
                                                      tacit::poisson{.rate = 0.01}, 10'000);
      benchmark::DoNotOptimize(std::as_const(sigma));
    }
    // How near to the target it comes, certified.
    Accountant spent;
    spent.compose(sampled_gaussian(0.01, sigma, 1).front().release, 10'000);
    tacit::bound<double> const reached = spent.epsilon(1e-5);
    if (!(reached.upper <= epsilon)) state.SkipWithError("overspent");
    state.counters["upper"] = sigma;
    state.counters["reached"] = reached.upper;
  });
}

/// A function of μ and x at one pair, with its certified answer.
template <class Function>
void time_gaussian(std::string const& name, double mu, double x, Function f) {
  benchmark::RegisterBenchmark(name.c_str(), [f, mu, x](benchmark::State& state) {
    double const volatile shift = mu;
    double const volatile at = x;
    tacit::bound<double> answer{};
    for (auto _ : state) {
      answer = f(tacit::gaussian_dp{shift}, at);
      benchmark::DoNotOptimize(std::as_const(answer));
    }
    report(state, answer);
  });
}

}  // namespace

int main(int argc, char** argv) {
  using tacit::discretised_accountant;
  using tacit::privacy_loss_accountant;
  using tacit::renyi_accountant;

  for (auto const& [name, run] : {std::pair("A", run_a), std::pair("B", run_b),
                                  std::pair("C", run_c), std::pair("short", short_run),
                                  std::pair("long", long_run), std::pair("schedule", schedule())}) {
    time_epsilon<privacy_loss_accountant>(name, run, 1e-5);
    time_epsilon<renyi_accountant>(name, run, 1e-5);
  }
  for (double const delta : {1e-10, 1e-12, 1e-14, 1e-20, 1e-50, 1e-100}) {
    time_epsilon<privacy_loss_accountant>("A", run_a, delta);
  }
  time_epsilon<privacy_loss_accountant>("allocation/1", allocated(1, 1), 1e-6);
  time_epsilon<privacy_loss_accountant>("allocation/10", allocated(1, 10), 1e-6);
  time_epsilon<privacy_loss_accountant>("allocation/2of1000", allocated(2, 1), 1e-6);
  time_epsilon<discretised_accountant>("A", run_a, 1e-5);
  time_epsilon<discretised_accountant>("A", run_a, 1e-20);

  time_noise<privacy_loss_accountant>();
  time_noise<renyi_accountant>();

  time_gaussian("delta_of_mu", 1.0, 1.0,
                [](tacit::gaussian_dp mu, double epsilon) { return tacit::delta(mu, epsilon); });
  time_gaussian("epsilon_of_mu", 1.0, 1e-5,
                [](tacit::gaussian_dp mu, double delta) { return tacit::epsilon(mu, delta); });

  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
