// SPDX-License-Identifier: Apache-2.0
#include <tacit/info/binary_channel.hpp>
#include <tacit/pac/monte_carlo_information.hpp>
#include <tacit/pac/stackelberg.hpp>

#include "support/catch.hpp"
#include "support/normals.hpp"

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace {

using tacit::candidate_outputs;
using tacit::gaussian_noise;
using tacit::nats;

}  // namespace

TEST_CASE("two candidates: noise along the difference, as loud as the binary channel asks") {
  Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(2, 4);
  rows.row(1) << 1.0, 2.0, -1.0, 3.0;
  for (double const budget : {1e-6, 0.1, 0.5}) {
    for (double const prior : {0.5, 0.2}) {
      candidate_outputs const outputs(rows, Eigen::Vector2d(prior, 1.0 - prior));
      auto const found = tacit::stackelberg(outputs, nats(std::min(budget, 2.0 * prior * budget)),
                                            {.samples = 1000, .confidence = 0.99, .seed = 1});
      double const sigma = tacit::noise_for(tacit::binary_channel{.prior = prior},
                                            nats(std::min(budget, 2.0 * prior * budget)));
      CHECK(found.noise.trace() ==
            Approx(sigma * sigma * rows.row(1).squaredNorm() / 4.0).epsilon(1e-6));
      CHECK(found.information.confidence == 1.0);
    }
  }
}

