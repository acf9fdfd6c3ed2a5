// SPDX-License-Identifier: Apache-2.0
//
// Three guarantees beside what an attacker or the truth has: groups of records (groups.svg), a cap on every transcript beside
// a budget (caps.svg), and certificates from samples (samples.svg).

#include <tacit/core/units.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/pac/candidate_information.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/covariance.hpp>
#include <tacit/pac/gap/in_turn.hpp>
#include <tacit/pac/gap/information.hpp>
#include <tacit/pac/gap/surrogate.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/monte_carlo_information.hpp>
#include <tacit/pac/scale_to.hpp>

#include "output/options.hpp"
#include "output/panel.hpp"
#include "subset_means.hpp"
#include "training/data.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using Eigen::Index;
using tacit::nats;

constexpr std::size_t subsets = 128;
constexpr int doublings = 6;  // 1 … 64 steps
constexpr std::size_t steps = std::size_t{1} << doublings;

/// How sure an attacker is after 1, 2, 4 … steps: on average, and in the worst session. As the posterior is exact, it is right
/// as often.
struct attacked {
  std::vector<double> mean = std::vector<double>(doublings + 1, 0.0);
  std::vector<double> worst = std::vector<double>(doublings + 1, 0.0);
};

/// `step(run, random)` takes a step, and `sure(probabilities)` is how sure the attacker is after it.
template <class Step, class Sure>
attacked attack(tacit::paczero_options const& options, tacit::candidate_set const& candidates,
                std::size_t sessions, Step const& step, Sure const& sure) {
  attacked out;
  std::mt19937_64 random(3);
  for (std::size_t session = 0; session < sessions; ++session) {
    tacit::paczero<> run(options, candidates);
    for (std::size_t k = 0; k <= doublings; ++k) {
      while (run.steps() < std::size_t{1} << k) step(run, random);
      double const now = sure(run.belief().probabilities());
      out.mean[k] += now / static_cast<double>(sessions);
      out.worst[k] = std::max(out.worst[k], now);
    }
  }
  return out;
}

/// Of the mean of numbers in [1/2, 1]: Hoeffding, confidence .99.
double half_width(std::size_t draws) {
  return 0.5 * std::sqrt(std::log(2.0 / 0.01) / (2.0 * static_cast<double>(draws)));
}

apps::line line_of(std::vector<double> const& values, std::string label, std::string colour,
                   bool dashed) {
  apps::line out{std::move(label), std::move(colour), dashed, {}};
  for (std::size_t k = 0; k < values.size(); ++k) {
    out.at.emplace_back(static_cast<double>(k), values[k]);
  }
  return out;
}

apps::panel panel_of(std::string title, std::string subtitle, std::string across) {
  apps::panel out{std::move(title), std::move(subtitle), false, 0.5, 1.0, doublings, {}, {},
                  std::move(across)};
  for (int k = 0; k <= doublings; ++k) out.marks.emplace_back(k, std::to_string(1 << k));
  out.side_by_side = false;
  apps::fit_ticks(out);
  return out;
}

