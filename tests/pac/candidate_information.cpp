// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/elementary.hpp>
#include <tacit/info/binary_channel.hpp>
#include <tacit/pac/candidate_distances.hpp>
#include <tacit/pac/candidate_information.hpp>
#include <tacit/pac/candidate_noise.hpp>
#include <tacit/pac/covariance.hpp>
#include <tacit/pac/monte_carlo_information.hpp>
#include <tacit/pac/stackelberg.hpp>

#include "support/catch.hpp"
#include "support/matrices.hpp"
#include "support/normals.hpp"

#include <Eigen/Core>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <random>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace {

using tacit::candidate_outputs;
using tacit::gaussian_noise;
using tacit::nats;

Eigen::VectorXd weights(Eigen::Index count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> draw;
  Eigen::VectorXd out(count);
  for (double& x : out) x = draw(random);
  return out;
}

/// Two candidates in d dimensions that differ along (1, 2, …, d)·length/norm.
candidate_outputs pair(Eigen::Index d, double length, double prior) {
  Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(2, d);
  rows.row(1) = Eigen::RowVectorXd::LinSpaced(d, 1.0, static_cast<double>(d)).normalized() * length;
  return {std::move(rows), Eigen::Vector2d(prior, 1.0 - prior)};
}

double channel(double prior, double sigma) {
  return tacit::mutual_information(tacit::binary_channel{.prior = prior, .sigma = sigma});
}

}  // namespace

TEST_CASE("candidates in fewer coordinates keep their distances within what is said") {
  std::mt19937_64 random(97);
  std::normal_distribution<double> normal;
  for (int k = 0; k < 60; ++k) {
    Eigen::Index const count = 2 + k % 7;
    Eigen::Index const d = count + 1 + 40 * (k % 3);
    tacit::detail::whitened_candidates<double> white;
    white.weights = Eigen::VectorXd::Constant(count, 1.0 / static_cast<double>(count));
    white.error = Eigen::VectorXd::Zero(count);
    white.columns.resize(d, count);
    for (double& x : white.columns.reshaped()) x = normal(random);
    if (k % 4 == 1) white.columns.col(1) = white.columns.col(0) * (1.0 + 1e-9);
    if (k % 4 == 2) white.columns.col(1).setZero();
    if (k % 4 == 3) white.columns.col(0) *= 1e9;
    tacit::detail::compact_candidates<double> const compact(white);
    REQUIRE(compact.columns.rows() == count);
    using wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
    wide const all = white.columns.cast<long double>();
    wide const few = compact.columns.cast<long double>();
    for (Eigen::Index a = 0; a < count; ++a) {
      double const length = white.columns.col(a).norm();
      CHECK(compact.moved(a) <= 1e-11 * length);
      for (Eigen::Index b = 0; b < a; ++b) {
        long double const off =
            std::abs((all.col(a) - all.col(b)).norm() - (few.col(a) - few.col(b)).norm());
        CHECK(off <= compact.moved(a) + compact.moved(b));
        CHECK(std::abs(all.col(a).dot(all.col(b)) - few.col(a).dot(few.col(b))) <=
              1.01L * (compact.moved(a) * white.columns.col(b).norm() + compact.moved(b) * length));
      }
    }
  }
}

