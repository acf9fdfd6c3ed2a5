// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/gaussian.hpp>
#include <tacit/zo/direction.hpp>

#include "dpzero/figure.hpp"
#include "dpzero/study.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using apps::effective_rank;
using apps::quadratic;
using apps::study_grid;
using apps::study_method;
using apps::study_options;
using apps::study_row;
using Eigen::VectorXd;
using index = Eigen::Index;

// One setting of each method, and a target so loose that hardly any noise is drawn.
study_options loose() {
  study_options out;
  out.ranks = {effective_rank::root};
  out.dimensions = {6};
  out.records = 50;
  out.dpzero = {{0.05}, {2.0}, {40}};
  out.dpgd_0th = {{0.05}, {5.0}, {40}};
  out.dp_gd = {{0.4}, {1.2}, {10}};
  out.target = {1e8, 1e-6};
  out.threads = 1;
  return out;
}

// The same without noise, in double, record by record.
double plainly(study_options const& study, study_method method) {
  quadratic const f(study.ranks[0], study.dimensions[0], study.records, study.seed);
  Eigen::ArrayXd const a = f.curvature.array().cast<double>();
  index const d = a.size();
  study_grid const& grid = method == study_method::dpzero     ? study.dpzero
                           : method == study_method::dpgd_0th ? study.dpgd_0th
                                                              : study.dp_gd;
  VectorXd x = VectorXd::Zero(d);
  for (std::size_t t = 0; t < grid.steps[0]; ++t) {
    tacit::direction const at =
        tacit::direction_at(tacit::direction_law::sphere, {.seed = study.seed, .step = t},
                            static_cast<std::uint64_t>(d));
    VectorXd z(d);
    for (index j = 0; j < d; ++j) z[j] = double{at(static_cast<std::uint64_t>(j))};
    VectorXd sum = VectorXd::Zero(d);
    for (index i = 0; i < f.records.cols(); ++i) {
      VectorXd const gradient = a * (x - f.records.col(i).cast<double>()).array();
      double const c = grid.clips[0];
      double const along = z.dot(gradient);
      VectorXd given = along * z;
      if (method == study_method::dpzero) given = std::clamp(along, -c, c) * z;
      if (method == study_method::dp_gd) given = gradient;
      if (method != study_method::dpzero) given *= std::min(1.0, c / given.norm());
      sum += given;
    }
    x -= grid.step_sizes[0] * sum / static_cast<double>(study.records);
  }
  return f.gradient_norm(x.cast<float>());
}

}  // namespace

TEST_CASE("the three methods are what they say, but for noise") {
  study_options const study = loose();
  std::vector<study_row> const rows = apps::run_study(study);
  REQUIRE(rows.size() == 3);
  for (study_row const& row : rows) {
    INFO(apps::name_of(row.method));
    double const expected = plainly(study, row.method);
    CHECK(std::fabs(row.gradient_norm - expected) < 3e-3);
    CHECK(row.gradient_norm < 0.7 * row.start_norm);
    CHECK(row.dimension == 6);
    CHECK(row.rank == effective_rank::root);
  }
  // Where nothing is clipped, DP-GD has a path of its own.
  study_options wide = study;
  wide.dp_gd.clips = {20.0};  // beyond every gradient, and the noise still below 1e-4
  CHECK(std::fabs(apps::run_study(wide)[2].gradient_norm - plainly(wide, study_method::dp_gd)) <
        3e-3);
  CHECK(std::fabs(plainly(wide, study_method::dp_gd) - plainly(study, study_method::dp_gd)) > 1e-2);
}

TEST_CASE("the best setting is reported") {
  study_options study = loose();
  study.dp_gd = {{1e-4, 0.4, 1e-3}, {1e-3, 1.2}, {2, 10}};
  study_row const best = apps::run_study(study)[2];
  CHECK(best.step_size == 0.4);
  CHECK(best.clip == 1.2);
  CHECK(best.steps == 10);
  CHECK(std::fabs(best.gradient_norm - plainly(loose(), study_method::dp_gd)) < 3e-3);
}

TEST_CASE("the noise in every coordinate is that of the target") {
  // One record that moves the sum by 1e-3 at most of what the noise does, one step of a thousand.
  study_options study = loose();
  study.ranks = {effective_rank::whole};
  study.dimensions = {2000};
  study.records = 1;
  study.target = {2.0, 1e-6};
  study.dpzero = {{1e-6}, {1.0}, {1}};
  study.dpgd_0th = study.dp_gd = {{1000.0}, {1.0}, {4}};
  double const sigma = 2.0 / tacit::gaussian_dp_for(study.target).mu;  // √4/μ
  // Four steps of noise; the clipped gradient, of length 1 a step, is a hundredth of it.
  double const expected = 1000.0 * sigma * std::sqrt(4.0 * 2000.0);
  std::vector<study_row> const rows = apps::run_study(study);
  // A length of 2000 normals deviates by 1.6 % of itself: 9 % and the gradient's share is more than
  // 5 deviations, a false alarm in 1e6 runs.
  CHECK(std::fabs(rows[1].gradient_norm / expected - 1.0) < 0.10);
  CHECK(std::fabs(rows[2].gradient_norm / expected - 1.0) < 0.10);
}

TEST_CASE("records and ranks") {
  quadratic const f(effective_rank::logarithmic, 100, 400, 3);
  CHECK(f.curvature.maxCoeff() == 1.0F);
  CHECK(std::fabs(double{f.curvature.sum()} - 5.187) < 0.001);  // the harmonic number of 100
  CHECK(std::fabs(double{f.records.mean()} - 1.0) < 0.03);      // 6 deviations of 0.005
  CHECK(std::fabs(double{f.test_mean.mean()} - 1.0) < 0.03);
  CHECK(f.gradient_norm(f.test_mean) == 0.0);
  CHECK((f.records.rowwise().mean() - f.test_mean).norm() > 0.1);  // other records
  quadratic const g(effective_rank::root, 100, 2, 3);
  CHECK(std::fabs(double{g.curvature.sum()} - 18.59) < 0.01);
  CHECK(f.records.leftCols(2) == g.records);
}

TEST_CASE("the study refuses what it cannot do, and draws what it has") {
  study_options study = loose();
  study.dp_gd.clips.clear();
  CHECK_THROWS_AS(apps::run_study(study), std::invalid_argument);
  study = loose();
  study.dpzero.step_sizes = {std::nan("")};
  CHECK_THROWS_AS(apps::run_study(study), std::domain_error);
  study = loose();
  study.dimensions = {0};
  CHECK_THROWS_AS(apps::run_study(study), std::invalid_argument);
  study = loose();
  study.threads = 0;
  CHECK_THROWS_AS(apps::run_study(study), std::invalid_argument);

  std::string const drawn = apps::figure(apps::run_study(loose()));
  CHECK(drawn.find("DPGD-0th") != std::string::npos);
  CHECK(drawn.find("nan") == std::string::npos);
  CHECK(drawn.find("inf") == std::string::npos);
}
