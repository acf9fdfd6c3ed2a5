// SPDX-License-Identifier: Apache-2.0
//
// FERRET: a masked sign for each group of parameters.

#include <tacit/info/attack.hpp>
#include <tacit/mechanism/ferret.hpp>
#include <tacit/pac/fixed_point.hpp>
#include <tacit/train/ferret.hpp>
#include <tacit/train/retrace.hpp>
#include <tacit/zo/optimiser_state.hpp>

#include "finetune/gradients.hpp"
#include "finetune/tuning_run.hpp"

namespace apps {

void tune_ferret(tuning_run& run) {
  run.choose_members();
  tuning_options const& o = run.options;
  auto const groups = tacit::ferret_groups(tensor_sizes(run.of), o.groups);
  std::size_t const g = groups.size();
  tacit::ferret_mechanism<> mechanism(
      {.groups = g, .steps = o.steps, .rate = o.rate, .budget = o.budget, .clip = o.clip},
      run.inside);
  tacit::optimiser_state optimiser(o.optimiser, run.theta.size(), g);
  step_gradients gradients(run);
  std::vector<float> gradient(run.theta.size());
  std::vector<double> contributions(run.records() * g);
  std::vector<std::int32_t> units(g);
  tacit::fixed_point const grid{.clip = o.clip};

  auto const attack = [&](tacit::stream_id stream, tacit::release const& released) {
    gradients.compute_all();
    std::vector<double> sums(g, 0.0);
    for (std::size_t i = 0; i < run.records(); ++i) {
      auto const row = std::span(contributions).subspan(i * g, g);
      tacit::project_on_groups(gradients.at(i), stream, groups, row);
      grid.quantise(row, units);
      for (std::size_t k = 0; k < g; ++k) {
        row[k] = units[k];
        if (gradients.batch()[i] != 0) sums[k] += row[k];
      }
    }
    std::vector<std::int8_t> signs;
    for (double const y : released.coefficients) signs.push_back(static_cast<std::int8_t>(y));
    run.attacker.observe_signs(contributions, gradients.batch(), sums, signs, 0.0, o.rate);
  };
  run.take_steps(
      [&] { return mechanism.done(); },
      [&] {
        tacit::stream_id const stream{o.seed, mechanism.steps()};
        double const rate = tacit::detail::rate_at(run.training(), mechanism.steps());
        gradients.begin_step();
        auto const released = mechanism.step([&](std::size_t record, std::span<double> out) {
          gradients.write(record, gradient);
          tacit::project_on_groups(gradient, stream, groups, out);
        });
        if (!released.held()) run.let_attacker([&] { attack(stream, released); });
        tacit::step_on_groups(run.theta, optimiser, stream, groups, released, rate, run.training());
        return !released.held();
      });
  run.result.nats = mechanism.account().spent().value;
  run.result.bound = tacit::membership_success(mechanism.account().spent());
  run.count_guesses();
}

}  // namespace apps
