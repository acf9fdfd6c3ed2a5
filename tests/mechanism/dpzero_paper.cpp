// SPDX-License-Identifier: Apache-2.0
//
// The formulas of the DPZero paper (arXiv 2310.09639), by the exact account.

#include <tacit/core/units.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/info/conversion.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <numbers>

namespace dpzero_paper_tests {

using namespace tacit;

namespace {

/// Algorithm 2: σ of the mean over n records, each clipped at C, for T steps without sampling, under
/// replace_one. As a noise multiplier: σ·n/C.
double paper_sigma(double clip, double steps, double records, approx_dp target) {
  double const log_term = std::log(std::numbers::e + target.epsilon / target.delta);
  return 4.0 * clip * std::sqrt(2.0 * log_term) * std::sqrt(steps) / (records * target.epsilon);
}

/// T steps of sensitivity 2C/n: μ = √T·(2C/n)/σ.
bool is_enough(double sigma, double clip, double steps, double records, approx_dp target) {
  gaussian_dp const run{std::sqrt(steps) * 2.0 * clip / (records * sigma)};
  return delta(run, target.epsilon).upper <= target.delta;
}

/// Theorem 3, for an L-Lipschitz, ℓ-smooth loss of every record, of effective rank r (‖H‖₂ ≤ ℓ and
/// tr H ≤ rℓ), in d dimensions.
struct problem {
  double lipschitz;
  double smoothness;
  double effective_rank;
  double dimension;
  double records;
};

struct parameters_of_theorem {
  double learning_rate;
  double steps;
  double clip;
  double smoothing;
};

/// α = 1/(4ℓ(r+2)), T = n(r+2)ε/(4√(r·log(e + ε/δ))) (rounded), C = √2·C₀, λ = 2(√2−1)·C₀/(ℓd), with C₀
/// such that none of the T·n scalars is clipped but with probability `clipping`: of one,
/// |⟨z, ∇f_i⟩| ≥ C₀ has probability at most 2√(2π)·e^(−C₀²/8L²) on the sphere, and the two-point
/// scalar differs from ⟨z, ∇f_i⟩ by at most λℓd/2 = (√2−1)·C₀.
parameters_of_theorem theorem_3(problem const& of, approx_dp target, double clipping) {
  double const r = of.effective_rank;
  double const log_term = std::log(std::numbers::e + target.epsilon / target.delta);
  double const steps =
      std::round(0.25 * of.records * (r + 2.0) * target.epsilon / std::sqrt(r * log_term));
  double const odds = 2.0 * std::sqrt(2.0 * std::numbers::pi) * steps * of.records / clipping;
  double const c0 = of.lipschitz * std::sqrt(8.0 * std::log(odds));
  return {0.25 / (of.smoothness * (r + 2.0)), steps, std::numbers::sqrt2 * c0,
          2.0 * (std::numbers::sqrt2 - 1.0) * c0 / (of.smoothness * of.dimension)};
}

}  // namespace

TEST_CASE("DPZero's own noise: more than twice the least, and too little where epsilon is large") {
  constexpr double steps = 1000;
  constexpr double n = 10'000;
  for (double const epsilon : {1.0, 2.0, 4.0, 8.0}) {
    approx_dp const target{epsilon, 1e-5};
    double const multiplier = paper_sigma(3.0, steps, n, target) * n / 3.0;
    // μ of T steps under replace_one: 2√T/multiplier.
    double const least = 2.0 * std::sqrt(steps) / gaussian_dp_for(target).mu;
    CHECK(multiplier / least > 2.17);
    CHECK(multiplier / least < 2.58);
  }
  CHECK(paper_sigma(1.0, 1, 1, {2.0, 1e-5}) ==
        Approx(2.0 * std::sqrt(2.0 * std::log(std::exp(1.0) + 2e5))));
  auto const enough = [&](approx_dp target) {
    return is_enough(paper_sigma(3.0, steps, n, target), 3.0, steps, n, target);
  };
  CHECK(enough({169.2, 1e-5}));
  CHECK(!enough({169.4, 1e-5}));
  CHECK(!enough({1000.0, 1e-5}));
  CHECK(enough({188.8, 1e-6}));
  CHECK(!enough({189.0, 1e-6}));
}

TEST_CASE("Theorem 3 of DPZero: its formulas, and a clip that hardly ever clips") {
  problem const of{
      .lipschitz = 2.0, .smoothness = 0.5, .effective_rank = 7.0, .dimension = 30, .records = 1000};
  parameters_of_theorem const found = theorem_3(of, {2.0, 1e-6}, 0.01);
  CHECK(found.learning_rate == Approx(1.0 / (4.0 * 0.5 * 9.0)));
  CHECK(found.steps ==
        std::round(1000 * 9 * 2.0 / (4.0 * std::sqrt(7.0 * std::log(std::exp(1.0) + 2e6)))));
  double const c0 = found.clip / std::sqrt(2.0);
  double const scalars = 1000.0 * found.steps;
  CHECK(scalars * 2.0 * std::sqrt(2.0 * 3.14159265358979) * std::exp(-c0 * c0 / 32.0) ==
        Approx(0.01));
  CHECK(c0 + 0.5 * found.smoothing * 0.5 * 30 == Approx(found.clip));
}

}  // namespace dpzero_paper_tests
