// SPDX-License-Identifier: Apache-2.0
//
// DPZero, DP-AggZO and DP-ZO with Laplace noise: a noisy scalar a direction.

#include <tacit/mechanism/dp_zo_laplace.hpp>
#include <tacit/mechanism/dpzero.hpp>

#include "finetune/tuning_run.hpp"
#include "finetune/zeroth_order.hpp"

#include <algorithm>
#include <cmath>

namespace apps {

void tune_dp_aggzo(tuning_run& run) {
  run.choose_members();
  std::size_t const n = run.records();
  std::size_t const k =
      run.options.system == tuning_system::dp_aggzo ? run.options.directions : std::size_t{1};
  double const clip = run.options.clip;
  double const multiplier = run.gaussian_multiplier();
  double const sigma = multiplier * clip;
  tacit::dp_aggzo<> mechanism(run.noisy_sum(multiplier), k, run.inside);
  std::vector<double> contributions(n * k);
  take_zeroth_order_steps(
      run, mechanism,
      [&](std::span<double const> scalars, tacit::release const& released) {
        std::vector<double> residual(k);
        for (std::size_t j = 0; j < k; ++j) {
          residual[j] = released.coefficients[j] * run.expected_members();
        }
        for (std::size_t i = 0; i < n; ++i) {
          double norm = 0.0;
          for (std::size_t j = 0; j < k; ++j) {
            contributions[i * k + j] = scalars[j * n + i] / static_cast<double>(k);
            norm = std::hypot(norm, contributions[i * k + j]);
          }
          double const scale = norm > clip ? clip / norm : 1.0;
          for (std::size_t j = 0; j < k; ++j) {
            contributions[i * k + j] *= scale;
            if (run.inside[i]) residual[j] -= contributions[i * k + j];
          }
        }
        run.attacker.observe(contributions, run.flags, residual, std::span(&sigma, 1));
      },
      describe(k == 1 ? "dpzero" : "dp_aggzo", mechanism.options(), n));
  run.account_for(mechanism.event());
}

void tune_dp_zo_laplace(tuning_run& run) {
  run.choose_members();
  std::size_t const n = run.records();
  double const clip = run.options.clip;
  // T steps of ε/T each.
  double const multiplier = static_cast<double>(run.options.steps) / run.options.target.epsilon;
  tacit::dp_zo_laplace<> mechanism(run.noisy_sum(multiplier), run.inside);
  std::vector<double> evidence(n);
  take_zeroth_order_steps(
      run, mechanism,
      [&](std::span<double const> scalars, tacit::release const& released) {
        double residual = released.coefficients.front() * run.expected_members();
        std::vector<double> clipped(scalars.begin(), scalars.end());
        for (std::size_t i = 0; i < n; ++i) {
          clipped[i] = std::clamp(clipped[i], -clip, clip);
          if (run.inside[i]) residual -= clipped[i];
        }
        for (std::size_t i = 0; i < n; ++i) {
          double const without = run.inside[i] ? residual + clipped[i] : residual;
          evidence[i] = (std::abs(without) - std::abs(without - clipped[i])) / (multiplier * clip);
        }
        run.attacker.observe_evidence(evidence);
      },
      describe("dp_zo_laplace", mechanism.options(), n));
  run.account_for(mechanism.event());
}

}  // namespace apps
