// SPDX-License-Identifier: Apache-2.0
//
// Mean estimation: which noise keeps the subset behind a mean private? Of N records some are
// members; the output is the mean of the members' features. Prints, as Markdown, what each rule of
// noise costs, what it claims, what truly passes, and how well an exact attack guesses memberships.
//
// The secret is one of M listed subsets, each record in half of them: so that everything can be
// certified, and the truth measured.

#include <tacit/core/decimal.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/pac/auto_pac.hpp>
#include <tacit/pac/candidate_noise.hpp>
#include <tacit/pac/candidates.hpp>
#include <tacit/pac/covariance.hpp>
#include <tacit/pac/decompositions.hpp>
#include <tacit/pac/moments.hpp>
#include <tacit/pac/monte_carlo_information.hpp>
#include <tacit/pac/public_normal.hpp>
#include <tacit/pac/stackelberg.hpp>

#include "output/format.hpp"
#include "output/options.hpp"
#include "output/panel.hpp"
#include "training/data.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using tacit::candidate_outputs;
using tacit::gaussian_noise;
using tacit::nats;

struct effort {
  std::size_t subsets = 256;    // M
  std::size_t draws = 1 << 16;  // of the independent Monte Carlo, and of the attack
  std::size_t certifying = 1 << 18;
  std::size_t searching = 2048;
  std::size_t datasets = 20'000;  // that Auto-PAC samples
  std::vector<std::size_t> counts{2, 8, 32, 128};
  int halvings = 7;  // β = ½ … 2^−halvings
};

// Seeds: all public. What chooses a noise and what measures it share none.
constexpr std::uint64_t subset_seed = 1;
constexpr std::uint64_t sampling_seed = 2;
constexpr std::uint64_t certificate_seed = 3;
constexpr std::uint64_t truth_seed = 4;
constexpr std::uint64_t attack_seed = 5;

constexpr double confidence = 0.999;       // of an SR-PAC certificate
constexpr double truth_confidence = 0.99;  // of what is measured

/// All records, known to everybody; who of them is a member is not.
struct universe {
  std::string name;
  Eigen::MatrixXd records;  // N×d, columns of mean 0 and variance 1
  Eigen::VectorXd centre;   // what the columns were before
  Eigen::VectorXd scale;
};

/// With the listed subsets of it.
struct problem : universe {
  Eigen::MatrixXd members;  // M×N, 1 for a member
  candidate_outputs outputs;

  [[nodiscard]] Eigen::Index dimension() const { return records.cols(); }
};

/// The mean of each subset, one a row.
Eigen::MatrixXd means_of(Eigen::MatrixXd const& members, Eigen::MatrixXd const& records) {
  return members.rowwise().sum().cwiseInverse().asDiagonal() * (members * records);
}

universe load(std::string name, std::filesystem::path const& file) {
  Eigen::MatrixXd records = apps::load_csv(file).features.cast<double>();
  Eigen::VectorXd const centre = records.colwise().mean();
  records.rowwise() -= centre.transpose();
  auto const count = static_cast<double>(records.rows());
  Eigen::VectorXd const scale = (records.colwise().squaredNorm().transpose() / count).cwiseSqrt();
  records *= scale.cwiseInverse().asDiagonal();
  return {std::move(name), std::move(records), centre, scale};
}

problem listed(universe const& all, std::size_t subsets) {
  auto const set = tacit::candidate_set::balanced(
      {.records = static_cast<std::size_t>(all.records.rows()), .subsets = subsets}, subset_seed);
  Eigen::MatrixXd members(static_cast<Eigen::Index>(subsets), all.records.rows());
  for (Eigen::Index m = 0; m < members.rows(); ++m) {
    for (Eigen::Index i = 0; i < members.cols(); ++i) {
      bool const in = set.contains(static_cast<std::size_t>(m), static_cast<std::size_t>(i));
      members(m, i) = in ? 1.0 : 0.0;
    }
  }
  candidate_outputs outputs(means_of(members, all.records));
  return {all, std::move(members), std::move(outputs)};
}

