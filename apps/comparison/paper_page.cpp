// SPDX-License-Identifier: Apache-2.0
#include "paper_page.hpp"

#include <tacit/info/attack.hpp>

#include "claims.hpp"
#include "output/format.hpp"
#include "output/panel.hpp"
#include "output/statistics.hpp"
#include "row_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

namespace apps {

namespace {

constexpr char const* rule_names[] = {"paper", "sign", "confident", "zpl-coin", "zpl-hold"};
constexpr double cliff[] = {0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0};

/// The rows that are done, by family.
class finder {
 public:
  explicit finder(std::vector<compared_row> const& rows) : rows_(rows) {}

  compared_row const* operator()(place where, std::string const& family,
                                 std::optional<double> epsilon = {}) const {
    for (compared_row const* row : family_of(rows_, where, family)) {
      if (row->done() && (!epsilon || row->epsilon == epsilon)) return row;
    }
    return nullptr;
  }

  /// A system at an ε of the cliff: of the results, or of this page.
  compared_row const* noisy(place where, std::string const& family, double epsilon) const {
    bool const in_results = epsilon == 0.5 || epsilon == 2.0 || epsilon == 8.0;
    return (*this)(where, in_results ? family : "cliff-" + family, epsilon);
  }

 private:
  std::vector<compared_row> const& rows_;
};

std::string score_or_dash(compared_row const* row) {
  return row != nullptr ? score_text(*row) : "–";
}

// A line of a table: the rows' scores, or nothing where none of them is done.
std::string line_of(std::string const& title, std::initializer_list<compared_row const*> rows) {
  auto const missing = [](compared_row const* row) { return row == nullptr; };
  if (std::all_of(rows.begin(), rows.end(), missing)) return "";
  std::string line = "| " + title;
  for (compared_row const* row : rows) line += " | " + score_or_dash(row);
  return line + " |\n";
}

std::string nats_text(double x) { return x == 0.0 ? "0" : formatted("%.2g", x); }

std::string share_text(std::vector<double> const& of) {
  return of.empty() ? "–" : with_interval("%.3f (%.3f to %.3f)", of, true);
}

std::string unanimity(compared_row const* row) {
  if (row == nullptr) return "–";
  return share_text(each(*row, [](scored_run const& r) { return r.unanimous; }));
}

std::string fall(compared_row const* row) {
  if (row == nullptr) return "–";
  return with_interval("%.3f (%.3f to %.3f)",
                       each(*row, [](scored_run const& r) { return std::optional(r.fall); }),
                       false);
}

std::string difference(std::vector<double> const& a, std::vector<double> const& b) {
  return with_interval("%+.3f (%+.3f to %+.3f)", gains_over(a, b, false), false);
}

// What was charged, how often an attacker may be right and is, and how often all halves agreed.
std::string charges(compared_row const& row) {
  std::vector<double> const half = each(row, [](scored_run const& r) { return r.nats_of_secret; });
  std::vector<double> const record = each(row, [](scored_run const& r) { return r.nats; });
  std::vector<double> const bound =
      each(row, [](scored_run const& r) { return std::optional(r.bound); });
  std::vector<double> const attack = each(row, [](scored_run const& r) { return r.attacked; });
  return nats_text(largest(half)) + " | " + nats_text(largest(record)) + " | " +
         up(largest(bound), 3) + " | " + share_text(attack) + " | " + unanimity(&row);
}

void paczero_tables(std::string& out, finder const& find) {
  std::string k_table;
  for (char const* k : {"1", "4", "16"}) {
    for (char const* rule : rule_names) {
      compared_row const* row =
          find(place::digits, std::string("k-") + rule + "-" + std::string(k));
      if (row == nullptr) continue;
      k_table += std::string("| ") + k + " | " + row->title +
                 formatted(" | %zu | %g | ", row->chosen->steps, row->chosen->learning_rate) +
                 score_text(*row) + " | " + charges(*row) + " |\n";
    }
  }
  if (!k_table.empty()) {
    out +=
        "\n### What is charged, and K directions a step\n\n"
        "Digits, a network; .1 nats about which half took part, as the paper's account has it, but "
        "for ZPL. All K have as many forward passes: 3000/K steps. Eight learning rates each. "
        "*bound* is "
        "that of the budget. Where charges are confident and disagreement holds, no more than "
        "agreement "
        "was ever released, and nothing was charged: the row is that of ZPL.\n\n"
        "| K | rule | steps | learning rate | accuracy | nats about the half | about a record | "
        "bound | attack | unanimous |\n|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|\n" +
        k_table;
  }
  std::string budgets;
  for (char const* nats : {"0.0001", "0.001", "0.01", "0.1", "0.68"}) {
    for (char const* rule : {"paper", "confident"}) {
      compared_row const* row =
          find(place::digits, std::string("budget-") + rule + "-" + std::string(nats));
      if (row == nullptr) continue;
      budgets += std::string("| ") + nats + " | " + row->title + " | " + score_text(*row) + " | " +
                 charges(*row) + " |\n";
    }
  }
  if (!budgets.empty()) {
    out +=
        "\n### Budgets over four decades\n\n"
        "As above, K = 1, 3000 steps, four learning rates each. A budget of 0 is ZPL, above.\n\n"
        "| budget, nats about the half | rule | accuracy | charged | about a record | bound | "
        "attack | unanimous |\n|---:|---|---:|---:|---:|---:|---:|---:|\n" +
        budgets;
  }
  struct rung {
    char const* what;
    char const* title;
    std::vector<char const*> values;
    place where = place::digits;
  };
  std::string ladder;
  for (rung const& r :
       {rung{"steps", "steps T", {"1500", "3000", "6000", "12000"}},
        rung{"halves", "candidate halves M", {"8", "32", "512"}},
        rung{"clip", "clip", {"0.1", "1", "10"}},
        rung{"rank", "rank of adapters", {"1", "2", "4", "8", "16"}, place::digits_lora}}) {
    for (char const* value : r.values) {
      std::string const family = std::string("ladder-") + r.what + "-" + value;
      compared_row const* coin = find(r.where, family + "-zpl-coin");
      compared_row const* hold = find(r.where, family + "-zpl-hold");
      if (coin == nullptr && hold == nullptr) continue;
      ladder += std::string("| ") + r.title + " | " + value + " | " + score_or_dash(coin) + " | " +
                fall(coin) + " | " + unanimity(coin) + " | " + score_or_dash(hold) + " | " +
                fall(hold) + " | " + unanimity(hold) + " |\n";
    }
  }
  if (!ladder.empty()) {
    out +=
        "\n### Drift\n\n"
        "ZPL with a learning rate of .01 that does not fall, which would end any drift; where "
        "nothing else is said T = 6000, M = 128, no clip that binds (1024), and on digits, a "
        "network. *fall*: from the best score on the way to the last.\n\n"
        "| | | coin: accuracy | fall | unanimous | hold: accuracy | fall | unanimous |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|\n" +
        ladder;
  }
  std::string tasks;
  for (place const where : places) {
    compared_row const* coin = find(where, "task-zpl-coin");
    compared_row const* hold = find(where, "task-zpl-hold");
    if (coin == nullptr && hold == nullptr) continue;
    tasks += "| " + std::string(words_of(where).title) + " | " +
             std::string(words_of(where).score) + " | " + score_or_dash(coin) + " | " +
             unanimity(coin) + " | " + score_or_dash(hold) + " | " + unanimity(hold) + " |\n";
  }
  if (!tasks.empty()) {
    out +=
        "\n### Unanimity by task\n\n"
        "Four learning rates each; 3000 steps on tables and 300 on texts.\n\n"
        "| | | coin: score | unanimous | hold: score | unanimous "
        "|\n|---|---|---:|---:|---:|---:|\n" +
        tasks;
  }
  std::string dev;
  for (char const* family : {"k-paper-1", "k-confident-1", "k-zpl-coin-1", "k-zpl-hold-1",
                             "ladder-steps-12000-zpl-coin", "ladder-steps-12000-zpl-hold"}) {
    compared_row const* row = find(place::digits, family);
    if (row == nullptr) continue;
    std::vector<double> const last = each(*row, [](scored_run const& r) { return r.last_score; });
    std::vector<double> const best =
        each(*row, [](scored_run const& r) { return r.dev_best_score; });
    dev += "| " + row->title +
           formatted(", %zu steps%s", row->chosen->steps,
                     std::string(family).starts_with("ladder") ? " at a constant rate" : "") +
           " | " + share_text(last) + " | " + share_text(best) + " | " + difference(best, last) +
           " |\n";
  }
  if (!dev.empty()) {
    out +=
        "\n### The best checkpoint on a development set\n\n"
        "The paper keeps the parameters that were best on development data. Here that is the first "
        "half of the test part, looked at 20 times in a run, or 40 at a constant rate; scores are "
        "on the other half.\n\n"
        "| | last step | best on the first half | difference |\n|---|---:|---:|---:|\n" +
        dev;
  }
  std::string steep;
  for (double const epsilon : cliff) {
    compared_row const* const each_of[] = {find.noisy(place::digits, "dpzero", epsilon),
                                           find.noisy(place::digits, "dp-zo-laplace", epsilon),
                                           find.noisy(place::digits, "dp-gd", epsilon)};
    if (std::all_of(std::begin(each_of), std::end(each_of),
                    [](auto const* row) { return row == nullptr; })) {
      continue;
    }
    steep += formatted("| %g", epsilon);
    for (compared_row const* row : each_of) steep += " | " + score_or_dash(row);
    steep += " |\n";
  }
  if (!steep.empty()) {
    out +=
        "\n### Where noise stops learning (the paper's Table 3)\n\n"
        "Digits, a network, at δ = 1e-5, each tuned as in the results. Public training alone has " +
        score_or_dash(find(place::digits, "none")) + ", and PACZero-ZPL, at no information, " +
        score_or_dash(find(place::digits, "paczero-zpl")) +
        ".\n\n| ε | DPZero | DP-ZO, Laplace | DP-GD |\n|---:|---:|---:|---:|\n" + steep;
  }
}

void ferret_tables(std::string& out, finder const& find) {
  constexpr place where_asked[] = {place::digits, place::text};
  std::string native;
  for (char const* nats : {"0.1", "0.5", "1", "2", "10", "none"}) {
    std::string cells;
    bool any = false;
    for (place const where : where_asked) {
      compared_row const* row = find(where, std::string("ferret-MAX-") + nats);
      bool const compared = nats != std::string("10") && nats != std::string("none");
      compared_row const* noise =
          compared ? find.noisy(where, "dp-gd", std::strtod(nats, nullptr)) : nullptr;
      any = any || row != nullptr;
      cells += " | " + score_or_dash(row) + " | " + (compared ? score_or_dash(noise) : "");
    }
    if (any) native += std::string("| ") + nats + cells + " |\n";
  }
  if (!native.empty()) {
    out +=
        "\n### Budgets of its own, beside noisy gradients of the same number\n\n"
        "The paper sets n nats about a record, on average, beside DP-SGD at ε = n. The two are "
        "different promises: n = .5 allows an attacker up to " +
        up(tacit::membership_success(tacit::nats(0.5)), 3) +
        " on membership, and ε = .5 at δ = 1e-5 " + up(success_at(0.5), 3) +
        ". *none*: every group fires in every step. On messages the score is perplexity: less is "
        "better.\n\n"
        "| n | digits: FERRET-MAX, n nats | DP-GD, ε = n | messages: FERRET-MAX, n nats | DP-GD, ε "
        "= n |\n|---:|---:|---:|---:|---:|\n" +
        native;
  }
  std::string groups;
  for (char const* name : {"MAX", "HALF", "QUARTER", "EIGHTH", "2"}) {
    std::string const family = std::string("ferret-") + name;
    groups += line_of(name, {find(place::text, family + "-0.5"), find(place::text, family + "-2")});
  }
  if (!groups.empty()) {
    out +=
        "\n### Groupings\n\nMessages, perplexity. MAX: a group each tensor; HALF, QUARTER and "
        "EIGHTH: buckets of 2, 4 and 8; 2: two halves.\n\n| | .5 nats | 2 nats "
        "|\n|---|---:|---:|\n" +
        groups;
  }
  std::string epochs;
  for (char const* number : {"1", "3", "5"}) {
    std::string const family = std::string("epochs-") + number;
    epochs += line_of(number, {find(place::digits, family), find(place::text, family)});
  }
  if (!epochs.empty()) {
    out +=
        "\n### Epochs\n\nFERRET-MAX at 2 nats. A record takes part in so many batches on average; "
        "three batch rates and four learning rates each.\n\n| epochs | digits: accuracy | "
        "messages: perplexity |\n|---:|---:|---:|\n" +
        epochs;
  }
}

// The share of the run after which a curve is first as good as a score; infinite if it never is.
double first_at(std::vector<double> const& curve, double score, bool less_is_better) {
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (less_is_better ? curve[i] <= score : curve[i] >= score) {
      return static_cast<double>(i) / static_cast<double>(curve.size() - 1);
    }
  }
  return std::numeric_limits<double>::infinity();
}

std::string rldp_rows(finder const& find, place where) {
  bool const less = words_of(where).less_is_better;
  compared_row const* const fixed = find(where, "adamw-fixed");
  std::string table;
  for (char const* name : {"dp-sgd", "automatic", "adaptive", "fixed", "median", "quantile", "sac",
                           "sac-random", "sac-clips", "sac-noise", "published"}) {
    compared_row const* row = find(where, std::string("adamw-") + name);
    if (row == nullptr) continue;
    std::vector<double> const epsilon = each(*row, [](scored_run const& r) { return r.epsilon; });
    std::string gain = "–";
    std::string until = "–";
    if (fixed != nullptr && fixed != row) {
      gain = with_interval(less ? "%+.2f (%+.2f to %+.2f)" : "%+.3f (%+.3f to %+.3f)",
                           gains_over(scores_of(*row), scores_of(*fixed), less), false);
      std::vector<double> steps;
      std::size_t never = 0;
      for (std::size_t i = 0; i < std::min(row->runs.size(), fixed->runs.size()); ++i) {
        double const share = first_at(row->runs[i].curve, fixed->runs[i].score, less);
        if (std::isinf(share)) {
          ++never;
        } else {
          steps.push_back(share * static_cast<double>(row->chosen->steps));
        }
      }
      if (steps.size() > 2) {  // of two an interval says nothing
        until = with_interval("%.0f (%.0f to %.0f)", steps, false);
      }
      if (never > 0) until += formatted("; never in %zu of %zu", never, row->runs.size());
    }
    table += "| " + row->title +
             formatted(" | %g | %g | ", row->chosen->learning_rate, row->chosen->clip) +
             score_text(*row) + " | " + gain + " | " + until + " | " +
             (epsilon.empty() ? "**no ε**" : up(largest(epsilon), 3)) + " |\n";
  }
  if (table.empty()) return table;
  return "| | learning rate | clip | " + std::string(words_of(where).score) +
         " | better than fixed clips by | steps until | spent ε |\n"
         "|---|---:|---:|---:|---:|---:|---:|\n" +
         table;
}

void rldp_tables(std::string& out, finder const& find) {
  std::string const digits = rldp_rows(find, place::digits_lora);
  std::string const messages = rldp_rows(find, place::text_lora);
  if (digits.empty() && messages.empty()) return;
  out +=
      "\nThe paper's setting: adapters of rank 4, 3600 steps, batches of a sixteenth, AdamW, ε = 2 "
      "at δ = 1e-5, a choice of the controller every 64 steps; four learning rates and two clips "
      "each. A run has 56 choices, which is too few to call what SAC does learned: no verdict "
      "rests on it. *SAC that does not learn* keeps the policy of its random first weights. *as "
      "published* reads the secret batches, begins with a warm-up after which clips are medians of "
      "raw norms, has absolute clips min(e^a, 1) and one σ for all pairs, and is charged by Eq. 7 "
      "as if the pairs were one: it has no ε, whatever it is charged. AutoClip scales each "
      "gradient to the clip (Bu et al. 2022); AdaClip whitens each entry by mean and spread of "
      "what was released (Pichapati et al. 2019). *steps until*: until a run of the row is first "
      "as good as the run of fixed clips with its seed is at its end, looked at every 90 steps: "
      "the mean of the runs that got "
      "there.\n";
  if (!digits.empty()) out += "\nDigits:\n\n" + digits;
  if (!messages.empty()) {
    out +=
        "\nMessages, a character transformer with adapters beside its queries and values. AdaClip, "
        "clips that follow "
        "a quantile, and the halves of SAC were not run here. Public training alone has a "
        "perplexity of " +
        score_or_dash(find(place::text, "none")) + ".\n\n" + messages;
  }
}

void dpgd_0th_text(std::string& out, finder const& find) {
  compared_row const* row = find(place::digits, "dpgd-0th-open");
  if (row == nullptr) return;
  out +=
      "\nDPGD-0th adds noise to a vector of all parameters and learns nothing at any ε of the "
      "results. That is the noise, and not the code or its settings: at ε = 1000 it has " +
      score_text(*row) + " on digits, a network, where public training alone has " +
      score_or_dash(find(place::digits, "none")) +
      ".\n\nThe recipe with batches, the three laws, and the slopes in ε and in the dimension are "
      "on [a page of their own](dpzero_study.md).\n";
}

void section(std::string& out, char const* title, std::string const& body) {
  out += std::string("\n## ") + title + "\n" + (body.empty() ? "\nNot measured yet.\n" : body);
}

}  // namespace

