// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include "output/format.hpp"
#include "output/panel.hpp"
#include "output/statistics.hpp"
#include "row_text.hpp"
#include "tuning_cost.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

namespace apps {

namespace {

std::vector<double> attacks_on(compared_row const& row) {
  return each(row, [](scored_run const& r) { return r.attacked; });
}

std::string spent(compared_row const& row) {
  auto const epsilon = each(row, [](scored_run const& r) { return r.epsilon; });
  auto const nats = each(row, [](scored_run const& r) { return r.nats; });
  if (!epsilon.empty()) return "ε = " + up(largest(epsilon), 3);
  if (!nats.empty()) return up(largest(nats), 4) + " nats";
  return row.family == "none" ? "nothing" : "all";
}

double bound_of(compared_row const& row) {
  return largest(each(row, [](scored_run const& r) { return std::optional(r.bound); }));
}

std::string attack_text(compared_row const& row) {
  std::vector<double> const found = attacks_on(row);
  if (found.empty() || row.family == "none" || bound_of(row) == 1.0) return "–";
  return with_interval("%.3f (%.2f to %.2f)", found, true);
}

bool measured_here(std::vector<compared_row> const& rows, place where) {
  bool any = false;
  for (compared_row const& row : rows) {
    if (row.where != where || !row.in_table) continue;
    if (!row.done()) return false;
    any = true;
  }
  return any;
}

// Names the seeds with which a row ended far below public training: its setting is not stable.
std::string worse_than_public(compared_row const& row, compared_row const* alone) {
  if (alone == nullptr || alone == &row) return "";
  bool const text = words_of(row.where).less_is_better;
  std::string seeds;
  for (std::size_t i = 0; i < std::min(row.runs.size(), alone->runs.size()); ++i) {
    double const a = row.runs[i].score;
    double const b = alone->runs[i].score;
    if (text ? a > 2.0 * b : a < b - 0.1)
      seeds += formatted("%s%zu", seeds.empty() ? "" : ", ", i + 1);
  }
  return seeds.empty() ? "" : " ‡ " + seeds;
}

void results_table(std::string& out, std::vector<compared_row> const& rows, place where) {
  place_words const words = words_of(where);
  bool const text = where == place::text;
  out += "| | asked | " + std::string(words.score) +
         " | gain over public training | spent | with tuning | bound | attack | loss AUC |" +
         (text ? " exposure |" : "") + "\n|---|---:|---:|---:|---:|---:|---:|---:|---:|" +
         (text ? "---:|" : "") + "\n";
  compared_row const* const alone = public_row(rows, where);
  for (compared_row const& row : rows) {
    if (row.where != where || !row.in_table || !row.done()) continue;
    std::string gain = "–";
    if (alone != nullptr && alone != &row) {
      mean_interval const g =
          interval_of(gains_over(scores_of(row), scores_of(*alone), words.less_is_better));
      gain = formatted(text ? "%+.2f (%+.2f to %+.2f)" : "%+.3f (%+.3f to %+.3f)", g.mean, g.low,
                       g.high);
    }
    out += "| " + row.title + " | " + (row.epsilon ? formatted("%g", *row.epsilon) : "") + " | " +
           score_text(row) + worse_than_public(row, alone) + " | " + gain + " | " + spent(row) +
           " | " + cost_of_tuning(row) + " | " +
           (bound_of(row) == 1.0 ? "1" : up(bound_of(row), 3)) + " | " + attack_text(row) + " | " +
           (row.runs.front().with_members
                ? with_interval("%.3f (%.2f to %.2f)",
                                each(row, [](scored_run const& r) { return std::optional(r.auc); }),
                                true)
                : "–") +
           " |";
    if (text) {
      // The means of each run: canaries of one run are not independent.
      auto const exposure = [&](auto const& bits) {
        std::vector<double> means;
        for (scored_run const& run : row.runs) {
          if (!bits(run).empty()) means.push_back(interval_of(bits(run)).mean);
        }
        return means.empty() ? std::string("–")
                             : with_interval("%.1f (%.1f to %.1f)", means, false);
      };
      out += " " + exposure([](scored_run const& r) { return r.exposure_in; }) + ", " +
             exposure([](scored_run const& r) { return r.exposure_out; }) + " |";
    }
    out += "\n";
  }
}

void settings_table(std::string& out, std::vector<compared_row> const& rows, place where) {
  out +=
      "\nThe settings that were chosen, their score on the seeds of tuning, and what a step "
      "costs:\n\n"
      "| | asked | steps | learning rate | clip | batch rate | tuning score | ms a step | MB |\n"
      "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (compared_row const& row : rows) {
    if (row.where != where || row.of_papers() || !row.done() || row.grid.empty()) continue;
    setting const& s = *row.chosen;
    bool const clips = std::any_of(row.grid.begin(), row.grid.end(),
                                   [&](setting const& other) { return other.clip != 1.0; });
    bool const asks = row.in_table && row.epsilon;
    out += "| " + row.title + " | " + (asks ? formatted("%g", *row.epsilon) : "") +
           formatted(" | %zu | %g%s | ", s.steps, s.learning_rate,
                     at_the_edge(s, row.tried) ? " †" : "") +
           (clips ? formatted("%g", s.clip) : "–") + formatted(" | %g | ", s.rate) +
           (row.grid.size() > 1 ? with_interval(where == place::text ? "%.2f (%.2f to %.2f)"
                                                                     : "%.3f (%.3f to %.3f)",
                                                row.tuned_scores, where != place::text)
                                : "given") +
           " | " + (row.cost.seconds > 0.0 ? formatted("%.2f", 1e3 * row.cost.seconds) : "–") +
           " | " + (row.cost.bytes > 0.0 ? formatted("%.1f", row.cost.bytes / 1e6) : "–") + " |\n";
  }
}

char const* word_for(outcome how) {
  switch (how) {
    case outcome::confirmed:
      return "**confirmed**";
    case outcome::refuted:
      return "**refuted**";
    case outcome::not_seen:
      break;
  }
  return "not seen";
}

std::string p_text(double p) {
  return p < 1e-4 ? std::string("below 0.0001") : formatted("%.2g", p);
}

// In units of the standard deviation of a paired difference.
struct effect_interval {
  double size;
  double low;
  double high;
};

std::optional<effect_interval> effect_of(claim const& c) {
  mean_interval const gain = interval_of(c.gains);
  if (!(gain.deviation > 0.0)) return std::nullopt;
  return effect_interval{gain.mean / gain.deviation, gain.low / gain.deviation,
                         gain.high / gain.deviation};
}

void claims_table(std::string& out, std::vector<claim> const& claims) {
  out +=
      "| | claim | source | where | compared | difference (95 %) | effect | p | |\n"
      "|---:|---|---|---|---|---:|---:|---:|---|\n";
  std::size_t number = 0;
  for (claim const& c : claims) {
    out += formatted("| %zu | ", ++number) + c.what + " | " + c.source + " | " + c.where + " | ";
    mean_interval const gain = interval_of(c.gains);
    std::optional<effect_interval> const effect = effect_of(c);
    out += c.who + formatted(": %.4g against %.4g", c.mean_of_this, c.mean_of_that) +
           formatted(" | %+.3g (%+.3g to %+.3g) | ", gain.mean, gain.low, gain.high) +
           (effect ? formatted("%+.1f (%+.1f to %+.1f)", effect->size, effect->low, effect->high)
                   : "–") +
           " | " + p_text(c.adjusted) + " | " + word_for(c.how) +
           (c.note.empty() ? "" : ", " + c.note) + " |\n";
  }
}

std::string how_to_read(comparison const& all) {
  std::string out =
      "## How it was done\n\n"
      "- **Tuning.** Every row of a table was given the same budget, " +
      formatted(
          "%zu runs. First its grid of %zu settings ran on %zu seeds: three numbers of steps "
          "and eight learning rates, or four with two clips, or for FERRET four with two batch "
          "rates. "
          "Then so did %zu settings around the best of them: faster and slower learning, "
          "more and fewer steps, other clips, smaller batches where the system has any. The "
          "%zu best of all %zu ran on %zu further seeds, and the best mean over all %zu "
          "seeds is the row's setting. FERRET's rows on texts have a grid of %zu and were tuned "
          "twice: smaller and larger batches were added after first scores had been seen, by which "
          "one verdict changed; it favours them. ",
          tuning_runs, grid_size, std::size(first_seeds), neighbours, finalists,
          grid_size + neighbours, std::size(final_seeds),
          std::size(first_seeds) + std::size(final_seeds), ferret_text_grid_size) +
      "A † marks a learning rate that is the smallest or the largest of those tried: a better one "
      "may lie outside, or none does better than public training. Numbers of steps are bounded by "
      "what "
      "a run may cost: where the largest was chosen more steps may do better. Not tuned are "
      "FERRET's "
      "clip (1 on tables, 10 on texts), PACZero's clip, which never binds, and its 128 candidate "
      "halves, the directions of DP-AggZO (16 and 8), the length of a two-point measurement, and "
      "the "
      "noise of what a controller reads. The seeds of tuning are in no "
      "table, but their splits are of the same data.\n"
      "- **Scores** are those of the last step on records that nobody trained on, the mean of " +
      formatted("%zu", all.seeds) +
      " seeds with its 95 % interval by Student's t. A seed decides the split of the data and "
      "where public training began, and is the same for all rows: differences are paired. A ‡ "
      "names "
      "the seeds with which a row ended far below public training, by .1 of accuracy or at twice "
      "its "
      "perplexity: its setting is not stable, although tuning did not show it.\n"
      "- **Claims** are tested by Student's t on the paired differences. A win by scores must also "
      "beat "
      "*public training alone*: of the two p the larger counts. All p are corrected together by "
      "Holm's rule, so that with probability .95 no verdict on the page is wrong by chance, on "
      "these data sets. "
      "*confirmed*: p at most .05 on the side of the claim; *refuted*: on the other; *not seen*: "
      "neither, with " +
      formatted("%zu", all.seeds) +
      " seeds.\n"
      "- **Every run** is a line of [" +
      all.log + "](" + all.log +
      "). A regeneration that was stopped goes on where it was, and runs nothing again that is "
      "in the file; without the file all begins anew.\n"
      "\n## How to read it\n\n"
      "- A model has learnt public data. Of the private records a secret half takes part in the "
      "tuning.\n"
      "- *asked*: the ε, at δ = 1e-5, that the row stands for. PACZero and FERRET have no ε: they "
      "are given the information about a record that allows an attacker no more success than one "
      "Gaussian release of that (ε, δ): ";
  for (double const epsilon : {0.5, 2.0, 8.0}) {
    out += formatted("%s or %.4f nats for ε = %g%s", up(success_at(epsilon), 3).c_str(),
                     std::floor(1e4 * information_at(epsilon).value) * 1e-4, epsilon,
                     epsilon < 8.0 ? ", " : ".\n");
  }
  return out +
         "- *spent* and *bound* are upper bounds: what was charged, and how often any attacker on "
         "one record's membership can be right, at prior ½. A bound of .5 means that no attacker "
         "does better than a coin. RLDP's bound is that of its (ε, δ) alone; the other rows' is "
         "that of the "
         "whole privacy loss, which is lower: the two do not compare. Laplace noise is calibrated "
         "to be purely ε-private, which is "
         "stricter: its ε at δ is less.\n"
         "- *with tuning*: what choosing the setting would cost on the private records themselves, "
         "if only the best run were released. For (ε, δ) it is the bound for the best of a "
         "geometric number of runs, as many on average as tuning took, each of which draws its "
         "setting from those tried (`dp/selection.hpp`). For FERRET all runs add up. PACZero-ZPL "
         "reads no secret, in any number of runs. – where no bound is known: a record's "
         "information of "
         "separate runs of PACZero-MI does not add up, and a controller may change the noise.\n"
         "- *attack*: how often the strongest attacker was right, with a 95 % interval over the "
         "seeds (Student's t). For PACZero it is what its posterior expects. It knows every number "
         "of every record. For (ε, δ) and for FERRET it also knows who takes part but for the "
         "record in question; for PACZero it knows the 128 candidate halves. An interval reaching "
         "above the bound is a draw of few runs; one wholly above would refute the guarantee. "
         "Where it says –, gradients of all texts would have to be computed at each step, which "
         "takes too long.\n"
         "- *loss AUC*: the loss-threshold attack, which most audits stop at.\n"
         "- *exposure*: of canaries' codes among the 1000 possible, in bits; of those that took "
         "part, and of those that did not, each with its 95 % interval. 1.4 is chance.\n"
         "- *ms a step* and *MB*: median time of a step in one run of a few, on one core of a "
         "machine "
         "that others used too, and by how much the process grew.\n"
         "- FERRET's guarantee is an average over transcripts. RLDP's SAC has some 40 to 60 "
         "choices to learn from in a run: its row is shown, and no verdict rests on it.\n";
}

}  // namespace

