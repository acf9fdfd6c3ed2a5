// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/gaussian.hpp>
#include <tacit/zo/direction.hpp>

#include "dpzero/study.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace {

using apps::effective_rank;
using apps::quadratic;
using apps::study_method;
using apps::study_problem;
using apps::study_setting;
using Eigen::VectorXd;
using tacit::direction_law;
using index = Eigen::Index;

// A target so loose that hardly any noise is drawn.
study_problem const loose{
    .rank = effective_rank::root, .dimension = 6, .records = 50, .target = {1e8, 1e-6}};

study_setting const dpzero{.step_size = 0.05, .clip = 2.0, .steps = 40};
study_setting const vector_noise{
    .method = study_method::dpgd_0th, .step_size = 0.05, .clip = 5.0, .steps = 40};
study_setting const first_order{
    .method = study_method::dp_gd, .step_size = 0.4, .clip = 1.2, .steps = 10};

// The same without noise, in double, record by record.
double plainly(study_problem const& study, study_setting const& s) {
  quadratic const f(study.rank, study.dimension, study.records, study.seed);
  Eigen::ArrayXd const a = f.curvature.array().cast<double>();
  index const d = a.size();
  VectorXd x = VectorXd::Zero(d);
  for (std::size_t t = 0; t < s.steps; ++t) {
    tacit::direction const at =
        tacit::direction_at(s.law, {.seed = study.seed, .step = t}, static_cast<std::uint64_t>(d));
    VectorXd z(d);
    for (index j = 0; j < d; ++j) z[j] = double{at(static_cast<std::uint64_t>(j))};
    VectorXd sum = VectorXd::Zero(d);
    for (index i = 0; i < f.records.cols(); ++i) {
      VectorXd const gradient = a * (x - f.records.col(i).cast<double>()).array();
      double const along = z.dot(gradient);
      VectorXd given = along * z;
      if (s.method == study_method::dpzero) given = std::clamp(along, -s.clip, s.clip) * z;
      if (s.method == study_method::dp_gd) given = gradient;
      if (s.method != study_method::dpzero) given *= std::min(1.0, s.clip / given.norm());
      sum += given;
    }
    x -= s.step_size * sum / static_cast<double>(study.records);
  }
  return f.gradient_norm(x.cast<float>());
}

}  // namespace

TEST_CASE("the methods are what they say, but for noise") {
  study_setting gaussian = dpzero;
  gaussian.law = direction_law::gaussian;
  study_setting signs = dpzero;
  signs.law = direction_law::rademacher;
  // Where nothing is clipped, DP-GD has a path of its own; the noise is still below 1e-4.
  study_setting wide = first_order;
  wide.clip = 20.0;
  std::vector<study_setting> const all{dpzero, gaussian, signs, vector_noise, first_order, wide};
  std::vector<double> const norms = apps::train(loose, all);
  REQUIRE(norms.size() == all.size());
  double const start = quadratic(loose.rank, loose.dimension, loose.records, loose.seed)
                           .gradient_norm(Eigen::VectorXf::Zero(6));
  for (std::size_t k = 0; k < all.size(); ++k) {
    INFO(k);
    CHECK(std::fabs(norms[k] - plainly(loose, all[k])) < 3e-3);
    CHECK(norms[k] < 0.7 * start);
  }
  CHECK(std::fabs(norms[4] - norms[5]) > 1e-2);
  CHECK(norms[0] != norms[1]);
  CHECK(norms[0] != norms[2]);
}

TEST_CASE("batches estimate what all records say") {
  // Batches of 1900 of 2000 records on average, without noise to speak of: means that differ by a hundredth of
  // a record's deviation each, over 40 steps of length 0.05.
  study_problem large = loose;
  large.records = 2000;
  large.target = {20.0, 1e-6};  // for so many records hardly any noise either
  study_setting most = dpzero;
  most.rate = 0.95;
  CHECK(std::fabs(apps::train(large, {most})[0] - plainly(large, dpzero)) < 0.1);
  study_setting few = dpzero;
  few.rate = 0.1;
  std::vector<double> const twice = apps::train(large, {few, few});
  CHECK(twice[0] != twice[1]);  // batches are secret
}

TEST_CASE("the noise in every coordinate is that of the target") {
  // One record that moves the sum by 1e-3 at most of what the noise does, four steps of a thousand.
  study_problem study = loose;
  study.rank = effective_rank::whole;
  study.dimension = 2000;
  study.records = 1;
  study.target = {2.0, 1e-6};
  study_setting one = vector_noise;
  one.step_size = 1000.0;
  one.clip = 1.0;
  one.steps = 4;
  study_setting other = one;
  other.method = study_method::dp_gd;
  double const sigma = 2.0 / tacit::gaussian_dp_for(study.target).mu;  // √4/μ
  // Four steps of noise; the clipped gradient, of length 1 a step, is a hundredth of it.
  double const expected = 1000.0 * sigma * std::sqrt(4.0 * 2000.0);
  // A length of 2000 normals deviates by 1.6 % of itself: 9 % and the gradient's share is more than
  // 5 deviations, a false alarm in 1e6 runs.
  for (double const norm : apps::train(study, {one, other})) {
    CHECK(std::fabs(norm / expected - 1.0) < 0.10);
  }
}

TEST_CASE("records and ranks") {
  quadratic const f(effective_rank::logarithmic, 100, 400, 3);
  CHECK(f.curvature.maxCoeff() == 1.0F);
  CHECK(std::fabs(double{f.curvature.sum()} - 5.187) < 0.001);  // the harmonic number of 100
  CHECK(std::fabs(double{f.records.mean()} - 1.0) < 0.03);      // 6 deviations of 0.005
  CHECK(std::fabs(double{f.test_mean.mean()} - 1.0) < 0.03);
  // The mean of 400 deviates by 0.05 in each of 100 coordinates: their length is 0.5, ± 0.035.
  CHECK(std::fabs(double{(f.test_mean.array() - 1.0F).matrix().norm()} - 0.5) < 0.2);
  CHECK(f.gradient_norm(f.test_mean) == 0.0);
  CHECK((f.records.rowwise().mean() - f.test_mean).norm() > 0.1);  // other records
  quadratic const g(effective_rank::root, 100, 2, 3);
  CHECK(std::fabs(double{g.curvature.sum()} - 18.59) < 0.01);
  CHECK(f.records.leftCols(2) == g.records);
}

TEST_CASE("the study refuses what it cannot do") {
  auto const refused = [](study_problem const& study, study_setting const& s) {
    CHECK_THROWS_AS(apps::train(study, {s}), std::logic_error);
  };
  study_setting bad = dpzero;
  bad.step_size = std::nan("");
  refused(loose, bad);
  bad = dpzero;
  bad.steps = 0;
  refused(loose, bad);
  bad = dpzero;
  bad.rate = 1.5;
  refused(loose, bad);
  bad = vector_noise;
  bad.rate = 0.5;
  refused(loose, bad);
  study_problem none = loose;
  none.dimension = 0;
  refused(none, dpzero);
  none = loose;
  none.records = 0;
  refused(none, dpzero);
}
