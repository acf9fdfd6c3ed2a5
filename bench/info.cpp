// SPDX-License-Identifier: Apache-2.0
//
// Information, its inverse and the attack bounds. Inputs are hidden from the compiler at every turn,
// so that nothing is computed once and reused.

#include <tacit/core/quadrature.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/info/binary_channel.hpp>
#include <tacit/info/gauss_hermite_information.hpp>
#include <tacit/info/sign_channel.hpp>

#include <benchmark/benchmark.h>

#include <initializer_list>
#include <sstream>
#include <string>

namespace {

struct inputs {
  double x;
  double y;
};

/// Registers a function of two numbers at each pair of inputs, as `name/x=…/y=…`.
template <class Function>
void time_at(std::string const& name, std::string const& x_name, std::string const& y_name,
             std::initializer_list<inputs> points, Function f) {
  for (inputs const at : points) {
    std::ostringstream label;
    label << name << '/' << x_name << '=' << at.x << '/' << y_name << '=' << at.y;
    benchmark::RegisterBenchmark(label.str().c_str(), [f, at](benchmark::State& state) {
      double first = at.x;
      double second = at.y;
      for (auto _ : state) {
        benchmark::DoNotOptimize(first);
        benchmark::DoNotOptimize(second);
        benchmark::DoNotOptimize(f(first, second));
      }
    });
  }
}

double sigma_for(double prior, double budget) {
  return tacit::noise_for(tacit::binary_channel{.prior = prior}, tacit::nats(budget));
}

tacit::flip flip_for(double prior, double budget) {
  return tacit::noise_for(tacit::sign_channel{.prior = prior}, tacit::nats(budget));
}

}  // namespace

int main(int argc, char** argv) {
  time_at("information_of_value", "prior", "sigma",
          {{0.3, 20.0}, {0.5, 1e4}, {0.3, 1.0}, {0.3, 0.5}, {1e-9, 0.3}}, [](double q, double s) {
            return tacit::mutual_information(tacit::binary_channel{.prior = q, .sigma = s});
          });

  // The published rule in the same language: what is gained by the formula, not by the compiler.
  time_at("information_by_gauss_hermite_60", "prior", "sigma", {{0.3, 20.0}},
          [rule = tacit::gauss_hermite(60)](double q, double s) {
            return tacit::gauss_hermite_information(tacit::binary_channel{.prior = q, .sigma = s},
                                                    rule);
          });

  time_at("information_of_sign", "prior", "sigma", {{0.3, 20.0}, {0.3, 0.5}},
          [](double q, double s) {
            return tacit::mutual_information(
                tacit::sign_channel{.prior = q, .noise = tacit::flip_of_gaussian(s)});
          });

  time_at("sigma_for", "prior", "nats",
          {{0.3, 1e-7}, {0.3, 3.3e-4}, {0.3, 0.01}, {0.3, 0.25}, {0.3, 0.55}, {1e-9, 1e-9}},
          sigma_for);
  time_at("flip_for", "prior", "nats", {{0.3, 3.3e-4}, {0.3, 0.25}, {0.3, 0.55}}, flip_for);

  time_at("attack_success", "nats", "prior", {{0.33, 0.5}}, [](double budget, double prior) {
    return tacit::attack_success(tacit::nats(budget), prior);
  });
  time_at("membership_success", "nats", "prior", {{0.33, 0.5}}, [](double budget, double prior) {
    return tacit::membership_success(tacit::nats(budget), prior);
  });

  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