std::string as_markdown(comparison const& all) {
  std::vector<compared_row> const& rows = all.found.rows;
  std::string out = "# Results\n\n";
  out +=
      "Every system of the papers, tuned, audited and compared at this library's scale. All of "
      "this page is written by\n\n    " +
      all.command + "\n\n" +
      formatted(
          "from %zu runs, whose times add up to %.1f hours, on cores that other programs used "
          "too. What each paper has a table of, in kind, is on [a page of its "
          "own](paper_rows.md).\n",
          all.runs, std::ceil(all.seconds / 360.0) / 10.0);
  std::string missing;
  for (place const where : places) {
    if (!measured_here(rows, where)) {
      if (!missing.empty()) missing += "; ";
      missing += words_of(where).title;
    }
  }
  if (!missing.empty()) out += "\n**Not measured yet:** " + missing + ".\n";
  out += '\n';
  out += how_to_read(all);
  out += "\n![Scores against what an attacker may reach](results.svg)\n";
  for (place const where : places) {
    if (!measured_here(rows, where)) continue;
    out += "\n### " + std::string(words_of(where).title) + "\n\n";
    results_table(out, rows, where);
    settings_table(out, rows, where);
  }
  if (!all.claims.empty()) {
    out +=
        "\n## What the papers claim\n\n"
        "*difference*: the mean of the paired differences, positive where the claim is right. "
        "*effect*: the difference over the standard deviation of one pair. *p*: after Holm's "
        "correction.\n\n";
    claims_table(out, all.claims);
    out += "\n![Effects of the claims, with 95 % intervals](claims.svg)\n";
  }
  if (!all.found.lira.empty()) {
    out +=
        "\n## Shadow runs\n\n"
        "The likelihood-ratio attack: " +
        formatted("%zu", shadow_runs_of_each(false)) +
        " runs of each row on random halves of one universe, each attacked with the others as "
        "shadows; success is the mean over all records, with a 95 % interval over the runs that "
        "holds at any number of them. Loss thresholds, *loss AUC* above, are nearly blind on "
        "digits, even where "
        "nothing is private; texts are learnt by heart more.\n\n"
        "| on | | success | 95 % | bound |\n|---|---|---:|---:|---:|\n";
    for (lira_row const& r : all.found.lira) {
      out += "| " + std::string(words_of(r.where).title) + " | " + r.title +
             formatted(" | %.3f | %.3f to %.3f | ", r.success.value, r.success.lower,
                       r.success.upper) +
             (r.bound == 1.0 ? "1" : up(r.bound, 3)) + " |\n";
    }
  }
  return out;
}

