// SPDX-License-Identifier: Apache-2.0
#include "rows.hpp"

#include <tacit/dp/calibration.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/info/attack.hpp>

#include "output/format.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace apps {

namespace {

void add_place(std::vector<compared_row>& rows, place where) {
  using enum tuning_system;
  auto const add = [&](std::string title, std::string family, tuning_system system,
                       std::optional<double> epsilon = {}) -> compared_row& {
    rows.push_back(row_of(where, std::move(title), std::move(family), system, epsilon));
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
    for (double const epsilon : {0.5, 2.0, 8.0}) add(k.title, k.family, k.system, epsilon);
  }
  for (char const* controller : {"median", "quantile", "sac"}) {
    add(std::string("RLDP, ") + (controller == std::string("sac") ? "SAC, few steps" : controller),
        std::string("rldp-") + controller, rldp, 2.0)
        .options.controller = controller;
  }
}

// Rows that only a claim asks for.
void add_for_claims(std::vector<compared_row>& rows) {
  using enum tuning_system;
  auto const add = [&](place where, std::string title, std::string family,
                       tuning_system system) -> compared_row& {
    rows.push_back(row_of(where, std::move(title), std::move(family), system, 2.0));
    rows.back().in_table = false;
    rows.back().options.attacked = false;
    return rows.back();
  };
  for (auto const& [otherwise, name] : {std::pair(tacit::disagreement::coin, "coin"),
                                        std::pair(tacit::disagreement::hold, "hold")}) {
    compared_row& row = add(place::digits, std::string("PACZero-ZPL, ") + name + ", 6000 steps",
                            std::string("drift-") + name, paczero_zpl);
    row.options.paczero.otherwise = otherwise;
    row.options.decay = tacit::schedule::constant;  // one that falls to 0 ends any drift
    row.grid = {{6000, 0.01}};
  }
  for (auto const& [what, name] :
       {std::pair(tacit::observed::value, "value"), std::pair(tacit::observed::sign, "sign")}) {
    compared_row& row = add(place::digits, std::string("PACZero-MI, the ") + name + " charged",
                            std::string("charged-") + name, paczero_mi);
    row.options.paczero.what = what;
    row.options.budget = tacit::nats(0.1);
  }
  // FERRET's own range of budgets, in nats about a record.
  for (double const nats : {0.5, 2.0}) {
    for (auto const& [groups, name] : {std::pair(tacit::ferret_grouping::max, "MAX"),
                                       std::pair(tacit::ferret_grouping::eighth, "EIGHTH"),
                                       std::pair(tacit::ferret_grouping::two, "2")}) {
      compared_row& row =
          add(place::text, std::string("FERRET-") + name + ", " + formatted("%.3g", nats) + " nats",
              std::string("ferret-") + name + "-" + formatted("%.3g", nats), ferret);
      row.options.groups = groups;
      row.options.budget = tacit::nats(nats);
    }
    // By plain steps on texts is among the groupings.
    for (auto const& [where, rule, title, name] :
         {std::tuple(place::digits, tacit::optimiser_rule::sgd, "FERRET-MAX", "MAX"),
          std::tuple(place::digits, tacit::optimiser_rule::adamw, "FERRET-MAX, AdamW", "adamw"),
          std::tuple(place::text, tacit::optimiser_rule::adamw, "FERRET-MAX, AdamW", "adamw")}) {
      compared_row& row =
          add(where, title + (", " + formatted("%.3g", nats)) + " nats",
              std::string("ferret-") + name + "-" + formatted("%.3g", nats), ferret);
      row.options.optimiser.rule = rule;
      row.options.budget = tacit::nats(nats);
      row.grid = grid_of(where, ferret, rule);
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

std::string id_of(compared_row const& row) {
  return row.family + (row.epsilon ? formatted("@%g", *row.epsilon) : "");
}

compared_row row_of(place where, std::string title, std::string family, tuning_system system,
                    std::optional<double> epsilon) {
  compared_row row{where, std::move(title), std::move(family), std::nullopt, {}};
  row.grid = grid_of(where, system);
  tuning_options& o = row.options;
  o.system = system;
  o.paczero.clip = 1024.0;
  o.paczero.spend = tacit::allocation::confident_or_hold;
  o.paczero.otherwise = tacit::disagreement::hold;
  if (epsilon) {
    row.epsilon = epsilon;
    o.target = {*epsilon, comparison_delta};
    o.budget = information_at(*epsilon);
  }
  if (system == tuning_system::dp_aggzo) o.directions = has_texts(where) ? 8 : 16;
  if (system == tuning_system::paczero_mi) o.paczero.ledger = tacit::ledger_kind::record;
  if (system == tuning_system::paczero_zpl) o.paczero.spend = tacit::allocation::uniform;
  // Gradients of all texts at every step take longer than all the rest.
  bool const gradients = system == tuning_system::dp_sgd || system == tuning_system::ferret ||
                         system == tuning_system::rldp;
  o.attacked = !(has_texts(where) && gradients);
  return row;
}

std::vector<compared_row> all_rows(bool quick) {
  std::vector<compared_row> rows;
  for (place const where : places) {
    if (!quick || where == place::digits) add_place(rows, where);
  }
  add_for_claims(rows);
  std::vector<compared_row> of_papers = paper_rows();
  std::move(of_papers.begin(), of_papers.end(), std::back_inserter(rows));
  if (!quick) return rows;
  std::erase_if(rows, [](compared_row const& row) {
    if (row.of_papers()) {  // one or two of each table
      for (char const* kept :
           {"k-paper-4", "k-zpl-hold-1", "budget-paper-0.1", "ladder-rank-2-zpl-hold",
            "ladder-steps-1500-zpl-coin", "ferret-MAX-none", "epochs-3", "adamw-automatic",
            "adamw-adaptive", "adamw-fixed", "adamw-sac", "adamw-published"}) {
        if (row.family == kept && row.where != place::text) {
          return row.where == place::text_lora && row.family != "adamw-fixed";
        }
      }
      return row.family != "task-zpl-hold" || row.where != place::digits;
    }
    bool const middle = !row.epsilon || *row.epsilon == 0.0 || *row.epsilon == 2.0;
    return !middle || row.family == "ferret-EIGHTH-0.5" || row.family.ends_with("-2");
  });
  for (compared_row& row : rows) {
    row.options.curve_points = 2;
    if (row.grid.size() > 2) row.grid = {row.grid.front(), row.grid.back()};
    for (setting& s : row.grid) s.steps = std::min<std::size_t>(s.steps, 6);
  }
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