std::string paper_page(comparison const& all) {
  finder const find(all.found.rows);
  std::string out =
      "# The papers' own rows\n\n"
      "What each paper has a table of, in kind, on this library's small models. All of this page "
      "is written with [the results](results.md), by\n\n    " +
      all.command +
      "\n\n"
      "from the same file of runs, [" +
      all.log + "](" + all.log +
      "). Seeds, scores and intervals are as there. A row's grid runs on two seeds, the four best "
      "settings on three more, and the best mean over all five is scored on " +
      formatted("%zu", all.seeds) +
      " others; rows that the results have too, and those at an ε or with a grouping, but for "
      "RLDP's, are tuned around the best of the grid as there. Nothing on this page is corrected "
      "for the number of "
      "comparisons, and no verdict is drawn here: "
      "[verdicts](results.md#what-the-papers-claim) are in the results.\n";
  if (!paper_figure(all.found.rows).empty()) {
    out += "\n![Scores by budget and by steps](paper_rows.svg)\n";
  }
  bool const whole = std::all_of(all.found.rows.begin(), all.found.rows.end(),
                                 [](compared_row const& row) { return row.done(); });
  if (!whole) {
    out +=
        "\n**Not all rows are measured yet.** Tables show those that are; the command goes on with "
        "the others.\n";
  }
  std::string body;
  paczero_tables(body, find);
  section(out, "PACZero", body);
  body.clear();
  ferret_tables(body, find);
  section(out, "FERRET", body);
  body.clear();
  dpgd_0th_text(body, find);
  section(out, "DPZero", body);
  body.clear();
  rldp_tables(body, find);
  section(out, "RLDP", body);
  return out;
}