/// A rule's noise, on what it says: the means, or for DP those of clipped records.
struct plan {
  gaussian_noise noise;
  candidate_outputs said;
  std::optional<double> claim = std::nullopt;  // nats
  bool certified = false;
};

plan certified(problem const& p, tacit::calibrated<tacit::mi_bound> const& found) {
  return {found.noise, p.outputs, found.information.value.value, true};
}

/// The largest μ for which μ-Gaussian DP keeps an attacker on one bit where β nats do: success
/// Φ(μ/2). Of all (ε, δ) whose bound is that success, none asks for less noise.
double matched_mu(nats budget) {
  return 2.0 * tacit::normal_tail_inverse(1.0 - tacit::attack_success(budget));
}

/// Differential privacy of one record. A mean of n clipped records, one of them absent or not,
/// moves by 2C/n at most; C is the quantile of the records' lengths with the least error in all.
plan dp_record(problem const& p, nats budget) {
  Eigen::VectorXd const length = p.records.rowwise().norm();
  std::vector<double> sorted(length.begin(), length.end());
  std::sort(sorted.begin(), sorted.end());
  double const fewest = p.members.rowwise().sum().minCoeff();
  double least = std::numeric_limits<double>::infinity();
  plan best{gaussian_noise::isotropic(1, 1.0), p.outputs};
  for (double const share : {0.25, 0.5, 0.75, 0.9, 1.0}) {
    auto const at = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1));
    double const clip = sorted[at];
    Eigen::VectorXd const kept = (clip / length.array()).min(1.0).matrix();
    candidate_outputs said(means_of(p.members, kept.asDiagonal() * p.records));
    double const sigma = 2.0 * clip / fewest / matched_mu(budget);
    auto noise = gaussian_noise::isotropic(static_cast<std::size_t>(p.dimension()), sigma * sigma);
    double const bias = (said.rows() - p.outputs.rows()).rowwise().squaredNorm().mean();
    if (bias + noise.trace() < least) {
      least = bias + noise.trace();
      best = {std::move(noise), std::move(said)};
    }
  }
  return best;
}

/// Differential privacy of the whole secret: any two listed subsets look alike.
plan dp_subset(problem const& p, nats budget) {
  Eigen::MatrixXd const& y = p.outputs.rows();
  double square = 0.0;
  for (Eigen::Index m = 0; m < y.rows(); ++m) {
    square = std::max(square, (y.rowwise() - y.row(m)).rowwise().squaredNorm().maxCoeff());
  }
  double const mu = matched_mu(budget);
  return {gaussian_noise::isotropic(static_cast<std::size_t>(p.dimension()), square / (mu * mu)),
          p.outputs};
}

/// Algorithm 1, from sampled datasets. Nine tenths of β for the noise, one for the estimate; c is a
/// thousandth of the largest eigenvalue.
plan auto_pac(problem const& p, nats budget, effort const& now) {
  tacit::output_moments moments(static_cast<std::size_t>(p.dimension()));
  Eigen::VectorXd output(p.dimension());
  for (std::size_t i = 0; i < now.datasets; ++i) {
    double const u = tacit::public_uniform({sampling_seed, 0}, i);
    output =
        p.outputs.rows().row(static_cast<Eigen::Index>(u * static_cast<double>(p.outputs.size())));
    moments.observe(std::span(output.data(), moments.dimension()));
  }
  Eigen::VectorXd const variances = tacit::detail::eigenvalues_of<double>(moments.covariance());
  auto const found =
      tacit::auto_pac(moments, {.output_norm = p.outputs.rows().rowwise().norm().maxCoeff(),
                                .c = 1e-3 * variances.maxCoeff(),
                                .v = nats(0.9 * budget.value),
                                .slack = nats(0.1 * budget.value)});
  return {found.noise, p.outputs, found.information.value.value, false};
}

plan stackelberg(problem const& p, nats budget, effort const& now) {
  return certified(
      p, tacit::stackelberg(
             p.outputs, budget,
             {.samples = now.certifying, .confidence = confidence, .seed = certificate_seed},
             {.draws = now.searching}));
}

