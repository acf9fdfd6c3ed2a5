// SPDX-License-Identifier: Apache-2.0
//
// Noise of several laws for the mean of a column of the cancer data over one of 128 subsets: its error, by the budget; and how
// often the subset is guessed from a release, beside what each measure of the release allows. All of it is exact.

#include <tacit/core/units.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/leakage_noise.hpp>
#include <tacit/pac/scale_to.hpp>

#include "output/options.hpp"
#include "output/panel.hpp"
#include "subset_means.hpp"
#include "training/data.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t subsets = 128;
constexpr int halvings = 7;

struct study {
  std::vector<double> outputs;
  std::vector<double> equal = std::vector<double>(subsets, 1.0 / subsets);

  [[nodiscard]] tacit::scaled_noise laplace(tacit::leakage_measure const& measure,
                                            double budget) const {
    return tacit::least_scale(
        outputs, equal, [](double b) { return tacit::laplace_noise{b}; }, measure, budget);
  }
  [[nodiscard]] tacit::scaled_noise uniform(tacit::leakage_measure const& measure,
                                            double budget) const {
    return tacit::least_scale(
        outputs, equal, [](double w) { return tacit::uniform_noise{w}; }, measure, budget);
  }
  [[nodiscard]] double normal(double budget) const {
    Eigen::MatrixXd const rows = Eigen::Map<Eigen::VectorXd const>(outputs.data(), subsets);
    return std::sqrt(tacit::scale_to(tacit::candidate_outputs(rows),
                                     tacit::gaussian_noise::isotropic(1, 1.0), tacit::nats(budget))
                         .noise.trace());
  }
};

std::vector<std::pair<double, std::string>> budgets() {
  std::vector<std::pair<double, std::string>> out;
  for (int k = 1; k <= halvings; ++k) out.emplace_back(k, "1/" + std::to_string(1 << k));
  return out;
}

apps::panel draw_errors(study const& of) {
  apps::panel out{"Error of the noise",
                  "in deviations of the subsets' means",
                  true,
                  0.1,
                  100.0,
                  halvings,
                  {0.1, 1.0, 10.0, 100.0},
                  {},
                  "budget, nats of mutual information"};
  out.left = 0.8;
  out.marks = budgets();
  double mean = 0.0;
  double square = 0.0;
  for (double const y : of.outputs) mean += y / subsets;
  for (double const y : of.outputs) square += (y - mean) * (y - mean) / subsets;
  double const unit = std::sqrt(square);
  apps::line laplace{"Laplace", "#d55e00", false, {}};
  apps::line uniform{"uniform", "#0072b2", false, {}};
  apps::line normal{"normal", "#777777", false, {}};
  std::printf("%8s %10s %10s %10s\n", "nats", "Laplace", "uniform", "normal");
  for (int k = 1; k <= halvings; ++k) {
    double const budget = std::ldexp(1.0, -k);
    double const by_laplace =
        std::sqrt(2.0) * of.laplace(tacit::shannon_measure{}, budget).scale / unit;
    double const by_uniform =
        of.uniform(tacit::shannon_measure{}, budget).scale / std::sqrt(3.0) / unit;
    double const by_normal = of.normal(budget) / unit;
    laplace.at.emplace_back(k, by_laplace);
    uniform.at.emplace_back(k, by_uniform);
    normal.at.emplace_back(k, by_normal);
    std::printf("%8g %10.4f %10.4f %10.4f\n", budget, by_laplace, by_uniform, by_normal);
  }
  out.lines = {laplace, uniform, normal};
  return out;
}

apps::panel draw_guesses(study const& of) {
  apps::panel out{"Which subset it was: right guesses",
                  "after Laplace noise, beside what measures of it allow",
                  true,
                  0.001,
                  1.0,
                  halvings,
                  {0.001, 0.01, 0.1, 1.0},
                  {},
                  "budget, nats of mutual information"};
  out.left = 0.8;
  out.marks = budgets();
  std::vector<std::pair<std::string, tacit::leakage_measure>> const measures{
      {"variation", tacit::variation_measure{}},
      {"mutual information", tacit::shannon_measure{}},
      {"R\xC3\xA9nyi, order 2", tacit::renyi_measure{2.0}},
      {"R\xC3\xA9nyi, order 8", tacit::renyi_measure{8.0}}};
  std::vector<std::string> const colours{"#cc79a7", "#777777", "#0072b2", "#009e73"};
  apps::line best{"best guess", "#d55e00", false, {}};
  for (std::size_t i = 0; i < measures.size(); ++i) {
    out.lines.push_back({measures[i].first, colours[i], false, {}});
  }
  std::printf("%8s %10s %10s %10s %10s %10s\n", "nats", "best", "variation", "mutual", "order 2",
              "order 8");
  for (int k = 1; k <= halvings; ++k) {
    double const budget = std::ldexp(1.0, -k);
    tacit::scalar_noise const noise = of.laplace(tacit::shannon_measure{}, budget).noise;
    // All subsets are equally likely: the information of order infinity is what the best guess is.
    auto const told = tacit::leakage(of.outputs, of.equal, noise,
                                     tacit::renyi_measure{std::numeric_limits<double>::infinity()});
    best.at.emplace_back(k, std::exp(told.lower) / subsets);
    std::printf("%8g %10.5f", budget, best.at.back().second);
    for (std::size_t i = 0; i < measures.size(); ++i) {
      double const allowed = tacit::attack_success(
          measures[i].second, tacit::leakage(of.outputs, of.equal, noise, measures[i].second).upper,
          1.0 / subsets);
      if (allowed < best.at.back().second) throw std::logic_error("a guess passes its bound");
      out.lines[i].at.emplace_back(k, allowed);
      std::printf(" %10.5f", allowed);
    }
    std::printf("\n");
  }
  out.lines.push_back(best);
  return out;
}

}  // namespace

int main(int count, char** values) {
  std::filesystem::path out;
  apps::options app("Noise of several laws: errors, and guesses beside what measures allow");
  app.add("--out", out, "Folder for the figure, noise_laws.svg");
  if (auto const ends = app.read(count, values)) return *ends;
  try {
    std::filesystem::path const data = TACIT_EXAMPLE_DATA;
    studies::subset_means const all(
        apps::load_csv(data / "breast_cancer.csv").features.cast<double>(), subsets);
    study of;
    of.outputs.assign(all.means.col(0).begin(), all.means.col(0).end());
    std::vector<apps::panel> const panels{draw_errors(of), draw_guesses(of)};
    if (!out.empty()) {
      std::filesystem::create_directories(out);
      std::ofstream file(out / "noise_laws.svg", std::ios::binary);
      file << apps::svg(panels);
      if (!file.flush())
        throw std::runtime_error("cannot write " + (out / "noise_laws.svg").string());
    }
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "pac_noise_laws: %s\n", problem.what());
    return 1;
  }
  return 0;
}
