// SPDX-License-Identifier: Apache-2.0
//
// The class of a digit, read from a network's noised logits. Which of 256 held-out digits it is, is the secret; each rule
// keeps what a release tells about it at β nats. Accuracy by β, what truly passes, and the noise; over several splits and
// first parameters, with intervals by Student's t.

#include <tacit/core/units.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/pac/auto_pac.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/covariance.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/moments.hpp>
#include <tacit/pac/monte_carlo_information.hpp>
#include <tacit/pac/public_normal.hpp>
#include <tacit/pac/stackelberg.hpp>

#include "order.hpp"
#include "output/format.hpp"
#include "output/options.hpp"
#include "output/panel.hpp"
#include "output/progress.hpp"
#include "output/statistics.hpp"
#include "training/task.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using Eigen::Index;
using tacit::gaussian_noise;
using tacit::nats;

struct effort {
  std::size_t seeds = 10;
  std::size_t candidates = 256;
  std::vector<double> budgets{0.25, 0.5, 1.0, 2.0, 4.0, 8.0};
  std::size_t releases = 1 << 13;    // to read, for each seed, budget and rule
  std::size_t measuring = 1 << 14;   // draws for what truly passes
  std::size_t certifying = 1 << 14;  // of SR-PAC
  tacit::leader search{.draws = 512, .steps = 20};
};

constexpr double confidence = 0.999;

// The papers' rules keep ½ log det(I + ΣΣ_B⁻¹) at β, whatever else is known.
constexpr auto by_log_det = tacit::certificate::log_det;

/// The outputs that may be released, and what they are about.
struct problem {
  tacit::candidate_outputs logits;  // a row a digit
  std::vector<int> labels;
  double commonest;  // the share of the most frequent class
  std::uint64_t seed;
};

problem trained(apps::dataset const& all, std::uint64_t seed, std::size_t candidates) {
  apps::task const job = apps::prepare(all, seed,
                                       {.split = {.private_records = candidates,
                                                  .test_records = all.size() - 1000 - candidates,
                                                  .unseen_classes = 0}});
  apps::dataset const& held_out = job.data.private_part;
  std::vector<double> count(all.classes.size(), 0.0);
  for (int const label : held_out.labels) count[std::size_t(label)] += 1.0;
  return {tacit::candidate_outputs(job.shape.logits(job.start, held_out.features).cast<double>()),
          held_out.labels, *std::max_element(count.begin(), count.end()) / double(candidates),
          seed};
}

tacit::monte_carlo certifying(problem const& p, effort const& now, std::uint64_t purpose) {
  return {.samples = now.certifying, .confidence = confidence, .seed = {100 * p.seed + purpose}};
}

/// Algorithm 1: nine tenths of β for the noise, one for what the estimate misses.
gaussian_noise algorithm_1(problem const& p, nats budget, effort const&) {
  tacit::output_moments moments(p.logits.dimension());
  moments.observe_rows(p.logits.rows());
  return tacit::auto_pac(moments, {.output_norm = p.logits.rows().rowwise().norm().maxCoeff(),
                                   .c = 1e-3 * moments.covariance().trace(),
                                   .v = nats(0.9 * budget.value),
                                   .slack = nats(0.1 * budget.value)})
      .noise;
}

/// A constant added to all logits changes no decision: noise there, as much as a tenth of β asks for, and what the
/// rest of β asks for everywhere else, the same in each direction.
gaussian_noise beside_the_task(problem const& p, nats budget, effort const& now) {
  auto const d = static_cast<Index>(p.logits.dimension());
  if (p.logits.entropy() <= budget) return gaussian_noise::isotropic(p.logits.dimension(), 0.0);
  return tacit::stackelberg_within(p.logits,
                                   Eigen::MatrixXd::Constant(d, 1, 1.0 / std::sqrt(double(d))),
                                   budget, certifying(p, now, 2), 0.9, now.search)
      .noise;
}

/// Along the principal axes of the logits.
gaussian_noise efficient_along_axes(problem const& p, nats budget, effort const&) {
  auto const solved = tacit::detail::eigen_of<double>(p.logits.covariance());
  return tacit::efficient_pac(p.logits, solved.eigenvectors(), budget, by_log_det).noise;
}

struct rule {
  char const* name;
  char const* colour;
  gaussian_noise (*noise)(problem const&, nats, effort const&);
};

constexpr std::size_t log_det_rule = 0;
constexpr std::size_t stackelberg_rule = 5;

