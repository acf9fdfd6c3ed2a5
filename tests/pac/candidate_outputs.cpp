// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/candidate_outputs.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <Eigen/Core>

#include <cmath>
#include <stdexcept>

namespace {

using tacit::candidate_outputs;

}  // namespace

TEST_CASE("candidates: moments under their weights") {
  Eigen::MatrixXd rows(3, 2);
  rows << 0.0, 1.0,  //
      2.0, 1.0,      //
      4.0, -2.0;
  candidate_outputs outputs(rows, Eigen::Vector3d(1.0, 2.0, 1.0));
  CHECK(outputs.size() == 3);
  CHECK(outputs.dimension() == 2);
  CHECK(outputs.probabilities() == Eigen::Vector3d(0.25, 0.5, 0.25));
  CHECK(outputs.mean()(0) == Approx(2.0));
  CHECK(outputs.mean()(1) == Approx(0.25));
  CHECK(outputs.covariance()(0, 0) == Approx(2.0));
  CHECK(outputs.covariance()(0, 1) == Approx(-1.5));
  CHECK(outputs.covariance()(1, 1) == Approx(1.6875));
  CHECK((outputs.variances() - outputs.covariance().diagonal()).norm() < 1e-15);
  CHECK(outputs.entropy().value == Approx(1.5 * std::log(2.0)));
  CHECK(outputs.rows() == rows);

  outputs.reweigh(Eigen::Vector3d(0.0, 7.0, 0.0));
  CHECK(outputs.probabilities() == Eigen::Vector3d(0.0, 1.0, 0.0));
  CHECK(outputs.entropy().value == 0.0);
  CHECK(outputs.covariance() == Eigen::MatrixXd::Zero(2, 2));
}

TEST_CASE("candidates are equally likely unless weighted, at any scale of the weights") {
  Eigen::MatrixXd const rows = Eigen::MatrixXd::Identity(4, 3);
  CHECK(candidate_outputs(rows).probabilities() == Eigen::VectorXd::Constant(4, 0.25));
  CHECK(candidate_outputs(rows).entropy().value == Approx(std::log(4.0)));
  for (double const scale : {1e-320, 1e-30, 1.0, 1e308}) {
    candidate_outputs const weighted(rows, Eigen::VectorXd::Constant(4, scale));
    CHECK(weighted.probabilities() == Eigen::VectorXd::Constant(4, 0.25));
  }
}

TEST_CASE("a common offset costs no digits of the spread") {
  Eigen::MatrixXd rows(4, 1);
  rows << 0.0, 0.25, 0.5, 0.75;
  Eigen::MatrixXd const far = rows.array() + 1e12;
  CHECK(candidate_outputs(far).variances() == candidate_outputs(rows).variances());
  CHECK(candidate_outputs(far).covariance() == candidate_outputs(rows).covariance());
}

TEST_CASE("candidates: one is enough, none or a number that is not finite is refused") {
  CHECK(candidate_outputs(Eigen::MatrixXd::Ones(1, 5)).entropy().value == 0.0);
  CHECK(candidate_outputs(Eigen::MatrixXd::Ones(1, 5)).covariance().norm() == 0.0);
  CHECK_THROWS_AS(candidate_outputs(Eigen::MatrixXd(0, 3)), std::invalid_argument);
  CHECK_THROWS_AS(candidate_outputs(Eigen::MatrixXd(3, 0)), std::invalid_argument);
  for (double const bad : {infinity, -infinity, not_a_number}) {
    for (Eigen::Index at = 0; at < 6; ++at) {
      Eigen::MatrixXd rows = Eigen::MatrixXd::Ones(2, 3);
      rows(at % 2, at / 2) = bad;
      CHECK_THROWS_AS(candidate_outputs(rows), std::domain_error);
    }
  }
  candidate_outputs outputs(Eigen::MatrixXd::Identity(3, 3));
  for (double const bad : {-1.0, infinity, not_a_number}) {
    CHECK_THROWS_AS(outputs.reweigh(Eigen::Vector3d(1.0, bad, 1.0)), std::domain_error);
  }
  CHECK_THROWS_AS(outputs.reweigh(Eigen::Vector3d::Zero()), std::domain_error);
  CHECK_THROWS_AS(outputs.reweigh(Eigen::VectorXd::Ones(2)), std::invalid_argument);
  CHECK_THROWS_AS(candidate_outputs(Eigen::MatrixXd::Identity(3, 3), Eigen::VectorXd::Ones(4)),
                  std::invalid_argument);
  CHECK(outputs.probabilities().sum() == Approx(1.0));  // refusals left it as it was
}