std::string paper_figure(std::vector<compared_row> const& rows) {
  finder const find(rows);
  std::vector<panel> panels;
  auto const draw = [&](std::string title, std::string across, std::vector<line> lines,
                        std::vector<std::pair<double, std::string>> marks) {
    std::erase_if(lines, [](line const& l) { return l.at.empty(); });
    if (lines.empty()) return;
    panel p{std::move(title),
            "accuracy, mean and 95 % interval over the seeds",
            false,
            1e300,
            -1e300,
            -1e300,
            {},
            {},
            std::move(across)};
    p.left = 1e300;
    for (line const& l : lines) {
      for (std::size_t i = 0; i < l.at.size(); ++i) {
        p.left = std::min(p.left, l.at[i].first - 0.1);
        p.right = std::max(p.right, l.at[i].first + 0.1);
        p.low = std::min(p.low, l.interval[i].first);
        p.high = std::max(p.high, l.interval[i].second);
      }
    }
    p.lines = std::move(lines);
    p.marks = std::move(marks);
    fit_ticks(p);
    panels.push_back(std::move(p));
  };
  auto const put = [](line& on, double x, compared_row const* row) {
    if (row == nullptr) return;
    mean_interval const s = interval_of(scores_of(*row));
    if (!std::isfinite(s.low)) return;
    on.at.emplace_back(x, s.mean);
    on.interval.emplace_back(s.low, s.high);
  };

  std::vector<line> noise{{"DPZero", "#d55e00", false, {}},
                          {"Laplace", "#e69f00", false, {}},
                          {"DP-GD", "#009e73", false, {}}};
  for (double const epsilon : cliff) {
    std::size_t i = 0;
    for (char const* family : {"dpzero", "dp-zo-laplace", "dp-gd"}) {
      put(noise[i++], std::log10(epsilon), find.noisy(place::digits, family, epsilon));
    }
  }
  draw("Noise on digits, a network", "ε at δ = 1e-5", std::move(noise),
       {{-1.0, "0.1"}, {std::log10(0.5), "0.5"}, {std::log10(2.0), "2"}, {std::log10(8.0), "8"}});

  std::vector<line> information{{"paper's", "#0072b2", false, {}},
                                {"confident", "#cc79a7", false, {}}};
  for (char const* nats : {"0.0001", "0.001", "0.01", "0.1", "0.68"}) {
    double const x = std::log10(std::strtod(nats, nullptr));
    put(information[0], x, find(place::digits, std::string("budget-paper-") + nats));
    put(information[1], x, find(place::digits, std::string("budget-confident-") + nats));
  }
  draw("PACZero-MI on digits, a network", "nats about which half took part", std::move(information),
       {{-4.0, "1e-4"}, {-3.0, "1e-3"}, {-2.0, "0.01"}, {-1.0, "0.1"}});

  std::vector<line> drift{{"coin", "#c0392b", false, {}}, {"hold", "#0072b2", false, {}}};
  for (char const* steps : {"1500", "3000", "6000", "12000"}) {
    double const x = std::log2(std::strtod(steps, nullptr) / 1500.0);
    std::string const family = std::string("ladder-steps-") + steps;
    put(drift[0], x, find(place::digits, family + "-zpl-coin"));
    put(drift[1], x, find(place::digits, family + "-zpl-hold"));
  }
  draw("PACZero-ZPL at a constant learning rate", "steps", std::move(drift),
       {{0.0, "1500"}, {1.0, "3000"}, {2.0, "6000"}, {3.0, "12000"}});

  std::vector<line> bits{{"FERRET", "#666666", false, {}}, {"DP-GD", "#009e73", false, {}}};
  for (char const* nats : {"0.1", "0.5", "1", "2", "10"}) {
    double const n = std::strtod(nats, nullptr);
    put(bits[0], std::log10(n), find(place::digits, std::string("ferret-MAX-") + nats));
    put(bits[1], std::log10(n), find.noisy(place::digits, "dp-gd", n));
  }
  draw("FERRET and DP-GD of one number, digits", "nats about a record, or ε", std::move(bits),
       {{-1.0, "0.1"}, {std::log10(0.5), "0.5"}, {std::log10(2.0), "2"}, {1.0, "10"}});
  return panels.empty() ? std::string() : svg(panels);
}

}  // namespace apps