// The papers' rules, by the bound that is theirs.
constexpr auto rule = tacit::certificate::log_det;

struct method {
  char const* name;
  char const* colour;
  bool dashed;
  plan (*make)(problem const&, nats, effort const&);
};

constexpr method methods[] = {
    {"DP, one record", "#999999", true,
     [](problem const& p, nats b, effort const&) { return dp_record(p, b); }},
    {"DP, any two subsets", "#000000", true,
     [](problem const& p, nats b, effort const&) { return dp_subset(p, b); }},
    {"Auto-PAC", "#e69f00", false, auto_pac},
    {"Efficient-PAC", "#56b4e9", false,
     [](problem const& p, nats b, effort const&) {
       return certified(p, tacit::efficient_pac(p.outputs, b, rule));
     }},
    {"proportional", "#cc79a7", false,
     [](problem const& p, nats b, effort const&) {
       return certified(p, tacit::proportional(p.outputs, b, rule));
     }},
    {"log-det", "#0072b2", false,
     [](problem const& p, nats b, effort const&) {
       return certified(p, tacit::log_det(p.outputs, b, tacit::noise_shape::full, rule));
     }},
    {"candidates", "#009e73", false,
     [](problem const& p, nats b, effort const&) {
       return certified(p, tacit::least_trace(p.outputs, b));
     }},
    {"SR-PAC", "#d55e00", false, stackelberg},
};

/// What an attack with the exact posterior achieves.
struct attacked {
  double success = 0.0;   // on the most exposed record
  double relative = 0.0;  // error of the mean, in the columns' own units
};

/// Half the width of an interval around a mean of numbers in [0, 1], by Hoeffding's inequality.
double half_width(std::size_t draws) {
  return std::sqrt(std::log(2.0 / (1.0 - truth_confidence)) / (2.0 * static_cast<double>(draws)));
}

/// Releases, read by Bayes' rule. Nothing of the library is used but the covariance: the
/// likelihoods are written anew. A first run finds the record that is guessed best, a second one
/// counts.
attacked attack(problem const& p, plan const& q, std::size_t draws) {
  Eigen::MatrixXd const root = tacit::detail::cholesky_of<double>(q.noise.covariance()).matrixL();
  Eigen::MatrixXd const w =
      root.triangularView<Eigen::Lower>().solve(q.said.rows().transpose());  // d×M
  Eigen::Index const count = w.cols();
  Eigen::RowVectorXd const half_square = 0.5 * w.colwise().squaredNorm();
  Eigen::MatrixXd const wt = w.transpose();
  Eigen::MatrixXd const records_by_subset = p.members.transpose();
  constexpr Eigen::Index batch = 256;

  Eigen::VectorXd confident = Eigen::VectorXd::Zero(p.records.rows());
  Eigen::Index exposed = 0;
  std::size_t hits = 0;
  double error = 0.0;
  auto const first = static_cast<Eigen::Index>(draws / 16);
  auto const all = first + static_cast<Eigen::Index>(draws);
  for (Eigen::Index start = 0; start < all; start += batch) {
    Eigen::MatrixXd const noise = tacit::public_normals(
        {attack_seed, 2 + static_cast<std::uint64_t>(start)}, p.dimension(), batch);
    std::vector<Eigen::Index> secret(static_cast<std::size_t>(batch));
    for (Eigen::Index i = 0; i < batch; ++i) {
      double const u =
          tacit::public_uniform({attack_seed, 0}, static_cast<std::uint64_t>(start + i));
      secret[static_cast<std::size_t>(i)] =
          static_cast<Eigen::Index>(u * static_cast<double>(count));
    }
    Eigen::MatrixXd posterior = wt * (noise + w(Eigen::all, secret));
    for (auto column : posterior.colwise()) {
      column -= half_square.transpose();
      column = (column.array() - column.maxCoeff()).exp().matrix().eval();
      column /= column.sum();
    }
    if (start < first) {
      confident += (records_by_subset * posterior)
                       .unaryExpr([](double m) { return std::max(m, 1.0 - m); })
                       .rowwise()
                       .sum();
      confident.maxCoeff(&exposed);
      continue;
    }
    Eigen::RowVectorXd const guess = records_by_subset.row(exposed) * posterior;
    Eigen::MatrixXd const missed = root * noise;
    for (Eigen::Index i = 0; i < batch; ++i) {
      Eigen::Index const m = secret[static_cast<std::size_t>(i)];
      hits += (guess(i) > 0.5) == (p.members(m, exposed) == 1.0) ? 1U : 0U;
      auto const truth = p.outputs.rows().row(m).transpose().array();
      auto const released = q.said.rows().row(m).transpose().array() + missed.col(i).array();
      error += ((released - truth) * p.scale.array() / (p.centre.array() + truth * p.scale.array()))
                   .abs()
                   .mean();
    }
  }
  auto const counted = static_cast<double>(all - first);
  return {static_cast<double>(hits) / counted, error / counted};
}

