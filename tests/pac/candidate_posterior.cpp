// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/candidate_posterior.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

using namespace tacit;
using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST_CASE("two candidates: the posterior is the logistic function of the evidence") {
  MatrixXd rows(2, 3);
  rows << 1.0, 0.0, 2.0, -1.0, 0.5, 2.0;
  VectorXd weights(2);
  weights << 0.3, 0.7;
  candidate_outputs const outputs(rows, weights);
  VectorXd variances(3);
  variances << 0.5, 2.0, 1.0;
  VectorXd z(3);
  z << 0.4, -0.2, 5.0;
  double evidence = std::log(0.3 / 0.7);
  for (int i = 0; i < 3; ++i) {
    evidence +=
        (std::pow(z(i) - rows(1, i), 2) - std::pow(z(i) - rows(0, i), 2)) / (2.0 * variances(i));
  }
  double const expected = 1.0 / (1.0 + std::exp(-evidence));
  CHECK(posterior_after(outputs, gaussian_noise::diagonal(variances), z)(0) ==
        Approx(expected).epsilon(1e-13));
  gaussian_noise const full = gaussian_noise::with_covariance(variances.asDiagonal());
  CHECK(posterior_after(outputs, full, z)(0) == Approx(expected).epsilon(1e-12));
  // One axis, and the rest.
  gaussian_noise const mixed =
      gaussian_noise::along(MatrixXd::Identity(3, 1), VectorXd::Constant(1, 0.5), 2.0);
  VectorXd same(3);
  same << 0.5, 2.0, 2.0;
  CHECK(posterior_after(outputs, mixed, z)(0) ==
        Approx(posterior_after(outputs, gaussian_noise::diagonal(same), z)(0)).epsilon(1e-13));
}

TEST_CASE("where there is no noise candidates that disagree are ruled out") {
  MatrixXd rows(3, 2);
  rows << 1.0, 4.0, 1.0, 5.0, 2.0, 4.0;
  candidate_outputs const outputs(rows);
  VectorXd variances(2);
  variances << 0.0, 1.0;
  VectorXd z(2);
  z << 1.0, 4.2;
  VectorXd const p = posterior_after(outputs, gaussian_noise::diagonal(variances), z);
  CHECK(p(2) == 0.0);
  CHECK(p(0) / p(1) == Approx(std::exp(0.5 * (0.64 - 0.04))).epsilon(1e-13));
  z(0) = 3.0;
  CHECK_THROWS_AS(posterior_after(outputs, gaussian_noise::diagonal(variances), z),
                  std::invalid_argument);
  // Silence tells nothing only if all agree.
  CHECK(posterior_after(candidate_outputs(MatrixXd::Ones(4, 2)), gaussian_noise::isotropic(2, 0.0),
                        VectorXd::Ones(2)) == VectorXd::Constant(4, 0.25));
}

TEST_CASE("a candidate of weight 0 stays so, far releases do not underflow") {
  MatrixXd rows(3, 1);
  rows << 0.0, 1.0, 2.0;
  VectorXd weights(3);
  weights << 1.0, 0.0, 1.0;
  candidate_outputs outputs(rows, weights);
  VectorXd const p =
      posterior_after(outputs, gaussian_noise::isotropic(1, 1e-4), VectorXd::Constant(1, 1e3));
  CHECK(p(1) == 0.0);
  CHECK(p(2) == 1.0);
  outputs.reweigh(p);
  CHECK(outputs.entropy().value == 0.0);
}

TEST_CASE("shapes and numbers that do not fit are refused") {
  candidate_outputs const outputs(MatrixXd::Random(3, 2));
  gaussian_noise const noise = gaussian_noise::isotropic(2, 1.0);
  CHECK_THROWS_AS(posterior_after(outputs, gaussian_noise::isotropic(3, 1.0), VectorXd::Zero(2)),
                  std::invalid_argument);
  CHECK_THROWS_AS(posterior_after(outputs, noise, VectorXd::Zero(3)), std::invalid_argument);
  VectorXd const bad = VectorXd::Constant(2, std::numeric_limits<double>::quiet_NaN());
  CHECK_THROWS_AS(posterior_after(outputs, noise, bad), std::domain_error);
}