nlohmann::ordered_json as_json(comparison const& all) {
  nlohmann::ordered_json out{{"seeds", all.seeds}, {"runs", all.runs}, {"seconds", all.seconds}};
  for (compared_row const& row : all.found.rows) {
    if (!row.done()) continue;
    nlohmann::ordered_json one{{"place", words_of(row.where).id},
                               {"family", row.family},
                               {"title", row.title},
                               {"steps", row.chosen->steps},
                               {"learning_rate", row.chosen->learning_rate},
                               {"clip", row.chosen->clip},
                               {"rate", row.chosen->rate},
                               {"scores", scores_of(row)},
                               {"bound", bound_of(row)},
                               {"attacks", attacks_on(row)},
                               {"seconds_a_step", row.cost.seconds},
                               {"bytes", row.cost.bytes}};
    if (row.epsilon) one["asked"] = *row.epsilon;
    auto const epsilon = each(row, [](scored_run const& r) { return r.epsilon; });
    auto const nats = each(row, [](scored_run const& r) { return r.nats; });
    if (!epsilon.empty()) one["epsilon"] = largest(epsilon);
    if (!nats.empty()) one["nats"] = largest(nats);
    if (row.tuned_epsilon) one["epsilon_with_tuning"] = *row.tuned_epsilon;
    out["rows"].push_back(std::move(one));
  }
  for (claim const& c : all.claims) {
    mean_interval const gain = interval_of(c.gains);
    out["claims"].push_back({{"claim", c.what},
                             {"source", c.source},
                             {"where", c.where},
                             {"compared", c.who},
                             {"gain", gain.mean},
                             {"lower", gain.low},
                             {"upper", gain.high},
                             {"p", c.adjusted},
                             {"outcome", c.how == outcome::confirmed ? "confirmed"
                                         : c.how == outcome::refuted ? "refuted"
                                                                     : "not seen"}});
  }
  for (lira_row const& r : all.found.lira) {
    out["lira"].push_back({{"place", words_of(r.where).id},
                           {"title", r.title},
                           {"success", r.success.value},
                           {"lower", r.success.lower},
                           {"upper", r.success.upper},
                           {"bound", r.bound},
                           {"loss_auc", r.threshold_auc}});
  }
  return out;
}