/// Each sign says whether the two records of an account were used alike, which neither record shows.
apps::panel draw_groups(std::size_t sessions) {
  nats const budget(0.125);
  tacit::candidate_set const candidates =
      tacit::candidate_set::balanced({.records = 16, .subsets = subsets}, 1);
  std::vector<std::int64_t> alike(subsets);
  double prior = 0.0;
  for (std::size_t m = 0; m < subsets; ++m) {
    alike[m] = candidates.contains(m, 0) == candidates.contains(m, 1) ? 1 : -1;
    prior += alike[m] > 0 ? 1.0 / subsets : 0.0;
  }
  prior = std::max(prior, 1.0 - prior);
  auto const step = [&](tacit::paczero<>& run, std::mt19937_64&) {
    static_cast<void>(run.step_from_sums(alike));
  };
  auto const sure = [&](std::span<double const> p) {
    double both = 0.0;
    for (std::size_t m = 0; m < subsets; ++m) both += alike[m] > 0 ? p[m] : 0.0;
    return std::max(both, 1.0 - both);
  };
  tacit::paczero_options options{
      .steps = steps, .budget = budget, .ledger = tacit::ledger_kind::record};
  attacked const apart = attack(options, candidates, sessions, step, sure);
  options.groups = {{0, 1}};
  options.group_budget = budget;
  attacked const declared = attack(options, candidates, sessions, step, sure);
  double const bound = tacit::attack_success(budget, prior);
  std::printf("records of an account, 1/8 nats; prior %.4f, bound %.4f\n%8s %10s %10s\n", prior,
              bound, "signs", "records", "groups");
  for (std::size_t k = 0; k <= doublings; ++k) {
    std::printf("%8d %10.4f %10.4f +- %.4f\n", 1 << k, apart.mean[k], declared.mean[k],
                half_width(sessions));
    if (declared.mean[k] - half_width(sessions) > bound) {
      throw std::logic_error("an attack on a group passes its bound");
    }
  }
  apps::panel out =
      panel_of("Two records of an account: used alike or not?",
               "right guesses; 1/8 nats for each record, and for the account", "signs about it");
  out.lines = {
      line_of(apart.mean, "records alone", "#d55e00", false),
      line_of(std::vector<double>(doublings + 1, bound), "bound of the group", "#777777", true),
      line_of(declared.mean, "group declared", "#0072b2", false)};
  return out;
}

/// Signs of sums of the records along random directions.
apps::panel draw_caps(Eigen::MatrixXd const& records, std::size_t sessions) {
  nats const budget(0.33);
  double const kappa = 0.1;
  Eigen::RowVectorXd const centre = records.colwise().mean();
  Eigen::MatrixXd scaled = records.rowwise() - centre;
  Eigen::RowVectorXd const deviation =
      (scaled.colwise().squaredNorm() / static_cast<double>(scaled.rows())).cwiseSqrt();
  scaled *= deviation.cwiseInverse().asDiagonal();
  tacit::candidate_set const candidates = tacit::candidate_set::balanced(
      {.records = static_cast<std::size_t>(records.rows()), .subsets = subsets}, 1);
  std::normal_distribution<double> normal;
  auto const step = [&](tacit::paczero<>& run, std::mt19937_64& random) {
    Eigen::VectorXd direction(scaled.cols());
    for (double& x : direction) x = normal(random);
    Eigen::VectorXd const along = scaled * direction;
    static_cast<void>(run.step(std::span(along.data(), static_cast<std::size_t>(along.size()))));
  };
  std::vector<double> in(candidates.records());
  auto const sure = [&](std::span<double const> p) {
    candidates.membership_sums(p, in);
    auto const [least, most] = std::minmax_element(in.begin(), in.end());
    return std::max(1.0 - *least, *most);
  };
  tacit::paczero_options options{.steps = steps, .budget = budget};
  attacked const plain = attack(options, candidates, sessions, step, sure);
  double const bound = tacit::attack_bound_afterwards(options, 2);
  options.kappa = kappa;
  attacked const capped = attack(options, candidates, sessions, step, sure);
  double const cap = 0.5 + kappa;
  std::printf("%8s %10s %10s %14s %14s; bounds %.4f, %.4f\n", "steps", "attack", "worst",
              "kappa: attack", "worst", bound, cap);
  for (std::size_t k = 0; k <= doublings; ++k) {
    std::printf("%8d %10.4f %10.4f %14.4f %14.4f\n", 1 << k, plain.mean[k], plain.worst[k],
                capped.mean[k], capped.worst[k]);
    if (plain.mean[k] - half_width(sessions) > bound || capped.worst[k] > cap + 1e-12) {
      throw std::logic_error("an attack passes its bound");
    }
  }
  apps::panel out =
      panel_of("The record that an attacker is most sure of",
               "right guesses, chosen afterwards; .33 nats about the subset", "steps");
  out.lines = {
      line_of(std::vector<double>(doublings + 1, bound), "bound, on average", "#777777", false),
      line_of(plain.worst, "worst session", "#d55e00", true),
      line_of(plain.mean, "attack", "#d55e00", false),
      line_of(std::vector<double>(doublings + 1, cap), "any session, \xCE\xBA = .1", "#777777",
              true),
      line_of(capped.worst, "worst session, \xCE\xBA = .1", "#0072b2", true)};
  return out;
}

