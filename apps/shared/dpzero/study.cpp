// SPDX-License-Identifier: Apache-2.0
#include "dpzero/study.hpp"

#include <tacit/core/check.hpp>
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/mechanism/dpgd_0th.hpp>
#include <tacit/mechanism/dpzero.hpp>
#include <tacit/mechanism/quantised.hpp>
#include <tacit/secret/discrete.hpp>
#include <tacit/secret/stream.hpp>
#include <tacit/zo/direction.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <utility>

namespace apps {

namespace {

using Eigen::MatrixXf;
using Eigen::VectorXf;
using index = Eigen::Index;

// A setting of a method, and where it has come to.
struct setting : study_setting {
  VectorXf x;
  std::size_t place;  // among those that were asked for

  bool finite() const { return std::isfinite(x.sum()); }
};

// T Gaussians of noise multiplier √T/μ together are μ-Gaussian DP; those on Poisson batches have no such formula.
double noise_multiplier(tacit::approx_dp target, study_setting const& s) {
  if (s.rate < 1.0) {
    return tacit::noise_multiplier_for<tacit::privacy_loss_accountant>(
        target, tacit::poisson{s.rate}, s.steps);
  }
  double const mu = tacit::gaussian_dp_for(target).mu;
  return std::sqrt(static_cast<double>(s.steps)) / mu * (1.0 + 1e-15);
}

tacit::noisy_sum_options options_of(setting const& s, study_problem const& study) {
  return {.clip = s.clip,
          .noise_multiplier = noise_multiplier(study.target, s),
          .rate = s.rate,
          .expected_records = static_cast<double>(study.records),
          .steps = s.steps};
}

tacit::direction direction_of(setting const& s, study_problem const& study, std::size_t step) {
  return tacit::direction_at(s.law, {.seed = study.seed, .step = step}, std::uint64_t(s.x.size()));
}

void write(tacit::direction const& z, float* to, index d) {
  for (index i = 0; i < d; ++i) to[i] = z(std::uint64_t(i));
}

// Directions are public, and the same in all settings of a law: zᵀAx_i is computed once for all of them.
void train_zeroth_order(quadratic const& f, study_problem const& study, std::vector<setting>& all) {
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
      write(direction_of(all.front(), study, begin + j), z.col(index(j)).data(), d);
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
  }
}

// Only the losses of the batch are evaluated.
void train_on_batches(quadratic const& f, study_problem const& study, setting& s) {
  index const d = f.records.rows();
  tacit::dpzero<> mechanism(options_of(s, study), static_cast<std::size_t>(f.records.cols()));
  VectorXf z(d);
  VectorXf curved;
  std::vector<double> scalars;
  for (std::size_t t = 0; t < s.steps && s.finite(); ++t) {
    write(direction_of(s, study, t), z.data(), d);
    curved = f.curvature.cwiseProduct(z);
    float const own = curved.dot(s.x);
    scalars.clear();
    for (std::size_t const record : mechanism.batch()) {
      scalars.push_back(double{own - curved.dot(f.records.col(index(record)))});
    }
    double const y = mechanism.step(scalars).coefficients.front();
    s.x -= static_cast<float>(s.step_size * y) * z;
  }
}

// All settings side by side: an iterate is a column, and the records pass once a step.
void train_first_order(quadratic const& f, study_problem const& study, std::vector<setting>& all) {
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
        "dp_gd", noise_multiplier(study.target, s),
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
  }
}

void check(study_problem const& study, std::vector<study_setting> const& settings) {
  namespace check = tacit::detail;
  constexpr auto who = "train";
  check::require_argument(study.records > 0, who, "records", study.records, "at least 1");
  check::require_argument(study.dimension > 0, who, "dimension", study.dimension, "at least 1");
  for (study_setting const& s : settings) {
    check::check_positive(who, "step size", s.step_size);
    tacit::contribution_grid{s.clip}.check(who);
    check::require_argument(s.steps > 0, who, "steps", s.steps, "at least 1");
    check::require_domain(s.rate > 0.0 && s.rate <= 1.0, who, "rate", s.rate, "in (0, 1]");
    check::require_argument(s.rate == 1.0 || s.method == study_method::dpzero, who, "rate", s.rate,
                            "1 but for DPZero");
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
  auto const draw = [&](std::size_t record, float deviation, float* to) {
    tacit::stream_id const stream{.seed = seed, .step = record, .use = tacit::purpose::estimation};
    for (std::size_t j = 0; j < dimension; j += 4) {
      tacit::four_normals const z = tacit::normals(stream, j / 4);
      for (std::size_t k = j; k < std::min(j + 4, dimension); ++k)
        to[k] = 1.0F + deviation * z.value[k - j];
    }
  };
  for (std::size_t i = 0; i < count; ++i) draw(i, 1.0F, records.col(index(i)).data());
  // The mean of as many others, by its law.
  draw(count, 1.0F / std::sqrt(static_cast<float>(count)), test_mean.data());
}

double quadratic::gradient_norm(VectorXf const& x) const {
  return double{(curvature.array() * (x - test_mean).array()).matrix().norm()};
}

std::vector<double> train(study_problem const& study, std::vector<study_setting> const& settings) {
  check(study, settings);
  quadratic const f(study.rank, study.dimension, study.records, study.seed);
  auto const d = index(study.dimension);
  std::vector<double> out(settings.size());
  auto const keep = [&](std::vector<setting> const& all) {
    for (setting const& s : all) {
      out[s.place] = s.finite() ? f.gradient_norm(s.x) : std::numeric_limits<double>::infinity();
    }
  };
  std::map<tacit::direction_law, std::vector<setting>> whole;
  std::vector<setting> first;
  for (std::size_t k = 0; k < settings.size(); ++k) {
    setting s{settings[k], VectorXf::Zero(d), k};
    if (s.method == study_method::dp_gd) {
      first.push_back(std::move(s));
    } else if (s.rate < 1.0) {
      train_on_batches(f, study, s);
      keep({s});
    } else {
      whole[s.law].push_back(std::move(s));
    }
  }
  for (auto& [law, all] : whole) {
    train_zeroth_order(f, study, all);
    keep(all);
  }
  train_first_order(f, study, first);
  keep(first);
  return out;
}

}  // namespace apps
