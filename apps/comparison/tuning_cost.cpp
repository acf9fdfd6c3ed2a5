// SPDX-License-Identifier: Apache-2.0
#include "tuning_cost.hpp"

#include <tacit/dp/calibration.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/selection.hpp>

#include "output/format.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

namespace apps {

namespace {

using namespace tacit;

// What a step of these many is charged as.
std::optional<event> step_of(compared_row const& row, setting const& s) {
  using enum tuning_system;
  tuning_options const& o = row.options;
  switch (o.system) {
    case dpzero:
    case dp_aggzo:
    case dpgd_0th:
    case dp_sgd: {
      double const noise =
          noise_multiplier_for<privacy_loss_accountant>(o.target, poisson{s.rate}, s.steps);
      return sampled(gaussian{noise}, poisson{s.rate});
    }
    case dp_zo_laplace: {
      double const share = o.target.epsilon / static_cast<double>(s.steps);
      double const noise = 1.0 / (s.rate == 1.0 ? share : std::log1p(std::expm1(share) / s.rate));
      return sampled(laplace{noise}, poisson{s.rate});
    }
    case rldp: {
      if (o.controller != "fixed") return std::nullopt;
      // The groups' joint noise, of which the run has a hundred-thousandth more.
      double const noise =
          noise_multiplier_for<renyi_accountant>(o.target, poisson{s.rate}, s.steps);
      return sampled(gaussian{noise}, poisson{s.rate});
    }
    default:
      return std::nullopt;
  }
}

// A run whose setting is drawn: by convexity its profile is at most the largest at each ε.
struct worst_of {
  std::vector<privacy_loss_accountant> all;

  bound<double> epsilon(double delta) const {
    return largest([&](privacy_loss_accountant const& one) { return one.epsilon(delta); });
  }
  bound<double> delta(double epsilon) const {
    return largest([&](privacy_loss_accountant const& one) { return one.delta(epsilon); });
  }

 private:
  template <class Ask>
  bound<double> largest(Ask const& ask) const {
    bound<double> out{0.0, 0.0};
    for (privacy_loss_accountant const& one : all) {
      bound<double> const x = ask(one);
      out = {std::max(out.lower, x.lower), std::max(out.upper, x.upper)};
    }
    return out;
  }
};

}  // namespace

std::optional<double> epsilon_with_tuning(compared_row const& row) {
  std::set<std::pair<std::size_t, double>> seen;
  worst_of run;
  for (setting const& s : row.tried) {
    if (!seen.emplace(s.steps, s.rate).second) continue;
    std::optional<event> const step = step_of(row, s);
    if (!step) return std::nullopt;
    run.all.emplace_back().compose(*step, s.steps);
  }
  if (run.all.empty()) return std::nullopt;
  auto const times = repetitions_of_mean(static_cast<double>(row.tuning_runs));
  return best_of(run, times).epsilon(comparison_delta).upper;
}

std::string cost_of_tuning(compared_row const& row) {
  using enum tuning_system;
  switch (row.options.system) {
    case none:
      return "nothing";
    case mezo:
    case sgd:
      return "all";
    case paczero_zpl:
      return "0.0000 nats";
    case ferret:
      return up(static_cast<double>(row.tuning_runs) * row.options.budget.value, 4) + " nats";
    default:
      break;
  }
  return row.tuned_epsilon ? "ε = " + up(*row.tuned_epsilon, 3) : "–";
}

}  // namespace apps
