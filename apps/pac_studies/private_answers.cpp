// SPDX-License-Identifier: Apache-2.0
//
// Private answers: the means of columns of the cancer data, over one of 128 subsets that was drawn in secret. Draws how
// often an attacker is right after so many answers, beside the bounds; and the error of an answer of several cells,
// beside that of the published noise, which noises each cell for itself.

#include <tacit/core/units.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/mechanism/answering.hpp>
#include <tacit/pac/answer_plan.hpp>

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
constexpr nats per_answer(0x1p-8);
constexpr nats per_query(0x1p-5);  // of several cells
constexpr double kappa = 0.25;
constexpr int doublings = 10;  // 1 … 2^10 answers

/// Of the mean of numbers in [1/2, 1]: Hoeffding, confidence .99.
double half_width(std::size_t draws) {
  return 0.5 * std::sqrt(std::log(2.0 / 0.01) / (2.0 * static_cast<double>(draws)));
}

using problem = studies::subset_means;

struct attacked {
  double right = 0.0;  // mean, of guesses about the record that an attacker is most sure of
  double bound = 0.0;  // on that, from the nats spent
  double worst = 0.0;  // how sure an attacker is in the worst session
};

/// After 1, 2, 4 … answers: an attacker who knows all records and subsets, and picks the record afterwards.
std::vector<attacked> attack(problem const& of, double within, std::size_t sessions) {
  std::vector<attacked> out(doublings + 1);
  std::vector<double> spent(out.size(), 0.0);
  std::vector<double> in(of.set.records());
  std::mt19937_64 random(3);
  for (std::size_t session = 0; session < sessions; ++session) {
    tacit::answering<> answers({subsets},
                               {.budget = nats(8.0), .per_answer = per_answer, .kappa = within});
    for (std::size_t k = 0, given = 0; k < out.size(); ++k) {
      for (; given < std::size_t{1} << k; ++given) {
        Eigen::VectorXd const column = of.means.col(Index(random() % std::size_t(of.means.cols())));
        static_cast<void>(answers.answer(std::vector<double>(column.begin(), column.end())));
      }
      std::span<double const> const p = answers.belief().probabilities();
      of.set.membership_sums(p, in);
      double sure = 0.5;
      for (double const x : in) sure = std::max({sure, x, 1.0 - x});
      // The posterior is exact: the attacker is right as often as it is sure.
      out[k].right += sure / double(sessions);
      out[k].worst = std::max(out[k].worst, sure);
      spent[k] = std::max(spent[k], answers.spent().value);
    }
  }
  for (std::size_t k = 0; k < out.size(); ++k) out[k].bound = tacit::attack_success(nats(spent[k]));
  return out;
}

struct errors {
  double mean;  // of squares, a root of it, in deviations of the subsets' means
  double low;
  double high;
};

/// Root of the mean square over cells and sessions. Confidence .99, by the normal law.
template <class Answer>
errors error_of(Eigen::MatrixXd const& worlds, Eigen::RowVectorXd const& truth,
                std::size_t sessions, Answer const& answer) {
  Eigen::RowVectorXd const centred = worlds.colwise().mean();
  Eigen::RowVectorXd const variance =
      (worlds.rowwise() - centred).colwise().squaredNorm() / double(worlds.rows());
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t session = 0; session < sessions; ++session) {
    Eigen::RowVectorXd const off = answer() - truth;
    double const x = off.cwiseAbs2().cwiseQuotient(variance).mean();
    sum += x;
    squares += x * x;
  }
  auto const n = static_cast<double>(sessions);
  double const mean = sum / n;
  double const width = 2.576 * std::sqrt(std::max(0.0, squares / n - mean * mean) / n);
  return {std::sqrt(mean), std::sqrt(std::max(0.0, mean - width)), std::sqrt(mean + width)};
}

