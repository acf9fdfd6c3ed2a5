// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/gaussian_noise.hpp>

#include "support/catch.hpp"
#include "support/matrices.hpp"
#include "support/numbers.hpp"

#include <Eigen/Core>

#include <cmath>
#include <stdexcept>

namespace {

using tacit::gaussian_noise;

Eigen::MatrixXd orthonormal(Eigen::Index d, Eigen::Index k) {
  Eigen::MatrixXd x(d, k);
  for (Eigen::Index i = 0; i < x.size(); ++i)
    x.data()[i] = std::sin(1.0 + 2.3 * static_cast<double>(i * i % 97));
  return support::orthonormal(x);
}

// What the law of `shaped` has for a covariance: S·Sᵀ, S column by column.
Eigen::MatrixXd drawn_covariance(gaussian_noise const& noise) {
  auto const d = static_cast<Eigen::Index>(noise.dimension());
  Eigen::MatrixXd s(d, d);
  for (Eigen::Index j = 0; j < d; ++j) s.col(j) = noise.shaped(Eigen::VectorXd::Unit(d, j));
  return s * s.transpose();
}

void check_one_law(gaussian_noise const& noise) {
  Eigen::MatrixXd const covariance = noise.covariance();
  CHECK((drawn_covariance(noise) - covariance).cwiseAbs().maxCoeff() <=
        1e-13 * covariance.cwiseAbs().maxCoeff());
  CHECK(noise.trace() == Approx(covariance.trace()).epsilon(1e-13));
  CHECK(noise.least_variance() == Approx(support::eigen_pairs_of(covariance).values(0))
                                      .epsilon(1e-12)
                                      .margin(1e-14 * covariance.norm()));
  CHECK(covariance == covariance.transpose());
}

}  // namespace

TEST_CASE("all shapes: trace, least variance and draws agree with the matrix") {
  Eigen::VectorXd variances(3);
  variances << 4.0, 0.25, 1.0;
  auto const isotropic = gaussian_noise::isotropic(4, 2.5);
  check_one_law(isotropic);
  CHECK(isotropic.dimension() == 4);
  CHECK(isotropic.trace() == 10.0);
  CHECK(isotropic.rest_dimension() == 4);

  auto const diagonal = gaussian_noise::diagonal(variances);
  check_one_law(diagonal);
  CHECK(diagonal.along_coordinates());
  CHECK(diagonal.covariance() == Eigen::MatrixXd(variances.asDiagonal()));
  CHECK(diagonal.rest_dimension() == 0);
  CHECK(diagonal.axes().size() == 0);

  for (double const rest : {0.0, 0.1, 0.25, 9.0}) {
    auto const along = gaussian_noise::along(orthonormal(5, 3), variances, rest);
    check_one_law(along);
    CHECK(along.rest_dimension() == 2);
    CHECK(along.trace() == Approx(5.25 + 2.0 * rest));
  }
  auto const everywhere = gaussian_noise::along(orthonormal(3, 3), variances, 7.0);
  check_one_law(everywhere);
  CHECK(everywhere.trace() == Approx(5.25));
  CHECK(everywhere.least_variance() == 0.25);

  check_one_law(gaussian_noise::with_covariance(everywhere.covariance()));
  CHECK((gaussian_noise::with_covariance(everywhere.covariance()).covariance() -
         everywhere.covariance())
            .norm() < 1e-13);
}

TEST_CASE("scaling keeps the shape") {
  auto const noise = gaussian_noise::along(orthonormal(6, 2), Eigen::Vector2d(3.0, 1.0), 0.5);
  CHECK((noise.scaled(4.0).covariance() - 4.0 * noise.covariance()).norm() < 1e-13);
  CHECK(noise.scaled(4.0).trace() == 4.0 * noise.trace());
  for (double const factor : {0.0, -1.0, infinity, not_a_number}) {
    CHECK_THROWS_AS(noise.scaled(factor), std::domain_error);
  }
}

TEST_CASE("no noise draws exactly nothing") {
  auto const silent = gaussian_noise::isotropic(3, 0.0);
  CHECK(silent.shaped(Eigen::Vector3d(1.0, -2.0, 1e300)) == Eigen::VectorXd::Zero(3));
  CHECK(silent.trace() == 0.0);
  // Axes that leave a coordinate out leave it alone, exactly.
  Eigen::MatrixXd axes = Eigen::MatrixXd::Zero(4, 2);
  axes.topRows(2) = orthonormal(2, 2);
  Eigen::VectorXd const drawn =
      gaussian_noise::along(axes, Eigen::Vector2d(1.0, 2.0)).shaped(Eigen::VectorXd::Ones(4));
  CHECK(drawn(0) != 0.0);
  CHECK(drawn(2) == 0.0);
  CHECK(drawn(3) == 0.0);
}

