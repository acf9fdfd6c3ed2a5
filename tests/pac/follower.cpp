// SPDX-License-Identifier: Apache-2.0
#include <tacit/info/binary_channel.hpp>
#include <tacit/pac/candidate_information.hpp>
#include <tacit/pac/follower.hpp>
#include <tacit/pac/monte_carlo_information.hpp>

#include "support/catch.hpp"
#include "support/matrices.hpp"

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace {

using tacit::binary_channel;
using tacit::calibrated;
using tacit::follower_options;
using tacit::labelled_outputs;
using tacit::mi_bound;
using tacit::mi_estimate;
using tacit::nats;
using tacit::stackelberg_network;

// What a follower shows is from below: never a bound.
using result = decltype(stackelberg_network(labelled_outputs{}, nats(1.0), 1.0));
static_assert(std::is_same_v<result, calibrated<mi_estimate>>);
static_assert(!std::is_convertible_v<result, calibrated<mi_bound>>);
static_assert(!std::is_convertible_v<mi_estimate, mi_bound>);
static_assert(!std::is_constructible_v<mi_bound, mi_estimate>);

/// Class k says row k, each `times` times.
labelled_outputs listed(Eigen::MatrixXd const& rows, Eigen::Index times) {
  labelled_outputs out{rows.replicate(times, 1), {}};
  for (Eigen::Index i = 0; i < out.rows.rows(); ++i) {
    out.labels.push_back(static_cast<std::size_t>(i % rows.rows()));
  }
  return out;
}

double noise_along(tacit::gaussian_noise const& noise, Eigen::VectorXd const& difference) {
  Eigen::VectorXd const u = difference.normalized();
  return 1.0 / u.dot(support::inverse(noise.covariance()) * u);
}

/// I(K; Z) in 1-d: class 0 says −1 or 1, class 1 says 0, each class half of the time.
double told_of_parity(double variance) {
  auto const density = [&](double z) { return std::exp(-0.5 * z * z / variance); };
  double const sigma = std::sqrt(variance);
  double const h = sigma / 100.0;
  double sum = 0.0;
  for (double z = -1.0 - 9.0 * sigma; z < 1.0 + 9.0 * sigma; z += h) {
    double const far = 0.5 * (density(z - 1.0) + density(z + 1.0));
    double const near = density(z);
    double const all = 0.5 * (far + near);
    if (!(all > 0.0)) continue;
    sum += far > 0.0 ? 0.5 * far * std::log(far / all) : 0.0;
    sum += near > 0.0 ? 0.5 * near * std::log(near / all) : 0.0;
  }
  return sum * h / (sigma * std::sqrt(2.0 * std::numbers::pi));
}

}  // namespace

// Draws are pairs g, −g, in which the first order of chance cancels: 1 % of the noise is left.
TEST_CASE("two classes: noise along the difference, as loud as the binary channel asks") {
  for (Eigen::Index const d : {1, 4}) {
    Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(2, d);
    rows(1, 0) = 2.0;
    if (d == 4) rows.row(1) << 1.0, 2.0, -1.0, 3.0;
    Eigen::VectorXd const difference = rows.row(1).transpose();
    for (double const budget : {0.02, 0.3}) {
      auto const found =
          stackelberg_network(listed(rows, 500), nats(budget), 1e-6, {.rounds = 8, .steps = 80});
      double const sigma = tacit::noise_for(binary_channel{.prior = 0.5}, nats(budget));
      double const exact = sigma * sigma * difference.squaredNorm() / 4.0;
      double const along = noise_along(found.noise, difference);
      CAPTURE(d, budget);
      CHECK(along == Approx(exact).epsilon(0.05));
      CHECK(found.noise.trace() < 1.05 * exact);
      CHECK(found.information.value.value <= budget);
      CHECK(found.information.value.value >= 0.98 * budget);
      double const truth = tacit::mutual_information(
          binary_channel{.prior = 0.5, .sigma = std::sqrt(4.0 * along / difference.squaredNorm())});
      CHECK(found.information.value.value <= 1.02 * truth);
    }
  }
}

