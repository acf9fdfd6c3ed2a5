// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include "output/format.hpp"
#include "output/panel.hpp"
#include "output/spread.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace apps {

namespace {

// Half the width of a 95 % interval for the mean, by Student's t: runs are independent, records of one
// run are not.
double half_width(spread const& of) {
  if (of.runs < 2) return 0.5;
  double const n = static_cast<double>(of.runs);
  boost::math::students_t const law(n - 1.0);
  return boost::math::quantile(law, 0.975) * of.deviation / std::sqrt(n);
}

template <class Value>
std::vector<double> each(compared_row const& row, Value const& value) {
  std::vector<double> out;
  for (tuning_result const& run : row.runs) {
    if (std::optional<double> const v = value(run)) out.push_back(*v);
  }
  return out;
}

std::vector<double> attacks_on(compared_row const& row) {
  return each(row, [](tuning_result const& r) { return r.attacked; });
}

double largest(std::vector<double> const& of) {
  return of.empty() ? 0.0 : *std::max_element(of.begin(), of.end());
}

std::string spent(compared_row const& row) {
  auto const epsilon = each(row, [](tuning_result const& r) { return r.epsilon; });
  auto const nats = each(row, [](tuning_result const& r) { return r.nats; });
  if (!epsilon.empty()) return "ε = " + up(largest(epsilon), 3);
  if (!nats.empty()) return up(largest(nats), 4) + " nats";
  return row.family == "none" ? "nothing" : "all";
}

double bound_of(compared_row const& row) {
  return largest(each(row, [](tuning_result const& r) { return std::optional(r.bound); }));
}

std::string attack_text(compared_row const& row) {
  std::vector<double> const found = attacks_on(row);
  if (found.empty() || row.family == "none" || bound_of(row) == 1.0) return "–";
  spread const s = spread_of(found);
  double const width = half_width(s);
  return formatted("%.3f (%.2f to %.2f)", s.mean, std::max(s.mean - width, 0.0),
                   std::min(s.mean + width, 1.0));
}

std::string cost_text(double bytes) { return formatted("%.1f", bytes / 1e6); }

void table_of(std::string& out, std::vector<compared_row> const& rows, place where) {
  place_words const words = words_of(where);
  bool const text = where == place::text;
  out += "\n### " + std::string(words.title) + "\n\n";
  out += "| | asked | " + std::string(words.score) + " | spent | bound | attack | loss AUC |" +
         (text ? " exposure |" : "") + " ms a step | MB |\n|---|---:|---:|---:|---:|---:|---:|" +
         (text ? "---:|" : "") + "---:|---:|\n";
  for (compared_row const& row : rows) {
    if (row.where != where || !row.in_table || row.runs.empty()) continue;
    spread const score = spread_of(scores_of(row));
    out += "| " + row.title + " | " + (row.epsilon ? formatted("%g", *row.epsilon) : "") + " | " +
           formatted(text ? "%.2f ± %.2f" : "%.3f ± %.3f", score.mean, score.deviation) + " | " +
           spent(row) + " | " + (bound_of(row) == 1.0 ? "1" : up(bound_of(row), 3)) + " | " +
           attack_text(row) + " | " +
           (row.runs.front().inside.empty() ? "–" : formatted("%.3f", spread_of(row.auc).mean)) +
           " | ";
    if (text) {
      out += row.exposure_in.empty() ? "– | "
                                     : formatted("%.1f, %.1f | ", spread_of(row.exposure_in).mean,
                                                 spread_of(row.exposure_out).mean);
    }
    out += row.cost.seconds > 0.0 ? formatted("%.2f | ", 1e3 * row.cost.seconds) : "– | ";
    out += (row.cost.bytes > 0.0 ? cost_text(row.cost.bytes) : "–") + " |\n";
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

}  // namespace

std::string as_markdown(comparison const& all) {
  std::string out = "# Results\n\n";
  out +=
      "Every system of the papers, tuned, audited and compared at this library's scale. All of "
      "this page is "
      "written by\n\n    " +
      all.command + "\n\n" +
      formatted(
          "from runs with %zu seeds each, for some claims thrice as many; it took %.0f minutes on "
          "two cores.\n",
          all.seeds, std::ceil(all.seconds / 60.0));
  out +=
      "\n## How to read it\n\n"
      "- A model has learnt public data. Of the private records a secret half takes part in the "
      "tuning. The "
      "score is that of the last step on records that nobody trained on, mean ± standard deviation "
      "over the "
      "seeds.\n"
      "- *asked*: the ε, at δ = 1e-5, that the row stands for. PACZero and FERRET have no ε: they "
      "are given the "
      "information about a record that allows an attacker no more success than one Gaussian "
      "release of that "
      "(ε, δ): ";
  for (double const epsilon : {0.5, 2.0, 8.0}) {
    out += formatted("%s or %.4f nats for ε = %g%s", up(success_at(epsilon), 3).c_str(),
                     std::floor(1e4 * information_at(epsilon).value) * 1e-4, epsilon,
                     epsilon < 8.0 ? ", " : ".\n");
  }
  out +=
      "- *spent* and *bound* are upper bounds: what was charged, and how often any attacker on one "
      "record's "
      "membership can be right, at prior ½. A bound of .5 is none. Laplace noise is calibrated to "
      "be purely "
      "ε-private, which is stricter: its ε at δ is less.\n"
      "- *attack*: how often the strongest attacker was right, with a 95 % interval over the seeds "
      "(Student's t). "
      "For PACZero it is what its posterior expects. It knows every number of every record. For "
      "(ε, δ) and for FERRET it also knows who takes "
      "part but for "
      "the record in question; for PACZero it knows the 128 candidate halves. An interval reaching "
      "above the "
      "bound is a draw of few runs; one wholly above would refute the guarantee. Gradients of all "
      "texts at each "
      "step take too long: – there.\n"
      "- *loss AUC*: the loss-threshold attack, which most audits stop at.\n"
      "- *exposure*: of canaries' codes among the 1000 possible, in bits; of those that took part, "
      "and of those "
      "that did not. 1.4 is chance.\n"
      "- *ms a step* and *MB*: median time of a step, on one core, and by how much a process grew "
      "that took a few "
      "steps.\n"
      "- Steps, rates and clips were chosen by hand, in favour of no system, on seeds that are "
      "not in the tables, and were not charged. FERRET's (ε) is an average over transcripts.\n";
  out += "\n![Scores against what an attacker may reach](results.svg)\n";
  for (place const where :
       {place::digits, place::digits_lora, place::cancer, place::cancer_lora, place::text}) {
    if (std::any_of(all.rows.begin(), all.rows.end(),
                    [&](compared_row const& r) { return r.where == where && r.in_table; })) {
      table_of(out, all.rows, where);
    }
  }
  out +=
      "\n## What the papers claim\n\n"
      "*confirmed*: more than two standard errors on the side of the claim; *refuted*: on the "
      "other; *not "
      "seen*: neither, at this size.\n\n| claim | source | found | |\n|---|---|---|---|\n";
  for (claim const& c : all.claims) {
    out += "| " + c.what + " | " + c.source + " | " + c.found + " | " + word_for(c.how) + " |\n";
  }
  if (!all.study.empty()) {
    out +=
        "\n## DPZero's synthetic study\n\n"
        "The norm of the gradient on test data against the dimension, at three effective ranks, "
        "the best of a "
        "grid of settings for each method: `tacit_dpzero --help` has the setting, and `--full` the "
        "paper's "
        "grid. Each point is the best run of one seed, so there are no error bars.\n\n![DPZero's "
        "study](dpzero.svg)\n";
  }
  out +=
      "\n## Shadow runs\n\n"
      "The likelihood-ratio attack on digits: runs on random halves of one universe, each attacked "
      "with the "
      "others as shadows; success is the mean over all records, with a 95 % interval over the runs "
      "that "
      "holds at any number of them. Loss thresholds are nearly blind at this size even where "
      "nothing is "
      "private.\n\n| | success | 95 % | bound | loss AUC |\n|---|---:|---:|---:|---:|\n";
  for (lira_row const& r : all.lira) {
    out += "| " + r.title + " | " + formatted("%.3f", r.success.value) + " | " +
           formatted("%.3f to %.3f", r.success.lower, r.success.upper) + " | " +
           (r.bound == 1.0 ? "1" : up(r.bound, 3)) + " | " + formatted("%.3f", r.threshold_auc) +
           " |\n";
  }
  return out;
}

nlohmann::ordered_json as_json(comparison const& all) {
  nlohmann::ordered_json out{{"seeds", all.seeds}, {"seconds", all.seconds}};
  for (compared_row const& row : all.rows) {
    nlohmann::ordered_json one{{"place", words_of(row.where).id},
                               {"family", row.family},
                               {"title", row.title},
                               {"steps", row.options.steps},
                               {"learning_rate", row.options.learning_rate},
                               {"clip", row.options.clip},
                               {"scores", scores_of(row)},
                               {"bound", bound_of(row)},
                               {"attacks", attacks_on(row)},
                               {"loss_auc", row.auc},
                               {"seconds_a_step", row.cost.seconds},
                               {"bytes", row.cost.bytes}};
    if (row.epsilon) one["asked"] = *row.epsilon;
    auto const epsilon = each(row, [](tuning_result const& r) { return r.epsilon; });
    auto const nats = each(row, [](tuning_result const& r) { return r.nats; });
    if (!epsilon.empty()) one["epsilon"] = largest(epsilon);
    if (!nats.empty()) one["nats"] = largest(nats);
    out["rows"].push_back(std::move(one));
  }
  for (claim const& c : all.claims) {
    out["claims"].push_back({{"claim", c.what},
                             {"source", c.source},
                             {"found", c.found},
                             {"outcome", c.how == outcome::confirmed ? "confirmed"
                                         : c.how == outcome::refuted ? "refuted"
                                                                     : "not seen"}});
  }
  for (lira_row const& r : all.lira) {
    out["lira"].push_back({{"title", r.title},
                           {"success", r.success.value},
                           {"lower", r.success.lower},
                           {"upper", r.success.upper},
                           {"bound", r.bound},
                           {"loss_auc", r.threshold_auc}});
  }
  return out;
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
      {"dp-gd", "DP-GD", "#009e73"},           {"ferret", "FERRET", "#666666"},
      {"rldp-fixed", "RLDP", "#56b4e9"}};
  std::vector<panel> panels;
  for (place const where : {place::digits, place::cancer, place::text}) {
    place_words const words = words_of(where);
    panel p{std::string(words.title),
            std::string(words.score) +
                ", mean ± standard deviation over the seeds; points at one place side by side",
            false,
            1e300,
            -1e300,
            1.0,
            {},
            {},
            "an attacker's success that the asked ε allows"};
    p.left = 0.48;
    p.marks = {{0.5, "0.5"}, {0.6, "0.6"}, {0.7, "0.7"}, {0.8, "0.8"}};
    for (look const& l : looks) {
      line drawn{l.label, l.colour, false, {}};
      auto const put = [&](double success, compared_row const& row) {
        spread const scores = spread_of(scores_of(row));
        double const low = scores.mean - scores.deviation;
        double const high = scores.mean + scores.deviation;
        drawn.at.emplace_back(success, scores.mean);
        drawn.interval.emplace_back(low, high);
        p.low = std::min(p.low, low);
        p.high = std::max(p.high, high);
      };
      if (l.family == std::string("paczero-mi")) {
        for (compared_row const* row : family_of(rows, where, "paczero-zpl")) put(0.5, *row);
      }
      for (compared_row const* row : family_of(rows, where, l.family)) {
        if (!row->runs.empty() && row->epsilon) put(success_at(*row->epsilon), *row);
      }
      if (!drawn.at.empty()) p.lines.push_back(std::move(drawn));
    }
    if (p.lines.empty()) continue;
    p.right = 0.82;
    fit_ticks(p);
    panels.push_back(std::move(p));
  }
  return svg(panels);
}

}  // namespace apps
