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
  double const rate = run.options.rate;
  double const multiplier = run.gaussian_multiplier(rate);
  double const sigma = multiplier * clip;
  tacit::dp_aggzo<> mechanism(run.noisy_sum(multiplier, rate), k, run.inside);
  std::vector<double> contributions(n * k);
  take_zeroth_order_steps(
      run, mechanism,
      [&](zeroth_order_view const& seen) {
        std::vector<double> residual(k);
        for (std::size_t j = 0; j < k; ++j) {
          residual[j] = seen.released.coefficients[j] * mechanism.options().divisor();
        }
        for (std::size_t i = 0; i < n; ++i) {
          double norm = 0.0;
          for (std::size_t j = 0; j < k; ++j) {
            contributions[i * k + j] = seen.scalars[j * n + i] / static_cast<double>(k);
            norm = std::hypot(norm, contributions[i * k + j]);
          }
          double const scale = norm > clip ? clip / norm : 1.0;
          for (std::size_t j = 0; j < k; ++j) {
            contributions[i * k + j] *= scale;
            if (seen.batch[i] != 0) residual[j] -= contributions[i * k + j];
          }
        }
        run.attacker.observe(contributions, seen.batch, residual, std::span(&sigma, 1), rate);
      },
      describe(k == 1 ? "dpzero" : "dp_aggzo", mechanism.options(), n));
  run.account_for(mechanism.event());
}

void tune_dp_zo_laplace(tuning_run& run) {
  run.choose_members();
  std::size_t const n = run.records();
  double const clip = run.options.clip;
  double const rate = run.options.rate;
  // T steps of ε/T each, which is log(1 + q·(e^(1/multiplier) − 1)).
  double const share = run.options.target.epsilon / static_cast<double>(run.options.steps);
  double const multiplier = 1.0 / (rate == 1.0 ? share : std::log1p(std::expm1(share) / rate));
  tacit::dp_zo_laplace<> mechanism(run.noisy_sum(multiplier, rate), run.inside);
  std::vector<double> evidence(n);
  take_zeroth_order_steps(
      run, mechanism,
      [&](zeroth_order_view const& seen) {
        double residual = seen.released.coefficients.front() * mechanism.options().divisor();
        std::vector<double> clipped(seen.scalars.begin(), seen.scalars.end());
        for (std::size_t i = 0; i < n; ++i) {
          clipped[i] = std::clamp(clipped[i], -clip, clip);
          if (seen.batch[i] != 0) residual -= clipped[i];
        }
        for (std::size_t i = 0; i < n; ++i) {
          double const without = seen.batch[i] != 0 ? residual + clipped[i] : residual;
          double const in =
              (std::abs(without) - std::abs(without - clipped[i])) / (multiplier * clip);
          evidence[i] = rate == 1.0 ? in : std::log1p(rate * std::expm1(in));
        }
        run.attacker.observe_evidence(evidence);
      },
      describe("dp_zo_laplace", mechanism.options(), n));
  run.account_for(mechanism.event());
}

}  // namespace apps
