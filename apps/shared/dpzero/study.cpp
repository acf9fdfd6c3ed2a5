// SPDX-License-Identifier: Apache-2.0
#include "dpzero/study.hpp"

#include <tacit/core/check.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/mechanism/dpgd_0th.hpp>
#include <tacit/mechanism/dpzero.hpp>
#include <tacit/mechanism/quantised.hpp>
#include <tacit/secret/discrete.hpp>
#include <tacit/secret/stream.hpp>
#include <tacit/zo/direction.hpp>

#include "training/in_parallel.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

namespace apps {

namespace {

using Eigen::MatrixXf;
using Eigen::VectorXf;
using index = Eigen::Index;

// A setting of a method, and where it has come to.
struct setting {
  study_method method;
  double step_size;
  double clip;
  std::size_t steps;
  VectorXf x;

  bool finite() const { return std::isfinite(x.sum()); }
};

std::vector<setting> settings_of(study_method method, study_grid const& grid, index dimension) {
  std::vector<setting> all;
  for (std::size_t const steps : grid.steps) {
    for (double const clip : grid.clips) {
      for (double const step_size : grid.step_sizes) {
        all.push_back({method, step_size, clip, steps, VectorXf::Zero(dimension)});
      }
    }
  }
  return all;
}

// T Gaussians of noise multiplier √T/μ together are μ-Gaussian DP.
double noise_multiplier(tacit::approx_dp target, std::size_t steps) {
  double const mu = tacit::gaussian_dp_for(target).mu;
  return std::sqrt(static_cast<double>(steps)) / mu * (1.0 + 1e-15);
}

tacit::noisy_sum_options options_of(setting const& s, study_options const& study) {
  return {.clip = s.clip,
          .noise_multiplier = noise_multiplier(study.target, s.steps),
          .rate = 1.0,
          .expected_records = static_cast<double>(study.records),
          .steps = s.steps};
}

using report = std::function<void(std::size_t)>;  // steps of the job done

// Directions are public and the same in all settings: zᵀAx_i is computed once for all of them.
void train_zeroth_order(quadratic const& f, study_options const& study, std::vector<setting>& all,
                        report const& done) {
  index const d = f.records.rows();
  auto const records = static_cast<std::size_t>(f.records.cols());
  std::vector<std::unique_ptr<tacit::dpzero<>>> scalar(all.size());
  std::vector<std::unique_ptr<tacit::dpgd_0th<>>> vector(all.size());
  std::size_t longest = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    tacit::noisy_sum_options const options = options_of(all[k], study);
    if (all[k].method == study_method::dpzero) {
      scalar[k] = std::make_unique<tacit::dpzero<>>(options, records);
    } else {
      vector[k] =
          std::make_unique<tacit::dpgd_0th<>>(options, static_cast<std::size_t>(d), records);
    }
    longest = std::max(longest, all[k].steps);
  }

