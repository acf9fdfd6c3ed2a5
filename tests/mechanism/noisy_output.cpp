// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/noisy_output.hpp>
#include <tacit/pac/candidate_posterior.hpp>
#include <tacit/pac/covariance.hpp>

#include "support/catch.hpp"
#include "support/counted_bits.hpp"
#include "support/forked.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>

using namespace tacit;
using Eigen::MatrixXd;
using Eigen::VectorXd;

TEST_CASE("a draw has the covariance that was asked for") {
  std::mt19937_64 source(5);
  std::uint64_t drawn = 0;
  counted_bits bits{&source, &drawn};
  MatrixXd covariance(3, 3);
  covariance << 4.0, 1.0, 0.5, 1.0, 2.0, -0.3, 0.5, -0.3, 1.0;
  for (gaussian_noise const& noise :
       {gaussian_noise::with_covariance(covariance),
        gaussian_noise::along(MatrixXd::Identity(3, 1), VectorXd::Constant(1, 4.0), 0.25),
        gaussian_noise::diagonal(VectorXd::LinSpaced(3, 0.0, 2.0))}) {
    constexpr int n = 20'000;
    MatrixXd sum = MatrixXd::Zero(3, 3);
    for (int k = 0; k < n; ++k) {
      VectorXd const b = draw(noise, bits);
      sum += b * b.transpose();
    }
    MatrixXd const wanted = noise.covariance();
    for (Eigen::Index i = 0; i < 3; ++i) {
      for (Eigen::Index j = 0; j < 3; ++j) {
        // Isserlis; 5 deviations: 27 tests fail together with probability 2e-5.
        double const deviation =
            std::sqrt((wanted(i, i) * wanted(j, j) + wanted(i, j) * wanted(i, j)) / n);
        CHECK(std::abs(sum(i, j) / n - wanted(i, j)) <= 5.0 * deviation);
      }
    }
  }
}

TEST_CASE("releases are charged before anything is drawn, and end with the budget") {
  std::mt19937_64 source(6);
  std::uint64_t drawn = 0;
  candidate_outputs const outputs(MatrixXd::Random(16, 4));
  calibrated<mi_bound> const how = log_det(outputs, nats(0.1));
  noisy_outputs<counted_bits> run(nats(0.25), 0.0, counted_bits{&source, &drawn});
  VectorXd const y = outputs.rows().row(3);
  for (int k = 0; k < 2; ++k) {
    VectorXd const z = run.release(y, how);
    CHECK((z - y).norm() > 0.0);
  }
  CHECK(run.account().spent().value >= 2.0 * how.information.value.value);
  std::uint64_t const before = drawn;
  CHECK_THROWS_AS(run.release(y, how), budget_exhausted);
  CHECK(drawn == before);
  CHECK(run.account().total().confidence == 1.0);
  CHECK(run.account().total().value <= nats(0.25));

  CHECK_THROWS_AS(run.release(VectorXd::Zero(3), how), std::invalid_argument);
  CHECK_THROWS_AS(run.release(VectorXd::Constant(4, std::numeric_limits<double>::infinity()), how),
                  std::domain_error);
  calibrated<mi_bound> const unsure{how.noise, {nats(0.01), 0.95}};
  CHECK_THROWS_AS(run.release(y, unsure), budget_exhausted);  // no failure is allowed
  CHECK(drawn == before);

  noisy_outputs<> open(nats(1.0));
  CHECK(support::refused_in_a_child([&] { (void)open.release(y, how); }) == 1);
  CHECK(open.release(y, how).size() == 4);
}

TEST_CASE("noise for the posterior: adaptive releases keep their budget on average") {
  // The secret's log odds over 400 runs of 4 adaptive releases: the mean of KL(posterior‖prior) is the
  // information revealed. Its standard error is under .02; the bound is .4.
  std::mt19937_64 source(7);
  std::uint64_t drawn = 0;
  MatrixXd const rows = MatrixXd::Random(8, 2) * 3.0;
  double revealed = 0.0;
  constexpr int runs = 400;
  for (int k = 0; k < runs; ++k) {
    candidate_outputs outputs(rows);
    noisy_outputs<counted_bits> run(nats(0.4), 0.0, counted_bits{&source, &drawn});
    auto const secret = static_cast<Eigen::Index>(source() % 8);
    for (int step = 0; step < 4; ++step) {
      calibrated<mi_bound> const how = log_det(outputs, nats(0.1));
      VectorXd const z = run.release(rows.row(secret), how);
      outputs.reweigh(posterior_after(outputs, how.noise, z));
    }
    revealed += std::log(8.0) - outputs.entropy().value;
  }
  CHECK(revealed / runs <= 0.4 + 0.08);  // 4 standard errors
  CHECK(revealed / runs >= 0.2);         // and it is not nothing
}

TEST_CASE("the operating system's secrets by default") {
  noisy_outputs<> run(nats(1.0));
  candidate_outputs const outputs(MatrixXd::Random(4, 3));
  calibrated<mi_bound> const how = log_det(outputs, nats(0.2));
  VectorXd const y = outputs.rows().row(0);
  CHECK(run.release(y, how) != run.release(y, how));
}