TEST_CASE("e^-x and 1 - e^-x are the numbers that elementary has") {
  std::mt19937_64 random(41);
  std::uniform_real_distribution<double> decades(-330.0, 3.0);
  auto const is_same = [](double x) {
    auto const [like, unlike] = tacit::detail::likeness_at(x);
    return x < 0.5 ? unlike == -tacit::elementary::expm1(-x) && like == 1.0 - unlike
                   : like == tacit::elementary::exp(-x) && unlike == 1.0 - like;
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (double const x : {0.0, 5e-324, 1e-310, 0.5, std::nextafter(0.5, 0.0), std::log(2.0), 708.0,
                         745.0, 745.2, 746.0, 1e308, infinity}) {
    CAPTURE(x);
    CHECK(is_same(x));
  }
  int different = 0;
  for (int i = 0; i < 300'000; ++i) different += is_same(std::pow(10.0, decades(random))) ? 0 : 1;
  for (int i = 0; i < 300'000; ++i) different += is_same(static_cast<double>(i) * 0.0025) ? 0 : 1;
  CHECK(different == 0);
}

TEST_CASE("two candidates are the binary channel, in any dimension") {
  for (Eigen::Index const d : {1, 3, 50}) {
    for (double const prior : {0.5, 0.1, 1e-6}) {
      for (double const sigma : {1e4, 30.0, 1.0, 0.3, 0.15}) {
        auto const outputs = pair(d, 2.0, prior);
        auto const noise = gaussian_noise::isotropic(static_cast<std::size_t>(d), sigma * sigma);
        double const truth = channel(prior, sigma);
        auto const exact = tacit::line_information(outputs, noise);
        CAPTURE(d, prior, sigma, truth);
        CHECK(exact.lower.value <= truth * (1.0 + 1e-14));
        CHECK(exact.upper.value >= truth * (1.0 - 1e-14));
        CHECK(exact.upper.value == Approx(truth).epsilon(1e-9));
        // Common errors of the two: positions, here to an ulp of their length.
        CHECK(0.5 * (exact.lower.value + exact.upper.value) == Approx(truth).epsilon(2e-14));
        auto const pairwise = tacit::pairwise_information(outputs, noise);
        CHECK(pairwise.lower.value <= truth);
        CHECK(pairwise.upper.value >= truth * (1.0 - 1e-14));
        CHECK(tacit::log_det_information(outputs, noise).value.value >= truth * (1.0 - 1e-14));
        CHECK(tacit::information_bound(outputs, noise).value.value == Approx(truth).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("any axes and coordinates give the same figures") {
  auto const rows = normals(6, 4, 1);
  candidate_outputs const outputs(rows, weights(6, 2));
  Eigen::VectorXd const variances = Eigen::Vector4d(0.5, 2.0, 1.0, 0.1);
  auto const diagonal = gaussian_noise::diagonal(variances);
  Eigen::MatrixXd const covariance = variances.asDiagonal();
  auto const general = gaussian_noise::with_covariance(covariance);
  auto const some = gaussian_noise::along(Eigen::MatrixXd::Identity(4, 2), variances.head(2), 0.1);
  auto const same = gaussian_noise::diagonal(Eigen::Vector4d(0.5, 2.0, 0.1, 0.1));
  auto const check = [&](gaussian_noise const& a, gaussian_noise const& b) {
    auto const x = tacit::pairwise_information(outputs, a);
    auto const y = tacit::pairwise_information(outputs, b);
    CHECK(x.upper.value == Approx(y.upper.value).epsilon(1e-12));
    CHECK(x.lower.value == Approx(y.lower.value).epsilon(1e-12));
    CHECK(tacit::log_det_information(outputs, a).value.value ==
          Approx(tacit::log_det_information(outputs, b).value.value).epsilon(1e-12));
  };
  check(diagonal, general);
  check(some, same);

  // The formula, written plainly.
  double upper = 0.0;
  Eigen::VectorXd const p = outputs.probabilities();
  for (Eigen::Index m = 0; m < 6; ++m) {
    double sum = 0.0;
    for (Eigen::Index k = 0; k < 6; ++k) {
      double const squared =
          ((rows.row(m) - rows.row(k)).transpose().array().square() / variances.array()).sum();
      sum += p(k) * std::exp(-0.5 * squared);
    }
    upper -= p(m) * std::log(sum);
  }
  CHECK(tacit::pairwise_information(outputs, diagonal).upper.value == Approx(upper).epsilon(1e-12));
  Eigen::MatrixXd const ratio =
      support::inverse(covariance) * outputs.covariance() + Eigen::MatrixXd::Identity(4, 4);
  CHECK(tacit::log_det_information(outputs, diagonal).value.value ==
        Approx(0.5 * std::log(support::determinant(ratio))).epsilon(1e-12));
}

// Each configuration fails a true certificate with probability 1e-6: 24 of them, 2.4e-5 in all.
TEST_CASE(
    "Monte Carlo lies between the pairwise bounds, and the least bound is never above log-det") {
  std::uint64_t seed = 10;
  for (auto const& [count, d] : {std::pair{3, 1}, {5, 2}, {16, 4}, {20, 40}}) {
    for (double const scale : {0.2, 1.0, 3.0}) {
      for (bool const diagonal : {false, true}) {
        ++seed;
        candidate_outputs const outputs(normals(count, d, seed), weights(count, seed));
        Eigen::VectorXd const variances =
            (scale * scale * weights(d, seed + 100).array() + 0.1 * scale).matrix();
        Eigen::MatrixXd const basis = support::orthonormal(normals(d, d, seed + 200));
        auto const noise = diagonal ? gaussian_noise::diagonal(variances)
                                    : gaussian_noise::along(basis, variances);
        auto const sampled = tacit::monte_carlo_information(
            outputs, noise, {.samples = 4'000, .confidence = 1.0 - 1e-6, .seed = seed});
        auto const pairwise = tacit::pairwise_information(outputs, noise);
        double const log_det = tacit::log_det_information(outputs, noise).value.value;
        double const least = tacit::information_bound(outputs, noise).value.value;
        double const six = 6.0 * sampled.middle.standard_error.value;
        CAPTURE(count, d, scale, diagonal);
        CHECK(least <= log_det);
        CHECK(least <= pairwise.upper.value);
        CHECK(least >= sampled.interval.lower.value);
        CHECK(least >= sampled.middle.value.value - six);
        CHECK(pairwise.upper.value >= sampled.middle.value.value - six);
        CHECK(pairwise.lower.value <= sampled.middle.value.value + six);
        CHECK(sampled.interval.lower.value <= sampled.interval.upper.value);
        CHECK(sampled.interval.upper.value <= least);
        CHECK(sampled.interval.lower.value >= pairwise.lower.value);
        CHECK(sampled.confidence == 1.0 - 1e-6);
        if (d == 1) {
          auto const exact = tacit::line_information(outputs, noise);
          CHECK(exact.lower.value <= sampled.interval.upper.value);
          CHECK(exact.upper.value >= sampled.interval.lower.value);
          CHECK(std::abs(exact.upper.value - sampled.middle.value.value) <= six);
        }
      }
    }
  }
}

TEST_CASE("a certificate by drawing covers the truth as often as it says") {
  // 200 intervals of confidence 0.9: more than 40 misses would happen with probability below 1e-5.
  auto const outputs = pair(2, 2.0, 0.3);
  auto const noise = gaussian_noise::isotropic(2, 1.0);
  double const truth = channel(0.3, 1.0);
  int misses = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    tacit::detail::candidate_bounds const bounds(outputs, noise);
    auto const found = tacit::detail::sample_information(bounds, 400, 0.05, 0.05, seed, 0);
    if (!(found.interval.lower.value <= truth * (1.0 + 1e-12) &&
          found.interval.upper.value >= truth * (1.0 - 1e-12))) {
      ++misses;
    }
  }
  CHECK(misses <= 40);
}

TEST_CASE("duplicates and impossible candidates tell nothing") {
  Eigen::MatrixXd rows(5, 2);
  rows << 1, 2, 4, 6, 1, 2, 1e300, 0, 4, 6;
  Eigen::VectorXd p(5);
  p << 0.2, 0.4, 0.1, 0.0, 0.3;
  candidate_outputs const all(rows, p);
  auto const noise = gaussian_noise::isotropic(2, 6.25);
  double const truth = channel(0.3, 1.0);  // 5 apart, σ = 2.5
  CHECK(tacit::information_bound(all, noise).value.value == Approx(truth).epsilon(1e-12));
  CHECK(tacit::line_information(all, noise).lower.value == Approx(truth).epsilon(1e-12));

  candidate_outputs const one(Eigen::MatrixXd::Constant(7, 3, 2.5));
  CHECK(tacit::information_bound(one, gaussian_noise::isotropic(3, 1.0)).value.value == 0.0);
  CHECK(tacit::information_bound(one, gaussian_noise::isotropic(3, 0.0)).value.value == 0.0);
  CHECK(tacit::pairwise_information(candidate_outputs(Eigen::MatrixXd::Ones(1, 1)),
                                    gaussian_noise::isotropic(1, 1.0))
            .upper.value == 0.0);
}

TEST_CASE("without noise, candidates are distinguished exactly where they differ") {
  Eigen::MatrixXd rows(4, 2);
  rows << 0, 0, 1, 0, 0, 7, 1, 7;
  candidate_outputs const outputs(rows);
  double const bit = std::log(2.0);
  // The second coordinate is released in full, the first is drowned in noise.
  auto const half = gaussian_noise::diagonal(Eigen::Vector2d(1e20, 0.0));
  auto const pairwise = tacit::pairwise_information(outputs, half);
  CHECK(pairwise.lower.value == Approx(bit).epsilon(1e-12));
  CHECK(pairwise.upper.value == Approx(bit).epsilon(1e-12));
  CHECK(pairwise.upper.value >= bit);
  CHECK(tacit::log_det_information(outputs, half).value.value ==
        std::numeric_limits<double>::infinity());
  auto const sampled = tacit::monte_carlo_information(
      outputs, half, {.samples = 500, .confidence = 0.99, .seed = 1});
  CHECK(sampled.middle.value.value == Approx(bit).epsilon(1e-9));

  auto const none = gaussian_noise::isotropic(2, 0.0);
  CHECK(tacit::information_bound(outputs, none).value.value == Approx(2.0 * bit).epsilon(1e-12));
  CHECK(tacit::pairwise_information(outputs, none).lower.value == Approx(2.0 * bit).epsilon(1e-12));
  // Silent along an axis that is no coordinate: rounding cannot tell who agrees, and neither end guesses.
  Eigen::MatrixXd axes(2, 1);
  axes << std::sqrt(0.5), std::sqrt(0.5);
  auto const slanted = gaussian_noise::along(axes, Eigen::VectorXd::Constant(1, 1e20), 0.0);
  CHECK(tacit::pairwise_information(outputs, slanted).upper.value >= 2.0 * bit);
  CHECK(tacit::pairwise_information(outputs, slanted).lower.value == 0.0);
}

TEST_CASE("far candidates tell the entropy, also past the range of doubles") {
  candidate_outputs const outputs(normals(10, 3, 5), weights(10, 6));
  double const entropy = outputs.entropy().value;
  for (double const variance : {1e-8, 1e-100, 1e-320}) {
    auto const noise = gaussian_noise::isotropic(3, variance);
    double const upper = tacit::information_bound(outputs, noise).value.value;
    CHECK(upper == Approx(entropy).epsilon(1e-12));
    CHECK(upper >= entropy * (1.0 - 1e-15));
  }
  candidate_outputs const apart(Eigen::MatrixXd(Eigen::Vector2d(-1.7e308, 1.7e308)));
  CHECK_THROWS_AS(tacit::information_bound(apart, gaussian_noise::isotropic(1, 1.0)),
                  std::domain_error);
  CHECK_THROWS_AS(tacit::information_bound(outputs, gaussian_noise::isotropic(2, 1.0)),
                  std::invalid_argument);
}

TEST_CASE("a large common offset moves the bounds by its rounding only, and upwards") {
  auto const rows = normals(12, 5, 8);
  Eigen::MatrixXd const shifted = rows.array() + 1e8;
  Eigen::MatrixXd const back = shifted.array() - 1e8;
  auto const noise = gaussian_noise::isotropic(5, 2.0);
  double const there = tacit::information_bound(candidate_outputs(shifted), noise).value.value;
  double const here = tacit::information_bound(candidate_outputs(back), noise).value.value;
  CHECK(there == Approx(here).epsilon(1e-13));
}

TEST_CASE("the gradient is that of the bound") {
  candidate_outputs const outputs(normals(7, 4, 21), weights(7, 22));
  Eigen::VectorXd const v = Eigen::Vector4d(0.6, 1.5, 0.9, 2.0);
  auto const value = [&](gaussian_noise const& noise) {
    return tacit::pairwise_gradient(outputs, noise).value.value;
  };
  double const h = 1e-5;
  auto const slope = tacit::pairwise_gradient(outputs, gaussian_noise::diagonal(v));
  CHECK(slope.value.value ==
        Approx(tacit::pairwise_information(outputs, gaussian_noise::diagonal(v)).upper.value)
            .epsilon(1e-12));
  auto const full = tacit::pairwise_gradient_matrix(outputs, gaussian_noise::diagonal(v));
  for (Eigen::Index i = 0; i < 4; ++i) {
    Eigen::VectorXd const step = h * Eigen::VectorXd::Unit(4, i);
    double const measured =
        (value(gaussian_noise::diagonal(v + step)) - value(gaussian_noise::diagonal(v - step))) /
        (2.0 * h);
    CHECK(slope.variances(i) == Approx(measured).epsilon(1e-6));
    CHECK(slope.variances(i) < 0.0);
    CHECK(full(i, i) == Approx(measured).epsilon(1e-6));
  }
  Eigen::MatrixXd turn = Eigen::MatrixXd::Zero(4, 4);
  turn(0, 2) = turn(2, 0) = h;
  Eigen::MatrixXd const base = v.asDiagonal();
  double const measured = (value(gaussian_noise::with_covariance(base + turn)) -
                           value(gaussian_noise::with_covariance(base - turn))) /
                          (2.0 * h);
  CHECK(2.0 * full(0, 2) == Approx(measured).epsilon(1e-6));

  Eigen::MatrixXd const axis = Eigen::Vector4d(1.0, 1.0, 0.0, 1.0).normalized();
  auto const along = [&](double across) {
    return gaussian_noise::along(axis, Eigen::VectorXd::Constant(1, 3.0), across);
  };
  CHECK(tacit::pairwise_gradient(outputs, along(0.7)).rest ==
        Approx((value(along(0.7 + h)) - value(along(0.7 - h))) / (2.0 * h)).epsilon(1e-6));
}

TEST_CASE("a shape is scaled to the budget, from the safe side") {
  for (Eigen::Index const d : {1, 3, 50}) {
    for (double const budget : {1e-9, 0.01, 0.3, 0.6}) {
      auto const outputs = pair(d, 2.0, 0.5);
      auto const found = tacit::scale_to(
          outputs, gaussian_noise::isotropic(static_cast<std::size_t>(d), 1.0), nats(budget));
      double const sigma = tacit::noise_for(tacit::binary_channel{.prior = 0.5}, nats(budget));
      CHECK(found.information.value.value <= budget);
      CHECK(found.information.confidence == 1.0);
      CHECK(found.noise.rest() == Approx(sigma * sigma).epsilon(1e-10));
      CHECK(found.noise.rest() >= sigma * sigma * (1.0 - 1e-11));
    }
  }
  candidate_outputs const many(normals(30, 6, 31));
  for (double const budget : {1e-9, 0.1, 1.0, 3.0}) {
    auto const found = tacit::scale_to(many, gaussian_noise::isotropic(6, 1.0), nats(budget));
    CHECK(found.information.value.value <= budget);
    CHECK(found.information.value.value >= budget * (1.0 - 1e-10));
    CHECK(tacit::information_bound(many, found.noise).value.value <= budget);
  }
  CHECK(tacit::scale_to(many, gaussian_noise::isotropic(6, 1.0), nats(3.5)).noise.trace() == 0.0);
  auto const silent = gaussian_noise::diagonal(Eigen::VectorXd::Unit(6, 0));
  CHECK_THROWS_AS(tacit::scale_to(many, silent, nats(0.1)), tacit::infeasible);
  CHECK_THROWS_AS(tacit::scale_to(many, silent, nats(0.0)), std::domain_error);
  CHECK_THROWS_AS(tacit::scale_to(many, silent, nats()), std::domain_error);
}

TEST_CASE("least_trace is certified and never louder than log-det") {
  std::uint64_t seed = 40;
  for (auto const& [count, d] : {std::pair{2, 3}, {8, 3}, {16, 2}, {12, 30}}) {
    for (double const share : {1e-9, 0.05, 0.5, 0.95}) {
      for (auto const shape : {tacit::noise_shape::full, tacit::noise_shape::diagonal}) {
        candidate_outputs const outputs(normals(count, d, ++seed));
        nats const budget(share * std::log(count));
        auto const rule = tacit::log_det(outputs, budget, shape, tacit::certificate::log_det);
        auto const found = tacit::least_trace(outputs, budget, shape);
        CAPTURE(count, d, share);
        CHECK(found.noise.trace() <= rule.noise.trace());
        CHECK(found.information.value <= budget);
        // The other certificate agrees, but for what each charges to rounding.
        CHECK(tacit::information_bound(outputs, found.noise).value.value <=
              budget.value * (1.0 + 1e-3));
        if (shape == tacit::noise_shape::diagonal) CHECK(found.noise.along_coordinates());
        if (share == 0.95 && d < count && count > 2) {
          CHECK(found.noise.trace() < 0.9 * rule.noise.trace());
        }
      }
    }
  }
  // Two candidates: noise along their difference, as loud as the binary channel asks.
  for (double const budget : {1e-9, 0.1, 0.6}) {
    auto const outputs = pair(5, 2.0, 0.5);
    double const sigma = tacit::noise_for(tacit::binary_channel{.prior = 0.5}, nats(budget));
    CHECK(tacit::least_trace(outputs, nats(budget)).noise.trace() ==
          Approx(sigma * sigma).epsilon(1e-6));
  }
  candidate_outputs const same(Eigen::MatrixXd::Ones(3, 2));
  CHECK(tacit::least_trace(same, nats(0.1)).noise.trace() == 0.0);
}

TEST_CASE("a shape is scaled to the budget whatever the size of outputs and of the shape") {
  Eigen::MatrixXd const rows = normals(5, 2, 9);
  for (double const size : {1e-150, 1e-100, 1e100, 1e150}) {
    for (double const noise : {1e-300, 1e-150, 1.0, 1e150, 1e300}) {
      for (double const beta : {1e-6, 0.3, 1.5}) {
        candidate_outputs const outputs(Eigen::MatrixXd(size * rows));
        auto const found =
            tacit::scale_to(outputs, gaussian_noise::isotropic(2, noise), nats(beta));
        auto const plain =
            tacit::scale_to(candidate_outputs(rows), gaussian_noise::isotropic(2, 1.0), nats(beta));
        CAPTURE(size, noise, beta);
        CHECK(found.information.value.value <= beta);
        CHECK(found.information.value.value >= beta * (1.0 - 1e-9));
        CHECK(std::sqrt(found.noise.trace()) ==
              Approx(size * std::sqrt(plain.noise.trace())).epsilon(1e-9));
      }
    }
  }
  candidate_outputs const far(Eigen::MatrixXd(1e200 * rows));
  CHECK_THROWS_AS(tacit::scale_to(far, gaussian_noise::isotropic(2, 1.0), nats(0.3)),
                  std::domain_error);
}

TEST_CASE("128 candidates in 1000 dimensions") {
  candidate_outputs const outputs(normals(128, 1000, 77));
  auto const noise = gaussian_noise::diagonal(Eigen::VectorXd::Constant(1000, 100.0));
  auto const pairwise = tacit::pairwise_information(outputs, noise);
  double const least = tacit::information_bound(outputs, noise).value.value;
  CHECK(pairwise.lower.value < least);
  CHECK(least <= pairwise.upper.value);
  CHECK(tacit::log_det(outputs, nats(1.0)).information.value.value <= 1.0);
  auto const rule = tacit::log_det(outputs, nats(1.0));
  // The two certificates charge rounding differently.
  CHECK(tacit::log_det_information(outputs, rule.noise).value.value == Approx(1.0).epsilon(1e-3));
}

TEST_CASE("on a line: forty digits of an adaptive quadrature of the definition") {
  // Σ p ∫ φ_m log(φ_m/mix) by mpmath 1.3 at 40 digits (quad, between every other standard deviation out to 14,
  // around each candidate by itself); weights as listed, over their sum.
  struct reference {
    Eigen::VectorXd positions;
    Eigen::VectorXd weights;
    double sigma;
    double truth;
  };
  auto const list = [](std::initializer_list<double> x) {
    return Eigen::VectorXd(Eigen::Map<Eigen::VectorXd const>(x.begin(), std::ssize(x)));
  };
  for (auto const& [positions, p, sigma, truth] :
       {reference{list({0, 1, 3}), list({1, 2, 3}), 1.0, 0.4359118126169579815497762},
        reference{list({-2, 0, 0.5, 4}), list({1, 1, 1, 1}), 0.75, 0.926350643094832284725891},
        reference{list({0, 1e-3}), list({0.3, 0.7}), 1.0, 1.049999889750009609817903e-7},
        reference{list({0, 1, 100, 101}), list({1, 1, 1, 2}), 0.5, 0.9912281985116238717745541},
        reference{list({0, 0.125, 1, 2, 5, 1000, 1000.5}), list({1, 1, 1, 1, 1, 1, 1}), 0.25,
                  1.603471541090612927388485},
        reference{list({0, 30, 60}), list({1, 2, 4}), 2.0, 0.95569989111241534622071},
        reference{list({0, 10}), list({1e-6, 1}), 3.0, 5.543393295016684175784726e-6},
        // Long lines without a gap to split them at.
        reference{list({0.0,   3.875, 6.75,   10.0, 12.25,  16.25,  19.25, 21.25,
                        25.0,  27.75, 30.875, 33.0, 36.875, 39.75,  43.0,  45.25,
                        49.25, 52.25, 54.25,  58.0, 60.75,  63.875, 66.0,  69.875}),
                  list({1, 6, 4, 2, 7, 5, 3, 1, 6, 4, 2, 7, 5, 3, 1, 6, 4, 2, 7, 5, 3, 1, 6, 4}),
                  1.0, 2.75045507790462384013974},
        reference{list({0, 13.5, 25, 37, 49.5, 60, 73.5, 85, 97}),
                  list({1, 1, 1, 1, 1, 1, 1, 1, 1}), 1.0, 2.197224518758069326311767},
        reference{list({0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55}),
                  list({1, 1e-6, 1, 1, 2, 1e-3, 1, 1, 1, 1, 1, 3}), 1.0,
                  2.183850318697521469159922},
        reference{Eigen::VectorXd::LinSpaced(96, 0.0, 5.9375), Eigen::VectorXd::Ones(96), 0.125,
                  2.489501808922701937635267}}) {
    candidate_outputs const outputs(Eigen::MatrixXd(positions), p);
    auto const noise = gaussian_noise::isotropic(1, sigma * sigma);
    auto const exact = tacit::line_information(outputs, noise);
    CAPTURE(truth);
    CHECK(exact.lower.value <= truth);
    CHECK(exact.upper.value >= truth);
    CHECK(exact.upper.value - exact.lower.value <= 1e-9 * truth);
    CHECK(0.5 * (exact.lower.value + exact.upper.value) == Approx(truth).epsilon(3e-13));
    auto const pairwise = tacit::pairwise_information(outputs, noise);
    CHECK(pairwise.lower.value <= truth);
    CHECK(pairwise.upper.value >= truth);
    CHECK(tacit::log_det_information(outputs, noise).value.value >= truth);
  }
}

namespace {

/// Nodes and weights of E f(N(0, 1)): Golub & Welsch (1969).
struct hermite_rule {
  Eigen::VectorXd node;
  Eigen::VectorXd weight;

  explicit hermite_rule(Eigen::Index n) {
    Eigen::MatrixXd jacobi = Eigen::MatrixXd::Zero(n, n);
    for (Eigen::Index i = 1; i < n; ++i) {
      jacobi(i, i - 1) = jacobi(i - 1, i) = std::sqrt(static_cast<double>(i));
    }
    support::eigen_pairs const solved = support::eigen_pairs_of(jacobi);
    node = solved.values;
    weight = solved.vectors.row(0).cwiseAbs2();
  }
};

/// Σ p_m E log(φ_m/mix) by a product rule around each candidate, with Σ_B by its Cholesky factor and
/// its inverse: nothing of what the bounds are made of.
double by_product_rule(Eigen::MatrixXd const& rows, Eigen::VectorXd p,
                       Eigen::MatrixXd const& covariance, hermite_rule const& rule) {
  p /= p.sum();
  Eigen::Index const d = rows.cols();
  Eigen::Index const n = rule.node.size();
  Eigen::MatrixXd const root = support::cholesky_root(covariance);
  Eigen::MatrixXd const precision = support::inverse(covariance);
  Eigen::Index nodes = 1;
  for (Eigen::Index j = 0; j < d; ++j) nodes *= n;
  double total = 0.0;
  for (Eigen::Index m = 0; m < rows.rows(); ++m) {
    double conditional = 0.0;
    for (Eigen::Index at = 0; at < nodes; ++at) {
      Eigen::VectorXd g(d);
      double weight = 1.0;
      for (Eigen::Index j = 0, left = at; j < d; ++j, left /= n) {
        g(j) = rule.node(left % n);
        weight *= rule.weight(left % n);
      }
      if (weight < 1e-18) continue;
      Eigen::VectorXd const z = rows.row(m).transpose() + root * g;
      double mix = 0.0;
      for (Eigen::Index k = 0; k < rows.rows(); ++k) {
        Eigen::VectorXd const away = z - rows.row(k).transpose();
        mix += p(k) * std::exp(-0.5 * away.dot(precision * away) + 0.5 * g.squaredNorm());
      }
      conditional -= weight * std::log(mix);
    }
    total += p(m) * conditional;
  }
  return total;
}

}  // namespace

TEST_CASE("in two and three dimensions: no bound is on the wrong side of a product quadrature",
          "[long]") {
  std::uint64_t seed = 900;
  for (auto const& [count, d, nodes] : {std::tuple{3, 2, 48}, {5, 2, 48}, {4, 3, 24}, {6, 3, 24}}) {
    hermite_rule const rule(nodes);
    for (double const scale : {0.25, 1.0, 3.0}) {
      ++seed;
      auto const rows = normals(count, d, seed);
      auto const p = weights(count, seed + 1);
      Eigen::MatrixXd const mixed = normals(d, d, seed + 2);
      Eigen::MatrixXd const covariance =
          scale * scale * (mixed * mixed.transpose() + Eigen::MatrixXd::Identity(d, d)).eval();
      // The rule's own accuracy, by half the nodes.
      double const truth = by_product_rule(rows, p, covariance, rule);
      double const coarse = by_product_rule(rows, p, covariance, hermite_rule(nodes / 2));
      double const off = std::abs(truth - coarse) + 1e-13;
      candidate_outputs const outputs(rows, p);
      auto const noise = gaussian_noise::with_covariance(covariance);
      CAPTURE(count, d, scale, truth, off);
      REQUIRE(off < 0.02 * truth);
      auto const pairwise = tacit::pairwise_information(outputs, noise);
      CHECK(pairwise.lower.value <= truth + off);
      CHECK(pairwise.upper.value >= truth - off);
      CHECK(tacit::log_det_information(outputs, noise).value.value >= truth - off);
      CHECK(tacit::information_bound(outputs, noise).value.value >= truth - off);
      auto const drawn = tacit::monte_carlo_information(
          outputs, noise, {.samples = 3'000, .confidence = 1.0 - 1e-6, .seed = seed});
      CHECK(drawn.interval.lower.value <= truth + off);
      CHECK(drawn.interval.upper.value >= truth - off);
      CHECK(std::abs(drawn.middle.value.value - truth) <=
            6.0 * drawn.middle.standard_error.value + off);
    }
  }
}

TEST_CASE("draws never contradict what is certain") {
  // Two candidates and few draws of little confidence: many of these intervals miss, and then say no more
  // than what is known without them. (They came out inverted: .843 below .810.)
  auto const check = [](candidate_outputs const& outputs, gaussian_noise const& noise,
                        std::uint64_t seed) {
    auto const found = tacit::monte_carlo_information(
        outputs, noise, {.samples = 3, .confidence = 0.02, .seed = seed});
    CHECK(found.interval.lower <= found.interval.upper);
    CHECK(found.interval.upper <= tacit::information_bound(outputs, noise).value);
    return found.interval;
  };
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    candidate_outputs const line(normals(3, 1, seed), weights(3, seed));
    auto const noise = gaussian_noise::isotropic(1, 0.1);
    auto const found = check(line, noise, seed);
    auto const exact = tacit::line_information(line, noise);
    CHECK(found.lower >= exact.lower);
    CHECK(found.upper <= exact.upper);
    check(candidate_outputs(normals(3, 2, seed)), gaussian_noise::isotropic(2, 0.1), seed);
  }
}

TEST_CASE("a zero has no sign, in outputs, noise and releases") {
  Eigen::MatrixXd rows(2, 2);
  rows << 1.0, 0.0, 1.0, -0.0;
  candidate_outputs const outputs(rows);
  CHECK_FALSE(std::signbit(outputs.rows()(1, 1)));
  // Certified to tell nothing: so no release may tell them apart.
  CHECK(tacit::information_bound(outputs, gaussian_noise::isotropic(2, 0.0)).value.value == 0.0);
  CHECK(tacit::log_det(outputs, nats(0.1)).noise.trace() == 0.0);
  CHECK(tacit::least_trace(outputs, nats(0.1)).noise.trace() == 0.0);
  Eigen::VectorXd const left = Eigen::Vector2d(-1.0, -2.0);
  Eigen::MatrixXd axis = Eigen::MatrixXd::Zero(2, 1);
  axis(0, 0) = 1.0;
  for (auto const& noise :
       {gaussian_noise::isotropic(2, 0.0), gaussian_noise::diagonal(Eigen::Vector2d(1.0, 0.0)),
        gaussian_noise::along(axis, Eigen::VectorXd::Ones(1), 0.0)}) {
    for (Eigen::VectorXd const& g : {left, Eigen::VectorXd(-left)}) {
      CHECK_FALSE(std::signbit(noise.shaped(g)(1)));
      for (Eigen::Index m : {0, 1}) {
        Eigen::VectorXd const released = rows.row(m).transpose() + noise.shaped(g);
        CHECK_FALSE(std::signbit(released(1)));
      }
    }
  }
}

TEST_CASE("what rounds to no difference on a line is not certified to be none") {
  // Two candidates that no double z tells apart, beside one that is all but impossible: I = s²/8, to 1e-30 of
  // itself. It was certified as 2.6e-44, below its own lower end, and as 1e-55 with less of the third.
  for (double const s : {1e-15, 1e-17, 1e-20}) {
    for (double const rare : {1e-60, 1e-90}) {
      candidate_outputs const outputs(Eigen::MatrixXd(Eigen::Vector3d(0.0, s, 1.0)),
                                      Eigen::Vector3d(0.5, 0.5, rare));
      auto const noise = gaussian_noise::isotropic(1, 1.0);
      auto const exact = tacit::line_information(outputs, noise);
      CAPTURE(s, rare);
      CHECK(exact.lower.value <= exact.upper.value);
      CHECK(exact.lower.value <= s * s / 8.0);
      CHECK(exact.upper.value >= s * s / 8.0 * (1.0 - 1e-12));
      CHECK(tacit::information_bound(outputs, noise).value.value >= s * s / 8.0 * (1.0 - 1e-12));
    }
  }
}

TEST_CASE("close ones among far ones on a line: exact, and not by the millions") {
  // Seven scalars, two of them 1e-5 apart: the noise for 1.93 nats is of that size, the line 1e5 times as long.
  Eigen::VectorXd const scalars =
      (Eigen::VectorXd(7) << 0.0, 1e-5, 0.13, 0.4, 0.55, 0.71, 1.0).finished();
  candidate_outputs const outputs{Eigen::MatrixXd(scalars)};
  auto const found = tacit::least_trace(outputs, nats(1.93));
  CHECK(found.information.value.value <= 1.93);
  CHECK(found.information.value.value >= 1.93 * (1.0 - 1e-9));
  // H less what the pair leaves open: 2/7 of the binary channel's equivocation.
  double const left = std::log(7.0) - 1.93;
  double const sigma = std::sqrt(found.noise.trace());
  CHECK(2.0 / 7.0 *
            tacit::equivocation(tacit::binary_channel{.prior = 0.5, .sigma = sigma / 5e-6}) ==
        Approx(left).epsilon(1e-6));
}

TEST_CASE("a line takes as long as its candidates, not as their distance") {
  std::mt19937_64 draw(3);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (double const spacing : {1e-4, 0.01, 0.1, 1.0, 5.0, 17.0}) {
    Eigen::ArrayXd t(1'000);
    Eigen::ArrayXd p(1'000);
    double at = 0.0;
    for (Eigen::Index m = 0; m < t.size(); ++m) {
      t(m) = at;
      at += spacing * unit(draw);
      p(m) = 0.1 + unit(draw);
    }
    p /= p.sum();
    CHECK(tacit::detail::line_plan<double>(t, p, 0.1).work <= 5e6);
  }
  // Ten units apart: all but separate, and one line.
  Eigen::MatrixXd const many = Eigen::VectorXd::LinSpaced(2'000, 0.0, 19'990.0);
  auto const found =
      tacit::line_information(candidate_outputs(many), gaussian_noise::isotropic(1, 1.0));
  // What neighbours leave open is that of two alone, for their part of the mass.
  auto const two =
      tacit::line_information(candidate_outputs(Eigen::MatrixXd(Eigen::Vector2d(0.0, 10.0))),
                              gaussian_noise::isotropic(1, 1.0));
  double const left = (std::log(2.0) - two.upper.value) * 2.0 * 1'999.0 / 2'000.0;
  CHECK(std::log(2'000.0) - found.upper.value <= left + 1e-9);
  CHECK(std::log(2'000.0) - found.lower.value >= left * (1.0 - 1e-6));
}

namespace {

/// How often an interval for I misses it, and how many were drawn.
int misses_of(candidate_outputs const& outputs, gaussian_noise const& noise, double truth,
              double slack, std::uint64_t repeats) {
  tacit::detail::candidate_bounds const bounds(outputs, noise);
  int misses = 0;
  for (std::uint64_t seed = 0; seed < repeats; ++seed) {
    auto const found = tacit::detail::sample_information(bounds, 100, 0.05, 0.05, seed, 0);
    misses += !(found.interval.lower.value <= truth + slack &&
                found.interval.upper.value >= truth - slack);
  }
  return misses;
}

}  // namespace

TEST_CASE("coverage of a thousand certificates by drawing, off the line") {
  // Misses at most 1 in 10: above 160 of 1000 with probability below 1e-8.
  auto const rows = normals(4, 2, 71);
  auto const p = weights(4, 72);
  for (double const variance : {0.5, 4.0}) {
    double const truth =
        by_product_rule(rows, p, variance * Eigen::MatrixXd::Identity(2, 2), hermite_rule(64));
    CHECK(misses_of({rows, p}, gaussian_noise::isotropic(2, variance), truth, 1e-7, 1'000) <= 160);
  }
}

TEST_CASE("coverage of noise that was scaled and certified by drawing", "[.sweep][sweep]") {
  // 2000 calibrations at confidence ½, each on draws of its own: certified noise that gives away more than
  // the budget. More than 1100 of them has probability below 1e-5.
  auto const rows = normals(6, 3, 81);
  candidate_outputs const outputs(rows);
  hermite_rule const rule(28);
  int misses = 0;
  int drawn = 0;
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    auto const found = tacit::scale_to(outputs, gaussian_noise::isotropic(3, 1.0), nats(0.8),
                                       {.samples = 500, .confidence = 0.5, .seed = seed});
    drawn += found.information.confidence < 1.0;
    if (found.information.confidence == 1.0) continue;
    double const truth =
        by_product_rule(rows, Eigen::VectorXd::Ones(6), found.noise.covariance(), rule);
    misses += truth > 0.8 * (1.0 + 1e-6);
  }
  CHECK(drawn > 1'000);
  CHECK(misses <= 1'100);
}
