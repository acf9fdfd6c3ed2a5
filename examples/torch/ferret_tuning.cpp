// SPDX-License-Identifier: Apache-2.0
#include "ferret_tuning.hpp"

#include <tacit/audit/informed_adversary.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/mechanism/ferret.hpp>
#include <tacit/pac/fixed_point.hpp>
#include <tacit/train/ferret.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/zo/journal.hpp>

#include "watched_sums.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

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

std::vector<tacit::parameter_range> groups_of(std::vector<tacit::recorded_tensor> const& tensors) {
  std::vector<std::size_t> sizes;
  for (tacit::recorded_tensor const& one : tensors) {
    std::size_t count = 1;
    for (std::uint64_t const size : one.shape) count *= size;
    sizes.push_back(count);
  }
  return tacit::ferret_groups(sizes, tacit::ferret_grouping::two);
}

double rate_at(tacit::train_options const& training, std::size_t step) {
  return training.learning_rate *
         (1.0 - static_cast<double>(step) / static_cast<double>(training.steps));
}

// Bit for bit `tacit::step_on_groups`, by passes where the weights lie.
void move(std::span<float> theta, passes const& by, std::span<tacit::parameter_range const> groups,
          tacit::train_options const& training, std::size_t step, tacit::release const& released) {
  double const rate = rate_at(training, step);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    double const y = released.coefficients[g];
    if (y == 0.0) continue;
    auto const size = static_cast<double>(groups[g].size());
    tacit::direction_step const along{{tacit::direction_law::rademacher, {training.seed, step}},
                                      static_cast<float>(-rate * y / std::sqrt(size))};
    std::size_t const first = groups[g].first;
    by(tacit::update{theta.data() + first, tacit::direction_steps{&along, 1}, first},
       groups[g].size());
  }
}

// FERRET, watched by an attacker as in watched_sums.hpp. It sees the scalars of a batch, and asks for those of its targets
// that were not in it.
class watched_signs {
 public:
  watched_signs(targets whom, std::size_t groups, tuning const& how)
      : whom_(whom), attacker_(whom.records), rate_(how.rate), grid_{how.clip}, units_(groups) {}

  // A record of the batch.
  void add(std::size_t record, std::span<double const> scalars) {
    rows_.push_back(in_units(scalars));
    batch_.push_back(record);
  }

  // What was released of the batch; `project` writes the scalars of a record.
  template <class Project>
  void observe(tacit::release const& released, Project const& project) {
    std::vector<std::size_t> const batch = std::exchange(batch_, {});
    std::vector<std::vector<double>> const rows = std::exchange(rows_, {});
    if (released.held()) return;
    std::size_t const groups = units_.size();
    std::vector<double> sums(groups, 0.0);
    std::vector<double> contributions(whom_.records * groups);
    auto const put = [&](std::size_t record, std::vector<double> const& row) {
      if (record < whom_.first) return;
      std::copy(
          row.begin(), row.end(),
          contributions.begin() + static_cast<std::ptrdiff_t>((record - whom_.first) * groups));
    };
    for (std::size_t j = 0; j < batch.size(); ++j) {
      for (std::size_t g = 0; g < groups; ++g) sums[g] += rows[j][g];
      put(batch[j], rows[j]);
    }
    std::vector<std::uint8_t> const inside = whom_.flags(batch);
    std::vector<double> scalars(groups);
    for (std::size_t i = 0; i < whom_.records; ++i) {
      if (inside[i] != 0) continue;
      project(whom_.first + i, scalars);
      put(whom_.first + i, in_units(scalars));
    }
    std::vector<std::int8_t> signs;
    for (double const y : released.coefficients) signs.push_back(static_cast<std::int8_t>(y));
    attacker_.observe_signs(contributions, inside, sums, signs, 0.0, rate_);
  }

  [[nodiscard]] double success(tacit::participants const& taking_part) const {
    return whom_.success(attacker_, taking_part.everyone());
  }

 private:
  // As the mechanism has it: whole numbers, of which sums are exact; 0 for what is no number.
  std::vector<double> in_units(std::span<double const> scalars) {
    std::vector<double> row(scalars.begin(), scalars.end());
    for (double& x : row) x = std::isfinite(x) ? x : 0.0;
    grid_.quantise(row, units_);
    return {units_.begin(), units_.end()};
  }

  targets whom_;
  tacit::informed_adversary attacker_;
  double rate_;
  tacit::fixed_point grid_;
  std::vector<std::int32_t> units_;
  std::vector<std::size_t> batch_;
  std::vector<std::vector<double>> rows_;
};

}  // namespace

record_projection projection_of(record_gradient gradient, std::size_t size) {
  return [gradient = std::move(gradient), slope = std::vector<float>(size)](
             std::size_t record, tacit::stream_id stream,
             std::span<tacit::parameter_range const> groups, std::span<double> out) mutable {
    gradient(record, slope);
    tacit::project_on_groups(slope, stream, groups, out);
  };
}

promise tune_ferret(tuning const& how, tacit::participants const& taking_part,
                    placed const& weights, std::vector<tacit::recorded_tensor> const& tensors,
                    record_projection const& projection, std::size_t watched) {
  if (!how.save.empty())
    throw std::invalid_argument("only PACZero keeps a state: --save is for it");
  std::span<float> const whole = in_one_piece(weights.theta);
  auto const groups = groups_of(tensors);
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
                                 .start = weights.start};
  tacit::journal log = tacit::journal::create(how.transcript, record);
  std::optional<watched_signs> attacker;
  if (watched > 0) attacker.emplace(targets(watched, taking_part.records()), groups.size(), how);
  while (!mechanism.done()) {
    std::size_t const step = mechanism.steps();
    auto const project = [&](std::size_t one, std::span<double> out) {
      projection(one, {how.seed, step}, groups, out);
    };
    auto const released = mechanism.step([&](std::size_t one, std::span<double> out) {
      project(one, out);
      if (attacker) attacker->add(one, out);
    });
    if (attacker) attacker->observe(released, project);
    log.append(released.coefficients);
    move(whole, weights.by, groups, record.training, step, released);
  }
  tacit::nats const spent = mechanism.account().spent();
  double const bound = tacit::membership_success(spent);
  char said[256];
  std::snprintf(said, sizeof said,
                "%.3g of %.3g nats spent about each record, on average over transcripts: an "
                "attacker on membership "
                "is right with probability %.3f at most",
                spent.value, how.nats, bound);
  promise out{.text = said, .attack_bound = bound};
  if (attacker) out.informed_attack = attacker->success(taking_part);
  return out;
}

void replay_ferret(tacit::parameters const& theta, tacit::transcript const& run) {
  tacit::check_start(theta, run.run());
  std::span<float> const whole = in_one_piece(theta);
  auto const groups = groups_of(run.run().tensors);
  for (std::size_t t = 0; t < run.steps(); ++t) {
    std::span<double const> const signs = run.step(t);
    tacit::step_on_groups(whole, {run.run().training.seed, t}, groups,
                          {{signs.begin(), signs.end()}}, rate_at(run.run().training, t));
  }
}