// The better of the two that spend no budget, on average.
compared_row const* best_without_privacy(std::vector<compared_row> const& rows, place where) {
  bool const less = words_of(where).less_is_better;
  compared_row const* best = nullptr;
  for (char const* family : {"mezo", "sgd"}) {
    for (compared_row const* row : family_of(rows, where, family)) {
      if (!row->done()) continue;
      if (best == nullptr) best = row;
      double const mean = interval_of(scores_of(*row)).mean;
      double const known = interval_of(scores_of(*best)).mean;
      if (less ? mean < known : mean > known) best = row;
    }
  }
  return best;
}

std::string score_figure(std::vector<compared_row> const& rows) {
  struct look {
    char const* family;
    char const* label;
    char const* colour;
  };
  constexpr look looks[] = {
      {"paczero-mi", "PACZero", "#0072b2"},    {"dpzero", "DPZero", "#d55e00"},
      {"dp-zo-laplace", "Laplace", "#e69f00"}, {"dp-aggzo", "DP-AggZO", "#cc79a7"},
      {"dpgd-0th", "DPGD-0th", "#a6761d"},     {"dp-gd", "DP-GD", "#009e73"},
      {"ferret", "FERRET", "#666666"},         {"rldp-fixed", "RLDP", "#56b4e9"}};
  std::vector<panel> panels;
  for (place const where : places) {
    if (!measured_here(rows, where)) continue;
    place_words const words = words_of(where);
    panel p{
        std::string(words.title),
        std::string(words.score) + ", mean and 95 % interval; no privacy: MeZO or gradient descent",
        false,
        1e300,
        -1e300,
        1.0,
        {},
        {},
        "an attacker's success that the asked ε allows"};
    p.left = 0.48;
    p.marks = {{0.5, "0.5"}, {0.6, "0.6"}, {0.7, "0.7"}, {0.8, "0.8"}};
    auto const shows = [&](mean_interval const& s) {
      p.low = std::min(p.low, s.low);
      p.high = std::max(p.high, s.high);
    };
    for (look const& l : looks) {
      line drawn{l.label, l.colour, false, {}};
      auto const put = [&](double success, compared_row const& row) {
        mean_interval const s = interval_of(scores_of(row));
        if (!std::isfinite(s.low)) return;
        drawn.at.emplace_back(success, s.mean);
        drawn.interval.emplace_back(s.low, s.high);
        shows(s);
      };
      if (l.family == std::string("paczero-mi")) {
        for (compared_row const* row : family_of(rows, where, "paczero-zpl")) put(0.5, *row);
      }
      for (compared_row const* row : family_of(rows, where, l.family)) {
        if (row->done() && row->epsilon) put(success_at(*row->epsilon), *row);
      }
      if (!drawn.at.empty()) p.lines.push_back(std::move(drawn));
    }
    if (p.lines.empty()) continue;
    p.right = 0.82;
    auto const across = [&](char const* label, compared_row const* row) {
      if (row == nullptr || !row->done()) return;
      mean_interval const s = interval_of(scores_of(*row));
      if (!std::isfinite(s.low)) return;
      std::pair const ends{s.low, s.high};
      p.lines.push_back(
          {label, "#222222", true, {{p.left, s.mean}, {p.right, s.mean}}, {ends, ends}});
      shows(s);
    };
    across("public", public_row(rows, where));
    across("no privacy", best_without_privacy(rows, where));
    fit_ticks(p);
    panels.push_back(std::move(p));
  }
  return svg(panels);
}

std::string claims_figure(std::vector<claim> const& claims) {
  panel p{"What the papers claim",
          "effect and 95 % interval: green confirmed, red refuted, grey not seen",
          false,
          -1.0,
          1.0,
          static_cast<double>(claims.size()) + 0.5,
          {},
          {},
          "claim, by its number in the table"};
  p.left = 0.5;
  p.side_by_side = false;
  p.lines.push_back({"", "#888888", true, {{p.left, 0.0}, {p.right, 0.0}}});
  std::size_t number = 0;
  for (claim const& c : claims) {
    double const x = static_cast<double>(++number);
    std::optional<effect_interval> const effect = effect_of(c);
    if (!effect) continue;
    char const* const colour = c.how == outcome::confirmed ? "#009e73"
                               : c.how == outcome::refuted ? "#c0392b"
                                                           : "#888888";
    p.lines.push_back({"", colour, false, {{x, effect->size}}, {{effect->low, effect->high}}});
    p.marks.emplace_back(x, formatted("%zu", number));
    p.low = std::min(p.low, effect->low);
    p.high = std::max(p.high, effect->high);
  }
  fit_ticks(p);
  return svg({p});
}

}  // namespace apps