TEST_CASE("noise is refused for what is no covariance") {
  CHECK_THROWS_AS(gaussian_noise::isotropic(0, 1.0), std::invalid_argument);
  CHECK_THROWS_AS(gaussian_noise::diagonal(Eigen::VectorXd()), std::invalid_argument);
  for (double const bad : {-1.0, infinity, not_a_number}) {
    CHECK_THROWS_AS(gaussian_noise::isotropic(2, bad), std::domain_error);
    CHECK_THROWS_AS(gaussian_noise::diagonal(Eigen::Vector2d(1.0, bad)), std::domain_error);
    CHECK_THROWS_AS(gaussian_noise::along(orthonormal(3, 1), Eigen::VectorXd::Constant(1, bad)),
                    std::domain_error);
    CHECK_THROWS_AS(gaussian_noise::along(orthonormal(3, 1), Eigen::VectorXd::Ones(1), bad),
                    std::domain_error);
  }
  CHECK_THROWS_AS(gaussian_noise::along(orthonormal(3, 2), Eigen::VectorXd::Ones(1)),
                  std::invalid_argument);
  CHECK_THROWS_AS(gaussian_noise::along(Eigen::MatrixXd::Identity(2, 3), Eigen::VectorXd::Ones(3)),
                  std::invalid_argument);
  CHECK_THROWS_AS(gaussian_noise::along(1.000001 * orthonormal(3, 2), Eigen::VectorXd::Ones(2)),
                  std::invalid_argument);
  // A NaN anywhere among the axes, and not only where a comparison happens to see it.
  for (Eigen::Index at = 0; at < 40; ++at) {
    Eigen::MatrixXd axes = orthonormal(8, 5);
    axes(at % 8, at / 8) = not_a_number;
    CHECK_THROWS_AS(gaussian_noise::along(axes, Eigen::VectorXd::Ones(5)), std::invalid_argument);
  }

  Eigen::MatrixXd skewed = Eigen::MatrixXd::Identity(3, 3);
  skewed(0, 1) = 0.1;
  CHECK_THROWS_AS(gaussian_noise::with_covariance(skewed), std::invalid_argument);
  CHECK_THROWS_AS(gaussian_noise::with_covariance(-Eigen::MatrixXd::Identity(3, 3)),
                  std::invalid_argument);
  CHECK_THROWS_AS(gaussian_noise::with_covariance(Eigen::MatrixXd::Identity(3, 2)),
                  std::invalid_argument);
  for (Eigen::Index at = 0; at < 25; ++at) {
    Eigen::MatrixXd broken = Eigen::MatrixXd::Identity(5, 5);
    broken(at % 5, at / 5) = not_a_number;
    CHECK_THROWS_AS(gaussian_noise::with_covariance(broken), std::domain_error);
  }
  CHECK_THROWS_AS(gaussian_noise::isotropic(3, 1.0).shaped(Eigen::VectorXd::Ones(2)),
                  std::invalid_argument);
}

TEST_CASE("a hundred thousand coordinates need no matrix") {
  auto const noise = gaussian_noise::diagonal(Eigen::VectorXd::LinSpaced(100'000, 0.0, 1.0));
  CHECK(noise.trace() == Approx(50'000.0));
  CHECK(noise.least_variance() == 0.0);
  CHECK(noise.shaped(Eigen::VectorXd::Ones(100'000))(99'999) == 1.0);
}

// Referee: the law's own covariance, summed in long double, and the eigenvalues of what is beyond it.
TEST_CASE("a covariance from above has at least the noise of the law in every direction") {
  using wide = support::wide_matrix;
  auto const least_beyond = [](gaussian_noise const& noise, Eigen::MatrixXd const& given) {
    wide const axes = noise.axes().cast<long double>();
    wide law = axes * noise.variances().cast<long double>().asDiagonal() * axes.transpose();
    law += static_cast<long double>(noise.rest()) *
           (wide::Identity(law.rows(), law.cols()) - axes * axes.transpose());
    return support::least_eigenvalue(given.cast<long double>() - law);
  };
  bool short_of_it = false;
  for (Eigen::Index const d : {2, 3, 7, 20}) {
    for (Eigen::Index k = 1; k <= d; k += 2) {
      for (double const rest : {0.0, 1e-9, 3.0}) {
        Eigen::VectorXd const variances = Eigen::VectorXd::LinSpaced(k, -12.0, 3.0).array().exp();
        auto const noise = gaussian_noise::along(orthonormal(d, k), variances, rest);
        CHECK(least_beyond(noise, noise.covariance_from_above()) >= 0.0L);
        CHECK((noise.covariance_from_above() - noise.covariance()).norm() <=
              1e-13 * static_cast<double>(d) * (variances.sum() + static_cast<double>(d) * rest));
        short_of_it = short_of_it || least_beyond(noise, noise.covariance()) < 0.0L;
      }
    }
  }
  CHECK(short_of_it);  // rounded to nearest it is not
  auto const partly = gaussian_noise::diagonal(Eigen::Vector3d(0.0, 1.0, 2.0));
  CHECK(partly.covariance_from_above() == partly.covariance());
  auto const apart =
      gaussian_noise::along(Eigen::MatrixXd::Identity(3, 1), Eigen::VectorXd::Ones(1));
  CHECK(apart.covariance_from_above()(1, 1) == 0.0);
}