TEST_CASE("along the coordinates, variances in proportion to the differences") {
  Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(2, 4);
  rows.row(1) << 1.0, 2.0, -1.0, 3.0;
  auto const found = stackelberg_network(listed(rows, 300), nats(0.2), 1e-6,
                                         {.shape = tacit::noise_shape::diagonal});
  // The least Σv with Σδ²/v = 4/σ² is (Σ|δ|)²σ²/4.
  double const sigma = tacit::noise_for(binary_channel{.prior = 0.5}, nats(0.2));
  CHECK(found.noise.along_coordinates());
  CHECK(found.noise.trace() == Approx(49.0 * sigma * sigma / 4.0).epsilon(0.05));
  CHECK(found.noise.variances()(3) == Approx(21.0 * sigma * sigma / 4.0).epsilon(0.1));
}

// The class shifts one coordinate; what spreads in the others tells nothing of it. Each class's
// mean is known to 0.1/√1000, the noise to about 1 %.
TEST_CASE("no noise is spent where the classes agree") {
  constexpr Eigen::Index n = 4000;
  labelled_outputs seen{tacit::public_normals({.seed = 5}, n, 3), {}};
  seen.rows *= 3.0;
  for (Eigen::Index i = 0; i < n; ++i) {
    seen.labels.push_back(static_cast<std::size_t>(i % 2));
    seen.rows(i, 0) = seen.rows(i, 0) / 30.0 + (i % 2 == 0 ? 1.0 : -1.0);
  }
  double const sigma = tacit::noise_for(binary_channel{.prior = 0.5}, nats(0.1));
  double const exact = sigma * sigma - 0.01;
  for (auto const shape : {tacit::noise_shape::full, tacit::noise_shape::diagonal}) {
    auto const found =
        stackelberg_network(seen, nats(0.1), 1e-4, {.shape = shape, .rounds = 8, .steps = 80});
    Eigen::MatrixXd const covariance = found.noise.covariance();
    CHECK(covariance(0, 0) == Approx(exact).epsilon(0.1));
    CHECK(found.noise.trace() < 0.4 * 3.0 * exact);  // isotropic: 3·exact
    CHECK(found.noise.least_variance() >= 1e-4 * (1.0 - 1e-9));
  }
}

TEST_CASE("a secret that no line shows: the network sees it, a linear follower is blind") {
  Eigen::MatrixXd rows(4, 1);
  rows << 1.0, 0.0, -1.0, 0.0;
  labelled_outputs seen = listed(rows, 250);
  for (std::size_t& k : seen.labels) k %= 2;
  auto const found = stackelberg_network(seen, nats(0.1), 1e-3);
  double const truth = told_of_parity(found.noise.trace());
  CHECK(found.information.value.value >= 0.098);
  CHECK(found.information.value.value <= 1.02 * truth);
  CHECK(truth <= 0.11);
  // This is why it is an estimate: the noise is 600 times less, and tells nearly all.
  auto const blind = stackelberg_network(seen, nats(0.1), 1e-3, {.units = 0});
  CHECK(blind.noise.trace() == Approx(1e-3));
  CHECK(blind.information.value.value <= 0.01);
  CHECK(told_of_parity(1e-3) > 0.69);
}