rule const rules[] = {
    {"log-det", "#0072b2",
     [](problem const& p, nats b, effort const&) {
       return tacit::log_det(p.logits, b, tacit::noise_shape::full, by_log_det).noise;
     }},
    {"Efficient-PAC", "#56b4e9",
     [](problem const& p, nats b, effort const&) {
       return tacit::efficient_pac(p.logits, b, by_log_det).noise;
     }},
    {"Efficient, axes", "#000000", efficient_along_axes},
    {"proportional", "#cc79a7",
     [](problem const& p, nats b, effort const&) {
       return tacit::proportional(p.logits, b, by_log_det).noise;
     }},
    {"Algorithm 1", "#e69f00", algorithm_1},
    {"SR-PAC", "#d55e00",
     [](problem const& p, nats b, effort const& now) {
       return tacit::stackelberg(p.logits, b, certifying(p, now, 1), now.search).noise;
     }},
    {"beside the task", "#009e73", beside_the_task},
};
constexpr std::size_t rule_count = std::size(rules);

struct accuracy {
  double largest;  // of the class whose noised logit is the largest
  double bayes;    // of the likeliest class, for a reader who knows all candidates and the noise
};

accuracy read(problem const& p, gaussian_noise const& noise, std::size_t releases) {
  auto const d = static_cast<Index>(p.logits.dimension());
  auto const count = static_cast<Index>(p.logits.size());
  Eigen::MatrixXd const normals =
      tacit::public_normals({p.seed, 7}, d, static_cast<Index>(releases));
  Eigen::MatrixXd const candidates = p.logits.rows().transpose();
  bool const silent = noise.trace() == 0.0;  // then every candidate is told from the others
  Eigen::MatrixXd whiten;
  if (!silent) {
    auto const factor = tacit::detail::cholesky_of<double>(noise.covariance());
    if (factor.info() != Eigen::Success) throw std::runtime_error("a noise is singular");
    whiten = factor.matrixL().solve(Eigen::MatrixXd::Identity(d, d));
  }
  Eigen::MatrixXd const white = silent ? candidates : whiten * candidates;
  Eigen::VectorXd const half_square = 0.5 * white.colwise().squaredNorm().transpose();
  double largest = 0.0;
  double bayes = 0.0;
  Eigen::VectorXd share(d);
  for (Index i = 0; i < normals.cols(); ++i) {
    Index const which = i % count;
    int const label = p.labels[std::size_t(which)];
    Eigen::VectorXd const release = candidates.col(which) + noise.shaped(normals.col(i));
    Index said = 0;
    release.maxCoeff(&said);
    largest += said == label;
    if (silent) {
      bayes += 1.0;
      continue;
    }
    Eigen::ArrayXd logs = white.transpose() * (whiten * release) - half_square;
    logs = (logs - logs.maxCoeff()).exp();
    share.setZero();
    for (Index k = 0; k < count; ++k) share(p.labels[std::size_t(k)]) += logs(k);
    share.maxCoeff(&said);
    bayes += said == label;
  }
  return {largest / double(releases), bayes / double(releases)};
}

/// Of a budget, a number a seed.
struct by_rule {
  std::vector<double> largest;
  std::vector<double> bayes;
  std::vector<double> low;  // nats that pass, between two certified ends
  std::vector<double> high;
  std::vector<double> trace;
  std::vector<double> unseen;  // the share of the trace that is the same for all classes
};
struct at_budget {
  double budget;
  std::vector<double> limit;  // on every reader's accuracy
  std::vector<by_rule> rules = std::vector<by_rule>(rule_count);
};

/// Whatever a reader does: the class is a function of the secret, and D(accuracy‖commonest) ≤ β.
void check_readers(problem const& p, accuracy const& seen, double limit, std::size_t releases) {
  double const chance = std::sqrt(std::log(1e6) / (2.0 * double(releases)));  // Hoeffding
  if (seen.bayes > limit + chance || seen.largest > limit + chance) {
    throw std::logic_error("a reader passes the limit of the budget, seed " +
                           std::to_string(p.seed));
  }
}

/// Log-det's is the least trace that its bound allows, and SR-PAC starts from it.
void check_order(std::vector<double> const& traces) {
  auto const above = [](double a, double b) { return a > b * (1.0 + 1e-9); };
  if (above(traces[stackelberg_rule], traces[log_det_rule]) ||
      above(traces[log_det_rule], traces[1]) || above(traces[log_det_rule], traces[2]) ||
      above(traces[log_det_rule], traces[3])) {
    throw std::logic_error("a trace is out of order");
  }
}

