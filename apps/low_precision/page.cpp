// SPDX-License-Identifier: Apache-2.0
#include "page.hpp"

#include "output/format.hpp"
#include "output/statistics.hpp"
#include "questions.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace apps {

namespace {

constexpr std::size_t arm_count = std::size(all_arms);

std::string shown(scores const& all, int digits) {
  mean_interval const i = interval_of(all);
  return formatted("%.*f (%.*f to %.*f)", digits, i.mean, digits, i.low, digits, i.high);
}

// Numbers that span decades.
std::string shown_to_three(scores const& all) {
  mean_interval const i = interval_of(all);
  return formatted("%.3g (%.3g to %.3g)", i.mean, i.low, i.high);
}

void add_cell(std::string& out, std::string_view text) {
  out += ' ';
  out += text;
  out += " |";
}

void begin_row(std::string& out, std::string_view name) {
  out += '|';
  add_cell(out, name);
}

std::string bar(std::size_t columns) {
  std::string out = "|";
  for (std::size_t i = 0; i < columns; ++i) out += "---:|";
  return out;
}

void accuracy_table(std::string& out, low_precision_results const& found) {
  out += "\n| |";
  for (storage_arm const arm : all_arms) add_cell(out, name_of(arm));
  out += "\n|---" + bar(arm_count) + "\n";
  for (system_scores const& s : found.systems) {
    begin_row(out, name_of(s.system));
    for (std::size_t a = 0; a < arm_count; ++a) {
      add_cell(out, shown(s.arms[a][s.best[a]].accuracy, 3));
    }
    out += "\n";
  }
  out += "\n| μ, η |";
  for (storage_arm const arm : all_arms) add_cell(out, name_of(arm));
  out += "\n|---" + bar(arm_count) + "\n";
  for (system_scores const& s : found.systems) {
    begin_row(out, name_of(s.system));
    for (std::size_t a = 0; a < arm_count; ++a) {
      arm_scores const& one = s.arms[a][s.best[a]];
      out +=
          formatted(" %s, %g%s |", ladder[s.best[a]].name, one.rate, one.at_the_edge ? " †" : "");
    }
    out += "\n";
  }
}

// A row for each system and arm; cell(system, arm, column).
template <class Cell>
void table_by_smoothing(std::string& out, low_precision_results const& found, std::size_t from,
                        bool alone, Cell const& cell) {
  std::size_t const columns = ladder_size + (alone ? 1 : 0);
  out += "\n| | |";
  if (alone) out += " updates alone |";
  for (named_smoothing const& mu : ladder) out += formatted(" μ = %s |", mu.name);
  out += "\n|---|---" + bar(columns) + "\n";
  for (system_scores const& s : found.systems) {
    for (std::size_t a = from; a < arm_count; ++a) {
      begin_row(out, a == from ? name_of(s.system) : std::string_view());
      add_cell(out, name_of(all_arms[a]));
      if (alone) add_cell(out, cell(s, a, ladder_size));
      for (std::size_t m = 0; m < ladder_size; ++m) add_cell(out, cell(s, a, m));
      out += "\n";
    }
  }
}

void rest_table(std::string& out, low_precision_results const& found) {
  out += "\n| μ | bfloat16 | half |\n|---" + bar(2) + "\n";
  for (std::size_t m = 0; m < std::size(fine_ladder); ++m) {
    out += formatted("| %s |", fine_ladder[m].name);
    for (std::vector<scores> const& type : found.rest) add_cell(out, shown_to_three(type[m]));
    out += "\n";
  }
}

void cost_tables(std::string& out, low_precision_results const& found) {
  out += "\n| nanoseconds an entry | float | bfloat16 | half |\n|---" + bar(3) + "\n";
  for (pass_times const& pass : found.passes) {
    begin_row(out, pass.pass);
    for (scores const& type : pass.by_type)
      add_cell(out, type.empty() ? std::string() : shown(type, 2));
    out += "\n";
  }
  out += "\n| microseconds a step of training |";
  for (storage_arm const arm : all_arms) add_cell(out, name_of(arm));
  out += "\n|---" + bar(arm_count) + "\n";
  for (system_scores const& s : found.systems) {
    begin_row(out, name_of(s.system));
    for (scores const& arm : s.microseconds) add_cell(out, shown(arm, 1));
    out += "\n";
  }
}

std::string name_in(answered const& one) {
  return std::string(name_of(one.system)) + (one.other_rates ? " ‡" : "");
}

void questions_table(std::string& out, std::vector<answered> const& answers) {
  std::vector<asked_of_all> const all = asked();
  for (std::size_t q = 0; q < all.size(); ++q) {
    out += formatted("\n**%zu. ", q + 1) + all[q].what + "?** " + all[q].compared +
           ".\n\n| | difference (95 %) | p | |\n|---|---:|---:|---|\n";
    for (answered const& one : answers) {
      if (one.question != q) continue;
      mean_interval const gain = interval_of(one.gain);
      begin_row(out, name_in(one));
      out += formatted(" %+.3f (%+.3f to %+.3f) | ", gain.mean, gain.low, gain.high) +
             (one.p < 1e-4 ? std::string("below 0.0001") : formatted("%.2g", one.p)) + " | " +
             (one.said == verdict::yes        ? "**yes**"
              : one.said == verdict::opposite ? "**no, the opposite**"
                                              : "not seen") +
             " |\n";
    }
  }
}

// "yes in 3 of 5 systems (DPZero, …), the opposite in none; mean differences from … to …"
std::string summary_of(std::vector<answered> const& answers, std::size_t question) {
  std::string yes;
  std::string opposite;
  std::size_t yes_count = 0;
  std::size_t opposite_count = 0;
  std::size_t systems = 0;
  double least = 1e300;
  double most = -1e300;
  double low = 1e300;
  double high = -1e300;
  for (answered const& one : answers) {
    if (one.question != question) continue;
    ++systems;
    mean_interval const i = interval_of(one.gain);
    least = std::min(least, i.mean);
    most = std::max(most, i.mean);
    low = std::min(low, i.low);
    high = std::max(high, i.high);
    if (one.said == verdict::not_seen) continue;
    bool const is_yes = one.said == verdict::yes;
    std::string& names = is_yes ? yes : opposite;
    if (!names.empty()) names += ", ";
    names += name_in(one);
    ++(is_yes ? yes_count : opposite_count);
  }
  auto const counted = [&](std::size_t count, std::string const& names) {
    if (count == systems) return formatted("in all %zu systems", systems);
    return formatted("in %zu of %zu systems (", count, systems) + names + ")";
  };
  std::string out;
  if (yes_count > 0) out += "**yes** " + counted(yes_count, yes);
  if (opposite_count > 0) {
    if (!out.empty()) out += ", ";
    out += "**the opposite** " + counted(opposite_count, opposite);
  }
  if (out.empty()) out = "not seen in any system";
  return out + formatted("; mean differences %+.3f to %+.3f, intervals within %+.3f to %+.3f",
                         least, most, low, high);
}

bool yes_everywhere(std::vector<answered> const& answers, std::size_t question) {
  return std::all_of(answers.begin(), answers.end(), [&](answered const& one) {
    return one.question != question || one.said == verdict::yes;
  });
}

std::size_t place_of(double mu) {
  std::size_t m = 0;
  while (fine_ladder[m].value != mu) ++m;
  return m;
}

void findings(std::string& out, low_precision_results const& found,
              std::vector<answered> const& answers) {
  std::vector<asked_of_all> const all = asked();
  out += "\nBy the tests of [the questions](#questions), one by one:\n\n";
  for (std::size_t q = 0; q < all.size(); ++q) {
    out += formatted("%zu. ", q + 1) + all[q].what + ": " + summary_of(answers, q) + ".\n";
  }
  double luck = 0.0;
  std::string_view where;
  for (system_scores const& s : found.systems) {
    scores means;
    for (arm_scores const& one : s.arms[0]) means.push_back(interval_of(one.accuracy).mean);
    auto const [least, most] = std::minmax_element(means.begin(), means.end());
    if (*most - *least >= luck) {
      luck = *most - *least;
      where = name_of(s.system);
    }
  }
  out +=
      "\n‡: the two sides were tuned to different η, so that the difference is of rounding and "
      "tuning "
      "together. How much tuning on two seeds alone can make, float says, which hardly feels μ: "
      "its "
      "means at the four μ differ by up to " +
      formatted("%.3f (", luck);
  out += where;
  out +=
      "; an estimate). Verdicts on accuracy without a ‡ are of rounding and μ alone, and those on "
      "drift have one η.\n";
  if (yes_everywhere(answers, 8)) {
    out +=
        "\nSo with parameters of 16 bits and signs as directions, **take a power of two for μ**: "
        "it brings "
        "bfloat16 nearer to the float run in every system (9).\n";
  }
  auto const rest = [&](std::size_t type, double mu) {
    return formatted("%.2g", interval_of(found.rest[type][place_of(mu)]).mean);
  };
  out +=
      "\nEstimates, from [the moves by themselves](#what-the-moves-do-by-themselves): with nothing "
      "released the moves to θ ± μz and back carry an entry of bfloat16 " +
      rest(0, 1e-3) + " away at μ = 0.001, and " + rest(0, 0x1p-10) +
      " at 2⁻¹⁰ (half: " + rest(1, 1e-3) + " and " + rest(1, 0x1p-10) +
      "), as root mean squares. How the update is rounded changes none of that.\n";
}

}  // namespace