/// One line of a table.
using cells = std::vector<std::string>;

void print(std::string const& title, cells const& head, std::vector<cells> const& rows) {
  std::printf("\n**%s**\n\n", title.c_str());
  for (std::string const& cell : head) std::printf("| %s ", cell.c_str());
  std::printf("|\n|---|");
  for (std::size_t i = 1; i < head.size(); ++i) std::printf("--:|");
  std::printf("\n");
  for (cells const& row : rows) {
    for (std::string const& cell : row) std::printf("| %s ", cell.c_str());
    std::printf("|\n");
  }
  std::fflush(stdout);
}

/// All methods at all budgets; the noise as a panel.
apps::panel compare(problem const& p, effort const& now) {
  cells head{"nats"};
  cells bounds{"bound"};
  std::vector<nats> budgets;
  for (int k = 1; k <= now.halvings; ++k) {
    budgets.emplace_back(std::ldexp(1.0, -k));
    head.push_back(k == 1 ? "0.5" : apps::formatted("1/%d", 1 << k));
    bounds.push_back(tacit::rounded_up(tacit::attack_success(budgets.back()), 4));
  }
  std::vector<cells> trace, claim, achieved, success{bounds}, relative;
  apps::panel panel{p.name,
                    "trace of the noise, standardised columns; dotted: differential privacy",
                    true,
                    std::numeric_limits<double>::infinity(),
                    0.0,
                    static_cast<double>(now.halvings),
                    {},
                    {},
                    "budget, nats"};
  panel.left = 0.8;
  for (int k = 1; k <= now.halvings; ++k) {
    panel.marks.emplace_back(static_cast<double>(k), head[static_cast<std::size_t>(k)]);
  }
  for (method const& m : methods) {
    for (auto* table : {&trace, &claim, &achieved, &success, &relative}) table->push_back({m.name});
    apps::line line{m.name, m.colour, m.dashed, {}};
    for (std::size_t k = 0; k < budgets.size(); ++k) {
      plan const q = m.make(p, budgets[k], now);
      trace.back().push_back(apps::formatted("%.4g", q.noise.trace()));
      std::string const claimed = q.claim ? tacit::rounded_up(*q.claim, 4) : "none";
      claim.back().push_back(q.claim && !q.certified ? '(' + claimed + ')' : claimed);
      auto const truth = tacit::monte_carlo_information(
          q.said, q.noise,
          {.samples = now.draws, .confidence = truth_confidence, .seed = truth_seed});
      achieved.back().push_back(tacit::rounded_down(truth.interval.lower.value, 4) + " to " +
                                tacit::rounded_up(truth.interval.upper.value, 4));
      attacked const met = attack(p, q, now.draws);
      success.back().push_back(apps::formatted("%.4f", met.success));
      relative.back().push_back(apps::formatted("%.3g %%", 100.0 * met.relative));
      line.at.emplace_back(static_cast<double>(k + 1), q.noise.trace());
      panel.low = std::min(panel.low, q.noise.trace());
      panel.high = std::max(panel.high, q.noise.trace());
    }
    panel.lines.push_back(std::move(line));
  }
  double power = std::pow(10.0, std::floor(std::log10(panel.low)));
  panel.low = power;
  for (; power < panel.high; power *= 10.0) panel.ticks.push_back(power);
  panel.ticks.push_back(power);
  panel.high = power;

  std::printf("\n### %s: %d records, %d columns, %zu subsets\n", p.name.c_str(),
              static_cast<int>(p.records.rows()), static_cast<int>(p.dimension()),
              p.outputs.size());
  print("Trace of the noise, E‖B‖²", head, trace);
  print("Claimed nats; in brackets: estimates", head, claim);
  print(apps::formatted(
            "Achieved nats: where the truth lies with confidence %g, by %zu independent releases",
            truth_confidence, now.draws),
        head, achieved);
  print(apps::formatted(
            "Membership attack: success on the most exposed record, ± %.4f at confidence %g",
            half_width(now.draws), truth_confidence),
        head, success);
  print("Relative error of a released mean, averaged over the columns", head, relative);
  return panel;
}