  constexpr std::size_t block = 64;
  MatrixXf z(d, index{block});
  MatrixXf curved;
  MatrixXf seen;
  std::vector<double> scalars(records);
  for (std::size_t begin = 0; begin < longest; begin += block) {
    for (std::size_t j = 0; j < block; ++j) {
      tacit::direction const at = tacit::direction_at(
          tacit::direction_law::sphere, {.seed = study.seed, .step = begin + j}, std::uint64_t(d));
      for (index i = 0; i < d; ++i) z(i, index(j)) = at(std::uint64_t(i));
    }
    curved = f.curvature.asDiagonal() * z;
    seen.noalias() = f.records.transpose() * curved;
    for (std::size_t k = 0; k < all.size(); ++k) {
      setting& s = all[k];
      for (std::size_t t = begin; t < std::min(begin + block, s.steps) && s.finite(); ++t) {
        index const j = index(t - begin);
        Eigen::Map<Eigen::VectorXd>(scalars.data(), index(records)) =
            (curved.col(j).dot(s.x) - seen.col(j).array()).cast<double>();
        if (scalar[k]) {
          double const y = scalar[k]->step(scalars).coefficients.front();
          s.x -= static_cast<float>(s.step_size * y) * z.col(j);
        } else {
          tacit::vector_release const y =
              vector[k]->step(scalars, {z.col(j).data(), static_cast<std::size_t>(d)});
          s.x -= static_cast<float>(s.step_size) * Eigen::Map<VectorXf const>(y.value.data(), d);
        }
      }
    }
    done(std::min(block, longest - begin));
  }
}

// All settings side by side: an iterate is a column, and the records pass once a step.
void train_first_order(quadratic const& f, study_options const& study, std::vector<setting>& all,
                       report const& done) {
  index const d = f.records.rows();
  index const n = f.records.cols();
  std::stable_sort(all.begin(), all.end(),
                   [](setting const& a, setting const& b) { return a.steps > b.steps; });
  auto const a = f.curvature.array();
  VectorXf const mean = f.records.rowwise().mean();
  VectorXf squares(n);  // ‖Ax_i‖²
  for (index i = 0; i < n; ++i) squares[i] = (a * f.records.col(i).array()).matrix().squaredNorm();
  float const farthest = std::sqrt(squares.maxCoeff());

  tacit::secret_stream secret;
  std::vector<tacit::quantised_noise> noise;
  for (setting const& s : all) {
    noise.push_back(tacit::quantised_noise::for_multiplier(
        "dp_gd", noise_multiplier(study.target, s.steps),
        static_cast<double>(tacit::contribution_grid::norm)));
  }

  // With Ax the rest of a gradient A(x − x_i) is shared by all settings; where no record can reach
  // the clip, the sum of all is known without looking at them.
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(d));
  std::vector<std::size_t> clipping;
  for (std::size_t t = 0; !all.empty() && t < all.front().steps; ++t) {
    clipping.clear();
    std::vector<VectorXf> sums(all.size());
    for (std::size_t k = 0; k < all.size() && all[k].steps > t; ++k) {
      setting const& s = all[k];
      if (!s.finite()) continue;
      float const reach = (a * s.x.array()).matrix().norm() + farthest;
      if (double{reach} * (1.0 + 1e-5) < s.clip) {
        sums[k] = static_cast<float>(n) * (a * (s.x - mean).array()).matrix();
      } else {
        clipping.push_back(k);
      }
    }
    if (!clipping.empty()) {
      index const c = index(clipping.size());
      MatrixXf twice(d, c);  // A²x
      Eigen::ArrayXXf own(1, c);
      Eigen::ArrayXXf clip(1, c);
      for (index k = 0; k < c; ++k) {
        setting const& s = all[clipping[std::size_t(k)]];
        twice.col(k) = a.square() * s.x.array();
        own(0, k) = (a * s.x.array()).matrix().squaredNorm();
        clip(0, k) = static_cast<float>(s.clip);
      }
      MatrixXf along = MatrixXf::Zero(d, c);  // Σ_i w_i x_i
      Eigen::VectorXf total = Eigen::VectorXf::Zero(c);
      MatrixXf w;
      constexpr index chunk = 32;  // stays in the cache for its second product
      for (index from = 0; from < n; from += chunk) {
        index const size = std::min(chunk, n - from);
        auto const here = f.records.middleCols(from, size);
        w.noalias() = here.transpose() * twice;
        for (index k = 0; k < c; ++k) {
          auto const norm =
              (squares.segment(from, size).array() - 2.0F * w.col(k).array() + own(0, k)).max(0.0F);
          w.col(k) = (clip(0, k) / norm.sqrt()).min(1.0F);
          total[k] += w.col(k).sum();
        }
        along.noalias() += here * w;
      }
      for (index k = 0; k < c; ++k) {
        std::size_t const at = clipping[std::size_t(k)];
        sums[at] = a * (total[k] * all[at].x - along.col(k)).array();
      }
    }
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (sums[k].size() == 0) continue;
      setting& s = all[k];
      std::fill(drawn.begin(), drawn.end(), 0);
      tacit::add_discrete_gaussian(secret, noise[k].sigma, drawn);
      double const unit = tacit::contribution_grid{s.clip}.quantum();
      for (index i = 0; i < d; ++i) {
        sums[k][i] += static_cast<float>(unit * static_cast<double>(drawn[std::size_t(i)]));
      }
      s.x -= static_cast<float>(s.step_size / static_cast<double>(n)) * sums[k];
    }
    done(1);
  }
}