void add(at_budget& to, problem const& p, effort const& now) {
  nats const budget(to.budget);
  double const limit = tacit::attack_success(budget, p.commonest);
  to.limit.push_back(limit);
  std::vector<double> traces;
  for (std::size_t r = 0; r < rule_count; ++r) {
    gaussian_noise const noise = rules[r].noise(p, budget, now);
    accuracy const seen = read(p, noise, now.releases);
    auto const passed = tacit::monte_carlo_information(
        p.logits, noise,
        {.samples = now.measuring, .confidence = confidence, .seed = {100 * p.seed + 10 + r}});
    if (passed.interval.lower > budget) {
      throw std::logic_error(std::string(rules[r].name) + " lets more than its budget through");
    }
    check_readers(p, seen, limit, now.releases);
    traces.push_back(noise.trace());
    double const total = noise.covariance().sum();
    by_rule& out = to.rules[r];
    out.largest.push_back(seen.largest);
    out.bayes.push_back(seen.bayes);
    out.low.push_back(passed.interval.lower.value);
    out.high.push_back(passed.interval.upper.value);
    out.trace.push_back(noise.trace());
    out.unseen.push_back(noise.trace() > 0.0 ? total / double(noise.dimension()) / noise.trace()
                                             : 0.0);
  }
  check_order(traces);
}

double mean_of(std::vector<double> const& values) { return apps::interval_of(values).mean; }

std::string shown(std::vector<double> const& values, int digits) {
  apps::mean_interval const i = apps::interval_of(values);
  return apps::formatted("%.*f ± %.*f", digits, i.mean, digits, i.high - i.mean);
}

std::vector<double> minus(std::vector<double> a, std::vector<double> const& b) {
  std::transform(a.begin(), a.end(), b.begin(), a.begin(),
                 [](double x, double y) { return x - y; });
  return a;
}

/// A table with a row a budget, and a column a rule.
template <class Cell>
void print(char const* title, std::vector<at_budget> const& all, char const* before,
           Cell const& cell) {
  std::printf("\n%s\n\n| β |%s", title, before);
  for (rule const& r : rules) std::printf(" %s |", r.name);
  std::printf("\n|--:|%s", *before != '\0' ? "--:|" : "");
  for (std::size_t r = 0; r < rule_count; ++r) std::printf("--:|");
  std::printf("\n");
  for (at_budget const& b : all) {
    std::printf("| %g |", b.budget);
    if (*before != '\0') std::printf(" %.3f |", mean_of(b.limit));
    for (std::size_t r = 0; r < rule_count; ++r) std::printf(" %s |", cell(b, b.rules[r]).c_str());
    std::printf("\n");
  }
}

void print(std::vector<at_budget> const& all, std::vector<double> const& clean) {
  std::printf("Without noise the largest logit is the right one with %s.\n",
              shown(clean, 3).c_str());
  print("Right by the largest logit", all, " at most |",
        [](at_budget const&, by_rule const& r) { return shown(r.largest, 3); });
  print("Right by Bayes' rule", all, " at most |",
        [](at_budget const&, by_rule const& r) { return shown(r.bayes, 3); });
  print("Nats that pass, between certified ends", all, "", [](at_budget const&, by_rule const& r) {
    return apps::formatted("%.3f to %.3f", mean_of(r.low), mean_of(r.high));
  });
  print("Nats that pass, lower certified end, over those asked for", all, "",
        [](at_budget const& b, by_rule const& r) {
          std::vector<double> share = r.low;
          for (double& x : share) x /= b.budget;
          return shown(share, 3);
        });
  std::vector<std::string> names;
  for (rule const& r : rules) names.emplace_back(r.name);
  std::vector<studies::traces> traces;
  for (at_budget const& b : all) {
    traces.push_back({.budget = b.budget, .of_rule = {}});
    for (by_rule const& r : b.rules) traces.back().of_rule.push_back(r.trace);
  }
  // By construction of the search, by optimality of log-det's noise, and open.
  studies::print_order(names,
                       {{stackelberg_rule, log_det_rule, false},
                        {log_det_rule, 1, false},
                        {log_det_rule, 2, false},
                        {log_det_rule, 3, false},
                        {log_det_rule, 4, false},
                        {1, 3, true},
                        {2, 3, true},
                        {2, 1, true},
                        {1, 4, true},
                        {3, 4, true}},
                       traces);
  print("Trace of the noise, over log-det's", all, "", [](at_budget const& b, by_rule const& r) {
    std::vector<double> ratio = r.trace;
    for (std::size_t i = 0; i < ratio.size(); ++i) ratio[i] /= b.rules[log_det_rule].trace[i];
    return shown(ratio, 3);
  });
  print("Share of the trace that moves all logits alike", all, "",
        [](at_budget const&, by_rule const& r) { return shown(r.unseen, 3); });
  std::printf(
      "\n| from β | to β | log-det gains | SR-PAC gains | difference |\n|--:|--:|--:|--:|--:|\n");
  for (std::size_t k = 1; k < all.size(); ++k) {
    auto const gain = [&](std::size_t r) {
      return minus(all[k].rules[r].largest, all[k - 1].rules[r].largest);
    };
    std::printf("| %g | %g | %s | %s | %s |\n", all[k - 1].budget, all[k].budget,
                shown(gain(log_det_rule), 3).c_str(), shown(gain(stackelberg_rule), 3).c_str(),
                shown(minus(gain(stackelberg_rule), gain(log_det_rule)), 3).c_str());
  }
}