double entropy_of_bit(double p) { return -p * std::log(p) - (1.0 - p) * std::log1p(-p); }

/// Certificates of I(X; Z) from so many sampled outputs of one number, beside the truth.
template <class Draw>
apps::panel draw_samples(std::string title, tacit::gaussian_noise const& noise, double radius,
                         double truth, bool rare, Draw const& draw) {
  double const failure = 0.05;
  constexpr int first = 100;
  constexpr int sizes = 6;  // 100 … 3200
  apps::panel out{std::move(title),
                  "nats; confidence .95",
                  rare,
                  rare ? 0.001 : 0.2,
                  rare ? 1000.0 : 0.45,
                  sizes - 1,
                  {},
                  {},
                  "sampled outputs"};
  if (rare) {
    out.ticks = {0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0};
  } else {
    apps::fit_ticks(out);
  }
  apps::line turn{"in turn", "#d55e00", false, {}};
  apps::line halves{"normal surrogate", "#0072b2", false, {}};
  apps::line estimate{"estimate", "#009e73", true, {}};
  apps::line least{"least for any certificate", "#777777", true, {}};
  apps::line exact{"truth", "#777777", false, {}};
  std::printf("%8s %10s %10s %10s %10s; truth %.4g\n", "outputs", "in turn", "normal", "estimate",
              "least", truth);
  for (int k = 0; k < sizes; ++k) {
    Index const n = first << k;
    Eigen::MatrixXd const rows = draw(n, static_cast<std::uint64_t>(77 + k));
    tacit::held_out_options const options{.radius = radius, .failure = failure};
    tacit::public_stream const stream{static_cast<std::uint64_t>(77 + k), 5};
    double const by_turn = tacit::certified_information(noise, rows, options, stream).value.value;
    Eigen::MatrixXd const z =
        tacit::with_public_noise(rows, noise, {static_cast<std::uint64_t>(77 + k), 9});
    auto const normal = tacit::normal_surrogate::fit(Eigen::MatrixXd(z.topRows(n / 2)));
    double const by_normal =
        tacit::certified_information(tacit::gap_certificate(normal), noise,
                                     Eigen::MatrixXd(rows.bottomRows(n - n / 2)), options)
            .value.value;
    double const mean = rows.mean();
    double const variance = (rows.array() - mean).square().mean();
    double const plug_in = 0.5 * std::log1p(variance / noise.trace());
    double const unseen = entropy_of_bit(1.0 - std::pow(failure, 1.0 / static_cast<double>(n)));
    std::printf("%8d %10.4g %10.4g %10.4g %10.4g\n", static_cast<int>(n), by_turn, by_normal,
                plug_in, rare ? unseen : truth);
    if (by_turn < truth) throw std::logic_error("a certificate is below the truth");
    out.marks.emplace_back(k, std::to_string(n));
    turn.at.emplace_back(k, by_turn);
    halves.at.emplace_back(k, by_normal);
    estimate.at.emplace_back(k, plug_in);
    least.at.emplace_back(k, unseen);
    exact.at.emplace_back(k, truth);
  }
  out.lines = {halves, turn, estimate, exact};
  if (rare) out.lines.insert(out.lines.begin() + 2, least);
  return out;
}

apps::panel draw_rare() {
  double const rate = 1.0 / 2000.0;
  return draw_samples(
      "One output in 2000 is 100 deviations away", tacit::gaussian_noise::isotropic(1, 1.0), 100.0,
      entropy_of_bit(rate), true, [&](Index n, std::uint64_t seed) {
        Eigen::MatrixXd rows(n, 1);
        for (Index i = 0; i < n; ++i) {
          rows(i, 0) = tacit::public_uniform({seed, 3}, std::uint64_t(i)) < rate ? 100.0 : 0.0;
        }
        return rows;
      });
}