struct job {
  effective_rank rank;
  std::size_t dimension;
  std::size_t row;  // of its first method
  bool first_order;
  double work;  // about
};

study_row best_of(std::vector<setting> const& all, study_method method, quadratic const& f,
                  effective_rank rank) {
  index const d = f.records.rows();
  study_row row{.rank = rank,
                .dimension = static_cast<std::size_t>(d),
                .method = method,
                .gradient_norm = std::numeric_limits<double>::infinity(),
                .start_norm = f.gradient_norm(VectorXf::Zero(d)),
                .step_size = 0.0,
                .clip = 0.0,
                .steps = 0};
  for (setting const& s : all) {
    double const norm = s.method == method && s.finite() ? f.gradient_norm(s.x)
                                                         : std::numeric_limits<double>::infinity();
    if (!(norm < row.gradient_norm)) continue;
    row.gradient_norm = norm;
    row.step_size = s.step_size;
    row.clip = s.clip;
    row.steps = s.steps;
  }
  return row;
}

std::size_t longest_of(study_grid const& grid) {
  return grid.steps.empty() ? 0 : *std::max_element(grid.steps.begin(), grid.steps.end());
}

// Steps of all settings of a grid.
double steps_of(study_grid const& grid) {
  double sum = 0.0;
  for (std::size_t const steps : grid.steps) sum += static_cast<double>(steps);
  return sum * static_cast<double>(grid.clips.size() * grid.step_sizes.size());
}

void work_on(job const& now, study_options const& study, std::vector<study_row>& rows,
             std::function<void(double)> const& progress) {
  quadratic const f(now.rank, now.dimension, study.records, study.seed);
  index const d = f.records.rows();
  std::vector<setting> all = now.first_order ? settings_of(study_method::dp_gd, study.dp_gd, d)
                                             : settings_of(study_method::dpzero, study.dpzero, d);
  std::size_t longest = longest_of(study.dp_gd);
  if (!now.first_order) {
    std::vector<setting> more = settings_of(study_method::dpgd_0th, study.dpgd_0th, d);
    std::move(more.begin(), more.end(), std::back_inserter(all));
    longest = std::max(longest_of(study.dpzero), longest_of(study.dpgd_0th));
  }
  report const done = [&](std::size_t steps) {
    if (progress) progress(now.work * static_cast<double>(steps) / static_cast<double>(longest));
  };
  if (now.first_order) {
    train_first_order(f, study, all, done);
    rows[now.row + 2] = best_of(all, study_method::dp_gd, f, now.rank);
  } else {
    train_zeroth_order(f, study, all, done);
    rows[now.row + 1] = best_of(all, study_method::dpgd_0th, f, now.rank);
    rows[now.row] = best_of(all, study_method::dpzero, f, now.rank);
  }
}

void check(study_options const& study) {
  namespace check = tacit::detail;
  check::require_argument(study.threads > 0, "run_study", "threads", study.threads, "at least 1");
  check::require_argument(study.records > 0, "run_study", "records", study.records, "at least 1");
  for (std::size_t const d : study.dimensions) {
    check::require_argument(d > 0, "run_study", "dimension", d, "at least 1");
  }
  for (study_grid const* grid : {&study.dpzero, &study.dpgd_0th, &study.dp_gd}) {
    std::size_t const settings = grid->step_sizes.size() * grid->clips.size() * grid->steps.size();
    check::require_argument(settings > 0, "run_study", "number of settings", settings,
                            "at least 1 for each method");
    for (double const step_size : grid->step_sizes) {
      check::check_positive("run_study", "step size", step_size);
    }
    for (double const clip : grid->clips) tacit::contribution_grid{clip}.check("run_study");
    for (std::size_t const steps : grid->steps) {
      check::require_argument(steps > 0, "run_study", "steps", steps, "at least 1");
    }
  }
}

}  // namespace

std::string_view name_of(effective_rank rank) {
  return rank == effective_rank::whole ? "d" : rank == effective_rank::root ? "sqrt d" : "log d";
}