// The reference's standard error is below 0.001.
TEST_CASE("three classes: from below, and near what Bayes' rule reads") {
  Eigen::MatrixXd rows(3, 2);
  rows << 0.0, 0.0, 3.0, 0.5, 0.5, 1.0;
  auto const found = stackelberg_network(listed(rows, 400), nats(0.4), 1e-6);
  auto const truth =
      tacit::monte_carlo_information(tacit::candidate_outputs(rows), found.noise,
                                     {.samples = 100'000, .confidence = 0.99, .seed = 3});
  CHECK(found.information.value.value <= truth.middle.value.value + 0.008);
  CHECK(truth.middle.value.value <= 1.05 * 0.4);
}

TEST_CASE("the same stream finds the same noise, another nearly so") {
  Eigen::MatrixXd rows = Eigen::MatrixXd::Identity(2, 2);
  auto const seen = listed(rows, 50);
  follower_options options{.units = 8, .rounds = 4, .steps = 40};
  auto const a = stackelberg_network(seen, nats(0.1), 1e-6, options);
  auto const b = stackelberg_network(seen, nats(0.1), 1e-6, options);
  CHECK(a.noise.covariance() == b.noise.covariance());
  CHECK(a.information.value == b.information.value);
  options.stream.seed = 1;
  auto const c = stackelberg_network(seen, nats(0.1), 1e-6, options);
  CHECK(c.noise.trace() != a.noise.trace());
  CHECK(c.noise.trace() == Approx(a.noise.trace()).epsilon(0.1));
}

TEST_CASE("a budget of all there is to know, and a secret that does not show, leave the floor") {
  Eigen::MatrixXd rows = Eigen::MatrixXd::Identity(2, 2);
  auto const all = stackelberg_network(listed(rows, 10), nats(0.7), 0.25);
  CHECK(all.noise.trace() == 0.5);
  CHECK(all.information.value.value == Approx(std::log(2.0)));
  // Outputs that do not depend on the label.
  labelled_outputs seen{tacit::public_normals({.seed = 6}, 600, 2), {}};
  for (std::size_t i = 0; i < 600; ++i) seen.labels.push_back(i % 2);
  auto const none =
      stackelberg_network(seen, nats(0.1), 0.25, {.units = 4, .rounds = 4, .steps = 40});
  CHECK(none.noise.trace() == Approx(0.5));
  CHECK(none.information.value.value <= 0.1);
}

TEST_CASE("a black box is run, and its secrets are kept beside what it said") {
  auto const seen = tacit::observe_labelled(
      [](std::size_t run, std::span<double> out) {
        out[0] = static_cast<double>(run);
        out[1] = -1.0;
        return run % 3;
      },
      2, 4, 10);
  CHECK(seen.rows.rows() == 4);
  CHECK(seen.rows(3, 0) == 13.0);
  CHECK(seen.rows(0, 1) == -1.0);
  CHECK(seen.labels == std::vector<std::size_t>{1, 2, 0, 1});
  auto const silent = [](std::size_t, std::span<double>) { return std::size_t{0}; };
  CHECK_THROWS_WITH((void)tacit::observe_labelled(silent, 1, 1, 7),
                    Catch::Contains("output of run 7 is"));
  CHECK_THROWS_AS((void)tacit::observe_labelled(silent, 0, 1), std::invalid_argument);
  CHECK_THROWS_AS((void)tacit::observe_labelled(silent, 1, 0), std::invalid_argument);
}

TEST_CASE("stackelberg_network names what is wrong") {
  auto const seen = listed(Eigen::MatrixXd::Identity(2, 2), 4);
  double const nan = std::numeric_limits<double>::quiet_NaN();
  auto const attempt = [&](labelled_outputs const& outputs, double budget, double floor,
                           follower_options const& options = {}) {
    return stackelberg_network(outputs, nats(budget), floor, options);
  };
  for (double const bad : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
    CHECK_THROWS_AS(attempt(seen, bad, 1.0), std::domain_error);
    CHECK_THROWS_AS(attempt(seen, 0.1, bad), std::domain_error);
    CHECK_THROWS_AS(attempt(seen, 0.1, 1.0, {.rate = bad}), std::domain_error);
  }
  CHECK_THROWS_WITH(attempt(seen, 0.0005, 1.0), Catch::Contains("budget is 5e-04"));
  CHECK_THROWS_AS(attempt(seen, 0.1, 1.0, {.rate = 1e308}), tacit::convergence_error);
  CHECK_THROWS_AS(attempt(seen, 0.1, 1.0, {.rounds = 0}), std::invalid_argument);
  CHECK_THROWS_AS(attempt(seen, 0.1, 1.0, {.steps = 0}), std::invalid_argument);
  CHECK_THROWS_AS(attempt(seen, 0.1, 1.0, {.batch = 0}), std::invalid_argument);
  CHECK_THROWS_AS(attempt(seen, 0.1, 1.0, {.draws = 0}), std::invalid_argument);
  CHECK_THROWS_AS(attempt({}, 0.1, 1.0), std::invalid_argument);
  auto broken = seen;
  broken.rows(2, 1) = nan;
  CHECK_THROWS_AS(attempt(broken, 0.1, 1.0), std::domain_error);
  broken = seen;
  broken.labels.pop_back();
  CHECK_THROWS_WITH(attempt(broken, 0.1, 1.0), Catch::Contains("number of labels is 7"));
  broken = seen;
  broken.labels[0] = 3;
  CHECK_THROWS_WITH(attempt(broken, 0.1, 1.0),
                    Catch::Contains("number of outputs of class 2 is 0"));
  CHECK_THROWS_WITH(attempt(listed(Eigen::MatrixXd::Identity(2, 4), 5), 0.1, 1.0),
                    Catch::Contains("number of outputs is 10, but must be at least 12"));
  broken.labels[0] = 1'000'000'000;
  CHECK_THROWS_AS(attempt(broken, 0.1, 1.0), std::domain_error);
  broken.labels.assign(8, 0);
  CHECK_THROWS_WITH(attempt(broken, 0.1, 1.0), Catch::Contains("number of classes is 1"));
}