apps::panel draw_attacks(problem const& of, std::size_t sessions) {
  apps::panel out{"Membership of a record: right guesses",
                  "about the record that an attacker is most sure of, after so many answers",
                  false,
                  0.5,
                  1.0,
                  doublings,
                  {},
                  {},
                  "answers of 1/256 nats"};
  for (int k = 0; k <= doublings; k += 2) out.marks.emplace_back(k, std::to_string(1 << k));
  out.side_by_side = false;
  apps::fit_ticks(out);
  apps::line bound{"bound", "#777777", false, {}};
  apps::line mean{"attack", "#d55e00", false, {}};
  apps::line worst{"worst session", "#d55e00", true, {}};
  apps::line cap{"any session, \xCE\xBA = \xC2\xBC", "#777777", true, {}};
  apps::line capped{"worst session, \xCE\xBA = \xC2\xBC", "#0072b2", true, {}};
  auto const plain = attack(of, std::numeric_limits<double>::infinity(), sessions);
  auto const within = attack(of, kappa, sessions);
  double const most = 1.0 - 0.5 * std::exp(-kappa);
  std::printf("%8s %8s %18s %8s %22s %8s\n", "answers", "bound", "attack", "worst",
              "worst, kappa = 1/4", "bound");
  for (std::size_t k = 0; k < plain.size(); ++k) {
    double const x = static_cast<double>(k);
    double const width = half_width(sessions);
    bound.at.emplace_back(x, plain[k].bound);
    mean.at.emplace_back(x, plain[k].right);
    mean.interval.emplace_back(std::max(0.5, plain[k].right - width),
                               std::min(1.0, plain[k].right + width));
    worst.at.emplace_back(x, plain[k].worst);
    cap.at.emplace_back(x, most);
    capped.at.emplace_back(x, within[k].worst);
    std::printf("%8d %8.4f %8.4f +- %.4f %8.4f %22.4f %8.4f\n", 1 << k, plain[k].bound,
                plain[k].right, width, plain[k].worst, within[k].worst, most);
    if (plain[k].right - width > plain[k].bound || within[k].worst > most) {
      throw std::logic_error("an attack passes its bound");
    }
  }
  out.lines = {bound, mean, worst, cap, capped};
  return out;
}

apps::panel draw_errors(problem const& of, std::size_t sessions) {
  apps::panel out{"Error of an answer",
                  "in deviations of the subsets' means; 1/32 nats a query",
                  false,
                  0.0,
                  0.0,
                  5.0,
                  {},
                  {},
                  "cells of the query"};
  out.side_by_side = false;
  apps::line together{"together", "#d55e00", false, {}};
  apps::line apart{"cell by cell", "#0072b2", false, {}};
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  std::printf("%8s %28s %28s\n", "cells", "together", "cell by cell");
  std::vector<Index> const counts{1, 2, 4, 8, 16, 30};
  for (std::size_t k = 0; k < counts.size(); ++k) {
    Index const cells = counts[k];
    // Spread over the columns.
    std::vector<Index> which;
    for (Index i = 0; i < cells; ++i) which.push_back(i * of.means.cols() / cells);
    Eigen::MatrixXd const worlds = of.means(Eigen::all, which);
    Eigen::RowVectorXd const truth = worlds.colwise().mean();
    errors const ours = error_of(worlds, truth, sessions, [&]() -> Eigen::RowVectorXd {
      return tacit::answering<>({subsets}, {.budget = nats(1.0), .per_answer = per_query})
          .answer(worlds)
          .transpose();
    });
    Eigen::RowVectorXd const centred = worlds.colwise().mean();
    Eigen::RowVectorXd const deviation = ((worlds.rowwise() - centred).colwise().squaredNorm() /
                                          double(subsets) * double(cells) / (2.0 * per_query.value))
                                             .cwiseSqrt();
    errors const published = error_of(worlds, truth, sessions, [&]() -> Eigen::RowVectorXd {
      Eigen::RowVectorXd said = worlds.row(Index(random() % subsets));
      for (Index i = 0; i < cells; ++i) said(i) += deviation(i) * normal(random);
      return said;
    });
    for (auto const& [line, e] : {std::pair(&together, ours), std::pair(&apart, published)}) {
      line->at.emplace_back(double(k), e.mean);
      line->interval.emplace_back(e.low, e.high);
      out.high = std::max(out.high, e.high);
    }
    out.marks.emplace_back(double(k), std::to_string(cells));
    std::printf("%8d %9.3f (%.3f to %.3f) %9.3f (%.3f to %.3f)\n", int(cells), ours.mean, ours.low,
                ours.high, published.mean, published.low, published.high);
  }
  apps::fit_ticks(out);
  out.lines = {apart, together};
  return out;
}

}  // namespace

int main(int count, char** values) {
  std::filesystem::path out;
  std::size_t sessions = 2000;
  apps::options app(
      "Private answers: an attack beside its bounds, and errors beside the published noise's");
  app.add("--out", out, "Folder for the figure, private_answers.svg");
  app.add("--sessions", sessions, "How many there are of each").in_range(10, 1'000'000);
  if (auto const ends = app.read(count, values)) return *ends;
  try {
    std::filesystem::path const data = TACIT_EXAMPLE_DATA;
    problem const of(apps::load_csv(data / "breast_cancer.csv").features.cast<double>(), subsets);
    std::vector<apps::panel> const panels{draw_attacks(of, sessions), draw_errors(of, sessions)};
    if (!out.empty()) {
      std::filesystem::create_directories(out);
      std::ofstream file(out / "private_answers.svg", std::ios::binary);
      file << apps::svg(panels);
      if (!file.flush())
        throw std::runtime_error("cannot write " + (out / "private_answers.svg").string());
    }
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "pac_private_answers: %s\n", problem.what());
    return 1;
  }
  return 0;
}