std::string page(low_precision_options const& how, low_precision_results const& found,
                 double seconds) {
  std::vector<answered> const answers = answers_of(found);
  std::string const steps = std::to_string(how.steps());
  std::string out = "# Low precision\n\n";
  out +=
      "Does private zeroth-order training survive parameters of 16 bits, and does it matter how "
      "updates are rounded to them? A network for digits is trained by five systems with its "
      "parameters in float, bfloat16 and half. All of this page is written by\n\n"
      "    build/release/bin/tacit_low_precision --out docs\n\n" +
      formatted("from [a log](low_precision.jsonl) whose jobs took %.0f minutes of processor. ",
                std::ceil(seconds / 60.0)) +
      "A study that was stopped goes on where it was.\n\n"
      "![Accuracy by μ, and the drift of the moves](low_precision.svg)\n\n## What was asked\n\n"
      "A step moves the parameters θ to θ + μz, to θ − μz and back, in place, and then by an "
      "update of −η·y along z. Each of the four is rounded to storage. To the nearest, an update "
      "below half a unit in an entry's last place is lost, however often it comes (bfloat16 has 8 "
      "significant bits, half 11). *Stochastic* rounding takes the upper neighbour with the "
      "probability that makes it right on average, by public draws that a replay repeats "
      "(`train_options::rounding`); the update alone is rounded so, the moves are not.\n\n"
      "- What does storage of 16 bits cost in accuracy, and does stochastic rounding win it back? "
      "[Accuracy](#accuracy)\n"
      "- Which μ? [The choice of smoothing](#the-choice-of-smoothing)\n"
      "- How far does θ drift from the float run, and what makes it drift? [Drift](#drift), "
      "[the moves by themselves](#what-the-moves-do-by-themselves)\n"
      "- What does it cost in time? [Cost](#what-it-costs)\n\n"
      "## How\n\n"
      "- *The task*: the digits of `examples/data`, split as [the results](results.md) split them, "
      "with " +
      std::to_string(how.records()) +
      " private records and a network of 12 hidden units (910 parameters) instead of 1000 and 32, "
      "so that all of it runs in minutes. The network has learnt all but two classes from public "
      "data; whatever of these two is not for the test is private, and so they are over half of "
      "the "
      "private records. Its accuracy before private training is " +
      shown(found.start_accuracy, 3) + " on 500 test records.\n- *The systems*, all for " + steps +
      " steps on all records, with η falling linearly to 0 and Rademacher directions: " +
      formatted("PACZero at %g nats about a record (MI) and at none (ZPL); ", budget_in_nats) +
      formatted("DPZero (clip 2) and DP-AggZO (two directions, clip 1) at (%g, %g), ",
                target_epsilon, target_delta) +
      formatted("and DP-ZO with Laplace noise (clip 2) at ε = %g, ", target_epsilon) +
      "for neighbours with a record more or less.\n"
      "- *Tuning*, alike for all: for each system, storage and μ the η of the best mean accuracy "
      "on two seeds (101 and 102) among three. Scored are seeds 1 to " +
      std::to_string(how.seeds) +
      ". The μ of the accuracy table is that of the best mean on the tuning seeds; a † marks an η "
      "at the end of its grid.\n"
      "- *Numbers* are means over the scored seeds with 95 % intervals by Student's t. A seed has "
      "one split, start, directions and candidates for every row, so that differences are paired; "
      "the noise is secret and drawn anew in each run.\n"
      "- *Verdicts* stand in [a section of their own](#questions), each with its test. *Not seen* "
      "is "
      "not *none*: its interval says how large a difference may be.\n\n"
      "## What was found\n";
  findings(out, found, answers);
  out += "\n## Accuracy\n\nEach at its own tuned μ and η, which stand in the second table.\n";
  accuracy_table(out, found);
  out +=
      "\n## The choice of smoothing\n\nAccuracy at every μ, each with its tuned η. 0.001 is no "
      "whole "
      "number "
      "of units of a 16-bit entry; 2⁻¹⁰, 2 % smaller, is one for every entry whose unit is not "
      "larger. 2⁻⁷ and 0.01 are such a pair, too, but 28 % apart.\n";
  table_by_smoothing(out, found, 0, false,
                     [](system_scores const& s, std::size_t a, std::size_t m) {
                       return shown(s.arms[a][m].accuracy, 3);
                     });
  out += "\nThe η that were chosen:\n";
  table_by_smoothing(
      out, found, 0, false, [](system_scores const& s, std::size_t a, std::size_t m) {
        return formatted("%g%s", s.arms[a][m].rate, s.arms[a][m].at_the_edge ? " †" : "");
      });
  out +=
      "\n## Drift\n\nThe float run's own releases, at its tuned μ and η, replayed from the same "
      "start in other storage: no noise differs, rounding alone does. Shown is the distance from "
      "the float run after " +
      steps +
      " steps, over the distance that the float run moved: at 1 it is as far away as training "
      "went. *Updates alone* leaves out the moves there and back; the other columns make them, "
      "with that μ.\n";
  table_by_smoothing(out, found, 0, true, [](system_scores const& s, std::size_t a, std::size_t m) {
    return shown_to_three(s.drift[a][m].distance);
  });
  out +=
      "\nWhy rounding at random need not come closer: an update of a units, a below ½, is off by a "
      "to "
      "the nearest, where it is lost, and at random by a variance of a(1 − a), which is more than "
      "a². "
      "Along random directions the errors of an entry's steps hardly depend on each other, and add "
      "up "
      "as a walk: the larger square is the larger drift. At random what is the same in every step "
      "is "
      "kept, T·a of it, and only there it must win.\n";
  out += "\nThe accuracy of these replays, less that of the float run:\n";
  table_by_smoothing(out, found, 1, true, [](system_scores const& s, std::size_t a, std::size_t m) {
    return shown(s.drift[a][m].accuracy, 3);
  });
  out += "\nHow far an entry of the float run moved, as a root mean square:";
  for (system_scores const& s : found.systems) {
    out += ' ';
    out += name_of(s.system);
    out += ' ';
    out += shown_to_three(s.moved) + (s.system == found.systems.back().system ? ".\n" : ",");
  }
  out += "\n## What the moves do by themselves\n\nθ after " + steps +
         " steps in which nothing is released: an entry goes to θ + μz, to θ − μz and back, and "
         "each time is rounded to the nearest. Shown is the root mean square of what is left.\n";
  rest_table(out, found);
  out +=
      "\nWhy: let u be the unit in an entry's last place. Where μ is a whole number of u and the "
      "entry stays between two powers of two, all three sums are exact. Where μ = 0.6u it goes one "
      "unit up, back, and up again: a unit along z in each step, and as the sign of z changes, a "
      "random walk of √T units. For a power of two as μ the walk ends: from every finite number of "
      "either type below 2¹⁴, for μ = 2⁻³⁰ to 2⁴ and signs in any order, after two such rounds "
      "every further one leaves the entry where it is (an enumeration that `tests/zo/step.cpp` "
      "makes). So where directions are signs, a power of two ends this drift. An update puts the "
      "entry elsewhere, from where it settles anew: that is left of it in the table above. Where μ "
      "is below u/4 an entry does not move at all, and the losses say nothing about it.\n\n"
      "## What it costs\n\nTime of processor of one thread, 10 repetitions over 2²⁰ entries, on a "
      "machine of two cores that others used too: ";
  out += formatted("its load average before was %.1f", found.load);
  out +=
      ". The programs here are built for AVX2 without F16C, so that half is converted in "
      "software.\n";
  cost_tables(out, found);
  out +=
      "\nA step of training makes three passes, of which the last is the one back with the update; "
      "here most of its time is in two evaluations of all losses, for which 16-bit storage is "
      "copied to float, and in the mechanism.\n";
  out += quantised_section(found);
  out +=
      "\n## Questions\n\nPaired differences over the seeds, positive where the answer is yes, "
      "tested by Student's t on two sides with Holm's correction over all tables of this "
      "section. ‡: the two sides were tuned to different η.\n";
  questions_table(out, answers);
  out +=
      "\n## What remains open\n\n"
      "- One small network. What decides is η·y against the unit of a weight: large models with "
      "small η lose more of their updates than this one.\n"
      "- Tuning is coarse: three η on two seeds. Many of those chosen are at an end of the grid "
      "(†), "
      "beyond which a better one may lie.\n"
      "- The moves are rounded to the nearest, as everywhere in the library. Rounded at random "
      "they "
      "would reach every entry, and not come back.\n"
      "- Gaussian directions and directions on the sphere have no power of two to choose. Float "
      "master weights, which need none of this and cost the memory that 16 bits save, were not "
      "compared.\n"
      "- DPGD-0th is not among the systems: it releases a vector of all parameters, with noise on "
      "each, "
      "and learns nothing at any ε of [the results](results.md).\n"
      "- DP-ZO with Laplace noise has so much of it in " +
      steps +
      " steps that it learns nothing at any η: its rows say how rounding acts on small updates, "
      "and "
      "nothing about accuracy.\n";
  return out;
}

}  // namespace apps