/// Noise of candidates and of SR-PAC against log-det's: few and many candidates, small and large
/// budgets.
void compare_with_log_det(universe const& all, effort const& now) {
  std::vector<std::pair<char const*, double>> const shares{{"H/64", 1.0 / 64}, {"H/16", 1.0 / 16},
                                                           {"H/4", 0.25},      {"H/2", 0.5},
                                                           {"3H/4", 0.75},     {"0.95H", 0.95}};
  cells head{"subsets"};
  for (auto const& [name, share] : shares) head.emplace_back(name);
  std::vector<cells> rows;
  for (std::size_t const count : now.counts) {
    rows.push_back({apps::formatted("%zu", count)});
    candidate_outputs const outputs = listed(all, count).outputs;
    for (auto const& [name, share] : shares) {
      nats const budget(share * outputs.entropy().value);
      double const log_det =
          tacit::log_det(outputs, budget, tacit::noise_shape::full, rule).noise.trace();
      double const quiet = tacit::least_trace(outputs, budget).noise.trace();
      double const leader =
          tacit::stackelberg(
              outputs, budget,
              {.samples = now.certifying, .confidence = confidence, .seed = certificate_seed},
              {.draws = now.searching})
              .noise.trace();
      rows.back().push_back(
          apps::formatted("%.1f / %.1f %%", 100.0 * quiet / log_det, 100.0 * leader / log_det));
    }
  }
  print("Trace of candidates' / SR-PAC's noise in percent of log-det's", head, rows);
}

}  // namespace

int main(int count, char** values) {
  std::filesystem::path out;
  bool quick = false;
  effort now;
  apps::options app("Noise for a mean of secret members: DP, PAC privacy, listed candidates");
  app.add("--out", out, "Folder for the figure, pac.svg");
  app.add("--subsets", now.subsets, "How many subsets the secret is one of").in_range(2, 4096);
  app.flag("--quick", quick, "Few draws, two budgets: does it run?");
  if (auto const ends = app.read(count, values)) return *ends;
  if (quick) {
    now.draws = 1 << 12;
    now.certifying = 1 << 12;
    now.searching = 256;
    now.datasets = 2'000;
    now.counts = {2, 8};
    now.halvings = 2;
  }
  try {
    if (now.subsets % 2 != 0) throw std::invalid_argument("--subsets must be even");
    std::filesystem::path const data = TACIT_EXAMPLE_DATA;
    std::vector<apps::panel> panels;
    for (universe const& all :
         {load("Iris", data / "iris.csv"), load("Breast cancer", data / "breast_cancer.csv")}) {
      panels.push_back(compare(listed(all, now.subsets), now));
      compare_with_log_det(all, now);
    }
    if (!out.empty()) {
      std::filesystem::create_directories(out);
      std::ofstream file(out / "pac.svg", std::ios::binary);
      file << apps::svg(panels);
      if (!file.flush()) throw std::runtime_error("cannot write " + (out / "pac.svg").string());
    }
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "pac_mean_estimation: %s\n", problem.what());
    return 1;
  }
  return 0;
}
