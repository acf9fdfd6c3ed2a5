// SPDX-License-Identifier: Apache-2.0
#include "finetune/gradients.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace apps {

step_gradients::step_gradients(tuning_run& run, std::function<void(std::span<float>)> change)
    : run_(&run),
      change_(std::move(change)),
      dimension_(run.theta.size()),
      all_(run.options.attacked ? run.records() * dimension_ : 0) {}

void step_gradients::write(std::size_t record, std::span<float> out) {
  batch_[record] = 1;
  ++run_->result.gradients_evaluated;
  compute(record, out);
}

void step_gradients::compute_all() {
  for (std::size_t i = 0; i < run_->records(); ++i) compute(i, at(i));
}

void step_gradients::compute(std::size_t record, std::span<float> out) {
  run_->of.gradient(run_->theta, record, out);
  if (change_) change_(out);
}

void show_noisy_gradient(tuning_run& run, step_gradients& gradients,
                         std::span<float const> released, double divisor,
                         std::vector<clipped_part> const& parts) {
  run.let_attacker([&] {
    gradients.compute_all();
    std::size_t const n = run.records();
    std::vector<double> evidence(n, 0.0);
    std::vector<double> residual(released.size());
    std::vector<double> scale(n);
    for (clipped_part const& p : parts) {
      for (std::size_t j = p.first; j < p.last; ++j) residual[j] = double{released[j]} * divisor;
      std::vector<double> squares(n);
      for (std::size_t i = 0; i < n; ++i) {
        auto const g = gradients.at(i);
        double sum = 0.0;
        for (std::size_t j = p.first; j < p.last; ++j) sum += double{g[j]} * double{g[j]};
        double const norm = std::sqrt(sum);
        scale[i] = norm > p.clip ? p.clip / norm : 1.0;
        squares[i] = sum * scale[i] * scale[i];
        if (gradients.batch()[i] == 0) continue;
        for (std::size_t j = p.first; j < p.last; ++j) residual[j] -= scale[i] * double{g[j]};
      }
      for (std::size_t i = 0; i < n; ++i) {
        auto const g = gradients.at(i);
        double dot = 0.0;
        for (std::size_t j = p.first; j < p.last; ++j) dot += double{g[j]} * residual[j];
        double const side = gradients.batch()[i] != 0 ? 0.5 : -0.5;
        evidence[i] += (scale[i] * dot + side * squares[i]) / (p.sigma * p.sigma);
      }
    }
    double const rate = run.options.rate;
    if (rate < 1.0) {
      for (double& e : evidence) e = std::log1p(rate * std::expm1(std::min(e, 700.0)));
    }
    run.attacker.observe_evidence(evidence);
  });
}

std::vector<std::size_t> tensor_sizes(model const& of) {
  std::vector<std::size_t> sizes;
  for (auto const& [name, shape] : of.tensors()) sizes.push_back(entries(shape));
  return sizes;
}

}  // namespace apps
