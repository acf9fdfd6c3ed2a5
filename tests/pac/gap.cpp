// SPDX-License-Identifier: Apache-2.0
#include <tacit/info/binary_channel.hpp>
#include <tacit/pac/gap.hpp>
#include <tacit/pac/pac_ledger.hpp>

#include "support/catch.hpp"
#include "support/matrices.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using tacit::nats;

/// Z = ±1 + N(0, s²) in every one of d coordinates, turned by a random rotation.
struct two_points {
  Index dimension;
  double s;

  double information() const {
    return static_cast<double>(dimension) *
           tacit::mutual_information(tacit::binary_channel{.prior = 0.5, .sigma = s});
  }
  double log_det() const {
    return 0.5 * static_cast<double>(dimension) * std::log1p(1.0 / (s * s));
  }
  double gap() const { return log_det() - information(); }

  tacit::gaussian_noise noise() const {
    return tacit::gaussian_noise::isotropic(static_cast<std::size_t>(dimension), s * s);
  }
  double radius() const { return std::sqrt(static_cast<double>(dimension)) * (1.0 + 1e-12); }

  MatrixXd outputs(Index rows, std::uint64_t seed) const {
    MatrixXd out(rows, dimension);
    for (Index k = 0; k < out.size(); ++k) {
      out.data()[k] =
          tacit::public_uniform({seed, 1}, static_cast<std::uint64_t>(k)) < 0.5 ? -1.0 : 1.0;
    }
    return out * tacit::random_axes(static_cast<std::size_t>(dimension), {seed, 2}).transpose();
  }

  /// KL(P_Z‖Q), exactly: Z has mean 0 and covariance (1 + s²)I whatever the rotation.
  double divergence_from(tacit::normal_surrogate const& q) const {
    auto const d = static_cast<double>(dimension);
    double const entropy =
        information() + 0.5 * d * std::log(2.0 * std::numbers::pi * std::numbers::e * s * s);
    double const cross =
        0.5 * (d * std::log(2.0 * std::numbers::pi) + (1.0 + s * s) * q.whitener().squaredNorm() +
               (q.whitener() * q.mean()).squaredNorm()) -
        std::log(std::abs(support::determinant(q.whitener())));
    return cross - entropy;
  }
};

struct outcome {
  double certificate;
  double divergence;
  double bound;
};

outcome certify(two_points const& law, Index rows, std::uint64_t seed, double failure) {
  MatrixXd const outputs = law.outputs(2 * rows, seed);
  MatrixXd const z = tacit::with_public_noise(outputs, law.noise(), {seed, 3});
  auto const fitted = tacit::normal_surrogate::fit(z.topRows(rows));
  auto const surrogate =
      fitted.rotated(tacit::independent_axes(fitted.whitened(z.topRows(rows)), {seed, 4}));
  auto const critic = tacit::product_critic::fit(surrogate.whitened(z.topRows(rows)));
  auto const gap = tacit::certified_gap(surrogate, critic, z.bottomRows(rows), failure);
  auto const bound = tacit::certified_information(gap, law.noise(), outputs.bottomRows(rows),
                                                  {.radius = law.radius(), .failure = failure});
  CHECK(gap.confidence() < 1.0 - failure + 1e-12);
  CHECK(gap.confidence() > 1.0 - failure - 1e-12);
  CHECK(bound.confidence < 1.0 - 2.0 * failure + 1e-12);
  CHECK(bound.confidence > 1.0 - 2.0 * failure - 1e-12);
  return {gap.value().value, law.divergence_from(surrogate), bound.value.value};
}

MatrixXd identity(Index d) { return MatrixXd::Identity(d, d); }

double distance_from_orthonormal(MatrixXd const& axes) {
  return (axes.transpose() * axes - identity(axes.cols())).cwiseAbs().maxCoeff();
}

}  // namespace

