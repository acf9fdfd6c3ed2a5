// SPDX-License-Identifier: Apache-2.0
#include "experiment.hpp"

#include "output/format.hpp"
#include "output/progress.hpp"
#include "training/in_parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <iterator>
#include <numbers>
#include <numeric>
#include <utility>

namespace apps {

namespace {

using json = nlohmann::ordered_json;
using tacit::direction_law;

constexpr std::uint64_t tuning_seeds[] = {101, 102};

std::vector<study_setting> grid_of(study_setting const& base, std::vector<double> const& step_sizes,
                                   std::vector<double> const& clips,
                                   std::vector<std::size_t> const& steps) {
  std::vector<study_setting> out;
  for (std::size_t const t : steps) {
    for (double const clip : clips) {
      for (double const step_size : step_sizes) {
        study_setting one = base;
        one.step_size = step_size;
        one.clip = clip;
        one.steps = t;
        out.push_back(one);
      }
    }
  }
  return out;
}

std::string problem_of(experiment_options const& how, effective_rank rank, std::size_t d,
                       std::uint64_t seed) {
  return formatted("%s rank %s d %zu n %zu seed %llu", how.quick ? "quick" : "full",
                   std::string(name_of(rank)).c_str(), d, how.records,
                   static_cast<unsigned long long>(seed));
}

// JSON has no infinity: a run that diverged is null.
json as_json(std::vector<double> const& norms) {
  json out = json::array();
  for (double const x : norms) out.push_back(std::isfinite(x) ? json(x) : json(nullptr));
  return out;
}

std::vector<double> norms_from(json const& from) {
  std::vector<double> out;
  for (json const& x : from.at("norms")) {
    out.push_back(x.is_number() ? x.get<double>() : std::numeric_limits<double>::infinity());
  }
  return out;
}

struct job {
  std::string key;
  study_problem problem;
  std::vector<study_setting> settings;
};

// Runs those that the log does not have.
void do_all(std::vector<job> jobs, experiment_options const& how, run_log& log,
            std::atomic<std::size_t>& begun, progress_bar& bar) {
  // The largest first, so that no thread is left with one of them at the end.
  std::stable_sort(jobs.begin(), jobs.end(), [](job const& a, job const& b) {
    return a.problem.dimension > b.problem.dimension;
  });
  in_parallel(jobs.size(), how.threads, [&](std::size_t k) {
    job const& one = jobs[k];
    if (log.find(one.key) == nullptr && begun++ < how.most_jobs) {
      auto const start = std::chrono::steady_clock::now();
      std::vector<double> const norms = train(one.problem, one.settings);
      std::chrono::duration<double> const taken = std::chrono::steady_clock::now() - start;
      log.add(one.key, {{"norms", as_json(norms)}, {"seconds", taken.count()}});
    }
    bar.advance(one.problem.dimension);
  });
}

bool at_the_edge(study_setting const& chosen, std::vector<study_setting> const& grid) {
  auto const [low, high] = std::minmax_element(
      grid.begin(), grid.end(),
      [](study_setting const& a, study_setting const& b) { return a.step_size < b.step_size; });
  return chosen.step_size == low->step_size || chosen.step_size == high->step_size;
}

}  // namespace

std::vector<study_arm> arms_of(bool quick) {
  std::vector<double> const clips = quick ? std::vector{3.0} : std::vector{3.0, 10.0};
  std::vector<std::size_t> const steps =
      quick ? std::vector<std::size_t>{60} : std::vector<std::size_t>{320, 1280};
  std::vector<double> const slow =
      quick ? std::vector{1e-2, 3e-2} : std::vector{3e-3, 1e-2, 3e-2, 1e-1};
  std::vector<double> const fast =
      quick ? std::vector{1e-1, 1.0} : std::vector{3e-2, 1e-1, 3e-1, 1.0};
  auto const dpzero = [&](direction_law law) { return study_setting{.law = law}; };
  std::vector<study_arm> out{
      {"DPZero, sphere", grid_of(dpzero(direction_law::sphere), slow, clips, steps)},
      {"DPZero, Gaussian", grid_of(dpzero(direction_law::gaussian), slow, clips, steps)},
      {"DPZero, Rademacher", grid_of(dpzero(direction_law::rademacher), slow, clips, steps)},
      // As the paper trains language models: Gaussian directions, 64 of 1024 records a step.
      {"DPZero, batches",
       grid_of({.law = direction_law::gaussian, .rate = 0.0625}, slow, clips, steps)},
      {"DPGD-0th", grid_of({.method = study_method::dpgd_0th}, slow, clips, steps)},
      {"DP-GD", grid_of({.method = study_method::dp_gd}, fast, clips,
                        quick ? steps : std::vector<std::size_t>{80, 320})}};
  for (int const number : {1, 2, 3}) {
    out.push_back({formatted("Theorem %d", number), {}, number});
  }
  return out;
}

double longest_gradient(study_problem const& problem) {
  quadratic const f(problem.rank, problem.dimension, problem.records, problem.seed);
  float squares = 0.0F;
  for (Eigen::Index i = 0; i < f.records.cols(); ++i) {
    squares = std::max(squares, f.curvature.cwiseProduct(f.records.col(i)).squaredNorm());
  }
  return std::sqrt(double{squares});
}

study_setting setting_of_theorem(int number, study_problem const& problem, double lipschitz) {
  double trace = 0.0;
  for (std::size_t j = 1; j <= problem.dimension; ++j) {
    auto const place = static_cast<double>(j);
    trace += problem.rank == effective_rank::whole  ? 1.0
             : problem.rank == effective_rank::root ? 1.0 / std::sqrt(place)
                                                    : 1.0 / place;
  }
  auto const d = static_cast<double>(problem.dimension);
  auto const n = static_cast<double>(problem.records);
  double const epsilon = problem.target.epsilon;
  double const log = std::log(std::numbers::e + epsilon / problem.target.delta);
  double const steps = number == 1   ? n * epsilon / std::sqrt(d * log)
                       : number == 2 ? n * (trace + 2.0) * epsilon / (d * std::sqrt(trace * log))
                                     : n * (trace + 2.0) * epsilon / (4.0 * std::sqrt(trace * log));
  study_setting out;
  out.method = number == 3 ? study_method::dpzero : study_method::dpgd_0th;
  out.step_size = number == 1 ? 0.25 / d : 0.25 / (trace + 2.0);
  out.steps = static_cast<std::size_t>(std::max(1.0, std::round(steps)));
  double const scalars = static_cast<double>(out.steps) * n;
  double const c0 =
      lipschitz *
      std::sqrt(8.0 * std::log(2.0 * std::sqrt(2.0 * std::numbers::pi) * scalars / 0.01));
  out.clip = number == 3 ? std::numbers::sqrt2 * c0 : lipschitz * d;
  return out;
}

experiment_results run_experiment(experiment_options const& how, run_log& log) {
  experiment_results out;
  out.arms = arms_of(how.quick);
  struct cell {
    study_problem problem;
    std::vector<study_setting> all;  // the grids, one after the other
  };
  std::vector<cell> cells;
  std::size_t work = 0;
  for (effective_rank const rank : how.ranks) {
    for (std::size_t const d : how.dimensions) {
      cell one{{.rank = rank, .dimension = d, .records = how.records}, {}};
      for (study_arm const& arm : out.arms) {
        one.all.insert(one.all.end(), arm.grid.begin(), arm.grid.end());
      }
      cells.push_back(std::move(one));
      work += d * (how.seeds + std::size(tuning_seeds));
    }
  }
  progress_bar bar(work);
  std::atomic<std::size_t> begun = 0;

  std::vector<job> tuning;
  for (cell const& c : cells) {
    for (std::uint64_t const seed : tuning_seeds) {
      job one{"tune " + problem_of(how, c.problem.rank, c.problem.dimension, seed), c.problem,
              c.all};
      one.problem.seed = seed;
      tuning.push_back(std::move(one));
    }
  }
  do_all(tuning, how, log, begun, bar);

  std::vector<job> scoring;
  std::vector<std::vector<study_result>> rows;
  for (cell const& c : cells) {
    std::vector<double> sum(c.all.size(), 0.0);
    bool tuned = true;
    for (std::uint64_t const seed : tuning_seeds) {
      json const* found =
          log.find("tune " + problem_of(how, c.problem.rank, c.problem.dimension, seed));
      if (found == nullptr) {
        tuned = false;
        break;
      }
      std::vector<double> const norms = norms_from(*found);
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += norms.at(k);
    }
    if (!tuned) continue;
    std::vector<study_result> here;
    std::size_t from = 0;
    for (std::size_t a = 0; a < out.arms.size(); ++a) {
      study_arm const& arm = out.arms[a];
      study_result row{.arm = a,
                       .rank = c.problem.rank,
                       .dimension = c.problem.dimension,
                       .setting = {},
                       .norms = {}};
      if (arm.theorem != 0) {
        if (c.problem.rank != effective_rank::logarithmic) continue;
        study_problem first = c.problem;
        first.seed = tuning_seeds[0];
        row.setting = setting_of_theorem(arm.theorem, c.problem, longest_gradient(first));
      } else {
        auto const begin = sum.begin() + static_cast<std::ptrdiff_t>(from);
        auto const best =
            std::min_element(begin, begin + static_cast<std::ptrdiff_t>(arm.grid.size()));
        row.setting = arm.grid[static_cast<std::size_t>(best - begin)];
        row.at_the_edge = at_the_edge(row.setting, arm.grid);
        from += arm.grid.size();
      }
      here.push_back(std::move(row));
    }
    for (std::uint64_t seed = 1; seed <= how.seeds; ++seed) {
      job one{"score " + problem_of(how, c.problem.rank, c.problem.dimension, seed), c.problem, {}};
      one.problem.seed = seed;
      for (study_result const& row : here) one.settings.push_back(row.setting);
      scoring.push_back(std::move(one));
    }
    rows.push_back(std::move(here));
  }
  do_all(scoring, how, log, begun, bar);

  out.whole = rows.size() == cells.size();
  for (std::vector<study_result>& here : rows) {
    bool done = true;
    for (std::uint64_t seed = 1; seed <= how.seeds; ++seed) {
      json const* found =
          log.find("score " + problem_of(how, here.front().rank, here.front().dimension, seed));
      if (found == nullptr) {
        done = false;
        break;
      }
      std::vector<double> const norms = norms_from(*found);
      for (std::size_t k = 0; k < here.size(); ++k) here[k].norms.push_back(norms.at(k));
    }
    out.whole = out.whole && done;
    if (done) std::move(here.begin(), here.end(), std::back_inserter(out.rows));
  }
  return out;
}

std::vector<double> slopes(std::vector<study_result const*> const& by_dimension) {
  if (by_dimension.size() < 2) return {};
  auto const n = static_cast<double>(by_dimension.size());
  double middle = 0.0;
  for (study_result const* row : by_dimension) {
    middle += std::log(static_cast<double>(row->dimension)) / n;
  }
  std::vector<double> out;
  for (std::size_t seed = 0; seed < by_dimension.front()->norms.size(); ++seed) {
    double up = 0.0;
    double across = 0.0;
    for (study_result const* row : by_dimension) {
      double const x = std::log(static_cast<double>(row->dimension)) - middle;
      up += x * std::log(row->norms[seed]);
      across += x * x;
    }
    out.push_back(up / across);
  }
  return out;
}

}  // namespace apps