// Each independent estimate exceeds the budget by six standard errors with probability below 1e-8, and each
// certificate is wrong with probability 1e-6: 8 of each, 1e-5 in all.
TEST_CASE("the noise found is certified, and at most log-det's") {
  std::uint64_t seed = 0;
  for (auto const& [count, d] : {std::pair{8, 3}, {24, 4}}) {
    for (double const share : {0.2, 0.7}) {
      for (auto const shape : {tacit::noise_shape::full, tacit::noise_shape::diagonal}) {
        Eigen::MatrixXd rows = normals(count, d, ++seed);
        for (Eigen::Index j = 0; j < d; ++j) rows.col(j) /= static_cast<double>(j + 1);
        candidate_outputs const outputs(rows);
        nats const budget(share * std::log(count));
        tacit::monte_carlo const draws{.samples = 40'000, .confidence = 1.0 - 1e-6, .seed = seed};
        auto const rule = tacit::log_det(outputs, budget, shape);
        auto const found =
            tacit::stackelberg(outputs, budget, draws, {.shape = shape, .draws = 2000});
        CAPTURE(count, d, share);
        CHECK(found.information.value <= budget);
        CHECK(found.noise.trace() <= rule.noise.trace());
        if (share == 0.7) CHECK(found.noise.trace() < 0.9 * rule.noise.trace());
        auto const again = tacit::monte_carlo_information(
            outputs, found.noise, {.samples = 40'000, .confidence = 0.99, .seed = seed + 1000});
        CHECK(again.middle.value.value <= budget.value + 6.0 * again.middle.standard_error.value);
      }
    }
  }
}

TEST_CASE("near the entropy, axes that need hardly any noise do not spoil the certificate") {
  // The search leaves axes with a billionth of the largest variance, and rounding there certified nothing.
  auto const seed = GENERATE(std::uint64_t{1}, std::uint64_t{2});
  Eigen::MatrixXd rows = normals(32, 10, seed);
  for (Eigen::Index j = 0; j < 10; ++j) rows.col(j) *= std::exp(-0.5 * static_cast<double>(j));
  candidate_outputs const outputs(rows);
  nats const budget(0.98 * outputs.entropy().value);
  double const without_draws = tacit::least_trace(outputs, budget).noise.trace();
  auto const found = tacit::stackelberg(
      outputs, budget, {.samples = 100'000, .confidence = 0.999, .seed = 1}, {.draws = 2000});
  CHECK(found.noise.trace() < 0.6 * without_draws);
  auto const again = tacit::monte_carlo_information(
      outputs, found.noise, {.samples = 40'000, .confidence = 0.99, .seed = 2});
  CHECK(again.middle.value.value <= budget.value + 6.0 * again.middle.standard_error.value);
}

TEST_CASE("the same seed finds the same noise, and a tighter confidence a louder one") {
  candidate_outputs const outputs(normals(12, 3, 9));
  tacit::monte_carlo draws{.samples = 20'000, .confidence = 0.9, .seed = 4};
  auto const shape = gaussian_noise::isotropic(3, 1.0);
  auto const a = tacit::scale_to(outputs, shape, nats(1.2), draws);
  auto const b = tacit::scale_to(outputs, shape, nats(1.2), draws);
  CHECK(a.noise.trace() == b.noise.trace());
  CHECK(a.information.confidence == 0.9);
  draws.confidence = 1.0 - 1e-9;
  auto const c = tacit::scale_to(outputs, shape, nats(1.2), draws);
  CHECK(c.noise.trace() > a.noise.trace());
  CHECK(c.noise.trace() <= tacit::scale_to(outputs, shape, nats(1.2)).noise.trace());
}

TEST_CASE("a task across the axes is spared") {
  // Candidates differ mostly along the first coordinate, and a little along the others.
  Eigen::MatrixXd rows = normals(10, 3, 12);
  rows.rightCols(2) *= 1e-3;
  candidate_outputs const outputs(rows);
  Eigen::MatrixXd const axis = Eigen::Vector3d::UnitX();
  auto const found = tacit::stackelberg_within(outputs, axis, nats(0.8),
                                               {.samples = 40'000, .confidence = 0.999, .seed = 2});
  CHECK(found.information.value.value <= 0.8);
  Eigen::MatrixXd const covariance = found.noise.covariance();
  CHECK(covariance(1, 1) < 1e-3 * covariance(0, 0));
  CHECK(covariance(1, 1) > 0.0);
  auto const again = tacit::monte_carlo_information(
      outputs, found.noise, {.samples = 40'000, .confidence = 0.99, .seed = 1002});
  CHECK(again.middle.value.value <= 0.8 + 6.0 * again.middle.standard_error.value);

  // Nothing at all across the axis.
  rows.rightCols(2).setConstant(0.25);
  auto const flat = tacit::stackelberg_within(candidate_outputs(rows), axis, nats(0.8),
                                              {.samples = 20'000, .confidence = 0.999, .seed = 1});
  CHECK(flat.information.value.value <= 0.8);
  CHECK(flat.noise.covariance()(1, 1) < 1e-6 * flat.noise.covariance()(0, 0));
  CHECK_THROWS_AS(
      tacit::stackelberg_within(outputs, axis, nats(0.8), {.confidence = 0.9, .seed = 1}, 1.0),
      std::domain_error);
  CHECK_THROWS_AS(tacit::stackelberg_within(outputs, Eigen::MatrixXd::Identity(3, 3), nats(0.8),
                                            {.confidence = 0.9, .seed = 1}),
                  std::invalid_argument);
}

TEST_CASE("a linear follower, on Gaussian pairs") {
  // Y = X + U, one coordinate each, variances 4 and 1: I = ½ log((5 + ℓ)/(1 + ℓ)) ≤ β.
  Eigen::MatrixXd const x = 2.0 * normals(20'000, 1, 30);
  Eigen::MatrixXd const y = x + normals(20'000, 1, 31);
  auto const found = tacit::stackelberg_linear(x, y, nats(0.3), 1e-9);
  double const expected = (5.0 - std::exp(0.6)) / std::expm1(0.6);
  // A relative error of 6√(2/n) in a variance, twice: probability 1e-8.
  CHECK(found.noise.trace() == Approx(expected).epsilon(0.12));
  CHECK(found.information.value.value == Approx(0.3).epsilon(1e-6));
  CHECK(tacit::stackelberg_linear(x, y, nats(2.0), 1e-9).noise.trace() == 0.0);

  // Coordinates that are independent given nothing: water-filling, from the outputs' own variance.
  Eigen::MatrixXd const z = normals(4'000, 2, 33) * Eigen::Vector2d(2.0, 1.0).asDiagonal();
  auto const two = tacit::stackelberg_linear(z, z, nats(0.5), 1e-9);
  auto const rule = tacit::log_det_variances(
      (z.rowwise() - z.colwise().mean()).colwise().squaredNorm().transpose() / 3999.0, nats(0.5));
  CHECK(two.noise.trace() == Approx(rule.sum()).epsilon(0.02));
  CHECK_THROWS_AS(tacit::stackelberg_linear(x, y.topRows(5), nats(0.3), 1e-9),
                  std::invalid_argument);
  CHECK_THROWS_AS(tacit::stackelberg_linear(x, y, nats(0.3), 0.0), std::domain_error);
}

TEST_CASE("a leader refuses what it cannot use") {
  candidate_outputs const outputs(normals(4, 2, 50));
  CHECK_THROWS_AS(tacit::stackelberg(outputs, nats(0.1), {.seed = 1}), std::domain_error);
  CHECK_THROWS_AS(
      tacit::stackelberg(outputs, nats(0.1), {.samples = 0, .confidence = 0.9, .seed = 1}),
      std::invalid_argument);
  CHECK_THROWS_AS(tacit::stackelberg(outputs, nats(-1.0), {.confidence = 0.9, .seed = 1}),
                  std::domain_error);
  CHECK(tacit::stackelberg(candidate_outputs(Eigen::MatrixXd::Ones(4, 2)), nats(0.1),
                           {.confidence = 0.9, .seed = 1})
            .noise.trace() == 0.0);
}