TEST_CASE("public normals follow the normal law and depend on seed, part and index") {
  MatrixXd const m = tacit::public_normals({1, 2}, 1000, 21);
  std::vector<double> sample(m.data(), m.data() + m.size());
  CHECK(sample[17] == tacit::public_normal({1, 2}, 17));
  CHECK(sample[20'999] == tacit::public_normal({1, 2}, 20'999));
  CHECK(sample[17] != tacit::public_normal({2, 2}, 17));
  CHECK(sample[17] != tacit::public_normal({1, 3}, 17));
  double products = 0.0;
  for (std::size_t k = 0; k + 1 < sample.size(); k += 2) products += sample[k] * sample[k + 1];
  CHECK(std::abs(products) < statistics::normal_limit * std::sqrt(10'500.0));
  CHECK(statistics::kolmogorov(sample, statistics::normal_cdf) < statistics::kolmogorov_limit);
  CHECK(tacit::public_normals({1, 2}, 3, 1)(2) == m(2));
}

TEST_CASE("a fitted surrogate whitens its sample along its principal axes") {
  MatrixXd rows = tacit::public_normals({3, 0}, 500, 3);
  rows.col(0) *= 10.0;
  rows.col(2) = 0.3 * rows.col(2) + rows.col(1);
  rows.rowwise() += Eigen::RowVector3d(5.0, -1e3, 0.0);
  auto const q = tacit::normal_surrogate::fit(rows);
  MatrixXd const t = q.whitened(rows);
  CHECK(t.colwise().mean().cwiseAbs().maxCoeff() < 1e-11);
  CHECK((t.transpose() * t / 499.0 - identity(3)).cwiseAbs().maxCoeff() < 1e-9);
  MatrixXd const s = support::inverse(q.whitener().transpose() * q.whitener());
  CHECK((q.whitener() * s * q.whitener().transpose()).isDiagonal(1e-9));
  CHECK(q.rounding(rows).minCoeff() > 0.0);
  CHECK(q.rounding(rows).maxCoeff() < 1e-12);

  // The stated rounding holds against long double.
  VectorXd const reach = q.rounding(rows);
  using wide = support::wide_matrix;
  wide const exact =
      (rows.cast<long double>().rowwise() - q.mean().cast<long double>().transpose().eval()) *
      q.whitener().cast<long double>().transpose();
  for (Index k = 0; k < rows.rows(); ++k) {
    auto const off = (exact.row(k) - t.row(k).cast<long double>()).cwiseAbs().maxCoeff();
    CHECK(static_cast<double>(off) <= reach(k));
  }
}

TEST_CASE("axes are orthonormal, and find what they look for") {
  CHECK(distance_from_orthonormal(tacit::random_axes(7, {1, 0})) < 1e-13);
  CHECK(std::abs(tacit::random_axes(1, {1, 0})(0)) == 1.0);

  two_points const law{5, 0.3};
  MatrixXd const rotation = tacit::random_axes(5, {9, 2});  // that of `outputs`
  MatrixXd const z = tacit::with_public_noise(law.outputs(4000, 9), law.noise(), {9, 3});
  auto const q = tacit::normal_surrogate::fit(z);
  MatrixXd const axes = tacit::independent_axes(q.whitened(z), {9, 4});
  CHECK(distance_from_orthonormal(axes) < 1e-13);
  // Each true coordinate is seen by one axis alone.
  MatrixXd const seen = (axes.transpose() * q.whitener() * rotation).cwiseAbs();
  for (Index i = 0; i < 5; ++i) {
    CHECK(seen.row(i).maxCoeff() / seen.row(i).sum() > 0.9);
    CHECK(seen.col(i).maxCoeff() / seen.col(i).sum() > 0.9);
  }
  MatrixXd const given = tacit::axes_along(q, rotation);
  CHECK(distance_from_orthonormal(given) < 1e-13);
  // The first axis shows the first direction exactly, and no other direction orthogonal to it.
  VectorXd const first = q.whitener().transpose() * given.col(0);
  CHECK(std::abs(first.normalized().dot(rotation.col(0))) > 1.0 - 1e-12);

  CHECK(distance_from_orthonormal(
            tacit::independent_axes(tacit::public_normals({5, 0}, 300, 4), {5, 1})) < 1e-13);
}

TEST_CASE("skewed components are found as well") {
  Index const n = 4000;
  MatrixXd sources(n, 4);
  for (Index k = 0; k < sources.size(); ++k) {
    double const u = tacit::public_uniform({21, 0}, static_cast<std::uint64_t>(k));
    sources.data()[k] = -1.0 - std::log(u);  // exponential
  }
  MatrixXd const rotation = tacit::random_axes(4, {21, 1});
  MatrixXd const rows = sources * rotation.transpose();
  auto const q = tacit::normal_surrogate::fit(rows);
  MatrixXd const axes = tacit::independent_axes(q.whitened(rows), {21, 2});
  MatrixXd const seen = (axes.transpose() * q.whitener() * rotation).cwiseAbs();
  for (Index i = 0; i < 4; ++i) CHECK(seen.row(i).maxCoeff() / seen.row(i).sum() > 0.85);
}

TEST_CASE("the one-dimensional Wasserstein distance from the normal is exact") {
  // A point mass at a: E(a − Z)² = a² + 1.
  CHECK(tacit::wasserstein_gap(VectorXd::Constant(10, 3.0), identity(1)).value.value ==
        Approx(5.0).epsilon(1e-13));
  // Two halves at ±c: 1 + c² − 2cE|Z|.
  VectorXd halves(1000);
  halves << VectorXd::Constant(500, -0.7), VectorXd::Constant(500, 0.7);
  CHECK(tacit::wasserstein_gap(halves, identity(1)).value.value ==
        Approx(0.5 * (1.49 - 1.4 * std::sqrt(2.0 / std::numbers::pi))).epsilon(1e-12));
  // N(a, b²): ½(a² + (b − 1)²), within chance.
  VectorXd const normals =
      (0.5 * tacit::public_normals({31, 0}, 20'000, 1).array() + 0.25).matrix();
  CHECK(tacit::wasserstein_gap(normals, identity(1)).value.value ==
        Approx(0.5 * (0.0625 + 0.25)).epsilon(0.03));
}

TEST_CASE("columns are sorted, whatever they hold") {
  tacit::detail::column_sorter sort;
  for (Index const n : {1, 1023, 1024, 5000}) {
    VectorXd const z = tacit::public_normals({35, 0}, n, 1);
    VectorXd const ascending = VectorXd::LinSpaced(n, -3.0, 2.0);
    VectorXd outlier = z;
    outlier(n / 2) = 1e20;  // all others share a cell
    VectorXd extremes = z * 1e300;
    extremes(0) = -1.7e308;
    extremes(n - 1) = 1.7e308;
    for (VectorXd const& column :
         {z, VectorXd(ascending), VectorXd(ascending.reverse()), outlier, extremes,
          VectorXd(z.array().sign() * 0.0), VectorXd((4.0 * z).array().round()),
          VectorXd((1.0 + z.array() * 0x1p-45)), VectorXd(z * 1e-310),
          VectorXd(z.array().tan() * 1e10)}) {
      std::vector<double> found(column.begin(), column.end());
      std::vector<double> expected = found;
      sort(found);
      std::sort(expected.begin(), expected.end());
      CHECK(found == expected);
    }
  }
}

TEST_CASE("estimates of the gap: published, on axes, marginal") {
  // 8.88 nats; the published correction shows 0.0005, random axes 0.008, the right ones 1.10 by W₂ and
  // all by their marginals. A sample of 10⁴ adds some 10⁻⁴ an axis to the small ones.
  two_points const law{16, 0.3};
  CHECK(law.gap() == Approx(8.8825).epsilon(1e-4));
  MatrixXd const z = tacit::with_public_noise(law.outputs(10'000, 41), law.noise(), {41, 3});
  MatrixXd const t = [&] { return tacit::normal_surrogate::fit(z).whitened(z); }();
  double const paper = tacit::sliced_wasserstein_gap(t, 64, {41, 4}).value.value;
  double const random = tacit::wasserstein_gap(t, tacit::random_axes(16, {41, 5})).value.value;
  MatrixXd const axes = tacit::independent_axes(t, {41, 6});
  double const best = tacit::wasserstein_gap(t, axes).value.value;
  double const marginal = tacit::marginal_gap(t, axes).value.value;
  CAPTURE(paper, random, best, marginal);
  CHECK(paper > 3e-4);
  CHECK(paper < 1e-3);
  CHECK(random > 5e-3);
  CHECK(random < 2e-2);
  CHECK(best == Approx(1.10).margin(0.03));
  CHECK(marginal == Approx(law.gap()).margin(0.3));
  CHECK(best <= marginal);
  // A basis is d directions: the mean over bases is d times the published figure.
  double bases = 0.0;
  for (std::uint64_t k = 0; k < 4; ++k) {
    bases += tacit::wasserstein_gap(t, tacit::random_axes(16, {41, 10 + k})).value.value / 4.0;
  }
  CHECK(bases / paper == Approx(16.0).epsilon(0.35));
}

TEST_CASE("the marginal gap of a normal sample is about 0, and of a wider one its divergence") {
  MatrixXd const t = tacit::public_normals({43, 0}, 10'000, 4);
  // The standard deviation of each entropy estimate is below 0.012 there.
  CHECK(std::abs(tacit::marginal_gap(t, identity(4)).value.value) < 0.12);
  double const wide = 4.0 * (0.5 * (4.0 - 1.0) - std::log(2.0));
  CHECK(tacit::marginal_gap(2.0 * t, identity(4)).value.value == Approx(wide).epsilon(0.06));
}

TEST_CASE("a step function's normaliser is above the truth by rounding alone") {
  auto const mass = [](long double a, long double b) {
    return 0.5L * (std::erfc(-b / std::sqrt(2.0L)) - std::erfc(-a / std::sqrt(2.0L)));
  };
  for (double const scale : {0.0, 1e-6, 0.3, 4.0, 12.0}) {
    std::vector<double> edges;
    std::vector<double> values{0.2 * scale};
    for (int k = 0; k < 60; ++k) {
      edges.push_back(-4.0 + 0.13 * k + 1e-3 * (k % 7));
      values.push_back(scale * std::sin(1.7 * k));
    }
    tacit::step_function const f(edges, values);
    long double sum = 0.0L;
    for (std::size_t k = 0; k < values.size(); ++k) {
      long double const a = k == 0 ? -30.0L : static_cast<long double>(edges[k - 1]);
      long double const b = k == edges.size() ? 30.0L : static_cast<long double>(edges[k]);
      // Mirrored where both are positive, so that nothing cancels.
      sum += std::exp(static_cast<long double>(values[k])) * (a > 0 ? mass(-b, -a) : mass(a, b));
    }
    CAPTURE(scale);
    CHECK(f.log_normaliser() >= static_cast<double>(std::log(sum)));
    CHECK(f.log_normaliser() <= static_cast<double>(std::log(sum)) + 2e-12);
  }
}

TEST_CASE("a step function reads the least value within reach") {
  tacit::step_function const f({-1.0, 0.0, 2.0}, {3.0, 1.0, 2.0, -1.0});
  CHECK(f.least() == -1.0);
  CHECK(f.most() == 3.0);
  CHECK(f.least_near(-5.0, 0.0) == 3.0);
  CHECK(f.least_near(-5.0, 4.5) == 1.0);
  CHECK(f.least_near(-0.5, 0.1) == 1.0);
  CHECK(f.least_near(1.0, 0.5) == 2.0);
  CHECK(f.least_near(1.0, 1.5) == -1.0);
  CHECK(f.least_near(-1.0, 0.0) == 1.0);  // on an edge, either side
  CHECK(f.least_near(9.0, 0.0) == -1.0);
  CHECK(f.least_near(9.0, 100.0) == -1.0);
  CHECK_THROWS_AS(tacit::step_function({0.0}, {1.0}), std::invalid_argument);
  CHECK_THROWS_AS(tacit::step_function({0.0, 0.0}, {1.0, 2.0, 3.0}), std::domain_error);
  CHECK_THROWS_AS(tacit::step_function({0.0}, {1.0, not_a_number}), std::domain_error);
}

// Of n certificates that may each fail with probability f, more than `most` fail together with
// probability below 1e-6.
TEST_CASE("certificates hold, and are worth having") {
  double const failure = 0.025;
  int const most = 8;  // of 40: a Poisson count of mean 1 exceeds it with probability 1.1e-6
  two_points const law{4, 0.3};
  int gap_failed = 0;
  int bound_failed = 0;
  double mean = 0.0;
  for (std::uint64_t seed = 100; seed < 140; ++seed) {
    outcome const got = certify(law, 1500, seed, failure);
    gap_failed += got.certificate > got.divergence ? 1 : 0;
    bound_failed += got.bound < law.information() ? 1 : 0;
    mean += got.certificate / 40.0;
    CHECK(got.bound < law.log_det());
  }
  CHECK(gap_failed <= most);
  CHECK(bound_failed <= most);
  CAPTURE(mean);
  CHECK(mean > 0.8 * law.gap());
}

TEST_CASE("certificates hold, over 2000 repeats a law", "[.sweep][sweep]") {
  double const failure = 0.025;
  double const most =
      50.0 + statistics::normal_limit * std::sqrt(2000.0 * failure * (1.0 - failure));
  for (Index const d : {1, 2, 8}) {
    for (double const s : {0.2, 0.5, 1.0}) {
      two_points const law{d, s};
      int gap_failed = 0;
      int bound_failed = 0;
      for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        outcome const got = certify(law, 400, 1000 + seed, failure);
        gap_failed += got.certificate > got.divergence ? 1 : 0;
        bound_failed += got.bound < law.information() ? 1 : 0;
      }
      CAPTURE(d, s, gap_failed, bound_failed);
      CHECK(gap_failed <= most);
      CHECK(bound_failed <= most);
    }
  }
}

TEST_CASE("a mixture's certificates hold, over 2000 repeats a law", "[.sweep][sweep]") {
  double const failure = 0.1;
  double const most =
      200.0 + statistics::normal_limit * std::sqrt(2000.0 * failure * (1.0 - failure));
  for (double const s : {0.3, 1.0, 3.0}) {
    two_points const law{2, s};
    int failed = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      MatrixXd const outputs = law.outputs(120, 5000 + seed);
      auto const q = tacit::mixture_surrogate::fit(outputs.topRows(60), law.noise(), 4, {seed, 1})
                         .guarded(law.noise(), law.radius());
      failed += tacit::certified_information(q, law.noise(), MatrixXd(outputs.bottomRows(60)),
                                             {.radius = law.radius(), .failure = failure})
                    .value.value < law.information();
    }
    CAPTURE(s, failed);
    CHECK(failed <= most);
  }
}

TEST_CASE("a certificate in 64 dimensions shows most of the gap") {
  two_points const law{64, 0.3};
  outcome const got = certify(law, 4000, 51, 0.025);
  CAPTURE(got.certificate, got.divergence, got.bound, law.information(), law.log_det());
  CHECK(got.certificate <= got.divergence);
  CHECK(got.certificate > 30.0);  // of 35.5
  CHECK(got.bound >= law.information());
  CHECK(got.bound < law.information() + 7.0);  // log-det is 35.5 above
}

TEST_CASE("of a normal law nothing is certified") {
  // Q is the law itself: every positive certificate is a failure.
  int failed = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    tacit::normal_surrogate const q(VectorXd::Zero(3), identity(3));
    auto const critic = tacit::product_critic::fit(tacit::public_normals({seed, 1}, 600, 3));
    auto const gap =
        tacit::certified_gap(q, critic, tacit::public_normals({seed, 2}, 600, 3), 0.025);
    failed += gap.value() > nats(0.0) ? 1 : 0;
  }
  CHECK(failed <= 8);
}

TEST_CASE("a certificate counts the rounding of the coordinates") {
  // All mass next to an edge, on its high side: only the low side is certain.
  tacit::normal_surrogate const q(VectorXd::Zero(1), identity(1));
  tacit::product_critic const critic({tacit::step_function({1.0}, {0.0, 1.0})});
  MatrixXd const next = MatrixXd::Constant(100, 1, std::nextafter(1.0, 2.0));
  CHECK(critic.values(q.whitened(next), q.rounding(next)).maxCoeff() == 0.0);
  MatrixXd const clear = MatrixXd::Constant(100, 1, 1.0 + 1e-12);
  CHECK(critic.values(q.whitened(clear), q.rounding(clear)).minCoeff() == 1.0);
}

TEST_CASE("the quadratic critic shows wrong moments") {
  // N(μ, V) against N(0, I): KL = ½(tr V + ‖μ‖² − d − log det V).
  MatrixXd rows = tacit::public_normals({61, 0}, 20'000, 3);
  rows.col(0) *= 1.5;
  rows.col(1) *= 0.5;
  rows.col(1) += 0.4 * rows.col(2);
  rows.col(2).array() += 0.7;
  double const mu = 0.7;
  double const divergence =
      0.5 * (2.25 + 0.25 + 0.16 + 1.0 + mu * mu + 0.16 * mu * mu - 3.0) - std::log(1.5 * 0.5);
  tacit::normal_surrogate const q(VectorXd::Zero(3), identity(3));
  auto const critic = tacit::quadratic_critic::fit(rows.topRows(10'000));
  auto const gap = tacit::certified_gap(q, critic, rows.bottomRows(10'000), {.failure = 1e-4});
  double const shown = tacit::donsker_varadhan_gap(q, critic, rows.bottomRows(10'000)).value.value;
  CAPTURE(divergence, gap.value().value, shown);
  CHECK(gap.value().value <= divergence);
  CHECK(gap.value().value > 0.7 * divergence);
  CHECK(shown > gap.value().value);
  CHECK(shown == Approx(divergence).epsilon(0.1));
}

TEST_CASE("trained critics certify the gap of two points", "[long]") {
  two_points const law{2, 0.3};
  MatrixXd const z = tacit::with_public_noise(law.outputs(8000, 71), law.noise(), {71, 3});
  auto const q = tacit::normal_surrogate::fit(z.topRows(4000));
  MatrixXd const t = q.whitened(z.topRows(4000));
  double const divergence = law.divergence_from(q);
  auto const show = [&](tacit::feature_critic const& critic) {
    auto const gap = tacit::certified_gap(q, critic, z.bottomRows(4000),
                                          {.failure = 1e-3, .draws = 50'000, .stream = {71, 8}});
    CAPTURE(gap.value().value, divergence);
    CHECK(gap.value().value <= divergence);
    CHECK(gap.value().value <= tacit::donsker_varadhan_gap(q, critic, z.bottomRows(4000),
                                                           {.draws = 50'000, .stream = {71, 8}})
                                   .value.value);
    return gap.value().value / divergence;
  };
  double const ridge =
      show(tacit::feature_critic::random_features(t, {.draws = 4096, .stream = {71, 5}}));
  double const network = show(tacit::feature_critic::network(t, {.steps = 300, .stream = {71, 6}}));
  CAPTURE(ridge, network);
  CHECK(ridge > 0.5);
  CHECK(network > 0.6);
}

TEST_CASE("critics of one seed are the same, and their stated error holds") {
  MatrixXd const t = tacit::public_normals({73, 0}, 200, 2) + MatrixXd::Constant(200, 2, 0.5);
  auto const one = tacit::feature_critic::network(t, {.units = 8, .steps = 20, .stream = {73, 1}});
  auto const same = tacit::feature_critic::network(t, {.units = 8, .steps = 20, .stream = {73, 1}});
  auto const other =
      tacit::feature_critic::network(t, {.units = 8, .steps = 20, .stream = {74, 1}});
  CHECK(one.values(t) == same.values(t));
  CHECK(one.values(t) != other.values(t));
  CHECK(one.values(t).cwiseAbs().maxCoeff() <= one.bound());
  for (Index k = 0; k < t.rows(); ++k) {
    Eigen::RowVector2d const row = t.row(k);
    Eigen::RowVector2d const near = row + Eigen::RowVector2d(1e-9, -1e-9);
    CHECK(std::abs(one.values(row)(0) - one.values(near)(0)) <= one.error(row.norm(), 1e-9));
  }
}

TEST_CASE("certified information holds where the plug-in log-det does not") {
  // 40 outputs in 20 dimensions: the fitted log-det is below the truth, the certificate is not.
  two_points const law{20, 2.0};
  auto const noise = law.noise();
  int below = 0;
  int failed = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    MatrixXd const outputs = law.outputs(440, 80 + seed);
    MatrixXd const z = tacit::with_public_noise(outputs.topRows(40), noise, {80 + seed, 3});
    auto const q = tacit::normal_surrogate::fit(z);
    below += tacit::estimated_information(q, {nats(0.0)}, noise).value.value < law.information();
    auto const bound =
        tacit::certified_information(tacit::gap_certificate(q), noise, outputs.bottomRows(400),
                                     {.radius = law.radius(), .failure = 0.01});
    failed += bound.value.value < law.information() ? 1 : 0;
    CHECK(bound.confidence < 0.99 + 1e-12);
  }
  CHECK(below == 20);
  CHECK(failed <= 5);  // a Poisson count of mean 0.2 exceeds it with probability 7e-8
}

TEST_CASE("certified information with any noise shape is that of its covariance") {
  // All outputs are equal: nothing is revealed, and the bound shows how little that proves.
  Index const d = 3;
  MatrixXd const axes = tacit::random_axes(3, {90, 0});
  VectorXd const variances = Eigen::Vector3d(0.5, 2.0, 1.0);
  auto const full = tacit::gaussian_noise::along(axes, variances);
  auto const low_rank = tacit::gaussian_noise::along(axes.leftCols(2), variances.head(2), 1.0);
  auto const diagonal = tacit::gaussian_noise::diagonal(variances);
  tacit::normal_surrogate const turned(
      VectorXd::Zero(d), variances.cwiseSqrt().cwiseInverse().asDiagonal() * axes.transpose());
  tacit::normal_surrogate const plain(VectorXd::Zero(d),
                                      variances.cwiseSqrt().cwiseInverse().asDiagonal());
  MatrixXd const same = MatrixXd::Zero(200, d);
  tacit::held_out_options const options{.radius = 0.0, .failure = 0.01};
  for (auto const& noise : {full, low_rank}) {
    auto const got =
        tacit::certified_information(tacit::gap_certificate(turned), noise, same, options);
    CHECK(got.value.value >= 0.0);
    CHECK(got.value.value < 1e-10);
  }
  CHECK(tacit::certified_information(tacit::gap_certificate(plain), diagonal, same, options)
            .value.value < 1e-10);
  // A surrogate twice as wide: ½(d/4 − d + d log 4).
  tacit::normal_surrogate const wide(VectorXd::Zero(d), 0.5 * plain.whitener());
  double const expected = 0.5 * 3.0 * (0.25 - 1.0 + std::log(4.0));
  double const got =
      tacit::certified_information(tacit::gap_certificate(wide), diagonal, same, options)
          .value.value;
  CHECK(got >= expected);
  CHECK(got < expected + 1e-10);
  MatrixXd const z = tacit::with_public_noise(MatrixXd::Zero(50'000, d), low_rank, {90, 2});
  CHECK((z.transpose() * z / 5e4 - low_rank.covariance()).cwiseAbs().maxCoeff() < 0.05);
}

TEST_CASE("a determinant's stated error holds") {
  for (Index const d : {1, 2, 8}) {
    MatrixXd m(d, d);
    for (Index i = 0; i < d; ++i) {
      for (Index j = 0; j < d; ++j) m(i, j) = 1.0 / static_cast<double>(i + j + 1);
    }
    m.diagonal().array() += 1e-4;
    auto const got = tacit::detail::log_determinant_of(m, 0.0, "test");
    auto const exact = std::log(support::absolute_determinant(m.cast<long double>()));
    CHECK(std::abs(got.value - static_cast<double>(exact)) <= got.error);
    CHECK(got.error < 1e-6);
  }
  CHECK_THROWS_AS(tacit::detail::log_determinant_of(MatrixXd::Ones(2, 2), 0.0, "test"),
                  std::domain_error);
}

TEST_CASE("a mixture certifies far points at about their entropy") {
  // Three points in the plane, far apart in the noise: I is log 3 to 1e-6.
  Index const n = 3000;
  MatrixXd outputs(n, 2);
  for (Index k = 0; k < n; ++k) {
    double const u = tacit::public_uniform({101, 0}, static_cast<std::uint64_t>(k));
    double const angle = 2.0 * std::numbers::pi / 3.0 * std::floor(3.0 * u);
    outputs.row(k) << std::cos(angle), std::sin(angle);
  }
  auto const noise = tacit::gaussian_noise::isotropic(2, 0.01);
  auto const q = tacit::mixture_surrogate::fit(outputs.topRows(n / 2), noise, 3, {101, 1});
  CHECK(q.size() == 3);
  tacit::held_out_options const options{.radius = 1.0 + 1e-12, .failure = 0.01};
  auto const bound = tacit::certified_information(q.guarded(noise, options.radius), noise,
                                                  outputs.bottomRows(n / 2), options);
  CAPTURE(bound.value.value);
  // Without the guard, the outputs that the sample might have missed cost another nat.
  CHECK(tacit::certified_information(q, noise, outputs.bottomRows(n / 2), options).value.value >
        bound.value.value + 0.5);
  CHECK(bound.value.value >= std::log(3.0) - 1e-6);
  CHECK(bound.value.value < std::log(3.0) + 0.1);
  CHECK(bound.confidence == Approx(0.99).epsilon(1e-12));

  // The best single normal, which is what log-det charges, is far above.
  auto const single = tacit::mixture_surrogate::fit(outputs.topRows(n / 2), noise, 1, {101, 1});
  CHECK(tacit::certified_information(single.guarded(noise, options.radius), noise,
                                     outputs.bottomRows(n / 2), options)
            .value.value > 3.0);
}

TEST_CASE("a mixture's bound is above the information at every noise") {
  for (double const s : {0.2, 0.5, 1.0, 3.0}) {
    two_points const law{1, s};
    int failed = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      MatrixXd const outputs = law.outputs(800, 200 + seed);
      auto const q = tacit::mixture_surrogate::fit(outputs.topRows(400), law.noise(), 2, {seed, 1})
                         .guarded(law.noise(), law.radius());
      auto const bound = tacit::certified_information(q, law.noise(), outputs.bottomRows(400),
                                                      {.radius = law.radius(), .failure = 0.01});
      failed += bound.value.value < law.information() ? 1 : 0;
    }
    CAPTURE(s);
    CHECK(failed <= 5);  // a Poisson count of mean 0.2 exceeds it with probability 7e-8
  }
}

TEST_CASE("a ledger adds bounds and their failures, rounded up") {
  tacit::pac_ledger book(nats(1.0), 0.1);
  (void)book.charge({nats(0.25), 1.0});
  CHECK(book.failure() == 0.0);
  CHECK(book.total().confidence == 1.0);
  (void)book.charge({nats(0.25), 0.95});
  CHECK(book.failure() >= 0.05);
  CHECK(book.failure() < 0.05 + 1e-15);
  CHECK(book.spent() == nats(0.5));
  // Failure exhausted, then information: nothing is charged by either refusal.
  CHECK_THROWS_AS(book.charge({nats(0.1), 0.94}), tacit::budget_exhausted);
  CHECK_THROWS_AS(book.charge({nats(0.6), 1.0}), tacit::budget_exhausted);
  CHECK_THROWS_AS(book.charge({nats(0.6), 0.99}), tacit::budget_exhausted);
  CHECK_THROWS_AS(book.charge({nats(not_a_number), 1.0}), std::domain_error);
  CHECK_THROWS_AS(book.charge({nats(0.1), not_a_number}), std::domain_error);
  CHECK_THROWS_AS(book.charge({nats(0.1), 1.5}), std::domain_error);
  CHECK_THROWS_AS(book.charge({nats(0.1)}), std::domain_error);  // a forgotten confidence
  CHECK(book.spent() == nats(0.5));
  CHECK(book.failure() < 0.05 + 1e-15);
  CHECK_THROWS_AS(tacit::pac_ledger(nats(1.0), 1.0), std::domain_error);
  CHECK_THROWS_AS(tacit::pac_ledger(nats(1.0), not_a_number), std::domain_error);
}

TEST_CASE("rare large outputs: certified, and far above the truth") {
  // One output in 2000 is 100 standard deviations away: I = h(1/2000). docs/certificates/pac.md has these.
  double const rate = 1.0 / 2000.0;
  double const truth = -rate * std::log(rate) - (1.0 - rate) * std::log1p(-rate);
  auto const noise = tacit::gaussian_noise::isotropic(1, 1.0);
  MatrixXd rows(1000, 1);
  for (Eigen::Index i = 0; i < rows.rows(); ++i) {
    rows(i, 0) = tacit::public_uniform({77, 3}, static_cast<std::uint64_t>(i)) < rate ? 100.0 : 0.0;
  }
  MatrixXd const z = tacit::with_public_noise(rows, noise, {77, 9});
  auto const normal = tacit::normal_surrogate::fit(z.topRows(500));
  tacit::held_out_options const options{.radius = 100.0, .failure = 0.05};
  MatrixXd const held_out = rows.bottomRows(500);
  double const by_normal =
      tacit::certified_information(tacit::gap_certificate(normal), noise, held_out, options)
          .value.value;
  auto const mixture =
      tacit::mixture_surrogate::fit(rows.topRows(500), noise, 2, {77, 5}).guarded(noise, 100.0);
  double const by_mixture =
      tacit::certified_information(mixture, noise, held_out, options).value.value;
  CHECK(by_normal == Approx(58.3).epsilon(0.01));
  CHECK(by_mixture == Approx(0.120).epsilon(0.01));
  CHECK(truth == Approx(0.0043).epsilon(1e-3));
}

namespace {

/// One output in 2000 is 100 standard deviations of the noise away.
MatrixXd rare_large_outputs(Index rows, double rate, std::uint64_t seed) {
  MatrixXd out(rows, 1);
  for (Index i = 0; i < rows; ++i) {
    out(i, 0) =
        tacit::public_uniform({seed, 3}, static_cast<std::uint64_t>(i)) < rate ? 100.0 : 0.0;
  }
  return out;
}

double entropy_of_bit(double p) { return -p * std::log(p) - (1.0 - p) * std::log1p(-p); }

}  // namespace

TEST_CASE("rare large outputs, scored in turn: near the least that any certificate can say") {
  auto const noise = tacit::gaussian_noise::isotropic(1, 1.0);
  tacit::held_out_options const options{.radius = 100.0, .failure = 0.05};
  double const truth = entropy_of_bit(1.0 / 2000.0);
  for (Index const n : {400, 1000}) {
    for (std::uint64_t const seed : {77U, 78U, 79U}) {
      MatrixXd const rows = rare_large_outputs(n, 1.0 / 2000.0, seed);
      double const bound =
          tacit::certified_information(noise, rows, options, {seed, 5}).value.value;
      // Large outputs of this probability stay unseen with probability .05, and then reveal their entropy.
      double const least = entropy_of_bit(1.0 - std::pow(0.05, 1.0 / static_cast<double>(n)));
      CAPTURE(n, seed, bound, least);
      CHECK(bound >= truth);
      CHECK(bound <= 5.0 * least);
      // By halves and a normal surrogate the radius is what counts.
      MatrixXd const z = tacit::with_public_noise(rows, noise, {seed, 9});
      auto const normal = tacit::normal_surrogate::fit(MatrixXd(z.topRows(n / 2)));
      double const by_normal =
          tacit::certified_information(tacit::gap_certificate(normal), noise,
                                       MatrixXd(rows.bottomRows(n - n / 2)), options)
              .value.value;
      CHECK(by_normal > 500.0 * bound);
    }
  }
}

TEST_CASE("scores in turn: every sequence of small samples, with its exact probability") {
  // Scores 0 or `most`, whose size the past decides, of mean m: how often is m refuted?
  for (double const failure : {0.05, 0.2}) {
    for (double const m : {0.1, 0.4, 0.7}) {
      constexpr unsigned n = 12;
      double refuted = 0.0;
      double bound_below = 0.0;
      for (unsigned sequence = 0; sequence < 1U << n; ++sequence) {
        std::vector<tacit::detail::bounded_score> scores;
        double chance = 1.0;
        double most = 1.0;
        for (unsigned t = 0; t < n; ++t) {
          bool const large = (sequence >> t & 1U) != 0;
          scores.push_back({large ? most : 0.0, most});
          chance *= large ? m / most : 1.0 - m / most;
          most = large ? 1.0 : std::min(most * 1.5, 8.0);
        }
        double const bound = tacit::detail::refuted_mean(scores, failure);
        bound_below += bound < m ? chance : 0.0;
        std::vector<double> small;
        for (auto const& score : scores) small.push_back(1.0 - score.value / score.most);
        refuted += tacit::detail::refutes_mean(
                       scores, tacit::detail::stakes(small, -std::log(failure)), m, failure)
                       ? chance
                       : 0.0;
      }
      CAPTURE(failure, m, refuted, bound_below);
      CHECK(refuted <= failure);
      CHECK(bound_below <= refuted);
    }
  }
  // It does refute: a sample without any large score.
  std::vector<tacit::detail::bounded_score> const zeros(100, {0.0, 1.0});
  CHECK(tacit::detail::refuted_mean(zeros, 0.05) < 0.05);
}

TEST_CASE("information certified in turn holds") {
  double const failure = 0.1;
  int failed = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    for (double const s : {0.4, 1.5}) {
      two_points const law{2, s};
      failed +=
          tacit::certified_information(law.noise(), law.outputs(60, 7000 + seed),
                                       {.radius = law.radius(), .failure = failure}, {seed, 1})
              .value.value < law.information();
    }
    // Of 60 outputs none is large in every eighth sample.
    failed += tacit::certified_information(tacit::gaussian_noise::isotropic(1, 1.0),
                                           rare_large_outputs(60, 0.035, seed),
                                           {.radius = 100.0, .failure = failure}, {seed, 2})
                  .value.value < entropy_of_bit(0.035) - 1e-9;
  }
  CHECK(failed <= 45 + 6 * 7);  // six standard deviations of 450 at the stated rate
  two_points const law{2, 0.5};
  auto const bound = tacit::certified_information(
      law.noise(), law.outputs(4000, 3), {.radius = law.radius(), .failure = 0.01}, {3, 1});
  CHECK(bound.confidence == Approx(0.99));
  CHECK(bound.value.value >= law.information());
  CHECK(bound.value.value < 1.1 * law.log_det());
  CHECK_THROWS_AS(tacit::certified_information(law.noise(), law.outputs(7, 3),
                                               {.radius = 2.0, .failure = 0.1}, {1, 1}),
                  std::invalid_argument);
  CHECK_THROWS_AS(tacit::certified_information(law.noise(), law.outputs(70, 3),
                                               {.radius = 1.0, .failure = 0.1}, {1, 1}),
                  std::domain_error);
}

TEST_CASE("information certified in turn holds, over 2000 repeats a law", "[.sweep][sweep]") {
  double const failure = 0.1;
  double const most = 200.0 + statistics::normal_limit * std::sqrt(200.0 * 0.9);
  auto const hold = [&](tacit::gaussian_noise const& noise, double radius, double truth,
                        auto const& outputs) {
    int failed = 0;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      failed += tacit::certified_information(noise, outputs(seed),
                                             {.radius = radius, .failure = failure}, {seed, 1})
                    .value.value < truth;
    }
    CAPTURE(radius, truth, failed);
    CHECK(failed <= most);
  };
  for (Index const d : {1, 2, 8}) {
    for (double const s : {0.3, 1.0, 3.0}) {
      two_points const law{d, s};
      hold(law.noise(), law.radius(), law.information(),
           [&](std::uint64_t seed) { return law.outputs(100, 9000 + seed); });
    }
  }
  for (double const rate : {0.005, 0.02, 0.1}) {
    hold(tacit::gaussian_noise::isotropic(1, 1.0), 100.0, entropy_of_bit(rate) - 1e-9,
         [&](std::uint64_t seed) { return rare_large_outputs(100, rate, seed); });
  }
}

TEST_CASE("what a common offset rounds off is part of the stated rounding") {
  auto const noise = tacit::gaussian_noise::isotropic(2, 0.25);
  MatrixXd const rows = MatrixXd::Constant(300, 2, 1e8);
  MatrixXd const z = tacit::with_public_noise(rows, noise, {78, 1});
  MatrixXd const g = tacit::public_normals({78, 1}, 300, 2);
  tacit::normal_surrogate const q(VectorXd::Constant(2, 1e8), 2.0 * identity(2));
  VectorXd const reach = q.rounding(z);
  double largest = 0.0;
  for (Index k = 0; k < 300; ++k) {
    for (Index j = 0; j < 2; ++j) {
      long double const exact = 1e8L + 0.5L * g(k, j);
      auto const off = static_cast<double>(2.0L * std::abs(z(k, j) - exact));
      CHECK(off <= reach(k));
      largest = std::max(largest, off);
    }
  }
  CHECK(largest > 1e-9);
}

TEST_CASE("a study certifies the gap and the information, whatever the shape of the noise",
          "[long]") {
  two_points const truth{8, 0.5};  // 256 different outputs: most rows come more than once
  MatrixXd const outputs = truth.outputs(4000, 3);
  VectorXd const variances = VectorXd::Constant(8, 0.25);
  tacit::gap_study_options const options{.confidence = 0.99, .radius = truth.radius(), .seed = 5};
  auto const found = tacit::study_gap(outputs, truth.noise(), options);
  CHECK(found.rows_repeated == 4000 - 256);
  CHECK(found.rows_that_chose == 0);
  CHECK(std::abs(found.log_det.value - truth.log_det()) < 0.4);  // of 256 rows
  REQUIRE(found.certified);
  REQUIRE(found.certified->revealed);
  auto const& revealed = *found.certified->revealed;
  CHECK(revealed.least().value.value >= truth.information());
  CHECK(revealed.by_normal.value.value >= truth.information());
  CHECK(revealed.by_mixture.value.value >= truth.information());
  CHECK(revealed.least().confidence == 0.99);
  CHECK(revealed.least().value.value < 1.5 * truth.log_det());
  for (auto const& same :
       {tacit::gaussian_noise::diagonal(variances),
        tacit::gaussian_noise::along(tacit::random_axes(8, {4, 4}), variances),
        tacit::gaussian_noise::along(tacit::random_axes(8, {4, 4}).leftCols(3).eval(),
                                     variances.head(3), 0.25)}) {
    auto const other = tacit::study_gap(outputs, same, options);
    CHECK(std::abs(other.log_det.value - found.log_det.value) < 1e-10);
    CHECK(other.certified->revealed->least().value.value >= truth.information());
  }
}

TEST_CASE("a study of rows that chose the noise certifies nothing") {
  two_points const truth{16, 0.5};
  MatrixXd const outputs = truth.outputs(400, 8);
  VectorXd const row = outputs.row(17).transpose();
  std::vector<std::uint64_t> const chose{
      tacit::row_digest({row.data(), static_cast<std::size_t>(row.size())})};
  tacit::gap_study_options options{.confidence = 0.95, .chose_noise = chose};
  auto const found = tacit::study_gap(outputs, truth.noise(), options);
  CHECK(found.rows_that_chose == 1);
  CHECK_FALSE(found.certified);
  options.radius = 4.1;
  CHECK_THROWS_AS(tacit::study_gap(outputs, truth.noise(), options), std::invalid_argument);
  // Rows of their own do.
  CHECK(tacit::study_gap(outputs.bottomRows(382), truth.noise(), options).certified);
}

TEST_CASE("a study refuses what it cannot answer") {
  two_points const truth{16, 0.5};
  MatrixXd const outputs = truth.outputs(400, 8);
  auto const asked = [&](MatrixXd const& rows, tacit::gaussian_noise const& noise,
                         tacit::gap_study_options const& options) {
    return tacit::study_gap(rows, noise, options);
  };
  double const nan = std::numeric_limits<double>::quiet_NaN();
  tacit::gap_study_options const good{.confidence = 0.95};
  CHECK_NOTHROW(asked(outputs, truth.noise(), good));
  CHECK_THROWS_AS(asked(outputs, truth.noise(), {}), std::domain_error);
  CHECK_THROWS_AS(asked(outputs, truth.noise(), {.confidence = 1.0}), std::domain_error);
  for (double const radius : {nan, 0.0, -1.0, 3.9}) {  // every output is 4 long
    CHECK_THROWS_AS(asked(outputs, truth.noise(), {.confidence = 0.95, .radius = radius}),
                    std::domain_error);
  }
  CHECK_THROWS_AS(asked(outputs.topRows(47), truth.noise(), good), std::invalid_argument);
  CHECK_THROWS_AS(asked(outputs.topRows(40).replicate(9, 1), truth.noise(), good),
                  std::invalid_argument);
  CHECK_THROWS_AS(asked(MatrixXd(0, 16), truth.noise(), good), std::invalid_argument);
  CHECK_THROWS_AS(asked(outputs.leftCols(15), truth.noise(), good), std::invalid_argument);
  CHECK_THROWS_AS(asked(outputs, tacit::gaussian_noise::isotropic(16, 0.0), good),
                  std::domain_error);
  MatrixXd wrong = outputs;
  wrong(3, 4) = nan;
  CHECK_THROWS_AS(asked(wrong, truth.noise(), good), std::domain_error);
}

TEST_CASE("a noise below a covariance is below it in every direction") {
  using wide = support::wide_matrix;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    MatrixXd const axes = tacit::random_axes(12, {seed, 1});
    VectorXd const spread = tacit::public_normals({seed, 2}, 12, 1).array().exp();
    MatrixXd const covariance = axes * spread.asDiagonal() * axes.transpose();
    MatrixXd const symmetric = 0.5 * (covariance + covariance.transpose());
    auto const below = tacit::noise_below(symmetric);
    wide const u = below.axes().cast<long double>();
    wide const left = symmetric.cast<long double>() -
                      u * below.variances().cast<long double>().asDiagonal() * u.transpose();
    CHECK(support::least_eigenvalue(left) >= 0.0L);
    CHECK(below.trace() > symmetric.trace() * (1.0 - 1e-12));
  }
  CHECK_THROWS_AS(tacit::noise_below(MatrixXd::Ones(2, 2).eval()), std::domain_error);
  CHECK_THROWS_AS(tacit::noise_below(MatrixXd::Identity(2, 3).eval()), std::invalid_argument);
}

TEST_CASE("gap corrections refuse what they cannot answer") {
  MatrixXd const rows = tacit::public_normals({111, 0}, 100, 3);
  tacit::normal_surrogate const q(VectorXd::Zero(3), identity(3));
  auto const noise = tacit::gaussian_noise::isotropic(3, 1.0);
  MatrixXd hole = rows;
  hole(5, 1) = not_a_number;

  CHECK_THROWS_AS(tacit::normal_surrogate::fit(rows.topRows(3)), tacit::infeasible);
  CHECK_THROWS_AS(tacit::normal_surrogate::fit(hole), std::domain_error);
  CHECK_THROWS_AS(tacit::normal_surrogate::fit(rows.topRows(1)), std::invalid_argument);
  CHECK_THROWS_AS(tacit::normal_surrogate(VectorXd::Zero(2), identity(3)), std::invalid_argument);
  CHECK_THROWS_AS(q.whitened(rows.leftCols(2)), std::invalid_argument);
  CHECK_THROWS_AS(tacit::with_public_noise(rows.leftCols(2), noise, {}), std::invalid_argument);
  CHECK_THROWS_AS(tacit::wasserstein_gap(hole, identity(3)), std::domain_error);
  CHECK_THROWS_AS(tacit::wasserstein_gap(rows, identity(2)), std::invalid_argument);
  CHECK_THROWS_AS(tacit::sliced_wasserstein_gap(rows, 0, {}), std::invalid_argument);
  CHECK_THROWS_AS(tacit::marginal_gap(MatrixXd::Zero(100, 3), identity(3)), std::domain_error);
  CHECK_THROWS_AS(tacit::product_critic::fit(rows.topRows(10)), std::invalid_argument);

  auto const critic = tacit::product_critic::fit(rows);
  for (double const failure : {0.0, 1.0, not_a_number}) {
    CHECK_THROWS_AS(tacit::certified_gap(q, critic, rows, failure), std::domain_error);
  }
  CHECK_THROWS_AS(tacit::certified_gap(q, critic, hole, 0.05), std::domain_error);
  auto const quadratic = tacit::quadratic_critic::fit(rows);
  CHECK_THROWS_AS(tacit::certified_gap(q, quadratic, rows, tacit::scoring_options{}),
                  std::domain_error);
  CHECK_THROWS_AS(tacit::quadratic_critic::fit(rows, not_a_number), std::domain_error);

  tacit::gap_certificate const none(q);
  CHECK(none.value() == nats(0.0));
  CHECK(none.confidence() == 1.0);
  CHECK_THROWS_AS(tacit::certified_information(none, noise, rows, {.radius = 0.5, .failure = 0.05}),
                  std::domain_error);
  CHECK_THROWS_AS(tacit::certified_information(none, noise, rows, {.radius = 10.0}),
                  std::domain_error);
  CHECK_THROWS_AS(tacit::certified_information(none, noise, rows, {.failure = 0.05}),
                  std::domain_error);
  CHECK_THROWS_AS(tacit::certified_information(none, tacit::gaussian_noise::isotropic(3, 0.0), rows,
                                               {.radius = 10.0, .failure = 0.05}),
                  std::domain_error);
  CHECK_THROWS_AS(tacit::mixture_surrogate({}, {}), std::invalid_argument);
  CHECK_THROWS_AS(tacit::mixture_surrogate({q}, {0.0}), std::domain_error);
  CHECK_THROWS_AS(tacit::mixture_surrogate::fit(rows, noise, 0, {}), std::invalid_argument);
  CHECK_THROWS_AS(tacit::mixture_surrogate({q}, {1.0}).guarded(noise, 1.0, 1.0), std::domain_error);
  CHECK_THROWS_AS(tacit::mixture_surrogate({q}, {1.0}).guarded(noise, not_a_number),
                  std::domain_error);
}
