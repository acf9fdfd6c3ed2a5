// SPDX-License-Identifier: Apache-2.0
#include "rows.hpp"

#include <tacit/dp/calibration.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/info/attack.hpp>

#include "output/format.hpp"

namespace apps {

namespace {

// Steps, rates and clips were chosen once, on seeds that are in no table.
struct setting {
  std::size_t steps;
  double rate;
  double clip;
};

constexpr double epsilons[] = {0.5, 2.0, 8.0};

bool is_lora(place where) { return where == place::digits_lora || where == place::cancer_lora; }

// For budgets .5, 2 and 8.
setting of(place where, tuning_system system, std::size_t budget) {
  using enum tuning_system;
  bool const text = where == place::text;
  auto const by_budget = [&](setting small, setting middle, setting large) {
    return budget == 0 ? small : budget == 1 ? middle : large;
  };
  switch (system) {
    case none:
      return {0, 1.0, 1.0};
    case mezo:
      return text ? setting{300, 0.003, 1.0} : setting{1000, 0.03, 1.0};
    case sgd:
      return text             ? setting{60, 0.5, 1.0}
             : is_lora(where) ? setting{60, 0.3, 1.0}
                              : setting{100, 1.0, 1.0};
    case paczero_zpl:
      return text ? setting{300, 0.01, 1.0} : setting{1000, 0.02, 1.0};
    case paczero_mi:
      return text ? setting{300, 0.01, 1.0} : setting{1000, 0.015, 1.0};
    case dpzero:
      if (text) return by_budget({200, 0.001, 3.0}, {200, 0.003, 3.0}, {300, 0.003, 6.0});
      return by_budget({300, 0.01, 2.0}, {1000, 0.02, 3.0}, {1000, 0.03, 4.0});
    case dp_zo_laplace:
      return text ? setting{100, 0.001, 3.0} : setting{100, 0.01, 4.0};
    case dp_aggzo:
      if (text) return by_budget({30, 0.01, 1.0}, {30, 0.03, 1.0}, {30, 0.03, 1.0});
      return by_budget({50, 0.2, 0.5}, {100, 0.5, 0.5}, {200, 0.3, 1.0});
    case dpgd_0th:
      return text ? setting{100, 1e-5, 100.0} : setting{100, 2e-4, 50.0};
    case dp_sgd:
      if (text) return by_budget({40, 0.2, 0.5}, {40, 0.5, 0.5}, {40, 0.5, 0.5});
      return by_budget({30, 1.0, 0.5}, {30, 2.0, 0.5}, {60, 2.0, 0.5});
    case ferret:
      return text ? setting{200, 0.3, 10.0} : setting{300, 0.1, 1.0};
    case rldp:
      if (text) return by_budget({40, 0.2, 0.2}, {40, 0.5, 0.2}, {40, 0.5, 0.2});
      return by_budget({30, 1.0, 0.3}, {60, 2.0, 0.3}, {60, 2.0, 0.3});
  }
  return {};
}

compared_row make(place where, std::string title, std::string family, tuning_system system,
                  std::optional<std::size_t> budget) {
  setting const s = of(where, system, budget.value_or(1));
  compared_row row{where, std::move(title), std::move(family), std::nullopt, {}};
  tuning_options& o = row.options;
  o.system = system;
  o.steps = s.steps;
  o.learning_rate = s.rate;
  o.clip = s.clip;
  o.paczero.clip = 1024.0;
  o.paczero.spend = tacit::allocation::confident_or_hold;
  o.paczero.otherwise = tacit::disagreement::hold;
  if (budget) {
    row.epsilon = epsilons[*budget];
    o.target = {*row.epsilon, comparison_delta};
    o.budget = information_at(*row.epsilon);
  }
  if (system == tuning_system::dp_aggzo) o.directions = where == place::text ? 8 : 16;
  if (system == tuning_system::ferret) o.rate = 0.02;
  if (system == tuning_system::paczero_zpl) o.paczero.spend = tacit::allocation::uniform;
  // Gradients of all texts at every step take longer than all the rest.
  bool const gradients = system == tuning_system::dp_sgd || system == tuning_system::ferret ||
                         system == tuning_system::rldp;
  o.attacked = !(where == place::text && gradients);
  return row;
}

void add_place(std::vector<compared_row>& rows, place where) {
  using enum tuning_system;
  auto const add = [&](std::string title, std::string family, tuning_system system,
                       std::optional<std::size_t> budget = {}) -> compared_row& {
    rows.push_back(make(where, std::move(title), std::move(family), system, budget));
    return rows.back();
  };
  add("public training alone", "none", none);
  add("MeZO, no privacy", "mezo", mezo);
  add("gradient descent, no privacy", "sgd", sgd);
  add("PACZero-ZPL, hold", "paczero-zpl", paczero_zpl).epsilon = 0.0;
  struct kind {
    char const* title;
    char const* family;
    tuning_system system;
  };
  for (kind const& k :
       {kind{"PACZero-MI", "paczero-mi", paczero_mi}, kind{"DPZero", "dpzero", dpzero},
        kind{"DP-ZO, Laplace", "dp-zo-laplace", dp_zo_laplace},
        kind{"DP-AggZO", "dp-aggzo", dp_aggzo}, kind{"DPGD-0th", "dpgd-0th", dpgd_0th},
        kind{"DP-GD", "dp-gd", dp_sgd}, kind{"FERRET-MAX", "ferret", ferret},
        kind{"RLDP, fixed clips", "rldp-fixed", rldp}}) {
    for (std::size_t b = 0; b < std::size(epsilons); ++b) add(k.title, k.family, k.system, b);
  }
  for (char const* controller : {"median", "quantile", "sac"}) {
    add(std::string("RLDP, ") + (controller == std::string("sac") ? "learned" : controller),
        std::string("rldp-") + controller, rldp, 1)
        .options.controller = controller;
  }
}

// Rows that only a claim asks for.
void add_for_claims(std::vector<compared_row>& rows) {
  using enum tuning_system;
  auto const add = [&](place where, std::string title, std::string family, tuning_system system,
                       std::size_t budget) -> compared_row& {
    rows.push_back(make(where, std::move(title), std::move(family), system, budget));
    rows.back().in_table = false;
    rows.back().options.attacked = false;
    return rows.back();
  };
  for (auto const& [otherwise, name] : {std::pair(tacit::disagreement::coin, "coin"),
                                        std::pair(tacit::disagreement::hold, "hold")}) {
    compared_row& row = add(place::digits, std::string("PACZero-ZPL, ") + name + ", 6000 steps",
                            std::string("drift-") + name, paczero_zpl, 1);
    row.options.paczero.otherwise = otherwise;
    row.options.steps = 6000;
    row.options.learning_rate = 0.01;
    row.options.decay = tacit::schedule::constant;  // one that falls to 0 ends any drift
  }
  for (auto const& [what, name] :
       {std::pair(tacit::observed::value, "value"), std::pair(tacit::observed::sign, "sign")}) {
    compared_row& row = add(place::digits, std::string("PACZero-MI, the ") + name + " charged",
                            std::string("charged-") + name, paczero_mi, 1);
    row.options.paczero.what = what;
    row.options.budget = tacit::nats(0.1);
    row.options.steps = 2000;
  }
  // FERRET's own range of budgets, in nats about a record, and batches of two texts.
  for (double const nats : {0.5, 2.0}) {
    for (auto const& [groups, name] : {std::pair(tacit::ferret_grouping::max, "MAX"),
                                       std::pair(tacit::ferret_grouping::eighth, "EIGHTH"),
                                       std::pair(tacit::ferret_grouping::two, "2")}) {
      compared_row& row =
          add(place::text, std::string("FERRET-") + name + ", " + formatted("%.3g", nats) + " nats",
              std::string("ferret-") + name + "-" + formatted("%.3g", nats), ferret, 1);
      row.options.groups = groups;
      row.options.budget = tacit::nats(nats);
      row.options.rate = 1.0 / 64.0;
    }
  }
}

}  // namespace

double success_at(double epsilon) {
  tacit::approx_dp const target{epsilon, comparison_delta};
  tacit::privacy_loss_accountant one;
  one.compose(tacit::gaussian{
      tacit::noise_multiplier_for<tacit::privacy_loss_accountant>(target, tacit::unsampled{}, 1)});
  return one.attack_success();
}

tacit::nats information_at(double epsilon) { return tacit::information_for(success_at(epsilon)); }

std::vector<compared_row> all_rows(bool quick) {
  std::vector<compared_row> rows;
  if (quick) {
    add_place(rows, place::digits);
    add_for_claims(rows);
    for (compared_row& row : rows) {
      row.options.steps = std::min<std::size_t>(row.options.steps, 6);
      row.options.curve_points = 2;
    }
    return rows;
  }
  for (place const where :
       {place::digits, place::digits_lora, place::cancer, place::cancer_lora, place::text}) {
    add_place(rows, where);
  }
  add_for_claims(rows);
  return rows;
}

std::vector<compared_row const*> family_of(std::vector<compared_row> const& rows, place where,
                                           std::string const& family) {
  std::vector<compared_row const*> out;
  for (compared_row const& row : rows) {
    if (row.where == where && row.family == family) out.push_back(&row);
  }
  return out;
}

}  // namespace apps
