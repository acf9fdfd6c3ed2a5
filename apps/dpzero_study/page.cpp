// SPDX-License-Identifier: Apache-2.0
#include "page.hpp"

#include "output/format.hpp"
#include "output/panel.hpp"
#include "output/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace apps {

namespace {

// Places among the arms.
enum : std::size_t { sphere, gaussian, rademacher, batches, vector_noise, first_order, theorem_1 };

constexpr char const* colours[] = {"#0072b2", "#56b4e9", "#cc79a7", "#e69f00", "#d55e00",
                                   "#009e73", "#d55e00", "#e69f00", "#0072b2"};

std::vector<study_result const*> rows_of(experiment_results const& found, effective_rank rank,
                                         std::size_t arm) {
  std::vector<study_result const*> out;
  for (study_result const& row : found.rows) {
    if (row.rank == rank && row.arm == arm) out.push_back(&row);
  }
  return out;
}

std::string shown(mean_interval const& i) {
  return std::isfinite(i.low) ? formatted("%.3f (%.3f to %.3f)", i.mean, i.low, i.high)
                              : std::string("diverged");
}

// 3e-03 as 0.003, and where the grid ends there a mark.
std::string setting_text(study_result const& row) {
  return formatted("%g%s, %.3g, %zu", row.setting.step_size, row.at_the_edge ? " †" : "",
                   row.setting.clip, row.setting.steps);
}

void norms_table(std::string& out, experiment_options const& how, experiment_results const& found,
                 effective_rank rank, std::size_t begin, std::size_t end) {
  out += "\n| |";
  for (std::size_t const d : how.dimensions) out += formatted(" d = %zu |", d);
  out += " slope |\n|---|";
  for (std::size_t i = 0; i <= how.dimensions.size(); ++i) out += "---:|";
  out += '\n';
  for (std::size_t arm = begin; arm < end; ++arm) {
    auto const rows = rows_of(found, rank, arm);
    if (rows.size() != how.dimensions.size()) continue;
    out += "| " + found.arms[arm].name + " |";
    for (study_result const* row : rows) out += ' ' + shown(interval_of(row->norms)) + " |";
    out += ' ' + shown(interval_of(slopes(rows))) + " |\n";
  }
}

void settings_table(std::string& out, experiment_options const& how,
                    experiment_results const& found, effective_rank rank, std::size_t begin,
                    std::size_t end) {
  out += "\n| α, C, T |";
  for (std::size_t const d : how.dimensions) out += formatted(" d = %zu |", d);
  out += "\n|---|";
  for (std::size_t i = 0; i < how.dimensions.size(); ++i) out += "---:|";
  out += '\n';
  for (std::size_t arm = begin; arm < end; ++arm) {
    auto const rows = rows_of(found, rank, arm);
    if (rows.size() != how.dimensions.size()) continue;
    out += "| " + found.arms[arm].name + " |";
    for (study_result const* row : rows) out += ' ' + setting_text(*row) + " |";
    out += '\n';
  }
}

std::vector<double> minus(std::vector<double> a, std::vector<double> const& b) {
  std::transform(a.begin(), a.end(), b.begin(), a.begin(),
                 [](double x, double y) { return x - y; });
  return a;
}

std::vector<double> logs(std::vector<double> x) {
  for (double& one : x) one = std::log(one);
  return x;
}

struct question {
  std::string what;
  std::string compared;
  std::vector<double> gains;  // paired, positive where the answer is yes
};

std::vector<question> questions_of(experiment_options const& how, experiment_results const& found) {
  std::vector<question> out;
  auto const slope = [&](effective_rank rank, std::size_t arm) {
    auto const rows = rows_of(found, rank, arm);
    return rows.size() == how.dimensions.size() ? slopes(rows) : std::vector<double>{};
  };
  auto const ask = [&](std::string what, std::string compared, std::vector<double> const& more,
                       std::vector<double> const& less) {
    if (more.empty() || more.size() != less.size()) return;
    out.push_back({std::move(what), std::move(compared), minus(more, less)});
  };
  using enum effective_rank;
  for (effective_rank const rank : {whole, root, logarithmic}) {
    ask("DPGD-0th grows faster with d than DPZero",
        "slopes at rank O(" + std::string(name_of(rank)) + ")", slope(rank, vector_noise),
        slope(rank, sphere));
  }
  ask("DPZero grows slower at low rank", "slopes at rank O(d) and O(log d)", slope(whole, sphere),
      slope(logarithmic, sphere));
  ask("DPZero grows faster than DP-GD at low rank", "slopes at rank O(log d)",
      slope(logarithmic, sphere), slope(logarithmic, first_order));
  for (effective_rank const rank : {whole, root, logarithmic}) {
    auto const best = rows_of(found, rank, sphere);
    if (best.empty()) continue;
    auto const at_most = [&](std::size_t arm) {
      auto const rows = rows_of(found, rank, arm);
      return rows.size() == best.size() ? logs(rows.back()->norms) : std::vector<double>{};
    };
    std::string const where = formatted("log norms at d = %zu, rank O(%s)", best.back()->dimension,
                                        std::string(name_of(rank)).c_str());
    ask("Gaussian directions do worse than the sphere", where, at_most(gaussian), at_most(sphere));
    ask("Rademacher directions do worse than the sphere", where, at_most(rademacher),
        at_most(sphere));
    ask("batches do worse than all records, at as many steps", where, at_most(batches),
        at_most(gaussian));
  }
  return out;
}

void questions_table(std::string& out, std::vector<question> const& all) {
  std::vector<double> p;
  std::vector<bool> yes;
  for (question const& q : all) {
    double const up = probability_of_no_gain(q.gains);
    double const down = probability_of_no_gain(minus(std::vector<double>(q.gains.size()), q.gains));
    yes.push_back(up <= down);
    p.push_back(std::min(1.0, 2.0 * std::min(up, down)));
  }
  std::vector<double> const adjusted = holm(p);
  out += "\n| | compared | difference (95 %) | p | |\n|---|---|---:|---:|---|\n";
  for (std::size_t i = 0; i < all.size(); ++i) {
    mean_interval const gain = interval_of(all[i].gains);
    out += "| " + all[i].what + " | " + all[i].compared +
           formatted(" | %+.3f (%+.3f to %+.3f) | ", gain.mean, gain.low, gain.high) +
           (adjusted[i] < 1e-4 ? std::string("below 0.0001") : formatted("%.2g", adjusted[i])) +
           " | " +
           (adjusted[i] > 0.05 ? "not seen"
            : yes[i]           ? "**yes**"
                               : "**no, the opposite**") +
           " |\n";
  }
}

double start_norm(effective_rank rank, std::size_t dimension) {
  double squares = 0.0;
  for (std::size_t j = 1; j <= dimension; ++j) {
    auto const place = static_cast<double>(j);
    squares += rank == effective_rank::whole  ? 1.0
               : rank == effective_rank::root ? 1.0 / place
                                              : 1.0 / (place * place);
  }
  return std::sqrt(squares);
}

panel panel_of(experiment_options const& how, experiment_results const& found, std::string title,
               std::string subtitle, effective_rank rank, std::vector<std::size_t> const& arms) {
  panel p{std::move(title), std::move(subtitle), true, 1e300, 0.0, 0.0, {}, {}};
  p.across = "dimension d";
  std::vector<double> x;
  for (std::size_t const d : how.dimensions) {
    x.push_back(std::log10(static_cast<double>(d)));
    p.marks.emplace_back(x.back(), std::to_string(d));
  }
  p.left = x.front() - 0.05;
  p.right = x.back() + 0.05;
  line start{"at the start", "#666666", true, {}};
  for (std::size_t k = 0; k < x.size(); ++k) {
    start.at.emplace_back(x[k], start_norm(rank, how.dimensions[k]));
  }
  auto const holds = [&](double y) {
    if (!(y > 0.0) || !std::isfinite(y)) return;
    p.low = std::min(p.low, y);
    p.high = std::max(p.high, y);
  };
  for (std::size_t const arm : arms) {
    line l{found.arms[arm].name, colours[arm], false, {}};
    for (study_result const* row : rows_of(found, rank, arm)) {
      mean_interval const i = interval_of(row->norms);
      if (!std::isfinite(i.low)) continue;
      // Logarithmic: an interval that reaches 0 ends at the lower edge.
      double const low = std::max(i.low, 0.2 * i.mean);
      l.at.emplace_back(std::log10(static_cast<double>(row->dimension)), i.mean);
      l.interval.emplace_back(low, i.high);
      holds(low);
      holds(i.high);
    }
    if (!l.at.empty()) p.lines.push_back(std::move(l));
  }
  for (auto const& [at, norm] : start.at) holds(norm);
  p.lines.push_back(std::move(start));
  p.low /= 1.2;
  p.high *= 1.2;
  for (double decade = 1e-4; decade < 1e6; decade *= 10.0) {
    for (double const digit : {1.0, 2.0, 5.0}) {
      double const tick = digit * decade;
      if (tick >= p.low && tick <= p.high) p.ticks.push_back(tick);
    }
  }
  return p;
}

}  // namespace

