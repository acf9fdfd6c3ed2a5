// SPDX-License-Identifier: Apache-2.0
#include "ferret_tuning.hpp"

#include <tacit/info/attack.hpp>
#include <tacit/mechanism/ferret.hpp>
#include <tacit/train/ferret.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/zo/journal.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

std::span<float> in_one_piece(tacit::parameters const& theta) {
  std::span<float> whole;
  for (tacit::tensor const& one : theta.all()) {
    auto const* const entries = std::get_if<std::span<float>>(&one.entries);
    bool const follows =
        entries != nullptr && (whole.empty() || entries->data() == whole.data() + whole.size());
    if (!follows) throw std::invalid_argument("ferret: the weights must be float32");
    whole = {whole.empty() ? entries->data() : whole.data(), whole.size() + entries->size()};
  }
  return whole;
}

std::vector<tacit::parameter_range> groups_of(tacit::parameters const& theta) {
  std::vector<std::size_t> sizes;
  for (tacit::tensor const& one : theta.all()) sizes.push_back(one.size());
  return tacit::ferret_groups(sizes, tacit::ferret_grouping::two);
}

void move(std::span<float> theta, std::span<tacit::parameter_range const> groups,
          tacit::train_options const& training, std::size_t step, tacit::release const& released) {
  double const left = 1.0 - static_cast<double>(step) / static_cast<double>(training.steps);
  tacit::step_on_groups(theta, {training.seed, step}, groups, released,
                        training.learning_rate * left);
}

}  // namespace

promise tune_ferret(tuning const& how, tacit::participants const& taking_part,
                    tacit::parameters const& theta,
                    std::vector<tacit::recorded_tensor> const& tensors,
                    record_gradient const& gradient) {
  if (!how.save.empty())
    throw std::invalid_argument("only PACZero keeps a state: --save is for it");
  std::span<float> const whole = in_one_piece(theta);
  auto const groups = groups_of(theta);
  tacit::ferret_options const options{.groups = groups.size(),
                                      .steps = how.steps,
                                      .rate = how.rate,
                                      .budget = tacit::nats(how.nats),
                                      .clip = how.clip};
  tacit::ferret_mechanism<> mechanism(options, taking_part);
  tacit::run_record const record{.mechanism = {ferret_name,
                                               {{"steps", std::uint64_t{options.steps}},
                                                {"rate", options.rate},
                                                {"budget", options.budget.value},
                                                {"clip", options.clip},
                                                {"records", std::uint64_t{mechanism.records()}}}},
                                 .training = how.training(),
                                 .directions = groups.size(),
                                 .symbols = tacit::symbol_kind::held_sign,
                                 .magnitude = 1.0,
                                 .tensors = tensors,
                                 .start = tacit::hash_of(theta)};
  tacit::journal log = tacit::journal::create(how.transcript, record);
  std::vector<float> slope(whole.size());
  while (!mechanism.done()) {
    std::size_t const step = mechanism.steps();
    auto const released = mechanism.step([&](std::size_t one, std::span<double> out) {
      gradient(one, slope);
      tacit::project_on_groups(slope, {how.seed, step}, groups, out);
    });
    log.append(released.coefficients);
    move(whole, groups, record.training, step, released);
  }
  tacit::nats const spent = mechanism.account().spent();
  double const bound = tacit::membership_success(spent);
  char said[256];
  std::snprintf(said, sizeof said,
                "%.3g of %.3g nats spent about each record, on average over transcripts: an "
                "attacker on membership "
                "is right with probability %.3f at most",
                spent.value, how.nats, bound);
  return {.text = said, .attack_bound = bound};
}

void replay_ferret(tacit::parameters const& theta, tacit::transcript const& run) {
  tacit::check_start(theta, run.run());
  std::span<float> const whole = in_one_piece(theta);
  auto const groups = groups_of(theta);
  for (std::size_t t = 0; t < run.steps(); ++t) {
    std::span<double const> const signs = run.step(t);
    move(whole, groups, run.run().training, t, {{signs.begin(), signs.end()}});
  }
}
