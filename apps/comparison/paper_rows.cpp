// SPDX-License-Identifier: Apache-2.0
//
// What the papers have tables of, in kind: their own variants, ladders and budgets.

#include "output/format.hpp"
#include "rows.hpp"

#include <limits>
#include <utility>

namespace apps {

namespace {

using enum tuning_system;

std::vector<setting> with_rates(std::size_t steps, std::vector<double> const& learning_rates,
                                std::vector<double> const& clips = {1.0}, double rate = 1.0) {
  std::vector<setting> out;
  for (double const clip : clips) {
    for (double const eta : learning_rates) out.push_back({steps, eta, clip, rate});
  }
  return out;
}

class list {
 public:
  void begin_section(std::string name) { section_ = std::move(name); }

  compared_row& add(place where, std::string title, std::string family, tuning_system system,
                    std::optional<double> epsilon = {}) {
    compared_row row = row_of(where, std::move(title), std::move(family), system, epsilon);
    row.in_table = false;
    row.section = section_;
    row.refined = false;
    row.options.attacked = false;
    rows_.push_back(std::move(row));
    return rows_.back();
  }

  std::vector<compared_row> take() { return std::move(rows_); }

 private:
  std::string section_;
  std::vector<compared_row> rows_;
};

struct paczero_rule {
  char const* title;
  char const* name;
  tuning_system system;
  tacit::observed what;
  tacit::allocation spend;
  tacit::disagreement otherwise;
};
constexpr paczero_rule rules[] = {
    {"value, adaptive, coin: the paper's", "paper", paczero_mi, tacit::observed::value,
     tacit::allocation::adaptive, tacit::disagreement::coin},
    {"sign, adaptive, coin", "sign", paczero_mi, tacit::observed::sign, tacit::allocation::adaptive,
     tacit::disagreement::coin},
    {"sign, confident, hold", "confident", paczero_mi, tacit::observed::sign,
     tacit::allocation::confident_or_hold, tacit::disagreement::hold},
    {"ZPL, coin: the paper's", "zpl-coin", paczero_zpl, tacit::observed::sign,
     tacit::allocation::uniform, tacit::disagreement::coin},
    {"ZPL, hold", "zpl-hold", paczero_zpl, tacit::observed::sign, tacit::allocation::uniform,
     tacit::disagreement::hold}};

void follow_rule(compared_row& row, paczero_rule const& rule, double nats) {
  row.options.paczero.what = rule.what;
  row.options.paczero.spend = rule.spend;
  row.options.paczero.otherwise = rule.otherwise;
  row.options.paczero.ledger = tacit::ledger_kind::subset;  // as the paper's
  row.options.budget = tacit::nats(nats);
  row.options.attacked = true;
}

void add_paczero(list& rows) {
  // As many forward passes for every K.
  for (std::size_t const k : {1U, 4U, 16U}) {
    for (paczero_rule const& rule : rules) {
      compared_row& row =
          rows.add(place::digits, rule.title, formatted("k-%s-%zu", rule.name, k), rule.system);
      follow_rule(row, rule, 0.1);
      row.options.paczero.directions = k;
      row.grid = with_rates(3000 / k, {0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32});
    }
  }
  for (double const nats : {1e-4, 1e-3, 1e-2, 0.1, 0.68}) {
    for (paczero_rule const& rule : {rules[0], rules[2]}) {
      compared_row& row = rows.add(place::digits, rule.title,
                                   formatted("budget-%s-%g", rule.name, nats), rule.system);
      follow_rule(row, rule, nats);
      row.grid = with_rates(3000, {0.005, 0.01, 0.02, 0.04});
    }
  }
  // Drift: nothing is tuned, and the learning rate does not fall, which would end any.
  struct rung {
    char const* what;
    double value;
    place where = place::digits;
    std::size_t steps = 6000;
    std::size_t subsets = 128;
    double clip = 1024.0;
    std::size_t rank = 4;
  };
  std::vector<rung> ladder;
  for (std::size_t const t : {1500U, 3000U, 6000U, 12000U}) {
    ladder.push_back({.what = "steps", .value = double(t), .steps = t});
  }
  for (std::size_t const m : {8U, 32U, 512U}) {
    ladder.push_back({.what = "halves", .value = double(m), .subsets = m});
  }
  for (double const clip : {0.1, 1.0, 10.0}) {
    ladder.push_back({.what = "clip", .value = clip, .clip = clip});
  }
  for (std::size_t const rank : {1U, 2U, 4U, 8U, 16U}) {
    ladder.push_back(
        {.what = "rank", .value = double(rank), .where = place::digits_lora, .rank = rank});
  }
  for (rung const& r : ladder) {
    for (paczero_rule const& rule : {rules[3], rules[4]}) {
      compared_row& row = rows.add(
          r.where, rule.title,
          std::string("ladder-") + r.what + formatted("-%g-%s", r.value, rule.name), rule.system);
      follow_rule(row, rule, 0.0);
      row.options.attacked = false;
      row.options.decay = tacit::schedule::constant;
      row.options.paczero.clip = r.clip;
      row.options.subsets = r.subsets;
      row.options.curve_points = 40;
      row.rank = r.rank;
      row.grid = {{r.steps, 0.01}};
    }
  }
  for (place const where : places) {
    for (paczero_rule const& rule : {rules[3], rules[4]}) {
      compared_row& row =
          rows.add(where, rule.title, std::string("task-") + rule.name, rule.system);
      follow_rule(row, rule, 0.0);
      row.options.attacked = false;
      row.grid = where == place::text ? with_rates(300, {0.0025, 0.005, 0.01, 0.02})
                                      : with_rates(3000, {0.005, 0.01, 0.02, 0.04});
    }
  }
}

void add_budgets_of_noise(list& rows) {
  struct kind {
    char const* title;
    char const* family;
    tuning_system system;
  };
  for (double const epsilon : {0.1, 0.25, 1.0, 4.0}) {
    for (kind const& k : {kind{"DPZero", "cliff-dpzero", dpzero},
                          kind{"DP-ZO, Laplace", "cliff-dp-zo-laplace", dp_zo_laplace},
                          kind{"DP-GD", "cliff-dp-gd", dp_sgd}}) {
      rows.add(place::digits, k.title, k.family, k.system, epsilon).refined = true;
    }
  }
  for (double const epsilon : {0.1, 1.0}) {
    rows.add(place::text, "DP-GD", "cliff-dp-gd", dp_sgd, epsilon).refined = true;
  }
  compared_row& nearly_open =
      rows.add(place::digits, "DPGD-0th", "dpgd-0th-open", dpgd_0th, 1000.0);
  nearly_open.refined = true;
  nearly_open.grid.clear();
  for (std::size_t const steps : {30U, 100U, 300U}) {
    for (setting const& s : with_rates(steps, {0.002, 0.01, 0.05, 0.25}, {10.0, 50.0})) {
      nearly_open.grid.push_back(s);
    }
  }
}

void add_ferret(list& rows) {
  for (place const where : {place::digits, place::text}) {
    for (double const nats : {0.1, 1.0, 10.0, 1e9}) {
      std::string const budget = nats > 100.0 ? std::string("none") : formatted("%g", nats);
      compared_row& row = rows.add(
          where, "FERRET-MAX, " + budget + (nats > 100.0 ? " (every group fires)" : " nats"),
          "ferret-MAX-" + budget, ferret);
      row.options.target = {};
      row.options.budget = tacit::nats(nats);
      row.refined = true;
    }
    // One, three and five passes over the records, in batches of several sizes.
    for (int const epochs : {1, 3, 5}) {
      compared_row& row = rows.add(where, formatted("FERRET-MAX, 2 nats, %d epochs", epochs),
                                   formatted("epochs-%d", epochs), ferret);
      row.options.budget = tacit::nats(2.0);
      double const clip = row.grid.front().clip;
      row.grid.clear();
      for (double const rate : {0.01, 0.02, 0.04}) {
        auto const steps = static_cast<std::size_t>(static_cast<double>(epochs) / rate + 0.5);
        std::vector<double> const rates = where == place::text ? std::vector{0.1, 0.3, 1.0, 3.0}
                                                               : std::vector{0.05, 0.15, 0.4, 1.0};
        for (setting const& s : with_rates(steps, rates, {clip}, rate)) row.grid.push_back(s);
      }
    }
  }
  for (double const nats : {0.5, 2.0}) {
    for (auto const& [groups, name] : {std::pair(tacit::ferret_grouping::half, "HALF"),
                                       std::pair(tacit::ferret_grouping::quarter, "QUARTER")}) {
      compared_row& row =
          rows.add(place::text, std::string("FERRET-") + name + formatted(", %g nats", nats),
                   std::string("ferret-") + name + formatted("-%g", nats), ferret);
      row.options.groups = groups;
      row.options.budget = tacit::nats(nats);
      row.refined = true;
    }
  }
}

// RLDP's own setting: thousands of steps in batches, by AdamW, on adapters.
void add_rldp(list& rows) {
  struct variant {
    char const* title;
    char const* name;
    tuning_system system = rldp;
    char const* controller = "fixed";
    clipping_rule clipping = clipping_rule::threshold;
    bool on_texts = false;
  };
  constexpr variant variants[] = {
      {"one clip for all", "dp-sgd", dp_sgd, "fixed", clipping_rule::threshold, true},
      {"AutoClip", "automatic", dp_sgd, "fixed", clipping_rule::automatic, true},
      {"AdaClip", "adaptive", dp_sgd, "fixed", clipping_rule::adaptive},
      {"a fixed clip for each pair", "fixed", rldp, "fixed", clipping_rule::threshold, true},
      {"median", "median", rldp, "median"},
      {"quantile", "quantile", rldp, "quantile"},
      {"SAC", "sac", rldp, "sac", clipping_rule::threshold, true},
      {"SAC that does not learn", "sac-random", rldp, "sac-random", clipping_rule::threshold, true},
      {"SAC, clips alone", "sac-clips", rldp, "sac-clips"},
      {"SAC, noise alone", "sac-noise", rldp, "sac-noise"},
      {"as published", "published", rldp, "published", clipping_rule::threshold, true}};
  auto const add = [&](place where, variant const& v) {
    compared_row& row = rows.add(where, v.title, std::string("adamw-") + v.name, v.system, 2.0);
    row.options.optimiser.rule = tacit::optimiser_rule::adamw;
    row.options.controller = v.controller;
    row.options.clipping = v.clipping;
    row.options.interval = 64;
    row.options.curve_points = 40;
    bool const whitened = v.clipping == clipping_rule::adaptive;
    row.grid = with_rates(3600, {0.001, 0.003, 0.01, 0.03},
                          whitened ? std::vector{0.5, 2.0} : std::vector{0.15, 0.5}, 1.0 / 16.0);
  };
  for (variant const& v : variants) add(place::digits_lora, v);
  // A run of a transformer takes a quarter of a minute.
  for (variant const& v : variants) {
    if (v.on_texts) add(place::text_lora, v);
  }
}

}  // namespace

std::vector<compared_row> paper_rows() {
  list rows;
  rows.begin_section("paczero");
  add_paczero(rows);
  rows.begin_section("noise");
  add_budgets_of_noise(rows);
  rows.begin_section("ferret");
  add_ferret(rows);
  rows.begin_section("rldp");
  add_rldp(rows);
  return rows.take();
}

}  // namespace apps