apps::panel panel_of(std::vector<at_budget> const& all, std::string title, std::string subtitle) {
  apps::panel out{std::move(title), std::move(subtitle), false, 0.0, 1.0, 0.0, {}, {}};
  out.across = "budget, nats about which digit it is";
  out.left = std::log2(all.front().budget);
  out.right = std::log2(all.back().budget);
  for (at_budget const& b : all) {
    out.marks.emplace_back(std::log2(b.budget), apps::formatted("%g", b.budget));
  }
  out.side_by_side = false;
  apps::fit_ticks(out);
  return out;
}

template <class Values>
apps::line line_of(std::vector<at_budget> const& all, std::string name, std::string colour,
                   bool dashed, Values const& values) {
  apps::line out{std::move(name), std::move(colour), dashed, {}};
  for (at_budget const& b : all) {
    apps::mean_interval const i = apps::interval_of(values(b));
    out.at.emplace_back(std::log2(b.budget), i.mean);
    out.interval.emplace_back(i.low, i.high);
  }
  return out;
}

std::vector<apps::panel> draw(std::vector<at_budget> const& all) {
  apps::panel largest =
      panel_of(all, "The class, read from noised logits", "right by the largest logit");
  apps::panel bayes = panel_of(all, "The same by Bayes\xE2\x80\x99 rule",
                               "for a reader who knows all 256 digits and the noise");
  apps::panel passed =
      panel_of(all, "Share of the budget that passes", "lower certified end of I(X; Z), over it");
  for (std::size_t r = 0; r < rule_count; ++r) {
    auto const add_to = [&](apps::panel& p, auto const& values) {
      p.lines.push_back(line_of(all, rules[r].name, rules[r].colour, false, values));
    };
    add_to(largest, [&](at_budget const& b) { return b.rules[r].largest; });
    add_to(bayes, [&](at_budget const& b) { return b.rules[r].bayes; });
    add_to(passed, [&](at_budget const& b) {
      std::vector<double> share = b.rules[r].low;
      for (double& x : share) x /= b.budget;
      return share;
    });
  }
  for (apps::panel* p : {&largest, &bayes}) {
    p->lines.push_back(
        line_of(all, "at most", "#777777", true, [](at_budget const& b) { return b.limit; }));
    p->lines.back().interval.clear();
  }
  return {largest, bayes, passed};
}

}  // namespace

int main(int count, char** values) {
  std::filesystem::path out;
  bool quick = false;
  effort now;
  apps::options app(
      "The class of a digit, read from noised logits: accuracy by the budget, for rules of noise");
  app.add("--out", out, "Folder for the figure, noised_logits.svg");
  apps::option const fast = app.flag("--quick", quick, "A small part, in seconds");
  app.add("--seeds", now.seeds, "Splits and first parameters").in_range(2, 1000).excludes(fast);
  if (auto const ends = app.read(count, values)) return *ends;
  if (quick) {
    now = {.seeds = 2,
           .candidates = 64,
           .budgets = {1.0, 4.0},
           .releases = 1 << 10,
           .measuring = 1 << 12,
           .certifying = 1 << 12,
           .search = {.draws = 128, .steps = 5}};
  }
  try {
    apps::dataset const digits =
        apps::load_csv(std::filesystem::path(TACIT_EXAMPLE_DATA) / "digits.csv");
    std::vector<at_budget> all;
    for (double const budget : now.budgets) all.push_back({.budget = budget, .limit = {}});
    std::vector<double> clean;
    {
      apps::progress_bar bar(now.seeds * all.size());
      for (std::uint64_t seed = 1; seed <= now.seeds; ++seed) {
        problem const p = trained(digits, seed, now.candidates);
        clean.push_back(
            read(p, gaussian_noise::isotropic(p.logits.dimension(), 0.0), now.candidates).largest);
        for (at_budget& b : all) {
          add(b, p, now);
          bar.advance(1);
        }
      }
    }
    print(all, clean);
    if (!out.empty()) {
      std::filesystem::create_directories(out);
      std::ofstream file(out / "noised_logits.svg", std::ios::binary);
      file << apps::svg(draw(all));
      if (!file.flush()) {
        throw std::runtime_error("cannot write " + (out / "noised_logits.svg").string());
      }
    }
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "pac_noised_logits: %s\n", problem.what());
    return 1;
  }
  return 0;
}
