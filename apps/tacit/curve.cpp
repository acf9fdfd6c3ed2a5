// SPDX-License-Identifier: Apache-2.0
//
// Curves of a run: delta by epsilon, the trade-off of an attacker's errors, epsilon by step.

#include <tacit/dp/trade_off_curve.hpp>

#include "accountants.hpp"
#include "attack.hpp"
#include "output/panel.hpp"
#include "output/text_file.hpp"
#include "patience.hpp"
#include "plan.hpp"
#include "surroundings.hpp"
#include "verbs.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

namespace calculator {

using apps::points;

namespace {

constexpr double smallest_delta = 1e-10;  // where the first curve ends

struct curves {
  method const* by;
  points delta_by_epsilon;
  points misses_by_alarms;  // the least false negative rate at a false positive rate
  points epsilon_by_step;
};

constexpr char const* panels[] = {"delta-by-epsilon", "errors", "epsilon-by-step"};

void declare_curve(arguments& of) {
  declare_plan(of);
  of.add("--delta", open_probability(), "of epsilon by step; 1e-5 unless given");
  declare_accountant(of);
  of.add("--trade-off", new_file(),
         "only the trade-off of an attacker's errors, between two certified ends: into this file, "
         "which tacit attack reads");
  of.add("--points", whole(2, 100'000),
         "how many rates of false alarms --trade-off prints, and of how many knots its curve is at "
         "most, but for the first 96; 51 unless given");
  declare_surroundings(of);
  of.add("--plot", new_file(), "draw the curves into this file, as SVG");
  of.add_flag("--force", "--plot and --trade-off may replace files");
  of.add("--panel", one_of({"all", panels[0], panels[1], panels[2]}),
         "which of the curves --plot draws; all unless given");
}

// The first steps of a run.
plan beginning(plan const& run, std::uint64_t steps) {
  plan out = run;
  for (plan::entry& e : out.releases) {
    e.what.count = std::min(e.what.count, steps);
    steps -= e.what.count;
  }
  std::erase_if(out.releases, [](plan::entry const& e) { return e.what.count == 0; });
  return out;
}

// No test has fewer misses at this rate of false alarms: the largest that the (epsilon, delta) say.
double fewest_misses(points const& delta_by_epsilon, double alarms) {
  double most = 0.0;
  for (auto const& [epsilon, delta] : delta_by_epsilon) {
    most = std::max({most, 1.0 - delta - std::exp(epsilon) * alarms,
                     std::exp(-epsilon) * (1.0 - delta - alarms)});
  }
  return most * (1.0 - 1e-14);
}

double epsilon_of(method const& by, plan const& run, surroundings const& its, double delta) {
  surroundings const here = around(its, run);
  return asked(accounts_by(by, run, here), here,
               [&](auto const& one) { return one.epsilon(delta); })
      .upper;
}

curves drawn(method const& by, plan const& run, surroundings const& its, double farthest,
             double delta) {
  curves out{&by, {}, {}, {}};
  accounts const all = accounts_by(by, run, its);
  constexpr int pieces = 50;
  for (int k = 0; k <= pieces; ++k) {
    double const epsilon = farthest * k / pieces;
    double const at_most =
        asked(all, its, [&](auto const& one) { return one.delta(epsilon); }).upper;
    out.delta_by_epsilon.emplace_back(epsilon, std::min(1.0, at_most));
  }
  for (int k = 0; k <= pieces; ++k) {
    double const alarms = static_cast<double>(k) / pieces;
    out.misses_by_alarms.emplace_back(alarms, fewest_misses(out.delta_by_epsilon, alarms));
  }
  std::uint64_t const steps = run.steps();
  std::uint64_t const parts = std::min<std::uint64_t>(steps, 25);
  for (std::uint64_t k = 1; k <= parts; ++k) {
    std::uint64_t const done = steps / parts * k + steps % parts * k / parts;
    out.epsilon_by_step.emplace_back(static_cast<double>(done),
                                     finite(epsilon_of(by, beginning(run, done), its, delta)));
  }
  return out;
}

// ---- as text, as JSON, as SVG -------------------------------------------------------------------

std::string column(std::string const& text) {
  return std::string(text.size() < 13 ? 13 - text.size() : 1, ' ') + text;
}

std::string table(std::string const& title, std::vector<curves> const& all, points curves::*which,
                  std::string (*in_words)(double)) {
  std::string text = title + "\n" + column("");
  for (curves const& c : all) text += column(c.by->word);
  for (std::size_t k = 0; k < (all.front().*which).size(); ++k) {
    text += "\n";
    text += column(exactly((all.front().*which)[k].first));
    for (curves const& c : all) text += column(in_words((c.*which)[k].second));
  }
  return text;
}

nlohmann::ordered_json points_in_json(points const& curve) {
  auto out = nlohmann::ordered_json::array();
  for (auto const& [x, y] : curve) out.push_back({x, y});
  return out;
}

constexpr char const* colours[] = {"#0072b2", "#009e73", "#d55e00",
                                   "#cc79a7", "#e69f00", "#666666"};

apps::panel panel_of_errors(char const* subtitle) {
  return {"An attacker's errors", subtitle, false, 0.0, 1.0, 1.0, {}, {}, "false alarms"};
}

/// All three panels, or the one of that name.
std::string plot(std::vector<curves> const& all, plan const& run, double delta,
                 std::string const& which) {
  apps::panel by_epsilon{in_words(run.neighbours) + ": delta by epsilon",
                         "upper bounds; dotted: an estimate",
                         true,
                         smallest_delta,
                         1.0,
                         all.front().delta_by_epsilon.back().first,
                         {1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0},
                         {},
                         "epsilon"};
  apps::panel errors = panel_of_errors("no test of one record has fewer misses");
  apps::panel by_step{"Epsilon by step, at delta " + exactly(delta),
                      "upper bounds; dotted: an estimate",
                      false,
                      0.0,
                      0.0,
                      static_cast<double>(run.steps()),
                      {},
                      {},
                      "step"};
  for (std::size_t k = 0; k < all.size(); ++k) {
    curves const& c = all[k];
    std::string const colour = colours[k % std::size(colours)];
    by_epsilon.lines.push_back({c.by->word, colour, c.by->estimate, c.delta_by_epsilon});
    errors.lines.push_back({c.by->word, colour, c.by->estimate, c.misses_by_alarms});
    points shown;
    for (auto const& [step, epsilon] : c.epsilon_by_step) {
      if (epsilon == finite(std::numeric_limits<double>::infinity())) continue;
      shown.emplace_back(step, epsilon);
      by_step.high = std::max(by_step.high, epsilon);
    }
    by_step.lines.push_back({c.by->word, colour, c.by->estimate, std::move(shown)});
  }
  apps::fit_ticks(errors);
  apps::fit_ticks(by_step);
  if (which == panels[0]) return apps::svg({by_epsilon});
  if (which == panels[1]) return apps::svg({errors});
  if (which == panels[2]) return apps::svg({by_step});
  return apps::svg({by_epsilon, errors, by_step});
}

void write(arguments const& of, std::string const& name, std::string const& text) {
  wait_for_ever();  // no part of a file is left
  try {
    apps::write_text(of.text(name), text);
  } catch (std::runtime_error const& error) {
    of.refuse_because(name, error);
  }
}

// ---- between two ends -------------------------------------------------------------------------------------

answer run_trade_off(arguments const& of) {
  of.must_be_left_out({"--delta", "--panel"}, "where --trade-off is given");
  method const& by = one_with_a_bound(of);
  plan const run = read_plan(of);
  surroundings const its = read_surroundings(of, run);
  std::uint64_t const count = of.whole("--points", 51);
  accounts const all = accounts_by(by, run, its);
  tacit::trade_off_curve const curve = asked(all, its, [&](auto const& profile) {
    return tacit::trade_off_curve(profile, run.neighbours,
                                  {.knots = std::max<std::size_t>(96, count)});
  });

  bool const exact = attained(run);
  answer out;
  out.sentence = about(run, its) + ", by " + by.word + "\n\n" + column("false alarms") +
                 column("misses from") + (exact ? column("to") : "");
  out.json["accountant"] = by.word;
  if (!exact) out.json["attained"] = false;
  points from;
  points to;
  for (std::uint64_t k = 0; k < count; ++k) {
    double const alarms = static_cast<double>(k) / static_cast<double>(count - 1);
    tacit::bound<double> const misses = curve.false_negative_rate(alarms);
    out.json["trade_off"].push_back({alarms, misses.lower, misses.upper});
    out.sentence += "\n" + column(exactly(alarms)) + column(rounded_down(misses.lower)) +
                    (exact ? column(rounded_up(misses.upper)) : "");
    from.emplace_back(alarms, misses.lower);
    to.emplace_back(alarms, misses.upper);
  }
  out.json["advantage"] = ends_in_json(curve.advantage());
  out.json["file"] = of.text("--trade-off");
  out.sentence += "\n\nthe advantage of an attacker is " +
                  ends_in_words(curve.advantage(), exact ? of_run : nullptr) +
                  "; the curve is in " + of.text("--trade-off");
  write(of, "--trade-off", curve.save());
  if (of.given("--plot")) {
    apps::panel errors =
        panel_of_errors(exact ? "no test has fewer misses, the best one no more than dashed"
                              : "no test of one record has fewer misses");
    errors.lines.push_back({by.word, colours[0], false, std::move(from)});
    if (exact) errors.lines.push_back({"", colours[0], true, std::move(to)});
    apps::fit_ticks(errors);
    write(of, "--plot", apps::svg({errors}));
    out.json["plot"] = of.text("--plot");
  }
  return with_surroundings(std::move(out), its);
}

answer run_curve(arguments const& of) {
  bool const files = of.given("--plot") || of.given("--trade-off");
  if (!files) of.must_be_left_out({"--force"}, "without --plot and --trade-off");
  if (!of.given("--plot")) of.must_be_left_out({"--panel"}, "without --plot");
  for (char const* name : {"--plot", "--trade-off"}) {
    if (of.given(name) && !of.given("--force")) of.must_be_new(name);
  }
  if (of.given("--trade-off")) return run_trade_off(of);
  of.must_be_left_out({"--points"}, "unless --trade-off is given");
  plan const run = read_plan(of);
  surroundings const its = read_surroundings(of, run);
  double const delta = of.number("--delta", 1e-5);
  std::vector<curves> all;
  std::string refusals;
  double farthest = 0.0;  // the same epsilons for all
  for (method const* m : chosen_methods(of)) {
    try {
      if (all.empty()) {
        farthest = epsilon_of(*m, run, its, smallest_delta);
        farthest = farthest > 0.0 ? std::min(farthest, 1000.0) : 1.0;
        double const nice = apps::nice_step(farthest, 50.0);
        farthest = std::ceil(farthest / nice) * nice;
      }
      all.push_back(drawn(*m, run, its, farthest, delta));
    } catch (std::runtime_error const& error) {
      refusals += (refusals.empty() ? "" : "; ") + std::string(m->word) + ": " + error.what();
    }
  }
  if (all.empty()) throw bad_input(refusals);

  answer out;
  out.sentence = about(run, its) + "\n\n" +
                 table("delta is at most, at epsilon", all, &curves::delta_by_epsilon, rounded_up) +
                 "\n\n" +
                 table("an attacker's misses are at least, at a rate of false alarms of", all,
                       &curves::misses_by_alarms, rounded_down) +
                 "\n\n" +
                 table("epsilon at delta " + exactly(delta) + " is at most, after step", all,
                       &curves::epsilon_by_step, epsilon_in_words);
  if (!refusals.empty()) out.sentence += "\n\nno bound: " + refusals;
  for (curves const& c : all) {
    nlohmann::ordered_json entry{{"accountant", c.by->word}};
    if (c.by->estimate) entry["estimate"] = true;
    entry["delta_by_epsilon"] = points_in_json(c.delta_by_epsilon);
    entry["trade_off"] = points_in_json(c.misses_by_alarms);
    entry["epsilon_by_step"] = points_in_json(c.epsilon_by_step);
    out.json["accountants"].push_back(std::move(entry));
  }
  out.json["delta"] = delta;
  out = with_surroundings(std::move(out), its);
  if (of.given("--plot")) {
    std::string const picture =
        plot(all, run, delta, of.given("--panel") ? of.text("--panel") : "all");
    write(of, "--plot", picture);
    out.json["plot"] = of.text("--plot");
  }
  return out;
}

}  // namespace

verb curve() {
  return {
      "curve", "Delta by epsilon, an attacker's errors, epsilon by step",
      R"(Prints the curves, and draws them with --plot. delta and epsilon are upper bounds; misses are a
lower bound, at every rate of false alarms, on those of any test for one record. --trade-off prints the
latter alone, with an upper bound on those of the best test: on the run's own where the sampling and the
neighbours leave no slack, else on what is known of it.)",
      declare_curve, run_curve};
}

}  // namespace calculator