/// Means of a column over subsets, sampled; all there are make the truth.
apps::panel draw_means(studies::subset_means const& all) {
  Eigen::MatrixXd const worlds = all.means.col(0).array() - all.means.col(0).mean();
  tacit::candidate_outputs const outputs(worlds);
  auto const found = tacit::scale_to(outputs, tacit::gaussian_noise::isotropic(1, 1.0), nats(0.25));
  double const truth = tacit::line_information(outputs, found.noise).lower.value;
  return draw_samples("Means of a column over subsets", found.noise, worlds.cwiseAbs().maxCoeff(),
                      truth, false, [&](Index n, std::uint64_t seed) {
                        Eigen::MatrixXd rows(n, 1);
                        for (Index i = 0; i < n; ++i) {
                          double const u = tacit::public_uniform({seed, 4}, std::uint64_t(i));
                          rows(i, 0) = worlds(Index(u * double(subsets)), 0);
                        }
                        return rows;
                      });
}

/// From how many draws on a bound by draws is below the one without, and below how many it cannot be.
void count_draws(studies::subset_means const& all) {
  tacit::candidate_outputs const outputs(all.means);
  double const failure = 0.005;
  double const range = std::log(static_cast<double>(subsets));
  std::printf("%8s %12s %12s\n", "nats", "not below", "seen from");
  for (double const budget : {0.03125, 0.5, 2.0, 3.0}) {
    auto const noise = tacit::log_det(outputs, nats(budget)).noise;
    double const certain = tacit::information_bound(outputs, noise).value.value;
    double const least = std::log(failure) / std::log1p(-certain / range);
    std::size_t seen = 0;
    for (int k = 4; k <= 18 && seen == 0; ++k) {
      std::size_t const draws = std::size_t{1} << k;
      auto const drawn = tacit::monte_carlo_information(outputs, noise,
                                                        {.samples = draws,
                                                         .confidence = 1.0 - 2.0 * failure,
                                                         .seed = static_cast<std::uint64_t>(k)});
      if (drawn.interval.upper.value < certain) seen = draws;
    }
    if (seen != 0 && static_cast<double>(seen) < least) {
      throw std::logic_error("fewer draws do than can");
    }
    std::printf("%8g %12.0f %12s\n", budget, std::ceil(least),
                seen != 0 ? std::to_string(seen).c_str() : "> 262144");
  }
}

void write(std::filesystem::path const& out, std::string const& name,
           std::vector<apps::panel> const& panels) {
  if (out.empty()) return;
  std::filesystem::create_directories(out);
  std::ofstream file(out / name, std::ios::binary);
  file << apps::svg(panels);
  if (!file.flush()) throw std::runtime_error("cannot write " + (out / name).string());
}

}  // namespace

int main(int count, char** values) {
  std::filesystem::path out;
  std::size_t sessions = 2000;
  apps::options app(
      "Groups, caps on transcripts, certificates from samples: attacks beside bounds");
  app.add("--out", out, "Folder for groups.svg, caps.svg and samples.svg");
  app.add("--sessions", sessions, "How many there are of each").in_range(10, 1'000'000);
  if (auto const ends = app.read(count, values)) return *ends;
  try {
    std::filesystem::path const data = TACIT_EXAMPLE_DATA;
    Eigen::MatrixXd const records =
        apps::load_csv(data / "breast_cancer.csv").features.cast<double>();
    write(out, "groups.svg", {draw_groups(sessions)});
    write(out, "caps.svg", {draw_caps(records, sessions)});
    studies::subset_means const means(records, subsets);
    write(out, "samples.svg", {draw_rare(), draw_means(means)});
    count_draws(means);
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "pac_guarantees: %s\n", problem.what());
    return 1;
  }
  return 0;
}