std::string_view name_of(study_method method) {
  return method == study_method::dpzero     ? "DPZero"
         : method == study_method::dpgd_0th ? "DPGD-0th"
                                            : "DP-GD";
}

study_options quick_study() {
  study_options out = default_study();
  out.dimensions = {20, 100, 500};
  out.records = 2000;
  for (study_grid* grid : {&out.dpzero, &out.dpgd_0th, &out.dp_gd}) {
    grid->clips = {grid->clips[1]};
    grid->steps = {320};
  }
  return out;
}

study_options default_study() {
  study_options out;
  out.dimensions = {20, 50, 100, 200, 500, 1000, 2000};
  out.dpzero = {{3e-3, 1e-2, 3e-2, 1e-1}, {1.0, 3.0, 10.0}, {320, 1280, 5120}};
  out.dpgd_0th = {{1e-2, 3e-2, 1e-1, 3e-1}, {1.0, 3.0, 10.0}, {320, 1280, 5120}};
  out.dp_gd = {{3e-2, 1e-1, 3e-1, 1.0}, {1.0, 3.0, 10.0}, {320, 1280}};
  return out;
}

study_options paper_study() {
  study_options out = default_study();
  study_grid grid{{1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0},
                  {0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0},
                  {}};
  for (std::size_t steps = 10; steps <= 5120; steps *= 2) grid.steps.push_back(steps);
  out.dpzero = out.dpgd_0th = out.dp_gd = grid;
  return out;
}

quadratic::quadratic(effective_rank rank, std::size_t dimension, std::size_t count,
                     std::uint64_t seed)
    : curvature(index(dimension)),
      records(index(dimension), index(count)),
      test_mean(VectorXf::Zero(index(dimension))) {
  for (index j = 0; j < curvature.size(); ++j) {
    auto const place = static_cast<float>(j + 1);
    curvature[j] = rank == effective_rank::whole  ? 1.0F
                   : rank == effective_rank::root ? 1.0F / std::sqrt(place)
                                                  : 1.0F / place;
  }
  auto const draw = [&](std::uint64_t part, std::size_t record, float* to) {
    tacit::stream_id const stream{
        .seed = seed, .step = 2 * record + part, .use = tacit::purpose::estimation};
    for (std::size_t j = 0; j < dimension; j += 4) {
      tacit::four_normals const z = tacit::normals(stream, j / 4);
      for (std::size_t k = j; k < std::min(j + 4, dimension); ++k) to[k] = 1.0F + z.value[k - j];
    }
  };
  VectorXf one(records.rows());
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(records.rows());
  for (std::size_t i = 0; i < count; ++i) {
    draw(0, i, records.col(index(i)).data());
    draw(1, i, one.data());
    sum += one.cast<double>();
  }
  test_mean = (sum / static_cast<double>(count)).cast<float>();
}

double quadratic::gradient_norm(VectorXf const& x) const {
  return double{(curvature.array() * (x - test_mean).array()).matrix().norm()};
}

std::vector<study_row> run_study(study_options const& options,
                                 std::function<void(double)> const& progress) {
  check(options);
  std::vector<study_row> rows;
  std::vector<job> jobs;
  double whole = 0.0;
  for (effective_rank const rank : options.ranks) {
    for (std::size_t const d : options.dimensions) {
      // A setting's step costs the records, and about a hundredth of them for each coordinate.
      double const n = static_cast<double>(options.records);
      double const size = static_cast<double>(d);
      double const zeroth =
          (n + 40.0 * size) * steps_of(options.dpgd_0th) + n * steps_of(options.dpzero);
      double const first = 0.05 * n * size * steps_of(options.dp_gd);
      jobs.push_back({rank, d, rows.size(), false, zeroth});
      jobs.push_back({rank, d, rows.size(), true, first});
      whole += zeroth + first;
      rows.resize(rows.size() + 3);
    }
  }
  for (job& one : jobs) one.work /= whole;
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](job const& a, job const& b) { return a.work > b.work; });

  in_parallel(jobs.size(), options.threads,
              [&](std::size_t k) { work_on(jobs[k], options, rows, progress); });
  return rows;
}

}  // namespace apps