std::string page(experiment_options const& how, experiment_results const& found, double seconds) {
  using enum effective_rank;
  std::string out = "# DPZero's synthetic study\n\n";
  out +=
      "How the error of private methods grows with the dimension, at three effective ranks: the "
      "synthetic example of the DPZero paper (arXiv 2310.09639), with seeds. All of this page is "
      "written by\n\n    build/release/bin/tacit_dpzero --out docs\n\n" +
      formatted(
          "from [a log](dpzero_study.jsonl) whose runs took %.0f minutes of a core that other "
          "programs used too. A run that was stopped goes on where it was.\n\n",
          std::ceil(seconds / 60.0)) +
      formatted("f(x) = (1/2n) Σ (x − x_i)ᵀA(x − x_i), x_ij from N(1, 1), n = %zu, from x = 0. ",
                how.records) +
      "A is diagonal, of entries 1, 1/√j or 1/j: tr A is O(d), O(√d), O(log d). What is shown is "
      "the "
      "norm of the gradient on test data after the last step, at (2, 1e-6), with the least noise "
      "for "
      "neighbours with a record more or less. The paper has n = 10000 and d from 20 to "
      "2000, which `--records` and `--dimensions` take.\n\n" +
      formatted(
          "- Means of %zu seeds with 95 %% intervals by Student's t. A seed draws the same "
          "records for every row.\n",
          how.seeds) +
      "- A row's setting is that of the least mean norm on 2 other seeds among 16: 4 step sizes, 2 "
      "clips, 2 numbers of steps; a † marks a step size at the end of its grid.\n"
      "- *slope*: of log norm over log d by least squares, seed by seed. It is a mean over the "
      "dimensions shown, and no exponent: the starting norm grows too, by √d at rank O(d), and is "
      "nearly flat at rank O(log d).\n"
      "- *sphere*, *Gaussian*, *Rademacher*: the law of the direction. Only of the first two is a "
      "diagonal A as good as any.\n"
      "- *batches*: as the paper trains language models, Gaussian directions and 64 of 1024 "
      "records "
      "a step, here Poisson batches at rate 1/16, whose losses alone are evaluated: a step costs a "
      "sixteenth. Its grid has the same steps.\n";
  out += "\n![The gradient norm by dimension](dpzero.svg)\n";
  for (effective_rank const rank : {whole, root, logarithmic}) {
    out += "\n## Effective rank O(" + std::string(name_of(rank)) + ")\n";
    norms_table(out, how, found, rank, sphere, theorem_1);
    settings_table(out, how, found, rank, sphere, theorem_1);
  }
  out +=
      "\n## Questions\n\nPaired differences, tested by Student's t with Holm's correction over "
      "this "
      "table. A difference of .1 in log norms is a tenth of the norm.\n";
  questions_table(out, questions_of(how, found));
  out +=
      "\n## The parameters of Theorems 1 to 3\n\n"
      "As the paper sets them, at rank O(log d), with the noise above instead of the paper's, "
      "which "
      "is at least twice as large. ℓ = 1, r = tr A, log stands for ln(e + ε/δ):\n\n"
      "| | method | α | T | C |\n|---|---|---|---|---|\n"
      "| Theorem 1 | DPGD-0th | 1/4ℓd | nε/√(d·log) | Ld |\n"
      "| Theorem 2 | DPGD-0th | 1/4ℓ(r + 2) | n(r + 2)ε/(d√(r·log)) | Ld |\n"
      "| Theorem 3 | DPZero | 1/4ℓ(r + 2) | n(r + 2)ε/(4√(r·log)) | √2·C₀ |\n\n"
      "A quadratic has no Lipschitz constant: L is the longest gradient of a record at x = 0, of "
      "a data set that is not scored, and C₀ the least for which the paper's bound on clipping "
      "says "
      "that with probability .99 nothing is clipped. The theorems bound the gradient at a "
      "random step; here it is the last.\n";
  norms_table(out, how, found, logarithmic, theorem_1, found.arms.size());
  settings_table(out, how, found, logarithmic, theorem_1, found.arms.size());
  out +=
      "\nThese clips hardly ever clip, and the noise grows with them. With a tuned clip the same "
      "methods are the "
      "rows of the table above.\n";
  return out;
}

std::string figure(experiment_options const& how, experiment_results const& found) {
  using enum effective_rank;
  std::vector<panel> panels;
  for (effective_rank const rank : {whole, root, logarithmic}) {
    panels.push_back(panel_of(how, found, "Effective rank O(" + std::string(name_of(rank)) + ")",
                              "gradient norm on test data, mean and 95 % interval over the seeds",
                              rank, {sphere, batches, vector_noise, first_order}));
  }
  panels.push_back(panel_of(how, found, "The law of the direction", "the same at rank O(log d)",
                            logarithmic, {sphere, gaussian, rademacher}));
  panels.push_back(panel_of(how, found, "Parameters of the theorems", "the same at rank O(log d)",
                            logarithmic, {theorem_1, theorem_1 + 1, theorem_1 + 2}));
  return svg(panels);
}

}  // namespace apps
